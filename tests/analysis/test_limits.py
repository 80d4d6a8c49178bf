"""Intervals in closed form: against slow versions of the formulas, Fieller's quadratic, SciPy and enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats
from strategies import SAMPLES

from ltr_metrics.analysis.inference import (
    Sample,
    influences,
    interval_of_difference_of_ratios,
    intervals,
    intervals_of_ratios,
    level_of_each,
)
from ltr_metrics.evaluation.joint import largest_t
from ltr_metrics.evaluation.limits import bounds, limits_of_mean, limits_of_ratio
from ltr_metrics.evaluation.ranges import A_SHARE, ANYTHING, Possible, possible_differences, possible_values

UNIT = Possible(0.0, 1.0)
OF_DIFFERENCES = Possible(-1.0, 1.0, is_difference=True)
OF_HITS = Possible(-1.0, 1.0, is_binary=True, is_difference=True)


def units(n: int, seed: int, *, weighted: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return skewed values, a baseline and weights."""
    rng = np.random.default_rng(seed)
    return rng.exponential(size=n) - 0.7, rng.random(n) + 0.2, rng.lognormal(size=n) if weighted else np.ones(n)


def slow(a: list[float], b: list[float], w: list[float], *, is_ratio: bool, confidence: float = 0.95) -> list[float]:
    """The ends of sum(a) / sum(b), written out from the formula of the documentation."""
    n, total = len(a), math.fsum(b)
    m = math.fsum(a) / total
    r = [(x - m * y) / total for x, y in zip(a, b, strict=True)]
    c = [y / total - z / math.fsum(w) for y, z in zip(b, w, strict=True)]
    grow, size = n / (n - 1), math.fsum(x**2 for x in r)
    s2, cov, v = grow * size, grow * math.fsum(x * y for x, y in zip(r, b, strict=True)) / total, 0.0
    if is_ratio:
        v = grow * math.fsum(x**2 for x in c)
    k = math.fsum(x**3 for x in r) / (6 * size**1.5)
    t = stats.t.ppf((1 + confidence) / 2, max(math.fsum(w) ** 2 / math.fsum(x**2 for x in w) - 1, 1))
    ends = []
    for sign in (-1, 1):
        q = max(t, abs((k + sign * t) / (1 - k * (k + sign * t)) ** 2))
        # d^2 = q^2 (s^2 - 2 cov d) + t^2 v d^2
        roots = np.roots([1 - t**2 * v, 2 * q**2 * cov, -(q**2) * s2])
        (d,) = roots[np.sign(roots) == sign]
        ends.append(m + (float(d) if is_ratio else sign * max(abs(float(d)), t * math.sqrt(s2))))
    return ends


@pytest.mark.parametrize("n", [5, 12, 80])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_ends_are_those_of_the_formula(n: int, weighted: bool, confidence: float) -> None:
    x, y, w = units(n, n, weighted=weighted)
    found = limits_of_mean(x, w, confidence)
    assert found[:2] == pytest.approx(slow(list(w * x), list(w), list(w), is_ratio=False, confidence=confidence))
    y = y + 1
    found = limits_of_ratio(x, y, w, confidence)
    assert found[:2] == pytest.approx(slow(list(w * x), list(w * y), list(w), is_ratio=True, confidence=confidence))


def test_a_symmetric_ratio_has_fiellers_interval() -> None:
    rng = np.random.default_rng(0)
    base, r = np.tile(rng.random(15) + 0.2, 2), rng.normal(0, 0.1, 15)
    value = 0.3 * base + np.concatenate([r, -r])
    n, t = 30, stats.t.ppf(0.975, 29)
    (vv, vb), (_, bb) = np.cov(value, base) / n
    m, b = value.mean(), base.mean()
    expected = np.sort(np.roots([b**2 - t**2 * bb, -2 * (m * b - t**2 * vb), m**2 - t**2 * vv]))
    assert limits_of_ratio(value, base, np.ones(n), 0.95)[:2] == pytest.approx(expected.tolist(), rel=1e-12)


