"""Propensities from pairs of positions, at which the same documents were displayed.

Under the position-based model, the click rates of one document at two positions have the ratio of
the propensities. The Mantel-Haenszel estimator combines this ratio over documents with few clicks
each. Weighted least squares on the logarithms combines the pairs of positions.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.counterfactual.cells import Cells


class Estimate(NamedTuple):
    """Logarithms of the propensities of all positions but the first, and their covariance."""

    log_propensity: FloatArray
    covariance: FloatArray


class _Pair(NamedTuple):
    """The ratio of two positions: of the second to the first.

    ``influence`` has one number per cluster. They add up to about 0, and their sum of squares is
    the variance of the logarithm of the ratio.
    """

    first: int
    second: int
    log_ratio: float
    weight: float
    influence: FloatArray


def estimate_by_harvesting(cells: Cells) -> Estimate:
    """Return the estimate of clicked strata that were displayed at two positions or more."""
    pairs = _pairs_of(cells)
    design = np.zeros((len(pairs), len(cells.positions)))
    for row, pair in enumerate(pairs):
        design[row, [pair.first, pair.second]] = -1, 1
    weighted = design[:, 1:].T * [pair.weight for pair in pairs]
    combine = np.linalg.solve(weighted @ design[:, 1:], weighted)  # (n - 1) x pairs
    influence = sum(np.outer(combine[:, row], pair.influence) for row, pair in enumerate(pairs))
    log_propensity = combine @ np.array([pair.log_ratio for pair in pairs])
    return Estimate(log_propensity, covariance_of(np.asarray(influence)))


def covariance_of(influence: FloatArray) -> FloatArray:
    """Return the covariance of estimates from the influence of each cluster on each, (estimates, clusters)."""
    n = influence.shape[1]
    covariance: FloatArray = influence @ influence.T * (n / (n - 1))
    return covariance


def _pairs_of(cells: Cells) -> list[_Pair]:
    impressions, clicks = cells.by_stratum(cells.impressions), cells.by_stratum(cells.clicks)
    at = [np.flatnonzero(cells.position == i) for i in range(len(cells.positions))]
    pairs = []
    for i, j in combinations(range(len(cells.positions)), 2):
        both = (impressions[:, i] > 0) & (impressions[:, j] > 0)
        n_i, n_j = impressions[:, i], impressions[:, j]
        share = np.divide(1.0, n_i + n_j, out=np.zeros_like(n_i), where=both)
        sum_i, sum_j = float(clicks[:, i] @ (n_j * share)), float(clicks[:, j] @ (n_i * share))
        if sum_i > 0 and sum_j > 0:
            ratio = sum_j / sum_i
            fitted = np.divide(clicks[:, i] + clicks[:, j], n_i + ratio * n_j, out=np.zeros_like(n_i), where=both)
            influence = np.zeros(cells.n_clusters)
            for where, rate, factor in (
                (at[i], fitted, -n_j * share / sum_i),
                (at[j], ratio * fitted, n_i * share / sum_j),
            ):
                influence += _by_cluster(cells, where, rate, factor)
            pairs.append(_Pair(i, j, float(np.log(ratio)), sum_i * sum_j / (sum_i + sum_j), influence))
    return pairs


def _by_cluster(cells: Cells, where: IntArray, rate: FloatArray, factor: FloatArray) -> FloatArray:
    """Return the sum over each cluster of factor x (clicks - expected clicks), at some cells."""
    stratum = cells.stratum[where]
    residual = cells.clicks[where] - cells.impressions[where] * rate[stratum]
    weights = residual * factor[stratum]
    return np.asarray(np.bincount(cells.cluster[where], weights, cells.n_clusters), dtype=np.float64)
