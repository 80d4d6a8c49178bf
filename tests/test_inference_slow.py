"""What the words promise, counted over many experiments: p-values are uniform without a difference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ltr_metrics.analysis.inference import Sample, minimum_detectable_effects, p_values

pytestmark = pytest.mark.slow

N_EXPERIMENTS = 400


def error_of(rate: float, n: int = N_EXPERIMENTS) -> float:
    """Three and a half standard errors of a rate over the experiments: one test in two thousand
    would fail by chance.
    """
    return 3.5 * float(np.sqrt(rate * (1 - rate) / n))


# --- p-values where there is no difference ---------------------------------------------------------------------------


def null_columns(n: int, n_columns: int, seed: int) -> np.ndarray:
    """Each column an experiment; symmetric about 0, with heavy tails and no ties."""
    return np.random.default_rng(seed).standard_t(3, (n, n_columns))


@cache
def drawn_p(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    extra: dict[str, Any] = {
        "plain": {},
        "weights": {"weight": rng.lognormal(size=60)},
        "clusters": {"cluster": np.arange(60) // 3},
        "weights and clusters": {"weight": rng.lognormal(size=60), "cluster": rng.integers(0, 25, 60)},
    }[kind]
    ps = []
    for experiment in range(N_EXPERIMENTS):  # one by one, for columns of one call share their signs
        d = null_columns(60, 1, experiment)
        if "cluster" in extra:
            d += 2 * null_columns(60, 1, 10_000 + experiment)[extra["cluster"]]
        ps.append(p_values(Sample.of(d, **extra), n_resamples=999, seed=experiment)[0][0])
    return np.array(ps)


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "weights and clusters"])
def test_randomization_is_uniform_without_a_difference(kind: str) -> None:
    assert stats.kstest(drawn_p(kind), "uniform").pvalue > 0.001
    assert stats.chisquare(np.histogram(drawn_p(kind), 10, (0, 1))[0]).pvalue > 0.001


def test_t_is_uniform_without_a_difference() -> None:
    p = p_values(Sample.of(np.random.default_rng(3).normal(size=(12, 2000))), "t")[0]
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_wilcoxon_of_many_is_uniform_without_a_difference() -> None:
    p = p_values(Sample.of(null_columns(80, 1000, 2)), "wilcoxon")[0]
    assert stats.kstest(p, "uniform").pvalue > 0.001


# --- power -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 60])
def test_a_difference_of_the_detectable_size_is_found_that_often(n: int) -> None:
    d = np.random.default_rng(n).normal(0, 1, (n, 4000))
    delta = (
        minimum_detectable_effects(Sample.of(d)) / Sample.of(d).standard_error / np.sqrt(n)
    )  # in true standard deviations
    found = p_values(Sample.of(d + delta), "t")[0] <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=error_of(0.8, 4000))
