"""The sample: units with a value and a weight each. A unit is a query, or a cluster of queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray, as_numbers
from ltr_metrics._engine.per_query import refuse_bad_weights
from ltr_metrics._engine.rounding import SAME
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import scaled_weights, standard_error

MIN_RELATIVE_WEIGHT = 2.0**-52  # a smaller weight is lost when it is added to the largest


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Differences of the units of a sample, a column for each metric of each comparison.

    `Sample.of` makes it.

    Attributes
    ----------
    value : ndarray of float64 of shape (n_units, n_columns)
        Difference of each unit, 0 where its weight is 0. Columns are contiguous, so that the sum
        over a column is the same to the last bit whatever the other columns are.
    weight : ndarray of float64 of shape (n_units, n_columns)
        Weight of each unit; 0 where it does not count.
    has_clusters : bool
        Whether units are clusters of queries.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample.of([[0.25, 0.5], [0.0, np.nan], [0.5, -0.5]])
    >>> sample.n_units.tolist(), sample.mean.tolist()
    ([3, 2], [0.25, 0.0])
    >>> Sample.of([[0.25], [0.0], [0.5]], weight=[1, 1, 2], cluster=[7, 7, 8]).value.tolist()
    [[0.125], [0.5]]
    """

    value: FloatArray
    weight: FloatArray
    has_clusters: bool = False

    @classmethod
    def of(cls, differences: Any, weight: Any = None, cluster: Any = None) -> Sample:
        """Return the sample of the differences of queries.

        A cluster is one unit. Its weight is b = sum w over its queries that have a difference in
        the column, and its value is sum w d / b.

        Parameters
        ----------
        differences : array-like of shape (n_queries, n_columns)
            NaN where a query is left out of a column.
        weight : array-like of shape (n_queries,), optional
            0 or more; a query of weight 0 does not count.
        cluster : array-like of shape (n_queries,), optional
            The cluster of each query.

        Raises
        ------
        LtrValueError
            An infinite difference, or a weight that is negative, not finite, or too small beside
            the largest.
        """
        columns = _as_columns(differences)
        weights = ~np.isnan(columns) * (1.0 if weight is None else _as_weight(weight))
        value = np.where(weights > 0, columns, 0.0)
        if cluster is not None:
            labels, code = np.unique(cluster, return_inverse=True)
            n = len(labels)
            scaled, _ = scaled_weights(weights)
            totals, scaled = _sum_by_code(code, n, scaled * value), _sum_by_code(code, n, scaled)
            weights = _sum_by_code(code, n, weights)
            value = np.divide(totals, scaled, out=np.zeros_like(totals), where=weights > 0)
        return cls(value.T, weights.T, cluster is not None)

    @classmethod
    def in_order(
        cls, order: IntArray, values: FloatArray, weight: FloatArray | None, cluster: IntArray | None
    ) -> Sample:
        """Return the sample of queries in an order, such as that of their ids, and of clusters by first query.

        So no digit depends on the order of the data's rows, or on the numbers of the clusters.
        """
        weight = None if weight is None else weight[order]
        if cluster is None:
            return cls.of(values[order], weight)
        first, code = np.unique(cluster[order], return_index=True, return_inverse=True)[1:]
        return cls.of(values[order], weight, np.argsort(np.argsort(first))[code])

    def concat(self, other: Sample) -> Sample:
        """Return the columns of both samples, to resample them together."""
        value = np.concatenate([self.value.T, other.value.T]).T
        weight = np.concatenate([self.weight.T, other.weight.T]).T
        return Sample(value, weight, self.has_clusters or other.has_clusters)

    @cached_property
    def is_counted(self) -> BoolArray:
        """Whether a unit counts in a column."""
        is_counted: BoolArray = self.weight > 0
        return is_counted

    @cached_property
    def n_units(self) -> IntArray:
        """Number of units that count in each column."""
        n: IntArray = self.is_counted.sum(axis=0, dtype=np.intp)
        return n

    @cached_property
    def has_weights(self) -> bool:
        """Whether units differ in weight: by query weights, or as clusters of unequal size."""
        return bool((self.is_counted & (self.relative_weight != 1)).any())

    @cached_property
    def relative_weight(self) -> FloatArray:
        """Weights divided by the largest of the column.

        They are exactly 1 if all weights are equal, and do not depend on the scale of the weights.
        """
        largest = self.weight.max(axis=0, initial=0.0)
        relative: FloatArray = self.weight / np.where(largest > 0, largest, 1.0)
        return relative

    @cached_property
    def contribution(self) -> FloatArray:
        """Contribution of each unit to the weighted sum: relative weight times value."""
        contribution: FloatArray = self.relative_weight * self.value
        return contribution

    @cached_property
    def mean(self) -> FloatArray:
        """Weighted mean of each column; NaN where no unit counts."""
        return _ratio(self.contribution.sum(axis=0), self.relative_weight.sum(axis=0), if_zero=np.nan)

    @cached_property
    def is_constant(self) -> BoolArray:
        """Whether all values that count in a column are equal, apart from rounding."""
        high = np.where(self.is_counted, self.value, -np.inf).max(axis=0, initial=-np.inf)
        low = np.where(self.is_counted, self.value, np.inf).min(axis=0, initial=np.inf)
        is_constant = np.ones(len(high), dtype=np.bool_)
        some = self.n_units > 0
        is_constant[some] = (high - low)[some] <= SAME * np.maximum(np.abs(high), np.abs(low))[some]
        return is_constant

    @cached_property
    def standard_error(self) -> FloatArray:
        """Standard error of each mean, over units; NaN for fewer than two.

        It is sqrt(n / (n - 1) sum (w (x - m))^2) / sum w.
        """
        columns = zip(self.value.T, self.weight.T, strict=True)
        errors = np.array([standard_error(value, weight) for value, weight in columns], dtype=np.float64)
        return np.where(self.is_constant & (self.n_units > 1), 0.0, errors)  # a mean of equal values is rounded

    @cached_property
    def n_effective(self) -> FloatArray:
        """Effective number of units, (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965)."""
        return self.n_effective_of(self.is_counted)

    def n_effective_of(self, units: BoolArray) -> FloatArray:
        """Return the effective number of some units, given as one flag a unit and column; 0 for none."""
        weight = np.where(units, self.relative_weight, 0.0)
        return _ratio(weight.sum(axis=0) ** 2, (weight**2).sum(axis=0), if_zero=0.0)

    @cached_property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of Student's t: `n_effective` - 1, and at least 1.

        They are n - 1 for equal weights. With uneven weights the standard error depends on a few
        heavy units, and it is less certain than n - 1 degrees of freedom suggest.
        """
        return np.maximum(self.n_effective - 1, 1.0)

    def __repr__(self) -> str:
        units = "clusters" if self.has_clusters else "queries"
        return f"Sample({self.value.shape[0]} {units} x {self.value.shape[1]} columns)"


def _as_columns(differences: Any) -> FloatArray:
    """Return the transposed differences: a row for each column."""
    matrix = np.asarray(differences, dtype=np.float64)
    if np.isinf(matrix).any():
        query, column = np.argwhere(np.isinf(matrix))[0]
        raise LtrValueError(
            f"differences must be finite, or NaN where a query is left out: got {matrix[query, column]} at query "
            f"{query}, column {column}. Leave the query out, or fix the metric."
        )
    return np.array(matrix.T, order="C")  # each column is contiguous, see Sample.value


def _as_weight(weight: Any) -> FloatArray:
    numbers = as_numbers(weight, "weight").astype(np.float64)
    refuse_bad_weights(numbers, "weight", lambda query: f"query {query}")
    is_lost = (numbers > 0) & (numbers < MIN_RELATIVE_WEIGHT * numbers.max(initial=0.0))
    if is_lost.any():
        query = int(is_lost.argmax())
        raise LtrValueError(
            f"weight must not be too small to change the sum with the largest weight, {numbers.max():g}: got "
            f"{numbers[query]:g} at query {query}. Set it to 0, which leaves the query out, or make the weights more "
            "even."
        )
    return numbers


def _sum_by_code(code: IntArray, n: int, rows: FloatArray) -> FloatArray:
    sums = [np.bincount(code, weights=row, minlength=n) for row in rows]
    return np.array(sums, dtype=np.float64).reshape(len(rows), n)


def _ratio(numerator: FloatArray, denominator: FloatArray, if_zero: float) -> FloatArray:
    out = np.full(len(denominator), if_zero)
    ratio: FloatArray = np.divide(numerator, denominator, out=out, where=denominator > 0)
    return ratio
