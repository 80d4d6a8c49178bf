"""Documents with equal scores: where the ties are, which documents they hold, and which places of these are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray


class Ties(NamedTuple):
    """Runs of two or more documents with equal scores, in the order of queries and ranks."""

    query: IntArray  # position of the query within the block
    n_above: IntArray  # documents ranked above the tie
    size: IntArray
    offset: IntArray  # offset of its first document in the flat ranking

    @classmethod
    def of_neighbours(cls, tied: BoolArray) -> Ties:
        """Join cells, each of which ties with the next one, into runs; the last column ties with nothing."""
        flat = tied.ravel()
        begins = flat.copy()
        np.greater(flat[1:], flat[:-1], out=begins[1:])
        begin, last_but_one = np.flatnonzero(begins), np.flatnonzero(flat[:-1] > flat[1:])
        row = begin // tied.shape[1]
        return cls(row, begin - row * tied.shape[1], last_but_one - begin + 2, begin)

    @classmethod
    def concat(cls, parts: Sequence[Ties]) -> Ties:
        """Join the ties of several rankings."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def begins(self) -> IntArray:
        """Where the documents of each tie begin, if those of all ties are listed one tie after the other."""
        return np.cumsum(self.size) - self.size

    @property
    def documents(self) -> IntArray:
        """List them so, each by where it is for those who keep the grades."""
        of_tie = np.repeat(self.offset - self.begins, self.size)
        of_tie += np.arange(len(of_tie))
        return of_tie

    def above(self, depth: int) -> Ties:
        """Those that begin within the first ``depth`` ranks."""
        chosen = self.n_above < depth
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def take(self, chosen: IntArray) -> Ties:
        """Return some of them, given by position."""
        return Ties(self.query[chosen], self.n_above[chosen], self.size[chosen], self.offset[chosen])


class TiedDocuments(NamedTuple):
    """The documents of ties, one entry a document: what stands where is open."""

    ties: Ties
    tie: IntArray  # which tie
    place: IntArray  # place within the tie, from 0
    begins: IntArray  # first entry of each tie

    @classmethod
    def of(cls, ties: Ties) -> TiedDocuments:
        """List the documents of ties."""
        tie, begins = np.repeat(np.arange(len(ties.size)), ties.size), ties.begins
        return cls(ties, tie, np.arange(len(tie)) - np.repeat(begins, ties.size), begins)


class TiedRanks(NamedTuple):
    """The places of ties whose rank is within a depth."""

    within: IntArray  # how many of each tie
    entries: IntArray  # the entries of the `TiedDocuments` that stand there
    row: IntArray  # and their cells
    column: IntArray

    @classmethod
    def of(cls, tied: TiedDocuments, depth: int) -> TiedRanks:
        """List the places, of ties that begin above the depth."""
        column = tied.ties.n_above[tied.tie] + tied.place
        entries = np.flatnonzero(column < depth)
        within = np.minimum(tied.ties.size, depth - tied.ties.n_above)
        return cls(within, entries, np.repeat(tied.ties.query, within), column[entries])

    def show(self, of_documents: FloatArray, by_rank: FloatArray) -> None:
        """Write values, one for each of the `TiedDocuments`, over the cells of a (queries x depth) matrix."""
        by_rank[self.row, self.column] = of_documents[self.entries]

    def fill_ties(self, of_ties: FloatArray, by_rank: FloatArray) -> None:
        """Write values, one for each tie, over the cells of a (queries x depth) matrix."""
        by_rank[self.row, self.column] = np.repeat(of_ties, self.within)
