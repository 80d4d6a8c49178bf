"""What many impressions add up to, with and without clusters, against plain loops, enumeration and SciPy."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.limits import limits_of_mean
from ltr_metrics.interleaving import Outcome


def outcome_of(credit: Any, method: str = "ppm", **options: Any) -> Outcome:
    credit = np.array(credit, dtype=float)
    return Outcome(["a", "b", "c", "d", "e"][: len(credit)], method, credit, **options)


def pair(credit: Any, cluster: Any = None, confidence: float = 0.95) -> dict[str, Any]:
    return dict(outcome_of(credit, cluster=cluster).to_pandas(confidence).iloc[0])


def known(n_impressions: int, n_rankers: int = 2, seed: int = 0) -> np.ndarray:
    """Return whole-numbered credit with many ties, of which the first rankers have a little more."""
    rng = np.random.default_rng(seed)
    return rng.poisson(np.linspace(0.8, 0.5, n_rankers)[:, None], (n_rankers, n_impressions)).astype(float)


# -- sums and errors --------------------------------------------------------------------------------------------------


def test_three_models_by_hand() -> None:
    outcome = outcome_of([[2, 0, 1, 1], [1, 0, 1, 3], [0, 1, 1, 1]])
    assert outcome.n_impressions == 4
    assert outcome.wins.tolist() == [[0, 1, 1], [1, 0, 2], [1, 1, 0]]
    assert outcome.ties.tolist() == [[4, 2, 2], [2, 4, 1], [2, 1, 4]]
    assert outcome.preference.tolist() == [[0.5, 0.5, 0.5], [0.5, 0.5, 0.625], [0.5, 0.375, 0.5]]
    assert outcome.credit.tolist() == [1.0, 1.25, 0.75]
    # pairs: a-b tied, a-c tied, b-c won. Offline a > b > c: two halves of three
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}) == pytest.approx(1 / 3)
    assert outcome.error(truth={"a": 1, "b": 1, "c": 1}) == pytest.approx(1 / 6)  # b-c alone is decided
    # by credit: b 5, a 4, c 3
    assert outcome.error(truth={"a": 2, "b": 3, "c": 1}, by="credit") == 0
    assert outcome.error(truth={"a": 2, "b": 1, "c": 3}, by="credit") == 1


CREDITS = st.integers(-2, 2).map(float) | st.sampled_from(
    [1 / 3, 0.1 + 0.2, 0.3, 1 - 2 / 3, 1e12, 1e12 + 1, 1e12 + 1e5, 1e-10, -1e-10]
)


@examples(50)
@given(data=st.data(), n_rankers=st.integers(2, 4), n=st.integers(1, 30))
def test_wins_and_errors_are_a_plain_loop(data: st.DataObject, n_rankers: int, n: int) -> None:
    row = st.lists(CREDITS, min_size=n, max_size=n)
    rows = data.draw(st.lists(row, min_size=n_rankers, max_size=n_rankers))
    outcome = outcome_of(rows)
    truth = {name: float(data.draw(st.integers(0, 2))) for name in outcome.models}
    disagreed = []
    for i, j in itertools.combinations(range(n_rankers), 2):
        signs = [
            0 if abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)) else np.sign(a - b)
            for a, b in zip(rows[i], rows[j], strict=True)
        ]
        assert (outcome.wins[i, j], outcome.wins[j, i]) == (signs.count(1), signs.count(-1))
        offline = truth[outcome.models[i]] - truth[outcome.models[j]]
        disagreed.append(abs(np.sign(sum(signs)) - np.sign(offline)) / 2)
    assert outcome.error(truth=truth) == pytest.approx(np.mean(disagreed))
    assert outcome.credit == pytest.approx([math.fsum(one) / n for one in rows])


def test_credit_that_is_one_but_for_rounding_is_tied() -> None:
    outcome = outcome_of([[1 / 3, 1 / 3, 1 / 3, 0.0, 0.1, 0.2, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.3]])
    assert outcome.error(truth={"a": 0, "b": 0}, by="credit") == 0
    assert outcome.to_pandas()["credit_difference"].item() == 0
    third = 1 / 3  # offline means, too
    assert outcome.error(truth={"a": third + 0.3, "b": 0.3 + third * (1 + 1e-15)}, by="credit") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Pass exactly one of metric and truth"),
        ({"metric": "map"}, r"no labels, so map cannot be computed\. Pass truth="),
        ({"truth": {"a": 1}}, "each of the models a, b to a finite number"),
        ({"truth": {"a": 1, "b": math.nan}}, "finite number"),
    ],
)
def test_what_an_error_cannot_be_of(options: dict[str, Any], message: str) -> None:
    with pytest.raises((LtrValueError, LtrTypeError), match=message):
        outcome_of(known(30)).error(**options)


@pytest.mark.parametrize("models", [["a"], ["a", "a"]])
def test_a_name_for_each_ranker(models: list[Any]) -> None:
    with pytest.raises(LtrValueError, match="2 different names"):
        Outcome(models=models, method="ppm", credit_by_impression=known(3))
    with pytest.raises(LtrValueError, match="finite numbers"):
        outcome_of([[1, np.nan], [0, 0]])


# -- statistics of independent impressions ----------------------------------------------------------------------------


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
        interval = limits_of_mean(difference, np.ones(500), confidence)
        assert row.credit_difference == pytest.approx(difference.mean(), rel=1e-12)
        assert row.p_credit == pytest.approx(t.pvalue, rel=1e-9)
        assert (row.credit_low, row.credit_high) == pytest.approx((interval.low, interval.high), rel=1e-9)
        # Clopper and Pearson by quantiles of the beta distribution, the sign test by its sum
        tail = (1 - confidence) / 2
        limits = stats.beta.ppf(tail, won, lost + 1), stats.beta.ppf(1 - tail, won + 1, lost)
        assert row.win_share == won / (won + lost)
        assert (row.win_share_low, row.win_share_high) == pytest.approx(limits, rel=1e-9)
        n, most = won + lost, max(won, lost)
        exact = min(1.0, 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2**n)
        assert row.p_wins == pytest.approx(exact, rel=1e-9)


SHARE, CREDIT = ["win_share", "win_share_low", "win_share_high", "p_wins"], ["credit_low", "credit_high", "p_credit"]


def test_undefined_statistics_are_nan() -> None:
    one = pair([[1], [0]])
    assert np.isnan([one[name] for name in CREDIT]).all()
    assert (one["win_share"], one["win_share_high"], one["p_wins"], one["credit_difference"]) == (1, 1, 1, 1)
    ties = pair([[1, 2, 3], [1, 2, 3]])
    assert np.isnan([ties[name] for name in SHARE + CREDIT]).all()
    assert (ties["credit_difference"], ties["preference"], ties["ties"]) == (0, 0.5, 3)
    constant = pair([[0.1, 0.3, 0.8], [0.0, 0.2, 0.7]])  # differences that vary by rounding alone
    assert np.isnan([constant[name] for name in CREDIT]).all()
    assert constant["p_wins"] == 0.25


# -- clusters ---------------------------------------------------------------------------------------------------------


def test_clusters_against_enumeration_and_formulas() -> None:
    cluster = np.random.default_rng(1).permutation(np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6]))
    credit = np.random.default_rng(1).integers(0, 3, (2, len(cluster)))
    difference = credit[0] - credit[1]
    row = pair(credit, [f"user {one}" for one in cluster], 0.9)
    lead = np.bincount(cluster, weights=np.sign(difference))
    signs = 1 - 2 * ((np.arange(64)[:, np.newaxis] >> np.arange(6)) & 1)  # all swaps of six users
    assert row["p_wins"] == pytest.approx(np.mean(np.abs(signs @ lead) >= abs(lead.sum()) - 1e-9), rel=1e-12)
    sums, sizes = np.bincount(cluster, weights=difference - difference.mean()), np.bincount(cluster)
    error = np.sqrt(6 / 5 * (sums**2).sum()) / len(cluster)
    df = sizes.sum() ** 2 / (sizes**2).sum() - 1
    assert row["credit_difference"] == pytest.approx(difference.mean(), rel=1e-12)
    high = limits_of_mean(np.bincount(cluster, weights=difference) / sizes, sizes, 0.9).high
    assert row["credit_high"] == pytest.approx(high, rel=1e-9)
    assert high >= difference.mean() + stats.t.ppf(0.95, df) * error
    of_test = np.sqrt(5 / 6 * ((sums / (1 - sizes / len(cluster))) ** 2).sum()) / len(cluster)
    assert row["p_credit"] == pytest.approx(2 * stats.t.sf(abs(difference.mean()) / of_test, df), rel=1e-9)
    # Korn and Graubard's limits
    decided, won = difference != 0, difference > 0
    n, share = decided.sum(), won.sum() / decided.sum()
    weight = np.bincount(cluster, weights=decided.astype(float))
    residual = np.bincount(cluster, weights=won - share * decided)[weight > 0]
    units = len(residual)
    df = weight.sum() ** 2 / (weight**2).sum() - 1
    variance = units / (units - 1) * (residual**2).sum() / n**2
    effective = min(n, share * (1 - share) / variance * (stats.t.ppf(0.95, n - 1) / stats.t.ppf(0.95, df)) ** 2)
    low = stats.beta.ppf(0.05, share * effective, (1 - share) * effective + 1)
    assert (row["win_share"], row["win_share_low"]) == (share, pytest.approx(low, rel=1e-9))


def test_users_who_agree_and_a_single_one() -> None:
    credit = np.tile([[0.0], [1.0]], 12)
    row = pair(credit, np.arange(12) // 3)
    assert (row["win_share"], row["win_share_low"], row["p_wins"]) == (0.0, 0.0, 2 / 2**4)
    assert row["win_share_high"] == pytest.approx(1 - 0.025 ** (1 / 4))  # Clopper and Pearson's of four impressions
    assert np.isnan([row[name] for name in CREDIT]).all()
    one = pair(credit, np.zeros(12, dtype=int))
    assert np.isnan([one[name] for name in SHARE[1:] + CREDIT]).all()


def test_as_json() -> None:
    outcome = outcome_of([[1, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 1]], "team_draft")
    found = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert (found["models"], found["method"], found["impressions"]) == (["a", "b", "c"], "team_draft", 4)
    assert found["wins"] == outcome.wins.tolist()
    assert found["pairs"][1]["p_wins"] is None  # a and c are one
