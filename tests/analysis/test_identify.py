"""identify_convention against evaluations that are written out, live systems, and the four NDCG@10 of one ranking."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

OF_IDS = {"kaggle", "spark_mllib", "replay", "recbole", "rectools"}  # whose NDCG knows no grades, or which have no NDCG
METRICS = ("ndcg@10", "ndcg@3", "map", "map@5", "precision@5", "recall@10", "mrr", "err@10", "dcg@5", "f1@3", "hit@3")


def ranking(seed: int, binary: bool = False) -> dict[str, Any]:
    """Queries of 1 to 20 documents, some without a relevant one, with ties and document ids."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 21, int(rng.integers(8, 40)))
    n = int(sizes.sum())
    grades = rng.choice(5, n, p=[0.7, 0.3, 0, 0, 0] if binary else [0.5, 0.2, 0.15, 0.1, 0.05])
    grades[: sizes[0]] = 0
    docid = np.array([f"d{i:05}" for i in rng.permutation(n)])
    score = rng.integers(0, 12, n) / 4
    return {"y_true": grades, "y_score": score, "qid": np.repeat(np.arange(len(sizes)), sizes), "docid": docid}


@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.slow if n >= 30 else ()) for n in range(200)])
def test_the_system_that_gave_the_number_is_among_the_first(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    system = str(rng.choice(list(ltr.CONVENTIONS)))
    convention = ltr.CONVENTIONS[system]
    data = ranking(seed, binary=convention.rel == "binary")
    names = [name for name in METRICS if ltr.metric(name).NAME in convention.metrics]
    if "k" in convention.metrics.get("map", {}):  # it has no cutoff
        names.remove("map@5")
    if system == "catboost":
        names.remove("err@10")  # which takes probabilities for labels there
    metric = str(rng.choice(names))
    value = ltr.evaluate(**data, metrics=metric, convention=system)[metric]
    found = ltr.identify_convention(**data, metric=metric, value=value)
    exact = [one for one in found.candidates if one.changed is None and one.distance == 0]
    assert system in [name for one in exact for name in one.conventions]
    assert list(found.candidates[: len(exact)]) == exact
    printed = ltr.identify_convention(**data, metric=metric, value=f"{value:.4f}")
    unchanged = [one for one in printed.matches if one.changed is None]
    assert system in [name for one in unchanged for name in one.conventions]
    assert list(printed.candidates[: len(unchanged)]) == unchanged


CHANGES = [
    ("lightgbm", "ndcg@5", {"gain": "linear"}, {}),
    ("sklearn", "ndcg@5", {"discount": "jarvelin"}, {}),
    ("letor", "ndcg@5", {"short": "pad"}, {}),
    ("gdeval", "ndcg@3", {"ideal": "all"}, {}),
    ("default", "map@5", {"denominator": "hits"}, {}),
    ("trec_eval", "map", {"rel": 3}, {}),
    ("catboost", "precision@5", {"short": "pad"}, {}),
    ("default", "err@10", {"k": 20}, {}),
    ("gdeval", "err@10", {"max_grade": "query"}, {}),
    ("default", "rbp", {"graded": "label"}, {}),
    ("default", "pair_accuracy", {"average": "micro"}, {}),
    ("lightgbm", "ndcg@10", {}, {"ties": "worst"}),
    ("catboost", "ndcg@10", {}, {"no_relevant": 0.5}),
    ("default", "mrr", {}, {"no_relevant": 0.3, "ties": "best"}),  # two changes: no single one gives it
]


@pytest.mark.parametrize(("system", "metric", "parameters", "options"), CHANGES)
def test_a_changed_choice_is_named(
    system: str, metric: str, parameters: dict[str, Any], options: dict[str, Any]
) -> None:
    data = ranking(7)
    convention = ltr.CONVENTIONS[system]
    complete = next(iter(ltr.evaluate(**data, metrics=metric, convention=system).mean))
    changed = dataclasses.replace(ltr.metric(complete), **parameters)
    no_relevant = convention.metrics[changed.NAME].get("no_relevant", convention.no_relevant)
    policy = {"ties": convention.ties, "no_relevant": no_relevant} | options
    value = ltr.evaluate(**data, metrics=changed, **policy)[str(changed)]
    found = ltr.identify_convention(**data, metric=metric, value=value)
    named = [(name, one.changed, one.to) for one in found.matches for name in one.conventions]
    if len(parameters) + len(options) == 1:
        assert (system, *next(iter((parameters | options).items()))) in named
    else:
        assert named == []
        assert "none within the tolerance" in found.sentence


def test_without_ties_the_order_of_ties_is_no_choice() -> None:
    found = ltr.identify_convention([2, 0, 1], [3, 2, 1], group=[3], metric="ndcg", value=0.5)
    assert "trec_eval" in [name for one in found.candidates for name in one.conventions if one.changed is None]
    assert "ties" not in [one.changed for one in found.candidates]
    assert len(found.to_pandas()) == len(json.loads(json.dumps(found.to_dict()))["candidates"]) == len(found.candidates)
    assert set(found.refused) == OF_IDS


def test_the_sentence_names_the_nearest_changed_choice() -> None:
    call: dict[str, Any] = {"y_true": [2, 0, 1, 0, 0, 1, 2, 0], "y_score": [5, 4, 3, 2, 1, 3, 2, 1], "group": [5, 3]}
    found = ltr.identify_convention(**call, metric="ndcg@2", value="0.75")
    assert found.sentence.endswith("of no convention, but of catboost with k: 1 (2 more such matches).")


def test_digits_set_the_tolerance() -> None:
    call: dict[str, Any] = {"y_true": [2, 0, 1], "y_score": [3, 2, 1], "group": [3], "metric": "ndcg"}
    for value, tolerance in (("0.41", 5e-3), ("0.4100", 5e-5), (0.41, 5e-3), ("1e-3", 5e-4), (1, 0.5)):
        assert ltr.identify_convention(**call, value=value).tolerance == pytest.approx(tolerance)
    percent = ltr.evaluate([2, 0, 1], [3, 2, 1], group=[3], metrics="ndcg")["ndcg"] * 100
    assert "divide it by 100" in ltr.identify_convention(**call, value=f"{percent:.2f}").sentence


@pytest.mark.parametrize("ties", ["none", "across queries", "within queries"])
def test_all_rows_as_one_query_is_a_changed_choice(ties: str) -> None:
    from sklearn.metrics import ndcg_score

    data = ranking(3)
    if ties == "none":
        data["y_score"] = np.random.default_rng(0).normal(size=len(data["qid"]))
    elif ties == "across queries":
        data["y_score"] = np.concatenate([np.random.default_rng(n).permutation(n) for n in np.bincount(data["qid"])])
    value = ndcg_score([data["y_true"]], [data["y_score"]], k=10)
    found = ltr.identify_convention(**data, metric="ndcg@10", value=value)
    assert {(one.changed, one.to) for one in found.matches} == {("queries", "all rows as one")}
    assert "sklearn" in [name for one in found.matches for name in one.conventions]
    assert "queries: all rows as one" in str(found)


@pytest.mark.parametrize("convert", [np.float32, lambda value: float(np.float32(value))])
def test_float32_values_are_compared_at_their_precision(convert: Any) -> None:
    data = ranking(4)
    value = ltr.evaluate(**data, metrics="ndcg@10", convention="torchmetrics")["ndcg@10"]
    found = ltr.identify_convention(**data, metric="ndcg@10", value=convert(value * (1 + 4e-7)))
    assert "torchmetrics" in found.matches[0].conventions
    assert found.matches[0].changed is None
    assert found.tolerance == pytest.approx(1e-6 * value, rel=1e-3)


BAD = {
    "text": ({"value": "high"}, "value must be a finite number"),
    "NaN": ({"value": np.nan}, "value must be a finite number"),
    "several": ({"metric": ["ndcg"]}, "takes one metric"),
    "unknown": ({"metric": "ndgc"}, "No convention accepts 'ndgc'.*Did you mean 'ndcg'"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_identified(options: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"y_true": [2, 0, 1], "y_score": [3, 2, 1], "group": [3], "metric": "ndcg", "value": 0.5}
    with pytest.raises(ltr.LtrError, match=message):
        ltr.identify_convention(**call | options)


def test_documents_of_several_queries_may_have_one_id() -> None:
    data = {"y_true": [1, 0, 1, 0, 2], "y_score": [0.5, 0.5, 0.5, 0.5, 0.5], "qid": [1, 1, 2, 2, 3]}
    docid = ["a", "b", "a", "c", "b"]
    found = ltr.identify_convention(**data, docid=docid, metric="ndcg@10", value=0.5)
    whole = next(one for one in found.candidates if one.changed == "queries" and "trec_eval" in one.conventions)
    unique = ["a3", "b2", "a1", "c1", "b1"]  # the same order, and the earlier row first
    one_query = {"y_true": data["y_true"], "y_score": data["y_score"], "group": [5], "docid": unique}
    expected = ltr.evaluate(**one_query, metrics="ndcg@10", convention="trec_eval")
    assert whole.value == pytest.approx(expected["ndcg@10"], abs=1e-12)


def test_a_weight_of_0_leaves_out_the_systems_that_no_value_reproduces() -> None:
    """LightGBM adds an unweighted 1 for a query without a relevant document, also if its weight is 0."""
    y, s, weights = [1, 0, 0, 0], [1, 2, 2, 1], {"query_weight": [1, 0], "group": [2, 2]}
    expected = ltr.evaluate(y, s, metrics="ndcg@3", **weights)["ndcg@3"]
    found = ltr.identify_convention(y, s, metric="ndcg@3", value=expected, **weights)
    assert found.matches[0].conventions == ("default",)
    assert {"lightgbm", "xgboost"} <= found.refused.keys()
    assert "No value per query can reproduce this" in found.refused["lightgbm"]
