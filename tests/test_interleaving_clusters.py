"""Outcomes over clusters of impressions: users and queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics.analysis.inference.significance import ALWAYS_EXACT
from ltr_metrics.interleaving import Impression, Outcome, Shown, score, write_impressions

RANKINGS = {"old": ["a", "b"], "new": ["b", "a"]}


def impression(team: int | None, **fields: Any) -> Impression:
    """Return an impression whose only click, if any, is on a document of this team."""
    return Impression(RANKINGS, Shown(["a", "b"], teams=[0, 1]), [] if team is None else [team], **fields)


def outcome_of(credit: np.ndarray, cluster: np.ndarray | None) -> Outcome:
    """Return the outcome of credits, (rankers x impressions), whose clusters are collected in blocks of 7."""
    return Outcome(["old", "new"], "team_draft", credit, cluster=cluster)


def pair(outcome: Outcome, confidence: float = 0.95) -> dict[str, Any]:
    return dict(outcome.to_pandas(confidence).iloc[0])


def credits_of(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, (2, n)).astype(np.float64)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_of_one_impression_are_impressions(seed: int) -> None:
    n = ALWAYS_EXACT
    credit = credits_of(seed, n)
    single, plain = pair(outcome_of(credit, np.arange(n))), pair(outcome_of(credit, None))
    for name in ("wins", "ties", "losses", "preference", "win_share", "credit_difference", "credit_low", "p_credit"):
        assert single[name] == pytest.approx(plain[name], rel=1e-12), name
    assert single["p_wins"] == pytest.approx(plain["p_wins"], rel=1e-12)  # the sign test
    assert single["win_share_low"] == pytest.approx(plain["win_share_low"], abs=0.03)  # n - 1 instead of n
    assert single["n_clusters"] == n


@pytest.mark.parametrize("seed", range(5))
def test_the_test_flips_whole_clusters(seed: int) -> None:
    """All 2^6 swaps of six users, by enumeration."""
    cluster = np.random.default_rng(seed).permutation(np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6]))
    credit = credits_of(seed, len(cluster))
    lead = np.bincount(cluster, weights=np.sign(credit[0] - credit[1]))
    signs = 1 - 2 * ((np.arange(64)[:, np.newaxis] >> np.arange(6)) & 1)
    expected = np.mean(np.abs(signs @ lead) >= abs(lead.sum()) - 1e-9)
    assert pair(outcome_of(credit, cluster))["p_wins"] == pytest.approx(expected, rel=1e-12)


def test_credit_has_the_cluster_robust_standard_error() -> None:
    cluster = np.random.default_rng(1).integers(0, 12, 60)
    credit = credits_of(1, 60)
    difference = credit[0] - credit[1]
    sums = np.bincount(cluster, weights=difference - difference.mean())
    n = len(np.unique(cluster))
    error = np.sqrt(n / (n - 1) * (sums**2).sum()) / 60  # that of test_intervals.py, which is statsmodels'
    sizes = np.bincount(cluster)
    df = sizes.sum() ** 2 / (sizes**2).sum() - 1
    row = pair(outcome_of(credit, cluster), 0.9)
    assert row["credit_difference"] == pytest.approx(difference.mean(), rel=1e-12)
    assert row["credit_high"] == pytest.approx(difference.mean() + stats.t.ppf(0.95, df) * error, rel=1e-9)
    assert row["p_credit"] == pytest.approx(2 * stats.t.sf(abs(difference.mean()) / error, df), rel=1e-9)


def test_repeated_impressions_of_a_user_add_no_information() -> None:
    credit = credits_of(2, 15)
    once = pair(outcome_of(credit, np.arange(15)))
    repeated = pair(outcome_of(np.repeat(credit, 4, axis=1), np.repeat(np.arange(15), 4)))
    for name in ("win_share", "p_wins", "credit_low", "credit_high", "p_credit"):
        assert repeated[name] == pytest.approx(once[name], rel=1e-9), name
    assert repeated["win_share_low"] == pytest.approx(once["win_share_low"], abs=0.06)  # another ratio of quantiles
    naive = pair(outcome_of(np.repeat(credit, 4, axis=1), None))
    assert naive["win_share_high"] - naive["win_share_low"] < 0.7 * (once["win_share_high"] - once["win_share_low"])


def test_users_who_agree() -> None:
    credit = np.tile([[0.0], [1.0]], 12)
    row = pair(outcome_of(credit, np.arange(12) // 3))
    assert (row["win_share"], row["win_share_low"]) == (0.0, 0.0)
    assert row["win_share_high"] == pytest.approx(1 - 0.025 ** (1 / 4))  # Clopper and Pearson's of four impressions
    assert row["p_wins"] == 2 / 2**4
    assert np.isnan([row["credit_low"], row["p_credit"]]).all()
    one = pair(outcome_of(credit, np.zeros(12, dtype=int)))
    assert np.isnan([one["win_share_low"], one["p_wins"], one["credit_low"], one["p_credit"]]).all()
    tied = pair(outcome_of(np.ones((2, 6)), np.arange(6) // 2))
    assert np.isnan([tied["win_share"], tied["p_wins"]]).all()


def test_a_log_with_users(tmp_path: Path) -> None:
    teams = [0, 1, 1, None, 1, 0, 1, 1]
    log = [impression(team, user=f"u{n // 2}", query=n % 3, method="team_draft") for n, team in enumerate(teams)]
    write_impressions(tmp_path / "log.jsonl", log)
    assert Impression.from_json(log[3].to_json()) == log[3]
    by_user, by_query, plain = (
        score(tmp_path / "log.jsonl", "team_draft", cluster=cluster) for cluster in ("user", "query", None)
    )
    assert (by_user.n_clusters, by_query.n_clusters, plain.n_clusters) == (4, 3, None)
    assert by_user.wins.tolist() == plain.wins.tolist()
    assert by_user.to_dict()["pairs"][0]["n_clusters"] == 4
    assert "n_clusters" not in plain.to_pandas()
    stated = Outcome(by_user.models, "team_draft", by_user.credit_by_impression, cluster=np.arange(8) // 2)
    assert by_user.to_dict() == stated.to_dict()


def test_what_is_refused() -> None:
    log = [impression(0, user="u"), impression(1)]
    with pytest.raises(ltr.LtrValueError, match=r"impression 1.*must name its user"):
        score(log, "team_draft", cluster="user")
    with pytest.raises(ltr.LtrValueError, match="cluster must be"):
        score(log, "team_draft", cluster="session")  # type: ignore[arg-type]


@pytest.mark.slow
def test_intervals_over_users_cover_the_truth() -> None:
    """250 logs of 40 users with 1 to 9 impressions and tastes of their own; the error of a share is 1.4 percent."""
    rng, covered, naive, rejected = np.random.default_rng(0), 0, 0, 0
    for _ in range(250):
        cluster = np.repeat(np.arange(40), rng.integers(1, 10, 40))
        likes_old = rng.beta(1, 1, 40)[cluster]  # half of the clicks are on the old model's documents, in the mean
        won = (rng.random(len(cluster)) < likes_old).astype(np.float64)
        credit = np.array([won, 1 - won])
        row, plain = pair(outcome_of(credit, cluster)), pair(outcome_of(credit, None))
        covered += row["win_share_low"] <= 0.5 <= row["win_share_high"]
        rejected += row["p_wins"] <= 0.05
        naive += plain["win_share_low"] <= 0.5 <= plain["win_share_high"]
    assert covered / 250 > 0.9
    assert rejected / 250 < 0.1
    assert naive / 250 < 0.85
