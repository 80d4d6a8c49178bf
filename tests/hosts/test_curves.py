"""`learning_curve`: the log of a finished training, against the log that the training itself wrote."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from folds import estimator_of, fit_by_hand
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from trainings import LIGHTGBM, TRAININGS, Case, Part

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:Regression loss:RuntimeWarning")]

METRICS = ["ndcg@10", "map", "err@10", "kendall"]
N_ROUNDS = 23
X, Y, QID = ltr.make_ranking(n_queries=40, documents=12, random_state=0)
X_VALID, Y_VALID, QID_VALID = ltr.make_ranking(n_queries=30, documents=12, random_state=1)
X, X_VALID = X.round(1), X_VALID.round(1)  # so that scores tie
TRAIN, VALID = Part(X, Y, QID), Part(X_VALID, Y_VALID, QID_VALID)
START = np.random.default_rng(0).normal(0, 2, len(Y_VALID))
HOSTS = {"LightGBM": "LGBMRanker", "XGBoost": "XGBRanker", "CatBoost": "CatBoostRanker"}


def trained(name: str = "lgb.train", params: Any = None, convert: Any = np.asarray) -> tuple[Any, np.ndarray]:
    """Return the model, and what the training logged of the validation set: metrics x rounds x queries."""
    log, sets = ltr.PerQueryLog(), [part._replace(X=convert(part.X)) for part in (TRAIN, VALID)]
    run = TRAININGS[name].train(Case(*sets, METRICS, {"log": log}, params or {}, N_ROUNDS))
    return run.model, values_of(log)


def values_of(log: ltr.PerQueryLog) -> np.ndarray:
    (name,) = log.data_names
    return np.array([log.values(name, metric) for metric in METRICS])


def curve(model: Any, features: Any = X_VALID, **options: Any) -> ltr.PerQueryLog:
    return ltr.learning_curve(model, features, Y_VALID, qid=QID_VALID, **{"metrics": METRICS, **options})


def of_scores(scores: np.ndarray, **options: Any) -> np.ndarray:
    return ltr.evaluate(Y_VALID, scores, qid=QID_VALID, metrics="map", **options).per_query["map"]


@cache
def model_of(host: str) -> Any:
    return fit_by_hand(estimator_of(HOSTS[host], N_ROUNDS), X, Y, QID)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lgb.train", {}),
        ("lgb.train", {"objective": "rank_xendcg", "bagging_fraction": 0.5, "bagging_freq": 1}),
        ("lgb.train", {"linear_tree": True, "objective": "regression"}),
        ("lgb.train", {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}),
        ("xgb.train", {"subsample": 0.5}),
        ("xgb.train", {"objective": "rank:pairwise", "num_parallel_tree": 3, "colsample_bynode": 0.5}),
        ("CatBoostRanker", {"loss_function": "YetiRank"}),
        ("CatBoostRanker", {"loss_function": "RMSE", "model_shrink_rate": 0.2, "boost_from_average": False}),
        ("CatBoostRanker", {"loss_function": "QueryRMSE", "boosting_type": "Ordered"}),
    ],
)
def test_a_curve_repeats_the_log_of_its_training(
    name: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltr_metrics.lightgbm.lightgbm_rounds.CELLS", 8 * len(X_VALID))  # eight trees in one call
    model, expected = trained(name, params)
    found = curve(model)
    assert found.rounds("data").tolist() == list(range(N_ROUNDS))
    assert found.qid("data").tolist() == list(dict.fromkeys(QID_VALID.tolist()))
    assert_allclose(values_of(found), expected, rtol=0, atol=1e-12 if name == "CatBoostRanker" else 0)
    assert all(len(np.unique(of_metric, axis=0)) > 3 for of_metric in expected)  # the training moved


def test_lightgbm_predicts_frames_with_categories_and_sparse_matrices() -> None:
    def frame(table: Any) -> Any:
        names = [f"f {i}" for i in range(table.shape[1])]
        return pd.DataFrame(table, columns=names).assign(**{"f 0": pd.Categorical(table[:, 0].round())})

    for convert in (frame, sparse.csr_matrix):
        booster, expected = trained(convert=convert)
        assert_array_equal(values_of(curve(booster, convert(X_VALID))), expected)
    booster, _ = trained(convert=frame)
    with pytest.raises(ltr.LtrValueError, match="column 0 is 'f_.*trained on 'f_0' there"):
        curve(booster, frame(X_VALID).iloc[:, ::-1])


@pytest.mark.parametrize("keep", [True, False])
def test_rounds_after_the_best_one_are_evaluated_if_the_model_has_them(keep: bool) -> None:
    train = lgb.Dataset(X, Y, group=TRAIN.group)
    data = lgb.Dataset(X_VALID, Y_VALID, group=VALID.group, reference=train)
    log = ltr.PerQueryLog(data_names=["valid"])
    booster = lgb.train(
        LIGHTGBM | {"metric": "None"}, train, 100, valid_sets=[data], feval=feval(METRICS, log=log),
        callbacks=[lgb.early_stopping(4, verbose=False, first_metric_only=True)], keep_training_booster=keep,
    )  # fmt: skip
    n_trained, n_best = len(log.values("valid", "map")), booster.best_iteration
    assert n_trained == n_best + 4
    assert_array_equal(values_of(curve(booster)), values_of(log)[:, : n_trained if keep else n_best])


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("every", [5, 23, 100])
def test_every_selects_rounds_and_changes_no_value(host: str, every: int) -> None:
    every_round, found = curve(model_of(host)), curve(model_of(host), every=every)
    rounds = sorted({*range(every - 1, N_ROUNDS, every), N_ROUNDS - 1})
    assert found.rounds("data").tolist() == rounds
    assert_array_equal(values_of(found), values_of(every_round)[:, rounds])
    some, whole = found.best_round("data", "map"), every_round.learning_curve("data", "map")
    assert some.rounds.tolist() == some.to_dict()["rounds"] == rounds
    assert some.n_rounds == some.to_dict()["n_rounds"] == rounds[some.best] + 1
    assert some.mean.tolist() == whole.mean[rounds].tolist()


@pytest.mark.parametrize("host", HOSTS)
def test_the_last_round_is_what_the_model_predicts(host: str) -> None:
    model, rng = model_of(host), np.random.default_rng(1)
    options: dict[str, Any] = {
        "retrieved": rng.random(len(Y_VALID)) < 0.9, "docid": np.arange(len(Y_VALID)).astype(str),
        "query_weight": rng.random(30), "ties": "docid", "no_relevant": 0, "convention": "trec_eval",
    }  # fmt: skip
    found = curve(model, name="test", metrics=["ndcg@10", "map"], **options)
    expected = ltr.evaluate(Y_VALID, model.predict(X_VALID), qid=QID_VALID, metrics=["ndcg@10", "map"], **options)
    for metric in ("ndcg@10", "map"):
        assert_array_equal(found.values("test", metric)[-1], expected.per_query[metric])
        assert found.learning_curve("test", metric).mean[-1] == expected[metric]
    by_group = ltr.learning_curve(model, X_VALID.tolist(), Y_VALID, group=VALID.group, metrics="map", every=100)
    assert_array_equal(by_group.values("data", "map")[0], of_scores(model.predict(X_VALID)))
    started = curve(model, base_margin=START, every=100).values("data", "map")
    assert_array_equal(started[0], of_scores(model.predict(X_VALID) + START))


def test_a_dmatrix_keeps_its_base_margin() -> None:
    model, data = model_of("XGBoost"), xgb.DMatrix(X_VALID, base_margin=START)
    assert_array_equal(values_of(curve(model, data)), values_of(curve(model, base_margin=START)))
    with pytest.raises(ltr.LtrTypeError, match="Pass base_margin to the DMatrix"):
        curve(model, data, base_margin=START)


def test_what_is_missing_is_what_the_estimator_says() -> None:
    model = estimator_of("XGBRanker", missing=0.0).fit(X, Y, qid=QID)
    assert_array_equal(curve(model).values("data", "map")[-1], of_scores(model.predict(X_VALID)))


@pytest.mark.parametrize("host", HOSTS)
def test_queryrankers_pipelines_and_searches_are_opened(host: str) -> None:
    frame, valid = (pd.DataFrame(table).add_prefix("f") for table in (X, X_VALID))
    with_ids, valid_with_ids = frame.assign(query=QID), valid.assign(query=QID_VALID)
    ranker = QueryRanker(make_pipeline(StandardScaler(), estimator_of(HOSTS[host])), qid="query").fit(with_ids, Y)
    search = GridSearchCV(ranker, {"qid": ["query"]}, scoring=make_scorer("map", qid="query"), cv=GroupKFold(2))
    for model in (ranker, search.fit(with_ids, Y, groups=QID)):
        by_column = ltr.learning_curve(model, valid_with_ids, Y_VALID, metrics="map")
        assert_array_equal(by_column.values("data", "map")[-1], of_scores(ranker.predict(valid)))
    for model in (ranker, ranker.estimator_):
        assert_array_equal(curve(model, valid).values("data", "map"), by_column.values("data", "map"))
    with pytest.raises(ltr.LtrTypeError, match="no column 'query'"):
        ltr.learning_curve(ranker, valid, Y_VALID, metrics="map")
    with pytest.raises(ltr.LtrValueError, match="X holds other queries than qid"):
        ltr.learning_curve(ranker, valid_with_ids, Y_VALID, qid=np.arange(len(Y_VALID)), metrics="map")


@pytest.mark.parametrize("kind", ["frame", "DMatrix", "Pool"])
def test_queries_that_the_data_of_a_host_have(kind: str) -> None:
    model = model_of("CatBoost" if kind == "Pool" else "XGBoost")
    frame = pd.DataFrame(X_VALID).add_prefix("f").assign(qid=QID_VALID)
    if kind == "frame":
        model = estimator_of("XGBRanker").fit(pd.DataFrame(X).add_prefix("f").assign(qid=QID), Y)
    features = {
        "frame": frame,
        "DMatrix": xgb.DMatrix(X_VALID, qid=QID_VALID),
        "Pool": catboost.Pool(X_VALID, group_id=QID_VALID),
    }[kind]
    found = ltr.learning_curve(model, features, Y_VALID, metrics=METRICS)
    assert_array_equal(found.values("data", "map")[-1], of_scores(model.predict(frame if kind == "frame" else X_VALID)))
    assert_array_equal(values_of(curve(model, features)), values_of(found))
    assert_array_equal(curve(model, features).qid("data"), np.unique(QID_VALID))
    with pytest.raises(ltr.LtrValueError, match="X holds other queries than qid: the first row that differs is row 1."):
        ltr.learning_curve(model, features, Y_VALID, qid=np.arange(len(Y_VALID)), metrics="map")
    with pytest.raises(ltr.LtrValueError, match="X holds other queries than group"):
        ltr.learning_curve(model, features, Y_VALID, group=VALID.group[::-1], metrics="map")


@pytest.mark.parametrize("kind", ["DMatrix", "Pool"])
def test_weights_and_labels_that_the_data_of_a_host_have(kind: str) -> None:
    """The means are those that the training would have logged; CatBoost's Pool has a weight for each row."""
    of_query = np.random.default_rng(0).gamma(0.5, size=30) + 0.01
    of_row = np.repeat(of_query, VALID.group).astype(np.float32)
    if kind == "DMatrix":
        model, data = model_of("XGBoost"), xgb.DMatrix(X_VALID, Y_VALID, qid=QID_VALID, weight=of_query)
    else:
        model, data = model_of("CatBoost"), catboost.Pool(X_VALID, Y_VALID, group_id=QID_VALID, weight=of_row)
    found = ltr.learning_curve(model, data, Y_VALID, metrics="map").learning_curve("data", "map")
    weighted = of_query.astype(np.float32)
    expected = ltr.evaluate(Y_VALID, model.predict(X_VALID), qid=QID_VALID, metrics="map", query_weight=weighted)
    assert found.mean[-1] == pytest.approx(expected["map"], rel=1e-12)
    with pytest.raises(ltr.LtrValueError, match="X holds weights, and sample_weight was passed, too"):
        ltr.learning_curve(model, data, Y_VALID, metrics="map", sample_weight=of_row)
    with pytest.raises(ltr.LtrValueError, match="y differs from the labels that X holds"):
        ltr.learning_curve(model, data, Y_VALID[::-1], metrics="map")


