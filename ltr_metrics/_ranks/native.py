"""ctypes bindings of `core.cpp`: sums for the metrics that declare them, and rankings for the other metrics."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ltr_metrics._ranks.library import load
from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray, require_count
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.words import TiePolicy
from ltr_metrics.errors import LtrValueError

KindOfCore = Literal["gains", "precisions", "cascade", "precisions_by_hits"]
KINDS: tuple[KindOfCore, ...] = get_args(KindOfCore)
WithoutScores = Literal["ideal", "ideal_of_all"]  # by descending grade: the documents that have a rank, or all of them
WHOLE_LIST = 2**62  # a cutoff below every list
QUERIES_IN_A_WINDOW = 256  # at most, whose values of some metrics fit into a core's own cache; a thread takes a window
WINDOWS = 32  # at least, so that no thread waits long for the last one, if a window has at least 64 queries
ROWS_WORTH_A_THREAD = 50_000  # with fewer rows, starting threads and waiting for them costs more than they save
VALUES_LIKE_A_ROW = 8  # as many cost in a mean what a row costs in an evaluation
SUCCESS, NOT_ENOUGH_MEMORY = -1, -2
_NOTHING = ctypes.c_char * 0


def _addresses(*arrays: Any) -> list[int]:
    """Return where each array begins; 0 stands for None."""
    addresses = []
    for array in arrays:
        if array is None:
            addresses.append(0)
        elif array.flags.writeable:  # this is three times as fast as what NumPy has for it
            addresses.append(ctypes.addressof(_NOTHING.from_buffer(array)))
        else:
            addresses.append(array.ctypes.data)
    return addresses


_core = load()
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p
_core.evaluate.argtypes = [_POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER]
_core.rank.argtypes = [_POINTER, _NUMBER, _POINTER, _POINTER, _POINTER, _POINTER, _NUMBER]
_core.means.argtypes = [_POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER]
_core.accumulate.argtypes, _core.accumulate.restype = [_POINTER, _POINTER, _NUMBER, _POINTER], None
_core.evaluate.restype = _core.rank.restype = _core.means.restype = _NUMBER


# -- the interface, which interface.hpp declares ----------------------------------------------------------------------


class _Name(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("number", _NUMBER)]


_core.names.argtypes, _core.names.restype = [_NUMBER], ctypes.POINTER(_Name)


def _names(of: int) -> dict[str, int]:
    """Return the fields of a struct with their offsets, or the values of an enum with their numbers."""
    names: dict[str, int] = {}
    for one in _core.names(of):
        if one.name is None:
            break
        names[one.name.decode()] = one.number
    return names


class Struct(ctypes.Structure):
    """A struct of the core, whose fields are numbers and pointers of 64 bits. It keeps its arrays alive."""

    def __init__(self, **fields: Any) -> None:
        if unknown := fields.keys() - {field[0] for field in self._fields_}:
            raise TypeError(f"{type(self).__name__} has no field {unknown.pop()!r}.")
        self.arrays = {name: value for name, value in fields.items() if not isinstance(value, int)}
        super().__init__(**fields | dict(zip(self.arrays, _addresses(*self.arrays.values()), strict=True)))


def _struct(name: str, of: int) -> type[Struct]:
    """Return the class of a struct as the core declares it."""
    offsets = _names(of)
    if list(offsets.values()) != [8 * i for i in range(len(offsets))]:
        raise ImportError(f"The fields of {name} are not numbers and pointers of 64 bits: {offsets}.")
    return type(name, (Struct,), {"_fields_": [(field, _NUMBER) for field in offsets]})


_Documents, _Declaration = _struct("Documents", 0), _struct("Declaration", 1)
_TIES = _names(2)
_TIES["ideal_of_all"] = _TIES["ideal"]  # of other documents
_KIND = {kind: _names(3)[kind] for kind in KINDS}


# -- arrays of the queries, made once ---------------------------------------------------------------------------------


def _documents(queries: LabelledQueries, ties: TiePolicy | WithoutScores) -> Struct:
    """Return the documents that have a rank, or all of them, without their scores."""
    return _new_documents(queries, ties == "ideal_of_all" and queries.retrieved is not None, ties == "docid")


@cached
def _new_documents(queries: LabelledQueries, has_all: bool, has_ids: bool) -> Struct:
    if has_ids and queries.docid is None:
        raise LtrValueError(
            'ties="docid", which a convention may set, needs document ids: pass docid=, or use ties="stable" for input '
            "order."
        )
    rows, sizes = (queries.order, queries.sizes) if has_all else (queries.ranked_rows, queries.n_ranked)
    window = min(max(queries.n_queries // WINDOWS // 64, 1) * 64, QUERIES_IN_A_WINDOW)
    return _Documents(
        n_queries=queries.n_queries,
        start=np.append(0, sizes.cumsum()),
        rows=None if rows is None else np.ascontiguousarray(rows, dtype=np.int64),
        grade=queries.grade_index,
        docid=queries.docid_descending if has_ids else None,
        n_grades=len(queries.grades),
        order=np.lexsort((sizes, np.arange(queries.n_queries) // window)),
        window=window,
    )


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
    by_query: FloatArray | None = None  # a factor of by_grade for each query

    def struct(self, positions: Sequence[int]) -> Struct:
        """Return the struct of the core; the positions are those of the values among all values."""
        cutoffs = np.array([WHOLE_LIST if k is None else k for k in self.cutoffs], dtype=np.int64)
        is_ascending = (cutoffs[1:] >= cutoffs[:-1]).all()
        ascending: Any = slice(None) if is_ascending else np.argsort(cutoffs, kind="stable")  # a slice copies nothing
        size = np.abs(self.by_rank)
        is_counted = size >= 2.0**-60 * size.max()  # further down, no digit changes
        return _Declaration(
            kind=_KIND[self.kind],
            n_cutoffs=len(cutoffs),
            cutoff=cutoffs[ascending],
            out_row=np.array(positions, dtype=np.int64)[ascending],
            by_grade=self.by_grade,
            by_row=self.by_row,
            by_rank=self.by_rank,
            by_rank_start=self.by_rank_start,
            by_query=self.by_query,
            divisor=np.ascontiguousarray(self.divisors[ascending]),
            effective_depth=WHOLE_LIST
            if self.by_rank_start is not None
            else int(len(is_counted) - is_counted[::-1].argmax()),
        )


class Sums:
    """The sums that the core adds up in one call, as its array of structs; `structs` keeps their arrays alive."""

    def __init__(self, structs: Sequence[Struct]) -> None:
        self.structs = structs
        self.array = (_Declaration * len(structs))(*structs)

    def __len__(self) -> int:
        return len(self.structs)


def evaluate(
    queries: LabelledQueries,
    scores: AnyArray | None,
    ties: TiePolicy | WithoutScores,
    sums_: Sums,
    values: FloatArray,
    n_threads: int | None = 1,
    chance: FloatArray | None = None,
) -> None:
    """Write the values of all queries, (values x queries), and the means over all orders if there are no scores.

    A score that is NaN is refused. `n_threads_for` says what ``n_threads`` is.
    """
    scores = None if scores is None else np.ascontiguousarray(scores, dtype=np.float64)
    score, out, random = _addresses(scores, values, chance)
    failure = _core.evaluate(
        ctypes.addressof(_documents(queries, ties)), _TIES[ties], score, sums_.array, len(sums_), out, random,
        n_threads_for(queries.n_rows, n_threads),
    )  # fmt: skip
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)


def sums(
    queries: LabelledQueries, scores: AnyArray | None, ties: TiePolicy | WithoutScores, declaration: Declaration
) -> FloatArray:
    """Return what a metric declares, added up and divided, (cutoffs x queries)."""
    values = np.empty((len(declaration.cutoffs), queries.n_queries))
    evaluate(queries, scores, ties, Sums([declaration.struct(range(len(values)))]), values)
    return values


def means(values: FloatArray, weight: FloatArray | None = None, n_threads: int | None = 1) -> list[float]:
    """Return the weighted mean of each row of a matrix without its NaN; weights of 1 change no digit."""
    return list(_means(values, weight, None, n_threads))


def sums_of_means(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return what the mean of each row consists of, four numbers, for the mean of several such matrices.

    They are the sum of weight times value and what its additions have lost, and both for the sum of the weights.
    """
    sums = np.empty((len(values), 5))
    _means(values, weight, sums, 1)
    return np.asarray(sums[:, :4] / sums[:, 4:])  # by the scale of the weights


