"""What CatBoost alone has: one custom metric, bound to the evaluation set by which the training stops."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pytest
from catboost import CatBoostError, CatBoostRanker, CatBoostRegressor, Pool
from sklearn.base import clone
from test_host_contract import PLAIN, WEIGHTED
from trainings import CATBOOST, TRAININGS, Part

import ltr_metrics as ltr
from ltr_metrics.catboost import EvalMetric

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Regression loss .* ignores an important ranking parameter:RuntimeWarning"),
]
TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)
PAIR = VALID.y, VALID.qid


def pool(part: Part, **columns: Any) -> Pool:
    return Pool(part.X, part.y, group_id=part.qid, **columns)


def fit(metric: Any, train: Any, valid: Any, kind: Any = CatBoostRanker, **settings: Any) -> Any:
    return kind(eval_metric=metric, **CATBOOST | {"iterations": 6} | settings).fit(train, eval_set=valid)


def history(model: Any, name: str = "mrr", data: str = "validation") -> list[float]:
    return model.evals_result_[data][name]


def scan(model: Any, part: Part, start: Any = 0, metric: str = "mrr") -> Any:
    values = [part.evaluate(score + start, metric)[metric] for score in model.staged_predict(part.X)]
    return pytest.approx(values, rel=1e-12)


def test_weights_are_those_of_the_evaluation_set() -> None:
    weighted = WEIGHTED[1]._replace(columns=None)
    for bound, set_ in ((PAIR, weighted), (pool(weighted, weight=weighted.row_weight), VALID)):
        model = fit(EvalMetric("mrr", bound), pool(TRAIN), pool(set_, weight=set_.row_weight))
        assert history(model) == scan(model, set_)
    by_group = fit(EvalMetric("mrr", PAIR), pool(TRAIN), pool(weighted, group_weight=weighted.row_weight))
    assert history(by_group) == scan(by_group, weighted)


def test_sets_that_are_not_the_bound_one() -> None:
    half = Part(*(column[: len(VALID.y) // 2] for column in VALID[:3]))
    model = fit(EvalMetric("mrr", PAIR), pool(TRAIN), [pool(TRAIN), pool(half), pool(VALID)])
    for data in ("learn", "validation_0", "validation_1"):
        assert set(history(model, data=data)) == {-1}
    assert history(model, data="validation_2") == scan(model, VALID)
    own = pool(TRAIN)  # which CatBoost reorders as the learn set, so that the two differ
    model = fit(EvalMetric("mrr", own), own, own, loss_function="YetiRank", boosting_type="Ordered")
    assert history(model) == scan(model, TRAIN)


def test_scores_to_start_from() -> None:
    sets = [pool(part, baseline=part.X[:, 0]) for part in (TRAIN, VALID)]
    model = fit(EvalMetric("mrr", PAIR), *sets)
    assert history(model) == scan(model, VALID, VALID.X[:, 0])


def test_rows_in_any_order_without_queries_in_the_host() -> None:
    order = np.random.default_rng(0).permutation(len(VALID.y))
    shuffled = Part(*(column[order] for column in VALID[:3]))
    train, valid = Pool(TRAIN.X, TRAIN.y), Pool(shuffled.X, shuffled.y)
    model = fit(EvalMetric("mrr", shuffled[1:3]), train, valid, CatBoostRegressor, loss_function="RMSE")
    assert history(model) == scan(model, shuffled)


def test_names_in_files_and_copies_of_a_model(tmp_path: Path) -> None:
    name = 'käufer,50%\\"x"'
    metric = EvalMetric("mrr", PAIR, names={"mrr": name})
    model = fit(metric, pool(TRAIN), pool(VALID), allow_writing_files=True, train_dir=str(tmp_path))
    assert name in (tmp_path / "test_error.tsv").read_text(encoding="utf-8")
    for copied in (model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.predict(VALID.X), model.predict(VALID.X))
        again = clone(copied).fit(pool(TRAIN), eval_set=pool(VALID))
        assert history(again, name) == history(model, name)


@pytest.mark.parametrize(
    ("bound", "sets", "message"),
    [
        (PAIR, lambda: None, "No evaluation set of this training has the .* eval_set has no rows"),
        (PAIR, lambda: pool(VALID._replace(y=VALID.y[::-1].copy())), "No evaluation set of this training has the"),
        (PAIR, lambda: [pool(VALID._replace(X=VALID.X[:, ::-1].copy())), pool(VALID)], "cannot be told apart"),
        (PAIR, lambda: [pool(VALID), pool(TRAIN)], "CatBoost stops by the last of the 2 evaluation sets"),
        ((VALID.y, np.arange(len(VALID.y)) // 3), lambda: pool(VALID), "differ from group_id"),
        ((TRAIN.y, TRAIN.qid), lambda: pool(TRAIN), "The learn set has the same labels"),
    ],
)
def test_sets_that_cannot_be_known_are_refused(bound: Any, sets: Any, message: str) -> None:
    with pytest.raises(CatBoostError, match=message):
        fit(EvalMetric("mrr", bound), pool(TRAIN), sets(), has_time=True)


@pytest.mark.parametrize(
    ("metrics", "valid", "options", "message"),
    [
        ("mrr", None, {}, r"needs the validation set.*or the pair \(y, qid\)"),
        ("mrr", Pool(VALID.X, VALID.y), {}, "has no queries"),
        ("mrr", Pool(VALID.X, group_id=VALID.qid), {}, "has no labels"),
        (["mrr", "map"], PAIR, {}, "takes one custom metric and would log only mrr"),
        ("mrr", PAIR, {"names": {"mrr": "NDCG"}}, "is the name of one of CatBoost's own metrics"),
        *[
            ("mrr", PAIR, {"min_delta": one}, "min_delta must be a finite number of at least 0")
            for one in (-1, np.nan, "1")
        ],
    ],
)
def test_arguments(metrics: Any, valid: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        EvalMetric(metrics, valid, **options)


def test_where_it_cannot_work(tmp_path: Path) -> None:
    metric = EvalMetric("mrr", PAIR)
    with pytest.raises(ltr.LtrValueError, match="only with task_type"):
        fit(metric, pool(TRAIN), pool(VALID), task_type="GPU")
    settings = {"iterations": 2, "loss_function": "YetiRank", "logging_level": "Silent", "train_dir": str(tmp_path)}
    with pytest.raises(CatBoostError, match="make validation sets of their own"):
        catboost.cv(pool(TRAIN), settings | {"eval_metric": metric}, fold_count=2)
    snapshot = {"save_snapshot": True, "allow_writing_files": True, "train_dir": str(tmp_path)}
    with pytest.raises(CatBoostError, match="min_delta=0.1 does not work with save_snapshot"):
        fit(EvalMetric("mrr", PAIR, min_delta=0.1), pool(TRAIN), pool(VALID), **snapshot)
    other = TRAININGS["lgb.train"].adapter("mrr", VALID)
    other.no_jit = True
    with pytest.raises(CatBoostError, match=r"takes ltr_metrics\.catboost\.EvalMetric"):
        fit(other, pool(TRAIN), pool(VALID))
