"""The learning curve: against formulas that are written out query by query, and against SciPy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics.evaluation.joint import largest_t
from ltr_metrics.evaluation.means import mean_interval
from ltr_metrics.evaluation.ranges import possible_values
from ltr_metrics.logs import learning
from ltr_metrics.logs.learning import LearningCurve, curve_of_values

pytestmark = pytest.mark.integration

NAN = float("nan")


def curve_of(values: object, weight: object = None, confidence: float = 0.95) -> LearningCurve:
    table = np.array(values, dtype=float)
    weight = None if weight is None else np.array(weight, dtype=float)
    return curve_of_values(table, weight, metric="mrr", data="valid", confidence=confidence)


# -- the best round and its plateau -----------------------------------------------------------------------------------


def slow(values: list[float], weight: list[float]) -> tuple[float, float]:
    """Return the weighted mean of the queries that count, and its standard error."""
    pairs = [(w, x) for w, x in zip(weight, values, strict=True) if not math.isnan(x) and w > 0]
    n, total = len(pairs), math.fsum(w for w, _ in pairs)
    m = math.fsum(w * x for w, x in pairs) / total
    return m, math.sqrt(n / (n - 1) * math.fsum(w**2 * (x - m) ** 2 for w, x in pairs)) / total


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[list[float]], list[float] | None]:
    """Draw rounds x queries, the same queries left out of each, and at least two that count."""
    n = draw(st.integers(2, 7))
    value = st.one_of(st.sampled_from([0.0, 0.25, 1.0]), st.floats(0, 1, width=16))
    rounds = draw(st.lists(st.lists(value, min_size=n, max_size=n), min_size=1, max_size=8))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    out = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    counts = [not gone and (weight is None or weight[i] > 0) for i, gone in enumerate(out)]
    if sum(counts) < 2:
        out, weight = [False] * n, None
    return [[NAN if gone else x for gone, x in zip(out, row, strict=True)] for row in rounds], weight


@given(log=logs(), confidence=st.sampled_from([0.5, 0.8, 0.95]))
def test_the_best_round_follows_from_the_formulas(
    log: tuple[list[list[float]], list[float] | None], confidence: float
) -> None:
    values, weight = log
    ones = weight or [1.0] * len(values[0])
    found = curve_of(values, weight, confidence)
    means, errors = zip(*(slow(row, ones) for row in values), strict=True)
    np.testing.assert_allclose(found.mean, means, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-9, atol=1e-15)
    assert found.best == found.n_rounds - 1 == found.mean.tolist().index(max(found.mean.tolist()))
    counting = [w for w, x in zip(ones, values[0], strict=True) if w > 0 and not math.isnan(x)]
    degrees = max(math.fsum(counting) ** 2 / math.fsum(w**2 for w in counting) - 1, 1)
    changes = np.array(values, dtype=float) - np.array(values[found.best])
    share = np.where(np.isnan(changes[0]), 0, ones) / math.fsum(counting)
    of_queries = share * np.nan_to_num(changes - np.nansum(share * changes, axis=1, keepdims=True))
    of_queries[np.abs(of_queries) < 1e-13] = 0
    level = max(2 * stats.norm.cdf(largest_t(of_queries.T, confidence)) - 1, confidence)
    t = stats.t.ppf((1 + level) / 2, degrees)
    for i, row in enumerate(values):
        m, error = slow([a - b for a, b in zip(row, values[found.best], strict=True)], ones)
        if abs(abs(m) - t * error) > 1e-9 or m == error == 0:
            assert (i in found.plateau) == (abs(m) <= t * error)
    assert found.best in found.plateau


def test_refused_arguments() -> None:
    with pytest.raises(ltr.LtrValueError, match="confidence must be a number between 0 and 1"):
        curve_of([[0, 1]], confidence=95)
    with pytest.raises(ltr.LtrValueError, match="at least two queries that mrr is defined for.*round 1 has 1 of 3. "):
        curve_of([[0, 1, 1], [0, NAN, NAN]])
    with pytest.raises(ltr.LtrValueError, match="round 0 has 1 of 2, not counting those of weight 0"):
        curve_of([[0, 1]], weight=[1, 0])


# -- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("has_clusters", [False, True])
def test_the_interval_is_that_of_intervals(is_weighted: bool, has_clusters: bool) -> None:
    rng = np.random.default_rng(2)
    grades, scores, weight = rng.integers(0, 2, 120), rng.random(120), rng.lognormal(size=40)
    weight[:3] = 0, 100, 1e-3
    options = {"query_weight": weight if is_weighted else None, "cluster": np.arange(40) // 3 if has_clusters else None}
    result = ltr.evaluate(grades, scores, group=[3] * 40, metrics="map", **options)  # some are undefined
    expected = ltr.intervals(result, confidence=0.9)["map"]
    found = mean_interval(result.per_query["map"], result.weight, 0.9, result.cluster, possible_values("map"))
    np.testing.assert_allclose(found, (expected.mean, expected.ci_low, expected.ci_high), rtol=1e-12)
    assert result.n_undefined["map"] > 0


# -- what it says -----------------------------------------------------------------------------------------------------


def test_the_curve_by_hand() -> None:
    rounds = [[0.5, 0.5, 0.2, 0.1, 0.2, 1], [0.5, 1.0, 1.0, 0.2, 0.2, 0.9], [0.5, 0.2, 0.4, 0.2, 0.4, 0.8]]
    found = curve_of(rounds, [1, 1, 1, 1, 1, 0])
    assert (found.n_queries, found.best) == (5, 1)
    assert len(str(found).splitlines()) == 2
    assert str(curve_of(rounds[:2])).splitlines()[2] == "the best round is the last: more rounds may be better yet"
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["rounds"] == [0, 1, 2]


def test_the_plateau_contains_the_round_that_is_truly_best() -> None:
    """The best of many rounds was chosen, so a t test of two rounds leaves the truly best one out too often."""
    rng, n_rounds, hits = np.random.default_rng(0), 20, 0
    for _ in range(100):
        values = rng.normal(0, 0.1, (n_rounds, 60))  # all are equally good: the first is as much the best as any
        hits += 0 in curve_of(values).plateau
    assert hits >= 90  # 95 are expected, and 86 with a t test of two rounds


def test_a_plateau_of_many_rounds_is_that_of_evenly_spaced_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.cumsum(np.random.default_rng(0).normal(0.001, 0.02, (60, 40)), axis=0)
    whole = curve_of(values).plateau
    monkeypatch.setattr(learning, "MOST_ROUNDS", 30)
    assert set(curve_of(values).plateau.tolist()) ^ set(whole.tolist()) <= set(range(60))
    assert abs(len(curve_of(values).plateau) - len(whole)) <= 3
