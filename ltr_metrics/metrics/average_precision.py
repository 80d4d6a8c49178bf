"""Average precision, with the four denominators in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics._engine.words import Denominator
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import RankMetric, require_parameter
from ltr_metrics.metrics.relevance import BinaryMetric
from ltr_metrics.metrics.tie_expectation import relevant_cumulative_gain
from ltr_metrics.metrics.tie_expectation.average_precision import ratios_to_hits, whole_sums


@dataclass(frozen=True, kw_only=True)
class MAP(BinaryMetric, RankMetric):
    r"""Mean average precision (per query: average precision); higher is better, from 0 to 1.

    .. math:: AP@k = \frac{1}{D} \sum_{i=1}^{\min(k, n)} [y_i \ge rel] \, \frac{\#\{j \le i : y_j \ge rel\}}{i}

    R is the number of relevant documents of the query, including those that were not retrieved.
    Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.
    denominator : {"min", "relevant", "cutoff", "hits"}, default "min"
        The denominator D. "min" is min(R, k), as in LightGBM, XGBoost and CatBoost. "relevant" is
        R, as in trec_eval. "cutoff" is k, and needs a cutoff. "hits" is the number of relevant
        documents among the first k, with value 0 if none is relevant. Without a cutoff, "min" and
        "relevant" are the same.

    Raises
    ------
    LtrValueError
        For an unknown denominator, and for ``denominator="cutoff"`` without a cutoff.
        For ``rel`` as for `Precision`.

    See Also
    --------
    QMeasure : Average precision for graded relevance.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["map"])["map"]
    0.5
    """

    NAME: ClassVar[str] = "map"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"ap": {}, "average_precision": {}}

    denominator: Denominator = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "denominator", get_args(Denominator))
        if self.denominator == "cutoff" and self.k is None:
            raise LtrValueError("map(denominator=cutoff) needs a cutoff. Write map(denominator=cutoff)@10.")

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        n_relevant = relevant_cumulative_gain(ranking, self.lowest(ranking.queries), depth)
        return n_relevant / np.arange(1.0, depth + 1)

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n_relevant = self.n_relevant(block)
        if k is None or self.denominator == "relevant":
            return n_relevant
        return np.where(np.isnan(n_relevant), np.nan, np.minimum(n_relevant, k) if self.denominator == "min" else k)

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        lowest = self.lowest(ranking.queries)
        if self.denominator == "hits":  # which depends on the ranking
            undefined = self.n_relevant(ranking.block) * 0.0
            return [ratio + undefined for ratio in ratios_to_hits(ranking, lowest, list(map(ranking.depth, cutoffs)))]
        limited = [k for k in cutoffs if k is not None]
        values: dict[int | None, FloatArray] = {}
        if limited:
            values.update(zip(limited, super().at_cutoffs(ranking, limited), strict=True))
        if None in cutoffs:  # the same sum, faster
            values[None] = whole_sums(ranking, lowest) / self.divisor(ranking.block, None)
        return [values[k] for k in cutoffs]
