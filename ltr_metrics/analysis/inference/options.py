"""Options that several of these functions share, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ltr_metrics._engine.checks import require_count
from ltr_metrics.errors import LtrTypeError, LtrValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Seed = int | Sequence[int]

FEWEST_RESAMPLES = 100  # below it a p-value has less than two digits


def require_n_resamples(value: object) -> int:
    """Return how often to resample."""
    return require_count("n_resamples", value, FEWEST_RESAMPLES, "; 10000 is usual")


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
