"""Tests, intervals, corrections and power against SciPy, statsmodels, and slow versions written from the formulas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from strategies import SAMPLES

from ltr_metrics.analysis.inference import (
    Sample,
    correct,
    effect_sizes,
    intervals,
    minimum_detectable_effects,
    noncentrality,
    p_values,
    resampling,
)
from ltr_metrics.analysis.settings import TESTS

ALL_TESTS = pytest.mark.parametrize("test", TESTS)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])

TINY = {
    "few": [0.3, -0.1, 0.25, 0.4],
    "tied": [0.1, -0.1, 0.1, 0.2, -0.2, 0.1],
    "zeros": [0.0, 0.5, 0.0, -0.5, 0.5, 0.0, 0.25],
    "tied but for rounding": [0.3 - 0.2, 0.2 - 0.1, 0.7 - 0.8, 0.9 - 0.7, 0.4 - 0.6, 0.1],
    "balanced": [0.5, -0.5, 0.25, -0.25],
    "one sign": [0.1, 0.2, 0.3, 0.4, 0.5],
    "nine": [0.1, 0.3, -0.2, 0.6, 0.2, -0.1, 0.4, 0.9, -0.3],
}
tiny = pytest.mark.parametrize("values", TINY.values(), ids=TINY.keys())


def column(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)[:, np.newaxis]


def differences(n: int, k: int = 1, seed: int = 0) -> np.ndarray:
    """Like those of NDCG: many zeros, a longer tail on one side, and a different set of queries
    left out of some columns.
    """
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((n, k)) < 0.3, 0.0, rng.gamma(1.5, 0.15, (n, k)) - 0.19)
    values[rng.random(n) < 0.1, : k // 2] = np.nan
    return values


def only(pair: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
    return pair[0][0], pair[1][0]


# --- too little to learn from ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "d", [np.empty((0, 2)), np.full((3, 2), np.nan), np.array([[0.5, -0.5]]), np.array([[0.5, 0.1], [np.nan] * 2])]
)
def test_fewer_than_two_units_say_nothing(d: np.ndarray) -> None:
    sample = Sample.of(d)
    for test in TESTS:
        assert np.isnan(p_values(sample, test)).all()
    assert np.isnan([limits[:2] for limits in intervals(sample)]).all()
    assert np.isnan(minimum_detectable_effects(sample)).all()
    assert np.isnan(effect_sizes(d)).all()
    assert np.isnan(sample.standard_error).all()
    assert np.array_equal(np.isnan(sample.mean), sample.n_units == 0)


@ALL_TESTS
def test_no_difference_at_all(test: str) -> None:
    assert p_values(Sample.of(np.zeros((5, 1))), test).tolist() == [1.0]
    assert p_values(Sample.of(np.zeros((50, 1))), test).tolist() == [1.0]


@pytest.mark.parametrize("value", [0.1, 0.0, -2.5])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0, 0.7, 1 / 3]])
def test_equal_values(value: float, weight: list[float] | None) -> None:
    sample = Sample.of(np.full((5, 1), value), weight)
    assert sample.mean[0] == pytest.approx(value, rel=1e-15)
    assert sample.standard_error.tolist() == [0.0]
    assert minimum_detectable_effects(sample).tolist() == [0.0]
    assert p_values(sample, "t").tolist() == [1.0 if value == 0 else 0.0]
    assert p_values(sample).tolist() == [1.0 if value == 0 else 2 / 2**5]  # which is what five queries can say
    assert effect_sizes(np.full((5, 1), value), weight).tolist() == pytest.approx(
        [0.0 if value == 0 else np.nan], nan_ok=True
    )


# --- randomization ---------------------------------------------------------------------------------------------------


def brute_p(contributions: np.ndarray) -> float:
    least = abs(contributions.sum()) - 1e-9
    signs = itertools.product([1, -1], repeat=len(contributions))
    return float(
        np.mean([abs(sum(s * a for s, a in zip(sign, contributions, strict=True))) >= least for sign in signs])
    )


@tiny
def test_exact_randomization_is_that_of_scipy(values: list[float]) -> None:
    rounded = np.round(values, 9)  # SciPy's tolerance is relative to the statistic, and misses ties of a sum near 0
    reference = stats.permutation_test((rounded,), np.sum, permutation_type="samples", n_resamples=np.inf)
    (p,) = p_values(Sample.of(column(values)))
    assert p == pytest.approx(reference.pvalue, abs=1e-15)
    assert p == brute_p(np.array(values))


@pytest.mark.parametrize("seed", range(5))
def test_exact_randomization_with_weights_and_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = np.round(rng.normal(0.1, 0.3, 9), 1)
    weight = rng.integers(0, 4, 9) / 3
    assert p_values(Sample.of(column(d), weight))[0] == brute_p(d * weight)
    cluster = rng.integers(0, 4, 9)
    of_clusters = [(d * weight)[cluster == c].sum() for c in np.unique(cluster)]
    assert p_values(Sample.of(column(d), weight, cluster))[0] == brute_p(np.array(of_clusters))


def is_exact(sample: Sample, n_resamples: int) -> bool:
    """Whether p depends on no seed."""
    return len({p_values(sample, n_resamples=n_resamples, seed=seed)[0] for seed in range(4)}) == 1


def test_what_is_exact_and_what_is_drawn() -> None:
    d = np.random.default_rng(0).normal(0.1, 1, (16, 1))
    padded = np.concatenate([d[:13], np.zeros((40, 1))])  # queries without a difference cost nothing
    assert is_exact(Sample.of(d[:13]), 100)
    assert np.array_equal(p_values(Sample.of(d[:13])), p_values(Sample.of(padded)))
    assert not is_exact(Sample.of(d[:14]), 10_000)
    assert is_exact(Sample.of(d[:14]), 2**14)
    assert not is_exact(Sample.of(d[:14]), 2**14 - 1)
    (drawn,), (all_of_them,) = p_values(Sample.of(d)), p_values(Sample.of(d), n_resamples=2**16)
    assert all_of_them == pytest.approx(
        stats.permutation_test((d.ravel(),), np.sum, permutation_type="samples", n_resamples=2**16).pvalue
    )
    assert drawn != all_of_them
    assert drawn == pytest.approx(all_of_them, abs=4 * (all_of_them * (1 - all_of_them) / 10_000) ** 0.5)


@pytest.mark.parametrize(("n_wins", "n"), [(18, 30), (1100, 2130)])
def test_ties_of_many_units_count_as_equal(n_wins: int, n: int) -> None:
    """All queries have +-0.1: the sum is a binomial variable, much of whose mass a strict comparison
    would lose to rounding.
    """
    d = 0.1 * np.array([1] * n_wins + [-1] * (n - n_wins)) + 0.0
    d += np.random.default_rng(0).choice([0, 2e-17], n)
    expected = stats.binomtest(n_wins, n).pvalue
    assert p_values(Sample.of(column(d)))[0] == pytest.approx(
        expected, abs=4 * (expected * (1 - expected) / 10_000) ** 0.5
    )


def test_a_drawn_p_is_never_zero() -> None:
    assert p_values(Sample.of(np.full((100, 1), 0.5)), n_resamples=999).tolist() == [1 / 1000]


def test_random_signs_are_fixed() -> None:
    """The bits are PCG64's own, which NumPy promises to keep, so that a p can be had again anywhere."""
    d = column(np.arange(40) % 7 - 2.5)
    sample = Sample.of(d)
    assert [p_values(sample, seed=seed)[0] for seed in (0, [1, 2])] == [2655 / 10_001, 2609 / 10_001]


