"""Ties: where they are in a ranking, which documents they hold, and which of their ranks are within a depth.

A tie may span the cutoff. With depth 3, the tie below has ``n_above`` 1 and ``size`` 4; two of its
ranks are within the depth, and any of its four documents may stand there::

    rank       1 |  2    3  :  4    5 |  6
    score    0.9 | 0.5  0.5 : 0.5  0.5| 0.1
                 |<----- one tie ---->|
                            : depth
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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

    @classmethod
    def concat(cls, parts: Sequence[Ties]) -> Ties:
        """Concatenate the ties of several rankings."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

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
        is_above = self.n_above < depth
        return self if is_above.all() else self.take(np.flatnonzero(is_above))

    def take(self, positions: IntArray) -> Ties:
        """Return the ties at some positions."""
        return Ties(self.query[positions], self.n_above[positions], self.size[positions], self.offset[positions])


class TiedDocuments(NamedTuple):
    """The documents of the ties that begin above a depth, one entry a document: their order is open."""

    ties: Ties
    tie: IntArray  # position of each document's tie
    rank_in_tie: IntArray  # from 0
    starts: IntArray  # first entry of each tie
    grades: AnyArray  # grade index of each document, ascending within a tie
    n_within: IntArray  # how many ranks of each tie are within the depth
    entries: IntArray  # the entries of these ranks
    query: IntArray  # and their cells in a (queries x depth) matrix
    column: IntArray

    @classmethod
    def of(cls, ties: Ties, grades: AnyArray, depth: int) -> TiedDocuments:
        """List the documents of the ties that begin above ``depth``.

        ``grades`` are the grade indices that ``ties.offset`` refers to.
        """
        ties = ties.above(depth)
        tie, starts = np.repeat(np.arange(len(ties.size)), ties.size), ties.starts
        rank_in_tie = np.arange(len(tie)) - np.repeat(starts, ties.size)
        column = ties.n_above[tie] + rank_in_tie
        entries = np.flatnonzero(column < depth)
        n_within = np.minimum(ties.size, depth - ties.n_above)
        query = np.repeat(ties.query, n_within)
        grades = grades[ties.document_offsets()]
        return cls(ties, tie, rank_in_tie, starts, grades, n_within, entries, query, column[entries])

    def sum(self, values: FloatArray) -> FloatArray:
        """Sum one value a document over each tie."""
        return np.asarray(np.add.reduceat(values, self.starts)) if self.starts.size else np.zeros(0)

    def fill_documents(self, values: FloatArray, by_rank: FloatArray) -> None:
        """Write one value a document over the tied cells of a (queries x depth) matrix."""
        by_rank[self.query, self.column] = values[self.entries]

    def fill_ties(self, values: FloatArray, by_rank: FloatArray) -> None:
        """Write one value a tie over the tied cells of a (queries x depth) matrix."""
        by_rank[self.query, self.column] = np.repeat(values, self.n_within)