def test_files_are_models_with_all_their_rounds(tmp_path: Path) -> None:
    path, booster = tmp_path / "model.txt", model_of("LightGBM").booster_
    booster.save_model(path)
    turned = pd.DataFrame(X_VALID, columns=booster.feature_name()).iloc[:, ::-1].assign(more=1)
    for file, features in ((path, X_VALID), (str(path), turned)):
        assert_array_equal(values_of(curve(file, features)), values_of(curve(booster)))
    with pytest.raises(ltr.LtrValueError, match="has 20 features, and X has the shape"):
        curve(path, X_VALID[:, 1:])


def test_a_file_of_xgboost_has_the_rounds_after_the_best_one(tmp_path: Path) -> None:
    ranker = estimator_of("XGBRanker", 60, early_stopping_rounds=3, learning_rate=1)
    ranker.fit(X, Y, qid=QID, eval_set=[(X_VALID, Y_VALID)], eval_qid=[QID_VALID], verbose=False)
    n_trained = ranker.get_booster().num_boosted_rounds()
    assert ranker.best_iteration + 1 == n_trained - 3
    ranker.save_model(tmp_path / "model.json")
    rounds = [of_scores(ranker.predict(X_VALID, iteration_range=(0, i + 1))) for i in range(n_trained)]
    for model in (ranker, tmp_path / "model.json"):
        assert_array_equal(curve(model).values("data", "map"), rounds)


