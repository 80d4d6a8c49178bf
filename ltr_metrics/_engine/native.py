"""The compiled core, `core.cpp`, as functions of arrays: sums of what metrics declare, and rankings for all others."""

from __future__ import annotations

import ctypes
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import Argument, LtrValueError

KindOfCore = Literal["gains", "precisions", "cascade", "precisions_by_hits"]
KINDS: tuple[KindOfCore, ...] = get_args(KindOfCore)  # in the order of core.cpp, as the policies are
POLICIES = ("stable", "worst", "best", "docid", "mean", "ideal")  # the last ranks by grade, without scores
WHOLE_LIST = 2**62  # a cutoff below every list
QUERIES_IN_A_WINDOW = 256  # at most, whose values of some metrics fit into a core's own cache; a thread takes a window
WINDOWS = 32  # at least, so that no thread waits long for the last one, if a window has at least 64 queries
VALUES_WORTH_A_THREAD = 400_000  # in a sum of them
SUCCESS, NOT_ENOUGH_MEMORY = -1, -2


class _Struct(ctypes.Structure):
    """A struct of core.cpp, whose fields are numbers and pointers of 64 bits. It keeps its arrays alive."""

    def __init__(self, **fields: Any) -> None:
        self.arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
        super().__init__(**{name: _address(value) for name, value in fields.items()})


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


def _address(value: Any) -> int:
    """Return where an array begins, which ``ctypes.data`` says more slowly; numbers as they are."""
    return value.__array_interface__["data"][0] if isinstance(value, np.ndarray) else 0 if value is None else value


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
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p
_core.evaluate.argtypes = [_POINTER, _POINTER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER, _NUMBER]
_core.rank.argtypes = [_POINTER, _POINTER, _POINTER, _NUMBER, _POINTER, _POINTER, _POINTER, _NUMBER, _NUMBER]
_core.means.argtypes = [_POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER]
_core.accumulate.argtypes, _core.accumulate.restype = [_POINTER, _POINTER, _NUMBER, _POINTER], None
_core.evaluate.restype = _core.rank.restype = _core.means.restype = _NUMBER


# -- arrays of the queries, made once ---------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where the ranked documents of each query are, and which queries to evaluate."""

    start: IntArray  # where the rows of each query begin, and where the last ones end
    rows: IntArray | None  # query after query; None if they are 0, 1, 2, ...
    chosen: IntArray  # the queries to evaluate; neighbours have similar lengths


LayoutOf = Callable[[LabelledQueries], Layout]


@cached
def layout_of(queries: LabelledQueries) -> Layout:
    """Return the layout of the documents that have a rank."""
    start = np.concatenate((np.zeros(1, dtype=np.int64), queries.ranked_ends))
    rows = None if queries.ranked_rows is None else np.ascontiguousarray(queries.ranked_rows, dtype=np.int64)
    return Layout(start, rows, _in_windows(queries.n_retrieved))


