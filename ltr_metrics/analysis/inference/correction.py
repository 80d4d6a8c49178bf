"""Correction of p-values for multiple comparisons."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, as_numbers, require_option
from ltr_metrics._engine.words import Correction
from ltr_metrics.errors import LtrValueError

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def correct(p: Any, method: Correction = "holm") -> FloatArray:
    """Return p-values adjusted for their number.

    Reject where the adjusted p is at most alpha. ``"holm"`` and ``"bonferroni"`` bound the
    probability of any false rejection by alpha, whatever the dependence among the tests, and Holm's
    method never rejects less. ``"bh"`` bounds the expected share of false rejections among all
    rejections, for independent or positively dependent tests.

    Parameters
    ----------
    p : array-like of shape (k,)
        From 0 to 1. NaN, for no test, stays NaN and does not count.
    method : {"holm", "bonferroni", "bh", "none"}

    Returns
    -------
    ndarray of float64 of shape (k,)
        From p to 1.

    Raises
    ------
    LtrValueError
        An unknown method, or a p outside [0, 1].

    References
    ----------
    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, JRSS B 57, 1995.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> correct([0.01, float("nan"), 0.03], "bonferroni").tolist()
    [0.02, nan, 0.06]
    """
    require_option("method", method, CORRECTIONS)
    adjusted = as_numbers(p, "p").astype(np.float64)
    bad = (adjusted < 0) | (adjusted > 1)
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(f"p must lie between 0 and 1, or be NaN: got {adjusted[at]:g} at position {at}.")
    is_tested = ~np.isnan(adjusted)
    if method != "none" and is_tested.any():
        adjusted[is_tested] = ADJUST[method](adjusted[is_tested])
    return adjusted


def _bonferroni(p: FloatArray) -> FloatArray:
    return np.minimum(1.0, p * len(p))


def _holm(p: FloatArray) -> FloatArray:
    """Multiply the smallest by k, the next by k - 1, ...; the results ascend."""
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, adjusted)


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Multiply the largest by k / k, the next by k / (k - 1), ...; the results descend."""
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * (len(p) / np.arange(len(p), 0, -1)))
    return adjusted


# We do not call statsmodels: its multipletests runs the garbage collector each time, which takes a
# fifth of a second for each metric and segment.
ADJUST = {"holm": _holm, "bonferroni": _bonferroni, "bh": _benjamini_hochberg}
