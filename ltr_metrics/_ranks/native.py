"""The compiled core, `core.cpp`, as functions of arrays: sums of what metrics declare, and rankings for all others."""

from __future__ import annotations

import ctypes
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.words import TiePolicy
from ltr_metrics.errors import Argument, LtrValueError

KindOfCore = Literal["gains", "precisions", "cascade", "precisions_by_hits"]
KINDS: tuple[KindOfCore, ...] = get_args(KindOfCore)  # in the order of core.cpp, as the policies are
POLICIES = ("stable", "worst", "best", "docid", "mean", "ideal")  # the last one needs no scores
WithoutScores = Literal["ideal", "ideal_of_all"]  # by descending grade: the documents that have a rank, or all of them
WHOLE_LIST = 2**62  # a cutoff below every list
QUERIES_IN_A_WINDOW = 256  # at most, whose values of some metrics fit into a core's own cache; a thread takes a window
WINDOWS = 32  # at least, so that no thread waits long for the last one, if a window has at least 64 queries
VALUES_WORTH_A_THREAD = 400_000  # in a sum of them
SUCCESS, NOT_ENOUGH_MEMORY = -1, -2
_NOTHING = ctypes.c_char * 0


class _Struct(ctypes.Structure):
    """A struct of core.cpp, whose fields are numbers and pointers of 64 bits. It keeps its arrays alive."""

    def __init__(self, **fields: Any) -> None:
        self.arrays = {name: value for name, value in fields.items() if not isinstance(value, int)}
        super().__init__(**fields | {name: _address(array) for name, array in self.arrays.items()})


class _Documents(_Struct):
    address: int
    all_queries: tuple[int, int]  # address and number of those to evaluate, which are in windows
    window: int
    _fields_ = [
        (name, ctypes.c_int64) for name in ("n_queries", "start", "rows", "score", "grade", "docid", "n_grades", "ties")
    ]


class FamilyStruct(_Struct):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("kind", "n_cutoffs", "cutoff", "out_row", "by_grade", "by_row", "by_rank", "by_rank_start",
                     "scale", "divisor", "effective_depth")
    ]  # fmt: skip


def _address(array: Any) -> int:
    """Return where an array begins; 0 stands for None."""
    if array is None:
        return 0
    try:  # this is three times as fast as what NumPy has for it
        return ctypes.addressof(_NOTHING.from_buffer(array))
    except TypeError:  # an array that is read-only
        return int(array.ctypes.data)


def _load() -> ctypes.CDLL:
    """Load the library that is built for the newest kind of processor that this one is; all have the same digits."""
    folder = Path(__file__).parent
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    source = folder / "core.cpp"  # only a checkout has it
    remedy = f'Compile it: pip install -e "{folder.parents[1]}"' if source.exists() else "Install it again."
    try:
        library = ctypes.CDLL(str(folder / f"core{suffix}"))
        fastest = folder / f"core-v{library.processor_level()}{suffix}"
        library = ctypes.CDLL(str(fastest)) if fastest.exists() else library
    except OSError as error:
        raise ImportError(f"The compiled core of ltr_metrics cannot be loaded: {error}. {remedy}") from None
    if source.exists() and zlib.crc32(source.read_bytes()) != library.source_crc() % 2**32:
        raise ImportError(f"{source} has changed since it was compiled. {remedy}")
    return library


_core = _load()
CORE = Path(_core._name).stem.removeprefix("core")  # noqa: SLF001  # of which processors it is, such as "-v3"
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p
_core.evaluate.argtypes = [_POINTER, _POINTER, *(_POINTER, _NUMBER) * 2, _POINTER, _POINTER, _NUMBER, _NUMBER]
_core.rank.argtypes = [_POINTER, _POINTER, _POINTER, _NUMBER, _POINTER, _POINTER, _POINTER, _NUMBER, _NUMBER]
_core.means.argtypes = [_POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER]
_core.accumulate.argtypes, _core.accumulate.restype = [_POINTER, _POINTER, _NUMBER, _POINTER], None
_core.evaluate.restype = _core.rank.restype = _core.means.restype = _NUMBER


