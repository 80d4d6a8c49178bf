"""Queries of like length as one (queries x documents) matrix, so that everything after it is plain 2-D NumPy.

A `Block` knows the labels of its queries; an `Arrangement` adds the order in which documents with equal scores are
to stand, which is all that a tie policy is to the sort (see `sorting.py`). A `Batch` is some blocks whose first ranks are
looked at together.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ltr_metrics._engine.cache import Cache
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError

KeyArray = npt.NDArray[np.int64]

CELLS_IN_A_BLOCK = 48_000  # 64-bit matrices of this size stay in a core's own cache, and malloc keeps what it gets back
CELLS_IN_A_SHARED_BLOCK = 400_000  # several threads rather need calls that are long, for they take turns between them
CELLS_WORTH_A_BLOCK = 24_000  # a block above this is closed rather than padded by more than a quarter
CELLS_IN_A_BATCH = 300_000  # enough for a call on the first ranks to be worth its while
QUERIES_IN_A_BATCH = 8_000  # the first ranks of so many fill the cache
BELOW_INFINITY = 0x7FF8 << 48  # as a sort key, in which higher is worse
GRADE_BITS_AT_MOST = 8  # of the sort key; with more distinct grades they are looked up after the sort


def batches_of(queries: LabelledQueries, n_threads: int = 1) -> list[Batch]:
    """Cut the queries into blocks, and these into batches, the first time that they are asked for."""
    at_most = CELLS_IN_A_BLOCK if n_threads == 1 else CELLS_IN_A_SHARED_BLOCK
    return queries.cached(("batches", at_most), lambda: list(_batches(queries, at_most)))


def blocks_of(queries: LabelledQueries) -> list[Block]:
    """Return the blocks of all batches."""
    return [block for batch in batches_of(queries) for block in batch.blocks]


def _batches(queries: LabelledQueries, at_most: int) -> Iterator[Batch]:
    blocks: list[Block] = []
    cells = begin = 0
    for members in _cut(queries.n_retrieved(), at_most):
        blocks.append(Block(queries, members, begin))
        begin += len(members)
        cells += len(members) * blocks[-1].width
        if cells >= CELLS_IN_A_BATCH or begin - blocks[0].begin >= QUERIES_IN_A_BATCH:
            yield Batch.of(blocks)
            blocks, cells = [], 0
    if blocks:
        yield Batch.of(blocks)


def _cut(n_ranked: IntArray, at_most: int) -> Iterator[IntArray]:
    """Yield the queries of each block: sorted by length, as many as fit into so many cells with little padding."""
    order = np.argsort(n_ranked, kind="stable")
    lengths = np.maximum(n_ranked[order], 1)
    first = 0
    while first < len(order):
        # The block grows while its padded size stays in the cache. Lengths rise, so padded size rises too.
        ahead = lengths[first : first + at_most // int(lengths[first]) + 1]
        padded = ahead * np.arange(1, len(ahead) + 1)
        wasteful = (padded > CELLS_WORTH_A_BLOCK) & (padded > 1.25 * ahead.cumsum())
        too_large = padded > at_most
        stop = wasteful | too_large
        count = max(1, int(stop.argmax())) if stop.any() else len(ahead)
        yield order[first : first + count]
        first += count


def ideal_rankings(queries: LabelledQueries) -> list[tuple[IntArray, AnyArray]]:
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

    return queries.cached(
        "ideal_rankings", lambda: [(members, sort(members)) for members in _cut(queries.sizes, CELLS_IN_A_BLOCK)]
    )


class Block(Cache):
    """Some queries of like length, seen from their labels.

    Attributes
    ----------
    members : ndarray of int
        Positions of this block's queries among all queries.
    begin : int
        How many queries the blocks before it have.
    n_ranked : ndarray of int
        Documents of each query that have a rank.
    width : int
        The longest of them, at least 1.
    """

    def __init__(self, queries: LabelledQueries, members: IntArray, begin: int) -> None:
        super().__init__()
        self._queries = weakref.ref(queries)  # they hold their blocks: a circle would outlive its use in memory
        self.members = members
        self.begin = begin
        self.n_ranked: IntArray = queries.n_retrieved()[members]
        self.width = max(1, int(self.n_ranked.max()))

    @property
    def queries(self) -> LabelledQueries:
        """All queries, of which these are some."""
        queries = self._queries()
        assert queries is not None, "whoever evaluates a block holds its queries"
        return queries

    def arranged(self, order: str) -> Arrangement:
        """Put the ranked documents in the order that decides ties: input, ascending, descending or docid."""
        return self.cached(("arranged", order), lambda: _arrange(self, order))

    def at_least(self, lowest: int) -> RelevantOffsets:
        """Count the ranked documents whose grade index is at least this."""
        return self.cached(("at least", lowest), lambda: RelevantOffsets.of(self, lowest))


class RelevantOffsets(NamedTuple):
    """The ranked documents from some grade on, query after query: all that can be said of them before they are ranked."""

    found: IntArray  # queries that have any
    begin: IntArray  # where those of each of these begin
    nth: FloatArray  # 1, 2, ... within each query
    above: FloatArray  # what a document's flat cell in the (queries x width) matrix is more than its rank

    @classmethod
    def of(cls, block: Block, lowest: int) -> RelevantOffsets:
        """Count them."""
        chosen = np.arange(1, len(block.queries.grades) + 1) >= lowest
        count = block.queries.count_ranked(chosen)[block.members]
        begin = np.cumsum(count) - count
        nth = np.arange(1.0, count.sum() + 1) - np.repeat(begin, count)
        above = np.repeat(np.arange(len(count)) * float(block.width) - 1, count)
        found = np.flatnonzero(count)
        return cls(found, begin[found], nth, above)


class Batch(NamedTuple):
    """Some blocks, and all their queries together as one, whose first ranks alone are looked at."""

    blocks: list[Block]
    together: Block

    @classmethod
    def of(cls, blocks: list[Block]) -> Batch:
        """Join blocks."""
        if len(blocks) == 1:
            return cls(blocks, blocks[0])
        members = np.concatenate([block.members for block in blocks])
        return cls(blocks, Block(blocks[0].queries, members, blocks[0].begin))


class Arrangement(NamedTuple):
    """A block's ranked documents and the order in which equal scores are to stand.

    The ranked rows of all queries stand one query after the other. A query of the block is a window of them, as wide as the
    block: its cells before ``shift`` (which only the last queries have) and from ``shift + n_ranked`` on are padding. Windows
    are copied in one go, where an index a document would have to be kept, read and followed.
    """

    rows: IntArray | None  # row of each ranked document, query after query; None where they are 0, 1, 2, ...
    begin: IntArray  # where the window of each query begins
    width: int
    n_ranked: IntArray  # documents of each query
    tail: KeyArray  # (queries x width) low bits of the sort key: rank among equals, then grade index
    padding: IntArray  # flat cells of this matrix that hold no document
    padding_keys: KeyArray  # their sort keys: below every document, no two of a query alike, grade 0
    place: AnyArray | None  # (queries x width) cell of each rank among equals; None where rank and cell are the same
    place_bits: int
    grade_bits: int  # 0 when there are too many distinct grades for the key
    grades: AnyArray | None  # (queries x width) grade indexes where the key does not hold them

    @property
    def tail_bits(self) -> int:
        """Bits that the score has to give up."""
        return self.place_bits + self.grade_bits

    def of_documents(self, of_rows: AnyArray) -> AnyArray:
        """Lay a value a row out as (queries x width); padding holds anything."""
        if self.rows is None:
            return _windows(of_rows, self.begin, self.width)
        return of_rows.take(_windows(self.rows, self.begin, self.width), mode="clip")

    def row_of(self, query: IntArray, cell: IntArray) -> IntArray:
        """Return the rows of the input that are laid out in the given cells."""
        position = self.begin[query] + cell
        return position if self.rows is None else self.rows[position]


def _windows(values: AnyArray, begin: IntArray, width: int) -> AnyArray:
    windows: AnyArray = np.ndarray(
        (len(values) - width + 1, width), dtype=values.dtype, buffer=values, strides=values.strides * 2
    )
    return windows[begin]


def _arrange(block: Block, order: str) -> Arrangement:
    queries, width, n_ranked = block.queries, block.width, block.n_ranked
    rows = queries.cached("ranked_rows", lambda: _ranked_rows(queries))
    ends = queries.cached("ranked_ends", lambda: queries.n_retrieved().cumsum())
    start = ends[block.members] - n_ranked
    begin = np.minimum(start, ends[-1] - width)
    shift = (start - begin)[:, None]
    cell = np.arange(width)
    inside = (cell >= shift) & (cell < shift + n_ranked[:, None])
    of_cells = begin[:, None] + cell
    of_cells = of_cells if rows is None else rows[of_cells]

    grades = np.where(inside, queries.grade_index[of_cells], queries.grade_index.dtype.type(0))
    grade_bits = len(queries.grades).bit_length()
    grade_bits = grade_bits if grade_bits <= GRADE_BITS_AT_MOST else 0
    place, rank = None, np.broadcast_to(cell, inside.shape)
    if order != "input":
        place = _cells_by(_tie_values(queries, order)[of_cells], inside)
        rank = np.empty_like(place)
        np.put_along_axis(rank, place, cell[None, :], axis=1)
        place = place.astype(np.min_scalar_type(width))
    padding = np.flatnonzero(~inside)
    place_bits = max(1, (width - 1).bit_length())
    tail_bits = place_bits + grade_bits
    tail_type = np.int64 if tail_bits > 32 else np.min_scalar_type(2**tail_bits - 1)  # int64 mixes with no uint64
    return Arrangement(
        rows=rows,
        begin=begin,
        width=width,
        n_ranked=n_ranked,
        tail=(rank << grade_bits | grades if grade_bits else rank).astype(tail_type),
        padding=padding,
        padding_keys=BELOW_INFINITY + (padding % width << tail_bits),
        place=place,
        place_bits=place_bits,
        grade_bits=grade_bits,
        grades=None if grade_bits else grades,
    )


def _ranked_rows(queries: LabelledQueries) -> IntArray | None:
    if queries.retrieved is None:
        return queries.order
    rows = queries.rows_in_query_order()
    return rows[queries.retrieved[rows]]


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

    return queries.cached("docid_descending", falling)


def _cells_by(values: AnyArray, inside: BoolArray) -> IntArray:
    """Cells of each query's documents in ascending order of their values, input order among equals, padding last."""
    place_bits = max(1, (values.shape[1] - 1).bit_length())
    words = values.astype(np.int64)
    words[~inside] = np.iinfo(np.int64).max >> place_bits
    words <<= place_bits
    words |= np.arange(values.shape[1])
    words.sort(axis=1)
    words &= (1 << place_bits) - 1
    return words


def with_padding_value(values: FloatArray) -> FloatArray:
    """Put the value of "no document", 0, before the values of the distinct grades."""
    return np.concatenate((np.zeros(1, dtype=values.dtype), values))
