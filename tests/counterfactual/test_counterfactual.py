"""Metrics from logged clicks: against the formula, by enumeration of all clicks, and in simulations."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics.counterfactual import ClickMetric, Propensities, estimate_propensities, evaluate
from ltr_metrics.interleaving import ClickModel

few = pytest.mark.filterwarnings("ignore:The effective sample size", "ignore:One (query|cluster) contributes")
pytestmark = few
THETA = 1 / np.arange(1.0, 11)
Document = dict[str, float]


def exp_gain(document: Document) -> float:
    return float(2.0 ** document["click"] - 1)


def log_discount(rank: int) -> float:
    return float(1 / np.log2(rank + 1))


# Each metric's cutoff, its gain of a clicked document, and its discount.
METRICS: dict[Any, tuple[int | None, Callable[[Document], float], Callable[[int], float]]] = {
    "dcg@2": (2, exp_gain, log_discount),
    "dcg_lin": (None, lambda document: document["click"], log_discount),
    "cg@2": (2, lambda document: document["click"], lambda rank: 1),
    "precision@2": (2, lambda document: 1 / 2, lambda rank: 1),
    "sum_of(revenue)@2": (2, lambda document: document["revenue"], lambda rank: 1),
    ltr.DCG(k=3, discount="jarvelin"): (3, exp_gain, lambda rank: 1 / np.log2(max(rank, 2))),
}


# -- the formula -----------------------------------------------------------------------------------


def value_of(name: Any, ranked: tuple[Document, ...]) -> float:
    """One query by the formula: documents best first, with click, weight and revenue."""
    cutoff, gain, discount = METRICS[name]
    clicked = [(rank, one) for rank, one in enumerate(ranked[:cutoff], start=1) if one["click"]]
    return float(sum(gain(one) * one["weight"] * discount(rank) for rank, one in clicked))


documents = st.fixed_dictionaries(
    {
        "click": st.sampled_from([0, 0, 1, 1, 2]),
        "propensity": st.sampled_from([1.0, 0.5, 0.3, 0.125]),
        "score": st.sampled_from([0.0, 1.0, 2.5]),
        "revenue": st.sampled_from([0.0, 1.0, 10.0]),
    }
)


@given(
    lists=st.lists(st.lists(documents, min_size=1, max_size=4), min_size=1, max_size=4),
    clip=st.sampled_from([None, 1, 2.5]),
)
def test_ips_is_the_formula_and_ties_are_averaged(lists: list[list[dict[str, Any]]], clip: float | None) -> None:
    rows = [document for one in lists for document in one]
    if not any(document["click"] for document in rows):
        rows[0]["click"] = 1
    for document in rows:
        document["weight"] = min(1 / document["propensity"], clip or np.inf)
    clicks, scores, propensity, revenue = (
        [d[key] for d in rows] for key in ("click", "score", "propensity", "revenue")
    )
    options: dict[str, Any] = {"group": list(map(len, lists)), "propensity": propensity, "clip": clip}
    result = evaluate(clicks, scores, **options, metrics=list(METRICS), columns={"revenue": revenue})
    for name in METRICS:
        for query, one in enumerate(lists):
            best_first = sorted((document["score"] for document in one), reverse=True)
            orders = [o for o in itertools.permutations(one) if [d["score"] for d in o] == best_first]
            expected = np.mean([value_of(name, order) for order in orders])
            assert result.per_query[name][query] == pytest.approx(expected, rel=1e-12, abs=1e-12)


ATTRACTION = np.array([0.9, 0.2, 0.6, 0.5])
NEW = np.array([0.1, 0.2, 0.3, 0.4])  # the scores of a model that reverses the list


def expected_value(examined: np.ndarray, metrics: str, **options: Any) -> float:
    """Return the mean of the estimate over all clicks on a list, by their probabilities.

    A second query has a click for certain, so that no outcome is without one.
    """
    total, chances = 0.0, examined * ATTRACTION
    for clicks in itertools.product([0, 1], repeat=4):
        result = evaluate([*clicks, 1], [*NEW, 0], qid=[1, 1, 1, 1, 2], metrics=metrics, **options)
        total += np.where(clicks, chances, 1 - chances).prod() * result.per_query[metrics][0]
    return total


@pytest.mark.parametrize("name", ["dcg@3", "cg@2", "precision@2"])
@pytest.mark.parametrize("options", [{}, {"estimator": "dr", "baseline": [0.7, 0.1, 0.3, 0.4, 0]}], ids=str)
def test_the_expected_value_over_all_clicks_is_the_truth(name: str, options: dict[str, Any]) -> None:
    truth = {"dcg@3": 0.5 + 0.6 / np.log2(3) + 0.2 / 2, "cg@2": 0.5 + 0.6, "precision@2": (0.5 + 0.6) / 2}
    found = expected_value(THETA[:4], name, propensity=[*THETA[:4], 1], **options)
    assert found == pytest.approx(truth[name], rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"estimator": "dr"}, {"estimator": "dr", "clip": 2}], ids=str)
def test_ratios_to_one_position_may_be_above_1(options: dict[str, Any]) -> None:
    """Users examine the second position more often than the first one, which has the propensity 1.

    The labels of the truth, the baseline and the limit of weights are relative to the first position.
    """
    examined = np.array([0.8, 1.0, 0.4, 0.2])
    at_first = ATTRACTION * examined[0]
    baseline = {"baseline": [*at_first, 0]} if options else {}
    log: dict[str, Any] = {"propensity": Propensities(examined / examined[0]), "position": [1, 2, 3, 4, 1]}
    truth = at_first[::-1] @ (1 / np.log2(np.arange(2, 6)))
    assert expected_value(examined, "dcg@10", **log, **options, **baseline) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_estimated_propensities_are_evaluated_whatever_they_are(estimator: str) -> None:
    rng = np.random.default_rng(0)
    impression, position = np.divmod(np.arange(6_000), 2)
    clicks = rng.random(6_000) < np.array([0.3, 0.33])[position]
    log: dict[str, Any] = {"position": position + 1, "qid": impression}
    table = estimate_propensities(clicks, **log, method="randomized")
    assert table.propensity[1] > 1
    scores, guess = rng.random(6_000), np.full(6_000, 0.3)
    options: dict[str, Any] = log | {"estimator": estimator, "baseline": guess if estimator == "dr" else None}
    result = evaluate(clicks, scores, propensity=table, **options)["dcg@10"]
    scaled = evaluate(clicks, scores, propensity=Propensities(table.propensity * 3), **options)["dcg@10"]
    assert scaled == pytest.approx(result / (1 if estimator == "snips" else 3), rel=1e-12)
    if estimator == "snips":  # its value needs all queries
        return
    queries = ltr.Queries(clicks, qid=impression, columns={"propensity": table.of_rows(position + 1), "guess": guess})
    one = ClickMetric(metric="dcg@10", estimator=estimator, baseline="guess" if estimator == "dr" else None)
    relative = dataclasses.replace(one, relative=True)
    assert queries.evaluate(scores, relative)[relative] == result
    with pytest.raises(ltr.LtrValueError, match=r"from 0 to 1: got 1\..*\(such rows: 3,000\).*relative=True"):
        queries.evaluate(scores, one)


# -- simulations -----------------------------------------------------------------------------------


def simulated(n: int, seed: int, **options: Any) -> tuple[dict[str, Any], float]:
    """Impressions of 40 lists of ten documents, by a live model that the new one resembles little.

    Returns the arguments of `evaluate`, and the DCG@10 that it estimates.
    """
    made, rng = np.random.default_rng(1), np.random.default_rng(seed)
    grade = made.integers(0, 5, (40, 10))
    score = grade + 3 * made.normal(size=grade.shape)
    attraction = np.array([0.05, 0.3, 0.5, 0.7, 0.95])
    query = rng.integers(0, 40, n)
    clicks = ClickModel.position_based(attraction, THETA).draw(grade[query].T, rng).T.astype(float)
    order = np.argsort(-score, axis=1)
    truth = (np.take_along_axis(attraction[grade], order, 1) / np.log2(np.arange(2, 12))).sum(axis=1).mean()
    log: dict[str, Any] = {"clicks": clicks.ravel(), "scores": score[query].ravel(), "group": [10] * n}
    log |= {"position": np.tile(np.arange(1, 11), n), "propensity": Propensities(THETA)} | options
    if options.get("estimator") == "dr":
        log["baseline"] = attraction[grade[query]].ravel()
    n_relevant = attraction[grade].sum(axis=1).mean()
    return log, float(truth / n_relevant if options.get("estimator") == "snips" else truth)


@pytest.mark.parametrize("options", [{}, {"estimator": "snips"}, {"estimator": "dr"}, {"estimator": "dr", "clip": 4}])
def test_estimates_are_within_two_standard_errors_of_the_truth(options: dict[str, Any]) -> None:
    log, truth = simulated(100_000, 3, **options)
    result = evaluate(**log)
    error = result.standard_error["dcg@10"]
    assert abs(result["dcg@10"] - truth) < 2 * error < 0.02 * truth


# -- results ---------------------------------------------------------------------------------------


def test_snips_is_a_ratio_of_sums_that_ignores_the_scale_of_propensities() -> None:
    """The standard error is that of the delta method, over the impressions with a click."""
    log, _ = simulated(500, 0)
    ips, total, snips = evaluate(**log), evaluate(**log, metrics="cg"), evaluate(**log, estimator="snips")
    naive = ltr.evaluate(log["clicks"], log["scores"], group=log["group"], metrics="dcg@10")
    for other in (snips, naive):
        with pytest.raises(ltr.LtrValueError, match="on the same data, with the same options"):
            ltr.compare({"a": ips, "b": other}, n_resamples=200)
    half = evaluate(**log | {"propensity": Propensities(THETA / 2)}, estimator="snips")
    assert half["dcg@10"] == pytest.approx(snips["dcg@10"], rel=1e-12)
    for part in (slice(None), range(100)):
        one, gain, divisor = (r if part == slice(None) else r.subset(part) for r in (snips, ips, total))
        assert one["dcg@10"] == pytest.approx(gain["dcg@10"] / divisor["cg"], rel=1e-12)
    with pytest.raises(ltr.LtrValueError, match="means are over clicks"):
        ltr.compare({"a": snips, "b": snips}, query_weight=np.ones(500), n_resamples=200)
    gain, divisor = ips.per_query["dcg_exp@10"], total.per_query["cg"]
    residual, n = gain - gain.sum() / divisor.sum() * divisor, np.count_nonzero(divisor)
    expected = np.sqrt(n / (n - 1) * (residual**2).sum()) / divisor.sum()
    assert snips.standard_error["dcg@10"] == pytest.approx(expected, rel=1e-12)
    assert snips.n_undefined["dcg@10"] == 500 - n


def test_standard_errors_of_clusters() -> None:
    """Each impression twice: as clusters of two, the standard error is that of the single ones."""
    log, _ = simulated(300, 0)
    twice = {name: np.tile(log[name], 2) for name in ("clicks", "scores", "position", "group")}
    twice["propensity"] = log["propensity"]
    naive, right = evaluate(**twice), evaluate(**twice, cluster=[*range(300), *range(300)])
    assert right.standard_error["dcg@10"] == pytest.approx(evaluate(**log).standard_error["dcg@10"], rel=1e-12)
    shares = [one.diagnostics.largest_share["dcg_exp@10"] for one in (naive, right)]
    assert shares[1] == pytest.approx(2 * shares[0])
    assert naive.standard_error["dcg@10"] < 0.75 * right.standard_error["dcg@10"]


def test_diagnostics() -> None:
    options: dict[str, Any] = {"group": [4], "propensity": [1, 0.5, 0.1, 0], "clip": 4}
    with pytest.warns(ltr.LtrWarning, match=r"effective sample size is 2.33 clicks, of 3"):
        result = evaluate([1, 1, 1, 0], [1, 2, 3, 4], **options)
    diagnostics = result.diagnostics
    assert (diagnostics.n_clicks, diagnostics.largest_weight) == (3, 4.0)
    assert diagnostics.effective_sample_size == pytest.approx(7**2 / 21)
    assert (diagnostics.share_clipped, diagnostics.share_unseen) == (1 / 3, 0.25)
    assert diagnostics.largest_share == {"dcg_exp@10": 1.0}
    assert len(result.to_dict()["diagnostics"]["warnings"]) == 2


def test_documents_that_the_new_model_does_not_return_count_as_clicks_of_the_log() -> None:
    log: dict[str, Any] = {"group": [3], "propensity": [1, 0.5, 0.25], "retrieved": [True, True, False]}
    result = evaluate([1, 0, 1], [1, 2, 3], **log, estimator="snips", metrics="cg")
    assert (result["cg"], result.diagnostics.n_clicks) == (pytest.approx(1 / 5), 2)


def test_documents_that_were_not_displayed_may_repeat_position_0() -> None:
    log: dict[str, Any] = {"qid": [7, 8, 7, 8, 7, 7], "position": [1, 1, 0, 2, 2, 0]}
    result = evaluate([1, 0, 0, 0, 1, 0], range(6), **log, propensity=TABLE, metrics="cg")
    assert result.per_query["cg"].tolist() == [3, 0]


def test_a_click_metric_is_a_metric_like_any_other() -> None:
    columns: dict[str, Any] = {"propensity": [1, 0.5, 0.2], "other": [1, 0.5, 0.4], "guess": [0.5, 0.5, 0.5]}
    metrics = [
        ClickMetric(metric="dcg@2", clip=3),
        ClickMetric(metric="dcg@1", clip=3),
        ClickMetric(metric="dcg@1", propensity="other"),
        ClickMetric(metric="cg", estimator="dr", baseline="guess"),
    ]
    result = ltr.evaluate([0, 1, 1], [1, 2, 3], group=[3], metrics=metrics, columns=columns)
    assert list(result.mean) == ["ips(dcg_exp@2,clip=3)", "ips(dcg_exp@1,clip=3)", "ips(dcg_exp@1)", "dr(cg)"]
    assert list(result.mean.values()) == pytest.approx([3 + 2 / np.log2(3), 3, 2.5, 7])


# -- refusals --------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"clicks": [1, 0, 1], "scores": [3, 2, 1], "group": [3], "propensity": [1, 0.5, 0.25]}
TABLE = Propensities([1, 0.5])
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "NDCG": ({"metrics": "ndcg@10"}, "ndcg_exp@10 cannot be estimated from clicks: it divides by a number"),
    "MRR": ({"metrics": "mrr"}, "its value at one document depends on the clicks on others"),
    "no sum": ({"metrics": "kendall"}, "not known to be a sum"),
    "a table alone": ({"propensity": TABLE}, "together with position=.*Got a Propensities and no position"),
    "positions from 0": (
        {"propensity": TABLE, "position": [0, 1, 2]}, "propensity above 0: it is 0 at .*Positions count from 1"
    ),
    "a search query as the impression": (
        {"propensity": TABLE, "position": [0, 2, 2]}, r"position 2 occurs again at row 2.*Pass impression ids as qid"
    ),
    "a weight as a propensity": ({"propensity": [1, 2, 4]}, "propensity must be a probability, from 0 to 1: got 2"),
    "scores first": ({"clicks": [-1.5, 0, 1]}, "clicks must be numbers of at least 0.*: got -1.5 at row 0.*swap"),
    "no click": ({"clicks": [0, 0, 0]}, "clicks has no click"),
    "a propensity as clip": ({"clip": 0.05}, "largest weight of a click, 1 / propensity.*Got 0.05"),
    "dr without a baseline": ({"estimator": "dr"}, "needs baseline"),
    "grades for dr": ({"clicks": [2, 0, 1], "estimator": "dr", "baseline": [0, 0, 0]}, "needs clicks of 0 and 1"),
    "a gain without a click": ({"metrics": ltr.DCG(gain=[1, 2])}, "gain of a document without a click must be 0"),
    "a column of the same name": (
        {"columns": {"propensity": [1, 1, 1]}}, "columns must not have the name 'propensity'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_estimated_is_refused(name: str) -> None:
    options, message = REFUSED[name]
    with pytest.raises(ltr.LtrError, match=message):
        evaluate(**GOOD | options)
