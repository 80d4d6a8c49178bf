"""What many impressions add up to, against plain loops and SciPy; the picture of the error."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError
from ltr_metrics.interleaving.outcome import Outcome


def outcome_of(credit: object, method: str = "ppm", **options: object) -> Outcome:
    credit = np.array(credit, dtype=float)
    return Outcome(["a", "b", "c", "d", "e"][: len(credit)], method, credit, **options)


def known(n_impressions: int, n_rankers: int = 2, seed: int = 0) -> np.ndarray:
    """Return whole-numbered credit with many ties, of which the first rankers have a little more."""
    rng = np.random.default_rng(seed)
    return rng.poisson(np.linspace(0.8, 0.5, n_rankers)[:, None], (n_rankers, n_impressions)).astype(float)


# -- outcome ----------------------------------------------------------------------------------------------------------


def test_three_models_by_hand() -> None:
    outcome = outcome_of([[2, 0, 1, 1], [1, 0, 1, 3], [0, 1, 1, 1]])
    assert outcome.n_impressions == 4
    assert outcome.wins.tolist() == [[0, 1, 1], [1, 0, 2], [1, 1, 0]]
    assert outcome.ties.tolist() == [[4, 2, 2], [2, 4, 1], [2, 1, 4]]
    assert outcome.preference.tolist() == [[0.5, 0.5, 0.5], [0.5, 0.5, 0.625], [0.5, 0.375, 0.5]]
    assert outcome.credit.tolist() == [1.0, 1.25, 0.75]
    assert (outcome.preference + outcome.preference.T).tolist() == [[1.0] * 3] * 3
    # pairs: a-b tied, a-c tied, b-c won. Offline a > b > c: two halves of three
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}) == pytest.approx(1 / 3)
    assert outcome.error(truth={"a": 1, "b": 1, "c": 1}) == pytest.approx(1 / 6)  # b-c alone is decided
    assert outcome.error(truth={"a": 1, "b": 1, "c": 2}) == pytest.approx((0 + 0.5 + 1) / 3)
    # by credit: b 5, a 4, c 3
    assert outcome.error(truth={"a": 2, "b": 3, "c": 1}, by="credit") == 0
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}, by="credit") == pytest.approx(1 / 3)
    assert outcome.error(truth={"a": 2, "b": 1, "c": 3}, by="credit") == 1


def sign(x: float) -> float:
    return float(np.sign(x))


CREDITS = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from([1 / 3, 0.1 + 0.2, 0.3, 1 - 2 / 3, 1e12, 1e12 + 1, 1e12 + 1e5, 1e-10, -1e-10]),
)


@examples(50)
@given(
    st.tuples(st.integers(2, 4), st.integers(1, 30)).flatmap(
        lambda shape: st.lists(
            st.lists(CREDITS, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )
    ),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_wins_and_errors_are_a_plain_loop(rows: list[list[float]], grades: list[int]) -> None:
    outcome = outcome_of(rows)
    disagreed = []
    truth = dict(zip(outcome.models, map(float, grades), strict=False))
    for i, j in itertools.combinations(range(len(rows)), 2):
        signs = [
            0 if abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)) else sign(a - b)
            for a, b in zip(rows[i], rows[j], strict=True)
        ]
        assert (outcome.wins[i, j], outcome.wins[j, i]) == (signs.count(1), signs.count(-1))
        disagreed.append(abs(sign(sum(signs)) - sign(grades[i] - grades[j])) / 2)
    assert outcome.error(truth=truth) == pytest.approx(np.mean(disagreed))
    assert outcome.credit == pytest.approx([math.fsum(row) / len(row) for row in rows])


def test_credit_that_is_one_but_for_rounding_is_tied() -> None:
    a = [0.1, 0.2, 0.3, 1 / 3, 1 / 3, 1 / 3, 0.0]
    b = [0.3, 0.1, 0.2, 0.0, 0.0, 0.0, 1.0]
    outcome = outcome_of([a, b])
    assert outcome.error(truth={"a": 0, "b": 0}, by="credit") == 0
    assert outcome.to_pandas()["credit_difference"].item() == 0
    third = 1 / 3  # offline means, too
    assert outcome.error(truth={"a": third + 0.3, "b": 0.3 + third * (1 + 1e-15)}, by="credit") == 0


def test_the_metric_is_asked_of_the_offline_side() -> None:
    asked = []

    def offline(metric: object) -> dict[str, float]:
        asked.append(metric)
        return {"b": 0.4, "a": 0.6}

    outcome = outcome_of([[1, 1, 0], [0, 0, 0]], offline=offline)
    assert outcome.error("ndcg_lin@10") == 0
    assert asked == ["ndcg_lin@10"]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (LtrTypeError, {}, "Pass exactly one of metric and truth"),
        (LtrTypeError, {"metric": "map", "truth": {"a": 1, "b": 2}}, "Pass exactly one of metric and truth"),
        (LtrValueError, {"metric": "map"}, r"no labels, so map cannot be computed\. Pass truth="),
        (LtrValueError, {"truth": {"a": 1}}, "finite number"),
        (LtrValueError, {"truth": {"a": 1, "b": math.nan}}, "finite number"),
        (LtrKeyError, {"truth": {"a": 1, "B": 2}}, "truth has 'B', .*Did you mean 'b'"),
        (LtrTypeError, {"truth": [1, 2]}, "must map each model"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "by": "clicks"}, "by must be one of"),
    ],
)
def test_what_an_error_cannot_be_of(kind: type[Exception], options: dict[str, object], message: str) -> None:
    with pytest.raises(kind, match=message):
        outcome_of(known(30)).error(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("models", [["a"], ["a", "b", "c"], ["a", "a"], ["a", 1]])
def test_a_name_for_each_ranker(models: list[str]) -> None:
    with pytest.raises(LtrValueError, match="2 different names"):
        Outcome(models=models, method="ppm", credit_by_impression=known(3))


# -- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_statistics_are_those_of_scipy_on_the_raw_differences(confidence: float) -> None:
    credit = known(500, 3) * np.array([[1], [0.7], [1 / 3]])
    table = outcome_of(credit).to_pandas(confidence)
    assert table[["model", "other"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    for row, (i, j) in zip(table.itertuples(), itertools.combinations(range(3), 2), strict=True):
        difference = credit[i] - credit[j]
        difference[np.abs(difference) < 1e-9] = 0
        won, lost = int((difference > 0).sum()), int((difference < 0).sum())
        assert (row.impressions, row.wins, row.ties, row.losses) == (500, won, 500 - won - lost, lost)
        assert min(won, lost, 500 - won - lost) > 0
        assert row.preference == pytest.approx((won + (500 - won - lost) / 2) / 500)
        t = stats.ttest_1samp(difference, 0)
        interval = t.confidence_interval(confidence)
        assert row.credit_difference == pytest.approx(difference.mean(), rel=1e-12)
        assert row.p_credit == pytest.approx(t.pvalue, rel=1e-9)
        assert row.p_credit == pytest.approx(stats.ttest_rel(credit[i], credit[j]).pvalue, rel=1e-9)
        assert (row.credit_low, row.credit_high) == pytest.approx((interval.low, interval.high), rel=1e-9)
        # Clopper and Pearson by quantiles of the beta distribution, the sign test by its sum
        tail = (1 - confidence) / 2
        limits = stats.beta.ppf(tail, won, lost + 1), stats.beta.ppf(1 - tail, won + 1, lost)
        assert row.win_share == won / (won + lost)
        assert (row.win_share_low, row.win_share_high) == pytest.approx(limits, rel=1e-9)
        n, most = won + lost, max(won, lost)
        exact = min(1.0, 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2**n)
        assert row.p_wins == pytest.approx(exact, rel=1e-9)


def test_undefined_statistics_are_nan() -> None:
    def row(a: list[float], b: list[float]) -> dict[str, float]:
        return dict(outcome_of([a, b]).to_pandas().iloc[0])

    share, credit = (
        ["win_share", "win_share_low", "win_share_high", "p_wins"],
        ["credit_low", "credit_high", "p_credit"],
    )
    one = row([1], [0])
    assert np.isnan([one[name] for name in credit]).all()
    assert (one["win_share"], one["win_share_high"], one["p_wins"], one["credit_difference"]) == (1, 1, 1, 1)
    ties = row([1, 2, 3], [1, 2, 3])
    assert np.isnan([ties[name] for name in share + credit]).all()
    assert (ties["credit_difference"], ties["preference"], ties["ties"]) == (0, 0.5, 3)
    constant = row([0.1, 0.3, 0.8], [0.0, 0.2, 0.7])  # differences that vary by rounding alone
    assert len({0.1 - 0.0, 0.3 - 0.2, 0.8 - 0.7}) > 1
    assert np.isnan([constant[name] for name in credit]).all()
    assert constant["credit_difference"] == pytest.approx(0.1)
    assert constant["p_wins"] == 0.25
    some = row([1, 0, 0, 0], [0, 0, 0, 0])
    assert not np.isnan(list(some.values())[2:]).any()


@pytest.mark.slow
def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(7)
    found = []
    for _ in range(800):
        credit = rng.choice([0.0, 0.0, 1.0, 2.0, 5.0], (2, 400))
        found.append(outcome_of(credit).to_pandas().loc[0, ["p_wins", "p_credit", "credit_low", "credit_high"]])
    p_wins, p_credit, low, high = np.array(found, dtype=float).T
    assert abs((p_credit < 0.05).mean() - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 800)
    assert 0.02 < (p_wins < 0.05).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)  # exact, so not above
    assert stats.kstest(p_credit, "uniform").pvalue > 0.01
    assert abs(((low <= 0) & (high >= 0)).mean() - 0.95) < 3 * math.sqrt(0.05 * 0.95 / 800)


# -- as text and JSON -------------------------------------------------------------------------------------------------


def test_plain_for_json() -> None:
    outcome = outcome_of([[1, 1, 0], [0, 0, 0], [1, 1, 0]], "team_draft")
    found = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert (found["models"], found["method"], found["impressions"]) == (["a", "b", "c"], "team_draft", 3)
    for name in ("preference", "wins", "ties", "credit"):
        assert found[name] == getattr(outcome, name).tolist()
    table = outcome.to_pandas()
    assert [list(pair) for pair in found["pairs"]] == [list(table)] * 3
    assert found["pairs"][1]["p_wins"] is None  # a and c are one
    for pair, row in zip(found["pairs"], table.to_dict("records"), strict=True):
        assert {k: v for k, v in pair.items() if v is not None} == {k: v for k, v in row.items() if v == v}


def test_as_text() -> None:
    shown = str(outcome_of([[1, 1, 0, 1], [0, 0, 1, 1]], "ppm"))
    assert shown.splitlines()[1:] == [
        "          1       2",
        "1 a       -  0.6250",
        "2 b  0.3750       -",
    ]
    assert shown.startswith("ppm, 4 impressions. ")
    assert repr(outcome_of([[1], [0]])).startswith("ppm, 1 impression. ")
