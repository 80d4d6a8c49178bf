"""Queries of like length as one (queries x documents) matrix, so that everything after it is plain 2-D NumPy.

A `Block` knows the labels of its queries; an `Arrangement` adds the order in which documents with equal scores are
to stand, which is all that a tie policy is to the sort (see `ranking.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, IntArray
from ltr_metrics.memo import Memo
from ltr_metrics.queries import LabelledQueries

KeyArray = npt.NDArray[np.uint64]

CELLS_IN_A_BLOCK = 48_000  # 64-bit matrices of this size stay in a core's own cache
CELLS_WORTH_A_BLOCK = 8_000  # a block above this is closed rather than padded by more than a quarter
GRADE_BITS_AT_MOST = 8  # of the sort key; with more distinct grades they are looked up after the sort


def blocks_of(queries: LabelledQueries) -> list[Block]:
    """Cut the queries into blocks, the first time that they are asked for."""
    return queries.once("blocks", lambda: [Block(queries, members) for members in _cut(queries.n_retrieved())])


def _cut(n_ranked: IntArray) -> Iterator[IntArray]:
    """Yield the queries of each block: sorted by length, as many as fit into the cache with little padding."""
    order = np.argsort(n_ranked, kind="stable")
    lengths = np.maximum(n_ranked[order], 1)
    first = 0
    while first < len(order):
        # The block grows while its padded size stays in the cache. Lengths rise, so padded size rises too.
        ahead = lengths[first : first + CELLS_IN_A_BLOCK]
        padded = ahead * np.arange(1, len(ahead) + 1)
        wasteful = (padded > CELLS_WORTH_A_BLOCK) & (padded > 1.25 * ahead.cumsum())
        too_large = padded > CELLS_IN_A_BLOCK
        stop = wasteful | too_large
        count = max(1, int(stop.argmax())) if stop.any() else len(ahead)
        yield order[first : first + count]
        first += count


def best_first(queries: LabelledQueries) -> list[tuple[IntArray, AnyArray]]:
    """Return the ideal ranking of all documents, ranked or not, by grade: queries of like length, their grade indexes.

    The matrices are (queries x documents), padded with 0, "no document".
    """

    def sort(members: IntArray) -> AnyArray:
        size = queries.sizes[members]
        place = np.arange(int(size.max()))
        inside = place < size[:, None]
        position = np.where(inside, queries.starts[members][:, None] + place, 0)
        rows = position if queries.order is None else queries.order[position]
        grades = np.where(inside, queries.grade_index[rows], queries.grade_index.dtype.type(0))
        return np.sort(grades, axis=1)[:, ::-1]

    return queries.once("best_first", lambda: [(members, sort(members)) for members in _cut(queries.sizes)])


class Block(Memo):
    """Some queries of like length, seen from their labels.

    Attributes
    ----------
    members : ndarray of int
        Positions of this block's queries among all queries.
    n_ranked : ndarray of int
        Documents of each query that have a rank.
    width : int
        The longest of them, at least 1.
    """

    def __init__(self, queries: LabelledQueries, members: IntArray) -> None:
        super().__init__()
        self._queries = weakref.ref(queries)  # they hold their blocks: a circle would outlive its use in memory
        self.members = members
        self.n_ranked: IntArray = queries.n_retrieved()[members]
        self.width = max(1, int(self.n_ranked.max()))

    @property
    def queries(self) -> LabelledQueries:
        """All queries, of which these are some."""
        queries = self._queries()
        assert queries is not None, "whoever evaluates a block holds its queries"
        return queries

    def arranged(self, order: str) -> Arrangement:
        """Lay out the ranked documents in the order that decides ties: input, ascending, descending or docid."""
        return self.once(("arranged", order), lambda: _arrange(self, order))


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A block's ranked documents, laid out in the order in which equal scores are to stand."""

    rows: IntArray  # (queries x width) row of each document; padding repeats a row of the same matrix
    tail: KeyArray  # low bits of the sort key: place in this layout, then grade index; all ones (grade 0) in padding
    padding_pairs: IntArray  # flat cells of the (queries x width - 1) matrix of neighbours whose right one is padding
    place_bits: int
    grade_bits: int  # 0 when there are too many distinct grades for the key
    grades: AnyArray | None  # (queries x width) grade indexes in this layout where the key does not hold them

    @property
    def tail_bits(self) -> int:
        """Bits that the score has to give up."""
        return self.place_bits + self.grade_bits


def _arrange(block: Block, order: str) -> Arrangement:
    queries = block.queries
    ranked_rows = queries.once("ranked_rows", lambda: _ranked_rows(queries))
    ends = queries.once("ranked_ends", lambda: queries.n_retrieved().cumsum())
    place = np.arange(block.width)
    inside = place < block.n_ranked[:, None]
    start = (ends[block.members] - block.n_ranked)[:, None]
    rows = ranked_rows[np.where(inside, start + place, np.minimum(start, len(ranked_rows) - 1))]
    if order != "input":
        rows = np.take_along_axis(rows, _places_by(_tie_values(queries, order)[rows], inside), axis=1)
    grades = np.where(inside, queries.grade_index[rows], 0)

    grade_bits = len(queries.grades).bit_length()
    grade_bits = grade_bits if grade_bits <= GRADE_BITS_AT_MOST else 0
    tail = np.broadcast_to(place.astype(np.uint64), rows.shape)
    if grade_bits:
        tail = tail << np.uint64(grade_bits) | grades.astype(np.uint64)
    return Arrangement(
        rows=rows,
        tail=np.where(inside, tail, np.uint64(2**64 - 2**grade_bits)),
        padding_pairs=np.flatnonzero(~inside[:, 1:]),
        place_bits=max(1, (block.width - 1).bit_length()),
        grade_bits=grade_bits,
        grades=None if grade_bits else grades.astype(queries.grade_index.dtype),
    )


def _ranked_rows(queries: LabelledQueries) -> IntArray:
    rows = queries.rows_in_query_order()
    return rows if queries.retrieved is None else rows[queries.retrieved[rows]]


def _tie_values(queries: LabelledQueries, order: str) -> AnyArray:
    """One unsigned number a row: equal scores stand in its ascending order."""
    if order == "ascending":
        return queries.grade_index
    if order == "descending":
        return np.asarray(queries.grade_index.dtype.type(len(queries.grades)) - queries.grade_index)
    if queries.docid is None:
        raise LtrValueError('ties="docid" needs docid, one id a row; pass it, or use ties="stable" for input order.')
    docid = queries.docid

    def falling() -> AnyArray:
        names, rank = np.unique(docid, return_inverse=True)
        return np.asarray(len(names) - 1 - rank)

    return queries.once("docid_descending", falling)


def _places_by(values: AnyArray, inside: BoolArray) -> IntArray:
    """Places of each row's documents in ascending order of their values, input order among equals, padding last."""
    place_bits = np.uint64(max(1, (values.shape[1] - 1).bit_length()))
    words = values.astype(np.uint64) << place_bits | np.arange(values.shape[1], dtype=np.uint64)
    words[~inside] = np.iinfo(np.uint64).max
    words.sort(axis=1)
    places = (words & ((np.uint64(1) << place_bits) - np.uint64(1))).astype(np.intp)
    return np.where(inside, places, np.arange(values.shape[1]))


def with_no_document(values: AnyArray) -> AnyArray:
    """Put the value of "no document", 0, before the values of the distinct grades."""
    return np.concatenate((np.zeros(1, dtype=values.dtype), values))