def _window(n_queries: int) -> int:
    """Return the number of queries in a window."""
    return min(max(n_queries // WINDOWS // 64, 1) * 64, QUERIES_IN_A_WINDOW)


def _in_windows(lengths: IntArray) -> IntArray:
    """Return the queries in ascending order of length within windows, whose values stay in the cache."""
    window = _window(len(lengths))
    n_windows = -(-len(lengths) // window)
    padded = np.full(n_windows * window, np.iinfo(np.int32).max, dtype=np.int32)
    padded[: len(lengths)] = np.minimum(lengths, np.iinfo(np.int32).max - 1)
    order = np.argsort(padded.reshape(n_windows, -1), axis=1, kind="stable")
    order += np.arange(n_windows)[:, None] * window
    return order.ravel()[: len(lengths)]  # padding is at the end of the last window


@cached
def _documents(queries: LabelledQueries, ties: TiePolicy | Literal["ideal"], layout: LayoutOf) -> _Documents:
    """Return the documents without their scores."""
    start, rows, chosen = layout(queries)
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
        n_queries=len(start) - 1,
        start=start,
        rows=rows,
        grade=queries.grade_index,
        docid=docid,
        n_grades=len(queries.grades),
        ties=POLICIES.index(ties),
    )
    documents.address = ctypes.addressof(documents)
    documents.all_queries, documents.window = (_address(chosen), len(chosen)), _window(len(chosen))
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
        ascending: Any = np.argsort(cutoffs, kind="stable")
        if (np.diff(cutoffs) >= 0).all():
            ascending = slice(None)  # without a copy
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
            else len(is_counted) - is_counted[::-1].argmax(),
        )


def array_of(families: Sequence[FamilyStruct]) -> ctypes.Array[FamilyStruct]:
    """Return the array for the core, which keeps the families alive."""
    array = (FamilyStruct * len(families))(*families)
    array.families = families  # type: ignore[attr-defined]
    return array


def evaluate(
    queries: LabelledQueries,
    scores: AnyArray,
    ties: TiePolicy,
    families: ctypes.Array[FamilyStruct],
    values: FloatArray,
    n_threads: int = 1,
) -> None:
    """Write the values of all queries, (values x queries); refuse a score that is NaN."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    documents = _documents(queries, ties, layout_of)
    failure = _core.evaluate(
        documents.address, _address(scores), *documents.all_queries, families, len(families), _address(values),
        documents.window, n_threads,
    )  # fmt: skip
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)


def means(values: FloatArray, n_threads: int = 1) -> tuple[list[float], list[int]]:
    """Return the mean of each row of a matrix without its NaN, and their number."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    n_rows, n_columns = values.shape
    mean, n_nan = (ctypes.c_double * n_rows)(), (ctypes.c_int64 * n_rows)()
    n_threads = min(n_threads, values.size // VALUES_WORTH_A_THREAD + 1)
    if _core.means(_address(values), n_rows, n_columns, mean, n_nan, n_threads) != SUCCESS:
        raise MemoryError
    return mean[:], n_nan[:]


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    sums = np.empty_like(values)
    ends = np.append(starts, len(values))
    _core.accumulate(_address(values), _address(ends), len(starts), _address(sums))
    return sums


def _refuse_failure(queries: LabelledQueries, scores: AnyArray, failure: int) -> None:
    if failure == NOT_ENOUGH_MEMORY:
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
    n = int(queries.n_retrieved.sum())
    ranked = RankedDocuments(np.empty(n, np.int64), np.empty(n, np.int32), np.zeros(n, np.bool_))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    documents, out = _documents(queries, ties, layout_of), map(_address, ranked)
    failure = _core.rank(documents.address, _address(scores), *documents.all_queries, *out, documents.window, n_threads)
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)
    return ranked


# -- the ideal ranking ----------------------------------------------------------------------------------------------


def ideal_sums(queries: LabelledQueries, declaration: Declaration) -> FloatArray:
    """Add up what a metric declares over all documents by descending grade; return (cutoffs x queries)."""
    sums = np.empty((len(declaration.cutoffs), queries.n_queries))
    families = array_of([declaration.struct(range(len(sums)))])
    documents = _documents(queries, "ideal", _layout_of_all_documents)
    out = _address(sums), documents.window, 1
    if _core.evaluate(documents.address, None, *documents.all_queries, families, 1, *out) != SUCCESS:
        raise MemoryError
    return sums


@cached
def ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all documents by descending grade, query after query; 0 is one that was dropped."""
    grades = np.empty(queries.n_rows, dtype=np.int32)
    documents = _documents(queries, "ideal", _layout_of_all_documents)
    out = None, _address(grades), None, documents.window, 1
    if _core.rank(documents.address, None, *documents.all_queries, *out) != SUCCESS:
        raise MemoryError
    return grades


@cached
def _layout_of_all_documents(queries: LabelledQueries) -> Layout:
    if queries.retrieved is None:
        return layout_of(queries)
    start = np.concatenate((queries.starts, [queries.n_rows]))
    rows = None if queries.order is None else np.ascontiguousarray(queries.order, dtype=np.int64)
    return Layout(start, rows, _in_windows(queries.sizes))
