"""The highest precision from a number of relevant documents on, for interpolated precision.

A tie of m documents, r relevant, begins below a documents, b relevant. If its l-th relevant
document is at its place p, the precision there is (b + l) / (a + p). The highest precision of a
ranking is the largest of these numbers over all relevant documents from the c-th on.

The expectation of a maximum M is the sum over its possible values x of the step from x to the next
one, times P(M > x). The ties of a query are independent, so P(M <= x) is a product over them.
Within a tie, it is the share of its orders in which the l-th relevant document stands low enough
for each l. These orders are counted from the last relevant document to the first one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrValueError, one_line

MOST_CELLS = 10_000  # (place, relevant document) in the ties of a query; the time grows with their square
CELLS_AT_ONCE = 1_000_000  # (value, place) of one call of NumPy


class OpenTie(NamedTuple):
    """A tie that holds relevant documents and others."""

    above: int  # documents above the tie
    relevant_above: int
    size: int
    n_relevant: int

    def precisions(self) -> FloatArray:
        """Return the precision where the l-th relevant document is at place p, (n_relevant x size)."""
        nth, place = np.arange(1, self.n_relevant + 1)[:, None], np.arange(1, self.size + 1)
        return np.asarray((self.relevant_above + nth) / (self.above + place))

    def possible(self) -> FloatArray:
        """Return the precisions whose place leaves room for the other relevant documents."""
        nth, place = np.arange(1, self.n_relevant + 1)[:, None], np.arange(1, self.size + 1)
        return self.precisions()[(place >= nth) & (place <= self.size - self.n_relevant + nth)]


def highest_precisions(ranking: Ranking, lowest: int, counts: FloatArray) -> FloatArray:
    """Return the highest precision at or below the c-th relevant document, 0 if it has no rank.

    Parameters
    ----------
    ranking : Ranking
        A whole ranking.
    lowest : int
        Grade index from which on a document is relevant.
    counts : ndarray of float64
        The numbers c, at least 1, (queries x levels).
    """
    n_relevant = np.cumsum(ranking.at_least(lowest, ranking.width), axis=1, dtype=np.int64)
    precision = n_relevant / np.arange(1.0, ranking.width + 1)
    from_rank_on = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    highest = np.zeros_like(counts)
    for level, count in enumerate(counts.T):
        rank = (n_relevant < count[:, None]).sum(axis=1)
        reached = np.flatnonzero(rank < ranking.width)
        highest[reached, level] = from_rank_on[reached, rank[reached]]
    # Tied documents are in ascending order of grade here, so these are the lowest values of all orders.
    for query, ties in _open_ties(ranking, n_relevant).items():
        highest[query] = _expected(ties, counts[query], highest[query])
    return highest


def _open_ties(ranking: Ranking, n_relevant: IntArray) -> dict[int, list[OpenTie]]:
    """Return the open ties of each query that has any."""
    by_query: dict[int, list[OpenTie]] = {}
    if ranking.ties is None:
        return by_query
    tied = ranking.tied_documents(ranking.width)
    query, above, size, _ = tied.ties
    last = above + size - 1
    relevant_above = np.where(above > 0, n_relevant[query, above - 1], 0)
    relevant = n_relevant[query, last] - relevant_above
    for tie in np.flatnonzero((relevant > 0) & (relevant < size)).tolist():
        numbers = (int(of_tie[tie]) for of_tie in (above, relevant_above, size, relevant))
        by_query.setdefault(int(query[tie]), []).append(OpenTie(*numbers))
    for at, ties in by_query.items():
        _refuse_large(ranking, at, ties)
    return by_query


def _refuse_large(ranking: Ranking, query: int, ties: list[OpenTie]) -> None:
    if sum(tie.size * tie.n_relevant for tie in ties) > MOST_CELLS:
        largest = max(ties, key=lambda tie: tie.size * tie.n_relevant)
        qid = one_line(ranking.queries.qid[ranking.block.members[query]])
        raise LtrValueError(
            f'iprec with ties="mean" must have at most {MOST_CELLS:,} documents x relevant documents in the ties of a '
            f"query, since its expectation takes long to compute: query {qid} has {largest.size:,} documents of equal "
            f"score, {largest.n_relevant:,} of them relevant. "
            'Evaluate with ties="stable", "worst", "best" or "docid".'
        )


def _expected(ties: list[OpenTie], counts: FloatArray, least: FloatArray) -> FloatArray:
    """Return the expected highest precision of one query for each count, whose lowest values are ``least``."""
    values = np.unique(np.concatenate([tie.possible() for tie in ties]))
    values = np.concatenate(([least.min()], values[values > least.min()]))
    at_most = np.ones((len(values), len(counts)))
    for tie in ties:
        first = np.maximum(counts - tie.relevant_above, 1).astype(np.intp)
        for level_first in np.unique(first[first <= tie.n_relevant]).tolist():
            at_most[:, first == level_first] *= _probabilities(tie, level_first, values)[:, None]
    steps = np.diff(np.maximum(values[:, None], least), axis=0)
    return np.asarray(least + (steps * (1 - at_most[:-1])).sum(axis=0))


def _probabilities(tie: OpenTie, first: int, values: FloatArray) -> FloatArray:
    """Return P(no precision from the tie's relevant document number ``first`` on is above x) for each x."""
    precisions = tie.precisions()[first - 1 :]
    above_first = np.array([math.comb(place, first - 1) for place in range(tie.size)], dtype=np.float64)
    n_orders = []
    for part in np.array_split(values, len(values) * tie.size // CELLS_AT_ONCE + 1):
        n_below = np.ones((len(part), tie.size))  # orders of the later relevant documents, by place of this one
        for of_place in precisions[::-1]:
            n_here = np.where(of_place <= part[:, None], n_below, 0.0)
            n_below = np.cumsum(n_here[:, ::-1], axis=1)[:, ::-1] - n_here
        n_orders.append(n_here @ above_first)
    return np.asarray(np.concatenate(n_orders) / math.comb(tie.size, tie.n_relevant))
