"""The units that were drawn, with the weight of each: queries, or clusters of queries that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray, as_numbers, as_vector
from ltr_metrics._engine.per_query import refuse_bad_weights
from ltr_metrics._engine.rounding import SAME
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.means import scaled_weights, standard_error

EVEN_ENOUGH = 2.0**-52  # of the largest weight; what is smaller is lost when the two are added


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Differences of the units that were drawn, a column for each metric of each comparison; made by `Sample.of`.

    Attributes
    ----------
    value : ndarray of float64 of shape (n_units, n_columns)
        Difference of each unit, 0 where its weight is 0. Columns are contiguous, so that a sum over one of them is the same
        to the last bit whichever stand beside it.
    weight : ndarray of float64 of shape (n_units, n_columns)
        Weight of each unit; 0 where it does not count.
    has_clusters : bool
        Whether units are clusters of queries.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample.of([[0.25, 0.5], [0.0, np.nan], [0.5, -0.5]])
    >>> sample.n.tolist(), sample.mean.tolist()
    ([3, 2], [0.25, 0.0])
    >>> Sample.of([[0.25], [0.0], [0.5]], weight=[1, 1, 2], cluster=[7, 7, 8]).value.ravel().tolist()
    [0.125, 0.5]
    """

    value: FloatArray
    weight: FloatArray
    has_clusters: bool = False

    @classmethod
    def of(cls, differences: Any, weight: Any = None, cluster: Any = None) -> Sample:
        """Return the sample of the differences of queries.

        A cluster is one unit: its weight is b = sum w of its queries that have a difference in the column, its value
        sum w d / b.

        Parameters
        ----------
        differences : array-like of shape (n_queries, n_columns)
            NaN where a query is left out of a column.
        weight : array-like of shape (n_queries,), optional
            0 or more; a query of weight 0 does not count.
        cluster : array-like of int of shape (n_queries,), optional
            Which cluster a query is of.

        Raises
        ------
        LtrValueError
            An infinite difference, a weight that is negative, not finite, or lost beside the largest, or wrong shapes.
        LtrTypeError
            Something that is not numbers, or clusters that are not whole numbers.
        """
        column = _as_columns(differences)
        counts = ~np.isnan(column)
        weights = counts * (1.0 if weight is None else _as_weight(weight, column.shape[1]))
        value = np.where(weights > 0, column, 0.0)
        if cluster is not None:
            code, n = _as_codes(cluster, column.shape[1])
            scaled, _ = scaled_weights(weights)
            totals, scaled = _by_code(code, n, scaled * value), _by_code(code, n, scaled)
            weights = _by_code(code, n, weights)
            value = np.divide(totals, scaled, out=np.zeros_like(totals), where=weights > 0)
        return cls(value.T, weights.T, cluster is not None)

    def beside(self, other: Sample) -> Sample:
        """Return the columns of both, which are resampled together then, each as it is alone."""
        value, weight = (
            np.concatenate([getattr(one, name).T for one in (self, other)]).T for name in ("value", "weight")
        )
        return Sample(value, weight, self.has_clusters or other.has_clusters)

    @cached_property
    def counts(self) -> BoolArray:
        """Which units count in each column."""
        counts: BoolArray = self.weight > 0
        return counts

    @cached_property
    def n(self) -> IntArray:
        """How many units count in each column."""
        n: IntArray = self.counts.sum(axis=0, dtype=np.intp)
        return n

    @cached_property
    def has_weights(self) -> bool:
        """Whether units that count differ in weight: by the weights of queries, or as clusters of unequal size."""
        return bool((self.counts & (self.share != 1)).any())

    @cached_property
    def share(self) -> FloatArray:
        """Weights divided by the largest of the column: exactly 1 where they are equal, and the same on every scale."""
        largest = self.weight.max(axis=0, initial=0.0)
        share: FloatArray = self.weight / np.where(largest > 0, largest, 1.0)
        return share

    @cached_property
    def contribution(self) -> FloatArray:
        """What each unit adds to the weighted sum, share times value."""
        contribution: FloatArray = self.share * self.value
        return contribution

    @cached_property
    def mean(self) -> FloatArray:
        """Weighted mean of each column; NaN where no unit counts."""
        return _ratio(self.contribution.sum(axis=0), self.share.sum(axis=0), nothing=np.nan)

    @cached_property
    def constant(self) -> BoolArray:
        """Whether all values that count in a column are equal but for rounding."""
        high = np.where(self.counts, self.value, -np.inf).max(axis=0, initial=-np.inf)
        low = np.where(self.counts, self.value, np.inf).min(axis=0, initial=np.inf)
        alike = np.ones(len(high), dtype=np.bool_)
        some = self.n > 0
        alike[some] = (high - low)[some] <= SAME * np.maximum(np.abs(high), np.abs(low))[some]
        return alike

    @cached_property
    def standard_error(self) -> FloatArray:
        """Standard error of each mean, over units: sqrt(n / (n - 1) sum (w (x - m))^2) / sum w; NaN for fewer than two."""
        columns = zip(self.value.T, self.weight.T, strict=True)
        errors = np.array([standard_error(value, weight) for value, weight in columns], dtype=np.float64)
        return np.where(self.constant & (self.n > 1), 0.0, errors)  # a mean of equal values is rounded

    @cached_property
    def n_effective(self) -> FloatArray:
        """How many units of equal weight would do as well: (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965)."""
        return _ratio(self.share.sum(axis=0) ** 2, (self.share**2).sum(axis=0), nothing=0.0)

    @cached_property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of Student's t: `n_effective` - 1, at least 1; n - 1 where weights are equal.

        With uneven weights the standard error rests on a few heavy units and is less certain than n - 1 says.
        """
        return np.maximum(self.n_effective - 1, 1.0)

    def __repr__(self) -> str:
        units = "clusters" if self.has_clusters else "queries"
        return f"Sample({self.value.shape[0]} {units} x {self.value.shape[1]} columns)"


def _as_columns(differences: Any) -> FloatArray:
    """Return a row for each column."""
    try:
        matrix = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LtrTypeError(f"differences must be numbers, a row a query and a column a metric: {error}") from None
    if matrix.ndim != 2:
        raise LtrValueError(
            f"differences must have a row a query and a column a metric, got shape {matrix.shape}. Pass values[:, np.newaxis] "
            "if there is one metric."
        )
    if np.isinf(matrix).any():
        query, column = np.argwhere(np.isinf(matrix))[0]
        raise LtrValueError(
            f"differences must be finite, or NaN where a query is left out: got {matrix[query, column]} at query {query}, column "
            f"{column}. Leave the query out, or repair the metric."
        )
    return np.array(matrix.T, order="C")  # each column contiguous, see value


def _as_weight(weight: Any, n_queries: int) -> FloatArray:
    numbers = as_numbers(weight, "weight").astype(np.float64)
    _require_one_a_query("weight", len(numbers), n_queries)
    refuse_bad_weights(numbers, "weight", lambda query: f"query {query}")
    lost = (numbers > 0) & (numbers < EVEN_ENOUGH * numbers.max(initial=0.0))
    if lost.any():
        query = int(lost.argmax())
        raise LtrValueError(
            f"weight must not be lost beside the largest, {numbers.max():g}, when the two are added: got {numbers[query]:g} at "
            f"query {query}. Set it to 0, which leaves the query out, or make weights more even."
        )
    return numbers


def _as_codes(cluster: Any, n_queries: int) -> tuple[IntArray, int]:
    """Return the clusters numbered from 0 in sorted order, and how many there are."""
    codes = as_vector(cluster, "cluster")
    _require_one_a_query("cluster", len(codes), n_queries)
    if codes.dtype.kind not in "iu":
        raise LtrTypeError(f"cluster must be whole numbers, one a query: got dtype {codes.dtype}.")
    known, code = np.unique(codes, return_inverse=True)
    return code.astype(np.intp), len(known)


def _require_one_a_query(name: str, n: int, n_queries: int) -> None:
    if n != n_queries:
        raise LtrValueError(
            f"{name} must have one entry a query, as differences has rows: got {n} for {n_queries} queries."
        )


def _by_code(code: IntArray, n: int, rows: FloatArray) -> FloatArray:
    sums = [np.bincount(code, weights=row, minlength=n) for row in rows]
    return np.array(sums, dtype=np.float64).reshape(len(rows), n)


def _ratio(above: FloatArray, below: FloatArray, nothing: float) -> FloatArray:
    ratio: FloatArray = np.divide(above, below, out=np.full(len(below), nothing), where=below > 0)
    return ratio
