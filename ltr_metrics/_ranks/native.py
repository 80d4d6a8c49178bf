"""ctypes bindings of core.cpp: sums for metrics that declare them, and rankings for the other metrics.

This file is the only gate between Python and the compiled core, which gets addresses and believes them. So each array
is brought to the kind of numbers that `interface.hpp` declares, must have the shape that the core reads, and stays
where it is until the core is done. An array that is not contiguous or not aligned is copied; one that the core writes
to is refused instead.
"""

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
SUCCESS, NOT_ENOUGH_MEMORY = -1, -2  # any other number is the row of a score that is NaN
SUMS_OF_MEAN = 5
WHOLE_LIST = 2**62  # a cutoff below every list
QUERIES_IN_A_WINDOW = 256  # at most, whose values of some metrics fit into a core's own cache; a thread takes a window
WINDOWS = 32  # at least, so that no thread waits long for the last one, if a window has at least 64 queries
ROWS_WORTH_A_THREAD = 50_000  # with fewer rows, starting threads and waiting for them costs more than they save
VALUES_LIKE_A_ROW = 8  # as many cost in a mean what a row costs in an evaluation
FLOATS, INTEGERS, GRADES, FLAGS = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)
_NOTHING: Any = ctypes.c_char * 0
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p

core = load()


# -- arrays -----------------------------------------------------------------------------------------------------------


