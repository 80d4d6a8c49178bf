"""Interpolated precision at levels of recall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, row_sums
from ltr_metrics.errors import Argument, LtrValueError, one_line
from ltr_metrics.metrics.base import as_numbers, parameter, word
from ltr_metrics.metrics.relevance import BinaryMetric

RoundingOfIPrec = Literal["up", "nearest", "truncated"]
ELEVEN_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(BinaryMetric):
    r"""Interpolated precision: the highest from a level of recall on; higher is better, from 0 to 1.

    .. math:: \frac{1}{|L|} \sum_{l \in L} \max \{ C(i) / i : C(i) \ge \max(c(l), 1) \}

    C(i) is the number of relevant documents among the first i, and R that of the query, ranked or
    not. c(l) is the number of relevant documents that level l stands for, by default the lowest one
    with :math:`c / R \ge l`. A level that the ranking does not reach counts 0.
    Undefined where R = 0.

    Parameters
    ----------
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.
    recall : float or sequence of float, default 0, 0.1, ..., 1
        The level of recall, from 0 to 1. For several levels, the value is the mean over them.
        The default is the 11-point average.
    rounding : {"up", "nearest", "truncated"}, default "up"
        How l R becomes a whole number. "up" is the lowest number that reaches the level. "nearest"
        is that of trec_eval 10. "truncated" is the floor of l R + 0.9 in float64, that of trec_eval
        up to version 9.

    Raises
    ------
    LtrValueError
        If a level is not between 0 and 1, and for an unknown ``rounding``.
        For ``rel`` as for `Precision`.
        On evaluation under ``ties="mean"``: if a tie is too large for the exact expectation.

    See Also
    --------
    MAP : The mean of the precisions at the relevant documents, without interpolation.
    RPrec : Precision and recall where they are equal.

    References
    ----------
    Manning, Raghavan & Schütze, Introduction to information retrieval, 2008, section 8.4.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> names = ["iprec(recall=0.5)", "iprec(recall=1)", "iprec"]
    >>> result = ltr.evaluate([0, 1, 0, 1, 1], [5, 4, 3, 2, 1], group=[5], metrics=names)
    >>> [round(result[name], 6) for name in names]
    [0.6, 0.6, 0.6]
    """

    NAME: ClassVar[str] = "iprec"
    UNREAD: ClassVar[dict[str, str]] = {"by_grade": "Override relevant."}
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"11pt_avg": {"recall": ELEVEN_LEVELS}}

    recall: float | tuple[float, ...] = parameter(ELEVEN_LEVELS, tried=(ELEVEN_LEVELS, *ELEVEN_LEVELS))
    rounding: RoundingOfIPrec = word("up", RoundingOfIPrec)

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = as_numbers(self.recall)
        if levels is None or not 0 <= min(levels) <= max(levels) <= 1:
            raise LtrValueError(
                f"The parameter recall of iprec must be a number from 0 to 1, or several of them. Got {self.recall!r}."
            )
        object.__setattr__(self, "recall", levels[0] if np.ndim(self.recall) == 0 else levels)

    def check(self, queries: LabelledQueries) -> None:
        super().check(queries)
        is_relevant = self.declared("relevant", queries)
        if (is_relevant[:-1] & ~is_relevant[1:]).any():  # ties are in ascending order of grade
            raise LtrValueError(f"{self} must not count a grade as relevant, and a higher grade as not relevant.")

    def values(self, ranking: Ranking) -> FloatArray:
        n_relevant = self.declared("n_relevant", ranking.queries)[ranking.members]
        counts = np.maximum(self._counts(np.nan_to_num(n_relevant)[:, None]), 1)
        highest = highest_precisions(ranking, self.declared("relevant", ranking.queries), counts)
        return np.asarray(row_sums(highest) / counts.shape[1] + n_relevant * 0.0)

    def _counts(self, n_relevant: FloatArray) -> FloatArray:
        """Return the number of relevant documents that each level stands for, (queries x levels)."""
        level = np.atleast_1d(self.recall)
        share = level * n_relevant
        if self.rounding == "truncated":
            return np.asarray(np.floor(share + 0.9))
        if self.rounding == "nearest":
            return np.floor(share) + (share - np.floor(share) >= 0.5)
        # Recall and level are float64, so c / R reaches a level with few decimals exactly where it should.
        count, total = np.ceil(share), np.maximum(n_relevant, 1)
        count -= (count - 1) / total >= level
        return np.asarray(count + (count / total < level))


# -- the expectation under ties ------------------------------------------------------------------
#
# The highest precision from a number of relevant documents on, for interpolated precision.
#
# A tie of m documents, r relevant, begins below a documents, b relevant. If its l-th relevant
# document is at its p-th rank, the precision there is (b + l) / (a + p). The highest precision of a
# ranking is the largest of these numbers over all relevant documents from the c-th on.
#
# The expectation of a maximum M is the sum over its possible values x of the step from x to the next
# one, times P(M > x). The ties of a query are independent, so P(M <= x) is a product over them.
# Within a tie, it is the share of its orders in which the l-th relevant document is low enough for
# each l. These orders are counted from the last relevant document to the first one.


MOST_CELLS = 10_000  # (rank, relevant document) in the ties of a query; the time grows with their square
CELLS_AT_ONCE = 1_000_000  # (value, rank) of one call of NumPy


class OpenTie(NamedTuple):
    """A tie that holds relevant documents and others."""

    above: int  # documents above the tie
    relevant_above: int
    size: int
    n_relevant: int

    def precisions(self) -> FloatArray:
        """Return the precision where the l-th relevant document is at the p-th rank of the tie, (n_relevant x size)."""
        nth, rank = np.arange(1, self.n_relevant + 1)[:, None], np.arange(1, self.size + 1)
        return np.asarray((self.relevant_above + nth) / (self.above + rank))


def highest_precisions(ranking: Ranking, is_relevant: BoolArray, counts: FloatArray) -> FloatArray:
    """Return the highest precision at or below the c-th relevant document, 0 if it has no rank.

    Parameters
    ----------
    ranking : Ranking
        A whole ranking.
    is_relevant : ndarray of bool
        A flag for each distinct grade.
    counts : ndarray of float64
        The numbers c, at least 1, (queries x levels).
    """
    n_relevant = np.cumsum(ranking.has_flag(is_relevant, ranking.width), axis=1, dtype=np.int64)
    precision = n_relevant / np.arange(1.0, ranking.width + 1)
    from_rank_on = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    highest = np.zeros_like(counts)
    for level, count in enumerate(counts.T):
        rank = (n_relevant < count[:, None]).sum(axis=1)
        reached = np.flatnonzero(rank < ranking.width)
        highest[reached, level] = from_rank_on[reached, rank[reached]]
    # Tied documents are in ascending order of grade here, so these are the lowest values of all orders.
    for query, ties in _open_ties(ranking, n_relevant).items():
        _refuse_large(ranking, query, ties)
        highest[query] = _expected(ties, counts[query], highest[query])
    return highest


def _open_ties(ranking: Ranking, n_relevant: IntArray) -> dict[int, list[OpenTie]]:
    """Return the open ties of each query that has any."""
    by_query: dict[int, list[OpenTie]] = {}
    if ranking.ties is None:
        return by_query
    query, above, size, _ = ranking.ties
    last = above + size - 1
    relevant_above = np.where(above > 0, n_relevant[query, above - 1], 0)
    relevant = n_relevant[query, last] - relevant_above
    for tie in np.flatnonzero((relevant > 0) & (relevant < size)).tolist():
        numbers = (int(of_tie[tie]) for of_tie in (above, relevant_above, size, relevant))
        by_query.setdefault(int(query[tie]), []).append(OpenTie(*numbers))
    return by_query


def _refuse_large(ranking: Ranking, query: int, ties: list[OpenTie]) -> None:
    if sum(tie.size * tie.n_relevant for tie in ties) > MOST_CELLS:
        largest = max(ties, key=lambda tie: tie.size * tie.n_relevant)
        qid = one_line(ranking.queries.qid[ranking.members[query]])
        raise LtrValueError(
            "The mean of iprec over the orders of ties takes long to compute, so the ties of a query must have at most "
            f"{MOST_CELLS:,} documents x relevant documents: query {qid} has {largest.size:,} documents of equal "
            f"score, {largest.n_relevant:,} of them relevant. Evaluate with ",
            Argument("ties", "stable"),
            ", worst, best or docid.",
        )


def _expected(ties: list[OpenTie], counts: FloatArray, least: FloatArray) -> FloatArray:
    """Return the expected highest precision of one query for each count, whose lowest values are ``least``."""
    values = np.unique(np.concatenate([tie.precisions().ravel() for tie in ties]))
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
    above_first = np.array([math.comb(rank, first - 1) for rank in range(tie.size)], dtype=np.float64)
    n_orders = []
    for part in np.array_split(values, len(values) * tie.size // CELLS_AT_ONCE + 1):
        n_below = np.ones((len(part), tie.size))  # orders of the later relevant documents, by rank of this one
        for of_document in precisions[::-1]:
            n_here = np.where(of_document <= part[:, None], n_below, 0.0)
            n_below = np.cumsum(n_here[:, ::-1], axis=1)[:, ::-1] - n_here
        n_orders.append(n_here @ above_first)
    return np.asarray(np.concatenate(n_orders) / math.comb(tie.size, tie.n_relevant))