def test_the_quantile_is_abcs_by_numerical_derivatives() -> None:
    """DiCiccio and Efron's algorithm, with T(P) the ratio of sums under the weights P of the units."""
    x, _, w = units(40, 3, weighted=True)
    n, step = 40, 1e-4
    p0 = np.full(n, 1 / n)

    def statistic(p: np.ndarray) -> float:
        return float((p * w * x).sum() / (p * w).sum())

    def along(direction: np.ndarray) -> tuple[float, float]:
        up, here, down = (statistic(p0 + e * direction) for e in (step, 0, -step))
        return (up - down) / (2 * step), (up - 2 * here + down) / step**2

    first, second = np.array([along(np.eye(n)[i] - p0) for i in range(n)]).T
    sigma = math.sqrt((first**2).sum()) / n
    a = (first**3).sum() / (6 * (first**2).sum() ** 1.5)
    curvature = along(first / (n**2 * sigma))[1] / (2 * sigma)
    bias = second.sum() / (2 * n**2)
    assert curvature - bias / sigma == pytest.approx(0, abs=1e-5)  # so that z0 = a
    t = stats.t.ppf(0.975, w.sum() ** 2 / (w**2).sum() - 1)
    level = a + t
    z = level / (1 - a * level) ** 2
    by_abc = statistic(p0 + z * first / (n**2 * sigma))
    s, high = sigma * math.sqrt(n / (n - 1)), limits_of_mean(x, w, 0.95).high
    y = z * curvature * math.sqrt(n / (n - 1))
    by_formula = statistic(p0) + s * z * (math.sqrt(1 + y**2) + y)
    assert high == pytest.approx(by_formula, rel=1e-6)
    assert abs(high - by_abc) < 0.1 * (high - statistic(p0))


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 30, 72])
@pytest.mark.parametrize("tail", [0.025, 0.001])
def test_the_bounds_of_zeros_and_ones_are_those_of_clopper_and_pearson(n: int, tail: float) -> None:
    for k in range(n + 1):
        values = np.repeat([1.0, 0.0], [k, n - k])
        expected = stats.binomtest(k, n).proportion_ci(1 - 2 * tail)
        assert bounds(values, np.ones(n), A_SHARE, tail) == pytest.approx(tuple(expected), rel=1e-9)
        assert bounds(values, np.full(n, 0.3), A_SHARE, tail, 3) == pytest.approx(
            tuple(stats.binomtest(3 * k, 3 * n).proportion_ci(1 - 2 * tail)), rel=1e-9
        )


@pytest.mark.parametrize("n", [2, 10, 100])
def test_the_bounds_of_equal_values(n: int) -> None:
    low, high = bounds(np.full(n, 0.4), np.ones(n), Possible(-1.0, 1.0), 0.025)
    root = 0.025 ** (1 / n)
    assert (low, high) == pytest.approx((-1 + 1.4 * root, 1 - 0.6 * root), rel=1e-12)


@pytest.mark.parametrize("n_lost", [0, 3, 40])
def test_bounds_of_weighted_units_have_the_moments_of_random_weights(n_lost: int) -> None:
    """The mean and variance of a mean with Dirichlet weights of the units and of one more, of the largest weight."""
    rng = np.random.default_rng(n_lost)
    lost = np.zeros(200)
    lost[rng.choice(200, n_lost, replace=False)] = 1
    weight = rng.lognormal(size=200)
    shares, weights = np.append(lost, 1.0), np.append(weight, weight.max())
    mean = np.average(shares, weights=weights)
    n = weights.sum() ** 2 / (weights**2).sum()
    variance = np.average((shares - mean) ** 2, weights=weights**2) / (n + 1)
    size = mean * (1 - mean) / variance - 1
    high = bounds(lost, weight, A_SHARE, 0.025)[1]
    assert high == pytest.approx(stats.beta.isf(0.025, mean * size, (1 - mean) * size), rel=1e-9)
    assert high > lost @ weight / weight.sum()