def _as_read(name: str, array: AnyArray, kind: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    """Return an array as the core reads it: of a kind of numbers and a shape, contiguous and aligned."""
    if array.dtype is not kind:
        array = array.astype(kind, casting="same_kind", copy=False)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        array = array.copy()
    if array.shape != shape:
        raise LtrValueError(f"{name} must have the shape {shape}. Got the shape {array.shape}.")
    return array


def _refuse_as_written(name: str, array: AnyArray, kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raise an error if the core cannot write to an array."""
    if array.dtype != kind or array.shape != shape or not array.flags.carray:
        raise LtrValueError(
            f"{name} must be a contiguous array of {kind} that can be written to, of the shape {shape}. Got one of "
            f"{array.dtype}, of the shape {array.shape}."
        )


def _addresses(*arrays: AnyArray | None) -> list[int]:
    """Return where arrays begin; 0 stands for None. The caller keeps the arrays."""
    addresses = []
    for array in arrays:
        if array is None:
            addresses.append(0)
        elif array.flags.writeable:  # this is three times as fast as what NumPy has for it
            addresses.append(ctypes.addressof(_NOTHING.from_buffer(array)))
        else:
            addresses.append(array.ctypes.data)
    return addresses


# -- structs, which interface.hpp declares ----------------------------------------------------------------------------


class _Name(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("number", _NUMBER), ("kind", ctypes.c_char_p)]


class Name(NamedTuple):
    """The offset of a field, with the kind of the numbers that it points to, or the number of a value of an enum."""

    number: int
    kind: str | None


core.names.argtypes, core.names.restype = [_NUMBER], ctypes.POINTER(_Name)


def _names(of: int) -> dict[str, Name]:
    """Return the fields of a struct, or the values of an enum."""
    names: dict[str, Name] = {}
    for one in core.names(of):
        if one.name is None:
            break
        names[one.name.decode()] = Name(one.number, None if one.kind is None else one.kind.decode())
    return names


class Struct(ctypes.Structure):
    """A struct of the core, whose fields are numbers and pointers of 64 bits. It keeps its arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        What the fields point to.
    sizes : ndarray of int of shape (n_queries,)
        Number of documents of each query, for which all arrays are large enough.
    """

    NAMES: frozenset[str]  # of its fields
    KINDS: dict[str, np.dtype[Any]]  # of the numbers that a field points to

    def __init__(self, sizes: IntArray, **fields: Any) -> None:
        """Take a number for each field, or for a pointer an array, or None, and the shape that it must have."""
        if fields.keys() != self.NAMES:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(sorted(self.NAMES))}.")
        self.sizes = sizes
        self.arrays: dict[str, AnyArray] = {}
        for name, kind in self.KINDS.items():
            array, shape = fields.pop(name)
            if array is not None:
                self.arrays[name] = _as_read(name, array, kind, shape)
        super().__init__(**fields, **dict(zip(self.arrays, _addresses(*self.arrays.values()), strict=True)))
        self.address = ctypes.addressof(self)

    @property
    def nbytes(self) -> int:
        """Bytes that its arrays take."""
        return sum(array.nbytes for array in self.arrays.values())


def struct_of(name: str, fields: dict[str, Name]) -> type[Struct]:
    """Return the class of a struct as the core declares it."""
    if [field.number for field in fields.values()] != [8 * i for i in range(len(fields))]:
        raise ImportError(f"The fields of {name} are not numbers and pointers of 64 bits: {fields}.")
    kinds = {field: np.dtype(one.kind) for field, one in fields.items() if one.kind is not None}
    members = {"_fields_": [(field, _NUMBER) for field in fields], "NAMES": frozenset(fields), "KINDS": kinds}
    return type(name, (Struct,), members)


Documents, Declared = struct_of("Documents", _names(0)), struct_of("Declaration", _names(1))
TIES = {name: one.number for name, one in _names(2).items()}
TIES["ideal_of_all"] = TIES["ideal"]  # of other documents
KIND = {kind: _names(3)[kind].number for kind in KINDS}


class Sums:
    """The sums that the core adds up in one call: an array of structs, which keeps the arrays of all of them."""

    def __init__(self, structs: Sequence[Struct]) -> None:
        self.structs = structs
        array_type: Any = Declared * len(structs)
        self._array = array_type(*structs)
        self.address = ctypes.addressof(self._array)
        self.sizes = structs[0].sizes if structs else None
        self.n_values, self.need_scores = 0, False
        for struct in structs:
            if struct.sizes is not self.sizes:
                raise LtrValueError("All sums of a call must be of the same documents.")
            self.n_values = max(self.n_values, 1 + max(struct.arrays["out_row"].tolist()))
            self.need_scores |= "by_grade" not in struct.arrays

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(struct.nbytes for struct in self.structs)


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
    n, n_rows, sizes = queries.n_queries, queries.n_rows, queries.sizes if has_all else queries.n_ranked
    rows = queries.order if has_all else queries.ranked_rows
    start = np.append(0, sizes.cumsum())
    window = min(max(n // WINDOWS // 64, 1) * 64, QUERIES_IN_A_WINDOW)
    return Documents(
        sizes,
        n_queries=n,
        start=(start, (n + 1,)),
        rows=(rows, (int(start[-1]),)),
        grade=(queries.grade_index, (n_rows,)),
        docid=(queries.docid_descending if has_ids else None, (n_rows,)),
        n_grades=len(queries.grades),
        order=(np.lexsort((sizes, np.arange(n) // window)), (n,)),
        window=window,
        score=(None, ()),  # they and the ties differ from call to call
        ties=0,
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

    def struct(self, queries: LabelledQueries, positions: Sequence[int], *, of_all: bool = False) -> Struct:
        """Return the struct of the core; the positions are those of the values among all values.

        It is for the ranked documents of the queries, or for all documents.
        """
        n, n_cutoffs, sizes = queries.n_queries, len(self.cutoffs), queries.sizes if of_all else queries.n_ranked
        ks = [WHOLE_LIST if k is None else k for k in self.cutoffs]
        cutoffs = np.array(ks, dtype=np.int64)
        is_ascending = (cutoffs[1:] >= cutoffs[:-1]).all()
        ascending: Any = slice(None) if is_ascending else np.argsort(cutoffs, kind="stable")  # a slice copies nothing
        size = np.abs(self.by_rank)
        is_counted = size >= 2.0**-60 * size.max()  # further down, no digit changes
        self._refuse_what_is_too_short(sizes, max(ks))
        return Declared(
            sizes,
            kind=KIND[self.kind],
            n_cutoffs=n_cutoffs,
            cutoff=(cutoffs[ascending], (n_cutoffs,)),
            out_row=(np.array(positions, dtype=np.int64)[ascending], (n_cutoffs,)),
            by_grade=(self.by_grade, (len(queries.grades) + 1,)),
            by_row=(self.by_row, (queries.n_rows,)),
            by_rank=(self.by_rank, (len(self.by_rank),)),
            by_rank_start=(self.by_rank_start, (n,)),
            by_query=(self.by_query, (n,)),
            divisor=(self.divisors[ascending], (n_cutoffs, n)),
            effective_depth=WHOLE_LIST
            if self.by_rank_start is not None
            else int(len(is_counted) - is_counted[::-1].argmax()),
        )

    def _refuse_what_is_too_short(self, sizes: IntArray, highest: int) -> None:
        """Raise an error if there is not a value for each rank that a query needs, or for each document."""
        if self.by_rank_start is None:
            end = highest if highest <= len(self.by_rank) else min(highest, int(sizes.max()))
        else:
            end = int((self.by_rank_start + np.minimum(sizes, highest)).max())
        if end > len(self.by_rank):
            raise LtrValueError(f"by_rank must have {end:,} values. Got {len(self.by_rank):,}.")
        if self.by_grade is None and (self.by_row is None or self.kind != "gains"):
            raise LtrValueError(f"The kind {self.kind!r} must have a value for each grade.")


# -- calls ------------------------------------------------------------------------------------------------------------

core.evaluate.argtypes = [_POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER]
core.rank.argtypes = [_POINTER, _NUMBER, _POINTER, _POINTER, _POINTER, _POINTER, _NUMBER]
core.means.argtypes = [_POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER]
core.accumulate.argtypes, core.accumulate.restype = [_POINTER, _POINTER, _NUMBER, _POINTER], None
core.letor.argtypes = [ctypes.c_char_p, _NUMBER, *[_POINTER] * 5]
core.evaluate.restype = core.rank.restype = core.means.restype = core.letor.restype = _NUMBER


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
    documents = _documents(queries, ties)
    sizes, n_values = documents.sizes, len(values)
    if sums_.sizes is not sizes or sums_.n_values > n_values:
        raise LtrValueError(
            f"These sums are {sums_.n_values} values of other documents. Got an array of {values.shape}."
        )
    _refuse_as_written("values", values, FLOATS, (n_values, len(sizes)))
    if chance is not None:
        _refuse_as_written("chance", chance, FLOATS, values.shape)
    if scores is not None:
        scores = _as_read("scores", scores, FLOATS, (queries.n_rows,))
    elif sums_.need_scores:
        raise LtrValueError("Without scores, each sum must have a value for each grade.")
    at_scores, at_values, at_chance = _addresses(scores, values, chance)
    n_threads, n_sums = n_threads_for(queries.n_rows, n_threads), len(sums_.structs)
    failure = core.evaluate(
        documents.address, TIES[ties], at_scores, sums_.address, n_sums, at_values, at_chance, n_threads
    )
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)


def sums(
    queries: LabelledQueries, scores: AnyArray | None, ties: TiePolicy | WithoutScores, declaration: Declaration
) -> FloatArray:
    """Return what a metric declares, added up and divided, (cutoffs x queries)."""
    values = np.empty((len(declaration.cutoffs), queries.n_queries))
    struct = declaration.struct(queries, range(len(values)), of_all=ties == "ideal_of_all")
    evaluate(queries, scores, ties, Sums([struct]), values)
    return values


def means(
    values: FloatArray, weight: FloatArray | None = None, n_threads: int | None = 1, sums: FloatArray | None = None
) -> list[float]:
    """Return the weighted mean of each row of a matrix without its NaN; weights of 1 change no digit.

    What each mean consists of is written to ``sums``, (rows x `SUMS_OF_MEAN`), if it is given.
    """
    n_rows, n_columns = shape = values.shape
    mean = (ctypes.c_double * n_rows)()
    values = _as_read("values", values, FLOATS, shape)
    if weight is not None:
        weight = _as_read("weight", weight, FLOATS, (n_columns,))
    if sums is not None:
        _refuse_as_written("sums", sums, FLOATS, (n_rows, SUMS_OF_MEAN))
    like_rows = values.size // VALUES_LIKE_A_ROW
    n_threads = n_threads_for(like_rows, n_threads) if like_rows >= ROWS_WORTH_A_THREAD else 1
    at_values, at_weight, at_sums = _addresses(values, weight, sums)
    if core.means(at_values, at_weight, n_rows, n_columns, mean, at_sums, n_threads) != SUCCESS:
        raise MemoryError
    means_of_rows: list[float] = mean[:]
    return means_of_rows


def sums_of_means(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return what the mean of each row consists of, four numbers, for the mean of several such matrices.

    They are the sum of weight times value and what its additions have lost, and both for the sum of the weights.
    """
    sums = np.empty((len(values), SUMS_OF_MEAN))
    means(values, weight, sums=sums)
    return np.asarray(sums[:, :4] / sums[:, 4:])  # by the scale of the weights


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    n, sums = len(starts), np.empty(len(values))
    ends = np.append(starts, len(values))
    values, ends = _as_read("values", values, FLOATS, sums.shape), _as_read("starts", ends, INTEGERS, (n + 1,))
    at_values, at_ends, at_sums = _addresses(values, ends, sums)
    core.accumulate(at_values, at_ends, n, at_sums)
    return sums


def _refuse_failure(queries: LabelledQueries, scores: AnyArray | None, failure: int) -> None:
    if failure == NOT_ENOUGH_MEMORY or scores is None:
        raise MemoryError
    queries.refuse_nan_scores(scores)
    raise LtrValueError(
        f"The score at {queries.where(failure)} was NaN while the documents were ranked, and is {scores[failure]} now, "
        "so another thread writes to the scores. Wait for it, or pass a copy."
    )


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
    if not cutoffs or not all(k is None or (isinstance(k, (int, np.integer)) and k >= 1) for k in cutoffs):
        raise LtrValueError(
            f"ideal_sums needs cutoffs, each of which must be a whole number of at least 1, or None. Got {cutoffs!r}."
        )
    longest, n = int(queries.sizes.max()), queries.n_queries
    depths = [longest if k is None else min(int(k), longest) for k in cutoffs]
    depth = max(depths)
    factors = np.asarray(by_rank, dtype=np.float64)
    if factors.ndim == 0:
        factors = np.broadcast_to(factors, depth)
    elif factors.shape[-1] > depth:
        factors = factors[..., :depth]
    _refuse_other_shapes(queries, depth, by_grade, by_rank, factors, limit)
    start = np.arange(n) * depth if factors.ndim == 2 else None
    if limit is not None:  # a row of factors for each distinct limit, or for each query
        distinct, row = np.unique(limit, return_inverse=True)
        factors = np.where(np.arange(depth) < (distinct if start is None else limit)[:, None], factors, 0.0)
        start = row * depth if start is None else start
    ones = np.ones((len(depths), n))
    flat = np.array(factors, dtype=np.float64).ravel()
    declaration = Declaration("gains", depths, np.append(0.0, by_grade), None, flat, ones, start)
    return sums(queries, None, "ideal_of_all", declaration)


def _refuse_other_shapes(
    queries: LabelledQueries, depth: int, by_grade: Any, by_rank: Any, factors: FloatArray, limit: Any
) -> None:
    """Raise an error if what `ideal_sums` got is not of these queries."""
    n, n_grades = queries.n_queries, len(queries.grades)
    are_right = np.shape(by_grade) == (n_grades,) and factors.shape in ((depth,), (n, depth))
    if not (are_right and (limit is None or np.shape(limit) == (n,))):
        raise LtrValueError(
            f"ideal_sums needs a value for each of the {n_grades} grades, and a factor for each of the first "
            f"{depth} ranks, either for all of the {n} queries or for each of them. The limits are one for each query. "
            f"Got the shapes {np.shape(by_grade)} by grade and {np.shape(by_rank)} by rank"
            + ("." if limit is None else f", and {np.shape(limit)} of limits.")
        )


# -- rankings for metrics that are written in Python ------------------------------------------------------------------


class RankedDocuments(NamedTuple):
    """The ranked documents, query after query and by rank."""

    rows: IntArray  # rows of the input
    grades: AnyArray  # grade indices
    is_tied_with_next: BoolArray  # whether the order of a document and the next one is open


def rank(queries: LabelledQueries, scores: AnyArray, ties: TiePolicy, n_threads: int | None = 1) -> RankedDocuments:
    """Rank the documents of all queries; refuse a score that is NaN."""
    documents, n = _documents(queries, ties), int(queries.n_ranked.sum())
    scores = _as_read("scores", scores, FLOATS, (queries.n_rows,))
    ranked = RankedDocuments(np.empty(n, INTEGERS), np.empty(n, GRADES), np.zeros(n, FLAGS))
    addresses = _addresses(scores, *ranked)
    failure = core.rank(documents.address, TIES[ties], *addresses, n_threads_for(queries.n_rows, n_threads))
    if failure != SUCCESS:
        _refuse_failure(queries, scores, failure)
    return ranked


def ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all documents by descending grade, query after query; 0 is one that was dropped."""
    documents, grades = _documents(queries, "ideal_of_all"), np.empty(queries.n_rows, GRADES)
    if core.rank(documents.address, TIES["ideal"], *_addresses(None, None, grades, None), 1) != SUCCESS:
        raise MemoryError
    return grades


# -- numbers in text ---------------------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """The pairs of some lines."""

    number: IntArray
    value: FloatArray
    n_in_line: IntArray
    left: IntArray  # a row for each value whose rounding is hard: its pair, and where in the text it begins
    has_long: bool  # whether a value has more than 15 characters, or an exponent of more than two digits


def read_pairs(text: bytes) -> Pairs | None:
    """Return the pairs of a text, or None if it has another form, or if the numbers of a line do not ascend."""
    most = len(text) // 4 + 1  # a pair and the white space behind it take four bytes
    number, value, left = np.empty(most, np.int64), np.empty(most), np.empty((most, 2), np.int64)
    end, has_long = np.zeros(text.count(b"\n") + 2, np.int64), np.zeros(1, np.int64)
    n_left = core.letor(text, len(text), *_addresses(number, value, end[1:], left, has_long))
    if n_left < 0:
        return None
    return Pairs(number[: end[-1]], value[: end[-1]], np.diff(end), left[:n_left], bool(has_long[0]))


# -- how many threads a call takes -----------------------------------------------------------------------------------


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
