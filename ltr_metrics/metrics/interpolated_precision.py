"""Interpolated precision at levels of recall."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError, one_line
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
        is_relevant = self.relevant(queries)
        if (is_relevant[:-1] & ~is_relevant[1:]).any():  # ties are in ascending order of grade
            raise LtrValueError(f"{self} must not count a grade as relevant, and a higher grade as not relevant.")

    def values(self, ranking: Ranking) -> FloatArray:
        n_relevant = self.n_relevant(ranking.queries)
        counts = np.maximum(self._counts(np.nan_to_num(n_relevant)[:, None]), 1)
        highest = highest_precisions(ranking, self.relevant(ranking.queries), counts)
        return np.where(np.isnan(n_relevant), np.nan, highest.sum(axis=1) / counts.shape[1])

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
#
# Let h(l) be the number of ranks of a tie at which its l-th relevant document has a precision above x.
# Some precision is above x if, for some l, at least l of the first h(l) documents are relevant. For the
# last such l, exactly l of them are: with more of them, l + 1 would be such a number, too. So we count
# the orders with a precision above x by the last l for which exactly l of the first h(l) documents are
# relevant. Levels of recall differ only in the first l that counts.


MOST_STEPS = 10_000_000_000  # of OpenTie.n_steps, for the ties of a query; they take 3 s
CELLS_AT_ONCE = 2**15  # (relevant document, value), so that temporary arrays stay in the processor's cache


class OpenTie(NamedTuple):
    """A tie that holds relevant documents and others."""

    above: int  # documents above the tie
    relevant_above: int
    size: int
    n_relevant: int

    @property
    def highest(self) -> float:
        """The highest precision of all orders."""
        return (self.relevant_above + self.n_relevant) / (self.above + self.n_relevant)

    @property
    def n_steps(self) -> int:
        """What the time grows with: a step for each pair of relevant documents and each value, and those of a value."""
        return self.n_relevant * (self.size - self.n_relevant) * (self.n_relevant**2 + 3000)


def highest_precisions(ranking: Ranking, is_relevant: BoolArray, counts: FloatArray) -> FloatArray:
    """Return the highest precision at or below the c-th relevant document, 0 if it has no rank.

    Parameters
    ----------
    ranking : Ranking
        The ranked documents.
    is_relevant : ndarray of bool
        A flag for each distinct grade.
    counts : ndarray of float64
        The numbers c, at least 1, (queries x levels).
    """
    relevant = ranking.has_flag(is_relevant)
    nth = ranking.count_above(relevant) + 1
    of_relevant = np.flatnonzero(relevant)
    query, precision = ranking.query[of_relevant], nth[of_relevant] / ranking.rank[of_relevant]
    highest = np.zeros_like(counts)
    for level, count in enumerate(counts.T):
        counted = nth[of_relevant] >= count[query]
        np.maximum.at(highest[:, level], query[counted], precision[counted])
    # Tied documents are in ascending order of grade here, so these are the lowest values of all orders.
    expected: dict[Hashable, FloatArray] = {}  # short lists have equal ties
    for query_, ties in _open_ties(ranking, relevant, nth).items():
        key = (*ties, counts[query_].tobytes(), highest[query_].tobytes())
        if key not in expected:
            _refuse_large(ranking, query_, ties)
            expected[key] = _expected(ties, counts[query_], highest[query_])
        highest[query_] = expected[key]
    return highest


def _open_ties(ranking: Ranking, is_relevant: BoolArray, nth: IntArray) -> dict[int, list[OpenTie]]:
    """Return the open ties of each query that has any."""
    ties, by_query = ranking.mixed, dict[int, list[OpenTie]]()
    n_relevant, relevant_above = ties.sum(is_relevant.astype(np.int64)), nth[ties.start] - 1
    numbers = np.column_stack((ties.n_above, relevant_above, ties.size, n_relevant))
    for query, tie in zip(ties.query.tolist(), numbers.tolist(), strict=True):
        if 0 < tie[3] < tie[2]:
            by_query.setdefault(query, []).append(OpenTie(*tie))
    return by_query


def _refuse_large(ranking: Ranking, query: int, ties: list[OpenTie]) -> None:
    if sum(tie.n_steps for tie in ties) > MOST_STEPS:
        largest = max(ties, key=lambda tie: tie.n_steps)
        qid = one_line(ranking.queries.qid[query])
        raise LtrValueError(
            "The mean of iprec over the orders of a tie of m documents, r of them relevant, takes r (m - r) (r^2 + "
            f"3000) steps, and a query may take {MOST_STEPS:,}: query {qid} has {largest.size:,} documents of equal "
            f'score, {largest.n_relevant:,} of them relevant. Evaluate with ties="stable", worst, best or docid.'
        )


def _expected(ties: list[OpenTie], counts: FloatArray, least: FloatArray) -> FloatArray:
    """Return the expected highest precision of one query for each count, whose lowest values are ``least``."""
    lowest, laws = least.min(), []
    for tie in ties:
        first = np.maximum(counts - tie.relevant_above, 1).astype(np.intp)
        if first.min() <= tie.n_relevant and tie.highest > lowest:
            laws.append(_law(tie, first, lowest))
    values = np.unique(np.concatenate([[lowest], *(of_tie for of_tie, _ in laws)]))
    at_most = np.ones((len(values), len(counts)))
    for of_tie, probabilities in laws:
        start, stop = values.searchsorted([of_tie[0], of_tie[-1]])  # from the last value on, the probability is 1
        at_most[start:stop] *= probabilities[of_tie.searchsorted(values[start:stop], side="right") - 1]
    steps = np.diff(np.maximum(values[:, None], least), axis=0)
    return np.asarray(least + (steps * (1 - at_most[:-1])).sum(axis=0))


def _law(tie: OpenTie, first: IntArray, lowest: float) -> tuple[FloatArray, FloatArray]:
    """Return the values x from ``lowest`` on, and P(no precision is above x) for each of them and each level.

    ``first`` is the first relevant document of the tie that counts, for each level. Every order has
    a precision of at least the first value, unless that is ``lowest``.
    """
    nth = np.arange(first.min(), tie.n_relevant + 1)[:, None]
    rank = np.arange(1, tie.size + 1)
    precisions = (tie.relevant_above + nth) / (tie.above + rank)
    lowest = max(lowest, precisions[-1, -1])
    values = np.unique(np.append(precisions[(precisions > lowest) & (rank >= nth)], lowest))
    np.negative(precisions, out=precisions)  # ascending
    ways = _ways(tie.n_relevant, tie.size - tie.n_relevant)
    level = np.minimum(first - nth[0], len(nth))
    n_above = np.empty((len(values), len(first)))  # orders with a precision above x
    n_at_once = CELLS_AT_ONCE // len(nth) + 1
    for start in range(0, len(values), n_at_once):
        chunk = slice(start, start + n_at_once)
        h = np.array([of_document.searchsorted(-values[chunk]) for of_document in precisions])
        by_last = np.zeros((len(nth) + 1, h.shape[1]))  # none is after the tie's last relevant document
        by_last[:-1] = ways[nth, h] * _ways_after(ways, nth, h)
        n_above[chunk] = by_last[::-1].cumsum(axis=0)[::-1][level].T
    return values, 1 - n_above / ways[-1, -1]


def _ways(n_relevant: int, n_others: int) -> FloatArray:
    """Return in how many ways l of h documents are relevant, (l x h); 0 where the tie has not as many documents."""
    ways = np.zeros((n_relevant + 1, n_relevant + n_others + 1))
    others, row = np.arange(n_others + 1.0), np.ones(n_others + 1)
    ways[0, : n_others + 1] = row
    for nth in range(1, n_relevant + 1):
        row = row * (others + nth) / nth
        ways[nth, nth : nth + n_others + 1] = row
    return ways


def _ways_after(ways: FloatArray, nth: IntArray, h: IntArray) -> FloatArray:
    """Return the orders of the documents below rank h(l) for which l is the last such number, (l x values)."""
    n_relevant, size = ways.shape[0] - 1, ways.shape[1] - 1
    after: FloatArray = ways[n_relevant - nth, size - h]
    row = (nth - nth[0]) * ways.shape[1]
    for i in range(len(nth) - 2, -1, -1):
        between = ways.ravel().take(row[1 : len(nth) - i] + (h[i + 1 :] - h[i]))
        after[i] -= (between * after[i + 1 :]).sum(axis=0)
    return after
