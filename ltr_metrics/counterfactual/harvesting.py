"""Logged rows counted by cluster, document and position, and propensities from pairs of positions.

Under the position-based model, the click rates of one document at two positions have the ratio of
the propensities. The Mantel-Haenszel estimator combines this ratio over documents with few clicks
each. Weighted least squares on the logarithms combines the pairs of positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.errors import LtrValueError

Estimate = tuple[FloatArray, FloatArray]  # log propensities of all positions but the first, and their covariance


@dataclass(frozen=True, eq=False)
class Cells:
    """Impressions and clicks of each cluster, stratum and position.

    A stratum is a set of rows of equal relevance: a document of a query, or a randomized
    experiment. Clusters are independent of each other. All codes count from 0.

    Attributes
    ----------
    positions : ndarray of int of shape (n_positions,)
        The positions that the codes stand for, ascending.
    cluster, stratum, position : ndarray of int of shape (n_cells,)
        Codes.
    impressions, clicks : ndarray of float64 of shape (n_cells,)
        Counts.
    """

    positions: IntArray
    cluster: IntArray
    stratum: IntArray
    position: IntArray
    impressions: FloatArray
    clicks: FloatArray

    @classmethod
    def of_rows(cls, clicks: FloatArray, position: IntArray, stratum: IntArray, cluster: IntArray) -> Cells:
        """Count rows by their codes."""
        positions, code = np.unique(position, return_inverse=True)
        shape = int(cluster.max()) + 1, int(stratum.max()) + 1, len(positions)
        cells, of_row = np.unique(np.ravel_multi_index((cluster, stratum, code), shape), return_inverse=True)
        counts = (np.bincount(of_row, weights).astype(np.float64) for weights in (None, clicks))
        codes: Any = np.unravel_index(cells, shape)
        return cls(positions, *codes, *counts)

    @cached_property
    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Impressions and clicks of each stratum and position, both of shape (n_strata, n_positions)."""
        shape = int(self.stratum.max()) + 1, len(self.positions)
        cell = np.ravel_multi_index((self.stratum, self.position), shape)
        impressions, clicks = (np.bincount(cell, n, shape[0] * shape[1]) for n in (self.impressions, self.clicks))
        return impressions.reshape(shape).astype(np.float64), clicks.reshape(shape).astype(np.float64)

    def informative(self) -> Cells:
        """Return the cells of the strata that were clicked, and displayed at two positions or more."""
        displayed, clicked = (counts > 0 for counts in self.totals)
        kept = (displayed.sum(axis=1) > 1) & clicked.any(axis=1)
        # Clicks must connect every position with the first, directly or through others.
        clicked_at_one = clicked[kept].T.astype(np.float64) @ displayed[kept] > 0
        is_compared, is_connected = clicked_at_one & clicked_at_one.T, np.arange(len(self.positions)) == 0
        for _ in self.positions:
            is_connected |= is_compared[is_connected].any(axis=0)
        if not is_connected.all():
            raise LtrValueError(
                f"These positions cannot be compared with position {self.positions[0]}: "
                f"{', '.join(map(str, self.positions[~is_connected]))}. Two positions can be compared if the "
                "documents that were displayed at both of them got clicks at each of the two, or if other positions "
                "connect them in this way. Log more impressions whose order varies, or leave out the rows of these "
                "positions."
            )
        chosen = kept[self.stratum]
        return Cells(
            self.positions,
            self.cluster[chosen],
            (np.cumsum(kept) - 1)[self.stratum[chosen]],
            self.position[chosen],
            self.impressions[chosen],
            self.clicks[chosen],
        )

    def by_cluster(self, values: FloatArray) -> FloatArray:
        """Sum one value per cell over each cluster."""
        return np.asarray(np.bincount(self.cluster, weights=values), dtype=np.float64)


def estimate_by_harvesting(cells: Cells) -> Estimate:
    """Return the estimate of clicked strata that were displayed at two positions or more."""
    impressions, clicks = cells.totals
    n_positions, pairs = len(cells.positions), []
    for i, j in combinations(range(n_positions), 2):
        n_i, n_j, c_i, c_j = impressions[:, i], impressions[:, j], clicks[:, i], clicks[:, j]
        both = (n_i > 0) & (n_j > 0)
        share = np.divide(1.0, n_i + n_j, out=np.zeros_like(n_i), where=both)
        sum_i, sum_j = float(c_i @ (n_j * share)), float(c_j @ (n_i * share))
        if sum_i > 0 and sum_j > 0:
            ratio = sum_j / sum_i
            fitted = np.divide(c_i + c_j, n_i + ratio * n_j, out=np.zeros_like(n_i), where=both)
            # The influence of each cluster on the logarithm of the ratio: factor x (clicks - expected clicks).
            rate, factor = np.zeros_like(impressions), np.zeros_like(impressions)
            rate[:, i], rate[:, j] = fitted, ratio * fitted
            factor[:, i], factor[:, j] = -n_j * share / sum_i, n_i * share / sum_j
            cell = cells.stratum, cells.position
            influence = cells.by_cluster(factor[cell] * (cells.clicks - cells.impressions * rate[cell]))
            pairs.append((i, j, np.log(ratio), sum_i * sum_j / (sum_i + sum_j), influence))
    first, second, log_ratio, weight, influences = zip(*pairs, strict=True)
    design = np.eye(n_positions)[list(second), 1:] - np.eye(n_positions)[list(first), 1:]
    weighted = design.T * weight
    combine = np.linalg.solve(weighted @ design, weighted)  # (n - 1) x pairs
    return combine @ np.array(log_ratio), covariance_of(combine @ np.array(influences))


def covariance_of(influence: FloatArray) -> FloatArray:
    """Return the covariance of estimates from the influence of each cluster on each, (estimates, clusters)."""
    n = influence.shape[1]
    covariance: FloatArray = influence @ influence.T * (n / (n - 1))
    return covariance
