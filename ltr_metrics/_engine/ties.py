"""Ties: where they are in a ranking, which documents they hold, and which of their ranks are within a depth.

A tie may span the cutoff. With depth 3, the tie below has ``n_above`` 1 and ``size`` 4; two of its
ranks are within the depth, and any of its four documents may stand there::

    rank       1 |  2    3  :  4    5 |  6
    score    0.9 | 0.5  0.5 : 0.5  0.5| 0.1
                 |<----- one tie ---->|
                            : depth
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.cache import Cache
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray


class Ties(NamedTuple):
    """Runs of two or more documents of a query with equal scores, in the order of queries and ranks."""

    query: IntArray  # position of the query within the block
    n_above: IntArray  # documents ranked above the tie
    size: IntArray
    offset: IntArray  # offset of its first document in the array that holds the grades of tied documents

    @classmethod
    def of_neighbours(cls, ties_with_next: BoolArray) -> Ties:
        """Concatenate cells that tie with the next one to runs; a cell of the last column ties with nothing."""
        flat = ties_with_next.ravel()
        is_start = flat.copy()
        np.greater(flat[1:], flat[:-1], out=is_start[1:])
        start, last_tied_with_next = np.flatnonzero(is_start), np.flatnonzero(flat[:-1] > flat[1:])
        query = start // ties_with_next.shape[1]
        return cls(query, start - query * ties_with_next.shape[1], last_tied_with_next - start + 2, start)

    @property
    def starts(self) -> IntArray:
        """Offset of the first document of each tie in a list of the documents of all ties."""
        return np.cumsum(self.size) - self.size

    def document_offsets(self) -> IntArray:
        """Return the offsets of the documents of all ties, one tie after the other."""
        offsets = np.repeat(self.offset - self.starts, self.size)
        offsets += np.arange(len(offsets))
        return offsets

    def above(self, depth: int) -> Ties:
        """Return the ties that begin within the first ``depth`` ranks."""
        return self.where(self.n_above < depth)

    def where(self, is_chosen: BoolArray) -> Ties:
        """Return the ties of a mask."""
        return self if is_chosen.all() else self.take(np.flatnonzero(is_chosen))

    def take(self, positions: IntArray) -> Ties:
        """Return the ties at some positions."""
        return Ties(self.query[positions], self.n_above[positions], self.size[positions], self.offset[positions])


class TiedDocuments(Cache):
    """The documents of the ties that begin above a depth, one entry per document: their order is open.

    Attributes
    ----------
    ties : Ties
    starts : ndarray of int
        First entry of each tie.
    grades : ndarray of int
        Grade index of each document, ascending within a tie.
    n_within : ndarray of int
        How many ranks of each tie are within the depth.
    """

    def __init__(self, ties: Ties, grades: AnyArray, depth: int) -> None:
        """List the documents; ``grades`` are the grade indices that ``ties.offset`` refers to."""
        self.ties = ties
        self.starts = ties.starts
        self.grades = grades[ties.document_offsets()]
        self._grades_at_offsets, self._depth = grades, depth
        self.n_within = np.minimum(ties.size, depth - ties.n_above)

    @cached_property
    def tie(self) -> IntArray:
        """Position of each document's tie."""
        return np.repeat(np.arange(len(self.starts)), self.ties.size)

    @cached_property
    def rank_in_tie(self) -> IntArray:
        """Position of each document within its tie, from 0."""
        return np.arange(len(self.grades)) - self.repeat(self.starts)

    def take(self, positions: IntArray) -> TiedDocuments:
        """Return the documents of the ties at some positions."""
        return TiedDocuments(self.ties.take(positions), self._grades_at_offsets, self._depth)

    def repeat(self, values: AnyArray) -> AnyArray:
        """Return one value per tie as one value per document."""
        return np.repeat(values, self.ties.size)

    def sum(self, values: FloatArray) -> FloatArray:
        """Sum one value per document over each tie."""
        return np.asarray(np.add.reduceat(values, self.starts)) if self.starts.size else np.zeros(0)

    def count(self, is_counted: BoolArray) -> IntArray:
        """Count documents of each tie; this is several times as fast as a sum."""
        counted = np.concatenate((np.zeros(1, dtype=np.intp), np.cumsum(is_counted, dtype=np.intp)))
        return np.asarray(counted[self.starts + self.ties.size] - counted[self.starts])

    def accumulated_above(self, accumulated: AnyArray, start: float) -> FloatArray:
        """Return a value that is accumulated by rank above each tie; ``start`` for a tie at the top."""
        above = self.ties.n_above
        return np.where(above > 0, accumulated[self.ties.query, above - 1], start)

    def fill_documents(self, values: FloatArray, by_rank: FloatArray) -> None:
        """Write one value per document over the tied cells of a (queries x depth) matrix."""
        if self.n_within.sum() < len(values):
            values = values[self._ranks_within(self.starts)]
        by_rank[self._cells] = values

    def fill_ties(self, values: FloatArray, by_rank: FloatArray) -> None:
        """Write one value per tie over the tied cells of a (queries x depth) matrix."""
        by_rank[self._cells] = np.repeat(values, self.n_within)

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray]:
        """Queries and ranks, from 0, of the tied cells."""
        return np.repeat(self.ties.query, self.n_within), self._ranks_within(self.ties.n_above)

    def _ranks_within(self, first: IntArray) -> IntArray:
        """Count upwards from one number per tie, once for each of its ranks within the depth."""
        ranks = np.repeat(first - (np.cumsum(self.n_within) - self.n_within), self.n_within)
        ranks += np.arange(len(ranks))
        return ranks
