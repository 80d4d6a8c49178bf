"""Any ranker from the logs of interleaving: against the enumeration of all lists and all clicks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.counterfactual import evaluate_slates
from ltr_metrics.interleaving import ClickModel, Impression, Shown, write_impressions
from ltr_metrics.online.interleaving.methods import method_named

pytestmark = pytest.mark.filterwarnings(
    "ignore:The effective sample size", "ignore:One (query|cluster) contributes", "ignore:The method could not display"
)
RANKINGS = {"old": ["a", "b", "c", "d"], "new": ["b", "d", "a", "e"]}
SCORES = {"q": {"b": 5.0, "a": 4.0, "d": 3.0, "c": 2.0, "e": 1.0}}
TARGET = ["b", "a", "d"]
GRADE = {"a": 1, "b": 0, "c": 1, "d": 2, "e": 0}
METHODS = ["team_draft", "ppm", "balanced", "probabilistic"]
ESTIMATORS: list[Any] = ["standard", "interaction"]
CASCADE = ClickModel([0.2, 0.5, 0.9], [0.1, 0.4, 0.6])


def lists_of(method: str) -> list[tuple[list[str], float]]:
    """All lists of three documents, with their probabilities."""
    mixer = method_named(method)(list(RANKINGS.values()), 3)
    lists = [(list(one), mixer.probability(list(one))) for one in itertools.permutations(GRADE, 3)]
    assert sum(p for _, p in lists) == pytest.approx(1, rel=1e-9)
    return [(one, p) for one, p in lists if p > 0]


def clicks_on(documents: list[str]) -> list[tuple[list[int], float]]:
    """All clicks on a list, with their probabilities."""
    chances = oracle.click_chances(CASCADE, [GRADE[document] for document in documents])
    return [(list(clicks), float(chance)) for clicks, chance in chances.items()]


def whole_log(method: Any) -> tuple[list[Impression], np.ndarray]:
    """Every list with every click, and the probabilities of these impressions."""
    every = [(documents, p, *one) for documents, p in lists_of(method) for one in clicks_on(documents)]
    log = [Impression(RANKINGS, Shown(one), clicks, 3, "q", method) for one, _, clicks, _ in every]
    return log, np.array([p * p_clicks for _, p, _, p_clicks in every])


def expected_clicks(worth: tuple[float, ...] = (1, 1, 1)) -> float:
    return sum(p * sum(worth[slot] for slot in clicks) for clicks, p in clicks_on(TARGET))


@pytest.mark.parametrize("method", ["team_draft", "ppm", "probabilistic"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_expected_value_over_all_lists_and_clicks_is_the_truth(method: str, estimator: Any) -> None:
    log, probability = whole_log(method)
    assert probability.sum() == pytest.approx(1, rel=1e-9)
    result = evaluate_slates(log, SCORES, estimator=estimator, metrics=["cg", "cg@2", "dcg", "precision@2"])
    expected = [expected_clicks(w) for w in ((1, 1, 1), (1, 1, 0), (1, 1 / np.log2(3), 0.5), (0.5, 0.5, 0))]
    assert result.diagnostics.share_unseen == 0
    for values, truth in zip(result.per_query.values(), expected, strict=True):
        assert probability @ values == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_are_those_of_the_enumeration(method: str, estimator: Any) -> None:
    """By summing over all lists; also where the method cannot display the ranker's list."""
    lists = lists_of(method)
    options: Any = {"length": 3, "query": "q", "method": method}
    log = [Impression(RANKINGS, Shown(d), [0, 1, 2], **options) for d, _ in lists]
    result = evaluate_slates(log, SCORES, estimator=estimator)
    for (documents, _), value in zip(lists, result.per_query["cg"], strict=True):
        expected = 0.0
        for slot in range(3):
            part = slice(3) if estimator == "standard" else slice(slot + 1)
            if documents[part] == TARGET[part]:
                expected += 1 / sum(p for other, p in lists if other[part] == TARGET[part])
        assert value == pytest.approx(expected, rel=1e-9)


