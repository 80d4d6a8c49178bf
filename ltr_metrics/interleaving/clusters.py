"""Outcomes over clusters of impressions, such as users: sums by cluster, and their statistics.

The impressions of one user are not independent. So the clusters are the sample: p-values flip whole
clusters, and standard errors are over clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.analysis.inference import Sample, intervals, p_values
from ltr_metrics.errors import import_extra
from ltr_metrics.interleaving.tally import Tally

NAN = float("nan")


class ClusterSums:
    """The sums of each cluster, collected block by block."""

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {}
        self._blocks: list[tuple[IntArray, Tally]] = []

    def add(self, credit: FloatArray, labels: Sequence[Hashable]) -> None:
        """Add a block of impressions: credit (rankers x impressions) and the label of each impression."""
        code = np.array([self._codes.setdefault(label, len(self._codes)) for label in labels], dtype=np.intp)
        present, sizes = np.unique(code, return_counts=True)
        by_cluster = Tally.from_credit(credit[:, np.argsort(code, kind="stable")], sizes.cumsum())
        self._blocks.append((present, by_cluster))

    def tally(self) -> Tally:
        """Return the sums with one part a cluster, in order of first appearance."""
        code = np.concatenate([present for present, _ in self._blocks])
        return Tally.concat([block for _, block in self._blocks]).merge_by(code)


def win_statistics(clusters: Tally, i: int, j: int, confidence: float) -> tuple[float, float, float, float]:
    """Return the share of the decided impressions that i wins against j, its limits, and the p-value.

    The p-value is that of the randomization test that swaps the models in whole clusters: the sign
    test, if each cluster is one impression. The limits are those of Korn and Graubard, Confidence
    Intervals for Proportions with Small Expected Number of Positive Counts Estimated from Survey
    Data, Survey Methodology 24, 1998: Clopper and Pearson's for the effective number of impressions.
    """
    wins, losses = clusters.wins[:, i, j].astype(np.float64), clusters.wins[:, j, i].astype(np.float64)
    decided = wins + losses
    if not decided.any():
        return NAN, NAN, NAN, NAN
    lead = np.divide(wins - losses, decided, out=np.full(len(decided), NAN), where=decided > 0)
    sample = Sample.of(lead[:, np.newaxis], decided)
    share = float(wins.sum() / decided.sum())
    if sample.n_units[0] < 2:
        return share, NAN, NAN, NAN
    low, high = _limits(share, sample, float(decided.sum()), (1 + confidence) / 2)
    return share, low, high, float(p_values(sample, "randomization")[0][0])


def _limits(share: float, sample: Sample, n_decided: float, level: float) -> tuple[float, float]:
    stats = import_extra("scipy.stats", "report")
    error = float(sample.standard_error[0]) / 2  # the share is (1 + lead) / 2
    n = float(sample.n_units[0])  # if clusters do not differ, each is one impression
    if error > 0:
        ratio = float(stats.t.ppf(level, n_decided - 1) / stats.t.ppf(level, sample.degrees_of_freedom[0]))
        n = min(share * (1 - share) / error**2 * ratio**2, n_decided)
    won, lost = share * n, (1 - share) * n
    low = float(stats.beta.ppf(1 - level, won, lost + 1)) if won > 0 else 0.0
    high = float(stats.beta.ppf(level, won + 1, lost)) if lost > 0 else 1.0
    return low, high


def credit_statistics(clusters: Tally, i: int, j: int, confidence: float) -> tuple[float, float, float, float]:
    """Return the mean difference in credit an impression, its limits, and the p-value, by Student's t.

    The standard error is over clusters (Deng, Knoblich and Lu, KDD 2018). Limits and p-value are
    NaN for one cluster, and if the mean difference is the same in all.
    """
    total, n = clusters.differences[:, i, j], clusters.n.astype(np.float64)
    sample: Any = Sample.of((total / n)[:, np.newaxis], n)
    mean = float(sample.mean[0])
    if sample.n_units[0] < 2 or sample.is_constant[0]:
        return mean, NAN, NAN, NAN
    low, high = intervals(sample, "t", confidence)
    return mean, float(low[0]), float(high[0]), float(p_values(sample, "t")[0][0])
