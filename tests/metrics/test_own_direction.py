"""Metrics where lower is better, in comparisons, gates, saved results, audits and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, simulate
from ltr_metrics.report import as_html, summarize


def mean_rank(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    """Mean rank of the grades, where lower is better."""
    return float((grades * np.arange(1, len(grades) + 1)).sum() / grades.sum()) if grades.any() else None


RANK = ltr.as_metric(mean_rank, higher_is_better=False)
X, Y, QID = ltr.make_ranking(n_queries=60, random_state=0)
GOOD = X[:, 0] + X[:, 1]


@pytest.fixture(scope="module")
def comparison() -> ltr.Comparison:
    models = {"base": GOOD, "better": GOOD + X[:, 2], "upside down": -GOOD}
    return ltr.compare(models, Y, qid=QID, metrics=[RANK, "ndcg@10", "arp"], by=["de", "fr"] * 30, n_resamples=500)


def test_wins_are_queries_whose_value_falls(comparison: ltr.Comparison) -> None:
    row = comparison[RANK, "upside down"]
    difference = comparison.differences(RANK, "upside down")
    assert row.difference > 0 > comparison["ndcg@10", "upside down"].difference
    assert (row.wins, row.losses) == ((difference < 0).sum(), (difference > 0).sum())
    assert row.losses > 45
    assert not row.higher_is_better
    changes = comparison.changes(RANK, "upside down")
    assert (len(changes.improved), len(changes.worsened)) == (row.wins, row.losses)
    assert changes.worsened[0] == comparison.qid[np.nanargmax(difference)]
    assert "Lower is better for mean_rank" in str(comparison)
    of_package = comparison["arp", "upside down"]  # which has the same definition
    assert (of_package.wins, of_package.losses, of_package.higher_is_better) == (row.wins, row.losses, False)
    assert not comparison.by["de"].higher_is_better(RANK)


@pytest.mark.parametrize(
    "rule",
    ["mean_rank < 0.5", "mean_rank < 5%", "mean(mean_rank) < 8", "share(mean_rank > 1) < 20%", "arp < 0.5"],
)
def test_a_model_that_is_upside_down_fails_every_gate(comparison: ltr.Comparison, rule: str) -> None:
    assert not ltr.gate(comparison, f"upside down: {rule}").passed


def test_a_better_model_passes(comparison: ltr.Comparison) -> None:
    rules = ["mean_rank < 2", "mean_rank < 20%", "mean(mean_rank) < 30", "share(mean_rank > 20) < 10%"]
    assert ltr.gate(comparison, [f"better: {rule}" for rule in rules]).passed


@pytest.mark.parametrize(
    "rule",
    ["mean_rank > -0.5", "mean(mean_rank) > 3", "share(mean_rank > 0) > 5%"],
)
def test_a_rule_that_a_worse_model_would_pass_is_refused(comparison: ltr.Comparison, rule: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"A worse model would pass the rule .* lower is better. Set an upper"):
        ltr.gate(comparison, rule)


def test_a_saved_result_keeps_its_direction(tmp_path: Path) -> None:
    results = {name: ltr.evaluate(Y, score, qid=QID, metrics=[RANK]) for name, score in (("a", GOOD), ("b", -GOOD))}
    results["a"].save(tmp_path / "a.parquet")
    loaded = ltr.load_result(tmp_path / "a.parquet")
    assert loaded.lower_is_better == {"mean_rank"}
    row = ltr.compare({"a": loaded, "b": results["b"]}, n_resamples=500)["mean_rank"]
    assert row.losses > row.wins
    assert results["a"].subset(QID[:1]).lower_is_better == {"mean_rank"}
    other = ltr.evaluate(Y, GOOD, qid=QID, metrics=[ltr.as_metric(mean_rank)])
    with pytest.raises(
        ltr.LtrValueError, match="higher_is_better=True, but the other models with higher_is_better=False"
    ):
        ltr.compare({"a": loaded, "b": other})


def test_worst_orders_grades_and_gives_the_larger_value() -> None:
    audit = ltr.tie_audit([0, 1, 2, 0], [1, 1, 1, 0], group=[4], metrics=[RANK, "mrr"])
    ranks = audit["mean_rank"]
    assert (ranks.worst, ranks.best) == ((2 + 2 * 3) / 3, (2 * 1 + 2) / 3)
    assert ranks.worst > ranks.mean > ranks.best
    assert audit["mrr"].worst < audit["mrr"].mean < audit["mrr"].best
    assert ranks.n_open_queries == 1


def test_clicks_agree_with_a_metric_where_lower_is_better() -> None:
    models = {"worse": -GOOD, "better": GOOD}
    users = ClickModel.informational(int(Y.max()) + 1)
    outcome = simulate(Y, models, qid=QID, method="ppm", clicks=users, impressions=2000)
    reverse = replace(outcome, credit_by_impression=outcome.credit_by_impression[::-1])
    for metric in (RANK, "arp", ltr.ARP(), "ndcg@10"):
        assert outcome.error(metric) == outcome.error(metric, by="credit") == 0
        assert reverse.error(metric) == 1
    assert outcome.error(truth={"worse": 0, "better": 1}) == 0  # of which higher is better


def test_the_report_reads_better_and_worse() -> None:
    scores = {"base": GOOD, "upside down": -GOOD}
    settings = {"n_resamples": 500}
    queries = ltr.Queries(Y, qid=QID)
    report = summarize(queries, scores, [RANK, "ndcg@10"], baseline="base", comparing=settings)
    page = as_html(report)
    assert "lower is better" in page.lower()
    assert '<span class="worse">worse</span> in mean_rank and ndcg@10' in page
    assert page.count("▼ worse") == 2  # the mean rank is higher, and NDCG lower
