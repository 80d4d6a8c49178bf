"""The package's one sort: each document becomes a 64-bit word, and a plain sort of words ranks a block of queries.

A word has the score first (as an unsigned integer that falls as the score rises), then the document's place in the layout, then
its grade. A plain sort of such words is the fastest that NumPy has, and brings the grades along. The low bits of the score
that the place and the grade displace are checked afterwards, so the order is exact.

What stands in the place bits is the tie policy: the layout is in input order (stable), in ascending order of grade (worst),
descending (best) or by document id. For "mean" any layout will do; ascending grades suit the cascade's recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr_metrics.blocks import Arrangement, Block, KeyArray
from ltr_metrics.inputs import AnyArray, FloatArray, IntArray

LAYOUT_OF_TIES = {
    "mean": "ascending",
    "stable": "input",
    "worst": "ascending",
    "best": "descending",
    "docid": "docid",
}
FLOAT32_SPARE_BITS = 29  # low bits that are zero in a float64 made from a float32


class NotANumberError(Exception):
    """A score is NaN; the caller, who has all rows, says where."""


@dataclass(frozen=True, eq=False)
class SortedDocuments:
    """A block's documents, best first, as sorted words."""

    arrangement: Arrangement
    keys: KeyArray
    score: FloatArray  # as laid out, before the sort
    tied: IntArray  # flat cells that tie with the next one; looked for under "mean" alone

    @property
    def grade_bits(self) -> int:
        """How many low bits of a word hold the grade's index; 0 where it has to be looked up."""
        return self.arrangement.grade_bits

    def rows(self, row: IntArray, column: IntArray) -> IntArray:
        """Return the rows of the input whose documents stand in the given cells."""
        return np.asarray(self.arrangement.rows[row, self._places(self.keys[row, column])])

    def scores(self, row: IntArray, column: IntArray) -> FloatArray:
        """Return their scores."""
        return np.asarray(self.score[row, self._places(self.keys[row, column])])

    def grade_index(self, row: IntArray, column: IntArray) -> IntArray:
        """Return their grade indexes; padding has 0, or the last document's where the words do not hold them."""
        return self._grade_index(self.keys[row, column], row)

    def grade_indexes(self, depth: int) -> IntArray:
        """Return the grade indexes of the first ranks, (queries x depth)."""
        return self._grade_index(self.keys[:, :depth], np.arange(len(self.keys))[:, None])

    def _grade_index(self, keys: KeyArray, row: IntArray) -> IntArray:
        grades = self.arrangement.grades
        if grades is None:
            held: IntArray = (keys & np.uint64(2**self.grade_bits - 1)).astype(np.intp)
            return held
        return np.asarray(grades[row, self._places(keys)], dtype=np.intp)

    def _places(self, keys: KeyArray) -> IntArray:
        """Places in the layout; padding has the last one."""
        return np.asarray(np.minimum(_places(self.arrangement, keys), self.keys.shape[1] - 1))


def sort_documents(block: Block, scores: AnyArray, ties: str) -> SortedDocuments:
    """Sort every query of a block by falling score; infinite scores come first and last."""
    arrangement = block.arranged(LAYOUT_OF_TIES[ties])
    score = scores.take(arrangement.rows, mode="clip").astype(np.float64, copy=False)
    if np.isnan(score.min()):
        raise NotANumberError
    keys = _falling_words(score)
    drop = np.uint64(arrangement.tail_bits)
    keys >>= drop
    keys <<= drop
    keys |= arrangement.tail
    keys.sort(axis=1)
    exact = scores.dtype == np.float32 and arrangement.tail_bits <= FLOAT32_SPARE_BITS
    if exact and ties != "mean":
        return SortedDocuments(arrangement, keys, score, np.zeros(0, dtype=np.intp))
    return SortedDocuments(arrangement, keys, score, _settle_equal_prefixes(arrangement, keys, score, exact))


def _falling_words(score: FloatArray) -> KeyArray:
    """Unsigned integers that rise as the score falls; -0.0 equals 0.0."""
    score += 0.0  # turns -0.0 into 0.0
    signed = score.view(np.int64)
    word = signed >> 63
    np.invert(word, out=word)
    word &= np.int64(0x7FFF_FFFF_FFFF_FFFF)
    word ^= signed
    return word.view(np.uint64)


def _settle_equal_prefixes(arrangement: Arrangement, keys: KeyArray, score: FloatArray, exact: bool) -> IntArray:
    """Put documents right whose scores differ only in dropped bits; return the cells that tie with the next one."""
    width = keys.shape[1]
    alike = (keys[:, 1:] ^ keys[:, :-1]) < np.uint64(2**arrangement.tail_bits)
    alike.ravel()[arrangement.padding_pairs] = False
    cells = np.flatnonzero(alike)
    cells += cells // max(width - 1, 1)  # from the matrix of neighbours to the matrix of documents
    if exact or not cells.size:
        return cells
    this, following = _true_scores(arrangement, keys, score, cells), _true_scores(arrangement, keys, score, cells + 1)
    swapped = this < following
    if swapped.any():
        run = np.cumsum(np.diff(cells, prepend=cells[0] - 1) != 1)
        _sort_again(arrangement, keys, score, cells[np.isin(run, run[swapped])])
        this = _true_scores(arrangement, keys, score, cells)
        following = _true_scores(arrangement, keys, score, cells + 1)
    return np.asarray(cells[this == following])


def _sort_again(arrangement: Arrangement, keys: KeyArray, score: FloatArray, cells: IntArray) -> None:
    """Sort runs of equal prefixes, given by all their cells but the last, by true score, then by place."""
    members = np.union1d(cells, cells + 1)
    flat = keys.ravel()
    words = flat[members]
    falling = -_true_scores(arrangement, keys, score, members)
    order = np.lexsort((words, falling, words >> np.uint64(arrangement.tail_bits), members // keys.shape[1]))
    flat[members] = words[order]


def _true_scores(arrangement: Arrangement, keys: KeyArray, score: FloatArray, cells: IntArray) -> FloatArray:
    """Scores of the documents that stand in the given cells after the sort."""
    width = keys.shape[1]
    place = _places(arrangement, keys.ravel()[cells])
    return np.asarray(score.ravel()[cells // width * width + place])


def _places(arrangement: Arrangement, keys: KeyArray) -> IntArray:
    mask = np.uint64(2**arrangement.place_bits - 1)
    place: IntArray = (keys >> np.uint64(arrangement.grade_bits) & mask).astype(np.intp)
    return place
