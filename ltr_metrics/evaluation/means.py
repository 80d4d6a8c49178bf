"""The weighted mean over queries, its standard error and its confidence interval.

Below, x_i is the value and w_i the weight of query i, and sums are over the n queries that count:
those that have a value (not NaN) and, for the standard error, a weight above 0. Without weights,
w_i = 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray, require_confidence
from ltr_metrics.errors import import_extra

LEAST_EXPONENT = -1074  # the smallest positive float64 is 2 ** -1074


def mean(values: FloatArray, weight: FloatArray | None) -> float:
    """Return the weighted mean, m = sum(w_i x_i) / sum(w_i); NaN if the weights sum to 0."""
    if weight is None and len(values) and not math.isnan(mean_of_all := _unweighted(values)):
        return mean_of_all
    defined = ~np.isnan(values)
    if weight is None:
        return _unweighted(values[defined]) if defined.any() else float("nan")
    scaled, _ = scaled_weights(weight[defined])
    total = scaled.sum()
    return float((scaled * values[defined]).sum() / total) if total > 0 else float("nan")


def _unweighted(values: FloatArray) -> float:
    """Return the mean as ``values.mean()`` does, which takes almost three times as long for few values."""
    return float(np.add.reduce(values) / len(values))


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
    deviation = share * (values[counts] - share @ values[counts])
    if cluster is not None:
        code = np.unique(cluster[counts], return_inverse=True)[1]
        deviation = np.bincount(code, weights=deviation).astype(np.float64, copy=False)
        n = len(deviation)
    return math.sqrt(n / (n - 1) * float((deviation**2).sum())) if n > 1 else float("nan")


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
    """A mean and its confidence limits, which are NaN for fewer than two queries."""

    mean: float
    low: float
    high: float


def mean_interval(values: FloatArray, weight: FloatArray | None, confidence: float) -> MeanInterval:
    """Return the weighted mean m and its confidence interval by Student's t, m +- t * SE.

    SE is the `standard_error`, and t the quantile (1 + confidence) / 2 with n - 1 degrees of
    freedom. The queries are the sample: the interval is for the mean over other queries of the
    same kind. It may extend beyond the metric's range.
    """
    middle = mean(values, weight)
    half = t_quantile(int(counting(values, weight).sum()), confidence) * standard_error(values, weight)
    return MeanInterval(middle, middle - half, middle + half)


def t_quantile(n_queries: int, confidence: float) -> float:
    """Return t, the half-width of a confidence interval in standard errors; NaN for fewer than two queries."""
    confidence = require_confidence(confidence)
    t = import_extra("scipy.stats", "report").t
    return float(t.ppf((1 + confidence) / 2, n_queries - 1)) if n_queries > 1 else float("nan")
