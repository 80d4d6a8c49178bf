"""What the mean of each metric is made of, so that parts of the queries add up to the mean of all of them.

A sum is kept as two float64, of which the second is what the first has lost: the mean of a hundred million queries is the same, to the last
digit or two, however they were cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import LEAST_EXPONENT, scaled_weights


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
    exponent : int
        Exponent of the power of two that both sums are divided by.
    n_undefined : ndarray of int of shape (n_metrics,)
        Queries left out.
    n_queries : int

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.evaluation.totals import Totals
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
    exponent: int

    @classmethod
    def of(cls, per_query: Mapping[str, FloatArray], weight: FloatArray | None) -> Totals:
        """Sum up the queries of a part, of which NaN are left out."""
        sums, weights, undefined, n_queries = [], [], [], 0
        scaled, exponent = (None, 0) if weight is None else scaled_weights(weight)
        for values in per_query.values():
            defined = ~np.isnan(values)
            of_query = np.ones(len(values)) if scaled is None else scaled
            sums.append(_exact_sum(of_query[defined] * values[defined]))
            weights.append(_exact_sum(of_query[defined]))
            undefined.append(int(len(values) - defined.sum()))
            n_queries = len(values)
        return cls(
            metrics=tuple(per_query),
            value=np.array(sums).T,
            weight=np.array(weights).T,
            n_undefined=np.array(undefined, dtype=np.intp),
            n_queries=n_queries,
            exponent=exponent,
        )

    @classmethod
    def nothing(cls, metrics: Iterable[str]) -> Totals:
        """Return the totals of no query."""
        names = tuple(metrics)
        zeros = np.zeros((2, len(names)))
        return cls(names, zeros, zeros, np.zeros(len(names), dtype=np.intp), 0, LEAST_EXPONENT)

    def to_array(self) -> FloatArray:
        """Return all numbers in one array, as workers send them; `from_array` is the way back."""
        return np.concatenate(
            [self.value.ravel(), self.weight.ravel(), self.n_undefined, [self.n_queries, self.exponent]]
        )

    @classmethod
    def from_array(cls, metrics: tuple[str, ...], numbers: FloatArray) -> Totals:
        """Return the totals that `to_array` gave the numbers of."""
        n = len(metrics)
        return cls(
            metrics=metrics,
            value=numbers[: 2 * n].reshape(2, n),
            weight=numbers[2 * n : 4 * n].reshape(2, n),
            n_undefined=numbers[4 * n : 5 * n].astype(np.intp),
            n_queries=int(numbers[5 * n]),
            exponent=int(numbers[5 * n + 1]),
        )

    def __add__(self, other: Totals) -> Totals:
        if self.metrics != other.metrics:
            raise ValueError(f"Totals are of different metrics: {self.metrics} and {other.metrics}.")
        exponent = max(self.exponent, other.exponent)
        one, two = self._divided_by(exponent), other._divided_by(exponent)
        return Totals(
            metrics=self.metrics,
            value=_added(one.value, two.value),
            weight=_added(one.weight, two.weight),
            n_undefined=self.n_undefined + other.n_undefined,
            n_queries=self.n_queries + other.n_queries,
            exponent=exponent,
        )

    def _divided_by(self, exponent: int) -> Totals:
        """Return the same totals whose sums are divided by this power of two, not less than that of now."""
        value, weight = (np.ldexp(sums, self.exponent - exponent) for sums in (self.value, self.weight))
        return replace(self, value=value, weight=weight, exponent=exponent)

    @property
    def mean(self) -> dict[str, float]:
        """Weighted mean of each metric; NaN where nothing is defined or all weights are 0."""
        found = {}
        for metric, value, weight in zip(self.metrics, self.value.T.tolist(), self.weight.T.tolist(), strict=True):
            total = math.fsum(weight)
            with np.errstate(over="ignore"):
                of_weights = np.ldexp(total, self.exponent)
            if not np.isfinite([of_weights, *value]).all():
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
