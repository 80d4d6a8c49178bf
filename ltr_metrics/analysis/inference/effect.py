"""The standardized effect size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.analysis.inference.sample import Sample


def effect_size(differences: Any, weight: Any = None) -> FloatArray:
    r"""Return the standardized mean difference over queries, Cohen's d for pairs.

    .. math:: \frac{m}{s}, \quad s^2 = \frac{n}{n - 1} \frac{\sum w (d - m)^2}{\sum w}

    with m the weighted mean. It has the sign of the difference, and it does not depend on the
    number of queries, as p does.

    Parameters
    ----------
    differences : array-like of shape (n_queries, n_columns)
        NaN where a query is left out of a column.
    weight : array-like of shape (n_queries,), optional

    Returns
    -------
    ndarray of float64 of shape (n_columns,)
        NaN for fewer than two queries, and where all differences are equal and not 0; 0 where all
        are 0.

    Raises
    ------
    LtrValueError, LtrTypeError
        As `Sample.of`.

    References
    ----------
    J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.

    Examples
    --------
    >>> effect_size([[0.5, 0.0], [-0.5, 0.0], [1.0, 0.0], [1.0, 0.0]]).round(4).tolist()
    [0.7071, 0.0]
    """
    sample = Sample.of(differences, weight)
    return np.array([_effect_size(sample, j) for j in range(len(sample.n_units))], dtype=np.float64)


def _effect_size(sample: Sample, j: int) -> float:
    n, mean = int(sample.n_units[j]), float(sample.mean[j])
    if n < 2:
        return np.nan
    if sample.is_constant[j]:
        return 0.0 if mean == 0 else np.nan
    weight = np.ascontiguousarray(sample.relative_weight[:, j])
    variance = n / (n - 1) * (weight * (sample.value[:, j] - mean) ** 2).sum() / weight.sum()
    return mean / float(np.sqrt(variance))
