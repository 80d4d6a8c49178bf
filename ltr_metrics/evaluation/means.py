"""The weighted mean over queries, its standard error and its confidence interval.

Below, x_i is the value and w_i the weight of query i, and sums are over the n queries that count:
those that have a value (not NaN) and, for the standard error, a weight above 0. Without weights,
w_i = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray, require_confidence
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.limits import limits_of_mean
from ltr_metrics.evaluation.ranges import ANYTHING, Possible

LEAST_EXPONENT = -1074  # the smallest positive float64 is 2 ** -1074


def mean(values: FloatArray, weight: FloatArray | None) -> float:
    """Return the weighted mean, m = sum(w_i x_i) / sum(w_i); NaN if the weights sum to 0."""
    return means(values[None], weight)[0]


def means(values: FloatArray, weight: FloatArray | None) -> list[float]:
    """Return the weighted mean of each row of a matrix, (metrics x queries)."""
    return native.means(values, weight)


def means_of_parts(sums: FloatArray) -> list[float]:
    """Return the weighted means over the queries of several parts from the `sums_of_means` of each.

    The array has the shape (parts x metrics x 4). As no addition loses a digit, the means are those of all queries, to
    one unit in the last place.
    """
    totals = [(math.fsum(of[:, :2].ravel()), math.fsum(of[:, 2:].ravel())) for of in sums.swapaxes(0, 1)]
    return [total / weight if weight > 0 else math.nan for total, weight in totals]


def geometric_mean(values: FloatArray, weight: FloatArray | None, floor: float) -> float:
    """Return the weighted geometric mean, exp(sum(w_i log(max(x_i, floor))) / sum(w_i))."""
    return math.exp(mean(np.log(np.maximum(values, floor)), weight))


def standard_error(values: FloatArray, weight: FloatArray | None, cluster: IntArray | None = None) -> float:
    """Return the standard error of the weighted mean m; NaN for fewer than two queries.

    It is sqrt(n / (n - 1) * sum(w_i^2 (x_i - m)^2)) / sum(w_i). With equal weights this is
    s / sqrt(n), where s is the sample standard deviation. The scale of the weights does not
    matter. The queries are the sample, so a query of weight 0 does not count in n.

    With clusters, the sum is over clusters: each term is the square of the sum of w_i (x_i - m) in
    one cluster, and n is the number of clusters.
    """
    counts = counting(values, weight)
    n = int(counts.sum())
    if n < 2:
        return float("nan")
    share = np.full(n, 1 / n) if weight is None else _shares(weight[counts])
    centred = values[counts] - _sum(share * values[counts])
    deviation = share * (centred - _sum(share * centred))  # twice, as the first mean is rounded
    if cluster is not None:
        deviation = _sums_by_cluster(deviation, cluster[counts])
        n = len(deviation)
    return math.sqrt(n / (n - 1) * _sum(deviation**2)) if n > 1 else float("nan")


def effective_sample_size(weight: FloatArray) -> float:
    """Return the number of units of equal weight that are as informative, sum(w_i)^2 / sum(w_i^2).

    See Kish, Survey Sampling, 1965. One weight at least must be above 0.
    """
    scaled, _ = scaled_weights(weight)
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def _sum(values: FloatArray) -> float:
    """Return a sum whose digits do not depend on the number of threads, as those of a product of vectors do."""
    return float(values.sum())


def _sums_by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    code = np.unique(cluster, return_inverse=True)[1]
    return np.bincount(code, weights=values).astype(np.float64, copy=False)


def _shares(weight: FloatArray) -> FloatArray:
    scaled, _ = scaled_weights(weight)
    shares: FloatArray = scaled / scaled.sum()
    return shares


def scaled_weights(weight: FloatArray) -> tuple[FloatArray, int]:
    """Return w_i / 2^e and e, so that the largest scaled weight is in [0.5, 1).

    Scaling by a power of two changes no digit of a mean, except where weights are near the
    smallest numbers of float64. Those have few digits, and their products with values would have
    fewer.
    """
    exponent = int(np.frexp(weight.max())[1]) if weight.any() else LEAST_EXPONENT
    return np.ldexp(weight, -exponent), exponent


def counting(values: FloatArray, weight: FloatArray | None) -> BoolArray:
    """Return the mask of the queries that have a value and, if there are weights, one above 0."""
    counts: BoolArray = ~np.isnan(values)
    return counts if weight is None else counts & (weight > 0)


class MeanInterval(NamedTuple):
    """A mean and its confidence limits, which are NaN if there are none."""

    mean: float
    low: float
    high: float


def mean_interval(
    values: FloatArray,
    weight: FloatArray | None,
    confidence: float,
    cluster: IntArray | None = None,
    possible: Possible = ANYTHING,
) -> MeanInterval:
    """Return the weighted mean and its confidence interval, by `limits_of_mean`.

    The queries, or clusters, are the sample: the interval is for the mean over other queries of the
    same kind. It may extend beyond the metric's range. ``possible`` are the values of the metric.
    """
    counts = counting(values, weight)
    units, weights = values[counts], np.ones(int(counts.sum()))
    if weight is not None:
        weights, _ = scaled_weights(weight[counts])
    if cluster is not None and len(units):
        sums, weights = (_sums_by_cluster(of, cluster[counts]) for of in (weights * units, weights))
        units = sums / weights
    limits = limits_of_mean(units, weights, require_confidence(confidence), possible)
    return MeanInterval(mean(values, weight), limits.low, limits.high)


class HasMeans(Protocol):
    """An evaluation, or the means over the queries of several workers."""

    @property
    def mean(self) -> Mapping[str, float]: ...

    @property
    def n_queries(self) -> int: ...


def refuse_undefined_means(result: HasMeans) -> None:
    """Raise an error for a mean over no query, which is NaN."""
    for name, value in result.mean.items():
        if np.isnan(value):
            raise LtrValueError(
                f"{name} is undefined for all {result.n_queries} queries of this data set (or the others have weight "
                "0), so it has no mean. A metric is undefined where no document is relevant to it, an order metric "
                "where all grades are equal, and a metric of your own where it returns NaN. Evaluate on other data, or "
                "set no_relevant=0 or 1."
            )