# -- arrays of the queries, made once ---------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where the documents of each query are, and the order in which to evaluate the queries."""

    start: IntArray  # where the rows of each query begin, and where the last ones end
    rows: IntArray | None  # query after query; None if they are 0, 1, 2, ...
    order: IntArray  # of the queries: by window, whose values stay in the cache, and within it by length


@cached
def _layout(queries: LabelledQueries, of_ranked: bool) -> Layout:
    """Return the layout of the documents that have a rank, or of all of them."""
    rows, sizes = (queries.ranked_rows, queries.n_ranked) if of_ranked else (queries.order, queries.sizes)
    start, window_of = np.append(0, sizes.cumsum()), np.arange(queries.n_queries) // _window(queries.n_queries)
    rows = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    return Layout(start, rows, np.lexsort((sizes, window_of)))


def _window(n_queries: int) -> int:
    """Return the number of queries in a window."""
    return min(max(n_queries // WINDOWS // 64, 1) * 64, QUERIES_IN_A_WINDOW)


@cached
def _documents(queries: LabelledQueries, ties: TiePolicy | WithoutScores) -> _Documents:
    """Return the documents without their scores."""
    of_all = ties == "ideal_of_all"
    layout = _layout(queries, queries.retrieved is None or not of_all)
    docid = None
    if ties == "docid":
        if queries.docid is None:
            raise LtrValueError(
                Argument("ties", "docid"),
                ", which a convention may set, needs document ids: pass ",
                Argument("docid", ...),
                ", or use ",
                Argument("ties", "stable"),
                " for input order.",
            )
        docid = queries.docid_descending
    documents = _Documents(
        n_queries=queries.n_queries,
        start=layout.start,
        rows=layout.rows,
        grade=queries.grade_index,
        docid=docid,
        n_grades=len(queries.grades),
        ties=POLICIES.index("ideal" if of_all else ties),
    )
    documents.address = ctypes.addressof(documents)
    documents.all_queries, documents.window = (_address(layout.order), len(layout.order)), _window(len(layout.order))
    return documents


# -- what metrics declare ---------------------------------------------------------------------------------------------


class Declaration(NamedTuple):
    """What metrics that differ only in the cutoff declare, for all queries."""

    kind: KindOfCore
    cutoffs: Sequence[int | None]
    by_grade: FloatArray | None  # a value for each grade index, 0 first
    by_row: FloatArray | None  # or one for each row of the input
    by_rank: FloatArray  # a value for each rank
    divisors: FloatArray  # (cutoffs x queries)
    by_rank_start: IntArray | None = None  # where each query's values are in it; None if all queries share them
    scale: FloatArray | None = None  # a factor of by_grade for each query

    def struct(self, positions: Sequence[int]) -> FamilyStruct:
        """Return the struct of core.cpp; the positions are those of the values among all values."""
        cutoffs = np.array([WHOLE_LIST if k is None else k for k in self.cutoffs], dtype=np.int64)
        is_ascending = (cutoffs[1:] >= cutoffs[:-1]).all()
        ascending: Any = slice(None) if is_ascending else np.argsort(cutoffs, kind="stable")  # a slice copies nothing
        size = np.abs(self.by_rank)
        is_counted = size >= 2.0**-60 * size.max()  # further down, no digit changes
        return FamilyStruct(
            kind=KINDS.index(self.kind),
            n_cutoffs=len(cutoffs),
            cutoff=cutoffs[ascending],
            out_row=np.array(positions, dtype=np.int64)[ascending],
            by_grade=self.by_grade,
            by_row=self.by_row,
            by_rank=self.by_rank,
            by_rank_start=self.by_rank_start,
            scale=self.scale,
            divisor=np.ascontiguousarray(self.divisors[ascending]),
            effective_depth=WHOLE_LIST
            if self.by_rank_start is not None
            else int(len(is_counted) - is_counted[::-1].argmax()),
        )


def array_of(families: Sequence[FamilyStruct]) -> ctypes.Array[FamilyStruct]:
    """Return the array for the core, which keeps the families alive."""
    array = (FamilyStruct * len(families))(*families)
    array.families = families  # type: ignore[attr-defined]
    return array


def evaluate(
    queries: LabelledQueries,
    scores: AnyArray | None,
    ties: TiePolicy | WithoutScores,
    families: ctypes.Array[FamilyStruct],
    values: FloatArray,
    n_threads: int = 1,
    chance: FloatArray | None = None,
) -> None:
    """Write the values of all queries, (values x queries), and the means over all orders if there are no scores.

    A score that is NaN is refused.
    """
    scores = None if scores is None else np.ascontiguousarray(scores, dtype=np.float64)
    documents = _documents(queries, ties)
    failure = _core.evaluate(
        documents.address, _address(scores), *documents.all_queries, families, len(families), _address(values),
        _address(chance), documents.window, n_threads,
    )  # fmt: skip
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)


def sums(
    queries: LabelledQueries, scores: AnyArray | None, ties: TiePolicy | WithoutScores, declaration: Declaration
) -> FloatArray:
    """Return what a metric declares, added up and divided, (cutoffs x queries)."""
    values = np.empty((len(declaration.cutoffs), queries.n_queries))
    evaluate(queries, scores, ties, array_of([declaration.struct(range(len(values)))]), values)
    return values


def means(values: FloatArray, n_threads: int = 1) -> list[float]:
    """Return the mean of each row of a matrix without its NaN."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    n_rows, n_columns = values.shape
    mean = (ctypes.c_double * n_rows)()
    n_threads = min(n_threads, values.size // VALUES_WORTH_A_THREAD + 1)
    if _core.means(_address(values), n_rows, n_columns, mean, n_threads) != SUCCESS:
        raise MemoryError
    of_rows: list[float] = mean[:]
    return of_rows


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    sums = np.empty_like(values)
    ends = np.append(starts, len(values))
    _core.accumulate(_address(values), _address(ends), len(starts), _address(sums))
    return sums


def _refuse_failure(queries: LabelledQueries, scores: AnyArray | None, failure: int) -> None:
    if failure == NOT_ENOUGH_MEMORY or scores is None:
        raise MemoryError
    queries.refuse_nan_scores(scores)


# -- rankings for metrics that are written in Python ------------------------------------------------------------------


class RankedDocuments(NamedTuple):
    """The ranked documents, query after query and by rank."""

    rows: IntArray  # rows of the input
    grades: AnyArray  # grade indices
    is_tied_with_next: BoolArray  # whether the order of a document and the next one is open


def rank(queries: LabelledQueries, scores: AnyArray, ties: TiePolicy, n_threads: int = 1) -> RankedDocuments:
    """Rank the documents of all queries; refuse a score that is NaN."""
    documents, n = _documents(queries, ties), int(queries.n_ranked.sum())
    ranked = RankedDocuments(np.empty(n, np.int64), np.empty(n, np.int32), np.zeros(n, np.bool_))
    scores, out = np.ascontiguousarray(scores, dtype=np.float64), map(_address, ranked)
    failure = _core.rank(documents.address, _address(scores), *documents.all_queries, *out, documents.window, n_threads)
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)
    return ranked


def ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all documents by descending grade, query after query; 0 is one that was dropped."""
    documents, grades = _documents(queries, "ideal_of_all"), np.empty(queries.n_rows, np.int32)
    out = None, _address(grades), None, documents.window, 1  # neither rows nor ties
    if _core.rank(documents.address, None, *documents.all_queries, *out) != SUCCESS:
        raise MemoryError
    return grades
