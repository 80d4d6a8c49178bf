"""Intervals of the mean difference by the bootstrap: resampled units, and percentiles of the means, corrected or not."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, get_args

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, require_confidence, require_option
from ltr_metrics._engine.words import Bootstrap
from ltr_metrics.analysis.inference.options import require_n_resamples
from ltr_metrics.analysis.inference.resampling import in_chunks, sums, tolerance
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.errors import LtrValueError

if TYPE_CHECKING:
    from ltr_metrics.analysis.inference.options import Seed

BOOTSTRAPS: tuple[Bootstrap, ...] = get_args(Bootstrap)
PURPOSE = 1
NORMAL = NormalDist()


def bootstrap_intervals(
    sample: Sample, method: Bootstrap = "bca", confidence: float = 0.95, n_resamples: int = 10_000, seed: Seed = 0
) -> tuple[FloatArray, FloatArray]:
    r"""Return a bootstrap interval of each column's mean.

    n units are drawn with replacement from the n that count in the column, B times, and each time the weighted mean is
    taken, :math:`\sum c w d / \sum c w` for a unit drawn c times. ``"percentile"`` takes the quantiles
    :math:`(1 - \text{confidence}) / 2` and :math:`(1 + \text{confidence}) / 2` of these means. ``"bca"`` takes

    .. math:: \Phi\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right)

    with z the normal quantile of each, :math:`z_0` that of the share of means below the sample's (ties count half; at least
    half a mean on either side, for a share of 0 is only known to be below 1 / B), and the acceleration a one sixth of the
    jackknife's skewness. Quantiles are interpolated linearly. Both intervals are too narrow for fewer
    than some 100 units, most of all where many values are 0.

    Parameters
    ----------
    sample : Sample
    method : {"bca", "percentile"}
    confidence : float, default 0.95
    n_resamples : int, default 10_000
        B; at least 100, and so many that a mean lies beyond either end.
    seed : int or sequence of int, default 0
        Columns whose units count alike share their resamples.

    Returns
    -------
    low, high : ndarray of float64 of shape (n_columns,)
        NaN for fewer than two units; the mean where all values are equal, from which nothing can be learnt of their spread.

    Raises
    ------
    LtrValueError
        An unknown method, a confidence outside (0, 1), or too few resamples.

    References
    ----------
    B. Efron, Better Bootstrap Confidence Intervals, JASA 82, 1987.

    Examples
    --------
    >>> sample = Sample.of([[0.3], [0.2], [0.0], [0.4], [-0.1], [0.0], [0.9], [0.0]])
    >>> low, high = bootstrap_intervals(sample)
    >>> bool(low[0] < sample.mean[0] < high[0])
    True
    """
    require_option("method", method, BOOTSTRAPS)
    tail = (1 - require_confidence(confidence)) / 2
    n_resamples = _require_enough(n_resamples, tail)
    ends = np.where(sample.n > 1, sample.mean, np.nan) * np.ones((2, 1))
    for columns in _alike(sample.counts, np.flatnonzero((sample.n > 1) & ~sample.constant)):
        counts = sample.counts[:, columns[0]]
        values, shares = (np.array([of[counts, j] for j in columns]) for of in (sample.value, sample.share))
        replicates = resampled_means(values, shares, n_resamples, seed)
        for j, value, share, means in zip(columns, values, shares, replicates, strict=True):
            levels = bca_levels(means, value, share, tail) if method == "bca" else (tail, 1 - tail)
            ends[:, j] = np.quantile(means, levels)
    return ends[0], ends[1]


def resampled_means(values: FloatArray, shares: FloatArray, n_resamples: int, seed: Seed) -> FloatArray:
    """Return the weighted means of resampled units, (columns x replicates) of values and shares (columns x units)."""
    n_columns, n_units = values.shape
    contributions = values * shares
    means = np.empty((n_columns, n_resamples))
    weights = {share.tobytes(): share for share in shares}  # most columns have the same
    weight_of = [share.tobytes() for share in shares]

    def resample(chunk: slice, bits: np.random.PCG64) -> None:
        n = chunk.stop - chunk.start
        drawn = np.random.Generator(bits).integers(n_units, size=(n, n_units))
        drawn += n_units * np.arange(n)[:, np.newaxis]  # so that one call counts for all replicates
        times = np.bincount(drawn.ravel(), minlength=n * n_units).reshape(n, n_units).astype(np.float64)
        drawn_weight = {key: sums(times, share) for key, share in weights.items()}
        for j in range(n_columns):
            means[j, chunk] = sums(times, contributions[j]) / drawn_weight[weight_of[j]]

    in_chunks(resample, n_resamples, n_units, seed, PURPOSE)
    return means


def bca_levels(means: FloatArray, value: FloatArray, share: FloatArray, tail: float) -> tuple[float, float]:
    """Return which quantiles of the resampled means are the ends of the interval."""
    contribution = value * share
    observed = contribution.sum() / share.sum()
    same = np.abs(means - observed) <= tolerance(contribution) / share.sum()
    below = np.count_nonzero((means < observed) & ~same) + 0.5 * np.count_nonzero(same)
    n = len(means)
    z0 = NORMAL.inv_cdf(min(max(below, 0.5), n - 0.5) / n)
    a = acceleration(contribution, share)
    low, high = (_level(z0, a, z0 + z) for z in (NORMAL.inv_cdf(tail), -NORMAL.inv_cdf(tail)))
    return low, high


def _level(z0: float, a: float, z: float) -> float:
    stretch = 1 - a * z
    if stretch <= 0:  # a skewness so strong that the formula has passed through infinity: its limit
        return float(z > 0)
    return NORMAL.cdf(z0 + z / stretch)


def acceleration(contribution: FloatArray, share: FloatArray) -> float:
    """Return one sixth of the skewness of the means that leave one unit out each."""
    without = _sums_without_each(contribution) / _sums_without_each(share)
    deviation = without.mean() - without
    spread = np.abs(deviation).max()
    if spread == 0:
        return 0.0
    deviation /= spread
    return float((deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5))


def _sums_without_each(numbers: FloatArray) -> FloatArray:
    # Of both sides, for a difference from the whole sum would lose what stands beside a unit of very large weight.
    before = np.concatenate([[0.0], np.cumsum(numbers[:-1])])
    after = np.concatenate([np.cumsum(numbers[:0:-1])[::-1], [0.0]])
    without: FloatArray = before + after
    return without


def _alike(counts: BoolArray, columns: np.ndarray[tuple[int], np.dtype[np.intp]]) -> list[list[int]]:
    """Return the columns in groups in which the same units count, so that one run of resamples serves a group."""
    groups: dict[bytes, list[int]] = {}
    for j in columns.tolist():
        groups.setdefault(counts[:, j].tobytes(), []).append(j)
    return list(groups.values())


def _require_enough(n_resamples: object, tail: float) -> int:
    n, fewest = require_n_resamples(n_resamples), math.ceil(1 / tail - 1e-6)  # 1 - 0.9999 is a little less than 0.0001
    if n < fewest:
        raise LtrValueError(
            f"n_resamples must be at least {fewest} for confidence {1 - 2 * tail:g}, so that a mean lies beyond either "
            f"end of the interval. Got {n}."
        )
    return n
