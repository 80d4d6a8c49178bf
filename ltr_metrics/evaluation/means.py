"""The weighted mean over queries, its standard error and its confidence interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_confidence
from ltr_metrics.errors import MissingExtraError

LEAST_EXPONENT = -1074  # no number of float64 but 0 has a smaller one


def mean(values: FloatArray, weight: FloatArray | None) -> float:
    """Weighted mean of the values that are not NaN; NaN if their weights sum to 0."""
    if weight is None and len(values) and not np.isnan(of_all := float(values.mean())):
        return of_all
    defined = ~np.isnan(values)
    if weight is None:
        return float(values[defined].mean()) if defined.any() else float("nan")
    scaled, _ = scaled_weights(weight[defined])
    total = scaled.sum()
    return float((scaled * values[defined]).sum() / total) if total > 0 else float("nan")


def standard_error(values: FloatArray, weight: FloatArray | None) -> float:
    """Return the standard error of the weighted mean of the values that are not NaN; NaN for fewer than two queries.

    sqrt(n / (n - 1) * sum w^2 (x - m)^2) / sum w: s / sqrt(n) where weights are equal, and the same on every scale of weights.
    The queries are the sample, so one of weight 0 does not count in n.
    """
    counts = counting(values, weight)
    n = int(counts.sum())
    if n < 2:
        return float("nan")
    share = np.full(n, 1 / n) if weight is None else _shares(weight[counts])
    deviation = values[counts] - share @ values[counts]
    return math.sqrt(n / (n - 1) * float(((share * deviation) ** 2).sum()))


def _shares(weight: FloatArray) -> FloatArray:
    scaled, _ = scaled_weights(weight)
    shares: FloatArray = scaled / scaled.sum()
    return shares


def scaled_weights(weight: FloatArray) -> tuple[FloatArray, int]:
    """Return the weights divided by a power of two, and its exponent, so that the largest is in [0.5, 1).

    No digit of a mean depends on it, except for weights near the smallest numbers of float64:
    these have few digits, and their products with values would have fewer.
    """
    exponent = int(np.frexp(weight.max())[1]) if weight.any() else LEAST_EXPONENT
    return np.ldexp(weight, -exponent), exponent


def counting(values: FloatArray, weight: FloatArray | None) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which queries a mean is over: those that have a value, and a weight if there are weights."""
    counts: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.isnan(values)
    return counts if weight is None else counts & (weight > 0)


class MeanInterval(NamedTuple):
    """A mean and its limits, which are NaN for fewer than two queries."""

    mean: float
    low: float
    high: float


def mean_interval(values: FloatArray, weight: FloatArray | None, confidence: float) -> MeanInterval:
    """Return the (weighted) mean of the values that are not NaN, and its interval by Student's t.

    The queries are the sample: the interval says where the mean over other queries of the same kind would be. It may reach beyond
    the metric's range.
    """
    middle = mean(values, weight)
    half = t_quantile(int(counting(values, weight).sum()), confidence) * standard_error(values, weight)
    return MeanInterval(middle, middle - half, middle + half)


def t_quantile(n_queries: int, confidence: float) -> float:
    """Return how many standard errors to either side of a mean its interval reaches, NaN for fewer than two queries."""
    confidence = require_confidence(confidence)
    try:
        from scipy.stats import t
    except ImportError as error:
        raise MissingExtraError("scipy", "report") from error
    return float(t.ppf((1 + confidence) / 2, n_queries - 1)) if n_queries > 1 else float("nan")
