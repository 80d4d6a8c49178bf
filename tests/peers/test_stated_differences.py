"""Where a host goes wrong, or refuses what we accept: each is stated here, and seen in the host."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from peers import table
from peers.harness import Query

pytestmark = pytest.mark.integration


def queries_of(*queries: tuple[list[float], list[float], float]) -> list[Query]:
    """Return queries of which grades, scores and weight are given."""
    return [
        Query(f"q{i}", [f"d{j}" for j in range(len(y))], np.array(y), np.array(s), np.ones(len(y), bool),
              np.ones(len(y), bool), weight)
        for i, (y, s, weight) in enumerate(queries)
    ]  # fmt: skip


def ours(queries: list[Query], metric: str, convention: str, **options: Any) -> float:
    y, score, group = table.rows(queries)
    weight = table.weights(queries)
    result = ltr.evaluate(y, score, group=group, metrics=metric, convention=convention, query_weight=weight, **options)
    return next(iter(result.values()))


# -- LightGBM ----------------------------------------------------------------------------------------------------------


def test_lightgbm_takes_fractional_labels_for_map_only() -> None:
    lgb = pytest.importorskip("lightgbm")
    with pytest.raises(lgb.basic.LightGBMError, match="label should be int type"):
        table.lightgbm(queries_of(([0, 0.5], [2, 1], 1)), ["ndcg@3"], objective="regression")


def test_lightgbm_means_row_weights_in_float32() -> None:
    """A query's weight is the mean of its row weights, and a query without a relevant document adds 1, not its weight."""
    lgb = pytest.importorskip("lightgbm")
    X, y, qid = ltr.make_ranking(n_queries=120, documents=12, no_relevant=0.25, random_state=1)
    weight, history = np.random.default_rng(0).uniform(0.1, 2, len(y)), {}
    data = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), weight=weight)
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "verbose": -1, "num_threads": 1}
    booster = lgb.train(params, data, 2, [data], ["all"], callbacks=[lgb.record_evaluation(history)])
    options = {"qid": qid, "sample_weight": weight, "metrics": "ndcg@5", "convention": "lightgbm"}
    assert history["all"]["ndcg@5"][-1] == pytest.approx(
        ltr.evaluate(y, booster.predict(X), **options)["ndcg@5"], abs=1e-7
    )


def test_lightgbm_gives_a_weighted_ndcg_above_1() -> None:
    """It adds 1, not 1 * weight, for a query without a relevant document, and still divides by the weights."""
    pytest.importorskip("lightgbm")
    queries = queries_of(([0, 1], [1, 2], 1), ([0, 0], [3, 3], 0.01))
    assert table.lightgbm(queries, ["ndcg@1"])["ndcg@1"] == [pytest.approx(2 / 1.01)]
    assert ours(queries, "ndcg@1", "lightgbm") == pytest.approx(2 / 1.01)
    assert ours(queries, "ndcg@1", "lightgbm", no_relevant="skip") == 1
    assert table.lightgbm(queries, ["map@1"])["map@1"] == [pytest.approx(1.0)]


# -- XGBoost -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theirs", "name"), [("map", "map"), ("pre@2", "precision@2")])
def test_xgboost_refuses_grades_where_relevance_is_binary(theirs: str, name: str) -> None:
    """And so do we under its convention."""
    xgb = pytest.importorskip("xgboost")
    queries = queries_of(([0, 2, 1], [3, 2, 1], 1))
    with pytest.raises(xgb.core.XGBoostError, match="can only be used with binary labels"):
        table.xgboost(queries, [theirs])
    with pytest.raises(ltr.LtrValueError, match="must have labels 0 and 1"):
        ours(queries, name, "xgboost")


def test_xgboost_refuses_fractional_labels_under_its_exponential_gain() -> None:
    """Which is defined on them here."""
    xgb = pytest.importorskip("xgboost")
    queries = queries_of(([0, 0.25, 1.75], [3, 2, 1], 1))
    with pytest.raises(xgb.core.XGBoostError, match="must be either 0 or positive integer"):
        table.xgboost(queries, ["ndcg"])
    assert 0 < ours(queries, "ndcg", "xgboost") < 1


