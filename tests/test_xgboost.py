"""The XGBoost adapters: custom metrics, early stopping by them, and the Monitor of XGBRanker."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
from ltr_metrics.io import read_letor  # noqa: E402
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping  # noqa: E402

METRICS = ["err@10", "ndcg_exp@10", "map", "mrr", "rbp"]
PARAMS = {"objective": "rank:ndcg", "eta": 0.3, "disable_default_eval_metric": True, "seed": 0, "nthread": 1}
SIX_DECIMALS = 5.1e-7
Split = tuple[Any, ...]


@pytest.fixture(scope="module")
def split() -> Split:
    """Training and validation rows; the validation set has queries of one document."""
    X, y, qid = ltr.make_ranking(n_queries=90, documents=12, n_features=6, random_state=0)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, test_size=0.4, random_state=0)
    keep = np.r_[True, qidv[1:] != qidv[:-1]] | ~np.isin(qidv, np.unique(qidv)[:4])
    return X, Xv[keep], y, yv[keep], qid, qidv[keep]


def matrices(split: Split, **options: Any) -> tuple[Any, Any]:
    X, Xv, y, yv, qid, qidv = split
    return xgb.DMatrix(X, y, qid=qid), xgb.DMatrix(Xv, yv, qid=qidv, **options)


def weights(qid: np.ndarray) -> np.ndarray:
    """One number a query, in order of appearance."""
    return np.random.default_rng(1).random(len(np.unique(qid))).astype(np.float32)


class Predictions(xgb.callback.TrainingCallback):
    """Keeps what the model predicts after each round, from a prediction anew."""

    def __init__(self, X: Any, **options: Any) -> None:
        self.X, self.options, self.rounds = X, options, []

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        matrix = xgb.DMatrix(self.X, enable_categorical=True, **self.options)
        self.rounds.append(model.predict(matrix))
        return False


def means(predictions: list[np.ndarray], y: Any, metrics: Any = METRICS, **options: Any) -> dict[str, list[float]]:
    results = [ltr.evaluate(y, score, metrics=metrics, **options).mean for score in predictions]
    return {name: [mean[name] for mean in results] for name in results[0]}


def test_values_in_the_log_equal_an_evaluation_to_six_decimals(split: Split) -> None:
    weight = weights(split[5])
    train, valid = matrices(split, weight=weight)
    history: dict = {}
    seen, log = Predictions(split[1]), ltr.PerQueryLog()
    xgb.train(
        PARAMS, train, 8, evals=[(train, "train"), (valid, "valid")], custom_metric=custom_metric(METRICS, log=log),
        callbacks=[seen], evals_result=history, verbose_eval=False,
    )  # fmt: skip
    expected = means(seen.rounds, split[3], qid=split[5], query_weight=weight)
    assert list(history) == ["train", "valid"]
    for name in METRICS:
        np.testing.assert_allclose(history["valid"][name], expected[name], rtol=0, atol=SIX_DECIMALS)
        exact = log.values(valid, name)
        plain = ltr.evaluate(split[3], seen.rounds[-1], qid=split[5], metrics=name).per_query[name]
        np.testing.assert_array_equal(exact[-1], plain)
    assert log.values(train, "map").shape == (8, len(np.unique(split[4])))
    assert log.names == ("data_0", "data_1")  # XGBoost tells no names


def test_labels_are_laid_out_once_and_dropped_with_their_matrix(split: Any, cached_queries: Any) -> None:
    train, valid = matrices(split)
    metric = custom_metric(METRICS)
    xgb.train(PARAMS, train, 4, evals=[(train, "t"), (valid, "v")], custom_metric=metric, verbose_eval=False)
    assert len(cached_queries) == 2
    del train, valid
    gc.collect()
    assert [ref() for ref in cached_queries] == [None, None]


@pytest.mark.parametrize("change", ["label", "group", "weight"])
def test_a_changed_matrix_is_noticed(split: Split, change: str) -> None:
    _, valid = matrices(split)
    metric = custom_metric(["dcg_lin", "p@3"])
    y, qid, score = split[3], split[5], np.asarray(split[1])[:, 0]
    before = metric(score, valid)
    options: dict[str, Any] = {"qid": qid}
    if change == "label":
        y = (y + 1) % 3
        valid.set_label(y)
    elif change == "group":
        options = {"group": [5, len(y) - 5]}
        valid.set_group([5, len(y) - 5])
    else:
        options["query_weight"] = weights(qid)
        valid.set_weight(options["query_weight"])
    after = metric(score, valid)
    assert after != before
    assert dict(after) == ltr.evaluate(y, score, metrics=["dcg_lin", "p@3"], **options).mean


def test_cv_keeps_queries_whole(split: Split) -> None:
    train, _ = matrices(split)
    log = ltr.PerQueryLog()
    result = xgb.cv(PARAMS, train, 3, nfold=3, custom_metric=custom_metric(["mrr"], log=log), as_pandas=False)
    tests = [name for i, name in enumerate(log.names) if i % 2 == 1]  # training and test part of each fold
    assert sum(len(log.qid(name)) for name in tests) == len(np.unique(split[4]))
    expected = np.mean([np.nanmean(log.values(name, "mrr")[-1]) for name in tests])
    assert result["test-mrr-mean"][-1] == pytest.approx(expected, abs=SIX_DECIMALS)


def test_cv_stops_early(split: Split) -> None:
    train, _ = matrices(split)
    result = xgb.cv(
        PARAMS, train, 60, nfold=3, custom_metric=custom_metric("err@10"), callbacks=[early_stopping("err@10", 4)],
        as_pandas=False,
    )  # fmt: skip
    plain = xgb.cv(PARAMS, train, 60, nfold=3, custom_metric=custom_metric("err@10"), as_pandas=False)
    rising = plain["test-err@10-mean"]
    stopped = next(i for i in range(60) if i - int(np.argmax(rising[: i + 1])) == 4)
    best = int(np.argmax(rising[:stopped]))
    assert len(result["test-err@10-mean"]) == best + 1 > 1  # XGBoost keeps the rounds to the best


@pytest.mark.parametrize("metric", ["err@10", "mrr", "rbp", "ndcg_lin@5", ltr.MAP(k=5)])
def test_early_stopping_finds_the_best_round(split: Split, metric: Any) -> None:
    train, valid = matrices(split)
    seen = Predictions(split[1])
    options: dict[str, Any] = {"custom_metric": custom_metric(["p@1", metric]), "verbose_eval": False}
    xgb.train(PARAMS, train, 40, evals=[(valid, "valid")], callbacks=[seen], **options)
    scanned = np.round(means(seen.rounds, split[3], metrics=metric, qid=split[5])[str(ltr.metric(metric))], 6)
    stopper = early_stopping(metric, 40)
    stopped = xgb.train(PARAMS, train, 40, evals=[(train, "train"), (valid, "valid")], callbacks=[stopper], **options)
    assert stopped.best_iteration == int(np.argmax(scanned)) > 0
    assert stopped.best_score == pytest.approx(scanned.max(), abs=SIX_DECIMALS)


def test_without_it_xgboost_stops_at_once(split: Split) -> None:
    """What `early_stopping` is for: XGBoost takes the lowest err@10 for the best."""
    train, valid = matrices(split)
    history: dict = {}
    booster = xgb.train(
        PARAMS, train, 40, evals=[(valid, "v")], custom_metric=custom_metric("err@10"), early_stopping_rounds=3,
        evals_result=history, verbose_eval=False,
    )  # fmt: skip
    assert booster.best_iteration == int(np.argmin(history["v"]["err@10"]))
    assert booster.best_score < max(history["v"]["err@10"])


def test_early_stopping_serves_several_trainings(split: Split) -> None:
    train, valid = matrices(split)
    stopper = early_stopping("mrr", 5, data_name="v", min_delta=1e-4, save_best=True)
    boosters = [
        xgb.train(
            PARAMS, train, 60, evals=[(valid, "v")], custom_metric=custom_metric("mrr"), callbacks=[stopper],
            verbose_eval=False,
        )
        for _ in range(2)
    ]  # fmt: skip
    assert boosters[0].best_iteration == boosters[1].best_iteration
    assert boosters[0].num_boosted_rounds() == boosters[0].best_iteration + 1 < 60


def test_early_stopping_looks_for_its_data_set_in_each_training(split: Split) -> None:
    train, valid = matrices(split)
    stopper = early_stopping("mrr", 3)
    for name in ("one", "two"):
        booster = xgb.train(
            PARAMS, train, 10, evals=[(valid, name)], custom_metric=custom_metric("mrr"), callbacks=[stopper],
            verbose_eval=False,
        )  # fmt: skip
        assert booster.best_score > 0


def test_early_stopping_counts_the_rounds_of_a_continued_model(split: Split) -> None:
    train, valid = matrices(split)
    begun = xgb.train(PARAMS, train, 3, verbose_eval=False)
    seen = Predictions(split[1])
    booster = xgb.train(
        PARAMS, train, 20, evals=[(valid, "v")], custom_metric=custom_metric("mrr"), xgb_model=begun,
        callbacks=[seen, early_stopping("mrr", 30)], verbose_eval=False,
    )  # fmt: skip
    scanned = np.round(means(seen.rounds, split[3], metrics="mrr", qid=split[5])["mrr"], 6)
    assert booster.best_iteration == 3 + int(np.argmax(scanned))


KINDS: dict[str, dict[str, Any]] = {
    "gbtree": {},
    "dart": {"booster": "dart", "rate_drop": 0.5, "one_drop": 1},
    "gblinear": {"booster": "gblinear"},
    "forests": {"num_parallel_tree": 3, "subsample": 0.5},
    "leaf-wise": {"tree_method": "approx", "grow_policy": "lossguide"},
}


@pytest.mark.filterwarnings("ignore:.*(gblinear|Parameters)")
@pytest.mark.parametrize("continued", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_monitor_is_right_in_every_round(split: Split, kind: str, continued: bool) -> None:
    X, Xv, y, yv, qid, qidv = split
    weight = weights(qidv)
    watched = Monitor(METRICS, Xv, yv, qid=qidv, query_weight=weight)
    seen = Predictions(Xv)
    options = {"objective": "rank:ndcg", "learning_rate": 0.3, "random_state": 0, "n_jobs": 1, **KINDS[kind]}
    begun = None
    if continued:
        begun = xgb.XGBRanker(n_estimators=4, **options).fit(X, y, qid=qid)
    ranker = xgb.XGBRanker(n_estimators=8, callbacks=[watched, seen], **options).fit(X, y, qid=qid, xgb_model=begun)
    expected = means(seen.rounds, yv, qid=qidv, query_weight=weight)
    assert ranker.evals_result()["valid"] == expected  # to the last bit
    last = ltr.evaluate(yv, ranker.predict(Xv), qid=qidv, query_weight=weight, metrics=METRICS)
    assert {name: values[-1] for name, values in expected.items()} == last.mean


def test_the_monitor_follows_trees_that_are_updated(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    half = qid < np.median(qid)
    begun = xgb.train(PARAMS, xgb.DMatrix(X, y, qid=qid), 5, verbose_eval=False)
    watched, seen, history = Monitor("mrr", Xv, yv, qid=qidv), Predictions(Xv), {}
    xgb.train(
        {"objective": "rank:ndcg", "process_type": "update", "updater": "refresh", "verbosity": 0, "nthread": 1},
        xgb.DMatrix(X[half], y[half], qid=qid[half]), 5, xgb_model=begun, callbacks=[watched, seen],
        evals_result=history, verbose_eval=False,
    )  # fmt: skip
    assert history["valid"] == means(seen.rounds, yv, metrics="mrr", qid=qidv)


@pytest.mark.parametrize("kind", ["scattered", "pandas", "categories", "sparse", "missing", "margin", "lists"])
def test_the_monitor_takes_what_xgboost_takes(split: Split, kind: str) -> None:
    X, Xv, y, yv, qid, qidv = split
    ranker: dict[str, Any] = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
    matrix: dict[str, Any] = {}
    monitor: dict[str, Any] = {"qid": qidv}
    made: Any = (X, Xv)
    if kind == "scattered":
        order = np.random.default_rng(0).permutation(len(yv))
        made, yv, monitor = (X, Xv[order]), yv[order], {"qid": qidv[order]}
    elif kind in ("pandas", "categories"):
        made = tuple(pd.DataFrame(part).add_prefix("f") for part in (X, Xv))
        if kind == "categories":
            made = tuple(frame.assign(f0=pd.cut(frame["f0"], [-9, -1, 0, 1, 9], labels=list("abcd"))) for frame in made)
            ranker |= {"enable_categorical": True}
    elif kind == "sparse":
        made = tuple(sparse.csr_matrix(np.where(part > 0, part, 0)) for part in (X, Xv))
    elif kind == "missing":
        made = tuple(np.where(part < 0, -99.0, part) for part in (X, Xv))
        ranker, matrix, monitor = ranker | {"missing": -99.0}, {"missing": -99.0}, monitor | {"missing": -99.0}
    elif kind == "margin":
        matrix = {"base_margin": 3 * Xv[:, 1]}
        monitor |= matrix
    else:
        made, yv, monitor = (X, Xv.tolist()), yv.tolist(), {"qid": qidv.tolist()}
    watched = Monitor(METRICS, made[1], yv, **monitor)
    seen = Predictions(made[1], **matrix)
    fitted = xgb.XGBRanker(callbacks=[watched, seen], **ranker).fit(made[0], y, qid=qid)
    assert fitted.evals_result()["valid"] == means(seen.rounds, yv, qid=monitor["qid"])


def test_the_monitor_finds_a_qid_column_as_xgbranker_does(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    train, valid = (pd.DataFrame(part).add_prefix("f").assign(qid=ids) for part, ids in ((X, qid), (Xv, qidv)))
    ranker = xgb.XGBRanker(n_jobs=1, n_estimators=4, callbacks=[Monitor("mrr", valid, yv)]).fit(train, y)
    plain = xgb.XGBRanker(n_jobs=1, n_estimators=4, callbacks=[Monitor("mrr", Xv, yv, qid=qidv)]).fit(X, y, qid=qid)
    assert ranker.evals_result() == plain.evals_result()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_several_monitors_and_early_stopping_by_one(split: Split, order: tuple[int, ...]) -> None:
    """In any order of the callbacks, since XGBoost before 3.2 calls them in any."""
    X, Xv, y, yv, qid, qidv = split
    callbacks = [
        Monitor(["mrr", "err@10"], X, y, qid=qid, name="train"),
        Monitor(["mrr", "err@10"], Xv, yv, qid=qidv, name="valid"),
        early_stopping("err@10", 5, data_name="valid"),
    ]
    ranker = xgb.XGBRanker(n_jobs=1, n_estimators=60, learning_rate=0.3, random_state=0)
    ranker.set_params(callbacks=[callbacks[i] for i in order])
    ranker.fit(X, y, qid=qid, eval_set=[(Xv, yv)], eval_qid=[qidv], verbose=False)
    logged = ranker.evals_result()
    assert list(logged)[-1] == "validation_0"
    assert len(logged["train"]["mrr"]) == len(logged["valid"]["mrr"]) == len(logged["validation_0"]["ndcg@32"])
    assert ranker.best_iteration == int(np.argmax(logged["valid"]["err@10"])) < 59
    best = ltr.evaluate(yv, ranker.predict(Xv), qid=qidv, metrics="err@10")["err@10"]
    assert best == ranker.best_score == max(logged["valid"]["err@10"])


@pytest.mark.parametrize("name", ["valid", "validation_0"])
def test_xgboosts_own_early_stopping_still_watches_its_own_metric(split: Split, name: str) -> None:
    X, Xv, y, yv, qid, qidv = split
    fit = {"eval_set": [(Xv, yv)], "eval_qid": [qidv], "verbose": False}
    options = {"n_estimators": 40, "early_stopping_rounds": 5, "random_state": 0, "learning_rate": 0.1}
    plain = xgb.XGBRanker(n_jobs=1, **options).fit(X, y, qid=qid, **fit)
    callbacks = [Monitor(["err@10", "mrr"], Xv, yv, qid=qidv, name=name)]
    watched = xgb.XGBRanker(n_jobs=1, callbacks=callbacks, **options).fit(X, y, qid=qid, **fit)
    assert watched.best_iteration == plain.best_iteration
    assert watched.best_score == plain.best_score


def test_a_fitted_estimator_is_cloned_copied_and_pickled(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    callbacks = [Monitor(["err@10"], Xv, yv, qid=qidv), early_stopping("err@10", 5)]
    ranker = xgb.XGBRanker(n_jobs=1, n_estimators=60, learning_rate=0.3, callbacks=callbacks, random_state=0).fit(
        X, y, qid=qid
    )
    expected, rounds = ranker.predict(Xv), ranker.evals_result()
    for again in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        np.testing.assert_array_equal(again.predict(Xv), expected)
    for other in (clone(ranker), pickle.loads(pickle.dumps(ranker)), ranker):
        other.fit(X, y, qid=qid)
        np.testing.assert_array_equal(other.predict(Xv), expected)
        assert other.evals_result() == rounds
    assert clone(ranker).callbacks[0].queries is callbacks[0].queries  # shared: data are not copied for each candidate


def test_a_monitor_survives_a_training_that_broke_off(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split

    class Broken(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            raise RuntimeError("broken")

    watched = Monitor("mrr", Xv, yv, qid=qidv)
    with pytest.raises(RuntimeError, match="broken"):
        xgb.XGBRanker(n_jobs=1, n_estimators=3, callbacks=[watched, Broken()]).fit(X, y, qid=qid)
    ranker = xgb.XGBRanker(n_jobs=1, n_estimators=3, callbacks=[pickle.loads(pickle.dumps(watched))]).fit(X, y, qid=qid)
    again = xgb.XGBRanker(n_jobs=1, n_estimators=3, callbacks=[watched]).fit(X, y, qid=qid)
    assert ranker.evals_result() == again.evals_result()


def test_the_monitors_log(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    log = ltr.PerQueryLog()
    watched = Monitor(METRICS, Xv, yv, qid=qidv, name="held out", log=log)
    ranker = xgb.XGBRanker(n_jobs=1, n_estimators=4, callbacks=[watched]).fit(X, y, qid=qid)
    assert log.names == ("held out",)
    np.testing.assert_array_equal(log.qid("held out"), list(dict.fromkeys(qidv.tolist())))
    expected = ltr.evaluate(yv, ranker.predict(Xv), qid=qidv, metrics="rbp").per_query["rbp"]
    np.testing.assert_array_equal(log.values(watched, "rbp")[-1], expected)
    with pytest.raises(ltr.LtrValueError, match="new one"):
        ranker.fit(X, y, qid=qid)


@pytest.mark.parametrize("objective", ["rank:pairwise", "reg:squarederror", "binary:logistic"])
def test_other_objectives(split: Split, objective: str) -> None:
    """What is evaluated is what `predict` gives, for logistic objectives too, where large margins tie at 1."""
    X, Xv, y, yv, qid, qidv = split
    seen, history = Predictions(Xv), {}
    params = PARAMS | {"objective": objective, "eta": 5.0 if objective == "binary:logistic" else 0.3}
    booster = xgb.train(
        params, xgb.DMatrix(X, y > 1, qid=qid), 4, evals=[(matrices(split)[1], "v")],
        custom_metric=custom_metric("mrr"), callbacks=[Monitor("mrr", Xv, yv, qid=qidv), seen], evals_result=history,
        verbose_eval=False,
    )  # fmt: skip
    expected = means(seen.rounds, yv, metrics="mrr", qid=qidv)["mrr"]
    assert history["valid"]["mrr"] == expected
    np.testing.assert_allclose(history["v"]["mrr"], expected, rtol=0, atol=SIX_DECIMALS)
    margins = booster.predict(matrices(split)[1], output_margin=True)
    of_margins = ltr.evaluate(yv, margins, qid=qidv, metrics="mrr")["mrr"]
    assert (of_margins == expected[-1]) == (objective != "binary:logistic")


def test_custom_metrics_are_pickled(split: Split) -> None:
    _, valid = matrices(split)
    metric = custom_metric(METRICS, ties="worst")
    score = np.asarray(split[1])[:, 0]
    assert pickle.loads(pickle.dumps(metric))(score, valid) == metric(score, valid)


@pytest.mark.parametrize("convention", ["trec_eval", "gdeval"])
def test_early_stopping_on_a_metric_of_a_convention_that_breaks_ties_by_document(convention: str, split: Split) -> None:
    """The stopper ranks nothing, so that it needs no tie policy; `python -m fuzz` found that it wanted one."""
    train, valid = matrices(split)
    metric = custom_metric("ndcg@10", convention=convention, ties="mean")
    history: dict = {}
    booster = xgb.train(
        PARAMS, train, 20, evals=[(valid, "v")], custom_metric=metric, evals_result=history, verbose_eval=False,
        callbacks=[early_stopping("ndcg@10", 2, convention=convention)],
    )  # fmt: skip
    (values,) = history["v"].values()
    assert booster.best_iteration == int(np.argmax(values))


class TestCollisions:
    def test_with_xgboosts_own_metric(self, split: Split) -> None:
        X, Xv, y, yv, qid, qidv = split
        params = PARAMS | {"objective": "rank:map", "eval_metric": "map@10", "disable_default_eval_metric": False}
        train, valid = xgb.DMatrix(X, y > 1, qid=qid), xgb.DMatrix(Xv, yv > 1, qid=qidv)
        evals = {"evals": [(valid, "v")], "verbose_eval": False}
        with pytest.raises(ltr.LtrValueError, match="^'map@10' of 'v' is in the log.*eval_metric"):
            xgb.train(
                params,
                train,
                3,
                custom_metric=custom_metric("map@10"),
                callbacks=[early_stopping("map@10", 2)],
                **evals,
            )
        with pytest.raises(ltr.LtrValueError, match="^'map@10' of 'v' is in the log"):
            xgb.train(params, train, 3, callbacks=[Monitor("map@10", Xv, yv > 1, qid=qidv, name="v")], **evals)
        history: dict = {}
        callbacks = [early_stopping("map@10", 2, convention="xgboost")]
        ours = custom_metric("map@10", convention="xgboost")
        xgb.train(params, train, 3, custom_metric=ours, callbacks=callbacks, evals_result=history, **evals)
        assert list(history["v"]) == ["map@10", "map(rel=binary)@10"]
        np.testing.assert_allclose(*history["v"].values(), rtol=0, atol=SIX_DECIMALS)

    def test_of_two_monitors(self, split: Split) -> None:
        X, Xv, y, yv, qid, qidv = split
        callbacks = [Monitor("mrr", Xv, yv, qid=qidv), Monitor("mrr", X, y, qid=qid)]
        with pytest.raises(ltr.LtrValueError, match="^'mrr' of 'valid' is in the log"):
            xgb.XGBRanker(n_jobs=1, n_estimators=2, callbacks=callbacks).fit(X, y, qid=qid)


class TestErrors:
    def test_early_stopping_on_what_is_not_logged(self, split: Split) -> None:
        train, valid = matrices(split)
        run = {"evals": [(valid, "v")], "custom_metric": custom_metric("mrr"), "verbose_eval": False}
        with pytest.raises(ltr.LtrValueError, match=r"watches err@10, which is not in the log. It has v: mrr"):
            xgb.train(PARAMS, train, 3, callbacks=[early_stopping("err@10", 2)], **run)
        with pytest.raises(ltr.LtrValueError, match="watches mrr of 'valid', which is not in the log"):
            xgb.train(PARAMS, train, 3, callbacks=[early_stopping("mrr", 2, data_name="valid")], **run)
        two = [Monitor("mrr", split[1], split[3], qid=split[5], name=name) for name in ("a", "b")]
        with pytest.raises(
            ltr.LtrValueError, match=r"Several data sets have mrr\. Choose the one.*data_name=, of [ab], [ab]"
        ):
            xgb.train(PARAMS, train, 3, callbacks=[*two, early_stopping("mrr", 2)], verbose_eval=False)
        with pytest.raises(ltr.LtrValueError, match="It has nothing"):
            xgb.train(PARAMS, train, 3, callbacks=[early_stopping("mrr", 2)], verbose_eval=False)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((["mrr", "map"], 5), "watches one metric. Got mrr, map"),
            (("mrr", 0), "rounds must be a whole number"),
            (("mrr", True), "rounds must be a whole number"),
            (("mrr", 2.5), "rounds must be a whole number"),
            (("mr", 5), "Did you mean 'mrr'"),
        ],
    )
    def test_early_stopping_arguments(self, arguments: Any, message: str) -> None:
        with pytest.raises(ltr.LtrValueError, match=message):
            early_stopping(*arguments)

    @pytest.mark.parametrize("min_delta", [-0.1, float("nan"), "a", None])
    def test_min_delta(self, min_delta: Any) -> None:
        with pytest.raises(ltr.LtrValueError, match="min_delta must be a number, 0 or more"):
            early_stopping("mrr", 3, min_delta=min_delta)
        with pytest.raises(ltr.LtrTypeError, match="data_name must be the name of a data set. Got 3"):
            early_stopping("mrr", 3, data_name=3)

    @pytest.mark.parametrize("columns", [5, 7])
    def test_another_number_of_features(self, split: Split, columns: int) -> None:
        X, Xv, y, yv, qid, qidv = split
        wide = np.column_stack([Xv, Xv])[:, :columns]
        with pytest.raises(ltr.LtrValueError, match=f"Monitor's X has {columns} features.*trained on 6"):
            xgb.XGBRanker(n_estimators=2, callbacks=[Monitor("mrr", wide, yv, qid=qidv)]).fit(X, y, qid=qid)

    def test_monitor_arguments(self, split: Split) -> None:
        _, Xv, _, yv, _, qidv = split
        with pytest.raises(ltr.LtrValueError, match="same number of rows"):
            Monitor("mrr", Xv[:-1], yv, qid=qidv)
        with pytest.raises(ltr.LtrTypeError, match="To evaluate a DMatrix"):
            Monitor("mrr", matrices(split)[1], yv, qid=qidv)
        with pytest.raises(ltr.LtrTypeError, match="name must be text"):
            Monitor("mrr", Xv, yv, qid=qidv, name=None)
        with pytest.raises(ltr.LtrError, match="qid"):
            Monitor("mrr", Xv, yv)

    def test_several_scores_a_row(self, split: Split) -> None:
        train, _ = matrices(split)
        params = {"objective": "multi:softprob", "num_class": 5, "nthread": 1}
        with pytest.raises(ltr.LtrValueError, match=r"one score a row.*shape \(\d+, 5\)"):
            xgb.train(params, train, 2, callbacks=[Monitor("mrr", split[1], split[3], qid=split[5])])
        with pytest.raises(ltr.LtrValueError, match=r"one score a row.*shape \(\d+, 5\)"):
            xgb.train(params, train, 2, evals=[(train, "t")], custom_metric=custom_metric("mrr"), verbose_eval=False)

    def test_a_monitor_in_cv(self, split: Split) -> None:
        with pytest.raises(ltr.LtrTypeError, match=r"xgb.cv trains one for each fold. Use custom_metric"):
            xgb.cv(PARAMS, matrices(split)[0], 2, nfold=2, callbacks=[Monitor("mrr", split[1], split[3], qid=split[5])])

    def test_names_that_xgboost_cannot_pass_on(self) -> None:
        @dataclass(frozen=True, kw_only=True)
        class Own(ltr.MRR):
            NAME = "own"
            mode: str = "a"

        with pytest.raises(ltr.LtrValueError, match=r"Rename 'own\(mode=a: b\)'"):
            custom_metric(Own(mode="a: b"))

    def test_a_log_on_workers(self, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is on workers beside that: test_xgboost_dask.py."""
        monkeypatch.setattr(xgb.collective, "is_distributed", lambda: True)
        with pytest.raises(ltr.LtrValueError, match="log= keeps what one process evaluates.*iteration_range"):
            custom_metric("mrr", log=ltr.PerQueryLog())(np.zeros(len(split[3])), matrices(split)[1])
        callbacks = [Monitor("mrr", split[1], split[3], qid=split[5], log=ltr.PerQueryLog())]
        with pytest.raises(ltr.LtrValueError, match="log= keeps what one process evaluates"):
            xgb.train(PARAMS, matrices(split)[0], 2, callbacks=callbacks, verbose_eval=False)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["err@10", "mrr", "rbp"])
