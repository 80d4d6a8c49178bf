"""Student's t test and interval, Wilcoxon's signed-rank test and the sign test, by SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, require_confidence
from ltr_metrics.analysis.inference.randomization import ALWAYS_EXACT, exact_p
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.errors import LtrValueError, import_extra

DECIMALS = 12  # of a difference in units of the largest
MAX_EXACT_WITHOUT_TIES = 50  # non-zero differences; as in SciPy


def t_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return the p-values of mean / standard error under Student's t (`Sample.degrees_of_freedom`).

    Where the standard error is 0 they are the limit: 1 for a mean of 0, and 0 for any other.
    """
    stats = import_extra("scipy.stats", "report")
    n, mean, error = sample.n_units, sample.mean, sample.standard_error
    t = np.divide(np.abs(mean), error, out=np.where(mean == 0, 0.0, np.inf), where=error > 0)
    is_tested = n > 1
    p = np.full(len(n), np.nan)
    p[is_tested] = 2 * stats.t.sf(t[is_tested], sample.degrees_of_freedom[is_tested])
    return p, np.zeros(len(n), dtype=np.bool_)


def t_intervals(sample: Sample, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Student's interval of each mean; NaN for fewer than two units."""
    level = (1 + require_confidence(confidence)) / 2
    half = (
        np.asarray(import_extra("scipy.stats", "report").t.ppf(level, sample.degrees_of_freedom))
        * sample.standard_error
    )
    return sample.mean - half, sample.mean + half


def wilcoxon_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return Wilcoxon's p-values, and which of them are from the exact distribution."""
    return _test_columns(sample, "wilcoxon", _wilcoxon)


def sign_p(sample: Sample) -> tuple[FloatArray, BoolArray]:
    """Return the p-values of the sign test, which are exact."""
    return _test_columns(sample, "sign", _sign)


def _test_columns(
    sample: Sample, name: str, test: Callable[[FloatArray], tuple[float, bool]]
) -> tuple[FloatArray, BoolArray]:
    if sample.has_weights or sample.has_clusters:
        has = "clusters" if sample.has_clusters else "weights"
        raise LtrValueError(
            f"The {name} test has no version with weights or clusters, and this sample has {has}: use "
            "test='randomization' or test='t', or pass neither weights nor clusters."
        )
    results = [
        test(_nonzero(value[units])) if units.sum() > 1 else (np.nan, False)
        for value, units in zip(sample.value.T, sample.is_counted.T, strict=True)
    ]
    return np.array([p for p, _ in results], np.float64), np.array([is_exact for _, is_exact in results], np.bool_)


def _nonzero(values: FloatArray) -> FloatArray:
    """Return the non-zero values in units of the largest, rounded.

    Without rounding, 0.3 - 0.2 and 0.2 - 0.1 would not be a tie.
    """
    largest = np.abs(values).max()
    rounded: FloatArray = (values / (largest if largest > 0 else 1.0)).round(DECIMALS)
    nonzero: FloatArray = rounded[rounded != 0]
    return nonzero


def _wilcoxon(values: FloatArray) -> tuple[float, bool]:
    # These are the p-values of scipy.stats.wilcoxon from SciPy 1.15 on, to the last bit. Earlier
    # releases ignore ties, and later ones take 0.9 s for 13 differences with ties (we take 0.2 ms).
    stats = import_extra("scipy.stats", "report")
    sizes = np.abs(values)
    ranks = np.sign(values) * stats.rankdata(sizes)
    if len(values) <= ALWAYS_EXACT:
        return exact_p(ranks), True
    if len(values) <= MAX_EXACT_WITHOUT_TIES and len(np.unique(sizes)) == len(values):
        return float(stats.wilcoxon(values, method="exact").pvalue), True
    return float(2 * stats.norm.sf(abs(ranks.sum()) / np.sqrt((ranks**2).sum()))), False


def _sign(values: FloatArray) -> tuple[float, bool]:
    if not len(values):
        return 1.0, True
    n_wins = int((values > 0).sum())
    return float(import_extra("scipy.stats", "report").binomtest(n_wins, len(values)).pvalue), True
