"""MRR and hit, the metrics of the first relevant document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.relevance import BinaryMetric
from ltr_metrics.metrics.tie_expectation.first_relevant import (
    DecidingTies,
    first_relevant_ranks,
    hit_probabilities,
    reciprocal_ranks,
)


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(BinaryMetric, RankMetric):
    """Base of the metrics of the first relevant document: a function of one rank per query."""

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        lowest = self.lowest(ranking.queries)
        first = first_relevant_ranks(ranking, lowest)
        values = [np.where(first <= depth, self.at_rank(first), 0.0) for depth in depths]
        if ranking.ties is not None:
            deciding = DecidingTies.of(ranking, lowest, first)
            for value, depth in zip(values, depths, strict=True):
                ties = deciding.above(depth)
                if len(ties.query):
                    value[ties.query] = self.expected_in(ties, depth)
        return [self.where_defined(value, ranking) for value in values]

    def at_rank(self, rank: FloatArray) -> FloatArray:
        """Return the value of a query whose first relevant document is at this rank."""
        raise NotImplementedError

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        """Return the expected value of a query whose first relevant document is in a tie."""
        raise NotImplementedError

    def where_defined(self, value: FloatArray, ranking: Ranking) -> FloatArray:
        """Return the values, with NaN where the metric is undefined."""
        return value


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

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        return reciprocal_ranks(ties, depth)

    def where_defined(self, value: FloatArray, ranking: Ranking) -> FloatArray:
        return np.asarray(value + self.n_relevant(ranking.block) * 0.0)


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

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        return hit_probabilities(ties, depth)