def test_xgboost_aborts_where_a_weighted_ndcg_is_above_1() -> None:
    """Ours is the number in the error. With no_relevant=1 it is the weighted mean."""
    xgb = pytest.importorskip("xgboost")
    queries = queries_of(([0, 1], [2, 1], 1), ([1, 0], [2, 1], 1), ([0, 0], [2, 1], 0.25))
    value = ours(queries, "ndcg", "xgboost")
    assert value == pytest.approx((1 / np.log2(3) + 1 + 1) / 2.25)
    with pytest.raises(xgb.core.XGBoostError, match=f"{value:.6g} vs. 1.*Invalid output score"):
        table.xgboost(queries, ["ndcg"])
    assert ours(queries, "ndcg", "xgboost", no_relevant=1) == pytest.approx((1 / np.log2(3) + 1 + 0.25) / 2.25)
    with pytest.raises(ltr.LtrValueError, match="xgboost.*ndcg_exp@32.*although the weight"):
        ltr.evaluate([1, 0], [2, 1], group=[1, 1], metrics="ndcg", convention="xgboost", query_weight=[1, 0])


# -- CatBoost ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ndcg", "ndcg_exp", "dcg", "dcg_exp", "pfound"])
def test_catboost_keeps_labels_as_float32(metric: str) -> None:
    """Labels that float32 cannot hold agree once they are given as float32 here too; without that, to 1e-7."""
    pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    queries = queries_of(*((rng.integers(0, 11, 9) / 10, rng.integers(0, 6, 9) / 8, 1.0) for _ in range(20)))
    theirs = table.catboost(queries, f"{metric}@5")
    assert theirs == pytest.approx(ours(queries, f"{metric}@5", "catboost"), abs=1e-7)
    rounded = queries_of(*((one.grades.astype(np.float32).tolist(), one.scores, 1.0) for one in queries))
    assert theirs == pytest.approx(ours(rounded, f"{metric}@5", "catboost"), abs=1e-12)


def test_catboost_keeps_scores_as_float64() -> None:
    pytest.importorskip("catboost")
    queries = queries_of(([0, 1], [1.0, np.nextafter(1, 2)], 1))
    assert table.catboost(queries, "mrr") == ours(queries, "mrr", "catboost") == 1


@pytest.mark.parametrize("metric", ["map", "precision@1", "recall@1"])
def test_catboost_ignores_group_weights_of_some_metrics(metric: str) -> None:
    """So they are an error, which names the options of the weighted mean."""
    pytest.importorskip("catboost")
    queries = queries_of(([0, 1], [2, 1], 3), ([1, 0], [2, 1], 1))
    plain = queries_of(([0, 1], [2, 1], 1), ([1, 0], [2, 1], 1))
    first, second = {"map": (0.5, 1), "precision@1": (0, 1), "recall@1": (0, 1)}[metric]
    assert table.catboost(queries, metric) == table.catboost(plain, metric) == (first + second) / 2
    assert ours(plain, metric, "catboost") == (first + second) / 2
    with pytest.raises(ltr.LtrValueError, match="ignores the weights of queries") as error:
        ours(queries, metric, "catboost")
    y, score, group = table.rows(queries)
    rows = {"y_true": y, "y_score": score, "group": group, "query_weight": [3, 1]}
    with pytest.raises(ltr.LtrValueError, match="catboost ignores the weights"):
        ltr.explain_difference(**rows, metric=metric, a="catboost", b="default")
    found = ltr.identify_convention(**rows, metric=metric, value=(first + second) / 2)
    assert found.refused["catboost"] == str(error.value)
    remedy = re.search(r"metrics='(.*)', ties='(\w+)' and no_relevant=([\d.]+)", str(error.value))
    assert remedy
    result = ltr.evaluate(**rows, metrics=remedy[1], ties=remedy[2], no_relevant=float(remedy[3]))
    assert result[remedy[1]] == (3 * first + second) / 4


# -- scikit-learn and trec_eval ----------------------------------------------------------------------------------------


def test_sklearn_refuses_a_query_of_one_document() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    with pytest.raises(ValueError, match="Got 1 instead"):
        metrics.ndcg_score([[1]], [[1]])


def test_trec_eval_keeps_scores_as_float32() -> None:
    """The relevant d0 is ahead by 1e-9. As float32 both scores are 1, and the descending ids put d1 ahead."""
    pytest.importorskip("pytrec_eval")
    scores, options = np.array([1 + 1e-9, 1.0]), {"qid": ["q0", "q0"], "docid": ["d0", "d1"], "convention": "trec_eval"}
    assert table.pytrec_eval(queries_of(([1, 0], scores, 1)), ["recip_rank"]) == {"recip_rank": [0.5]}
    assert ltr.evaluate([1, 0], scores, metrics="mrr", **options)["mrr"] == 1
    assert ltr.evaluate([1, 0], scores.astype(np.float32), metrics="mrr", **options)["mrr"] == 0.5
