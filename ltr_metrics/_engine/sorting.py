"""The package's one sort: each document becomes a 64-bit word, and a plain sort of words ranks a block of queries.

A word has the score first (as an integer that rises as the score falls), then the document's rank among equal scores, then its
grade. A plain sort of such words is the fastest that NumPy has, and brings the grades along. The low bits of the score
that rank and grade displace are checked afterwards, so the order is exact.

The rank among equals is the tie policy: input order (stable), ascending order of grade (worst), descending (best) or by
document id. For "mean" any order will do; ascending grades suit the cascade's recursion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Arrangement, Block, KeyArray
from ltr_metrics._engine.checks import AnyArray, BoolArray, IntArray
from ltr_metrics._engine.words import TiePolicy

ORDER_OF_TIES: dict[TiePolicy, str] = {
    "mean": "ascending",
    "stable": "input",
    "worst": "ascending",
    "best": "descending",
    "docid": "docid",
}
FLOAT32_SPARE_BITS = 29  # low bits that are zero in a float64 made from a float32
HIGHEST = np.iinfo(np.int64).max
CELLS_A_LOOK_UP = 16  # sorting a cell once more costs about a sixteenth of looking its score up


class NaNScoreError(Exception):
    """A score is NaN; the caller, who has all rows, says where."""


class SortedDocuments(NamedTuple):
    """A block's documents, best first, as sorted words."""

    arrangement: Arrangement
    of_rows: AnyArray  # the scores of all rows
    keys: KeyArray
    tied: BoolArray | None  # (queries x width) cells that tie with the next one; looked for under "mean" alone

    @property
    def width(self) -> int:
        """Ranks of the longest query."""
        return self.arrangement.width

    def rows(self, query: IntArray, rank: IntArray) -> IntArray:
        """Return the rows of the input whose documents stand in the given cells."""
        return _rows(self.arrangement, self.keys[query, rank], query)

    def scores(self, query: IntArray, rank: IntArray) -> AnyArray:
        """Return their scores."""
        return self.of_rows[self.rows(query, rank)]

    def grade_indices(self, depth: int) -> AnyArray:
        """Return the grade indexes of the first ranks, (queries x depth), in a small integer type; padding has 0."""
        arrangement, keys = self.arrangement, self.keys[:, :depth]
        if arrangement.grades is None:
            low = keys.astype(np.uint8)
            low &= np.uint8(2**arrangement.grade_bits - 1)
            return low
        query, rank = np.arange(len(keys))[:, None], np.arange(depth)
        grades = arrangement.grades[query, _cells(arrangement, keys, query)]
        grades[rank >= arrangement.n_ranked[:, None]] = 0
        return grades

    def grades_at(self, at: IntArray) -> AnyArray:
        """Return the grade indexes of the documents in some flat cells of the sorted matrix."""
        arrangement, keys = self.arrangement, self.keys.ravel()[at]
        if arrangement.grades is None:
            keys &= 2**arrangement.grade_bits - 1
            return keys.astype(np.uint8)
        query = at // self.width
        return np.asarray(arrangement.grades[query, _cells(arrangement, keys, query)])


def sort_documents(block: Block, scores: AnyArray, ties: TiePolicy) -> SortedDocuments:
    """Sort every query of a block by falling score; infinite scores come first and last."""
    arrangement = block.arranged(ORDER_OF_TIES[ties])
    words, room = _descending_sort_keys(arrangement, scores)
    keys = np.bitwise_and(words, ~_tail_mask(arrangement), out=room)
    np.bitwise_or(keys, arrangement.tail, out=keys, casting="unsafe")
    keys.ravel()[arrangement.padding] = arrangement.padding_keys
    keys.sort(axis=1)
    found = SortedDocuments(arrangement, scores, keys, None)
    exact = scores.dtype == np.float32 and arrangement.tail_bits <= FLOAT32_SPARE_BITS
    if exact and ties != "mean":
        return found
    same_prefix = _same_prefix_as_next(keys, _tail_mask(arrangement))
    if not same_prefix.any():
        return found
    return found._replace(tied=same_prefix if exact else _resolve_near_ties(found, same_prefix, words))


