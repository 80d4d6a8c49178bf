"""names=: what a metric is called in a host's log, and in everything that reads it."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from lightgbm_fit import validation_sets
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.sklearn import QueryRanker, make_scorer

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping  # noqa: E402

METRICS = ["ndcg@10", "err(max_grade=5)@10", ltr.MAP(k=5, rel=2), "p@3"]
CANONICAL = ["ndcg_exp@10", "err(max_grade=5)@10", "map(rel=2)@5", "precision@3"]
OWN = {"ndcg@10": "gain", "err(max_grade=5)@10": "stops", "precision@3": "first three"}
LOGGED = {
    "canonical": CANONICAL,
    "asked": ["ndcg@10", "err(max_grade=5)@10", "map(rel=2)@5", "p@3"],
    "slug": ["ndcg_exp_at_10", "err-max_grade-5_at_10", "map-rel-2_at_5", "precision_at_3"],
    "own": ["gain", "stops", "map(rel=2)@5", "first three"],
}
LIGHTGBM = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "seed": 0}
XGBOOST = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "seed": 0}
Split = tuple[Any, ...]

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def split() -> Split:
    X, y, qid = ltr.make_ranking(n_queries=60, documents=12, n_features=5, random_state=0)
    return ltr.train_test_split(X, y, qid, test_size=0.4, random_state=0)


def train_lightgbm(split: Split, names: Any, log: Any) -> dict[str, list[float]]:
    X, Xv, y, yv, qid, qidv = split
    history: dict = {}
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid = lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train)
    metric = feval(METRICS, names=names, log=log)
    lgb.train(LIGHTGBM, train, 4, [valid], feval=metric, callbacks=[lgb.record_evaluation(history)])
    return history["valid_0"]


def fit_lgbm_ranker(split: Split, names: Any, log: Any) -> dict[str, list[float]]:
    X, Xv, y, yv, qid, qidv = split
    ranker = lgb.LGBMRanker(n_estimators=4, metric="None", verbose=-1, n_jobs=1)
    groups = {"group": ltr.qid_to_group(qid), "eval_group": [ltr.qid_to_group(qidv)]}
    ranker.fit(X, y, **groups, **validation_sets((Xv, yv)), eval_metric=eval_metric(METRICS, names=names, log=log))
    return ranker.evals_result_["valid_0"]


def matrices(split: Split) -> tuple[Any, Any]:
    X, Xv, y, yv, qid, qidv = split
    return xgb.DMatrix(X, y, qid=qid), xgb.DMatrix(Xv, yv, qid=qidv)


def train_xgboost(split: Split, names: Any, log: Any, callbacks: Any = ()) -> dict[str, list[float]]:
    train, valid = matrices(split)
    history: dict = {}
    if isinstance(names, dict):
        names = {metric: name.replace(" ", "_") for metric, name in names.items()}
    xgb.train(
        XGBOOST, train, 4, evals=[(valid, "valid_0")], custom_metric=custom_metric(METRICS, names=names, log=log),
        callbacks=list(callbacks), evals_result=history, verbose_eval=False,
    )  # fmt: skip
    return {name.replace("_three", " three"): values for name, values in history["valid_0"].items()}


def fit_xgb_ranker(split: Split, names: Any, log: Any, callbacks: Any = ()) -> dict[str, list[float]]:
    X, Xv, y, yv, qid, qidv = split
    monitor = Monitor(METRICS, Xv, yv, qid=qidv, names=names, log=log, name="valid_0")
    ranker = xgb.XGBRanker(n_estimators=4, n_jobs=1, callbacks=[monitor, *callbacks])
    return ranker.fit(X, y, qid=qid).evals_result()["valid_0"]


HOSTS = {
    "lgb.train": train_lightgbm,
    "LGBMRanker": fit_lgbm_ranker,
    "xgb.train": train_xgboost,
    "XGBRanker": fit_xgb_ranker,
}


@pytest.mark.parametrize("names", LOGGED)
@pytest.mark.parametrize("host", HOSTS)
def test_the_log_and_what_is_asked_of_it(host: str, names: str, split: Split) -> None:
    log = ltr.PerQueryLog()
    history = HOSTS[host](split, OWN if names == "own" else names, log)
    assert list(history) == LOGGED[names]
    canonical = HOSTS[host](split, "canonical", None)
    assert list(history.values()) == list(canonical.values())
    for every in zip(history, METRICS, CANONICAL, strict=True):
        for name in every if host != "xgb.train" else every[1:]:
            means = np.nanmean(log.values("valid_0", name), axis=1)
            np.testing.assert_allclose(means, history[every[0]], rtol=0, atol=5.1e-7)
            assert log.best_round("valid_0", name).n_rounds == int(np.argmax(means)) + 1


@pytest.mark.parametrize("names", LOGGED)
@pytest.mark.parametrize("run", [train_xgboost, fit_xgb_ranker])
def test_early_stopping_finds_its_metric(run: Any, names: str, split: Split) -> None:
    stoppers = [early_stopping(metric, 9) for metric in (*METRICS, *CANONICAL)]
    history = run(split, OWN if names == "own" else names, None, stoppers)
    watched = [stopper.best_scores[next(iter(stopper.best_scores))] for stopper in stoppers]
    assert [next(iter(of_one.values()))[-1] for of_one in watched] == pytest.approx(
        [max(v) for v in history.values()] * 2
    )


def test_early_stopping_in_cv(split: Split) -> None:
    train, _ = matrices(split)
    result = xgb.cv(
        XGBOOST, train, 30, nfold=3, custom_metric=custom_metric(METRICS, names="slug"), as_pandas=False,
        callbacks=[early_stopping("err(max_grade=5)@10", 3)],
    )  # fmt: skip
    means = result["test-err-max_grade-5_at_10-mean"]
    assert len(means) == int(np.argmax(means)) + 1 < 30


def test_early_stopping_knows_whose_name_it_is(split: Split) -> None:
    """A log that calls map@10 "map" has no map."""
    train, valid = matrices(split)
    metric = custom_metric(["map@10", "mrr"], names={"map@10": "map"})
    run = {"evals": [(valid, "v")], "custom_metric": metric, "verbose_eval": False}
    assert xgb.train(XGBOOST, train, 3, callbacks=[early_stopping("map@10", 5)], **run).best_score > 0
    with pytest.raises(ltr.LtrValueError, match="watches map, which is not in the log. It has v: map, mrr"):
        xgb.train(XGBOOST, train, 3, callbacks=[early_stopping("map", 5)], **run)


def test_data_sets_with_names_of_their_own(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    callbacks = [
        Monitor("mrr", X, y, qid=qid, name="train", names={"mrr": "fit"}),
        Monitor("mrr", Xv, yv, qid=qidv, name="valid", names={"mrr": "held out"}),
    ]
    for data, name in (("train", "fit"), ("valid", "held out")):
        stopper = early_stopping("mrr", 9, data_name=data)
        ranker = xgb.XGBRanker(n_estimators=4, n_jobs=1, callbacks=[*callbacks, stopper]).fit(X, y, qid=qid)
        assert ranker.best_score == max(ranker.evals_result()[data][name])


def test_lightgbms_early_stopping_and_cv(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid = lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train)
    metric = feval(["err@10", "mrr"], names={"err@10": "val err", "mrr": "val mrr"})
    history: dict = {}
    callbacks = [lgb.early_stopping(4, first_metric_only=True, verbose=False), lgb.record_evaluation(history)]
    booster = lgb.train(LIGHTGBM, train, 80, [valid], feval=metric, callbacks=callbacks)
    assert booster.best_iteration == int(np.argmax(history["valid_0"]["val err"])) + 1 < 80
    assert "valid val err-mean" in lgb.cv(LIGHTGBM, train, 2, nfold=3, feval=metric)


@pytest.mark.parametrize("names", LOGGED)
def test_a_search_refits_by_the_name(names: str, split: Split, tmp_path: Any) -> None:
    X, _, y, _, qid, _ = split
    frame = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    log = ltr.PerQueryLog(folder=tmp_path)
    scorer = make_scorer(METRICS, names=OWN if names == "own" else names, log=log)
    search = GridSearchCV(
        QueryRanker(lgb.LGBMRanker(n_estimators=3, n_jobs=1, verbose=-1)), {"estimator__num_leaves": [3, 7]},
        scoring=scorer, cv=GroupKFold(2), refit=LOGGED[names][1], error_score="raise",
    ).fit(frame, y, groups=qid)  # fmt: skip
    for name, canonical in zip(LOGGED[names], CANONICAL, strict=True):
        candidates = log.candidates(name, params=search.cv_results_["params"])
        expected = search.cv_results_[f"mean_test_{name}"]
        assert [c.mean_over_folds for c in candidates] == pytest.approx(list(expected))
        assert candidates[0].metric == canonical
    assert search.best_index_ == int(np.argmax(search.cv_results_[f"mean_test_{LOGGED[names][1]}"]))
    again = pickle.loads(pickle.dumps(scorer))
    assert again(search, frame, y) == scorer(search, frame, y)


def test_one_metric_in_a_search_is_a_number(split: Split) -> None:
    X, _, y, _, qid, _ = split
    scorer = make_scorer("mrr", names={"mrr": "first"})
    assert isinstance(
        scorer(QueryRanker(lgb.LGBMRanker(n_estimators=1, verbose=-1)).fit(X, y, qid=qid), X, y, qid=qid), float
    )
    assert repr(scorer) == "make_scorer('mrr', qid='qid', names={'mrr': 'first'})"
    assert repr(make_scorer("mrr", names="canonical")) == "make_scorer('mrr', qid='qid')"


MAKE = {
    "feval": feval,
    "eval_metric": eval_metric,
    "custom_metric": custom_metric,
    "make_scorer": make_scorer,
    "Monitor": lambda metrics, **options: Monitor(metrics, [[1.0], [2.0]], [0, 1], group=[2], **options),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
class TestErrors:
    @pytest.mark.parametrize(
        ("metrics", "names", "message"),
        [
            (["mrr"], "canonic", "names must be one of 'canonical', 'asked', 'slug'; got 'canonic'"),
            (["ndcg@10", "mrr"], {"ndgc@10": "x"},
                "names has 'ndgc@10'.*Did you mean 'ndcg@10'.*Here: ndcg@10, mrr, ndcg_exp@10"),
            (["mrr", "map"], {"mrr": "x", "map": "x"}, r"mrr and map would both be logged as 'x'.*names=\{"),
            (["mrr", "map"], {"mrr": "map", "map": "mrr"},
                "map would be logged as 'mrr', which is the name of mrr here"),
            (["mrr", "p@3"], {"mrr": "p@3"}, "mrr would be logged as 'p@3', which is the name of precision@3 here"),
            (["ndcg@10"], {"ndcg@10": "a", ltr.NDCG(k=10): "b"}, "gives ndcg_exp@10 two names, 'a' and 'b'"),
            (["ndcg@10", "ndcg_exp@10"], "asked", "'ndcg@10' and 'ndcg_exp@10' are the same metric, ndcg_exp@10"),
        ],
    )  # fmt: skip
    def test_values(self, make: Any, metrics: Any, names: Any, message: str) -> None:
        with pytest.raises(ltr.LtrValueError, match=message):
            make(metrics, names=names)

    @pytest.mark.parametrize("names", [["mrr"], None, 3, {"mrr": ""}, {"mrr": " "}, {"mrr": 1}])
    def test_types(self, make: Any, names: Any) -> None:
        with pytest.raises(ltr.LtrTypeError, match=r"names must .*Got"):
            make("mrr", names=names)

    def test_a_generator_of_metrics(self, make: Any) -> None:
        make((name for name in ("mrr", "map")), names="asked")


def test_rules_of_the_hosts(split: Split) -> None:
    for name in ("val mrr", "a:b", "tab\tbed"):
        with pytest.raises(ltr.LtrValueError, match=r"white space or a colon breaks\. Rename '.*names=\{"):
            custom_metric("mrr", names={"mrr": name})
    for make in (feval, eval_metric):
        with pytest.raises(ltr.LtrValueError, match="last word of its name alone, which 'mrr at 3' and 'map at 3'"):
            make(["mrr@3", "map@3"], names={"mrr@3": "mrr at 3", "map@3": "map at 3"})
    train, valid = matrices(split)
    with pytest.raises(ltr.LtrValueError, match="Rename the data set 'my valid' in evals"):
        xgb.train(
            XGBOOST, train, 1, evals=[(valid, "my valid")], custom_metric=custom_metric("mrr"), verbose_eval=False
        )


def test_a_name_that_xgboost_has_itself(split: Split) -> None:
    train, valid = matrices(split)
    params = XGBOOST | {"eval_metric": "ndcg@10", "disable_default_eval_metric": False}
    run = {"evals": [(train, "t"), (valid, "v")], "verbose_eval": False}
    with pytest.raises(
        ltr.LtrValueError, match=r"^'ndcg@10' of 't' is in the log.*names=\{\"ndcg@10\": \"my_ndcg@10\"\}"
    ):
        xgb.train(params, train, 2, custom_metric=custom_metric("ndcg@10", names="asked"), **run)
    ours = custom_metric("ndcg@10", names="asked")
    history: dict = {}
    renamed = lambda *given: [(f"our_{name}", value) for name, value in ours(*given)]  # noqa: E731
    xgb.train(params, train, 2, custom_metric=renamed, evals_result=history, **run)
    assert list(history["v"]) == ["ndcg@10", "our_ndcg@10"]


def test_a_name_that_lightgbm_has_itself(split: Split) -> None:
    X, _, y, _, qid, _ = split
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    params = LIGHTGBM | {"metric": "ndcg", "eval_at": [10]}
    with pytest.raises(ltr.LtrValueError, match=r"^'ndcg@10' of this data set.*names=\{\"ndcg@10\": \"my_ndcg@10\"\}"):
        lgb.train(params, train, 1, [train], feval=feval("ndcg@10", names="asked"))
