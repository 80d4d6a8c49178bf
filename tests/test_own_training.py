"""Metrics of one's own in trainings and searches: their direction, and the columns that they read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from catboost import CatBoostRanker, Pool
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping

pytestmark = pytest.mark.integration


def rank_of_first(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    ranks = np.flatnonzero(columns["bought"])
    return float(ranks[0] + 1 if len(ranks) else len(grades) + 1)


FIRST = ltr.as_metric(rank_of_first, name="first_purchase", higher_is_better=False, per="query", columns=["bought"])
ROUNDS = 25


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    columns: dict[str, np.ndarray]

    @property
    def group(self) -> np.ndarray:
        return ltr.qid_to_group(self.qid)

    def evaluate(self, score: np.ndarray) -> float:
        return ltr.evaluate(self.y, score, qid=self.qid, metrics=FIRST, columns=self.columns)["first_purchase"]


def make_data(seed: int, n_queries: int = 40) -> Data:
    X, y, qid = ltr.make_ranking(n_queries=n_queries, random_state=seed)
    bought = (np.random.default_rng(seed).random(len(y)) < (y + 0.2) / 8).astype(float)
    return Data(X, y, qid, {"bought": bought, "revenue": bought * (1 + np.arange(len(y)) % 7)})


@pytest.fixture(scope="module")
def train() -> Data:
    return make_data(0)


@pytest.fixture(scope="module")
def valid() -> Data:
    return make_data(1)


PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "learning_rate": 0.3}


def sets(train: Data, valid: Data) -> tuple[lgb.Dataset, lgb.Dataset]:
    dataset = lgb.Dataset(train.X, train.y, group=train.group)
    return dataset, lgb.Dataset(valid.X, valid.y, group=valid.group, reference=dataset)


def in_lightgbm(train: Data, valid: Data, log: ltr.PerQueryLog, stop: int | None) -> int:
    dataset, valid_set = sets(train, valid)
    watch = feval([FIRST, "ndcg@5"], columns={valid_set: valid.columns}, log=log)
    callbacks = [] if stop is None else [lgb.early_stopping(stop, first_metric_only=True, verbose=False)]
    booster = lgb.train(PARAMS, dataset, ROUNDS, [valid_set], feval=watch, callbacks=callbacks)
    return booster.best_iteration - 1


def as_eval_set(valid: Data) -> dict[str, Any]:
    """Return the evaluation set as LGBMRanker takes it from 4.7 on, and before."""
    options = {"eval_group": [valid.group], "eval_names": ["test"]}
    if "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters:
        return options | {"eval_X": (valid.X,), "eval_y": (valid.y,)}
    return options | {"eval_set": [(valid.X, valid.y)]}


def in_lgbm_ranker(train: Data, valid: Data, log: ltr.PerQueryLog, stop: int | None) -> int:
    ranker = lgb.LGBMRanker(n_estimators=ROUNDS, metric="None", verbose=-1, n_jobs=1, learning_rate=0.3)
    watch = eval_metric(FIRST, columns={"test": valid.columns}, log=log)
    callbacks = [] if stop is None else [lgb.early_stopping(stop, verbose=False)]
    ranker.fit(train.X, train.y, group=train.group, eval_metric=watch, callbacks=callbacks, **as_eval_set(valid))
    return (ranker.best_iteration_ or 0) - 1


def in_xgboost(train: Data, valid: Data, log: ltr.PerQueryLog, stop: int | None) -> int:
    matrices = [xgb.DMatrix(data.X, data.y, qid=data.qid) for data in (train, valid)]
    booster = xgb.train(
        {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1},
        matrices[0],
        ROUNDS,
        evals=[(matrices[1], "valid")],
        custom_metric=custom_metric([FIRST], columns={matrices[1]: valid.columns}, log=log),
        callbacks=[] if stop is None else [early_stopping(FIRST, stop)],
        verbose_eval=False,
    )
    return int(booster.best_iteration) if stop is not None else -1


def in_xgb_ranker(train: Data, valid: Data, log: ltr.PerQueryLog, stop: int | None) -> int:
    monitor = Monitor(FIRST, valid.X, valid.y, qid=valid.qid, columns=valid.columns, log=log)
    callbacks = [monitor] if stop is None else [monitor, early_stopping(FIRST, stop)]
    ranker = xgb.XGBRanker(n_estimators=ROUNDS, n_jobs=1, callbacks=callbacks).fit(train.X, train.y, qid=train.qid)
    return int(ranker.best_iteration) if stop is not None else -1


def in_catboost(train: Data, valid: Data, log: ltr.PerQueryLog, stop: int | None) -> int:
    pools = [Pool(data.X, data.y, group_id=data.qid) for data in (train, valid)]
    ranker = CatBoostRanker(
        iterations=ROUNDS,
        loss_function="QueryRMSE",
        eval_metric=EvalMetric(FIRST, pools[1], columns=valid.columns, log=log),
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
        random_seed=0,
    )
    ranker.fit(pools[0], eval_set=pools[1], early_stopping_rounds=stop, use_best_model=False)
    return int(ranker.get_best_iteration())


HOSTS: dict[str, Callable[..., int]] = {
    "LightGBM": in_lightgbm,
    "LGBMRanker": in_lgbm_ranker,
    "XGBoost": in_xgboost,
    "XGBRanker": in_xgb_ranker,
    "CatBoost": in_catboost,
}


def scan(curve: np.ndarray, patience: int) -> int:
    """Return the round at which early stopping must find the minimum."""
    best = 0
    for i, value in enumerate(curve):
        if value < curve[best]:
            best = i
        elif i - best >= patience:
            break
    return best


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_early_stopping_finds_the_minimum(host: str, train: Data, valid: Data) -> None:
    whole = ltr.PerQueryLog()
    HOSTS[host](train, valid, whole, None)
    curve = whole.values(whole.names[0], FIRST).mean(axis=1)
    assert len(curve) == ROUNDS
    # Stopping in the wrong direction would end elsewhere.
    assert scan(curve, 4) not in (scan(-curve, 4), 0, ROUNDS - 1)
    log = ltr.PerQueryLog()
    assert HOSTS[host](train, valid, log, 4) == scan(curve, 4)
    stopped = log.values(log.names[0], FIRST).mean(axis=1)
    np.testing.assert_array_equal(stopped, curve[: len(stopped)])
    best = log.best_round(log.names[0], FIRST)
    assert best.best == stopped.argmin()
    assert not best.higher_is_better
    learned = log.learning_curve(log.names[0], FIRST)
    assert learned.best == best.best
    losses = log.values(log.names[0], FIRST)[-1] - log.values(log.names[0], FIRST)[best.best]
    assert set(learned.overfit) <= set(log.qid(log.names[0])[losses > 0])


def test_the_logged_value_is_that_of_evaluate(train: Data, valid: Data) -> None:
    dataset, valid_set = sets(train, valid)
    history: dict[str, Any] = {}
    watch = feval(["sum_of(revenue)@3", FIRST], columns={valid_set: valid.columns, dataset: train.columns})
    callbacks = [lgb.record_evaluation(history)]
    booster = lgb.train(
        PARAMS, dataset, 3, [valid_set, dataset], valid_names=["v", "t"], feval=watch, callbacks=callbacks
    )
    for name, data in (("v", valid), ("t", train)):
        options = {"qid": data.qid, "columns": data.columns, "metrics": ["sum_of(revenue)@3", FIRST]}
        result = ltr.evaluate(data.y, booster.predict(data.X), **options)
        assert {metric: values[-1] for metric, values in history[name].items()} == result.mean


def test_columns_serve_the_folds_of_cv(train: Data) -> None:
    dataset = lgb.Dataset(train.X, train.y, group=train.group, free_raw_data=False)
    folds = list(GroupKFold(2).split(train.X, groups=train.qid))
    result = lgb.cv(
        PARAMS, dataset, 2, folds=folds, feval=feval(FIRST, columns={dataset: train.columns}), return_cvbooster=True
    )
    values = [
        Data(*(part[test] for part in train[:3]), {k: v[test] for k, v in train.columns.items()}).evaluate(
            booster.predict(train.X[test])
        )
        for booster, (_, test) in zip(result["cvbooster"].boosters, folds, strict=True)
    ]
    assert result["valid first_purchase-mean"][-1] == pytest.approx(np.mean(values), rel=1e-12)


class TestWrongColumns:
    def test_of_lightgbm(self, train: Data, valid: Data) -> None:
        dataset, valid_set = sets(train, valid)

        def run(columns: Any, metric: Any = "sum_of(revenue)@3") -> None:
            lgb.train(PARAMS, dataset, 1, [valid_set], feval=feval(metric, columns=columns))

        with pytest.raises(ltr.LtrTypeError, match=r"must map data sets to their columns: \{valid_set: \{'revenue'"):
            run({"revenue": valid.columns["revenue"]})
        with pytest.raises(ltr.LtrValueError, match=r"A Dataset of this training has no columns here.*every data set"):
            run({dataset: train.columns})
        with pytest.raises(ltr.LtrValueError, match=r"needs the column 'revenu'.*Did you mean 'revenue'"):
            run({valid_set: valid.columns}, "sum_of(revenu)@3")
        with pytest.raises(ltr.LtrValueError, match=r"columns\['revenue'\].*got 5"):
            run({valid_set: {"revenue": [1.0] * 5}})
        bad = valid.columns["revenue"].copy()
        bad[7] = np.nan
        with pytest.raises(ltr.LtrValueError, match=r"columns\['revenue'\] must be finite.*got nan at row 7"):
            run({valid_set: {"revenue": bad}})

    def test_of_lgbm_ranker(self, train: Data, valid: Data) -> None:
        with pytest.raises(ltr.LtrValueError, match=r"test has no columns here.*Given: tests. Did you mean 'tests'"):
            _misnamed(train, valid)

    def test_of_xgboost(self, train: Data, valid: Data) -> None:
        matrix = xgb.DMatrix(train.X, train.y, qid=train.qid)
        watch = custom_metric(FIRST, columns={matrix: train.columns})
        with pytest.raises(ltr.LtrValueError, match=r"A DMatrix of this training has no columns.*xgb.cv"):
            xgb.cv({"objective": "rank:ndcg"}, matrix, 1, nfold=2, custom_metric=watch, as_pandas=False)
        with pytest.raises(ltr.LtrValueError, match=r"needs the column 'bought'.*Given: none"):
            Monitor(FIRST, valid.X, valid.y, qid=valid.qid)
        with pytest.raises(ltr.LtrValueError, match=r"columns\['bought'\]"):
            Monitor(FIRST, valid.X, valid.y, qid=valid.qid, columns={"bought": [1, 2]})

    def test_of_catboost(self, valid: Data) -> None:
        with pytest.raises(ltr.LtrValueError, match=r"needs the column 'bought'.*Did you mean 'brought'"):
            EvalMetric(FIRST, (valid.y, valid.qid), columns={"brought": valid.columns["bought"]})


def _misnamed(train: Data, valid: Data) -> None:
    ranker = lgb.LGBMRanker(n_estimators=1, metric="None", verbose=-1, n_jobs=1)
    watch = eval_metric(FIRST, columns={"tests": valid.columns})
    ranker.fit(train.X, train.y, group=train.group, eval_metric=watch, **as_eval_set(valid))


def in_frame(data: Data) -> pd.DataFrame:
    return pd.DataFrame(data.X).add_prefix("f").assign(qid=data.qid, **data.columns)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "LightGBM": lambda: lgb.LGBMRanker(n_estimators=ROUNDS, n_jobs=1, verbose=-1, learning_rate=0.3),
    "XGBoost": lambda: xgb.XGBRanker(n_estimators=ROUNDS, n_jobs=1),
    "CatBoost": lambda: CatBoostRanker(
        iterations=ROUNDS, verbose=False, allow_writing_files=False, thread_count=1, random_seed=0
    ),
}


@pytest.mark.parametrize("host", ESTIMATORS)
def test_query_ranker_stops_at_the_minimum_of_a_column_that_the_model_does_not_see(host: str, train: Data) -> None:
    frame = in_frame(train)
    ranker = QueryRanker(
        ESTIMATORS[host](),
        early_stopping_rounds=4,
        validation_fraction=0.4,
        metric=FIRST,
        columns=["bought", "revenue"],
        random_state=1,
    ).fit(frame, train.y)
    assert ranker.n_features_in_ == train.X.shape[1]
    held = np.isin(train.qid, ranker.validation_qid_)
    bought = {"bought": train.columns["bought"][held]}
    log = ltr.learning_curve(
        ranker.estimator_,
        train.X[held] if host == "CatBoost" else frame[held].drop(columns=["qid", "bought", "revenue"]),
        train.y[held],
        qid=train.qid[held],
        metrics=FIRST,
        columns=bought,
    )
    curve = log.values("data", FIRST).mean(axis=1)
    assert ranker.n_rounds_ - 1 == curve[: ranker.n_rounds_].argmin()
    score = ranker.score(frame[held], train.y[held])
    own = ltr.evaluate(train.y[held], ranker.predict(frame[held]), qid=train.qid[held], metrics=FIRST, columns=bought)
    assert score == -own["first_purchase"]
    np.testing.assert_array_equal(ranker.predict(frame), ranker.predict(frame.drop(columns=["bought", "revenue"])))


def test_a_search_chooses_the_smallest_mean(train: Data, tmp_path: Any) -> None:
    ranker = QueryRanker(lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1), columns=["bought", "revenue"])
    grid = {"estimator__learning_rate": [1e-9, 0.3]}
    log = ltr.PerQueryLog(folder=tmp_path / "log")
    search = GridSearchCV(ranker, grid, scoring=make_scorer(FIRST, log=log), cv=GroupKFold(2))
    search.fit(in_frame(train), train.y, groups=train.qid)
    scores = search.cv_results_["mean_test_score"]
    assert (scores < 0).all()
    best = log.candidates(FIRST)[0]
    assert best.mean_over_folds == pytest.approx(-search.best_score_)
    assert best.parameters == search.best_params_
    both = make_scorer([FIRST, "sum_of(revenue)@3"])(search.best_estimator_, in_frame(train), train.y)
    assert (both["first_purchase"] < 0, both["sum_of(revenue)@3"] > 0) == (True, True)


def test_a_scorer_reads_columns_of_frames_and_arrays(train: Data) -> None:
    ranker = QueryRanker(lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1), qid=20, columns={"bought": 21})
    X = np.column_stack([train.X, train.qid, train.columns["bought"]])
    ranker.fit(X, train.y)
    assert ranker.n_features_in_ == 20
    scorer = make_scorer(FIRST, qid=20, columns={"bought": 21})
    assert scorer(ranker, X, train.y) == -train.evaluate(ranker.predict(X))
    frame = in_frame(train).rename(columns={"bought": "brought"})
    with pytest.raises(ltr.LtrValueError, match=r"reads the column 'bought' of X.*Did you mean 'brought'"):
        make_scorer(FIRST)(QueryRanker(lgb.LGBMRanker(n_estimators=2, verbose=-1)).fit(frame, train.y), frame, train.y)
    with pytest.raises(ltr.LtrTypeError, match="columns must be names of columns of X"):
        make_scorer(FIRST, columns="bought")
