"""The difference between two conventions, taken apart."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.io import read_letor

PAIRS = [
    ("ndcg@5", "lightgbm", "sklearn"),
    ("ndcg@5", "letor", "catboost"),
    ("ndcg", "xgboost", "trec_eval"),
    ("map", "letor", "lightgbm"),
    ("precision@5", "trec_eval", "ranklib"),
]


def rows(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 200
    return {
        "y_true": rng.choice(3, n, p=[0.8, 0.1, 0.1]),
        "y_score": rng.integers(0, 9, n),
        "qid": np.sort(rng.integers(0, 30, n)),
        "docid": rng.permutation(n).astype(str),
        "query_weight": rng.random(30),
    }


def by_hand(metric: ltr.Metric, choices: dict[str, object], data: dict[str, np.ndarray]) -> float:
    policy = {name: choices[name] for name in ("ties", "no_relevant")}
    as_one = "weighs_undefined_as_one"
    made = type(metric)(**{name: value for name, value in choices.items() if name not in {*policy, as_one}})
    result = ltr.evaluate(**data, metrics=[made], **policy)
    if not choices.get(as_one):
        return result.mean[made]
    undefined = np.isnan(ltr.evaluate(**data, metrics=[made]).per_query[made])
    weight = np.asarray(data["query_weight"])
    return np.where(undefined, policy["no_relevant"], weight * result.per_query[made]).sum() / weight.sum()


@pytest.mark.parametrize(("metric", "a", "b"), PAIRS)
def test_parts_are_the_average_over_all_orders_of_switching(metric: str, a: str, b: str) -> None:
    data = rows()
    data["query_weight"] = data["query_weight"][: len(np.unique(data["qid"]))]
    result = ltr.explain_difference(**data, metric=metric, a=a, b=b)
    assert result.value_a == ltr.evaluate(**data, metrics=metric, convention=a)[metric]
    assert result.value_b == ltr.evaluate(**data, metrics=metric, convention=b)[metric]
    assert result.difference == result.value_b - result.value_a != 0
    assert math.fsum(result.parts.values()) == pytest.approx(result.difference, abs=1e-14)
    assert list(result.parts) == list(result.toggles) == list(result.fields)

    in_a = ltr.metric(result.metric_a)
    start = dataclasses.asdict(in_a) | {
        "ties": ltr.CONVENTIONS[a].ties,
        "no_relevant": result.fields.get("no_relevant", [ltr.CONVENTIONS[a].no_relevant])[0],
        "weighs_undefined_as_one": result.fields.get("weighs_undefined_as_one", [False])[0],
    }

    @functools.cache
    def switched(names: frozenset[str]) -> float:
        return by_hand(in_a, start | {name: result.fields[name][1] for name in names}, data)

    orders = list(itertools.permutations(result.fields))
    shares = dict.fromkeys(result.fields, 0.0)
    for order in orders:
        for i, name in enumerate(order):
            after, before = switched(frozenset(order[: i + 1])), switched(frozenset(order[:i]))
            shares[name] += (after - before) / len(orders)
    assert [switched(frozenset()), switched(frozenset(result.fields))] == pytest.approx(
        [result.value_a, result.value_b], abs=1e-14
    )
    assert shares == pytest.approx(result.parts, abs=1e-12)
    for name, toggle in result.toggles.items():
        assert toggle == pytest.approx(switched(frozenset([name])) - result.value_a, abs=1e-14)


FOUR = [
    ("letor", "trec_eval", 0.1623, 0.4052, "short"),
    ("letor", "lightgbm", 0.1623, 0.6791, "no_relevant"),
    ("gdeval", "lightgbm", 0.5540, 0.6791, "no_relevant"),
]


@pytest.mark.parametrize(("a", "b", "value_a", "value_b", "largest"), FOUR)
def test_the_four_ndcg_at_10_of_one_ranking(
    data: Path, a: str, b: str, value_a: float, value_b: float, largest: str
) -> None:
    """BM25 (feature 25) on all of MQ2008, ties in file order."""
    X, y, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    result = ltr.explain_difference(y, X[:, 24], qid=qid, metric="ndcg@10", a=a, b=b, ties="stable")
    assert (result.value_a, result.value_b) == pytest.approx((value_a, value_b), abs=5e-5)
    assert max(result.parts, key=lambda name: abs(result.parts[name])) == largest


def test_without_ties_no_document_ids_are_needed() -> None:
    options = {"group": [3], "metric": "ndcg", "a": "lightgbm", "b": "trec_eval"}
    assert "ties" not in ltr.explain_difference([2, 0, 1], [3, 2, 1], **options).parts
    with pytest.raises(ltr.LtrValueError, match='needs document ids.*docid=.*ties="stable"'):
        ltr.explain_difference([2, 0, 1], [3, 2, 2], **options)


def test_a_convention_of_ones_own_and_a_metric_object() -> None:
    mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", no_relevant="skip")
    y, s, group = [1, 0, 0, 0], [1, 2, 3, 4], [2, 2]
    result = ltr.explain_difference(y, s, group=group, metric="ndcg", a="lightgbm", b=mine)
    assert (result.a, result.b) == ("lightgbm", "mine")
    assert result.parts == {"no_relevant": result.difference}
    of_object = ltr.explain_difference(y, s, group=group, metric=ltr.NDCG(), a="lightgbm", b="sklearn")
    assert set(of_object.fields) == {"ties", "no_relevant"}


def test_where_nothing_differs_and_where_it_makes_no_difference() -> None:
    y, s, group = [1, 0], [2, 1], [2]
    same = ltr.explain_difference(y, s, group=group, metric="ndcg@3", a="lightgbm", b="lightgbm")
    assert (same.difference, same.parts) == (0, {})
    assert same.sentence.endswith("the two agree in every field that it depends on.")
    unmoved = ltr.explain_difference(y, s, group=group, metric="ndcg@3", a="lightgbm", b="sklearn")
    assert set(unmoved.parts.values()) == {0.0}
    assert unmoved.sentence.endswith("the two differ in gain, ties, no_relevant, but not on these data.")
    graded = ltr.explain_difference([2, 1, 0, 1], [1, 2, 3, 4], group=[4], metric="ndcg@3", a="lightgbm", b="sklearn")
    assert [part == 0 for part in graded.parts.values()] == [False, True, True]
    assert "; the whole difference of +0.1160 comes from gain: exp in lightgbm, linear in sklearn." in graded.sentence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": ["ndcg", "map"]}, "takes one metric"),
        ({"metric": "ndcg,map"}, "metric takes one metric, by name or as an object. Got 'ndcg,map'"),
        ({"metric": "err"}, "not a metric of lightgbm"),
        ({"b": "treceval"}, "no convention 'treceval'"),
        ({"y_true": [0, 0], "no_relevant": "skip"}, "has no mean on these data"),
    ],
)
def test_what_cannot_be_explained(options: dict[str, object], message: str) -> None:
    call = {"y_true": [1, 0], "y_score": [1, 2], "group": [2], "metric": "ndcg", "a": "lightgbm", "b": "sklearn"}
    with pytest.raises(ltr.LtrError, match=message):
        ltr.explain_difference(**call | options)