@pytest.mark.filterwarnings("ignore:.*is deprecated:UserWarning")  # of XGBoost's boosters, since 3.4
@pytest.mark.parametrize("kind", ["LightGBM's dart", "XGBoost's dart", "XGBoost's gblinear"])
def test_boosters_without_rounds_are_refused(kind: str, tmp_path: Path) -> None:
    host, booster = kind.split("'s ")
    if host == "LightGBM":
        model, _ = trained(params={"boosting": booster, "drop_rate": 0.9, "skip_drop": 0.0})
    else:
        params = {"booster": booster} | ({"rate_drop": 0.5} if booster == "dart" else {"updater": "coord_descent"})
        model = xgb.train(params, xgb.DMatrix(X, Y), 3)
    path = tmp_path / ("model.txt" if host == "LightGBM" else "model.ubj")
    model.save_model(path)
    for given in (model, path):
        with pytest.raises(ltr.LtrValueError, match=f"A {booster} booster"):
            curve(given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curve(lgb.LGBMRanker()), "LGBMRanker is not fitted"),
        (lambda: curve(catboost.CatBoostRanker()), "CatBoostRanker is not fitted"),
        (lambda: curve(LinearRegression()), r"needs a fitted model of LightGBM, XGBoost or CatBoost.*Got sklearn\."),
        (lambda: curve(lgb.CVBooster()), "Got lightgbm.*CVBooster"),
        (lambda: curve(model_of("LightGBM"), lgb.Dataset(X_VALID)), "X must be a table of features.*Got a Dataset"),
        (lambda: curve(model_of("CatBoost"), catboost.Pool(X_VALID, baseline=START[:, None])), "base_margin="),
        (lambda: curve(model_of("LightGBM"), X_VALID[:-1]), "X and y must have the same number of rows"),
        (lambda: curve(model_of("LightGBM"), base_margin=START * np.nan), "base_margin must be finite"),
        (lambda: ltr.learning_curve(model_of("LightGBM"), X_VALID, Y_VALID * 0, qid=QID_VALID), "undefined for all 30"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        call()


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_refused_with_every_host(host: str) -> None:
    classifier = estimator_of(HOSTS[host].replace("Ranker", "Classifier")).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ltr.LtrValueError, match=r"one score per row\. The model gives 3"):
        curve(classifier)
    with pytest.raises(ltr.LtrValueError, match="features|CatBoost cannot predict"):
        curve(model_of(host), X_VALID[:, :-1])
    with pytest.raises(ltr.LtrValueError, match=f"{host} cannot predict X"):
        curve(model_of(host), pd.DataFrame(X_VALID).assign(**{"0": "text"}).drop(columns=0))
