"""The package's one sort: each document becomes a 64-bit key, and sorting the keys ranks a block of queries.

The key's layout, from the high bits to the low ones::

    ┌──────────────────────────────────────────┬───────────┬─────────┐
    │ score, as an integer of descending order │ tie rank  │ grade   │
    └──────────────────────────────────────────┴───────────┴─────────┘
                                                └──── tail_bits ─────┘

- The bits of the score are transformed so that a smaller integer means a higher score.
- The tie rank is the document's rank among equal scores under the tie policy: input order
  ("stable"), ascending grades ("worst"), descending grades ("best") or descending document ids
  ("docid"). For "mean" any order will do; ascending grades suit the cascade's recursion.
- The grade is a grade index. It comes along with the sort, so no permutation has to be followed.

Tie rank and grade overwrite the low bits of the score. So two nearly equal scores can come out in
the wrong order::

    score                 bits that the key keeps     full score as a sort key
    0.3                   C02CCCCCCCCCC|000           C02CCCCCCCCCCCCC
    0.30000000000000004   C02CCCCCCCCCC|000           C02CCCCCCCCCCCCB     ranks above, but looks tied

After the sort we look for neighbours whose kept bits are equal, and sort these again by the full
score (`_resolve_near_ties`). Scores in float32 fill only the high bits and need no such step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import Argument, LtrValueError

KeyArray = npt.NDArray[np.int64]

FLOAT32_SPARE_BITS = 29  # low bits that are zero in a float64 made from a float32
GRADE_BITS_AT_MOST = 8  # of the sort key; more distinct grades than that are looked up after the sort
BELOW_INFINITY = 0x7FF8 << 48  # key of padding: in descending order it comes after the score -inf
MOST_INT32_ROWS = 2**31 - 1  # int32 holds the numbers of so many rows, in half the memory
HIGHEST = np.iinfo(np.int64).max


# -- the layout of the keys -----------------------------------------------------------------------


class KeyLayout(NamedTuple):
    """Where a block's documents come from, and the low bits of their sort keys.

    The cells of a query hold its documents in the order of equal scores, so a document's tie rank
    is its cell. Padding is behind the documents.
    """

    rows: IntArray  # (queries x width) row of each document; padding has any ranked row
    n_ranked: IntArray  # documents of each query
    tail: KeyArray  # (queries x width) low bits of the key: tie rank, then grade index
    tail_bits: int  # how many bits that are
    padding: IntArray  # flat cells of this matrix that hold no document
    padding_keys: KeyArray  # their full keys: behind every document, all different within a query
    grade_bits: int  # 0 if there are too many distinct grades for the key
    grades: AnyArray | None  # (queries x width) grade indices where the key does not hold them

    @staticmethod
    @cached
    def of(block: Block, ties: TiePolicy) -> KeyLayout:
        """Lay out a block's ranked documents, those of equal scores in the order of a tie policy other than "mean"."""
        queries, width = block.queries, block.width
        cell = np.arange(width)
        is_document = cell < block.n_ranked[:, None]
        rows = _rows_of_cells(block, cell)
        if ties != "stable":
            values = _values_that_order_ties(queries, ties).take(rows)
            rows = _rows_of_cells(block, _order_of_ties(values, is_document))
        grades = np.where(is_document, queries.grade_index.take(rows), queries.grade_index.dtype.type(0))
        n_bits = len(queries.grades).bit_length()
        grade_bits = n_bits if n_bits <= GRADE_BITS_AT_MOST else 0
        tail_bits = max(1, (width - 1).bit_length()) + grade_bits
        tail_type = np.int64 if tail_bits > 32 else np.min_scalar_type(2**tail_bits - 1)  # no uint64: it mixes badly
        tail = np.broadcast_to((cell << grade_bits).astype(tail_type), is_document.shape)
        padding = np.flatnonzero(~is_document)
        return KeyLayout(
            rows=rows,
            n_ranked=block.n_ranked,
            tail=tail | grades.astype(tail_type) if grade_bits else tail,
            tail_bits=tail_bits,
            padding=padding,
            padding_keys=BELOW_INFINITY + (padding % width << tail_bits),
            grade_bits=grade_bits,
            grades=None if grade_bits else grades,
        )

    def cells(self, keys: KeyArray) -> IntArray:
        """Return the cells from which documents came, by their keys; padding has its own."""
        cells = keys >> self.grade_bits
        cells &= 2 ** (self.tail_bits - self.grade_bits) - 1
        return cells


def _rows_of_cells(block: Block, cell: IntArray) -> IntArray:
    """Return the rows of the documents in the given cells of each query, which are in input order."""
    queries = block.queries
    start = queries.ranked_ends[block.members] - block.n_ranked
    position = np.minimum(start[:, None] + cell, queries.ranked_ends[-1] - 1)  # padding of the last query
    rows: AnyArray = position if queries.ranked_rows is None else queries.ranked_rows[position]
    return rows.astype(np.int32 if queries.n_rows <= MOST_INT32_ROWS else np.intp)