def _means(values: FloatArray, weight: FloatArray | None, sums: FloatArray | None, n_threads: int | None) -> Any:
    values = np.ascontiguousarray(values, dtype=np.float64)
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    n_rows, n_columns = values.shape
    if weight is not None and weight.shape != (n_columns,):
        raise ValueError(f"There must be one weight for each of {n_columns} values. Got {weight.shape}.")
    mean = (ctypes.c_double * n_rows)()
    like_rows = values.size // VALUES_LIKE_A_ROW
    n_threads = n_threads_for(like_rows, n_threads) if like_rows >= ROWS_WORTH_A_THREAD else 1
    first_value, first_weight, first_sum = _addresses(values, weight, sums)
    if _core.means(first_value, first_weight, n_rows, n_columns, mean, first_sum, n_threads) != SUCCESS:
        raise MemoryError
    return mean


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    sums = np.empty_like(values)
    ends = np.append(starts, len(values))  # an address does not keep its array alive
    first_value, first_end, first_sum = _addresses(values, ends, sums)
    _core.accumulate(first_value, first_end, len(starts), first_sum)
    return sums


def _refuse_failure(queries: LabelledQueries, scores: AnyArray | None, failure: int) -> None:
    if failure == NOT_ENOUGH_MEMORY or scores is None:
        raise MemoryError
    queries.refuse_nan_scores(scores)


