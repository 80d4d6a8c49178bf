"""Average relevance position, a metric where lower is better."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.gains import refuse_overflow


class ARP(Metric):
    r"""Average relevance position: the mean rank, weighted by grade; lower is better, from 1.

    .. math:: \frac{\sum_{i=1}^{n} i \, y_i}{\sum_{i=1}^{n} y_i}

    over the documents that have a rank. With grades 0 and 1 it is the mean rank of the relevant
    documents. Undefined where no ranked document has a grade above 0.

    A document that was not retrieved has no rank, so it does not count.
    Compare only rankings of the same documents by this metric.

    Raises
    ------
    LtrValueError
        On evaluation: if grades are so large that their sum over ranks overflows.

    See Also
    --------
    MRR : The reciprocal rank of the first relevant document only.
    DCG : A sum over ranks in which the first ranks count most.

    References
    ----------
    Pasumarthi et al., TF-Ranking: scalable TensorFlow library for learning-to-rank, KDD 2019.
    The formula is that of its ``ARPMetric``, which weights each query by its sum of grades.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 2], [1, 2, 3], group=[3], metrics=["arp"]).per_query["arp"].round(6)
    array([1.333333])
    >>> ltr.ARP().higher_is_better
    False
    """

    NAME: ClassVar[str] = "arp"
    RANGE: ClassVar[tuple[float, float]] = (1.0, math.inf)
    higher_is_better: ClassVar[bool] = False

    def check(self, queries: LabelledQueries) -> None:
        highest_sum = queries.grades * float(queries.sizes.max())
        refuse_overflow(self, queries, highest_sum, "Divide all grades by the same number.")

    def values(self, ranking: Ranking) -> FloatArray:
        grades = ranking.expected(ranking.queries.grades)
        total, weighted = ranking.sum_by_query(grades), ranking.sum_by_query(grades * ranking.rank)
        return weighted / np.where(total > 0, total, np.nan)
