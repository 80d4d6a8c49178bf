"""Sums over the queries of one of XGBoost's workers, which give the means over the queries of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ltr_metrics._rows.checks import FloatArray


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over queries, a column per metric.

    Attributes
    ----------
    metrics : tuple of str
    sums : ndarray of float64 of shape (3, n_metrics)
        Sum of weight times value and sum of weights, over the queries with a value, and their number.
    n_queries : int

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics._hosts.totals import Totals
    >>> one, other = (Totals.of({"mrr": np.array(values)}, None) for values in ([1.0, 0.5], [0.25, np.nan]))
    >>> both = one + other
    >>> both.mean, both.n_queries
    ({'mrr': 0.5833333333333334}, 4)
    """

    metrics: tuple[str, ...]
    sums: FloatArray
    n_queries: int

    @classmethod
    def of(cls, per_query: Mapping[str, FloatArray], weight: FloatArray | None) -> Totals:
        """Return the sums over queries, without those whose value is NaN."""
        n_queries = len(next(iter(per_query.values())))
        weights = np.ones(n_queries) if weight is None else weight
        sums = []
        for values in per_query.values():
            defined = ~np.isnan(values)
            kept = weights[defined]
            sums.append([math.fsum(kept * values[defined]), math.fsum(kept), len(kept)])
        return cls(tuple(per_query), np.array(sums).T, n_queries)

    @classmethod
    def from_array(cls, metrics: tuple[str, ...], numbers: FloatArray) -> Totals:
        """Return the totals from the numbers that `to_array` returned; zeros are the totals of no query."""
        return cls(metrics, numbers[:-1].reshape(3, len(metrics)), int(numbers[-1]))

    @classmethod
    def nothing(cls, metrics: tuple[str, ...]) -> Totals:
        """Return the totals of no query."""
        return cls.from_array(metrics, np.zeros(3 * len(metrics) + 1))

    def to_array(self) -> FloatArray:
        """Return all numbers in one array, as workers send them."""
        return np.append(self.sums.ravel(), self.n_queries)

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.metrics, self.sums + other.sums, self.n_queries + other.n_queries)

    @property
    def mean(self) -> dict[str, float]:
        """Weighted mean of each metric; NaN if it is defined on no query or all weights are 0."""
        value, weight, _ = self.sums
        means = np.divide(value, weight, out=np.full(len(value), np.nan), where=weight > 0)
        return dict(zip(self.metrics, means.tolist(), strict=True))