# --- the other tests -------------------------------------------------------------------------------------------------


def test_t_with_weights_is_the_ratio_of_mean_and_standard_error() -> None:
    """The standard error is HC3's of a regression on a constant, but for the factor that is 1 for equal weights."""
    d, w = differences(25)[:, 0], np.random.default_rng(0).integers(1, 5, 25)
    mean = (w * d).sum() / w.sum()
    hc3 = sm.WLS(d, np.ones(25), weights=w).fit(cov_type="HC3").bse[0]
    error = hc3 * (24 / 25) ** 0.5
    (p,) = p_values(Sample.of(column(d), w), "t")
    effective = w.sum() ** 2 / (w**2).sum()
    assert 10 < effective < 24
    assert p == pytest.approx(2 * stats.t.sf(abs(mean / error), effective - 1), rel=1e-12)


# --- what a result may depend on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [217, 1300])  # one block of units, and two
@pytest.mark.parametrize("units", ["queries", "weighted queries", "clusters"])
def test_a_column_does_not_depend_on_its_neighbours(units: str, n: int) -> None:
    d = differences(n, 7)
    assert len({tuple(is_undefined) for is_undefined in np.isnan(d.T)}) == 2  # which leave out other queries
    weight = None if units == "queries" else np.random.default_rng(0).random(n)
    cluster = np.arange(n) // 3 if units == "clusters" else None
    together = Sample.of(d, weight, cluster)
    p, limits = p_values(together), intervals(together)
    for columns in ([0], [6], [5, 2], [6, 5, 4, 3, 2, 1, 0]):
        part = Sample.of(d[:, columns], weight, cluster)
        assert np.array_equal(p_values(part), p[columns])
        assert intervals(part) == [limits[j] for j in columns]


