"""How often the gate and the tests find a difference where there is none.

Each case is a batch of random samples from one family of differences whose true mean is 0. The
samples go through `ltr_metrics.compare` and `ltr_metrics.gate`. A rate above its limit is a fault
if chance would exceed the limit by as much in one of a million runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.stats import binom

import ltr_metrics as ltr
from benchmarks.gate import METRIC, SIZES, Family, comparison_with_zero, families
from fuzz.report import Report
from ltr_metrics._engine.words import Test

N_SAMPLES = 100  # in one comparison
ALPHA = 0.05
FOUND, NOT_FOUND = "found", "not found"
CHANCE = 1e-6
EXACT: tuple[Test, ...] = ("randomization", "sign", "wilcoxon")  # which need symmetric differences, and no more
LIMITS = {"gate": 0.03, "randomization": ALPHA, "sign": ALPHA, "wilcoxon": ALPHA, "t": 0.06}
LIMITS_OF_UNEVEN_WEIGHTS = LIMITS | {"gate": 0.045, "t": 0.09}  # which have fewer queries in effect than in number


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Try the batches with these numbers."""
    report, usual = Report("null", seed), [one for one in families(None) if "rare large" not in one.name]
    limits = {}
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        family = usual[int(rng.integers(len(usual)))]
        for check, (n_found, n_samples) in _batch(family, int(rng.choice(SIZES)), rng).items():
            subject = f"{check}: {family.name}"
            report.add(subject, FOUND, n_found)
            report.add(subject, NOT_FOUND, n_samples - n_found)
            limits[subject] = (LIMITS if family.weight is None else LIMITS_OF_UNEVEN_WEIGHTS)[check]
    for subject, limit in limits.items():
        _require_rate(report, subject, report.outcomes[subject], limit)
    return report


def _batch(family: Family, n: int, rng: np.random.Generator) -> dict[str, tuple[int, int]]:
    """Return how often the gate and a test find a difference in a batch of samples, and the number of samples."""
    weight = None if family.weight is None else family.weight(rng, n)
    cluster = None if family.cluster is None else family.cluster(n)
    is_plain = weight is None and cluster is None
    test: Test = ("t", *EXACT)[int(rng.integers(4))] if is_plain else ("t", "randomization")[int(rng.integers(2))]
    comparison = comparison_with_zero(
        family.draw(rng, n, N_SAMPLES),
        test=test,
        weight=weight,
        cluster=cluster,
        n_resamples=500,
        seed=int(rng.integers(2**31)),
    )
    p_values = comparison.to_pandas()["p_value"]
    passed = [check.passed for check in ltr.gate(comparison, f"{METRIC} > 0").checks]
    return {"gate": (sum(passed), len(passed)), test: (int((p_values <= ALPHA).sum()), len(p_values))}


def _require_rate(report: Report, subject: str, outcomes: Counter[str], limit: float) -> None:
    """Add a fault if a rate is above its limit by more than chance explains."""
    n_found, n_samples = outcomes[FOUND], outcomes.total()
    if binom.sf(n_found - 1, n_samples, limit) < CHANCE:
        rate = f"{100 * n_found / n_samples:.1f} % of {n_samples:,} samples"
        report.faults.append(f"{subject}: a difference is found in {rate}, where the limit is {100 * limit:g} %")