def _descending_sort_keys(arrangement: Arrangement, scores: AnyArray) -> tuple[KeyArray, KeyArray]:
    """Lay scores out as integers that rise as the score falls; return them, and room for as many more, warm in the cache."""
    laid_out = arrangement.of_documents(scores)
    room = laid_out if laid_out.dtype == np.float64 else None
    falling = np.subtract(0.0, laid_out, out=room, dtype=np.float64)  # never -0.0, which would stand below 0.0
    if np.isnan(falling.min()):
        raise NaNScoreError
    words = falling.view(np.int64)
    flips = words >> 63
    flips &= HIGHEST
    words ^= flips
    return words, flips


def _tail_mask(arrangement: Arrangement) -> int:
    return (1 << arrangement.tail_bits) - 1


def _same_prefix_as_next(words: KeyArray, low_bits: int) -> BoolArray:
    """Which words differ from the next one in these low bits at most."""
    flat = words.ravel()
    same_prefix = np.empty(words.shape, dtype=np.bool_)
    np.less_equal((flat[1:] ^ flat[:-1]).view(np.uint64), np.uint64(low_bits), out=same_prefix.ravel()[:-1])
    same_prefix[:, -1] = False  # what stands next is another query's
    return same_prefix


def _resolve_near_ties(found: SortedDocuments, same_prefix: BoolArray, words: KeyArray) -> BoolArray:
    """Put documents right whose scores differ only in dropped bits; return which cells tie with the next one."""
    cells = np.flatnonzero(same_prefix)
    if len(cells) * CELLS_A_LOOK_UP < same_prefix.size:
        same = _same_scores(found, cells)
        if not same.all():
            _sort_again(found, cells, ~same)
            same_prefix.ravel()[cells] = _same_scores(found, cells)
        return same_prefix
    words.ravel()[found.arrangement.padding] = found.arrangement.padding_keys
    words.sort(axis=1)  # the prefixes stand as in the keys, so equal words stand where equal scores do
    tied = _same_prefix_as_next(words, 0)
    different = ~tied.ravel()[cells]
    if different.any():
        _sort_again(found, cells, different)
    return tied


def _same_scores(found: SortedDocuments, cells: IntArray) -> BoolArray:
    query, rank = np.divmod(cells, found.width)
    return np.asarray(found.scores(query, rank) == found.scores(query, rank + 1))


def _sort_again(found: SortedDocuments, cells: IntArray, different: BoolArray) -> None:
    """Sort the runs of equal prefixes in which scores differ by true score, then by rank among equals.

    ``cells`` are those of all runs but the last of each, and ``different`` tells which have another score than the next.
    """
    run = np.cumsum(np.diff(cells, prepend=cells[0] - 1) != 1)
    cells = cells[np.isin(run, run[different])]
    members = np.union1d(cells, cells + 1)
    query, rank = np.divmod(members, found.width)
    words = found.keys[query, rank]
    order = np.lexsort((words, -found.scores(query, rank), words >> found.arrangement.tail_bits, query))
    found.keys[query, rank] = words[order]


def _rows(arrangement: Arrangement, keys: KeyArray, query: IntArray) -> IntArray:
    """Rows of the input that the keys stand for; of padding, some row."""
    return arrangement.row_of(query, _cells(arrangement, keys, query))


def _cells(arrangement: Arrangement, keys: KeyArray, query: IntArray) -> IntArray:
    """Where the documents were laid out; padding has some cell."""
    rank = keys >> arrangement.grade_bits
    rank &= 2**arrangement.place_bits - 1
    return rank if arrangement.place is None else arrangement.place[query, rank].astype(np.intp)
