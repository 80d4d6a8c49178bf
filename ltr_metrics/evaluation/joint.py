"""Several means at once: how far they deviate together, from normal draws with their correlation over the units."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import import_extra

N_DRAWS = 10_000
SEED = 20_261_128  # of the draws, which are the same in every process


def largest_t(of_units: FloatArray, confidence: float) -> float:
    """Return c, so that estimates deviate by at most c standard errors, all of them together, at ``confidence``.

    ``of_units`` has the influence of each unit on each estimate, (units x estimates), and 0 for a unit that does not
    count. c is the quantile of the largest absolute value of normal numbers with the correlation of the estimates
    (Romano and Wolf, JASA 100, 2005, with normal draws in place of resamples). An estimate without any influence does
    not vary. c is the normal quantile for a single estimate; 0 if none varies.

    >>> c = largest_t(np.random.default_rng(0).normal(size=(400, 5)), 0.95)
    >>> round(c, 1), round(largest_t(np.array([[1.0, 2.0], [-1.0, -2.0]]), 0.95), 1)  # of independent and of equal ones
    (2.6, 2.0)
    """
    sizes = np.sqrt((of_units**2).sum(axis=0))
    units = of_units[:, sizes > 0] / sizes[sizes > 0]
    if not units.shape[1]:
        return 0.0
    values, vectors = np.linalg.eigh(units.T @ units)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # the symmetric one, which is unique
    return float(np.quantile(np.abs(_normal_draws(len(root)) @ root).max(axis=1), confidence))


@lru_cache(maxsize=4)
def _normal_draws(k: int) -> FloatArray:
    """Return normal numbers, (draws x k), from bits that NumPy promises to keep."""
    bits = np.random.PCG64(np.random.SeedSequence(SEED)).random_raw(N_DRAWS * k) >> np.uint64(11)
    draws: FloatArray = import_extra("scipy.special", "report").ndtri((bits + 0.5) * 2.0**-53)
    return draws.reshape(N_DRAWS, k)
