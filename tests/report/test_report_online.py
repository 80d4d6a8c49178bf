"""What a report says of simulated users: the numbers of `simulate`, in every rendering."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from made_report import online_report
from test_html import Page
from test_report import FORMATS

import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, Outcome, simulate
from ltr_metrics.report import Report, as_html, summarize
from ltr_metrics.report.online import Online

pytestmark = pytest.mark.integration

USERS = ClickModel.informational(grades=5)
WEIGHTS = {"bm25": 0.7, "new": 0.3, "worse": 1.3}
PPM = {"method": "ppm", "clicks": USERS, "impressions": 3000}
MATRIX, PAIRS = "Online preference (simulated)", "Online preference by pair"


@pytest.fixture(scope="module")
def report() -> Report:
    return online_report(WEIGHTS, **PPM)


def online(report: Report) -> Online:
    assert report.online is not None
    return report.online


@pytest.mark.parametrize("options", [{"method": "team_draft", "length": 3, "ties": "stable", "random_state": 7}])
def test_the_outcome_is_that_of_simulate(options: dict[str, Any]) -> None:
    found = online_report(WEIGHTS, **PPM | options)
    X, y, qid = ltr.make_ranking(n_queries=60, documents=8, n_features=3, random_state=0)
    scores = {name: X[:, 0] + weight * X[:, 2] for name, weight in WEIGHTS.items()}
    expected = simulate(ltr.Queries(y, qid=qid), scores, **{"ties": "random"} | PPM | options)
    np.testing.assert_array_equal(online(found).outcome.wins, expected.wins)
    plain = found.to_dict()["online"]
    assert plain["outcome"] == expected.to_dict()
    assert plain["options"]["random_state"] == options.get("random_state", 0)
    assert plain["options"]["clicks"]["click"] == [0.4, 0.6, 0.7, 0.8, 0.9]


def test_the_order_of_the_rows_gives_no_model_an_advantage() -> None:
    queries = ltr.Queries(np.tile([4, 3, 2, 1, 0, 0, 0, 0, 0, 0], 50), group=[10] * 50)
    scores = {"flat": np.zeros(500), "random": np.random.default_rng(0).random(500)}
    options = {"method": "team_draft", "clicks": ClickModel.perfect(5), "length": 3}
    drawn = online(summarize(queries, scores, "map", online=options)).outcome.preference[0, 1]
    stable = online(summarize(queries, scores, "map", online=options | {"ties": "stable"})).outcome.preference[0, 1]
    assert abs(drawn - 0.5) < 0.1
    assert stable > 0.7


@pytest.mark.parametrize(
    ("wins", "means", "words"),
    [
        ((3, 2, 1), (0.4, 0.5, 0.6), ["disagree", "disagree", "disagree"]),
        ((3, 2, 1), (0.5, 0.4, 0.4), ["agree", "agree", "one tied"]),
        ((2, 2, 1), (0.4, 0.5, 0.3), ["one tied", "agree", "agree"]),
        ((2, 2, 1), (0.4, 0.4 + 1e-17, 0.5), ["agree", "disagree", "disagree"]),
        ((3, 2, 1), (0.6, np.nan, 0.4), ["-", "agree", "-"]),
    ],
)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_clicks_and_metric_agree_pair_by_pair(
    wins: tuple[int, ...], means: tuple[float, ...], words: list[str], higher_is_better: bool
) -> None:
    evaluations = {}
    for model, mean in zip("abc", means, strict=True):
        price = ltr.as_metric(lambda grades, _, mean=mean: None if np.isnan(mean) else mean, name="price", higher_is_better=higher_is_better)  # fmt: skip
        evaluations[model] = ltr.evaluate([1, 0], [1, 2], group=[2], metrics=[price])
    order = "abc" if higher_is_better else "cba"
    outcome = Outcome(models=list(order), method="ppm", credit_by_impression=np.repeat(np.eye(3), wins, axis=1))
    pairs = Online(outcome, PPM, evaluations).pairs
    found = {frozenset((pair["model"], pair["other"])): pair["agreement"] for pair in pairs}
    if higher_is_better:
        assert [found[frozenset(pair)] for pair in combinations("abc", 2)] == words
    differences = {(pair["model"], pair["other"]): pair["offline"] for pair in pairs}
    mean = dict(zip("abc", means, strict=True))
    for (one, other), difference in differences.items():
        np.testing.assert_allclose(difference, mean[one] - mean[other], atol=1e-16)


def expected_rows(report: Report) -> tuple[list[list[str]], list[list[str]]]:
    outcome, means = online(report).outcome, [one["map"] for one in report.evaluations.values()]
    matrix = [["model", "map", "credit", *WEIGHTS]]
    for i, name in enumerate(WEIGHTS):
        shares = ["-" if i == j else f"{outcome.preference[i, j]:.4f}" for j in range(len(WEIGHTS))]
        matrix.append([name, f"{means[i]:.4f}", f"{outcome.credit[i]:.4f}", *shares])
    pairs = []
    for row, pair in zip(outcome.to_pandas().itertuples(), online(report).pairs, strict=True):
        p, p_credit = ("<.0001" if one < 0.00005 else f"{one:.4f}" for one in (row.p_wins, row.p_credit))
        interval = f"[{row.win_share_low:.4f}, {row.win_share_high:.4f}]"
        counts = [f"{row.wins:,}/{row.ties:,}/{row.losses:,}", f"{row.win_share:.4f}", interval, p]
        offline = [f"{pair['offline']:+.4f}", pair["agreement"]]
        pairs.append([row.model, row.other, *counts, f"{row.credit_difference:+.4f}", p_credit, *offline])
    return matrix, pairs


@FORMATS
def test_tables_show_the_numbers(report: Report, render: Any, parse: Any) -> None:
    matrix, pairs = expected_rows(report)
    text = render(report)
    assert parse(text, MATRIX) == matrix
    assert parse(text, PAIRS)[1:] == pairs


def test_the_page_shows_the_numbers(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltr_metrics.report.figures.figures_of", lambda report: [])
    page = Page(as_html(report))
    matrix, pairs = expected_rows(report)
    assert all(row in page.rows for row in [*matrix, *pairs])
    assert "#online" in page.all("href")


MISUSES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "unknown option": (PPM | {"impresions": 5}, [0, 1], "no option 'impresions'. Did you mean 'impressions'"),
    "grades": (PPM | {"clicks": ClickModel.perfect(3)}, [0, 3], "grades 0 to 2, but there is a document of grade 3"),
}


@pytest.mark.parametrize("case", MISUSES)
def test_misuses_are_refused_before_anything_is_evaluated(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ltr.Queries, "evaluate_request", lambda *_: pytest.fail("evaluated"))
    options, grades, message = MISUSES[case]
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        summarize(ltr.Queries(grades, group=[2]), {"a": [1, 2], "b": [2, 1]}, ["map"], online=options)


def test_all_models_must_rank_the_same_documents() -> None:
    scores = {"a": [1, 2, 3], "b": [3, 2, 1]}
    queries = {name: ltr.Queries([0, 1, 4], group=[3]) for name in scores}
    with pytest.raises(ltr.LtrValueError, match="its own Queries, like TREC runs. Pass the scores of all models"):
        summarize(queries, scores, "mrr", online=PPM)
    with pytest.raises(ltr.LtrTypeError, match="scores must map two or more names of models"):
        summarize(queries["a"], {"a": scores["a"]}, "mrr", online=PPM)
    assert summarize(dict.fromkeys(scores, queries["a"]), scores, "mrr", online=PPM).online is not None
