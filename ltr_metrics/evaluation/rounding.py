"""Differences between values of a metric, without the effects of rounding.

Sums of the same terms in another order differ by rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SAME = 1e-12  # largest difference by rounding, relative to the larger of two values


def difference_of(one: Any, other: Any) -> Any:
    """Return one - other: exactly 0 where they differ only by rounding, NaN where one is NaN."""
    difference = np.asarray(one, dtype=np.float64) - other
    return np.where(np.abs(difference) <= SAME * np.maximum(np.abs(one), np.abs(other)), 0.0, difference)
