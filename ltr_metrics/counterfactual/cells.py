"""Logged rows, counted by cluster, document and position, and which positions they compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
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
        key = (cluster * (int(stratum.max()) + 1) + stratum) * len(positions) + code
        cells, of_row = np.unique(key, return_inverse=True)
        counts = np.bincount(of_row).astype(np.float64)
        both, position_code = np.divmod(cells, len(positions))
        cluster_code, stratum_code = np.divmod(both, int(stratum.max()) + 1)
        n_clicks: FloatArray = np.bincount(of_row, weights=clicks).astype(np.float64)
        return cls(positions, cluster_code, stratum_code, position_code, counts, n_clicks)

    @property
    def n_strata(self) -> int:
        """Number of strata, also of those without cells."""
        return int(self.stratum.max()) + 1

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    def by_stratum(self, counts: FloatArray) -> FloatArray:
        """Return a count of each stratum and position, (n_strata, n_positions)."""
        cell = self.stratum * len(self.positions) + self.position
        summed: FloatArray = np.bincount(cell, counts, self.n_strata * len(self.positions)).astype(np.float64)
        return summed.reshape(self.n_strata, len(self.positions))

    def informative(self) -> Cells:
        """Return the cells of the strata that were clicked, and displayed at two positions or more."""
        impressions, clicks = self.by_stratum(self.impressions), self.by_stratum(self.clicks)
        kept = ((impressions > 0).sum(axis=1) > 1) & (clicks.sum(axis=1) > 0)
        self._require_comparable(impressions[kept] > 0, clicks[kept] > 0)
        code, chosen = np.cumsum(kept) - 1, kept[self.stratum]
        fields = (self.cluster, code[self.stratum], self.position, self.impressions, self.clicks)
        return Cells(self.positions, *(field[chosen] for field in fields))

    def _require_comparable(self, is_displayed: BoolArray, is_clicked: BoolArray) -> None:
        """Raise an error unless clicks connect every position with the first, directly or through others."""
        clicked_at_one = is_clicked.T.astype(np.float64) @ is_displayed > 0
        is_compared = clicked_at_one & clicked_at_one.T
        is_connected = np.arange(len(self.positions)) == 0
        for _ in self.positions:
            is_connected |= is_compared[is_connected].any(axis=0)
        separate = self.positions[~is_connected].tolist()
        if separate:
            raise LtrValueError(
                f"The propensity of position {', '.join(map(str, separate))} cannot be estimated: no documents that "
                f"were displayed both there and at a position that is compared with position {self.positions[0]}, "
                "directly or through others, were clicked at both. Log more impressions whose order varies, or leave "
                "out the rows of these positions."
            )
