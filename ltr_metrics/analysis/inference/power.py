"""The minimum detectable effect of a comparison."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_confidence, require_fraction
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.errors import LtrValueError, import_extra


def minimum_detectable_effects(sample: Sample, confidence: float = 0.95, power: float = 0.8) -> FloatArray:
    r"""Return the minimum detectable effect of each column at this power.

    It is :math:`\delta \cdot` standard error, where :math:`\delta` is the noncentrality at which a
    two-sided t test (`Sample.degrees_of_freedom`) at level 1 - confidence rejects with probability
    ``power``: 2.80 for many units, and more for few. A non-significant result does not rule out
    smaller differences.

    Parameters
    ----------
    sample : Sample
    confidence : float, default 0.95
    power : float, default 0.8
        More than 1 - confidence, the probability with which the test rejects if there is no
        difference.

    Returns
    -------
    ndarray of float64 of shape (n_columns,)
        0 or more; NaN for fewer than two units, 0 where the standard error is 0.

    Raises
    ------
    LtrValueError
        A confidence or power outside (0, 1), or a power of 1 - confidence or less.

    References
    ----------
    J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.

    Examples
    --------
    >>> sample = Sample.of([[0.3], [0.2], [0.0], [0.4], [-0.1], [0.0], [0.9], [0.0]])
    >>> (minimum_detectable_effects(sample) / sample.standard_error).round(3).tolist()
    [3.27]
    """
    confidence = require_confidence(confidence)
    power = require_fraction("power", power, 0.8)
    if power <= 1 - confidence:
        raise LtrValueError(
            f"power must be more than 1 - confidence, {1 - confidence:g}, which is how often the test rejects if there "
            f"is no difference. Got {power:g}."
        )
    degrees = sample.degrees_of_freedom.tolist()
    factor = {df: noncentrality(df, confidence, power) for df in set(degrees)}
    return np.array([factor[df] for df in degrees], dtype=np.float64) * sample.standard_error  # NaN for one unit


def noncentrality(df: float, confidence: float, power: float) -> float:
    """Return the noncentrality at which a two-sided t test has this power.

    The square of a noncentral t is a noncentral F. SciPy's noncentral F is correct everywhere, but
    its noncentral t is NaN for some arguments, and solvers for the effect size that use it return
    wrong roots.
    """
    stats = import_extra("scipy.stats", "report")
    limit = float(stats.t.isf((1 - confidence) / 2, df))

    def missing_power(delta: float) -> float:
        with np.errstate(divide="ignore"):  # SciPy 1.11 warns here, although its number is right
            return float(stats.ncf.cdf(limit**2, 1, df, delta**2)) - (1 - power)

    highest = limit + 1
    while missing_power(highest) > 0:
        highest *= 2
    return float(import_extra("scipy.optimize", "report").brentq(missing_power, 0, highest))
