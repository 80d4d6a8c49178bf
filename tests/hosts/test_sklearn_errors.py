"""What `QueryRanker` and the scorer refuse, with the remedy."""

from __future__ import annotations

from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost
from folds import CV, estimator_of, frame, lgbm_ranker, ranker, scattered
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ltr_metrics as ltr
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.lightgbm import early_stopping as lightgbm_stopping
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import Monitor, early_stopping

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
        refused(r"Did you mean 'remainder__qid'\? Keep", FRAME.rename(columns={"qid": "remainder__qid"}), y),
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
        refused("min_delta must be a finite number", options=STOPPING | {"min_delta": -0.1}),
    ],
)
def test_fit(message: str, data: Any, estimator: Any, options: dict[str, Any], fit: dict[str, Any]) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        QueryRanker(estimator, **options).fit(*data, **fit)


def test_queries_of_other_types_are_the_same_if_they_have_one_text() -> None:
    text = FRAME.assign(qid=FRAME["qid"].astype(str))
    model = QueryRanker(Ridge()).fit(FRAME, y, qid=text["qid"])  # the column has integers
    part = text["qid"].duplicated(keep="last").to_numpy()  # all documents of each query but the last
    with pytest.raises(ltr.LtrValueError, match="is on both sides of the split"):
        make_scorer("mrr")(model, text[part], y[part])


def stops(kind: str, *parts: str, callbacks: Any = None, **settings: Any) -> Any:
    """An estimator, what is passed to its fit, and the message that names what stops."""
    fit = {name.removeprefix("fit__"): settings.pop(name) for name in list(settings) if name.startswith("fit__")}
    if callbacks is not None:
        settings, fit = ({"callbacks": callbacks}, {}) if kind.startswith("XGB") else ({}, {"callbacks": callbacks})
    named = "the callback" if callbacks is not None else f"{[*settings, *fit][0]}="
    return pytest.param(kind, settings, fit, f"{kind}.* by {named}.*only on QueryRanker", id=f"{kind} {named}")


class Own(type(lgb.early_stopping(1))):  # type: ignore[misc]
    pass


class OwnOfOurs(type(lightgbm_stopping("mrr", 1))):  # type: ignore[misc]
    pass


class OwnOfXGBoost(xgboost.callback.EarlyStopping):
    pass


OF_OURS = OwnOfOurs.__new__(OwnOfOurs)
WATCHED = Monitor("mrr", X, y, qid=qid)


