"""What to know of data and scores before one believes a number, and how much of it the order of equal scores decides."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Data, data, random_data

import ltr_metrics as ltr
from ltr_metrics.analysis.audit import audit
from ltr_metrics.counterfactual import ClickMetric

METRICS = ["ndcg@10", "mrr"]
TIED = ["ndcg@10", "map@3", "mrr", "p@1", "pair_accuracy"]


def facts_by_loop(made: Data, docid: list[str]) -> dict[str, Any]:
    ends = np.cumsum(made.group)
    of_query = [(made.y[end - n : end], docid[end - n : end]) for end, n in zip(ends, made.group, strict=True)]
    extra = [len(ids) - len(set(ids)) for _, ids in of_query]
    return {
        "n_rows": len(made.y),
        "n_queries": len(made.group),
        "documents_a_query": {"min": min(made.group), "median": np.median(made.group), "max": max(made.group)},
        "n_one_document": sum(len(y) == 1 for y, _ in of_query),
        "n_no_relevant": sum(max(y) < 1 for y, _ in of_query),
        "n_all_relevant": sum(min(y) >= 1 for y, _ in of_query),
        "n_one_grade": sum(len(set(y.tolist())) == 1 for y, _ in of_query),
        "grades": dict(sorted(Counter(made.y.tolist()).items())),
        "repeated": (sum(extra), sum(n > 0 for n in extra)),
    }


@given(data(), st.data())
def test_facts_of_the_data(made: Data, draw: st.DataObject) -> None:
    docid = draw.draw(st.lists(st.sampled_from("abcd"), min_size=len(made.y), max_size=len(made.y)))
    expected = facts_by_loop(made, docid)
    order = draw.draw(st.permutations(range(len(made.y))))  # rows of a query need not stand together
    result = audit(
        made.y[order],
        {"m": made.score[order]},
        qid=made.qid[order],
        docid=[docid[row] for row in order],
        metrics="p@1",
    ).data
    repeated = result.repeated
    assert repeated is not None
    assert (repeated["n_rows"], repeated["n_queries"]) == expected.pop("repeated")
    for name, value in expected.items():
        assert getattr(result, name) == value, name
    if repeated["n_rows"]:
        ids = [one for one, query in zip(docid, made.qid, strict=True) if query == repeated["qid"]]
        assert ids.count(repeated["docid"]) > 1
    else:
        assert repeated["qid"] is repeated["docid"] is None


@given(data(), st.sampled_from([None, "lightgbm"]))
def test_each_model_is_that_of_tie_audit(made: Data, convention: str | None) -> None:
    metric = "ndcg@3"
    models = {"one": made.score, "other": -made.score, "none": np.zeros(len(made.y))}
    result = audit(made.y, models, group=made.group, metrics=metric, convention=convention)
    assert list(result.models) == list(models)
    for name, scores in models.items():
        alone = ltr.tie_audit(made.y, scores, group=made.group, metrics=metric, convention=convention)
        model = result.models[name]
        assert str(model.ties) == str(alone)
        assert model.n_tied_queries == alone[metric].n_tied_queries
        assert model.n_constant_queries == alone.n_constant_queries
        assert model.judged is None
    assert result.models["none"].n_constant_queries == result.models["none"].n_tied_queries == (made.group > 1).sum()


def test_what_nobody_judged() -> None:
    made = random_data(1)
    judged = made.columns["judged"]
    result = audit(made.y, {"m": made.score}, group=made.group, judged=judged, k=3, metrics="mrr")
    expected = ltr.evaluate(made.y, made.score, group=made.group, judged=judged, metrics="judged@3")["judged@3"]
    assert result.models["m"].judged == expected < 1
    assert result.data.n_unjudged == (~judged).sum() > 0


def test_what_a_condensed_list_leaves_out_does_not_count() -> None:
    y, judged = [1, 0, 2, 0, 0, 1, 2], [1, 1, 1, 0, 0, 1, 1]
    data = {"group": [2, 2, 1, 2], "judged": judged, "unjudged": "drop"}
    found = audit(y, {"m": np.zeros(7)}, **data, metrics="mrr").data
    assert found.documents_a_query == {"min": 0, "median": 1.5, "max": 2}
    assert (found.n_one_document, found.n_no_relevant, found.n_all_relevant, found.n_one_grade) == (1, 1, 2, 2)
    assert (found.grades, found.n_unjudged) == ({0: 1, 1: 2, 2: 2}, 2)


def test_what_was_not_retrieved_has_no_rank() -> None:
    data = {"group": [2, 2, 1], "retrieved": [1, 0, 1, 1, 0]}
    result = audit([1, 0, 1, 0, 0], {"m": [1, 1, 1, 1, 1]}, **data, metrics="mrr")
    assert result.data.documents_a_query == {"min": 0, "median": 1, "max": 2}
    assert result.data.n_one_document == 1
    assert result.models["m"].n_tied_queries == 1


# -- ties -----------------------------------------------------------------------------------------------------------


def test_each_policy_is_that_of_evaluate() -> None:
    rng = np.random.default_rng(0)
    y, s, group = rng.integers(0, 3, 200), rng.integers(0, 6, 200), [50, 1, 49, 100]
    audit = ltr.tie_audit(y, s, group=group, metrics=TIED, no_relevant=0, query_weight=[1, 2, 3, 4])
    for policy in ("worst", "mean", "best", "stable"):
        result = ltr.evaluate(y, s, group=group, metrics=TIED, ties=policy, no_relevant=0, query_weight=[1, 2, 3, 4])
        for name, value in result.mean.items():
            assert getattr(audit[name], policy) == value
    assert list(audit) == ["ndcg_exp@10", "map@3", "mrr", "precision@1", "pair_accuracy"]
    assert audit["ndcg@10"] is audit[ltr.NDCG(k=10)]
    assert audit["ndcg@10"].n_tied_queries == 3
    assert audit["pair_accuracy"].n_open_queries == 0


def test_which_queries_are_tied_open_and_constant() -> None:
    #     no tie  | tied, of one grade | tied and open | all one score | one document
    y = [1, 0,      1, 1, 0,             1, 0, 0,        0, 1,           1]  # fmt: skip
    s = [2, 1,      2, 2, 1,             2, 2, 1,        5, 5,           3]  # fmt: skip
    audit = ltr.tie_audit(y, s, group=[2, 3, 3, 2, 1], metrics=["mrr", "recall"])
    assert (audit["mrr"].n_tied_queries, audit["mrr"].n_open_queries) == (3, 2)
    assert (audit["recall"].n_tied_queries, audit["recall"].n_open_queries) == (3, 0)
    assert audit.n_constant_queries == 1


def test_metrics_that_read_more_than_grades_have_no_worst_and_best() -> None:
    """The truth is 10 and 30, and both documents have grade 1."""
    columns = {"revenue": [10, 30], "propensity": [1, 0.5]}
    own = ["sum_of(revenue)@1", "mean_of(revenue)@1", "judged@1", ClickMetric(metric="dcg@1")]
    data: dict[str, Any] = {"group": [2], "columns": columns, "judged": [True, True]}
    result = ltr.tie_audit([1, 1], [5, 5], metrics=["mrr", *own], **data)
    assert result.not_audited == list(result)[1:]
    assert (result["mrr"].n_open_queries, result["mrr"].best) == (0, 1)
    ties = result["sum_of(revenue)@1"]
    assert (ties.mean, ties.stable, ties.n_tied_queries, ties.n_open_queries) == (20, 10, 1, None)
    assert result.to_dict()["mean_of(revenue)@1"]["worst"] is None


def test_undefined_metrics_and_the_tie_policy_of_a_convention() -> None:
    constant = ltr.tie_audit([1, 0, 0, 0], [0.0] * 4, group=[4], metrics=["mrr"], convention="catboost")
    assert constant["mrr"].mean == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    audit = ltr.tie_audit([0, 0], [1, 1], group=[2], metrics=["mrr", "p@1"])
    frame = audit.to_pandas()
    assert frame.columns.tolist() == ["metric", "worst", "mean", "best", "stable", "n_tied_queries", "n_open_queries"]
    plain = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert plain["mrr"]["mean"] is None
    assert plain["precision@1"]["mean"] == 0
