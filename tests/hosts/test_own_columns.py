"""Metrics of columns that the model does not see, in `QueryRanker` and in searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from folds import estimator_of, lgbm_ranker
from test_host_contract import FIRST, PLAIN
from trainings import Part

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import custom_metric

pytestmark = pytest.mark.integration
TRAIN = PLAIN[0]
FRAME = pd.DataFrame(TRAIN.X).add_prefix("f").assign(qid=TRAIN.qid, **TRAIN.columns)
BOUGHT = {"columns": ["bought"]}


@pytest.mark.parametrize("host", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
def test_query_ranker_stops_at_the_minimum(host: str) -> None:
    options: dict[str, Any] = {"early_stopping_rounds": 4, "validation_fraction": 0.4, "metric": FIRST}
    ranker = QueryRanker(estimator_of(host, 25), **options, **BOUGHT, random_state=1).fit(FRAME, TRAIN.y)
    assert ranker.n_features_in_ == TRAIN.X.shape[1]
    held = np.isin(TRAIN.qid, ranker.validation_qid_)
    part = Part(TRAIN.X[held], TRAIN.y[held], TRAIN.qid[held], columns={"bought": TRAIN.columns["bought"][held]})
    features = part.X if host == "CatBoostRanker" else FRAME[held].drop(columns=["qid", "bought"])
    log = ltr.learning_curve(
        ranker.estimator_, features, part.y, qid=part.qid, metrics=FIRST, columns=part.columns
    )  # fmt: skip
    curve = log.values("data", FIRST).mean(axis=1)
    assert ranker.n_rounds_ - 1 == curve[: ranker.n_rounds_].argmin()
    own = part.evaluate(ranker.predict(FRAME[held]), FIRST)["first_purchase"]
    assert ranker.score(FRAME[held], part.y) == -own
    np.testing.assert_array_equal(ranker.predict(FRAME), ranker.predict(FRAME.drop(columns="bought")))


def test_columns_in_xgb_cv_name_the_way_out() -> None:
    data = xgb.DMatrix(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    metric = custom_metric(FIRST, columns={data: TRAIN.columns})
    settings: dict[str, Any] = {"objective": "rank:ndcg", "nthread": 1}
    with pytest.raises(ltr.LtrValueError, match=r"Instead of xgb\.cv, pass QueryRanker.*cross_validate"):
        xgb.cv(settings, data, 2, nfold=2, custom_metric=metric)


def test_a_scorer_reads_columns_of_frames_and_arrays() -> None:
    ranker = QueryRanker(lgbm_ranker(), qid=5, columns={"bought": 6})
    X = np.column_stack([TRAIN.X, TRAIN.qid, TRAIN.columns["bought"]])
    scorer = make_scorer(FIRST, qid=5, columns={"bought": 6})
    assert scorer(ranker.fit(X, TRAIN.y), X, TRAIN.y) == -TRAIN.evaluate(ranker.predict(X), FIRST)["first_purchase"]
    renamed = FRAME.rename(columns={"bought": "brought"})
    with pytest.raises(ltr.LtrValueError, match=r"reads the column 'bought' of X.*Did you mean 'brought'"):
        make_scorer(FIRST)(QueryRanker(lgbm_ranker()).fit(renamed, TRAIN.y), renamed, TRAIN.y)
    with pytest.raises(ltr.LtrTypeError, match="columns must be names of columns of X"):
        make_scorer(FIRST, columns="bought")


@pytest.mark.parametrize(("first", "categorical", "marked"), [
    (["qid", "revenue"], [2], "f2"),  # of f0, f1, f2: without the ids and the column of the metric
    (["qid", "revenue"], ["f0"], "f0"),
    ([], [0], "f0"),
])  # fmt: skip
def test_numbers_of_columns_count_the_features_alone(first: list[str], categorical: list[Any], marked: str) -> None:
    features = pd.DataFrame(np.arange(len(TRAIN.y) * 3).reshape(-1, 3) % 4).add_prefix("f")
    table = features.assign(qid=TRAIN.qid, revenue=1.0)
    table = table[[*first, *features, *(name for name in ("qid", "revenue") if name not in first)]]
    ranker = QueryRanker(lgbm_ranker(), columns=["revenue"]).fit(table, TRAIN.y, categorical_feature=categorical)
    model = ranker.estimator_.booster_.model_to_string()
    (infos,) = (line.partition("=")[2].split() for line in model.splitlines() if line.startswith("feature_infos="))
    assert [name for name, info in zip(features, infos, strict=True) if not info.startswith("[")] == [marked]
