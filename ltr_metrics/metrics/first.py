"""MRR and hit, the metrics of the first relevant document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, row_sums
from ltr_metrics._engine.ties import Ties
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.relevance import BinaryMetric, count_in_ties, relevant_documents, relevant_ranks


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(BinaryMetric, RankMetric):
    """Base of the metrics of the first relevant document: a function of one rank per query."""

    UNREAD: ClassVar[dict[str, str]] = RankMetric.UNREAD | dict.fromkeys(
        ("KIND", "by_grade", "by_row", "by_rank", "scale"),
        "Override relevant, or subclass RankMetric with KIND = 'cascade'.",
    )

    def sums(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        flags = self.declared("relevant", ranking.queries).tobytes()
        relevant = relevant_documents(ranking.block, flags)
        first = np.full(len(ranking.n_ranked), np.inf)
        first[relevant.query] = relevant_ranks(ranking, flags)[1][relevant.start]
        values = [np.where(first <= depth, self.at_rank(first), 0.0) for depth in depths]
        if ranking.ties is not None:
            ties, (n_relevant, before) = ranking.ties, count_in_ties(ranking, flags)
            decides = (n_relevant > 0) & (before == relevant.before[ties.query])  # no relevant document is above it
            for value, depth in zip(values, depths, strict=True):
                chosen = np.flatnonzero(decides & (ties.n_above < depth))
                if len(chosen):
                    value[ties.query[chosen]] = self.expected_in(ties.take(chosen), n_relevant[chosen], depth)
        return values

    def at_rank(self, rank: FloatArray) -> FloatArray:
        """Return the value of a query whose first relevant document is at this rank."""
        raise NotImplementedError

    def expected_in(self, ties: Ties, n_relevant: AnyArray, depth: int) -> FloatArray:
        """Return the expected value of each query whose first relevant document is in a tie."""
        raise NotImplementedError


class MRR(FirstRelevant):
    r"""Mean reciprocal rank (per query: reciprocal rank); higher is better, from 0 to 1.

    .. math:: RR@k = 1 / \min \{ i \le k : y_i \ge rel \}

    and 0 if no relevant document is among the first k. Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Raises
    ------
    LtrValueError
        For an unknown form of ``rel``, and on evaluation for labels that it excludes, as for
        `Precision`.

    See Also
    --------
    Hit : Whether any of the first k documents is relevant.
    ERR : The expected reciprocal rank for graded relevance.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["mrr"])["mrr"]
    0.5
    """

    NAME: ClassVar[str] = "mrr"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"rr": {}, "reciprocal_rank": {}}

    def at_rank(self, rank: FloatArray) -> FloatArray:
        return 1 / rank

    def expected_in(self, ties: Ties, n_relevant: AnyArray, depth: int) -> FloatArray:
        """Return the expected reciprocal rank for each tie, counting 0 below the depth.

        With r relevant documents in a tie of m, its j-th rank has the first one with probability
        C(m-j, r-1) / C(m, r): r/m for j = 1, then (m-j-r+1) / (m-j) times as much from rank to rank.
        """
        m, r, above = (n[:, None] for n in (ties.size, n_relevant, ties.n_above))
        j = np.arange(int(np.minimum(m - r + 1, depth - above).max()))
        step = np.maximum(m - j - r + 1, 0) / np.maximum(m - j, 1)
        step[:, :1] = r / m
        rank = above + j + 1.0
        return row_sums(np.where(rank <= depth, np.cumprod(step, axis=1) / rank, 0.0))

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray:
        return self.declared("n_relevant", queries) * 0.0 + 1.0  # undefined where R = 0


class Hit(FirstRelevant):
    r"""Hit, or success: whether any of the first k documents is relevant; higher is better, 0 or 1.

    .. math:: hit@k = [\exists\, i \le k : y_i \ge rel]

    Always defined: 0 for a query without a relevant document.
    Under ``ties="mean"`` it is a probability.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Raises
    ------
    LtrValueError
        For an unknown form of ``rel``, and on evaluation for labels that it excludes, as for
        `Precision`.

    See Also
    --------
    MRR : The reciprocal rank of the first relevant document.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["hit@1", "success@2"])
    >>> result["hit@1"], result["hit@2"]
    (0.0, 1.0)
    """

    NAME: ClassVar[str] = "hit"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"success": {}, "hit_rate": {}}

    def at_rank(self, rank: FloatArray) -> FloatArray:
        return np.ones_like(rank)

    def expected_in(self, ties: Ties, n_relevant: AnyArray, depth: int) -> FloatArray:
        """Return the probability for each tie that a relevant document is within the depth.

        It is 1 - P(no relevant document at the t ranks of the tie within the depth). If the first
        j - 1 of these have none, the j-th has none with probability 1 - r / (m-j+1).
        """
        m, r = ties.size[:, None], n_relevant[:, None]
        t = np.minimum(np.minimum(m, depth - ties.n_above[:, None]), m - r + 1)
        j = np.arange(int(t.max()))
        share = np.where(j < t, r / np.maximum(m - j, 1), 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(row_sums(np.log1p(-share))))