# -- the ideal ranking: all documents of a query, ranked or not, by descending grade ----------------------------------


def ideal_sums(
    queries: LabelledQueries,
    by_grade: FloatArray,
    cutoffs: Sequence[int | None],
    by_rank: FloatArray | float = 1.0,
    limit: IntArray | None = None,
) -> FloatArray:
    """Return the sum of a value over the first documents of each query's ideal ranking, for some cutoffs.

    Such a sum is what `RankMetric.divisor` needs for a metric that is a share of its best value.

    Parameters
    ----------
    queries : LabelledQueries
        The labels of all queries.
    by_grade : ndarray of float64 of shape (n_grades,)
        A value for each distinct grade, such as its gain.
    cutoffs : sequence of int or None
        The number of first ranks; None is the whole list.
    by_rank : ndarray of float64 of shape (depth,) or (n_queries, depth), or float, default 1
        A factor for each of the first ranks, such as a discount. ``depth`` is at least the highest
        cutoff, or the length of the longest query if that is smaller.
    limit : ndarray of int of shape (n_queries,), optional
        The highest cutoff of each query.

    Returns
    -------
    ndarray of float64 of shape (n_cutoffs, n_queries)
        The sum over the first ranks, or over all documents of a query that has fewer.

    See Also
    --------
    ltr_metrics.RankMetric : The base class of metrics, whose divisor often is an ideal value.

    Examples
    --------
    The share of the best possible grade at rank 1:

    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.metrics import ideal_sums
    >>> @dataclass(frozen=True, kw_only=True)
    ... class TopShare(ltr.RankMetric):
    ...     NAME: ClassVar[str] = "top_share"
    ...
    ...     def by_grade(self, queries):
    ...         return queries.grades
    ...
    ...     def divisor(self, queries, k):
    ...         return ideal_sums(queries, queries.grades, [k])[0]
    >>> ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=[TopShare(k=1)])["top_share@1"]
    0.25
    """
    longest = int(queries.sizes.max())
    depths = [longest if k is None else min(k, longest) for k in cutoffs]
    depth = max(depths)
    factors = np.broadcast_to(by_rank, depth) if np.ndim(by_rank) == 0 else np.asarray(by_rank)[..., :depth]
    start = np.arange(queries.n_queries) * depth if factors.ndim == 2 else None
    if limit is not None:  # a row of factors for each distinct limit, or for each query
        distinct, row = np.unique(limit, return_inverse=True)
        factors = np.where(np.arange(depth) < (distinct if start is None else limit)[:, None], factors, 0.0)
        start = row * depth if start is None else start
    if np.shape(by_grade) != queries.grades.shape or factors.shape[-1] != depth:
        raise LtrValueError(
            f"ideal_sums needs a value for each of the {len(queries.grades)} grades, and a factor for each of the "
            f"first {depth} ranks. Got the shapes {np.shape(by_grade)} and {np.shape(by_rank)}."
        )
    ones = np.ones((len(depths), queries.n_queries))
    flat = np.array(factors, dtype=np.float64).ravel()
    declaration = Declaration("gains", depths, np.append(0.0, by_grade), None, flat, ones, start)
    return sums(queries, None, "ideal_of_all", declaration)


