"""Confidence intervals of the mean difference: bootstrap, Student's t, or the wider of the two."""

from __future__ import annotations

from typing import get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import Interval
from ltr_metrics.analysis.inference.bootstrap import bootstrap_intervals
from ltr_metrics.analysis.inference.classical import t_intervals
from ltr_metrics.analysis.inference.resampling import Seed
from ltr_metrics.analysis.inference.sample import Sample

INTERVALS: tuple[Interval, ...] = get_args(Interval)


def intervals(
    sample: Sample, method: Interval = "wider", confidence: float = 0.95, n_resamples: int = 10_000, seed: Seed = 0
) -> tuple[FloatArray, FloatArray]:
    r"""Return a confidence interval of each column's mean.

    ``"t"`` is mean ± quantile × standard error, with the quantile of Student's t
    (`Sample.degrees_of_freedom`). ``"bca"`` and ``"percentile"`` are bootstrap intervals.
    ``"wider"`` takes, at each end, the one of ``"bca"`` and ``"t"`` that is further from the mean.
    BCa accounts for skewed differences, and t does not. Student's t keeps its coverage for few
    units and for many zeros, where BCa is too narrow.

    Parameters
    ----------
    sample : Sample
    method : {"wider", "bca", "percentile", "t"}
    confidence : float, default 0.95
    n_resamples : int, default 10_000
        Bootstrap samples; at least 100, and enough to have a mean beyond either end.
    seed : int or sequence of int, default 0
        Columns in which the same units count share their resamples.

    Returns
    -------
    low, high : ndarray of float64 of shape (n_columns,)
        NaN for fewer than two units. Both are the mean if all values of the column are equal,
        because such values say nothing about the spread.

    Raises
    ------
    LtrValueError
        An unknown method, a confidence outside (0, 1), or too few resamples.

    Examples
    --------
    >>> sample = Sample.of([[0.3], [0.2], [0.0], [0.4], [-0.1], [0.0], [0.9], [0.0]])
    >>> {method: intervals(sample, method)[0].round(2).item() for method in ("wider", "bca", "t")}
    {'wider': -0.06, 'bca': 0.05, 't': -0.06}
    """
    require_option("method", method, INTERVALS)
    if method == "t":
        return t_intervals(sample, confidence)
    if method != "wider":
        return bootstrap_intervals(sample, method, confidence, n_resamples, seed)
    bootstrap = bootstrap_intervals(sample, "bca", confidence, n_resamples, seed)
    student = t_intervals(sample, confidence)
    return np.minimum(bootstrap[0], student[0]), np.maximum(bootstrap[1], student[1])
