"""Differences between values of a metric: without the effects of rounding, and as gains and losses of queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray

SAME = 1e-12  # largest difference by rounding, relative to the larger of two values: of sums in another order


def difference_of(one: Any, other: Any) -> Any:
    """Return one - other: exactly 0 where they differ only by rounding, NaN where one is NaN."""
    difference = np.asarray(one, dtype=np.float64) - other
    return np.where(np.abs(difference) <= SAME * np.maximum(np.abs(one), np.abs(other)), 0.0, difference)


def gain_of(difference: FloatArray, *, higher_is_better: bool) -> FloatArray:
    """Return differences with the sign that is positive where the value has become better."""
    return difference if higher_is_better else -difference
