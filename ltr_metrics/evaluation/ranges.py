"""Which values a metric can have, and the difference of two values of it.

The range of a metric bounds its mean, and intervals are shown within it; their computed ends stay.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrError
from ltr_metrics.metrics.counts import Precision
from ltr_metrics.metrics.first import MRR, Hit
from ltr_metrics.metrics.names import metric
from ltr_metrics.metrics.shown import Judged

Range = tuple[float, float]
UNBOUNDED: Range = (-math.inf, math.inf)
SAME = 1e-12  # largest difference by rounding, relative to the larger of two values: of sums in another order


class Possible(NamedTuple):
    """Which values a query can have by the declaration of the metric, or which differences."""

    low: float
    high: float
    is_binary: bool = False  # 0 or 1, or a share of these: by ties, in a cluster
    is_difference: bool = False


ANYTHING = Possible(*UNBOUNDED)
A_SHARE = Possible(0.0, 1.0, is_binary=True)


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


def possible_values(name: str, *values: Any) -> Possible:
    """Return which values of a metric are possible; ``values`` may show that its range does not hold.

    >>> possible_values("hit@3"), possible_values("ndcg_exp@10").is_binary
    (Possible(low=0.0, high=1.0, is_binary=True, is_difference=False), False)
    """
    of_values = range_of(name, *values)
    return Possible(*of_values, is_binary=of_values == (0.0, 1.0) and _is_binary(name))


def possible_differences(name: str, *values: Any) -> Possible:
    """Return which differences of two values of a metric are possible."""
    of_values = possible_values(name, *values)
    low, high = of_differences(of_values[:2]) if math.isfinite(of_values.high - of_values.low) else UNBOUNDED
    return Possible(low, high, of_values.is_binary, is_difference=True)


@lru_cache(maxsize=1024)
def _is_binary(name: str) -> bool:
    one = metric(name)  # it has a range, so it is one of this library
    return isinstance(one, Hit) or (isinstance(one, (Precision, Judged, MRR)) and one.k == 1)


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


def difference_of(one: Any, other: Any) -> Any:
    """Return one - other: exactly 0 where they differ only by rounding, NaN where one is NaN."""
    difference = np.asarray(one, dtype=np.float64) - other
    return np.where(np.abs(difference) <= SAME * np.maximum(np.abs(one), np.abs(other)), 0.0, difference)


def gain_of(difference: FloatArray, *, higher_is_better: bool) -> FloatArray:
    """Return differences with the sign that is positive where the value has become better."""
    return difference if higher_is_better else -difference
