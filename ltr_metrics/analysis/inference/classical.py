"""Student's t test and interval, Wilcoxon's signed-rank test and the sign test, by SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, require_confidence
from ltr_metrics.analysis.inference.libraries import library
from ltr_metrics.analysis.inference.randomization import ALWAYS_EXACT, exact_p
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.errors import LtrValueError

DECIMALS = 12  # of the largest difference
LARGEST_TABLE = 50  # non-zero differences up to which SciPy, too, takes the exact distribution where there are no ties


def t_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return the p-values of mean / standard error against Student's t (`Sample.degrees_of_freedom`).

    Where the standard error is 0 they are the limit: 1 for a mean of 0, and 0 for any other.
    """
    stats = library("scipy.stats")
    n, mean, error = sample.n, sample.mean, sample.standard_error
    t = np.divide(np.abs(mean), error, out=np.where(mean == 0, 0.0, np.inf), where=error > 0)
    some = n > 1
    p = np.full(len(n), np.nan)
    p[some] = 2 * stats.t.sf(t[some], sample.degrees_of_freedom[some])
    return p, np.zeros(len(n), dtype=np.bool_)


def t_intervals(sample: Sample, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Student's interval of each mean; NaN for fewer than two units."""
    level = (1 + require_confidence(confidence)) / 2
    half = np.asarray(library("scipy.stats").t.ppf(level, sample.degrees_of_freedom)) * sample.standard_error
    return sample.mean - half, sample.mean + half


def wilcoxon_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return Wilcoxon's p-values, and which of them are from the exact distribution: few differences, or no ties among some more."""
    return _of_columns(sample, "wilcoxon", _wilcoxon)


def sign_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return the p-values of the sign test, which are exact."""
    return _of_columns(sample, "sign", _sign)


def _of_columns(
    sample: Sample, name: str, test: Callable[[FloatArray], tuple[float, bool]]
) -> tuple[FloatArray, BoolArray]:
    if sample.has_weights or sample.has_clusters:
        has = "clusters" if sample.has_clusters else "weights"
        raise LtrValueError(
            f"The {name} test has no version with weights or clusters, and this sample has {has}: use test='randomization' or "
            "test='t', or pass none."
        )
    pairs = [
        test(_without_rounding(value[counts])) if counts.sum() > 1 else (np.nan, False)
        for value, counts in zip(sample.value.T, sample.counts.T, strict=True)
    ]
    return np.array([p for p, _ in pairs], dtype=np.float64), np.array([exact for _, exact in pairs], dtype=np.bool_)


def _without_rounding(values: FloatArray) -> FloatArray:
    """Return the non-zero values in units of the largest: 0.3 - 0.2 and 0.2 - 0.1, which differ by rounding, are a tie."""
    largest = np.abs(values).max()
    rounded: FloatArray = (values / (largest if largest > 0 else 1.0)).round(DECIMALS)
    nonzero: FloatArray = rounded[rounded != 0]
    return nonzero


def _wilcoxon(values: FloatArray) -> tuple[float, bool]:
    # What SciPy 1.15 decides for itself; releases before it forget ties.
    stats = library("scipy.stats")
    if len(values) <= ALWAYS_EXACT:
        return exact_p(_signed_ranks(values)), True
    if len(values) <= LARGEST_TABLE and len(np.unique(np.abs(values))) == len(values):
        return float(stats.wilcoxon(values, method="exact").pvalue), True
    ranks = _signed_ranks(values)
    return float(2 * stats.norm.sf(abs(ranks.sum()) / np.sqrt((ranks**2).sum()))), False


def _signed_ranks(values: FloatArray) -> FloatArray:
    ranks: FloatArray = np.sign(values) * library("scipy.stats").rankdata(np.abs(values))
    return ranks


def _sign(values: FloatArray) -> tuple[float, bool]:
    if not len(values):
        return 1.0, True
    wins = int((values > 0).sum())
    return float(library("scipy.stats").binomtest(wins, len(values)).pvalue), True
