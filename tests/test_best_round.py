"""The round to keep and its plateau: against the formulas, written out query by query."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics.evaluation.log.rounds import BestRound, best_round
from ltr_metrics.evaluation.means import standard_error
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.integration

NAN = float("nan")


def choose(values: object, weight: object = None, rule: str = "max", confidence: float = 0.95) -> BestRound:
    weight = None if weight is None else np.array(weight, dtype=float)
    return best_round(np.array(values, dtype=float), weight, metric="mrr", rule=rule, confidence=confidence)


def slow(values: list[float], weight: list[float]) -> tuple[int, float, float]:
    """Return how many queries count, their weighted mean and its standard error."""
    pairs = [(w, x) for w, x in zip(weight, values, strict=True) if not math.isnan(x) and w > 0]
    n, total = len(pairs), math.fsum(w for w, _ in pairs)
    m = math.fsum(w * x for w, x in pairs) / total
    return n, m, math.sqrt(n / (n - 1) * math.fsum(w**2 * (x - m) ** 2 for w, x in pairs)) / total


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
def test_everything_follows_from_the_formulas(
    log: tuple[list[list[float]], list[float] | None], confidence: float
) -> None:
    values, weight = log
    ones = weight or [1.0] * len(values[0])
    found, one_se = choose(values, weight, "max", confidence), choose(values, weight, "one_se", confidence)
    means, errors = zip(*(slow(row, ones)[1:] for row in values), strict=True)
    np.testing.assert_allclose(found.curve, means, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-9, atol=1e-15)
    assert found.best == found.round == one_se.best == found.curve.tolist().index(max(found.curve.tolist()))
    limit = means[found.best] - errors[found.best]
    early = [i for i, m in enumerate(means) if m >= limit - 1e-12]
    sure = [i for i, m in enumerate(means) if m >= limit + 1e-12]
    assert early[0] <= one_se.round <= (sure or [found.best])[0]
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    for i, row in enumerate(values):
        _, m, error = slow([a - b for a, b in zip(row, values[found.best], strict=True)], ones)
        if abs(abs(m) - z * error) > 1e-12 or m == error == 0:
            assert (i in found.plateau) == (abs(m) <= z * error)
    assert found.best in found.plateau


def test_by_hand() -> None:
    values = [[0, 0, 0, 0], [0.5, 1, 0, 0.5], [1, 1, 0, 0.5], [1, 1, 0, 0.5], [0, 0.9, 0, 0]]
    found = choose(values, rule="one_se")
    assert (found.best, found.round, found.n_rounds) == (2, 1, 2)  # .625 +- .239, and .5
    assert found.standard_error[2] == pytest.approx(math.sqrt(((0.375**2) * 2 + 0.625**2 + 0.125**2) / 3) / 2)
    assert choose(values).n_rounds == 3
    # Round 0: differences 1, 1, 0, .5 have mean .625 and standard error .239, 2.6 of them; round 4:
    # 1, .1, 0, .5, .4 and .227.
    assert found.plateau.tolist() == [1, 2, 3, 4]
    assert choose(values, confidence=0.999).plateau.tolist() == [0, 1, 2, 3, 4]


def test_paired_rounds_differ_although_their_errors_overlap() -> None:
    level = np.random.default_rng(0).random(50)
    better = level + 0.01 + 0.001 * np.sin(np.arange(50))
    found = choose([level, better])
    assert found.curve[1] - found.curve[0] < found.standard_error.min()
    assert found.plateau.tolist() == [1]
    assert choose([level, better], rule="one_se").round == 0
    assert choose([level, level + 0.01]).plateau.tolist() == [1]  # the same gain everywhere, and no doubt of it


@pytest.mark.parametrize("scale", [1e-300, 0.1, 7, 1e300])
def test_the_scale_of_weights_is_no_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    values, weight = rng.random(30), rng.random(30)
    assert standard_error(values, scale * weight) == pytest.approx(standard_error(values, weight), rel=1e-12)
    equal = standard_error(values, np.full(30, scale))
    assert equal == pytest.approx(values.std(ddof=1) / math.sqrt(30), rel=1e-12)


def test_a_query_without_weight_or_value_counts_for_nothing() -> None:
    values = np.array([0.1, 0.9, 0.4, NAN, 0.7])
    assert standard_error(values, np.array([1.0, 2, 1, 5, 0])) == standard_error(values[:3], np.array([1.0, 2, 1]))
    assert math.isnan(standard_error(values[2:4], None))
    assert math.isnan(standard_error(values[:2], np.array([1.0, 0])))


def test_a_round_without_common_queries_does_not_differ_from_the_best() -> None:
    assert choose([[NAN, NAN, 0, 0.1], [1, 0.9, NAN, NAN], [0, 0.1, NAN, NAN]]).plateau.tolist() == [0, 1]


def test_printed_text_and_dict() -> None:
    found = choose([[0, 0.5, 1], [1, 0.5, 1], [1, 0.5, 1]], rule="one_se")
    assert str(found) == repr(found)
    assert str(found).splitlines() == [
        "mrr: keep 2 rounds (rule one_se: round 1, counted from 0), mean 0.8333 +- 0.1667",
        "3 of 3 rounds do not differ significantly from the best at 95% confidence, the first is 0, the last 2",
    ]
    kept = json.loads(json.dumps(found.to_dict()))
    assert kept["curve"] == found.curve.tolist()
    assert (kept["metric"], kept["round"], kept["n_rounds"], kept["best"], kept["plateau"]) == (
        "mrr",
        1,
        2,
        1,
        [0, 1, 2],
    )


def test_the_text_of_a_chosen_round_that_differs_from_the_best() -> None:
    """The rule uses the spread between queries, the plateau their differences."""
    level = np.array([0.1, 0.3, 0.6, 0.9])
    found = choose([level, level - 1, level + np.array([0.01, 0.02, 0.02, 0.01])], rule="one_se", confidence=0.999)
    assert (found.round, found.plateau.tolist()) == (0, [2])
    assert str(found).splitlines() == [
        "mrr: keep 1 round (rule one_se: round 0, counted from 0), mean 0.4750 +- 0.1750",
        "best: round 2, mean 0.4900 +- 0.1748",
        "1 of 3 rounds do not differ significantly from the best at 99.9% confidence, the first is 2, the last 2",
        "round 0 differs significantly from the best, compared query by query",
    ]


def test_arguments_that_are_refused() -> None:
    with pytest.raises(ltr.LtrValueError, match=r"rule must be one of 'max', 'one_se'; got 'first'"):
        choose([[0, 1]], rule="first")
    for confidence in (0, 1, 95, NAN, "high", True):
        with pytest.raises(ltr.LtrValueError, match="confidence must be a number between 0 and 1"):
            choose([[0, 1]], confidence=confidence)  # type: ignore[arg-type]
    with pytest.raises(ltr.LtrValueError, match="at least two queries that mrr is defined for.*round 1 has 1 of 3. "):
        choose([[0, 1, 1], [0, NAN, NAN]])
    with pytest.raises(ltr.LtrValueError, match="round 0 has 1 of 2, not counting those of weight 0"):
        choose([[0, 1]], weight=[1, 0])


def test_the_logs_best_round_is_that_of_its_means() -> None:
    class Host:
        pass

    rng, data, log = np.random.default_rng(3), Host(), ltr.PerQueryLog()
    _, y, qid = ltr.make_ranking(n_queries=40, documents=8, random_state=0)
    queries, request = ltr.Queries(y, qid=qid, query_weight=rng.random(40)), resolve(["ndcg@5", "mrr"])
    results = [queries.evaluate_request(y + rng.normal(0, 3 / (i + 1), len(y)), request) for i in range(6)]
    for result in results:
        log.record(data, result, request, name="check")
    found = log.best_round("check", "ndcg@5", "one_se", 0.9)
    assert found.metric == "ndcg_exp@5"
    assert found.confidence == 0.9
    assert found.curve.tolist() == [result["ndcg@5"] for result in results]
    np.testing.assert_array_equal(
        found.standard_error, [standard_error(r.per_query["ndcg@5"], queries.weight) for r in results]
    )
    assert log.best_round(data, ltr.MRR()).metric == "mrr"
    with pytest.raises(ltr.LtrError, match="'map' was not evaluated"):
        log.best_round(data, "map")
