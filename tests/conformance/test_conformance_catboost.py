"""CatBoost's own metrics, by catboost.utils.eval_metric, under convention="catboost".

eval_metric gives means alone, so each query is also evaluated by itself. CatBoost keeps labels (not
scores) as float32; the labels here are of that precision, but for the test that is about it. ERR
alone also takes 1 - label in float32.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from strategies import Data, random_data

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

utils = pytest.importorskip("catboost.utils", reason="catboost is not installed")

CUTOFFS = [None, 1, 5]
LEVELS = [1, 3, 1000]
THEIRS = {
    "ndcg": "NDCG:type=Base;",
    "ndcg_exp": "NDCG:type=Exp;",
    "dcg": "DCG:type=Base;",
    "dcg_exp": "DCG:type=Exp;",
    "map": "MAP:",
    "mrr": "MRR:",
    "precision": "PrecisionAt:",
    "recall": "RecallAt:",
    "pfound": "PFound:decay=0.85;",
    "err": "ERR:",
}
GRADES = [0, 0, 1, 2, 3, 4]
FRACTIONS = [0, 0, 0.125, 0.5, 0.5 + 2**-24, 0.625, 0.9375, 1]  # relevant is above one half


def theirs(metric: str, k: int | None, data: Data, weight: np.ndarray | None = None) -> float:
    weights = {} if weight is None else {"group_weight": weight[data.qid]}
    description = f"{THEIRS[metric]}top={-1 if k is None else k}"
    return utils.eval_metric(data.y, data.score, description, group_id=data.qid, thread_count=1, **weights)[0]


def compare(metric: str, k: int | None, data: Data, tolerance: float = 1e-12) -> None:
    ours = ltr.evaluate(
        data.y, data.score, qid=data.qid, metrics=metric if k is None else f"{metric}@{k}", convention="catboost"
    )
    [values], [mean] = ours.per_query.values(), ours.mean.values()
    each = [theirs(metric, k, Data(np.array(y), np.array(s), np.array([len(y)]))) for y, s in data.queries()]
    np.testing.assert_allclose(values, each, rtol=0, atol=tolerance)
    assert mean == pytest.approx(theirs(metric, k, data), abs=tolerance)


@pytest.mark.parametrize("metric", THEIRS)
@pytest.mark.parametrize("levels", LEVELS)
def test_values(metric: str, levels: int) -> None:
    for grades in (FRACTIONS,) if metric in ("pfound", "err") else (GRADES, FRACTIONS):
        for k in CUTOFFS:
            compare(metric, k, random_data(levels, grades, levels=levels), 1e-7 if metric == "err" else 1e-12)


@pytest.mark.parametrize("metric", ["ndcg", "ndcg_exp", "dcg", "dcg_exp", "pfound"])
def test_labels_are_float32_there(metric: str) -> None:
    """Labels that float32 cannot hold agree once they are given as float32 here too; without that, to 1e-7."""
    data = random_data(0, np.arange(11) / 10)
    compare(metric, 5, data, 1e-7)
    compare(metric, 5, Data(data.y.astype(np.float32), data.score, data.group))


def test_scores_are_float64_there() -> None:
    data = Data(np.array([0.0, 1.0]), np.array([1.0, np.nextafter(1, 2)]), np.array([2]))
    assert theirs("mrr", None, data) == 1
    compare("mrr", None, data)


@pytest.mark.parametrize("metric", ["ndcg", "ndcg_exp", "dcg", "mrr", "err", "pfound"])
def test_group_weights(metric: str) -> None:
    """Also where queries have no relevant document, on which LightGBM and XGBoost go wrong."""
    data = random_data(0, FRACTIONS)
    weight = np.random.default_rng(0).integers(1, 9, len(data.group)) / 4
    ours = ltr.evaluate(data.y, data.score, qid=data.qid, metrics=metric, convention="catboost", query_weight=weight)
    assert next(iter(ours.mean.values())) == pytest.approx(
        theirs(metric, None, data, weight), abs=1e-7 if metric == "err" else 1e-12
    )


@pytest.mark.parametrize("metric", ["map", "precision", "recall"])
def test_catboost_ignores_group_weights_here(metric: str) -> None:
    """So they are an error, which names the options of the weighted mean."""
    data = Data(np.array([0.0, 1.0, 1.0, 0.0]), np.array([2.0, 1.0, 2.0, 1.0]), np.array([2, 2]))
    weight = np.array([3.0, 1.0])
    first, second = {"map": (0.5, 1), "precision": (0, 1), "recall": (0, 1)}[metric]
    k = None if metric == "map" else 1
    name = metric if k is None else f"{metric}@1"
    rows = {"y_true": data.y, "y_score": data.score, "qid": data.qid}
    assert theirs(metric, k, data, weight) == theirs(metric, k, data) == (first + second) / 2
    assert ltr.evaluate(**rows, metrics=name, convention="catboost")[name] == (first + second) / 2
    with pytest.raises(ltr.LtrValueError, match="ignores the weights of queries") as error:
        ltr.evaluate(**rows, metrics=name, convention="catboost", query_weight=weight)
    with pytest.raises(ltr.LtrValueError, match="catboost ignores the weights"):
        ltr.explain_difference(**rows, metric=name, a="catboost", b="default", query_weight=weight)
    found = ltr.identify_convention(**rows, metric=name, value=(first + second) / 2, query_weight=weight)
    assert found.refused["catboost"] == str(error.value)
    remedy = re.search(r'metrics="(.*)", ties="(\w+)" and no_relevant=([\d.]+)', str(error.value))
    assert remedy
    options = {"ties": remedy[2], "no_relevant": float(remedy[3]), "query_weight": weight}
    assert ltr.evaluate(**rows, metrics=remedy[1], **options)[remedy[1]] == (3 * first + second) / 4