@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize(
    ("kind", "settings", "fit", "message"),
    [
        stops("LGBMRanker", callbacks=[lgb.log_evaluation(0), lgb.early_stopping(1, verbose=False)]),
        stops("LGBMRanker", callbacks=[lightgbm_stopping("ndcg@10", 1)]),
        stops("LGBMRegressor", callbacks=(lightgbm_stopping("ndcg@10", 1),)),
        stops("LGBMRanker", callbacks=[Own(1)]),
        stops("LGBMRanker", callbacks=[OF_OURS]),
        *(
            stops("LGBMRanker", **{name: 5})
            for name in ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
        ),
        stops("XGBRanker", callbacks=[xgboost.callback.EarlyStopping(rounds=1)]),
        stops("XGBRanker", callbacks=[early_stopping("mrr", 1)]),
        stops("XGBRanker", callbacks=[WATCHED, early_stopping("mrr", 1)]),
        stops("XGBRegressor", callbacks=(OwnOfXGBoost(rounds=1),)),
        stops("XGBRegressor", early_stopping_rounds=5),
        *(
            stops("CatBoostRanker", **{name: value})
            for name, value in {
                "early_stopping_rounds": 5,
                "fit__early_stopping_rounds": 5,
                "od_wait": 5,
                "od_type": "Iter",
                "use_best_model": True,
                "fit__use_best_model": True,
                "eval_fraction": 0.2,
                "eval_metric": EvalMetric("mrr", (y, qid)),
            }.items()
        ),
        stops("CatBoostRegressor", od_pval=0.1),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_only_a_query_ranker_stops(
    kind: str, settings: Any, fit: dict[str, Any], message: str, stopping: bool, piped: bool
) -> None:
    estimator = estimator_of(kind, **settings)
    made = QueryRanker(make_pipeline(StandardScaler(), estimator) if piped else estimator)
    fit = {f"{kind.lower()}__{name}": value for name, value in fit.items()} if piped else fit
    message = f"^QueryRanker is set to stop early, and so is {message}" if stopping else f"^{message}"
    with pytest.raises(ltr.LtrValueError, match=message):
        made.set_params(**STOPPING if stopping else {}).fit(X, y, qid=qid, **fit)


def declares_a_round(kind: str) -> Any:
    """A callback that is no known class of early stopping, and declares the second round the best one."""

    def of_lightgbm(env: Any) -> None:
        if env.iteration == 1:
            raise lgb.callback.EarlyStopException(1, env.evaluation_result_list)

    class OfXGBoost(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            model.set_attr(best_iteration=str(min(epoch, 1)))
            return epoch == 1

    return of_lightgbm if kind == "LGBMRanker" else OfXGBoost()


@pytest.mark.parametrize("kind", ["LGBMRanker", "XGBRanker"])
def test_a_callback_of_ones_own_that_declares_the_best_round(kind: str) -> None:
    callbacks = {"callbacks": [declares_a_round(kind)]}
    settings, fit = (callbacks, {}) if kind == "XGBRanker" else ({}, callbacks)
    with pytest.raises(ltr.LtrValueError, match="set to stop early, and the callback .* has declared a best round"):
        QueryRanker(estimator_of(kind, **settings), **STOPPING).fit(X, y, qid=qid, **fit)


@pytest.mark.filterwarnings(r"ignore:[\s\S]*(are not used|deprecated|gblinear)")  # of XGBoost
@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("XGBRanker", {"booster": "dart", "rate_drop": 0.1}, "with XGBoost's dart, .*Use booster='gbtree' without"),
        ("XGBRanker", {"booster": "gblinear"}, "with XGBoost's gblinear, .*Use booster='gbtree' without"),
        ("LGBMRanker", {"boosting_type": "dart"}, "with LightGBM's dart, .*Use boosting='gbdt'"),
        ("LGBMRanker", {"boost": "dart"}, "with LightGBM's dart, .*Use boosting='gbdt'"),
        ("CatBoostRanker", {"use_best_model": False}, "with use_best_model=False, which keeps all rounds. Leave it"),
    ],
)
def test_stopping_is_refused_where_it_cannot_work(kind: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        QueryRanker(estimator_of(kind, **settings), **STOPPING).fit(X, y, qid=qid)


PAIRS = np.array([(i, j) for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]])


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("options", [{}, STOPPING], ids=["all", "stopping"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pairs", PAIRS),
        ("pairs", PAIRS.tolist()),
        ("pairs", pd.DataFrame(PAIRS[: len(y)])),
        ("pairs_weight", np.ones(len(PAIRS))),
        ("graph", PAIRS),
    ],
    ids=["array", "list", "as many as rows", "weights", "graph"],
)
def test_numbers_of_rows_are_refused(name: str, value: Any, options: dict[str, Any], piped: bool) -> None:
    """CatBoost would take them for those of the rows that it gets, which folds and QueryRanker select and reorder."""
    estimator = estimator_of("CatBoostRanker", loss_function="PairLogit")
    made = QueryRanker(make_pipeline(StandardScaler(), estimator) if piped else estimator, **options)
    fit = {f"catboostranker__{name}" if piped else name: value}
    message = f"does not take {name}, which refers to rows by their numbers"
    with pytest.raises(ltr.LtrTypeError, match=message):
        made.fit(FRAME, y, **fit)
    with pytest.raises(ltr.LtrTypeError, match=message):
        cross_validate(made, FRAME, y, groups=qid, cv=CV, params=fit, error_score="raise")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("LGBMRanker", "init_score"),
        ("XGBRanker", "base_margin"),
        *(("CatBoostRanker", name) for name in ("baseline", "group_weight", "subgroup_id")),
    ],
)
def test_parameters_of_rows_have_an_entry_for_each(kind: str, name: str) -> None:
    values = pd.Series(qid * 1.0)
    for value, message in (
        (values[:-1], f"X, y, qid and {name} must have one entry per row: got {len(y) - 1} of {name}"),
        (values[::-1], f"X and {name} have different pandas indexes"),
    ):
        with pytest.raises(ltr.LtrValueError, match=message):
            QueryRanker(estimator_of(kind)).fit(FRAME, y, **{name: value})


@pytest.mark.parametrize("kind", ["catboost Pool", "lightgbm Dataset", "xgboost DMatrix"])
def test_a_data_set_of_a_host_is_no_table(kind: str) -> None:
    made = {"catboost Pool": catboost.Pool, "lightgbm Dataset": lgb.Dataset, "xgboost DMatrix": xgboost.DMatrix}
    data = made[kind](X, y)
    with pytest.raises(ltr.LtrValueError, match=f"X must be two-dimensional.*got a {type(data).__name__} of shape"):
        ranker().fit(data, y, qid=qid)


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
