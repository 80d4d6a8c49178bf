"""What the mean of each metric is made of, so that parts of the queries add up to the mean of all of them.

A sum is kept as two float64, of which the second is what the first has lost: the mean of a hundred million queries is the same, to the last
digit or two, however they were cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over the queries of a part, a column for each metric.

    Attributes
    ----------
    metrics : tuple of str
    value : ndarray of float64 of shape (2, n_metrics)
        Sum of weight times value over the queries that have a value, and what it has lost in rounding.
    weight : ndarray of float64 of shape (2, n_metrics)
        Sum of their weights, likewise.
    n_undefined : ndarray of int of shape (n_metrics,)
        Queries left out.
    n_queries : int

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.totals import Totals
    >>> one, other = (Totals.of({"mrr": np.array(values)}, None) for values in ([1.0, 0.5], [0.25, np.nan]))
    >>> both = one + other
    >>> both.mean, both.n_queries, both.n_undefined.tolist()
    ({'mrr': 0.5833333333333334}, 4, [1])
    """

    metrics: tuple[str, ...]
    value: FloatArray
    weight: FloatArray
    n_undefined: IntArray
    n_queries: int

    @classmethod
    def of(cls, per_query: Mapping[str, FloatArray], weight: FloatArray | None) -> Totals:
        """Sum up the queries of a part, of which NaN are left out."""
        sums, weights, undefined, n_queries = [], [], [], 0
        for values in per_query.values():
            defined = ~np.isnan(values)
            of_query = np.ones(len(values)) if weight is None else weight
            sums.append(_exact_sum(of_query[defined] * values[defined]))
            weights.append(_exact_sum(of_query[defined]))
            undefined.append(int(len(values) - defined.sum()))
            n_queries = len(values)
        return cls(
            tuple(per_query), np.array(sums).T, np.array(weights).T, np.array(undefined, dtype=np.intp), n_queries
        )

    @classmethod
    def nothing(cls, metrics: Iterable[str]) -> Totals:
        """Return the totals of no query."""
        names = tuple(metrics)
        return cls(names, np.zeros((2, len(names))), np.zeros((2, len(names))), np.zeros(len(names), dtype=np.intp), 0)

    def __add__(self, other: Totals) -> Totals:
        if self.metrics != other.metrics:
            raise ValueError(f"Totals are of different metrics: {self.metrics} and {other.metrics}.")
        return Totals(
            self.metrics,
            _added(self.value, other.value),
            _added(self.weight, other.weight),
            self.n_undefined + other.n_undefined,
            self.n_queries + other.n_queries,
        )

    @property
    def mean(self) -> dict[str, float]:
        """Weighted mean of each metric; NaN where nothing is defined or all weights are 0."""
        found = {}
        for metric, value, weight in zip(self.metrics, self.value.T.tolist(), self.weight.T.tolist(), strict=True):
            total = math.fsum(weight)
            if not math.isfinite(total) or not np.isfinite(value).all():
                raise LtrValueError(
                    f"The weights, or weighted values of {metric}, of all queries together are beyond float64: scale the weights down."
                )
            found[metric] = math.fsum(value) / total if total > 0 else math.nan
        return found


def _exact_sum(values: FloatArray) -> tuple[float, float]:
    """Return a sum, rounded once, and what the rounding has lost."""
    terms = values.tolist()
    try:
        high = math.fsum(terms)
        return high, math.fsum([*terms, -high])
    except OverflowError:  # the mean will say so
        return math.inf, 0.0


def _added(one: FloatArray, other: FloatArray) -> FloatArray:
    """Add two sums and keep what is lost (Knuth, The Art of Computer Programming 2, 4.2.2)."""
    high = one[0] + other[0]
    part = high - one[0]
    lost = (one[0] - (high - part)) + (other[0] - part)
    low = one[1] + other[1] + lost
    total = high + low
    return np.stack([total, low - (total - high)])