def _values_that_order_ties(queries: LabelledQueries, ties: TiePolicy) -> AnyArray:
    """Return an unsigned number for each row: documents of equal score are in its ascending order."""
    if ties == "worst":
        return queries.grade_index
    if ties == "best":
        return np.asarray(queries.grade_index.dtype.type(len(queries.grades)) - queries.grade_index)
    if queries.docid is None:
        raise LtrValueError(
            Argument("ties", "docid"),
            ", which a convention may set, needs document ids: pass ",
            Argument("docid", ...),
            ", or use ",
            Argument("ties", "stable"),
            " for input order.",
        )
    return queries.docid_descending


def _order_of_ties(values: AnyArray, is_document: BoolArray) -> IntArray:
    """Return the cells of each query in the order of its documents' values; equal ones in input order, padding last."""
    width = values.shape[1]
    cell_bits = max(1, (width - 1).bit_length())
    cells = values.astype(np.int64)
    cells[~is_document] = HIGHEST >> cell_bits
    cells <<= cell_bits
    cells |= np.arange(width)
    cells.sort(axis=1)
    cells &= (1 << cell_bits) - 1
    return cells


# -- the sort ---------------------------------------------------------------------------------------


class SortedDocuments(NamedTuple):
    """A block's documents in descending order of score, as sorted keys."""

    layout: KeyLayout
    scores_of_rows: AnyArray  # the scores of all rows
    keys: KeyArray
    ties_with_next: BoolArray | None  # (queries x width) is a cell tied with the next one? None: no tie or not asked

    def rows(self, query: IntArray, column: IntArray) -> IntArray:
        """Return the rows of the input whose documents are in the given cells."""
        return self.layout.rows[query, self.layout.cells(self.keys[query, column])]

    def grades(self) -> AnyArray:
        """Return the grade indices by rank, (queries x width), in a small integer type; padding has 0."""
        layout = self.layout
        if layout.grades is None:
            low = self.keys.astype(np.uint8)
            low &= np.uint8(2**layout.grade_bits - 1)
            return low
        grades = np.take_along_axis(layout.grades, layout.cells(self.keys), axis=1)
        grades[np.arange(grades.shape[1]) >= layout.n_ranked[:, None]] = 0
        return grades


def sort_documents(block: Block, scores: AnyArray, ties: TiePolicy) -> SortedDocuments:
    """Sort every query of a block by descending score, which is not NaN; infinite ones come first and last."""
    layout = KeyLayout.of(block, "worst" if ties == "mean" else ties)
    tail_mask = (1 << layout.tail_bits) - 1
    full_keys, buffer = _descending_sort_keys(scores.take(layout.rows, mode="clip"))  # faster than checking the rows
    full_keys.ravel()[layout.padding] = layout.padding_keys
    keys = np.bitwise_and(full_keys, ~tail_mask, out=buffer)
    np.bitwise_or(keys, layout.tail, out=keys, casting="unsafe")
    keys.sort(axis=1)
    documents = SortedDocuments(layout, scores, keys, None)
    is_exact = scores.dtype == np.float32 and layout.tail_bits <= FLOAT32_SPARE_BITS
    if is_exact and ties != "mean":
        return documents
    same_prefix = _same_as_next(keys, tail_mask)
    if not same_prefix.any():
        return documents
    return documents._replace(
        ties_with_next=same_prefix if is_exact else _resolve_near_ties(documents, same_prefix, full_keys)
    )


def _descending_sort_keys(scores: AnyArray) -> tuple[KeyArray, KeyArray]:
    """Return scores as integers that ascend as the score descends, and an array of the same size to reuse."""
    buffer = scores if scores.dtype == np.float64 else None
    negated = np.subtract(0.0, scores, out=buffer, dtype=np.float64)  # never -0.0, which would sort before 0.0
    keys = negated.view(np.int64)
    flips = keys >> 63  # a negative float has its bits flipped, except for the sign
    flips &= HIGHEST
    keys ^= flips
    return keys, flips


def _same_as_next(keys: KeyArray, low_bits: int = 0) -> BoolArray:
    """Return which keys differ from the next one at most in these low bits."""
    flat = keys.ravel()
    is_same = np.empty(keys.shape, dtype=np.bool_)
    np.less_equal((flat[1:] ^ flat[:-1]).view(np.uint64), np.uint64(low_bits), out=is_same.ravel()[:-1])
    is_same[:, -1] = False  # the next key belongs to another query
    return is_same


def _resolve_near_ties(documents: SortedDocuments, same_prefix: BoolArray, full_keys: KeyArray) -> BoolArray:
    """Return which cells tie with the next one, after documents whose kept bits are equal are sorted by full score.

    Only queries in which such documents have different scores are sorted again.
    """
    cells = documents.layout.cells(documents.keys)
    cells += np.arange(0, cells.size, cells.shape[1])[:, None]  # where each query starts
    full = full_keys.take(cells, mode="clip")
    is_tie = same_prefix & _same_as_next(full)
    differs = same_prefix ^ is_tie
    if differs.any():
        is_sorted = same_prefix & np.any(differs, axis=1, keepdims=True)
        is_sorted[:, 1:] |= is_sorted[:, :-1]
        chosen, keys, full = np.flatnonzero(is_sorted), documents.keys.ravel(), full.ravel()
        order = np.lexsort((keys[chosen], full[chosen], chosen // is_sorted.shape[1]))
        keys[chosen], full[chosen] = keys[chosen][order], full[chosen][order]
        is_tie = same_prefix & _same_as_next(full.reshape(is_tie.shape))
    return is_tie
