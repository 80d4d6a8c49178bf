"""Learning curves: mean and interval against SciPy, losses that last against a loop over rounds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.evaluation.log.learning import LearningCurve, lasting_losses, learning_curve
from ltr_metrics.evaluation.means import mean_interval
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.integration

NAN = float("nan")


def curve_of(values: object, weight: object = None, confidence: float = 0.95) -> LearningCurve:
    table = np.array(values, dtype=float)
    qid = np.array([f"q{i}" for i in range(table.shape[1])])
    weight = None if weight is None else np.array(weight, dtype=float)
    return learning_curve(table, weight, qid, metric="mrr", data="valid", confidence=confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_the_interval_is_scipys(confidence: float) -> None:
    values = np.random.default_rng(0).random((5, 12))
    found = curve_of(values, confidence=confidence)
    for i, of_round in enumerate(values):
        low, high = stats.t.interval(confidence, 11, of_round.mean(), stats.sem(of_round))
        np.testing.assert_allclose((found.mean[i], found.low[i], found.high[i]), (of_round.mean(), low, high))
        np.testing.assert_allclose(mean_interval(of_round, None, confidence), (of_round.mean(), low, high))


def test_queries_that_are_left_out_or_weigh_nothing_do_not_count() -> None:
    whole = np.random.default_rng(1).random((4, 6))
    more = np.column_stack([whole, np.full(4, NAN), np.linspace(1, 0, 4)])
    found, same = curve_of(more, [1, 2, 3, 1, 2, 3, 5, 0]), curve_of(whole, [1, 2, 3, 1, 2, 3])
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(same, name))
    assert (found.n_queries, found.best) == (same.n_queries, same.best) == (6, same.best)
    assert found.overfit.tolist() == same.overfit.tolist()
    half = [v.high - v.mean for v in (mean_interval(whole[0], np.full(6, w), 0.9) for w in (1.0, 7.0))]
    assert half[0] == pytest.approx(half[1])


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


def test_no_interval_without_two_queries() -> None:
    one = mean_interval(np.array([0.5, NAN]), None, 0.95)
    assert one.mean == 0.5
    assert np.isnan(one[1:]).all()
    assert np.isnan(mean_interval(np.array([NAN]), None, 0.95)).all()
    with pytest.raises(ltr.LtrValueError, match="at least two queries that mrr is defined for"):
        curve_of([[0.5]])
    for confidence in (0, 1, 95, NAN, "high", True):
        with pytest.raises(ltr.LtrValueError, match="confidence must be a number between 0 and 1"):
            mean_interval(np.array([0.5, 1]), None, confidence)  # type: ignore[arg-type]


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
    rows = data.draw(st.lists(st.lists(value, min_size=q, max_size=q), min_size=n, max_size=n))
    values = np.array(rows)
    values[:, np.isnan(values[0])] = NAN
    best = data.draw(st.integers(0, n - 1))
    assert lasting_losses(values, best).tolist() == slow_lasting(values, best)


def test_by_hand() -> None:
    #        stays  dips, comes back  lost for good  gained for good  flickers up
    rounds = [[0.5, 0.5, 0.2, 0.1, 0.2], [0.5, 1.0, 1.0, 0.2, 0.2], [0.5, 0.2, 0.4, 0.2, 0.4]]
    found = curve_of([*rounds, [0.5, 1.0, 0.4, 0.4, 0.2], [0.5, 0.1, 0.7, 0.3, 0.4]])
    assert found.best == 1
    assert found.overfit.tolist() == ["q2"]
    np.testing.assert_allclose(found.loss, [0.3])  # the later half are the last two rounds, of which the nearer has .7
    assert found.n_lasting_gains == 1
    assert str(found).splitlines()[2] == (
        "after the best round 1 queries have a lasting loss and 1 a lasting gain, largest losses: 'q2' (-0.3000)"
    )
    last = curve_of(rounds[:2])
    assert (last.overfit.tolist(), last.n_lasting_gains) == ([], 0)
    assert str(last).splitlines()[2] == "the best round is the last: more rounds may be better yet"


def test_the_largest_loss_stands_first_and_rounding_is_none() -> None:
    found = curve_of([[1, 1, 1, 0.1 + 0.2], [0.9, 0.5, 0.7, 0.3]])
    assert found.overfit.tolist() == ["q1", "q2", "q0"]
    np.testing.assert_allclose(found.loss, [0.5, 0.3, 0.1])


def test_what_is_written_is_read() -> None:
    found = curve_of(np.random.default_rng(2).random((6, 9)))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["rounds"] == [0, 1, 2, 3, 4, 5]
    again = LearningCurve.from_dict({"model": "new", **plain})
    assert again.to_dict() == plain
    assert str(again) == str(found)


def test_the_log_gives_the_curve_of_its_values() -> None:
    class Host:
        pass

    rng, data, log = np.random.default_rng(3), Host(), ltr.PerQueryLog()
    _, y, qid = ltr.make_ranking(n_queries=40, documents=8, random_state=0)
    queries, request = ltr.Queries(y, qid=qid, query_weight=rng.random(40)), resolve(["ndcg@5", "mrr"])
    results: list[Any] = [queries.evaluate_request(y + rng.normal(0, 1 + i, len(y)), request) for i in range(5)]
    for result in results:
        log.record(data, result, request, name="check")
    found, best = log.learning_curve(data, "ndcg@5", 0.9), log.best_round("check", "ndcg@5", confidence=0.9)
    assert (found.metric, found.data, found.confidence, found.best) == ("ndcg_exp@5", "check", 0.9, best.best)
    assert found.mean.tolist() == [result["ndcg@5"] for result in results]
    assert found.plateau.tolist() == best.plateau.tolist()
    defined = queries.weight[~np.isnan(results[0].per_query["ndcg@5"])]  # type: ignore[index]
    assert found.n_queries == len(defined)
    degrees = defined.sum() ** 2 / (defined**2).sum() - 1  # of the effective number of queries
    np.testing.assert_allclose(found.high - found.mean, stats.t.ppf(0.95, degrees) * best.standard_error)
    assert set(found.overfit) <= set(log.changes("check", "ndcg@5", found.best, -1).worsened)
    with pytest.raises(ltr.LtrKeyError, match="'map' was not evaluated"):
        log.learning_curve(data, "map")