def drawn(n: int, seed: int) -> list[Impression]:
    rng, mixer = np.random.default_rng(seed), method_named("team_draft")(list(RANKINGS.values()), 3)
    log = []
    for _ in range(n):
        shown = mixer.mix(rng)
        clicks = CASCADE.clicks_on([GRADE[str(document)] for document in shown.documents], rng)
        log.append(Impression(RANKINGS, shown, clicks, length=3, query="q", method="team_draft"))
    return log


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_normalized_weights(estimator: Any) -> None:
    """By definition: by slot, the mean of the weighted clicks by that of the weights."""
    log, lists, expected = drawn(400, 0), lists_of("team_draft"), 0.0
    for slot in range(3):
        part = slice(3) if estimator == "standard" else slice(slot + 1)
        p = sum(q for other, q in lists if other[part] == TARGET[part])
        weight = np.array([(one.shown.documents[part] == TARGET[part]) / p for one in log])
        expected += (weight * [slot in one.clicks for one in log]).mean() / weight.mean()
    result = evaluate_slates(log, SCORES, estimator=estimator, normalize=True)
    assert result["cg"] == pytest.approx(expected, rel=1e-12)
    plain = evaluate_slates(log, SCORES, estimator=estimator)
    assert result.standard_error["cg"] < plain.standard_error["cg"]
    with pytest.raises(ltr.LtrValueError, match="normalized over all impressions.*3 of its 400"):
        result.subset([0, 1, 2])


def test_lists_of_unequal_length() -> None:
    """A slot that half of the impressions have counts with half of its weight."""
    short = {"old": ["a", "b"], "new": ["b", "a"]}
    pair = Impression(short, Shown(["a", "b"]), [0, 1], query="p", method="team_draft")
    long = Impression(
        {"old": ["a", "b", "c"], "new": ["a", "b", "c"]}, Shown(["a", "b", "c"]), [2], query="p", method="team_draft"
    )
    result = evaluate_slates([pair, long], {"p": {"a": 3, "b": 2, "c": 1}}, normalize=True)
    assert result["cg"] == pytest.approx(2 / 3 + 2 / 3 + 1 / 2)
    assert evaluate_slates([pair, long], {"p": {"a": 3, "b": 2, "c": 1}})["cg"] == pytest.approx((2 + 2 + 1) / 2)


def test_files_clusters_and_optimized_lists(tmp_path: Path) -> None:
    log = drawn(60, 0)
    write_impressions(tmp_path / "log.jsonl", log)
    one, other = evaluate_slates(log, SCORES), evaluate_slates(tmp_path / "log.jsonl", SCORES, cluster=[0, 1, 2] * 20)
    assert one["cg"] == other["cg"]
    assert one.standard_error["cg"] != other.standard_error["cg"]
    assert "estimate (interaction)" in str(one)


IMPRESSION = Impression(RANKINGS, Shown(["b", "a", "d"]), [0], length=3, query="q", method="team_draft")
NO_E = {"q": {"a": 1, "b": 2, "c": 3, "d": 4}}
REFUSED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "a missing score": ({}, NO_E, "'e': nan"),
    "tied scores": ({}, {"q": dict.fromkeys("abcde", 1)}, "without ties"),
    "no method": ({"method": None}, SCORES, "The method is needed"),
    "an impossible list": ({"shown": Shown(["e", "a", "d"])}, SCORES, "team_draft cannot display this list"),
    "no click that counts": ({"shown": Shown(["a", "b", "d"])}, SCORES, "no list with a click agrees"),
    "parts of an optimized list": ({"method": "optimized"}, SCORES, "optimized chooses whole lists"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_evaluated(name: str) -> None:
    changes, scores, message = REFUSED[name]
    with pytest.raises(ltr.LtrError, match=message):
        evaluate_slates([replace(IMPRESSION, **changes)], scores)
    with pytest.raises(ltr.LtrError, match="which have no columns"):
        evaluate_slates([IMPRESSION], SCORES, metrics="sum_of(x)")


@pytest.mark.filterwarnings("default:The method could not display")
def test_slots_that_the_method_cannot_display_give_a_warning() -> None:
    scores = {"q": {"b": 5.0, "e": 4.0, "d": 3.0, "c": 2.0, "a": 1.0}}
    with pytest.warns(ltr.LtrWarning, match=r"could not display 66.7 % of the ranker's slots"):
        evaluate_slates(drawn(200, 0), scores)


def test_ids_of_a_log_and_of_scores_are_the_same_if_they_have_one_text() -> None:
    rankings: dict[str, Any] = {"old": [7, 8], "new": ["8", "7"]}
    log = [Impression(rankings, Shown([8.0, "7"]), [0], query=query, method="ppm") for query in (1, "1")]
    for scores in ({"1": {"8": 2, "7": 1}}, {1: {8: 2, 7: 1}}, {1.0: {8: 2, "7": 1.0}}):
        assert evaluate_slates(log, scores)["cg"] > 0
    with pytest.raises(ltr.LtrValueError, match="ranker_scores has the ids 1 and '1', which cannot be told apart"):
        evaluate_slates(log, {1: {"8": 2, "7": 1}, "1": {"8": 1, "7": 2}})
    with pytest.raises(ltr.LtrValueError, match="needs a finite score for each document of the rankings of query None"):
        evaluate_slates([replace(log[0], query=None)], {"None": {"8": 2, "7": 1}})
