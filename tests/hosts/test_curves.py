"""`learning_curve`: the log of a finished training, against the log that the training itself wrote."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

METRICS = ["ndcg@10", "map", "err@10", "kendall"]
N_ROUNDS = 23
LIGHTGBM = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
X, Y, QID = ltr.make_ranking(n_queries=40, documents=12, random_state=0)
X_VALID, Y_VALID, QID_VALID = ltr.make_ranking(n_queries=30, documents=12, random_state=1)
X, X_VALID = X.round(1), X_VALID.round(1)  # so that scores tie
GROUP, GROUP_VALID = ltr.qid_to_group(QID), ltr.qid_to_group(QID_VALID)


def train_lightgbm(
    parameters: dict[str, Any] | None = None, *, convert: Any = np.asarray, n_rounds: int = N_ROUNDS, **valid: Any
) -> tuple[lgb.Booster, ltr.PerQueryLog]:
    """Train, and return the booster and the log of the validation set."""
    parameters, log = LIGHTGBM | (parameters or {}), ltr.PerQueryLog(names=["valid"])
    train = lgb.Dataset(convert(X), Y, group=GROUP, categorical_feature=parameters.pop("categorical_feature", "auto"))
    data = lgb.Dataset(convert(X_VALID), Y_VALID, group=GROUP_VALID, reference=train, **valid)
    return lgb.train(parameters, train, n_rounds, valid_sets=[data], feval=feval(METRICS, log=log)), log


def curve(model: Any, features: Any = X_VALID, **options: Any) -> ltr.PerQueryLog:
    return ltr.learning_curve(model, features, Y_VALID, qid=QID_VALID, **{"metrics": METRICS, **options})


def assert_same(found: ltr.PerQueryLog, log: ltr.PerQueryLog, metrics: list[str] = METRICS, atol: float = 0) -> None:
    for metric in metrics:
        expected = log.values("valid", metric)
        np.testing.assert_allclose(found.values("data", metric), expected, rtol=0, atol=atol)
        assert len(np.unique(expected, axis=0)) > 3  # the training moved


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"objective": "rank_xendcg", "bagging_fraction": 0.5, "bagging_freq": 1},
        {"objective": "regression"},
        {"linear_tree": True, "objective": "regression"},
        {"categorical_feature": [0, 1], "min_data_per_group": 1, "cat_smooth": 1},
        {"extra_trees": True, "learning_rate": 0.9},
        {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
    ],
    ids=lambda parameters: ",".join(map(str, parameters.values())) or "lambdarank",
)
@pytest.mark.parametrize("trees_in_one_call", [8, 1000])
def test_lightgbm_repeats_the_log_of_its_training(
    parameters: dict[str, Any], trees_in_one_call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ltr_metrics.lightgbm.lightgbm_rounds.CELLS", trees_in_one_call * len(X_VALID))

    def nonnegative(table: Any) -> Any:
        return abs(table) if "categorical_feature" in parameters else table

    booster, log = train_lightgbm(parameters, convert=nonnegative)
    found = curve(booster, nonnegative(X_VALID))
    assert found.names == ("data",)
    assert found.rounds("data").tolist() == list(range(N_ROUNDS))
    assert found.qid("data").tolist() == list(dict.fromkeys(QID_VALID.tolist()))
    assert_same(found, log)


def test_lightgbm_starts_from_the_init_score() -> None:
    start = np.random.default_rng(0).normal(0, 2, len(Y_VALID))
    booster, log = train_lightgbm(init_score=start)
    assert_same(curve(booster, base_margin=start), log)
    assert not np.array_equal(curve(booster).values("data", "map"), log.values("valid", "map"))


def test_lightgbm_predicts_frames_with_categories_and_sparse_matrices() -> None:
    pandas = pytest.importorskip("pandas")

    def frame(table: Any) -> Any:
        names = [f"f {i}" for i in range(table.shape[1])]
        return pandas.DataFrame(table, columns=names).assign(**{"f 0": pandas.Categorical(table[:, 0].round())})

    booster, log = train_lightgbm(convert=frame)
    assert_same(curve(booster, frame(X_VALID)), log)
    turned = frame(X_VALID).iloc[:, ::-1]
    with pytest.raises(ltr.LtrValueError, match="column 0 is 'f_.*trained on 'f_0' there"):
        curve(booster, turned)
    booster, log = train_lightgbm(convert=sparse.csr_matrix)
    assert_same(curve(booster, sparse.csr_matrix(X_VALID)), log)


@pytest.mark.parametrize("keep", [True, False])
def test_rounds_after_the_best_one_are_evaluated_if_the_model_has_them(keep: bool) -> None:
    train = lgb.Dataset(X, Y, group=GROUP)
    data = lgb.Dataset(X_VALID, Y_VALID, group=GROUP_VALID, reference=train)
    log = ltr.PerQueryLog(names=["valid"])
    booster = lgb.train(
        LIGHTGBM | {"learning_rate": 0.5},
        train,
        100,
        valid_sets=[data],
        feval=feval(METRICS, log=log),
        callbacks=[lgb.early_stopping(4, verbose=False, first_metric_only=True)],
        keep_training_booster=keep,
    )
    n_trained, n_best = len(log.values("valid", "map")), booster.best_iteration
    assert n_trained == n_best + 4
    found = curve(booster).values("data", "map")
    assert_array_equal(found, log.values("valid", "map")[: n_trained if keep else n_best])


def train_xgboost(parameters: dict[str, Any], **valid: Any) -> tuple[Any, ltr.PerQueryLog]:
    xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
    from ltr_metrics.xgboost import Monitor

    log, options = ltr.PerQueryLog(), {"max_depth": 3, "nthread": 1, "seed": 0}
    monitor = Monitor(METRICS, X_VALID, Y_VALID, qid=QID_VALID, log=log, **valid)
    data = xgb.DMatrix(X, Y, qid=QID)
    return xgb.train(options | parameters, data, N_ROUNDS, callbacks=[monitor]), log


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "rank:ndcg"},
        {"objective": "reg:squarederror", "subsample": 0.5},
        {"objective": "rank:pairwise", "num_parallel_tree": 3, "colsample_bynode": 0.5},
    ],
    ids=lambda parameters: parameters["objective"],
)
def test_xgboost_repeats_the_log_of_its_training(parameters: dict[str, Any]) -> None:
    booster, log = train_xgboost(parameters)
    assert_same(curve(booster), log)
    start = np.random.default_rng(0).normal(0, 1, len(Y_VALID))
    booster, log = train_xgboost(parameters, base_margin=start)
    assert_same(curve(booster, base_margin=start), log)
    import xgboost as xgb

    assert_same(curve(booster, xgb.DMatrix(X_VALID, base_margin=start)), log)
    with pytest.raises(ltr.LtrTypeError, match="Pass base_margin to the DMatrix"):
        curve(booster, xgb.DMatrix(X_VALID), base_margin=start)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss_function": "YetiRank"},
        {"loss_function": "RMSE"},
        {"loss_function": "RMSE", "model_shrink_rate": 0.2, "boost_from_average": False},
        {"loss_function": "QueryRMSE", "boosting_type": "Ordered"},
    ],
    ids=lambda parameters: "-".join(map(str, parameters.values())),
)
def test_catboost_repeats_its_training(parameters: dict[str, Any]) -> None:
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    from ltr_metrics.catboost import EvalMetric

    valid, log = catboost.Pool(X_VALID, Y_VALID, group_id=QID_VALID), ltr.PerQueryLog(names=["valid"])
    settings = {"iterations": N_ROUNDS, "verbose": 0, "thread_count": 1, "use_best_model": False, "depth": 4}
    settings |= {"eval_metric": EvalMetric(METRICS, valid, log=log), "random_seed": 0, "allow_writing_files": False}
    model = catboost.CatBoost(settings | parameters)
    model.fit(catboost.Pool(X, Y, group_id=QID), eval_set=valid)
    for features in (X_VALID, valid):
        assert_same(curve(model, features), log, atol=1e-12)


HOSTS = ["lightgbm", "xgboost", "catboost"]


@cache
def model_of(host: str) -> Any:
    """A fitted ranker of a host; the test is skipped without the host."""
    library = pytest.importorskip(host, reason=f"{host} is not installed")
    if host == "lightgbm":
        return train_lightgbm()[0]
    if host == "xgboost":
        return library.XGBRanker(n_estimators=N_ROUNDS, n_jobs=1, max_depth=3).fit(X, Y, qid=QID)
    settings = {"iterations": N_ROUNDS, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return library.CatBoostRanker(**settings).fit(X, Y, group_id=QID)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("every", [1, 5, 10, 23, 100])
def test_every_selects_rounds_and_changes_no_value(host: str, every: int) -> None:
    every_round, found = curve(model_of(host)), curve(model_of(host), every=every)
    rounds = sorted({*range(every - 1, N_ROUNDS, every), N_ROUNDS - 1})
    assert found.rounds("data").tolist() == rounds
    for metric in METRICS:
        assert_array_equal(found.values("data", metric), every_round.values("data", metric)[rounds])
    best, whole = found.best_round("data", "map"), every_round.best_round("data", "map")
    assert best.rounds.tolist() == rounds
    assert best.n_rounds == rounds[best.round] + 1
    assert best.curve.tolist() == whole.curve[rounds].tolist()
    assert best.curve[best.best] == whole.curve[rounds].max()
    assert found.learning_curve("data", "map").n_rounds == N_ROUNDS
    assert found.learning_curve("data", "map").to_dict()["rounds"] == best.to_dict()["rounds"] == rounds


@pytest.mark.parametrize("host", HOSTS)
def test_the_last_round_is_what_the_model_predicts(host: str) -> None:
    model, weight = model_of(host), np.random.default_rng(0).random(30)
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {
        "retrieved": rng.random(len(Y_VALID)) < 0.9,
        "docid": np.arange(len(Y_VALID)).astype(str),
        "query_weight": weight,
        "ties": "docid",
        "no_relevant": 0,
        "convention": "trec_eval",
    }
    found = curve(model, name="test", metrics=["ndcg@10", "map"], **options)
    expected = ltr.evaluate(Y_VALID, model.predict(X_VALID), qid=QID_VALID, metrics=["ndcg@10", "map"], **options)
    for metric in ("ndcg@10", "map"):
        assert_array_equal(found.values("test", metric)[-1], expected.per_query[metric])
        assert found.best_round("test", metric).curve[-1] == expected[metric]
    by_group = ltr.learning_curve(model, X_VALID.tolist(), Y_VALID, group=GROUP_VALID, metrics="map", every=100)
    plain = ltr.evaluate(Y_VALID, model.predict(X_VALID), qid=QID_VALID, metrics="map")
    assert_array_equal(by_group.values("data", "map")[0], plain.per_query["map"])


def test_what_is_missing_is_what_the_estimator_says() -> None:
    xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
    model = xgb.XGBRanker(n_estimators=5, n_jobs=1, missing=0.0).fit(X, Y, qid=QID)
    expected = ltr.evaluate(Y_VALID, model.predict(X_VALID), qid=QID_VALID, metrics="map")
    assert_array_equal(curve(model).values("data", "map")[-1], expected.per_query["map"])


@pytest.mark.parametrize("host", HOSTS)
def test_queryrankers_pipelines_and_searches_are_opened(host: str) -> None:
    pandas = pytest.importorskip("pandas")
    estimator = lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1) if host == "lightgbm" else model_of(host)
    names = [f"f{i}" for i in range(X.shape[1])]
    frame, valid = (pandas.DataFrame(table, columns=names) for table in (X, X_VALID))
    pipeline = make_pipeline(StandardScaler(), estimator)
    ranker = QueryRanker(pipeline, qid="query").fit(frame.assign(query=QID), Y)
    expected = ltr.evaluate(Y_VALID, ranker.predict(valid), qid=QID_VALID, metrics="map").per_query["map"]
    by_column = ltr.learning_curve(ranker, valid.assign(query=QID_VALID), Y_VALID, metrics="map")
    assert_array_equal(by_column.values("data", "map")[-1], expected)
    for model in (ranker, ranker.estimator_):
        assert_array_equal(curve(model, valid).values("data", "map")[-1], expected)
    scorer, ids = make_scorer("map", qid="query"), frame.assign(query=QID)
    search = GridSearchCV(ranker, {"qid": ["query"]}, scoring=scorer, cv=GroupKFold(2)).fit(ids, Y, groups=QID)
    by_search = ltr.learning_curve(search, valid.assign(query=QID_VALID), Y_VALID, metrics="map")
    assert_array_equal(by_search.values("data", "map"), by_column.values("data", "map"))
    with pytest.raises(ltr.LtrTypeError, match="no column 'query'"):
        ltr.learning_curve(ranker, valid, Y_VALID, metrics="map")
    with pytest.raises(ltr.LtrValueError, match=r"missing|should match|features"):
        curve(ranker, valid.iloc[:, 1:])


@pytest.mark.parametrize("kind", ["frame", "DMatrix", "Pool"])
def test_queries_that_the_data_of_a_host_have(kind: str) -> None:
    host = "catboost" if kind == "Pool" else "xgboost"
    model, library = model_of(host), pytest.importorskip(host)
    pandas = pytest.importorskip("pandas")
    features = {
        "frame": lambda: pandas.DataFrame(X_VALID).add_prefix("f").assign(qid=QID_VALID),
        "DMatrix": lambda: library.DMatrix(X_VALID, qid=QID_VALID),
        "Pool": lambda: library.Pool(X_VALID, group_id=QID_VALID),
    }[kind]()
    if kind == "frame":
        model = library.XGBRanker(n_estimators=N_ROUNDS, n_jobs=1, max_depth=3)
        model.fit(pandas.DataFrame(X).add_prefix("f").assign(qid=QID), Y)
    expected = ltr.evaluate(Y_VALID, model.predict(features if kind != "DMatrix" else X_VALID), qid=QID_VALID)
    found = ltr.learning_curve(model, features, Y_VALID)
    for metric, values in expected.per_query.items():
        assert_array_equal(found.values("data", metric)[-1], values)
    assert_array_equal(curve(model, features).values("data", "map"), found.values("data", "map"))


def test_files_are_models_with_all_their_rounds(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "model.txt"
    model_of("lightgbm").save_model(path)
    expected = curve(model_of("lightgbm")).values("data", "map")
    assert_array_equal(curve(path).values("data", "map"), expected)
    assert_array_equal(curve(str(path)).values("data", "map"), expected)
    names = model_of("lightgbm").feature_name()
    turned = pandas.DataFrame(X_VALID, columns=names).iloc[:, ::-1].assign(more=1)
    assert_array_equal(curve(path, turned).values("data", "map"), expected)
    with pytest.raises(ltr.LtrValueError, match="has 20 features, and X has the shape"):
        curve(path, X_VALID[:, 1:])


def test_a_file_of_xgboost_has_the_rounds_after_the_best_one(tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
    ranker = xgb.XGBRanker(n_estimators=60, n_jobs=1, early_stopping_rounds=3, learning_rate=1)
    ranker.fit(X, Y, qid=QID, eval_set=[(X_VALID, Y_VALID)], eval_qid=[QID_VALID], verbose=False)
    n_trained = ranker.get_booster().num_boosted_rounds()
    assert ranker.best_iteration + 1 == n_trained - 3
    ranker.save_model(tmp_path / "model.json")
    from_file = curve(tmp_path / "model.json")
    assert len(from_file.rounds("data")) == n_trained
    for i, expected in enumerate(curve(ranker).values("data", "map")):
        scores = ranker.predict(X_VALID, iteration_range=(0, i + 1))
        result = ltr.evaluate(Y_VALID, scores, qid=QID_VALID, metrics="map")
        assert_array_equal(result.per_query["map"], expected)
        assert_array_equal(from_file.values("data", "map")[i], expected)


def test_dart_is_refused_and_why(tmp_path: Path) -> None:
    dart = {"boosting": "dart", "drop_rate": 0.9, "skip_drop": 0.0}
    booster, log = train_lightgbm(dart)
    cut = [booster.predict(X_VALID, raw_score=True, num_iteration=i + 1) for i in range(N_ROUNDS)]
    values = [ltr.evaluate(Y_VALID, scores, qid=QID_VALID, metrics="map").per_query["map"] for scores in cut]
    assert not np.allclose(values, log.values("valid", "map"))  # so it cannot be exact
    booster.save_model(tmp_path / "model.txt")
    again = lgb.Booster(model_file=tmp_path / "model.txt")
    for model in (booster, again, tmp_path / "model.txt"):
        with pytest.raises(ltr.LtrValueError, match="dart booster has no learning curve"):
            curve(model)


@pytest.mark.filterwarnings("ignore:.*is deprecated:UserWarning")  # of both boosters, since XGBoost 3.4
@pytest.mark.parametrize(("kind", "reason"), [("dart", "dart booster"), ("gblinear", "gblinear booster")])
def test_xgboost_has_boosters_without_rounds(kind: str, reason: str, tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
    parameters = {"booster": kind} | ({"rate_drop": 0.5} if kind == "dart" else {"updater": "coord_descent"})
    booster = xgb.train(parameters, xgb.DMatrix(X, Y), 3)
    booster.save_model(tmp_path / "model.ubj")
    for model in (booster, tmp_path / "model.ubj"):
        with pytest.raises(ltr.LtrValueError, match=f"A {reason}"):
            curve(model)


@pytest.mark.parametrize("host", HOSTS)
def test_several_scores_a_row_are_refused(host: str) -> None:
    library = pytest.importorskip(host, reason=f"{host} is not installed")
    if host == "lightgbm":
        model = library.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)
    elif host == "xgboost":
        model = library.XGBClassifier(n_estimators=2, n_jobs=1)
    else:
        model = library.CatBoostClassifier(iterations=2, verbose=0, thread_count=1, allow_writing_files=False)
    model.fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ltr.LtrValueError, match=r"one score per row\. The model gives 3"):
        curve(model)


def without_curve(kind: str) -> tuple[Any, Any]:
    """A model and data that have no curve."""
    if kind == "dataset":
        return model_of("lightgbm"), lgb.Dataset(X_VALID)
    if kind == "baseline":
        catboost = pytest.importorskip("catboost", reason="catboost is not installed")
        return model_of("catboost"), catboost.Pool(X_VALID, baseline=np.zeros((len(Y_VALID), 1)))
    return type(model_of(kind))(), X_VALID


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (lgb.LGBMRanker(), ltr.LtrValueError, "LGBMRanker is not fitted"),
        (LinearRegression(), ltr.LtrTypeError, r"needs a fitted model of LightGBM, XGBoost or CatBoost.*Got sklearn\."),
        (lgb.CVBooster(), ltr.LtrTypeError, r"needs a fitted model.*Got lightgbm\.engine\.CVBooster"),
        (None, ltr.LtrTypeError, r"Got builtins\.NoneType"),
        ("xgboost", ltr.LtrValueError, "is not fitted"),
        ("catboost", ltr.LtrValueError, "is not fitted"),
        ("dataset", ltr.LtrTypeError, "X must be a table of features.*Got a Dataset"),
        ("baseline", ltr.LtrValueError, r"The Pool has a baseline.*base_margin="),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_other_models_and_data_are_refused(model: Any, error: type[Exception], message: str) -> None:
    features = X_VALID
    if isinstance(model, str):
        model, features = without_curve(model)
    with pytest.raises(error, match=message):
        curve(model, features)


@pytest.mark.parametrize("host", HOSTS)
def test_wrong_data_are_refused(host: str) -> None:
    model, n = model_of(host), len(Y_VALID)
    with pytest.raises(ltr.LtrValueError, match="features|CatBoost cannot predict"):
        curve(model, X_VALID[:, :-1])
    with pytest.raises(ltr.LtrValueError, match=f"X and y must have the same number of rows: got {n - 1} and {n}"):
        curve(model, X_VALID[:-1])
    with pytest.raises(ltr.LtrTypeError, match="Pass either qid"):
        ltr.learning_curve(model, X_VALID, Y_VALID)
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame(X_VALID).assign(**{"0": "text"}).drop(columns=0)
    with pytest.raises(ltr.LtrValueError, match="(LightGBM|XGBoost|CatBoost) cannot predict X"):
        curve(model, text)
    for every in (0, 1.5, True):
        with pytest.raises(ltr.LtrValueError, match="every must be a whole number of at least 1"):
            curve(model, every=every)
    with pytest.raises(ltr.LtrTypeError, match="name must be text"):
        curve(model, name="")
    with pytest.raises(ltr.LtrValueError, match="base_margin must be finite: got nan at row 3"):
        curve(model, base_margin=np.where(np.arange(len(Y_VALID)) == 3, np.nan, 0))
    with pytest.raises(ltr.LtrValueError, match="is undefined for all 30 queries"):
        ltr.learning_curve(model, X_VALID, np.zeros(len(Y_VALID)), qid=QID_VALID, metrics="map")
