"""Options that several of these functions share, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ltr_metrics._engine.checks import is_count
from ltr_metrics.errors import LtrTypeError, LtrValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Seed = int | Sequence[int]

FEWEST_RESAMPLES = 100  # below it a p-value has less than two digits


def require_fraction(name: str, value: object, example: float) -> float:
    """Return a number between 0 and 1, both excluded."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:  # type: ignore[operator]
        raise LtrValueError(f"{name} must be a number between 0 and 1, such as {example:g}. Got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def require_n_resamples(value: object) -> int:
    """Return how often to resample."""
    if not is_count(value) or value < FEWEST_RESAMPLES:  # type: ignore[operator]
        raise LtrValueError(
            f"n_resamples must be a whole number, {FEWEST_RESAMPLES} or more; 10000 is usual. Got {value!r}."
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def random_bits(seed: Seed, *purpose: int) -> np.random.PCG64:
    """Return the random bits of a seed for one purpose, given as numbers: a test and an interval of one seed share none."""
    if seed is None:  # which NumPy takes for "another one each time"
        raise LtrTypeError(
            "seed must be a whole number or a sequence of them, so that results can be had again. Got None."
        )
    try:
        return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=purpose))
    except (TypeError, ValueError) as error:
        kind = LtrTypeError if isinstance(error, TypeError) else LtrValueError
        raise kind(f"seed must be a whole number, 0 or more, or a sequence of them. Got {seed!r}: {error}.") from None
