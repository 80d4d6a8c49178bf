r"""Confidence limits of means and of ratios of means, in closed form: no resampling, and no seed.

Unit i, a query or a cluster, has the weight w_i, and adds a_i to a numerator and b_i to a denominator. The estimate is
m = sum(a) / sum(b): a weighted mean with a = w x and b = w, and a ratio of two means with a = w x and b = w y. Clusters
are sums over their queries. docs/comparison.md derives the limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import FloatArray, require_confidence
from ltr_metrics.errors import import_extra
from ltr_metrics.evaluation.ranges import ANYTHING, SAME, Possible

PROBE = 1_000  # units of which a look mostly suffices
POLE = 0.25  # of ABC's denominator 1 - k w, which the usual levels do not come near


class Limits(NamedTuple):
    """The ends of an interval; both are NaN without one, for a reason."""

    low: float = math.nan
    high: float = math.nan
    reason: str = ""  # for which the ends are NaN
    is_bound: bool = False  # whether they are those of `bounds`, and not of the formula


class Influence(NamedTuple):
    """What each unit adds to an estimate, to first order, and what an interval needs to know beyond that."""

    estimate: float
    of_unit: FloatArray  # (a - m b) / sum(b), whose sum is 0
    curvature: float  # sum(of_unit b) / sum(b): how much the denominator grows in the direction of of_unit
    denominator: FloatArray  # b / sum(b)


def influence(value: FloatArray, base: FloatArray | None, weight: FloatArray) -> Influence:
    """Return the influence of units on a weighted mean, or on a ratio of two with ``base`` in the denominator."""
    b = weight if base is None else weight * base
    total = float(b.sum())
    estimate = float((weight * value).sum()) / total
    deviation = value - estimate if base is None else value - estimate * base
    if base is None:
        deviation = deviation - float((weight * deviation).sum()) / total  # twice, as the mean is rounded
    sizes = np.abs(value) if base is None else np.maximum(np.abs(value), np.abs(estimate * base))
    of_unit = np.where(np.abs(deviation) <= SAME * sizes.max(), 0.0, weight * deviation) / total
    return Influence(estimate, of_unit, float((of_unit * b).sum()) / total, b / total)


def difference_of_influences(one: Influence, other: Influence) -> Influence:
    """Return the influence of units on the difference of two estimates, whose curvature is that of both together."""
    of_unit = one.of_unit - other.of_unit
    size = float((of_unit**2).sum())
    terms = [
        float((of_unit * of.of_unit).sum()) * float((of_unit * of.denominator).sum()) / (size or 1.0)
        for of in (one, other)
    ]
    return Influence(one.estimate - other.estimate, of_unit, terms[0] - terms[1], one.denominator)


def t_quantile(degrees: float, confidence: float) -> float:
    """Return t, the half-width of a confidence interval in standard errors, for degrees of freedom."""
    special = import_extra("scipy.special", "report")
    return float(special.stdtrit(degrees, (1 + require_confidence(confidence)) / 2))


def effective_number(weight: FloatArray) -> float:
    """Return the number of units of equal weight that are as informative (Kish, Survey Sampling, 1965); 0 for none."""
    total = float((weight**2).sum())
    return float(weight.sum()) ** 2 / total if total > 0 else 0.0


def fewest_units(confidence: float) -> int:
    """Return the smallest number of queries, or clusters, for an interval at this confidence level.

    With fewer, all of them differ in the same direction by chance with a probability above
    1 - confidence.
    """
    return 1 + math.ceil(-math.log2(1 - confidence) - 1e-9)


# -- the formula ------------------------------------------------------------------------------------------------------


def limits_of(units: Influence, weight: FloatArray, confidence: float, variance: float | None = None) -> Limits:
    r"""Return the ends by ABC with Student's t (DiCiccio and Efron, Biometrika 79, 1992).

    With s the standard error, c the curvature, k a sixth of the skewness and t Student's quantile, the quantile of ABC
    is l = w / (1 - k w)^2 with w = k +- t. An end is m + d with the larger q of t and abs(l) in

    .. math:: d^2 = q^2 (s^2 - 2 c d) + t^2 v d^2

    where v = ``variance`` is the squared relative standard error of the denominator (Fieller 1954), and 0 for a mean.
    The interval of a mean is never inside of m +- t s.
    """
    r, n = units.of_unit, len(weight)
    grow, size = n / (n - 1), float((r**2).sum())
    if size == 0:
        return Limits(units.estimate, units.estimate)
    error, curvature = math.sqrt(grow * size), grow * units.curvature
    k = float((r * r * r).sum()) / (6 * size**1.5)
    t = t_quantile(max(effective_number(weight) - 1, 1.0), confidence)
    open_share = 1 - t**2 * (variance or 0.0)  # above 0, or the denominator may be 0
    ends = []
    for sign in (-1, 1):
        level = k + sign * t
        q = max(t, sign * level / max(1 - k * level, POLE) ** 2)
        root = math.sqrt(q**2 * curvature**2 + open_share * error**2)
        reach = q * error**2 / (sign * q * curvature + root)
        ends.append(units.estimate + sign * (max(reach, t * error) if variance is None else reach))
    return Limits(*ends)


def limits_of_mean(value: FloatArray, weight: FloatArray, confidence: float, possible: Possible = ANYTHING) -> Limits:
    """Return the limits of a weighted mean of units, all of which count.

    They are those of the formula, of `bounds`, or the wider of both:

    - values that are 0 or 1 by the metric's declaration, or of which each is an end of its range or 0: the bounds
    - a mean of which fewer than `fewest_units` differ from the most frequent value, and a difference that is the same
      for all and not 0: the wider of both, or no limits if the range of the metric is not known
    - all others: the formula. A difference of 0 for all is not uncertain.
    """
    if len(value) < 2:
        return Limits()
    units = influence(value, None, weight)
    formula = limits_of(units, weight, confidence)
    is_constant = not units.of_unit.any()
    if is_constant and possible.is_difference and units.estimate == 0:
        return formula
    is_alone = possible.is_binary or _are_ends(value, possible)
    if not (is_alone or is_constant or (not possible.is_difference and _is_one_usual(value, weight, confidence))):
        return formula
    if not (math.isfinite(possible.low) and math.isfinite(possible.high)):
        if not is_constant:
            return formula
        return Limits(reason="all values are equal, and the range of the metric is not known")
    low, high = bounds(value, weight, possible, (1 - confidence) / 2)
    if not is_alone:
        low, high = min(low, formula.low), max(high, formula.high)
    return Limits(low, high, is_bound=is_alone or is_constant)


def limits_of_ratio(
    value: FloatArray,
    base: FloatArray,
    weight: FloatArray,
    confidence: float,
    possible: Possible | None = None,
    of: str = "the baseline's mean",
) -> Limits:
    """Return the limits of a ratio of two weighted means, with the mean of ``base`` below, which must be above 0.

    With the ``possible`` values of a difference, they are never inside of the `bounds` of the difference, where these
    are needed.
    """
    if len(value) < 2:
        return Limits()
    if not (weight * base).sum():
        return Limits(reason=f"{of} is 0")
    units = influence(value, base, weight)
    if not units.of_unit.any():
        if units.estimate == 0:
            return Limits(0.0, 0.0)
        return Limits(reason="all queries change by the same share, which does not show how much others vary")
    share = units.denominator - weight / weight.sum()
    variance = len(weight) / (len(weight) - 1) * float((share**2).sum())
    t = t_quantile(max(effective_number(weight) - 1, 1.0), confidence)
    if t**2 * variance >= 1:
        mean = float((weight * base).sum() / weight.sum())
        return Limits(
            reason=f"{of}, {mean:.3g}, is itself not clearly above 0 (its {100 * confidence:.4g}% interval begins at "
            f"{mean * (1 - t * math.sqrt(variance)):.3g})"
        )
    limits = limits_of(units, weight, confidence, variance)
    if possible is None:
        return limits
    of_difference = limits_of_mean(value, weight, confidence, possible)
    mean = float((weight * base).sum() / weight.sum())
    if not of_difference.is_bound:
        return limits
    low, high = of_difference.low / mean, of_difference.high / mean
    return Limits(min(limits.low, low), max(limits.high, high))


def _are_ends(value: FloatArray, possible: Possible) -> bool:
    """Return whether each value is an end of the range, or 0."""
    ends: Sequence[float] = (possible.low, possible.high, 0.0)
    return all(math.isfinite(end) for end in ends) and bool(np.isin(value, ends).all())


def _is_one_usual(value: FloatArray, weight: FloatArray, confidence: float) -> bool:
    """Return whether fewer than `fewest_units` differ from the most frequent value."""
    fewest = fewest_units(confidence) - 1e-9
    start = _weight_of_others(value[:PROBE], weight[:PROBE])
    if start.sum() / weight.max() >= fewest:  # their effective number is at least this, and more units only add to it
        return False
    return effective_number(start if len(value) <= PROBE else _weight_of_others(value, weight)) < fewest


def _weight_of_others(value: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weights of the units that differ from the most frequent value."""
    order = np.argsort(value, kind="stable")
    in_order = value[order]
    tolerance = SAME * np.maximum(np.abs(in_order[1:]), np.abs(in_order[:-1]))
    code = np.concatenate([[0], np.cumsum(np.diff(in_order) > tolerance)])
    usual = np.bincount(code, weights=weight[order]).argmax()
    others: FloatArray = weight[order][code != usual]
    return others


