"""How much of a number the order of equal scores decides."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ltr_metrics as ltr

METRICS = ["ndcg@10", "map@3", "mrr", "p@1", "pair_accuracy"]


def test_each_policy_is_that_of_evaluate() -> None:
    rng = np.random.default_rng(0)
    y, s, group = rng.integers(0, 3, 200), rng.integers(0, 6, 200), [50, 1, 49, 100]
    audit = ltr.tie_audit(y, s, group=group, metrics=METRICS, no_relevant=0, query_weight=[1, 2, 3, 4])
    for policy in ("worst", "mean", "best", "stable"):
        result = ltr.evaluate(y, s, group=group, metrics=METRICS, ties=policy, no_relevant=0, query_weight=[1, 2, 3, 4])
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
    assert "In 1 queries all documents have the same score." in str(audit)


def test_a_constant_model() -> None:
    y = [1, 0, 0, 0]
    audit = ltr.tie_audit(y, [0.0] * 4, group=[4], metrics=["mrr"], convention="catboost")
    assert audit["mrr"].worst == 0.25
    assert audit["mrr"].best == audit["mrr"].stable == 1
    assert audit["mrr"].mean == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_as_table_dict_and_text() -> None:
    audit = ltr.tie_audit([0, 0], [1, 1], group=[2], metrics=["mrr", "p@1"])
    frame = audit.to_pandas()
    assert frame.columns.tolist() == ["metric", "worst", "mean", "best", "stable", "n_tied_queries", "n_open_queries"]
    plain = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert plain["mrr"]["mean"] is None
    assert plain["precision@1"]["mean"] == 0
    assert str(audit).splitlines()[0].split()[:5] == ["metric", "worst", "mean", "best", "stable"]
