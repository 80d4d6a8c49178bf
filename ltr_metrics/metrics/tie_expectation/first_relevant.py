"""The first relevant document: its expected reciprocal rank, and the chance of a hit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, row_sums
from ltr_metrics.metrics.tie_expectation.counts import count_in_ties
from ltr_metrics.metrics.tie_expectation.kinds import Kinds


def first_relevant_ranks(ranking: Ranking, lowest: int) -> FloatArray:
    """Return the rank of each query's first relevant document, tied documents in some order; infinite without one."""
    is_relevant = ranking.at_least(lowest, ranking.width)
    column = is_relevant.argmax(axis=1)
    return np.where(is_relevant[np.arange(len(column)), column], column + 1.0, np.inf)


class DecidingTies(NamedTuple):
    """The ties that hold the first relevant document of their query."""

    query: IntArray  # position of the query within the block
    n_above: IntArray  # documents ranked above the tie
    size: IntArray
    n_relevant: AnyArray  # relevant documents in the tie

    @classmethod
    def of(cls, ranking: Ranking, lowest: int, first: FloatArray) -> DecidingTies:
        """Find the ties that hold relevant documents, and above which there is no first relevant rank.

        ``first`` has these ranks, with tied documents in some order. Where only the first ranks are
        kept, the rank may be below them, in a tie that begins above; it is infinite then.
        """
        assert ranking.ties is not None
        ties, n_relevant = ranking.ties, count_in_ties(ranking, lowest).within
        decides = (n_relevant > 0) & (first[ties.query] > ties.n_above)
        return cls(ties.query, ties.n_above, ties.size, n_relevant).where(decides)

    def above(self, depth: int) -> DecidingTies:
        """Return those that begin within the first ``depth`` ranks."""
        return self.where(self.n_above < depth)

    def where(self, chosen: BoolArray) -> DecidingTies:
        """Return some of them, chosen by a mask."""
        return DecidingTies(self.query[chosen], self.n_above[chosen], self.size[chosen], self.n_relevant[chosen])


def reciprocal_ranks(ties: DecidingTies, depth: int) -> FloatArray:
    """Return the expected reciprocal rank for each tie, counting 0 below the depth.

    With r relevant documents in a tie of m, place j holds the first one with probability
    C(m-j, r-1) / C(m, r): r/m for j = 1, then (m-j-r+1) / (m-j) times as much from place to place.
    """
    # Blocks of several queries have few documents, so that this number does not exceed int64.
    kinds = Kinds.of((ties.size * (depth + 1) + ties.n_above) * (int(ties.n_relevant.max()) + 1) + ties.n_relevant)
    m, r, above = (n[kinds.example][:, None] for n in (ties.size, ties.n_relevant, ties.n_above))
    j = np.arange(int(np.minimum(m - r + 1, depth - above).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (m - j - r + 1) / (m - j)
    step[:, :1] = r / m
    step[:, 1:] = np.where(j[1:] < m, np.maximum(step[:, 1:], 0), 0)
    rank = above + j + 1.0
    return row_sums(np.where(rank <= depth, np.cumprod(step, axis=1) / rank, 0))[kinds.of_tie]


def hit_probabilities(ties: DecidingTies, depth: int) -> FloatArray:
    """Return the probability for each tie that a relevant document is within the depth.

    It is 1 - P(no relevant document at the t places within the depth), and place j, after j - 1
    places without one, holds none with probability 1 - r / (m-j+1).
    """
    m, r = ties.size[:, None], ties.n_relevant[:, None]
    t = np.minimum(np.minimum(m, depth - ties.n_above[:, None]), m - r + 1)
    j = np.arange(int(t.max()))
    share = np.where(j < t, r / np.maximum(m - j, 1), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(row_sums(np.log1p(-share))))
