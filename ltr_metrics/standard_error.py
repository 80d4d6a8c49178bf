"""How far a mean over queries would move with other queries: its standard error, written once."""

from __future__ import annotations

import math

import numpy as np

from ltr_metrics.inputs import FloatArray


def standard_error(values: FloatArray, weight: FloatArray | None) -> float:
    """Return the standard error of the weighted mean of the values that are not NaN; NaN for fewer than two queries.

    sqrt(n / (n - 1) * sum w^2 (x - m)^2) / sum w: s / sqrt(n) where weights are equal, and the same on every scale of weights.
    The queries are the sample, so one of weight 0 does not count in n.
    """
    counts = counting(values, weight)
    n = int(counts.sum())
    if n < 2:
        return float("nan")
    share = np.full(n, 1 / n) if weight is None else weight[counts] / weight[counts].sum()
    deviation = values[counts] - share @ values[counts]
    return math.sqrt(n / (n - 1) * float(((share * deviation) ** 2).sum()))


def counting(values: FloatArray, weight: FloatArray | None) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which queries a mean is over: those that have a value, and a weight if there are weights."""
    counts: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.isnan(values)
    return counts if weight is None else counts & (weight > 0)
