"""MRR and hit, the metrics of the first relevant document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.counts import WITHOUT_R
from ltr_metrics.metrics.kinds import Kind
from ltr_metrics.metrics.relevance import BinaryMetric


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(BinaryMetric, RankMetric):
    """Base of the metrics of the first relevant document, at which the user stops for certain."""

    KIND: ClassVar[Kind] = "cascade"


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

    def by_rank(self, queries: LabelledQueries, depth: int) -> FloatArray:
        return 1 / np.arange(1.0, depth + 1)

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray:
        return np.where(np.isnan(self.n_relevant(queries)), np.nan, 1.0)  # undefined where R = 0


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
    UNREAD: ClassVar[dict[str, str]] = WITHOUT_R
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"success": {}, "hit_rate": {}}
