"""The rank of every row under one score vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray, as_numbers
from ltr_metrics._rows.queries import LabelledQueries


class RowRanks(NamedTuple):
    """The rank of each row of the input, and the ranks of its tie; 0 for a row that has no rank."""

    rank: IntArray  # with tied documents in input order
    first: IntArray  # first rank of the row's tie; the row's own rank without a tie
    last: IntArray  # last rank of the row's tie

    def within(self, k: int) -> BoolArray:
        """Whether a row is among the first k, tied documents in input order."""
        return (self.rank > 0) & (self.rank <= k)

    def tied(self) -> BoolArray:
        """Whether a row has the same score as another row of its query."""
        return self.first < self.last

    def tied_across(self, k: int) -> BoolArray:
        """Whether a row's tie spans the cutoff k: only some of its documents are above it."""
        return (self.first <= k) & (self.last > k)

    def expected(self) -> FloatArray:
        """Return the mean rank over all orders of tied documents; infinite without a rank."""
        return np.where(self.rank > 0, (self.first + self.last) / 2, np.inf)


def rank_rows(queries: LabelledQueries, scores: Any, name: str) -> RowRanks:
    """Rank the retrieved rows by scores, which messages call ``name``."""
    queries.refuse_other_index(name, scores)
    scores = np.ascontiguousarray(as_numbers(scores, name, queries.n_rows))
    queries.refuse_nan_scores(scores, name)
    rank, first, last = (np.zeros(queries.n_rows, dtype=np.intp) for _ in range(3))
    ranking = Ranking(queries, scores, "stable")
    sorted_scores = ranking.scores
    is_start = np.diff(ranking.query, prepend=-1) != 0
    is_start[1:] |= sorted_scores[1:] != sorted_scores[:-1]
    start = np.flatnonzero(is_start)
    size = np.diff(start, append=len(sorted_scores))
    rank[ranking.rows] = ranking.rank
    first[ranking.rows] = np.repeat(ranking.rank[start], size)
    last[ranking.rows] = np.repeat(ranking.rank[start] + size - 1, size)
    return RowRanks(rank, first, last)