@pytest.mark.filterwarnings("ignore:err counts grades")
def test_the_best_round_on_mq2008(data: Path, metric: str) -> None:
    """Fold 1: trained on S1 to S3, watched on S4; every round is evaluated offline."""
    rounds, params = 120, PARAMS | {"eta": 0.1}
    train, valid = (read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in part]) for part in ((1, 2, 3), (4,)))
    matrices = [xgb.DMatrix(part.X, part.y, group=ltr.qid_to_group(part.qid)) for part in (train, valid)]
    evals = [(matrix, name) for matrix, name in zip(matrices, ("train", "valid"), strict=True)]
    stopped = xgb.train(
        params, matrices[0], rounds, evals=evals, custom_metric=custom_metric(["map", metric]),
        callbacks=[early_stopping(metric, rounds, data_name="valid")], verbose_eval=False,
    )  # fmt: skip
    queries = ltr.Queries(valid.y, qid=valid.qid)
    scores = (stopped.predict(matrices[1], iteration_range=(0, i + 1)) for i in range(rounds))
    scanned = [round(queries.evaluate(score, metric)[metric], 6) for score in scores]
    assert stopped.best_iteration == int(np.argmax(scanned)) > 0

    monitor = Monitor([metric], valid.X, valid.y, qid=valid.qid)
    callbacks = [monitor, early_stopping(metric, 20)]
    ranker = xgb.XGBRanker(n_estimators=rounds, learning_rate=0.1, random_state=0, n_jobs=1, callbacks=callbacks)
    ranker.fit(train.X, train.y, group=ltr.qid_to_group(train.qid))
    assert np.round(ranker.evals_result()["valid"][metric], 6).tolist() == scanned[: ranker.best_iteration + 21]


def test_a_history_keeps_no_monitor_alive(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    monitor = Monitor("mrr", Xv, yv, qid=qidv)
    ranker = xgb.XGBRanker(n_estimators=2, n_jobs=1, callbacks=[monitor]).fit(X, y, qid=qid)
    gone = weakref.ref(monitor)
    ranker.callbacks = None
    del monitor
    gc.collect()
    assert gone() is None
    assert len(ranker.evals_result()["valid"]["mrr"]) == 2