def test_threads_change_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Sample.of(differences(3000, 2))
    results = []
    monkeypatch.setattr(resampling, "CHUNK", 2**17)  # four chunks
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(resampling, "n_threads_for", lambda n_rows, asked, n_threads=n_threads: n_threads)
        results.append(p_values(sample, n_resamples=500))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


# --- properties ------------------------------------------------------------------------------------------------------

Drawn = tuple[list[float], list[float] | None, list[int] | None]


@given(SAMPLES, st.sampled_from([0.5, 1 / 7, 1e6]))
@examples(60)
def test_signs_are_a_matter_of_names_and_weights_have_no_scale(drawn: Drawn, scale: float) -> None:
    values, weight, cluster = drawn
    one, mirrored = (Sample.of(sign * column(values), weight, cluster) for sign in (1, -1))
    scaled = Sample.of(column(values), np.array([1.0] * len(values) if weight is None else weight) * scale, cluster)
    for test in TESTS:
        assert np.array_equal(p_values(one, test, 200), p_values(mirrored, test, 200), equal_nan=True)
    assert np.array_equal(p_values(one, n_resamples=200), p_values(scaled, n_resamples=200), equal_nan=True)


# --- corrections, power, effect --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "statsmodels_method"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_those_of_statsmodels(method: str, statsmodels_method: str) -> None:
    p = np.random.default_rng(0).random(20) ** 3
    assert correct(p, method) == pytest.approx(multipletests(p, method=statsmodels_method)[1], rel=1e-14)
    gaps = np.insert(p, [0, 7, 20], np.nan)
    assert np.array_equal(correct(gaps, method)[~np.isnan(gaps)], correct(p, method))
    assert np.isnan(correct(gaps, method)).tolist() == np.isnan(gaps).tolist()


def test_one_heavy_unit_proves_nothing() -> None:
    d = np.random.default_rng(1).normal(0.3, 1, 30)
    weight = np.where(np.arange(30) == 0, 1e6, 1.0)
    assert p_values(Sample.of(column(d), weight), "t")[0] > 0.1
    equal = Sample.of(column(d))
    assert equal.standard_error_of_test == pytest.approx(equal.standard_error, rel=1e-12)


@pytest.mark.parametrize("n", [5, 8, 30, 200, 3000])
@pytest.mark.parametrize(("confidence", "power"), [(0.95, 0.8), (0.9, 0.5), (0.99, 0.9)])
def test_the_detectable_difference_has_that_power(n: int, confidence: float, power: float) -> None:
    d = differences(n, seed=n)
    sample = Sample.of(d)
    size = only((minimum_detectable_effects(sample, confidence, power), sample.n_units))[0] / d[:, 0].std(ddof=1)
    assert TTestPower().power(size, n, 1 - confidence) == pytest.approx(power, abs=1e-7)


def test_two_units_at_an_extreme_confidence_have_a_detectable_difference() -> None:
    # The limit is so far away that only the sample's standard deviation counts, the size of a normal number.
    at_limit = noncentrality(1, 1 - 1e-5, 0.8) / stats.t.isf(0.5e-5, 1)
    assert at_limit == pytest.approx(stats.norm.isf(0.1), rel=1e-8)
