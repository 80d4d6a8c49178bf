"""What `QueryRanker` and the scorer refuse, with the remedy."""

from __future__ import annotations

from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost
from folds import frame, lgbm_ranker, ranker, scattered
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import early_stopping

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()
FRAME = frame(X, qid)
STOPPING = {"early_stopping_rounds": 2, "random_state": 0}
PIPED = make_pipeline(StandardScaler(), Ridge())


def refused(message: str, *data: Any, estimator: Any = None, options: Any = None, **fit: Any) -> Any:
    """A fit (of X, y and qid by default) and the message that it must raise."""
    estimator = lgbm_ranker() if estimator is None else estimator
    return pytest.param(message, data or (X, y, qid), estimator, options or {}, fit, id=message[:40])


@pytest.mark.parametrize(
    ("message", "data", "estimator", "options", "fit"),
    [
        refused(f"one entry per row: got {len(y) - 1} of y for {len(y)} of qid", X, y[:-1], qid),
        refused("have different pandas indexes", FRAME, pd.Series(y).sample(frac=1, random_state=0)),
        refused("two different sets of queries", FRAME, y, qid[::-1]),
        refused(r"no column 'qid'. Did you mean 'Qid'\? Keep", FRAME.rename(columns={"qid": "Qid"}), y),
        *(refused("its position, 0 to 6", np.column_stack([X, qid]), y, options={"qid": c}) for c in (7, -1)),
        refused("must not be zero in every row", sample_weight=y * 0),
        refused("sample_weight must be finite and not negative", sample_weight=y * np.nan),
        refused("makes group for the estimator", group=[1]),
        refused(
            r"no evaluation sets. Got eval_set.*early_stopping_rounds=.*fit the estimator itself", eval_set=[(X, y)]
        ),
        refused("no evaluation sets. Got base_margin_eval_set", base_margin_eval_set=[1], options=STOPPING),
        refused(r"needs an estimator such as LGBMRanker\(\)", estimator=lgb.LGBMRanker),
        refused("classifier LGBMClassifier gives classes", estimator=lgb.LGBMClassifier()),
        refused("last step.*Got standardscaler__x.*set_fit_request", estimator=PIPED, standardscaler__x=1),
        refused("metric must be one metric", options=STOPPING | {"metric": ["mrr", "map"]}),
        refused("at least 2 queries.* Got 1", X, y, y * 0, options=STOPPING),
        refused("9 of 45 queries held out for early stopping.*undefined for all 9", X, y * 0, qid, options=STOPPING),
        refused("Got a LinearRegression.*rounds=None", estimator=LinearRegression(), options=STOPPING),
        refused("with boosting='dart'.*Use 'gbdt'", estimator=lgbm_ranker(boosting="dart"), options=STOPPING),
        refused("so is LGBMRanker by n_iter_no_change=5", estimator=lgbm_ranker(n_iter_no_change=5), options=STOPPING),
        refused(
            "so is LGBMRanker by the callback",
            options=STOPPING,
            callbacks=[lgb.early_stopping(1, verbose=False)],
        ),
    ],
)
def test_fit(message: str, data: Any, estimator: Any, options: dict[str, Any], fit: dict[str, Any]) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        QueryRanker(estimator, **options).fit(*data, **fit)


def test_stopping_is_refused_where_it_cannot_work_in_other_hosts() -> None:
    for estimator, message in (
        (xgboost.XGBRanker(booster="dart"), "with booster='dart'.*Use 'gbtree'"),
        (xgboost.XGBRegressor(early_stopping_rounds=5), "so is XGBRegressor by early_stopping_rounds=5"),
        (xgboost.XGBRanker(callbacks=[xgboost.callback.EarlyStopping(rounds=1)]), "XGBRanker by the callback"),
        (xgboost.XGBRanker(callbacks=[early_stopping("mrr", 1)]), "XGBRanker by the callback"),
        (catboost.CatBoostRanker(od_wait=5), "so is CatBoostRanker by od_wait=5"),
    ):
        with pytest.raises(ltr.LtrError, match=message):
            QueryRanker(estimator, **STOPPING).fit(X, y, qid=qid)


def test_predictions_and_scores() -> None:
    fitted, scorer = ranker().fit(X, y, qid=qid), make_scorer("mrr")
    for method in (ranker().predict, lambda X: ranker().score(X, y, qid)):
        with pytest.raises(NotFittedError):
            method(X)
    for message, call in (
        (r"6 features as input\. \(The column 'qid'", lambda: fitted.predict(X[:, :5])),
        ("the scorer has no queries", lambda: fitted.score(X, y)),
        ("two different sets of queries", lambda: scorer(fitted, FRAME, y, qid=qid + 1)),
        ("classifier LogisticRegression", lambda: scorer(LogisticRegression().fit(X, y > 0), X, y, qid=qid)),
        ("undefined for all 45 queries", lambda: scorer(fitted, X, y * 0, qid=qid + 1000)),
        (r"scikit-learn.*lightgbm.feval", lambda: scorer(np.zeros(3), lgb.Dataset(np.zeros((3, 1))))),
    ):
        with pytest.raises(ltr.LtrError, match=message):
            call()


def test_steps_that_merge_queries() -> None:
    halved = FunctionTransformer(lambda X: X.assign(qid=X["qid"] // 2))
    fitted = make_pipeline(halved, ranker()).fit(FRAME, y)
    with pytest.raises(ltr.LtrValueError, match="make 23 queries of 45, since they change the column 'qid'"):
        make_scorer("mrr")(fitted, FRAME, y)