# -- which of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "possible", "expected"),
    [
        ([1.0] * 30, UNIT, "bounds"),
        ([1.0, 0.0] * 20, UNIT, "bounds"),  # each is an end of the range
        ([0.25, 0.75] * 20, A_SHARE, "bounds"),  # a hit by ties or in clusters: known by the declaration
        ([0.5] * 30 + [0.6, 0.7, 0.8, 0.9, 0.95], UNIT, "wider"),
        ([1.0] * 13 + [0.7, 0.5, 0.9], UNIT, "wider"),  # whose upper end is that of the formula
        ([0.5] * 30 + [0.6, 0.7, 0.8, 0.9, 0.95, 0.4], UNIT, "formula"),
        ([0.5] * 30 + [0.6, 0.7, 0.8, 0.9, 0.95], ANYTHING, "formula"),
        ([0.5] * 30, UNIT, "bounds"),
        ([0.5] * 30, ANYTHING, "none"),
        ([0.5] * 30, Possible(0.0, math.inf), "none"),
        ([0.1] * 30, OF_DIFFERENCES, "bounds"),
        ([0.0] * 30, OF_DIFFERENCES, "formula"),  # which is [0, 0]
        ([0.0] * 30, OF_HITS, "formula"),
        ([0.0] * 30, Possible(-math.inf, math.inf, is_difference=True), "formula"),
        ([0.0] * 29 + [1.0], OF_HITS, "bounds"),
        ([0.0] * 29 + [1.0], OF_DIFFERENCES, "bounds"),
        ([0.0] * 29 + [0.5], OF_HITS, "bounds"),
        ([0.0] * 29 + [0.5], OF_DIFFERENCES, "formula"),
        ([0.1] * 30, Possible(-math.inf, math.inf, is_difference=True), "none"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_which_interval_values_have(values: list[float], possible: Possible, expected: str, weighted: bool) -> None:
    x, w = np.array(values), np.ones(len(values))
    if weighted:
        w[:-6] = np.linspace(0.9, 1, len(values) - 6)
    found = limits_of_mean(x, w, 0.95, possible)
    formula = limits_of_mean(x, w, 0.95, Possible(-math.inf, math.inf, is_difference=True))
    if expected == "none":
        assert np.isnan(found[:2]).all()
        assert found.reason == "all values are equal, and the range of the metric is not known"
        return
    ends = formula[:2]
    if expected != "formula":
        ends = bounds(x, w, possible, 0.025)
    if expected == "wider":
        ends = min(ends[0], formula.low), max(ends[1], formula.high)
    assert found[:2] == pytest.approx(ends, rel=1e-12)
    assert not found.reason


def test_what_is_zero_or_one_follows_from_the_metric() -> None:
    for name in ("hit@10", "success@3", "precision@1", "p(rel=2)@1", "mrr@1", "judged@1"):
        assert possible_values(name) == A_SHARE
        assert possible_differences(name, [0.0, 1.0]) == OF_HITS
    for name in ("precision@2", "mrr", "ndcg@1", "recall@1", "ap@1"):
        assert not possible_values(name).is_binary
    assert possible_values("hit@10", [-1.0]) == ANYTHING  # as no_relevant=-1 makes it
    assert possible_differences("dcg@10")[:2] == (-math.inf, math.inf)


@pytest.mark.parametrize("n", [5, 20, 50])
@pytest.mark.parametrize("floor", [0.5, 0.8, 0.95, 0.99])
def test_a_mean_of_hits_is_above_the_truth_in_at_most_a_fortieth_of_all_samples(n: int, floor: float) -> None:
    lows = [limits_of_mean(np.repeat([1.0, 0.0], [k, n - k]), np.ones(n), 0.95, A_SHARE).low for k in range(n + 1)]
    passes = np.array(lows) > floor
    assert stats.binom.pmf(np.arange(n + 1), n, floor)[passes].sum() <= 0.025


@pytest.mark.parametrize("n", [10, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("discordant", [0.05, 0.3])
@pytest.mark.parametrize("difference", [0.0, -0.01])
def test_differences_of_hits_over_all_outcomes(n: int, discordant: float, difference: float) -> None:
    """Of all samples with at least one discordant query, few are falsely above the true difference."""
    gains = (discordant + difference) / 2
    chances = [gains, discordant - gains, 1 - discordant]
    wrong = 0.0
    for up, down in itertools.product(range(n + 1), repeat=2):
        if 0 < up + down <= n:
            values = np.repeat([1.0, -1.0, 0.0], [up, down, n - up - down])
            if limits_of_mean(values, np.ones(n), 0.95, OF_HITS).low > difference:
                wrong += stats.multinomial.pmf([up, down, n - up - down], n, chances)
    assert wrong <= 0.027


# -- ratios without an interval ---------------------------------------------------------------------------------------


def test_ratios_that_have_no_interval_say_why() -> None:
    rng = np.random.default_rng(0)
    base = np.where(np.arange(40) < 3, 0.5, 0.0)
    found = limits_of_ratio(rng.normal(size=40), base, np.ones(40), 0.95)
    assert np.isnan(found[:2]).all()
    t, mean = stats.t.ppf(0.975, 39), base.mean()
    begins = mean - t * stats.sem(base)
    assert begins < 0
    assert found.reason == (
        f"the baseline's mean, {mean:.3g}, is itself not clearly above 0 (its 95% interval begins at {begins:.3g})"
    )
    base = rng.random(40) + 0.5
    assert limits_of_ratio(0.1 * base, base, np.ones(40), 0.95).reason.startswith("all queries change by the same sh")
    assert limits_of_ratio(0 * base, base, np.ones(40), 0.95)[:2] == (0, 0)


def test_a_ratio_of_hits_is_as_uncertain_as_their_difference() -> None:
    value, base = np.zeros(100), np.repeat([1.0, 0.0], 50)
    value[60] = 1
    found = limits_of_ratio(value, base, np.ones(100), 0.95, OF_HITS)
    of_difference = limits_of_mean(value, np.ones(100), 0.95, OF_HITS)
    assert found.low == pytest.approx(of_difference.low / 0.5)
    assert found.low < limits_of_ratio(value, base, np.ones(100), 0.95).low


def test_a_difference_of_two_ratios() -> None:
    """With one denominator it is one ratio; with two nearly equal ones it is nearly that."""
    x, y, _ = units(60, 1)
    other = x + np.random.default_rng(2).normal(0, 0.2, 60)
    one, two, base, near = (Sample.of(of[:, np.newaxis]) for of in (x, other, y, y * (1 + 1e-9)))
    expected = limits_of_ratio(x - other, y, np.ones(60), 0.95)
    assert interval_of_difference_of_ratios([one, base], [two, base], 0.95) == expected
    found = interval_of_difference_of_ratios([one, base], [two, near], 0.95)
    assert found[:2] == pytest.approx(expected[:2], rel=0.03)  # without the uncertainty of the denominator
    assert found[:2] != expected[:2]


# -- several at once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_an_influence_is_the_derivative_by_a_units_weight(weighted: bool) -> None:
    x, y, w = units(12, 5, weighted=weighted)
    w = w / w.max()
    of_mean, of_ratio = (influences(Sample.of(x[:, None], w), base)[:, 0] for base in (None, Sample.of(y[:, None], w)))
    for i in range(12):
        more = w * (1 + 1e-6 * (np.arange(12) == i))
        assert of_mean[i] == pytest.approx(1e6 * (np.average(x, weights=more) - np.average(x, weights=w)), abs=1e-5)
        change = (more * x).sum() / (more * y).sum() - (w * x).sum() / (w * y).sum()
        assert of_ratio[i] == pytest.approx(1e6 * change, abs=1e-5)


def test_the_largest_t_of_several_means() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(400, 1))
    assert largest_t(one, 0.95) == pytest.approx(1.96, abs=0.03)
    assert largest_t(np.repeat(one, 5, axis=1), 0.95) == pytest.approx(1.96, abs=0.03)
    independent = np.linalg.qr(rng.normal(size=(400, 5)))[0]
    assert largest_t(independent, 0.95) == pytest.approx(stats.norm.ppf((1 + 0.95**0.2) / 2), abs=0.03)
    assert largest_t(np.zeros((9, 3)), 0.95) == 0
    correlated = rng.normal(size=(400, 4)) + one
    root = np.linalg.cholesky(np.corrcoef(correlated.T))
    drawn = np.abs(rng.normal(size=(200_000, 4)) @ root.T).max(axis=1)
    centred = correlated - correlated.mean(axis=0)
    assert largest_t(centred, 0.95) == pytest.approx(np.quantile(drawn, 0.95), abs=0.03)
    assert largest_t(centred, 0.95) == largest_t(centred.copy(), 0.95)


def test_the_level_is_between_that_of_one_interval_and_bonferronis() -> None:
    rng = np.random.default_rng(1)
    same, apart = np.repeat(rng.normal(size=(50, 1)), 3, axis=1), np.linalg.qr(rng.normal(size=(50, 3)))[0]
    for of_units in (same, apart, np.zeros((50, 3))):
        assert 0.95 <= level_of_each(of_units, 0.95) <= 1 - 0.05 / 3
    assert level_of_each(np.zeros((50, 3)), 0.95) == 0.95
    assert level_of_each(apart, 0.95) == pytest.approx(0.95 ** (1 / 3), abs=0.002)


# -- properties -------------------------------------------------------------------------------------------------------


@given(SAMPLES, st.sampled_from([0.5, 1 / 7, 1e6]), st.sampled_from([ANYTHING, UNIT, OF_DIFFERENCES, OF_HITS]))
@examples(100)
def test_signs_and_scales_are_a_matter_of_names(drawn: Any, scale: float, possible: Possible) -> None:
    values, weight, cluster = drawn
    if possible == UNIT:
        values = [abs(value) for value in values]
    flipped = possible._replace(low=-possible.high, high=-possible.low)
    ones = np.ones(len(values)) if weight is None else np.array(weight)
    column = np.array(values)[:, np.newaxis]
    one, mirrored, scaled = (
        Sample.of(sign * column, w, cluster) for sign, w in ((1, weight), (-1, weight), (1, ones * scale))
    )
    [limits], [of_mirrored] = intervals(one, 0.95, [possible]), intervals(mirrored, 0.95, [flipped])
    assert np.isnan(limits.low) == np.isnan(limits.high) == (one.n_units[0] < 2 or bool(limits.reason))
    assert [-of_mirrored.high, -of_mirrored.low] == pytest.approx(list(limits[:2]), abs=1e-9, nan_ok=True)
    assert intervals(scaled, 0.95, [possible])[0][:2] == pytest.approx(limits[:2], abs=1e-9, nan_ok=True)
    assert not limits.low > one.mean[0] + 1e-12
    assert not limits.high < one.mean[0] - 1e-12
    twice = intervals_of_ratios(one, Sample.of(column * 0 + 2, weight, cluster), 0.95)
    if one.n_units[0] > 1 and twice[0].reason == "":  # a ratio to 2 is half
        formula = limits_of_ratio(one.value[:, 0], np.ones(one.n_units[0]), one.weight[:, 0], 0.95)
        assert twice[0][:2] == pytest.approx((formula.low / 2, formula.high / 2), abs=1e-9)
