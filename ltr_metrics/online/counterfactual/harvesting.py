"""Logged rows counted by cluster, document and position, and propensities from pairs of positions.

Under the position-based model, the click rates of one document at two positions have the ratio of
the propensities. The Mantel-Haenszel estimator combines this ratio over documents with few clicks
each. Weighted least squares on the logarithms combines the pairs of positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray
from ltr_metrics.errors import LtrValueError


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


def estimate_by_harvesting(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the log propensities of all positions but the first, and their covariance.

    The strata of the cells were clicked, and displayed at two positions or more.
    """
    n_positions = len(cells.positions)
    sums = _comparable_clicks(cells)
    i, j = np.nonzero(np.triu((sums > 0) & (sums.T > 0)))  # the pairs of positions
    sum_i, sum_j = sums[i, j], sums[j, i]
    ratio = sum_j / sum_i
    design = np.eye(n_positions)[j, 1:] - np.eye(n_positions)[i, 1:]
    weighted = design.T * (sum_i * sum_j / (sum_i + sum_j))
    combine = np.asarray(np.linalg.solve(weighted @ design, weighted), dtype=np.float64)  # (n - 1) x pairs
    n_clusters = int(cells.cluster.max()) + 1
    influence = np.zeros((n_positions - 1, n_clusters))  # of each cluster on each estimate
    for k in range(n_positions):
        at_k = (i == k) | (j == k)
        pairs = zip(*(of_pair[at_k].tolist() for of_pair in (i, j, ratio, sum_i, sum_j)), strict=True)
        of_pairs = np.array([_influence_at(cells, k, *pair) for pair in pairs])  # pairs x 2 x strata
        of_click, of_impression = np.einsum("np,pcs->cns", combine[:, at_k], of_pairs, optimize=True)
        cell = np.flatnonzero(cells.position == k)
        stratum, cluster = cells.stratum[cell], cells.cluster[cell]
        of_cell = of_click[:, stratum] * cells.clicks[cell] + of_impression[:, stratum] * cells.impressions[cell]
        influence += [np.bincount(cluster, of_log, n_clusters) for of_log in of_cell]
    return combine @ np.log(ratio), influence @ influence.T * (n_clusters / (n_clusters - 1))


def _comparable_clicks(cells: Cells) -> FloatArray:
    """Return Mantel and Haenszel's sums: the clicks at the row that count in its comparison with the column."""
    impressions, clicks = cells.totals
    sums = np.zeros((len(cells.positions),) * 2)
    for i, j in permutations(range(len(sums)), 2):
        n_i, n_j = impressions[:, i], impressions[:, j]
        sums[i, j] = clicks[:, i] @ (n_j * _share(n_i, n_j))
    return sums


def _share(n_i: FloatArray, n_j: FloatArray) -> FloatArray:
    """Return 1 / (n_i + n_j), and 0 for strata that were displayed at one of two positions only."""
    return np.divide(1.0, n_i + n_j, out=np.zeros_like(n_i), where=(n_i > 0) & (n_j > 0))


def _influence_at(cells: Cells, k: int, i: int, j: int, ratio: float, sum_i: float, sum_j: float) -> FloatArray:
    """Return the influence of a click, and of an impression, at one of two positions on the logarithm of their ratio.

    It is factor x (clicks - expected clicks), of shape (2, n_strata).
    """
    impressions, clicks = cells.totals
    n_i, n_j = impressions[:, i], impressions[:, j]
    share = _share(n_i, n_j)
    fitted = np.divide(clicks[:, i] + clicks[:, j], n_i + ratio * n_j, out=np.zeros_like(n_i), where=share > 0)
    factor, rate = (-n_j * share / sum_i, fitted) if k == i else (n_i * share / sum_j, ratio * fitted)
    return np.array([factor, -factor * rate])
