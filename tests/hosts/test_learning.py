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
from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.evaluation.means import mean_interval
from ltr_metrics.logs.learning import LearningCurve, curve_of_values, lasting_losses

pytestmark = pytest.mark.integration

NAN = float("nan")


def curve_of(values: object, weight: object = None, confidence: float = 0.95) -> LearningCurve:
    table = np.array(values, dtype=float)
    qid = np.array([f"q{i}" for i in range(table.shape[1])])
    weight = None if weight is None else np.array(weight, dtype=float)
    return curve_of_values(table, weight, qid, metric="mrr", data="valid", confidence=confidence)


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
    t = stats.t.ppf((1 + confidence) / 2, degrees)
    for i, row in enumerate(values):
        m, error = slow([a - b for a, b in zip(row, values[found.best], strict=True)], ones)
        if abs(abs(m) - t * error) > 1e-12 or m == error == 0:
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
    expected = ltr.intervals(result, interval="t", confidence=0.9)["map"]
    found = mean_interval(result.per_query["map"], result.weight, 0.9, result.cluster)
    np.testing.assert_allclose(found, (expected.mean, expected.ci_low, expected.ci_high), rtol=1e-12)
    assert result.n_undefined["map"] > 0


# -- lasting losses ---------------------------------------------------------------------------------------------------


def slow_lasting(values: FloatArray, best: int) -> list[float]:
    """By definition: lower than at the best round in each round of the later half after it, or higher in each."""
    n, found = len(values), []
    tail = [r for r in range(best + 1, n) if r - best > (n - 1 - best) / 2] if best < n - 1 else []
    for q in range(values.shape[1]):
        lost = [values[best, q] - values[r, q] for r in tail]
        if lost and (all(v > 0 for v in lost) or all(v < 0 for v in lost)):
            found.append(min(lost, key=abs))
        else:
            found.append(0.0)
    return found


@given(st.data())
def test_lasting_losses_are_those_of_the_definition(data: st.DataObject) -> None:
    n, q = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    value = st.sampled_from([0.0, 0.25, 0.5, 1.0, NAN])
    values = np.array(data.draw(st.lists(st.lists(value, min_size=q, max_size=q), min_size=n, max_size=n)))
    values[:, np.isnan(values[0])] = NAN
    best = data.draw(st.integers(0, n - 1))
    assert lasting_losses(values, best).tolist() == slow_lasting(values, best)


def test_the_curve_by_hand() -> None:
    #  stays, dips and comes back, is lost for good, gained for good, flickers up, and is lost but has no weight
    rounds = [[0.5, 0.5, 0.2, 0.1, 0.2, 1], [0.5, 1.0, 1.0, 0.2, 0.2, 0.9], [0.5, 0.2, 0.4, 0.2, 0.4, 0.8]]
    rounds += [[0.5, 1.0, 0.4, 0.4, 0.2, 0.7], [0.5, 0.1, 0.7, 0.3, 0.4, 0.6]]
    found = curve_of(rounds, [1, 1, 1, 1, 1, 0])
    assert found.n_queries == 5
    assert found.best == 1
    assert found.overfit.tolist() == ["q2"]
    np.testing.assert_allclose(found.loss, [0.3])  # the later half are the last two rounds, of which the nearer has .7
    assert found.n_lasting_gains == 1
    assert " ".join(str(found).split()).endswith(
        "after the best round 1 queries have a lasting loss and 1 a lasting gain, largest losses: 'q2' (-0.3000)"
    )
    last = curve_of(rounds[:2])
    assert (last.overfit.tolist(), last.n_lasting_gains) == ([], 0)
    assert str(last).splitlines()[2] == "the best round is the last: more rounds may be better yet"
    sorted_by_loss = curve_of([[1, 1, 1, 0.1 + 0.2], [0.9, 0.5, 0.7, 0.3]])  # and rounding is not a loss
    assert sorted_by_loss.overfit.tolist() == ["q1", "q2", "q0"]
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["rounds"] == [0, 1, 2, 3, 4]
    assert plain["overfit"] == [{"qid": "q2", "loss": pytest.approx(0.3)}]