# -- threads ----------------------------------------------------------------------------------------------------------


def n_threads_for(n_rows: int, n_threads: int | None) -> int:
    """Return the number of threads: one per 50,000 rows, but at most ``n_threads``.

    It is never more than `usable_processors`. If ``n_threads`` is None, it is 1 in a worker (a
    thread, or a process of multiprocessing or joblib), because whoever started the worker shares
    out the CPUs already. Outside a worker it is then at most ``OMP_NUM_THREADS``.
    """
    if type(n_threads) is int and n_threads == 1:
        return 1
    useful = max(1, n_rows // ROWS_WORTH_A_THREAD)
    if n_threads is not None:
        useful = min(useful, require_count("n_threads", n_threads, note=", or None"))
    elif useful > 1:
        useful = 1 if _is_in_worker() else min(useful, _openmp_limit())
    return 1 if useful == 1 else min(useful, usable_processors())


def usable_processors() -> int:
    """Return the number of CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_in_worker() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return True
    multiprocessing = sys.modules.get("multiprocessing.process")  # only a program that starts processes imports it
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _openmp_limit() -> int:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else sys.maxsize


# -- rankings for metrics that are written in Python ------------------------------------------------------------------


class RankedDocuments(NamedTuple):
    """The ranked documents, query after query and by rank."""

    rows: IntArray  # rows of the input
    grades: AnyArray  # grade indices
    is_tied_with_next: BoolArray  # whether the order of a document and the next one is open


def rank(queries: LabelledQueries, scores: AnyArray, ties: TiePolicy, n_threads: int | None = 1) -> RankedDocuments:
    """Rank the documents of all queries; refuse a score that is NaN."""
    documents, n = _documents(queries, ties), int(queries.n_ranked.sum())
    ranked = RankedDocuments(np.empty(n, np.int64), np.empty(n, np.int32), np.zeros(n, np.bool_))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    failure = _core.rank(
        ctypes.addressof(documents), _TIES[ties], *_addresses(scores, *ranked),
        n_threads_for(queries.n_rows, n_threads),
    )  # fmt: skip
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)
    return ranked


def ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all documents by descending grade, query after query; 0 is one that was dropped."""
    documents, grades = _documents(queries, "ideal_of_all"), np.empty(queries.n_rows, np.int32)
    out = _addresses(None, None, grades, None)  # without scores, and neither rows nor ties
    if _core.rank(ctypes.addressof(documents), _TIES["ideal"], *out, 1) != SUCCESS:
        raise MemoryError
    return grades
