"""The LightGBM adapters: every way in which LightGBM calls a metric, and everything it can get wrong."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from lightgbm_fit import validation_sets
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.sklearn import make_scorer

pytestmark = pytest.mark.integration

METRICS = ["err@10", "ndcg_exp@10", "ndcg_lin@10", "map", "mrr"]
PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 2, "seed": 0, "learning_rate": 0.3}


@pytest.fixture(scope="module")
def split() -> tuple[Any, ...]:
    X, y, qid = ltr.make_ranking(n_queries=150, documents=15, random_state=0)
    return ltr.train_test_split(X, y, qid, test_size=0.3, random_state=0)


def datasets(split: tuple[Any, ...], **options: Any) -> tuple[lgb.Dataset, lgb.Dataset]:
    X, Xv, y, yv, qid, qidv = split
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), **options)
    return train, lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train, **options)


def test_values_in_the_log_equal_an_evaluation_of_the_same_model(split: tuple[Any, ...]) -> None:
    train, valid = datasets(split, free_raw_data=False)
    history: dict = {}
    booster = lgb.train(
        PARAMS,
        train,
        12,
        [train, valid],
        ["training", "valid"],
        feval(METRICS),
        callbacks=[lgb.record_evaluation(history)],
    )
    X, Xv, y, yv, qid, qidv = split
    for round_ in (0, 5, 11):
        for name, rows in (("training", (X, y, qid)), ("valid", (Xv, yv, qidv))):
            score = booster.predict(rows[0], num_iteration=round_ + 1)
            expected = ltr.evaluate(rows[1], score, qid=rows[2], metrics=METRICS).mean
            assert {m: values[round_] for m, values in history[name].items()} == expected


def test_early_stopping_by_the_first_metric(split: tuple[Any, ...]) -> None:
    train, valid = datasets(split)
    history: dict = {}
    callbacks = [lgb.early_stopping(5, first_metric_only=True, verbose=False), lgb.record_evaluation(history)]
    booster = lgb.train(PARAMS, train, 200, [valid], feval=feval(METRICS), callbacks=callbacks)
    err = history["valid_0"]["err@10"]
    assert booster.best_iteration == int(np.argmax(err)) + 1 < 200
    assert booster.best_score["valid_0"]["err@10"] == max(err)


@pytest.mark.parametrize("several", [list, tuple])
def test_several_callables_and_lightgbms_own_metrics_beside_them(split: tuple[Any, ...], several: type) -> None:
    train, valid = datasets(split)
    history: dict = {}
    both = several([feval("mrr"), feval("err@5", ties="worst")])
    lgb.train(
        PARAMS | {"metric": "ndcg", "eval_at": [3]},
        train,
        3,
        [valid],
        feval=both,
        callbacks=[lgb.record_evaluation(history)],
    )
    assert list(history["valid_0"]) == ["ndcg@3", "mrr", "err@5"]


def test_cv_keeps_queries_whole(split: tuple[Any, ...]) -> None:
    train, _ = datasets(split)
    log = ltr.PerQueryLog()
    result = lgb.cv(PARAMS, train, 4, nfold=3, feval=feval(["ndcg@10", "mrr"], log=log))
    assert [len(v) for v in result.values()] == [4] * 4
    assert set(result) >= {"valid ndcg_exp@10-mean", "valid mrr-mean"}
    assert sum(len(log.qid(name)) for name in log.names) == len(ltr.qid_to_group(split[4]))
    folds = np.array([log.values(name, "mrr") for name in log.names])
    per_fold = [np.nanmean(values[-1]) for values in folds]
    assert result["valid mrr-mean"][-1] == pytest.approx(np.mean(per_fold), rel=1e-14)


def test_cv_that_cuts_queries_is_refused(split: tuple[Any, ...]) -> None:
    train, _ = datasets(split)
    with pytest.raises(ltr.LtrValueError, match=r"This subset holds \d+ of the \d+ documents of query \d+.*GroupKFold"):
        lgb.cv(PARAMS | {"objective": "regression"}, train, 2, nfold=3, feval=feval("ndcg@10"), stratified=False)


def test_labels_are_laid_out_once_and_dropped_with_their_dataset(split: Any, cached_queries: Any) -> None:
    train, valid = datasets(split)
    metrics = feval(METRICS)
    booster = lgb.train(PARAMS, train, 6, [train, valid], feval=metrics)
    assert len(cached_queries) == 2
    del booster, train, valid
    gc.collect()
    assert [ref() for ref in cached_queries] == [None, None]


@pytest.mark.parametrize("change", ["set_label", "set_field", "set_group", "set_weight", "weights removed"])
def test_a_changed_dataset_is_noticed(split: tuple[Any, ...], change: str) -> None:
    _, valid = datasets(split)
    valid.construct()
    metrics = feval(["dcg_lin", "p@3"])
    score = np.asarray(split[1])[:, 0]
    y, qid = np.asarray(split[3]), np.asarray(split[5])
    expected: dict[str, Any] = {"group": ltr.qid_to_group(qid), "sample_weight": None}
    if change == "weights removed":
        valid.set_weight(np.where(qid % 2, 0.5, 2.0))
    metrics(score, valid)
    if change == "weights removed":
        version = valid.version
        valid.set_field("weight", None)
        assert valid.version == version  # LightGBM tells nobody
    elif change in ("set_label", "set_field"):
        y = (y + 1) % 3
        valid.set_label(y) if change == "set_label" else valid.set_field("label", y)
    elif change == "set_group":
        expected["group"] = [2, len(y) - 2]
        valid.set_group(expected["group"])
    else:
        expected["sample_weight"] = np.where(qid % 2, 0.5, 2.0)
        valid.set_weight(expected["sample_weight"])
    after = {name: value for name, value, _ in metrics(score, valid)}
    assert after == ltr.evaluate(y, score, metrics=["dcg_lin", "p@3"], **expected).mean


def test_the_rankers_eval_metric(split: tuple[Any, ...]) -> None:
    X, Xv, y, yv, qid, qidv = split
    ranker = lgb.LGBMRanker(n_estimators=15, metric="None", verbose=-1, n_jobs=2)
    weight = np.where(qidv % 2, 0.5, 2.0)
    log = ltr.PerQueryLog()
    ranker.fit(
        X, y, group=ltr.qid_to_group(qid), **validation_sets((Xv, yv)), eval_group=[ltr.qid_to_group(qidv)],
        eval_sample_weight=[weight], eval_metric=eval_metric(METRICS, log=log),
        callbacks=[lgb.early_stopping(3, verbose=False)],
    )  # fmt: skip
    history = ranker.evals_result_["valid_0"]
    best = ranker.best_iteration_ - 1  # the model keeps no tree beyond
    expected = ltr.evaluate(yv, ranker.predict(Xv), qid=qidv, metrics=METRICS, sample_weight=weight)
    assert {name: values[best] for name, values in history.items()} == expected.mean
    np.testing.assert_array_equal(log.values("valid_0", "mrr")[best], expected.per_query["mrr"])


def test_arrays_changed_in_place_are_noticed() -> None:
    metrics = eval_metric("dcg_lin")
    y, score, group = np.array([0.0, 1, 2, 0]), np.array([1.0, 2, 3, 4]), np.array([2, 2])
    assert metrics(y, score, None, group) == metrics(y, score, None, group)
    y[0] = 4
    assert metrics(y, score, None, group)[0][1] == ltr.evaluate(y, score, group=group, metrics="dcg_lin")["dcg_lin"]
    weight = np.array([1.0, 1, 1, 1])
    assert metrics(y, score, weight, group)
    weight[:2] = 3
    assert (
        metrics(y, score, weight, group)[0][1]
        == ltr.evaluate(y, score, group=group, metrics="dcg_lin", query_weight=[3, 1])["dcg_lin"]
    )
    group[:] = [1, 3]
    assert metrics(y, score, None, group)[0][1] == ltr.evaluate(y, score, group=group, metrics="dcg_lin")["dcg_lin"]


def test_prepared_arrays_are_dropped_with_their_labels() -> None:
    metrics = eval_metric("dcg_lin")
    y = np.array([0.0, 1, 2, 0])
    metrics(y, y, None, np.array([2, 2]))
    ((_, _, prepared),) = metrics._cache_by_name[None]._entries.values()
    queries = weakref.ref(prepared)
    del y, prepared
    gc.collect()
    assert queries() is None


def test_adapters_can_be_pickled(split: tuple[Any, ...]) -> None:
    _, valid = datasets(split)
    valid.construct()
    score = np.asarray(split[1])[:, 0]
    metrics = feval(["mrr", "ndcg_lin@5"], ties="worst", no_relevant=0)
    expected = metrics(score, valid)
    assert pickle.loads(pickle.dumps(metrics))(score, valid) == expected
    arrays = eval_metric("mrr")
    y, group = np.array([0.0, 1]), np.array([2])
    assert pickle.loads(pickle.dumps(arrays))(y, y, None, group) == arrays(y, y, None, group)
    assert repr(metrics) == "DatasetMetrics(mrr, ndcg_lin@5)"


@pytest.mark.parametrize("rel", [0.7, 0.9])
def test_float32_labels_reach_a_threshold_as_the_users_labels_do(split: tuple[Any, ...], rel: float) -> None:
    score, qid = np.asarray(split[1])[:, 0], np.asarray(split[5])
    y = np.choose(np.asarray(split[3]), [0, 0.1, 0.7, 0.9, 1.0])
    valid = lgb.Dataset(split[1], y, group=ltr.qid_to_group(qid)).construct()
    names = [f"map(rel={rel})@5", f"precision(rel={rel})@5"]
    logged = {name: value for name, value, _ in feval(names)(score, valid)}
    assert logged == ltr.evaluate(y, score, qid=qid, metrics=names).mean
    assert logged[names[1]] > 0


def l2(ranking: ltr.Ranking) -> np.ndarray:
    """Return a metric that has, by its function's name, the name of one of LightGBM's."""
    return np.ones(len(ranking.n_ranked))


def mrr_of_the_users_own(preds: np.ndarray, dataset: lgb.Dataset) -> tuple[str, float, bool]:
    return "mrr", 0.0, True


class TestNames:
    """LightGBM keeps one history for a name, so that map@10 would hold its own values and ours in turn."""

    def train(self, split: tuple[Any, ...], params: dict[str, Any], metrics: Any) -> list[str]:
        train, valid = datasets(split)
        history: dict = {}
        without = {key: value for key, value in PARAMS.items() if key != "metric"}
        lgb.train(without | params, train, 2, [valid], feval=metrics, callbacks=[lgb.record_evaluation(history)])
        assert {len(values) for values in history["valid_0"].values()} == {2}
        return list(history["valid_0"])

    @pytest.mark.parametrize(
        ("params", "metrics", "name"),
        [
            ({"metric": "map", "eval_at": [10]}, feval("map@10"), "map@10"),
            ({"metrics": "ndcg,mean_average_precision", "map_at": "3,10"}, feval(["mrr", "map@3"]), "map@3"),
            ({"metric_types": {"map"}}, feval("map@5"), "map@5"),  # eval_at is 1 to 5
            ({"metric": ["l2", "None"]}, feval(ltr.FunctionMetric(function=l2)), "l2"),
            ({"objective": "regression"}, feval(ltr.FunctionMetric(function=l2)), "l2"),  # the objective's own
            ({"metric": "None"}, [feval(["err", "mrr"]), feval("mrr", ties="worst")], "mrr"),
            ({"metric": "None"}, [mrr_of_the_users_own, feval("mrr")], "mrr"),
        ],
        ids=["map", "alias", "default", "own function", "no metric", "two of ours", "the user's"],
    )
    def test_a_name_in_use_is_refused(
        self, split: tuple[Any, ...], params: dict[str, Any], metrics: Any, name: str
    ) -> None:
        with pytest.raises(
            ltr.LtrValueError,
            match=f"^'{name}' of this data set is in the log.*metric=\"None\".*convention=.*leave one out",
        ):
            self.train(split, params, metrics)

    @pytest.mark.parametrize(
        ("params", "metrics", "logged"),
        [
            ({"metric": "map", "eval_at": [10]}, feval("map@3"), ["map@10", "map@3"]),
            ({"metric": "map", "eval_at": [10]}, feval("map@10", convention="lightgbm"),
                ["map@10", "map(rel=>0.5)@10"]),
            ({"metric": "ndcg", "eval_at": [10]}, feval("ndcg@10"), ["ndcg@10", "ndcg_exp@10"]),
            ({"metric": "None", "eval_at": [10]}, feval("map@10"), ["map@10"]),
            ({"metric": "custom"}, feval("map@5"), ["map@5"]),
            ({"metric": ""}, feval("map@1"), [*(f"ndcg@{k}" for k in range(1, 6)), "map@1"]),  # the objective's own
            ({"eval_at": [2]}, feval("map@2"), ["ndcg@2", "map@2"]),
            ({"metric": "None"}, [feval("mrr"), feval("map", ties="worst")], ["mrr", "map"]),
        ],
        ids=["cutoff", "convention", "ndcg", "None", "custom", "empty", "no metric", "two of ours"],
    )  # fmt: skip
    def test_other_names_are_not(
        self, split: tuple[Any, ...], params: dict[str, Any], metrics: Any, logged: list[str]
    ) -> None:
        assert self.train(split, params, metrics) == logged

    def test_the_training_before_does_not_count(self, split: tuple[Any, ...]) -> None:
        """Dataset.params would tell otherwise: they stay those of the first training."""
        train, valid = datasets(split)
        own = {"metric": "map", "eval_at": [10]}
        lgb.train(PARAMS | own, train, 1, [valid])
        booster = lgb.train(PARAMS, train, 1, [valid], feval=feval("map@10"))
        assert list(booster.best_score["valid_0"]) == ["map@10"]
        assert valid.params["metric"] == "map"
        train, valid = datasets(split)
        lgb.train(PARAMS, train, 1, [valid])
        with pytest.raises(ltr.LtrValueError, match="'map@10' of this data set"):
            lgb.train(PARAMS | own, train, 1, [valid], feval=feval("map@10"))

    def test_a_function_that_renames_our_values(self, split: tuple[Any, ...]) -> None:
        ours = feval("map@5")
        renamed = lambda preds, dataset: [(f"our {name}", *rest) for name, *rest in ours(preds, dataset)]  # noqa: E731
        assert self.train(split, {"metric": "map", "eval_at": [5]}, renamed) == ["map@5", "our map@5"]

    def test_cv(self, split: tuple[Any, ...]) -> None:
        train, _ = datasets(split)
        with pytest.raises(ltr.LtrValueError, match="'map@5' of this data set"):
            lgb.cv(PARAMS, train, 2, nfold=3, metrics="map", feval=feval("map@5"))
        assert list(lgb.cv(PARAMS, train, 2, nfold=3, feval=feval("map@5"))) == ["valid map@5-mean", "valid map@5-stdv"]

    def test_the_rankers_eval_metric(self, split: tuple[Any, ...]) -> None:
        _, Xv, _, yv, _, qidv = split
        group = ltr.qid_to_group(qidv)

        def fit(*metrics: Any) -> list[str]:
            ranker = lgb.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1)
            given = validation_sets((Xv, yv)) | {"eval_group": [group], "eval_at": [3]}
            ranker.fit(Xv, yv, group=group, eval_metric=list(metrics), **given)
            return list(ranker.evals_result_["training"])

        for own in ("map", eval_metric("map@3", ties="worst")):
            with pytest.raises(ltr.LtrValueError, match="'map@3' of this data set.*of LGBMRanker too"):
                fit(own, eval_metric(["mrr", "map@3"]))
        assert fit("map", eval_metric("map@5")) == ["map@3", "ndcg@3", "map@5"]


class TestErrors:
    def test_a_dataset_without_groups(self) -> None:
        data = lgb.Dataset(np.random.default_rng(0).random((40, 2)), np.arange(40) % 2, params={"verbose": -1})
        with pytest.raises(ltr.LtrValueError, match="Dataset has no queries.*qid_to_group"):
            lgb.train(PARAMS | {"objective": "regression"}, data, 1, [data], feval=feval("mrr"))

    def test_no_query_with_a_relevant_document(self, split: tuple[Any, ...]) -> None:
        train, _ = datasets(split)
        valid = lgb.Dataset(split[1], np.zeros(len(split[3])), group=ltr.qid_to_group(split[5]), reference=train)
        with pytest.raises(ltr.LtrValueError, match="mrr is undefined for all 45 queries.*no_relevant=0 or 1"):
            lgb.train(PARAMS, train, 1, [valid], feval=feval("mrr"))
        lgb.train(PARAMS, train, 1, [valid], feval=feval("mrr", no_relevant=0))

    def test_nan_predictions(self, split: tuple[Any, ...]) -> None:
        _, valid = datasets(split)
        valid.construct()
        with pytest.raises(ltr.LtrValueError, match=r"must not be NaN: got nan at row 0 \(query 0\)"):
            feval("mrr")(np.full(len(split[3]), np.nan), valid)

    def test_predictions_that_become_nan_in_a_diverging_training(self, split: tuple[Any, ...]) -> None:
        """LightGBM stops growing trees where gradients are NaN; leaves of +inf and then -inf get through."""
        train, valid = datasets(split)
        rates = lgb.reset_parameter(learning_rate=[0.1, 1e300, 1e300, 0.1])
        sign = iter([1, 1, -1, 1])

        def diverging(preds: np.ndarray, train_set: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
            return next(sign) * 1e10 * (1 - train_set.get_label()), np.ones_like(preds)

        history: dict = {}
        with pytest.raises(
            ltr.LtrValueError, match=r"must not be NaN: got nan at row 0 \(query 0\).*a diverged training"
        ):
            lgb.train(
                PARAMS | {"objective": diverging}, train, 4, [valid], feval=feval("mrr"),
                callbacks=[rates, lgb.record_evaluation(history)],
            )  # fmt: skip
        assert len(history["valid_0"]["mrr"]) == 2

    def test_several_predictions_a_row(self, split: tuple[Any, ...]) -> None:
        _, Xv, _, yv, _, qidv = split
        train, valid = datasets(split)
        with pytest.raises(ltr.LtrValueError, match=r"one score a row.*shape \(\d+, 5\).*num_class"):
            lgb.train(PARAMS | {"objective": "multiclass", "num_class": 5}, train, 1, [valid], feval=feval("mrr"))
        ranker = lgb.LGBMRanker(n_estimators=1, objective="multiclass", num_class=5, verbose=-1)
        group = ltr.qid_to_group(qidv)
        with pytest.raises(ltr.LtrValueError, match=r"one score a row.*shape \(\d+, 5\).*num_class"):
            ranker.fit(
                Xv, yv, group=group, **validation_sets((Xv, yv)), eval_group=[group], eval_metric=eval_metric("mrr")
            )

    def test_lightgbm_refuses_an_empty_validation_set(self, split: tuple[Any, ...]) -> None:
        train, _ = datasets(split)
        empty = lgb.Dataset(split[1][:0], split[3][:0], group=[], reference=train)
        with pytest.raises(lgb.basic.LightGBMError):
            lgb.train(PARAMS, train, 1, [empty], feval=feval("mrr"))

    def test_the_wrong_hosts_arguments(self, split: tuple[Any, ...]) -> None:
        X, Xv, y, yv, _qid, qidv = split
        group = ltr.qid_to_group(qidv)
        with pytest.raises(ltr.LtrTypeError, match=r"feval is for lgb.train.*eval_metric=.*lightgbm.eval_metric"):
            lgb.LGBMRanker(n_estimators=1, verbose=-1).fit(
                Xv, yv, group=group, **validation_sets((Xv, yv)), eval_group=[group], eval_metric=feval("mrr")
            )
        train, valid = datasets(split)
        with pytest.raises(ltr.LtrTypeError, match=r"eval_metric is for LGBMRanker.*lightgbm.feval"):
            lgb.train(PARAMS, train, 1, [valid], feval=eval_metric("mrr"))
        with pytest.raises(ltr.LtrTypeError, match=r"eval_metric needs the queries"):
            lgb.LGBMRegressor(n_estimators=1, verbose=-1).fit(
                Xv, yv, **validation_sets((Xv, yv)), eval_metric=eval_metric("mrr")
            )
        with pytest.raises(ltr.LtrTypeError, match=r"A scorer is for scikit-learn.*lightgbm.feval"):
            lgb.train(PARAMS, train, 1, [valid], feval=make_scorer("mrr"))
        for wrong in (feval("mrr"), eval_metric("mrr")):
            with pytest.raises(ltr.LtrTypeError, match=r"scoring= takes ltr_metrics.sklearn.make_scorer"):
                cross_val_score(LinearRegression(), X, y, scoring=wrong, error_score="raise")

    def test_a_matrix_of_xgboost(self, split: tuple[Any, ...]) -> None:
        X, Xv, y, yv, *_ = split
        xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
        with pytest.raises(
            ltr.LtrTypeError, match=r"feval is for lgb.train.*Got an? xgboost DMatrix.*xgboost.custom_metric"
        ):
            xgb.train(
                {},
                xgb.DMatrix(X, y),
                1,
                evals=[(xgb.DMatrix(Xv, yv), "valid")],
                custom_metric=feval("mrr"),
                verbose_eval=False,
            )

    def test_names_are_read_before_the_training_begins(self) -> None:
        with pytest.raises(ltr.LtrValueError, match="Did you mean 'ndcg'"):
            feval("ndgc@10")
        with pytest.raises(ltr.LtrValueError, match="not a metric of lightgbm"):
            eval_metric("err", convention="lightgbm")
        with pytest.raises(ltr.LtrValueError, match="no host passes to a metric"):
            feval("err", ties="docid")
