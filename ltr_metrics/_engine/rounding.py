"""When two values of a metric are the same: sums of the same terms in another order differ by rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

SAME = 1e-12  # relative to the larger of the two


def difference_of(one: Any, other: Any) -> Any:
    """Return one - other, and exactly 0 where nothing but rounding tells them apart; NaN where one of them is."""
    difference = np.asarray(one, dtype=np.float64) - other
    return np.where(np.abs(difference) <= SAME * np.maximum(np.abs(one), np.abs(other)), 0.0, difference)