# -- bounds -----------------------------------------------------------------------------------------------------------


def bounds(
    value: FloatArray, weight: FloatArray, possible: Possible, tail: float, copies: float = 1.0
) -> tuple[float, float]:
    """Return the bounds of a mean, each of which is wrong with a probability of at most ``tail``."""
    low = lower_bound(value, weight, possible.low, tail, copies)
    return low, -lower_bound(-value, weight, -possible.high, tail, copies)


def lower_bound(value: FloatArray, weight: FloatArray, lowest: float, tail: float, copies: float = 1.0) -> float:
    r"""Return the lower bound of a mean of values of at least ``lowest``, as if the sample had missed one heavy unit.

    That is Gaffke's bound (2005): the quantile of a mean with random (Dirichlet) weights of the units and of one more,
    of the largest weight, at ``lowest``. It is taken from the beta distribution with the same mean and variance,
    between ``lowest`` and the highest value. So it is that of Clopper and Pearson (1934) for values of which each is
    lowest or highest, lowest + (v - lowest) ``tail`` ** (1 / n) for n equal values v, and with weights that of an
    effective number of units (Kish 1965).

    ``copies`` of the sample are counted: 2 for a sample of twice as many units with the same mean and spread.

    >>> lower_bound(np.array([1.0] * 9 + [0.0]), np.ones(10), 0, 0.025)  # scipy.stats.binomtest(9, 10)
    0.554983...
    """
    w = weight / weight.max()
    span = float(value.max()) - lowest
    if span <= 0 or copies == 0:
        return float(lowest)
    x = (value - lowest) / span
    total, squares = copies * float(w.sum()) + 1, copies * float((w**2).sum()) + 1
    mean = copies * float((w * x).sum()) / total
    spread = (copies * float((w**2 * (x - mean) ** 2).sum()) + mean**2) / squares  # of one unit of mean weight
    size = mean * (1 - mean) / spread * (total**2 / squares + 1) - 1
    quantile: Any = import_extra("scipy.special", "report").betaincinv(mean * size, (1 - mean) * size, tail)
    return lowest + span * float(quantile)
