"""How far a mean over queries would move with other queries: its standard error, written once."""

from __future__ import annotations

import math

import numpy as np

from ltr_metrics.inputs import FloatArray

LEAST_EXPONENT = -1074  # no number of float64 but 0 has a smaller one


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
