"""The range of a metric, within which intervals are shown; the computed ends stay in the results."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrError
from ltr_metrics.metrics.names import metric

Range = tuple[float, float]
UNBOUNDED: Range = (-math.inf, math.inf)


def range_of(name: str, *values: Any) -> Range:
    """Return the lowest and the highest mean that a metric can have.

    It is unbounded for a metric that is not of this library, and if a value lies outside of the
    metric's range, which `no_relevant` can cause.

    >>> range_of("ndcg_exp@10", [0.2, 1.0]), range_of("kendall"), range_of("mrr", [-1.0, 0.5])
    ((0.0, 1.0), (-1.0, 1.0), (-inf, inf))
    """
    low, high = declared_range(name)
    is_outside = any(bool(((np.asarray(some) < low) | (np.asarray(some) > high)).any()) for some in values)
    return UNBOUNDED if is_outside else (low, high)


@lru_cache(maxsize=1024)
def declared_range(name: str) -> Range:
    """Return the range of a metric's values, which is unbounded for one that is not of this library."""
    try:
        return metric(name).RANGE
    except LtrError:  # a metric of the user's, or of another tool
        return UNBOUNDED


def of_differences(of_values: Range) -> Range:
    """Return the range of the difference of two values."""
    low, high = of_values
    return low - high, high - low


def within(ends: Any, of_values: Range) -> FloatArray:
    """Return the ends of intervals, cut off at a range; NaN stays.

    >>> within([[0.9, -0.1], [1.004, float("nan")]], (0.0, 1.0)).tolist()
    [[0.9, 0.0], [1.0, nan]]
    """
    return np.clip(np.asarray(ends, dtype=np.float64), *of_values)


def ends_within(row: Any, of_values: Range) -> dict[str, Any]:
    """Return ``ci_low`` and ``ci_high`` of a row, cut off at a range."""
    low, high = within([row.ci_low, row.ci_high], of_values).tolist()
    return {"ci_low": low, "ci_high": high}
