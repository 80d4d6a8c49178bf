"""What XGBoost alone has: text of six decimals, `early_stopping`, and the Monitor, which predicts for itself."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_validate
from test_host_contract import PLAIN, WEIGHTED
from trainings import XGBOOST, Case, Part, matrix, xgboost_train

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping

pytestmark = pytest.mark.integration

METRICS = ["err@10", "ndcg_exp@10", "map", "mrr"]
PARAMS = XGBOOST | {"disable_default_eval_metric": True}
TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)


class Predictions(xgb.callback.TrainingCallback):
    """Keeps what the model predicts after each round, from a prediction anew."""

    def __init__(self, X: Any, **options: Any) -> None:
        self.X, self.options, self.rounds = X, options, []

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.rounds.append(model.predict(xgb.DMatrix(self.X, enable_categorical=True, **self.options)))
        return False


def monitor(metrics: Any = "mrr", part: Part = VALID, **options: Any) -> Monitor:
    return Monitor(metrics, part.X, part.y, **{"qid": part.qid, "query_weight": part.weight} | options)


def ranker(*callbacks: Any, rounds: int = 4, **options: Any) -> Any:
    made = {"n_estimators": rounds, "n_jobs": 1, "random_state": 0, "learning_rate": 0.3} | options
    return xgb.XGBRanker(callbacks=list(callbacks), **made)


def train(
    metric: Any = None, callbacks: Any = (), rounds: int = 4, evals: Any = None, **options: Any
) -> tuple[Any, Any]:
    history: dict[str, Any] = {}
    evals = [(matrix(VALID), "v")] if evals is None else evals
    booster = xgb.train(PARAMS | options, matrix(TRAIN), rounds, evals=evals, custom_metric=metric,
                        callbacks=list(callbacks), evals_result=history, verbose_eval=False)  # fmt: skip
    return booster, history


@pytest.mark.filterwarnings("ignore:.*(gblinear|Parameters)")
@pytest.mark.parametrize("continued", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"booster": "dart", "rate_drop": 0.5, "one_drop": 1},
        {"booster": "gblinear"},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"tree_method": "approx", "grow_policy": "lossguide"},
    ],
)
def test_the_monitor_is_right_in_every_round(options: dict[str, Any], continued: bool) -> None:
    weighted, seen = WEIGHTED[1]._replace(columns=None), Predictions(VALID.X)
    begun = ranker(**options).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid) if continued else None
    model = ranker(monitor(METRICS, weighted), seen, **options).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=begun)
    means = [weighted.evaluate(score, METRICS).mean for score in seen.rounds]
    assert model.evals_result()["valid"] == {name: [mean[name] for mean in means] for name in METRICS}


def kinds() -> dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]]:
    """X to train on, X to watch, and options of the ranker and of both the Monitor and the DMatrix."""
    X, Xv = TRAIN.X, VALID.X
    frames = [pd.DataFrame(part).add_prefix("f") for part in (X, Xv)]
    cut = [f.assign(f0=pd.cut(f["f0"], [-9, -1, 0, 1, 9], labels=list("abcd"))) for f in frames]
    other = [cut[0], cut[1].assign(f0=cut[1]["f0"].cat.reorder_categories(list("dbac")))]
    codes = [np.column_stack([f["f0"].cat.codes, part[:, 1:]]) for f, part in zip(cut, (X, Xv), strict=True)]
    typed = {"enable_categorical": True, "feature_types": ["c", *"qqqq"]}
    return {
        "pandas": (*frames, {}, {}),
        "categories": (*cut, {"enable_categorical": True}, {}),
        "categories in another order": (*other, {"enable_categorical": True}, {}),
        "types of columns": (*codes, typed, {"feature_types": typed["feature_types"]}),
        "sparse": (*(sparse.csr_matrix(np.where(part > 0, part, 0)) for part in (X, Xv)), {}, {}),
        "margin": (X, Xv, {}, {"base_margin": np.random.default_rng(0).normal(size=len(Xv))}),
        "lists": (X, Xv.tolist(), {}, {}),
    }


@pytest.mark.parametrize("kind", kinds())
def test_the_monitor_takes_what_xgboost_takes(kind: str) -> None:
    X, Xv, options, of_matrix = kinds()[kind]
    seen = Predictions(Xv, **of_matrix)
    margin = {name: value for name, value in of_matrix.items() if name == "base_margin"}
    watched = Monitor("err@10", Xv, VALID.y, qid=VALID.qid, **margin)
    model = ranker(watched, seen, **options).fit(X, TRAIN.y, qid=TRAIN.qid)
    assert model.evals_result()["valid"]["err@10"] == [
        VALID.evaluate(score, "err@10")["err@10"] for score in seen.rounds
    ]
    if kind == "pandas":
        order = np.random.default_rng(0).permutation(len(VALID.y))
        columns = Xv.assign(qid=VALID.qid).iloc[order]
        again = ranker(Monitor("err@10", columns, VALID.y[order])).fit(X.assign(qid=TRAIN.qid), TRAIN.y)
        assert again.evals_result()["valid"]["err@10"] == pytest.approx(
            model.evals_result()["valid"]["err@10"], rel=1e-14
        )


class Batches(xgb.DataIter):
    """Rows in batches of a size, whatever their queries."""

    def __init__(self, X: Any, part: Part, size: int) -> None:
        super().__init__()
        self.columns, self.size, self.start = {"data": X, "label": part.y, "qid": part.qid}, size, 0

    def reset(self) -> None:
        self.start = 0

    def next(self, input_data: Any) -> bool:
        batch = {name: column[self.start : self.start + self.size] for name, column in self.columns.items()}
        self.start += self.size
        if len(batch["qid"]):
            input_data(**batch)
        return len(batch["qid"]) > 0


READERS = {  # of X with -99 for a missing value, and of options to read it
    "DMatrix": lambda X, part, **options: xgb.DMatrix(X, part.y, qid=part.qid, missing=-99.0),
    "QuantileDMatrix": lambda X, part, **options: xgb.QuantileDMatrix(
        X, part.y, qid=part.qid, missing=-99.0, **options
    ),
    "batches": lambda X, part, **options: xgb.DMatrix(Batches(X, part, len(X)), missing=-99.0),
}
SETTINGS: list[dict[str, Any]] = [
    {}, {"tree_method": "exact"}, {"max_bin": 4}, {"booster": "dart", "rate_drop": 0.5}, {"num_parallel_tree": 2},
]  # fmt: skip


class TestWhatIsMissing:
    """It is what the training says; a Monitor that reads other values as XGBoost gets another metric."""

    X, Xv = (np.where(part.X < 0, -99.0, part.X) for part in (TRAIN, VALID))

    def watched(self, Xv: Any, **options: Any) -> Monitor:
        return Monitor("ndcg_exp@10", Xv, VALID.y, qid=VALID.qid, convention="xgboost", **options)

    @pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, sparse.csr_matrix])
    @pytest.mark.parametrize("settings", SETTINGS, ids=str)
    def test_in_an_estimator(self, table: Any, settings: dict[str, Any]) -> None:
        X, Xv = table(self.X), table(self.Xv)
        model = ranker(self.watched(Xv), missing=-99.0, eval_metric="ndcg@10", **settings)
        model.fit(X, TRAIN.y, qid=TRAIN.qid, eval_set=[(Xv, VALID.y)], eval_qid=[VALID.qid], verbose=False)
        logged = model.evals_result()
        assert logged["valid"]["ndcg_exp@10"] == pytest.approx(logged["validation_0"]["ndcg@10"], abs=1e-6)
        score = VALID.evaluate(model.predict(Xv), "ndcg_exp@10", convention="xgboost")
        assert logged["valid"]["ndcg_exp@10"][-1] == score["ndcg_exp@10"]

    @pytest.mark.parametrize("kind", READERS)
    @pytest.mark.parametrize("continued", [False, True])
    def test_in_a_data_set_of_xgboost(self, kind: str, continued: bool) -> None:
        X = READERS[kind](self.X, TRAIN)
        Xv = READERS[kind](self.Xv, VALID, ref=X)
        begun = xgb.train(XGBOOST, X, 2) if continued else None
        history: dict[str, Any] = {}
        xgb.train(XGBOOST | {"eval_metric": "ndcg@10"}, X, 4, evals=[(Xv, "v")], evals_result=history, xgb_model=begun,
                  callbacks=[self.watched(self.Xv)], verbose_eval=False)  # fmt: skip
        assert history["valid"]["ndcg_exp@10"] == pytest.approx(history["v"]["ndcg@10"], abs=1e-6)

    def test_or_what_the_user_says(self) -> None:
        X = READERS["DMatrix"](self.X, TRAIN).slice(np.arange(len(TRAIN.y)), allow_groups=True)  # it has lost it
        Xv, history = READERS["DMatrix"](self.Xv, VALID), {}
        xgb.train(XGBOOST | {"eval_metric": "ndcg@10"}, X, 4, evals=[(Xv, "v")], evals_result=history,
                  callbacks=[self.watched(self.Xv, missing=-99.0)], verbose_eval=False)  # fmt: skip
        assert history["valid"]["ndcg_exp@10"] == pytest.approx(history["v"]["ndcg@10"], abs=1e-6)

    def test_outside_of_a_training_it_is_what_the_user_says(self) -> None:
        booster = xgb.train(XGBOOST, READERS["DMatrix"](self.X, TRAIN), 2)
        scores = [booster.predict(xgb.DMatrix(self.Xv, missing=missing)) for missing in (np.nan, -99.0)]
        for watched, score in zip((self.watched(self.Xv), self.watched(self.Xv, missing=-99.0)), scores, strict=True):
            log: dict[str, Any] = {}
            watched.before_iteration(booster, 0, log)
            watched.after_iteration(booster, 0, log)
            expected = VALID.evaluate(score, "ndcg_exp@10", convention="xgboost")
            assert log["valid"]["ndcg_exp@10"] == [expected["ndcg_exp@10"]]
        container = xgb.callback.CallbackContainer([self.watched(self.Xv)])
        container.before_iteration(booster, 0, matrix(TRAIN), [])
        with pytest.raises(
            ltr.LtrValueError, match=r"xgb.train does not run here. Pass it: Monitor\(missing=numpy.nan"
        ):
            container.after_iteration(booster, 0, matrix(TRAIN), [])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_several_monitors_and_early_stopping_by_one(order: tuple[int, ...]) -> None:
    """In any order of the callbacks, since XGBoost before 3.2 calls them in any."""
    names = {"mrr": "first", "err@10": "stop"}
    callbacks = [monitor(["mrr", "err@10"], TRAIN, name="train"), monitor(["mrr", "err@10"], names=names),
                 early_stopping("err@10", 5, data_name="valid")]  # fmt: skip
    model = ranker(*(callbacks[i] for i in order), rounds=60)
    sets = {"eval_set": [(VALID.X, VALID.y)], "eval_qid": [VALID.qid]}
    model.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, verbose=False, **sets)
    logged = model.evals_result()
    assert [list(logged[name]) for name in ("train", "valid")] == [["mrr", "err@10"], ["first", "stop"]]
    assert list(logged)[-1] == "validation_0"  # XGBoost's own early stopping watches the last one
    assert model.best_iteration == int(np.argmax(logged["valid"]["stop"])) < 59
    assert model.best_score == VALID.evaluate(model.predict(VALID.X), "err@10")["err@10"]
    for other in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, verbose=False, **sets).evals_result() == logged
    assert clone(model).callbacks[order.index(0)].queries is callbacks[0].queries  # data are not copied


def test_early_stopping_serves_several_trainings() -> None:
    stopper = early_stopping("mrr", 5, min_delta=1e-4, save_best=True)
    boosters = [train(custom_metric("mrr"), [stopper], 60, [(matrix(VALID), name)])[0] for name in ("one", "two")]
    assert boosters[0].best_iteration == boosters[1].best_iteration == boosters[0].num_boosted_rounds() - 1 < 59


class TrainsOnce(xgb.callback.TrainingCallback):
    """Runs another training after the first round of one."""

    def __init__(self, other: Any) -> None:
        self.other = other

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if epoch == 0:
            self.other()
        return False


def test_callbacks_in_two_trainings_at_once() -> None:
    """As in two threads, whose rounds would be mixed."""
    callback, metric, finished = early_stopping("mrr", 5), custom_metric("mrr"), []
    other = TrainsOnce(lambda: finished.append(train(metric, [callback])[1]))
    with pytest.raises(ltr.LtrValueError, match="One early_stopping is in two trainings at the same time"):
        train(metric, [callback, other])
    assert finished == [train(metric, [callback])[1]]
    watch = monitor()
    other = TrainsOnce(lambda: finished.append(train(callbacks=[watch], evals=[])[1]))
    assert train(callbacks=[watch, other], evals=[])[1] == finished[-1] == train(callbacks=[watch], evals=[])[1]


def test_of_several_evals_the_last_one_stops() -> None:
    sets, best = [(matrix(TRAIN), "train"), (matrix(VALID), "v")], []
    for evals in (sets, sets[::-1]):
        booster, history = train(custom_metric("ndcg@10"), [early_stopping("ndcg@10", 3)], 60, evals)
        values = history[evals[-1][1]]["ndcg@10"]
        assert booster.best_iteration == int(np.argmax(values)) == len(values) - 4 < 55
        best.append(booster.best_iteration)
    assert best[0] != best[1]


def test_cv_keeps_queries_whole() -> None:
    log = ltr.PerQueryLog()
    metric = custom_metric(["mrr", "err@10"], names="slug", log=log)
    plain = xgb.cv(PARAMS, matrix(TRAIN), 20, nfold=3, custom_metric=metric, as_pandas=False)
    tests = [name for i, name in enumerate(log.data_names) if i % 2 == 1]  # training and test part of each fold
    assert sum(len(log.qid(name)) for name in tests) == len(TRAIN.group)
    expected = np.mean([np.nanmean(log.values(name, "mrr")[-1]) for name in tests])
    assert plain["test-mrr-mean"][-1] == pytest.approx(expected, abs=5.1e-7)


def test_cv_refuses_folds_and_cross_validate_takes_them() -> None:
    table = pd.DataFrame(TRAIN.X).add_prefix("f").assign(qid=TRAIN.qid)
    folds = list(GroupKFold(3).split(table, TRAIN.y, TRAIN.qid))
    with pytest.raises(xgb.core.XGBoostError, match="slice does not support group structure"):
        xgb.cv(PARAMS, matrix(TRAIN), 4, folds=folds, custom_metric=custom_metric("mrr"))
    options: dict[str, Any] = {"cv": folds, "scoring": make_scorer("mrr"), "error_score": "raise"}
    scores = cross_validate(QueryRanker(ranker()), table, TRAIN.y, **options)["test_score"]
    for (rows, test), score in zip(folds, scores, strict=True):
        model = ranker().fit(TRAIN.X[rows], TRAIN.y[rows], qid=TRAIN.qid[rows])
        held_out = Part(TRAIN.X[test], TRAIN.y[test], TRAIN.qid[test])
        assert score == held_out.evaluate(model.predict(held_out.X), "mrr")["mrr"]


def test_batches_of_an_iterator_that_cut_queries_are_seen_by_a_monitor_alone() -> None:
    """XGBoost takes each part of a query for a query, and keeps no ids by which a metric could find them."""
    data = xgb.QuantileDMatrix(Batches(TRAIN.X, TRAIN, 10))
    parts = np.diff(data.get_uint_info("group_ptr"))
    assert len(parts) > len(TRAIN.group)
    history: dict[str, Any] = {}
    booster = xgb.train(PARAMS, data, 4, evals=[(data, "parts")], custom_metric=custom_metric("mrr"),
                        callbacks=[monitor(part=TRAIN, name="whole")], evals_result=history, verbose_eval=False)  # fmt: skip
    scores = booster.predict(xgb.DMatrix(TRAIN.X))
    fragments = ltr.evaluate(TRAIN.y, scores, group=parts, metrics="mrr")["mrr"]
    assert history["parts"]["mrr"][-1] == pytest.approx(fragments, abs=5.1e-7)
    assert history["whole"]["mrr"][-1] == TRAIN.evaluate(scores, "mrr")["mrr"] != pytest.approx(fragments, abs=1e-3)


def test_xgboosts_own_metrics() -> None:
    """Only its NDCG and its objective have the gain of the training; its own early stopping watches its own."""
    for of_host in ("map@5", "pre@5", "rmse", ["map", "ndcg@3"]):
        model = ranker(monitor("ndcg@10", names="canonical", convention="xgboost"),
                       eval_metric=of_host, ndcg_exp_gain=False, rounds=1)  # fmt: skip
        assert list(model.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid).evals_result()["valid"]) == ["ndcg_lin@10"]
    sets = {"eval_set": [(VALID.X, VALID.y)], "eval_qid": [VALID.qid], "verbose": False}
    best = [ranker(*callbacks, rounds=30, early_stopping_rounds=5).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, **sets)
            for callbacks in ((), (monitor(name="validation_0"),))]  # fmt: skip
    assert best[0].best_iteration == best[1].best_iteration


def test_a_training_that_keeps_the_best_round_of_the_model_that_it_continues() -> None:
    data = {"X": TRAIN.X, "y": TRAIN.y, "qid": TRAIN.qid, "verbose": False}
    first = ranker(monitor(), early_stopping("mrr", 2), rounds=30).fit(**data)
    best, n_rounds = first.best_iteration, first.get_booster().num_boosted_rounds()
    with pytest.warns(ltr.LtrWarning, match=f"keeps its best_iteration {best}, although .* {n_rounds + 4} rounds"):
        second = ranker(monitor()).fit(**data, xgb_model=first)
    assert second.best_iteration == best
    np.testing.assert_array_equal(second.predict(VALID.X), first.predict(VALID.X))  # the new rounds do not count
    whole = second.predict(VALID.X, iteration_range=(0, n_rounds + 4))
    assert second.evals_result()["valid"]["mrr"][-1] == VALID.evaluate(whole, "mrr")["mrr"]
    third = ranker(monitor(), early_stopping("mrr", 2), rounds=30).fit(**data, xgb_model=first)  # without a warning
    assert third.best_iteration >= n_rounds
    first.get_booster().set_attr(best_iteration=None, best_score=None)
    fourth = ranker(monitor()).fit(**data, xgb_model=first)
    np.testing.assert_array_equal(fourth.predict(VALID.X), whole)


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, sparse.csr_matrix, np.ndarray.tolist], ids=str)
def test_what_a_monitor_is_given_may_change_afterwards(kind: Any) -> None:
    X, margin = kind(VALID.X.copy()), np.linspace(0, 1, len(VALID.y))
    watched = monitor(part=VALID._replace(X=X), base_margin=margin)
    expected = ranker(monitor(base_margin=margin.copy())).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid).evals_result()
    margin[:] = margin[::-1].copy()
    if kind is pd.DataFrame:
        X.iloc[:] = X.to_numpy()[::-1].copy()
    elif kind is sparse.csr_matrix:
        X.data *= -1
    elif kind is np.array:
        X *= -1
    else:
        for row in X:
            row[:] = [-value for value in row]
    for _ in range(2):  # each training reads them
        assert ranker(watched).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid).evals_result() == expected


class Broken(xgb.callback.TrainingCallback):
    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        raise RuntimeError("broken")


def test_the_life_of_a_monitor() -> None:
    log = ltr.PerQueryLog()
    watched = monitor(name="held out", log=log)
    with pytest.raises(RuntimeError, match="broken"):
        ranker(monitor(), Broken()).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    model = ranker(watched).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    np.testing.assert_array_equal(log.values(watched, "mrr"), log.values("held out", "mrr"))
    np.testing.assert_array_equal(log.qid("held out"), list(dict.fromkeys(VALID.qid.tolist())))
    with pytest.raises(ltr.LtrValueError, match="new PerQueryLog"):
        model.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    gone, model.callbacks = weakref.ref(watched), None
    del watched, log
    gc.collect()
    assert gone() is None  # the history keeps none alive
    assert len(model.evals_result()["held out"]["mrr"]) == 4


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        (lambda: [early_stopping("err@10", 2)], r"watches err@10, which is not evaluated. Evaluated here: mrr of v"),
        (lambda: [early_stopping("pre@5", 2)], r"not evaluated\. 'pre@5' of XGBoost is 'precision@5' here\. Evaluated"),
        (lambda: [early_stopping("mrr", 2, data_name="w")], "watches mrr of 'w', which is not evaluated"),
        (lambda: [monitor(name="a"), monitor(name="b"), early_stopping("mrr", 2)], "Several data sets have mrr"),
        (lambda: [monitor(), monitor()], "^'mrr' of 'valid' is in the log"),
        (lambda: [monitor(name="v")], "^'mrr' of 'v' is in the log"),
        (lambda: [monitor(part=VALID._replace(X=VALID.X[:, :3]))], "X has 3 features.*trained on 5"),
    ],
)
def test_callbacks_that_cannot_work(callbacks: Any, message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        train(custom_metric("mrr"), callbacks())


@pytest.mark.parametrize(
    ("name", "hint"), [("ndcg@5-", "suffix '-' is no_relevant=0"), ("rmse", "'rmse' measures the scores themselves")]
)
def test_the_direction_of_a_metric_of_the_host_is_not_known(name: str, hint: str) -> None:
    message = f"watches {name}, which is no metric of this package, so its direction is not known.*{hint}"
    with pytest.raises(ltr.LtrValueError, match=message):
        train(None, [early_stopping(name, 2)], eval_metric=name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: early_stopping(["mrr", "map"], 5), "watches one metric. Got mrr, map"),
        (lambda: Monitor("mrr", VALID.X[:-1], VALID.y, qid=VALID.qid), "same number of rows"),
        (lambda: Monitor("mrr", matrix(VALID), VALID.y, qid=VALID.qid), "To evaluate a DMatrix"),
        (lambda: Monitor("mrr", matrix(VALID)), "To evaluate a DMatrix"),
        (
            lambda: train(custom_metric("mrr"), evals=[(matrix(VALID), "my valid")]),
            "'my valid' has a space.*Rename this data set",
        ),
        (lambda: custom_metric("mrr", names={"mrr": "our: mrr"}), "'our: mrr' has a .*Rename it: .*\"our__mrr\""),
        (lambda: custom_metric(["mrr", "AP@10"]), "would minimise 'ap@10', and it maximises 'map@10'"),
        (lambda: monitor("p@5", convention="trec_eval", ties="mean"), r"names=\{\"p@5\": \"precision@5\"\}"),
        (lambda: xgb.cv(PARAMS, matrix(TRAIN), 2, nfold=2, callbacks=[monitor()]), "trains one for each fold"),
        (lambda: xgboost_train(Case(TRAIN, VALID, options={"columns": {}}, metrics="mean_of(a)")), "columns"),
    ],
)
def test_arguments(make: Any, message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        make()


def test_a_log_on_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xgb.collective, "is_distributed", lambda: True)
    with pytest.raises(ltr.LtrValueError, match="log= keeps what one process evaluates"):
        custom_metric("mrr", log=ltr.PerQueryLog())(np.zeros(len(VALID.y)), matrix(VALID))


@pytest.mark.filterwarnings(r"ignore:[\s\S]*(are not used|deprecated|gblinear)")  # of XGBoost
@pytest.mark.parametrize("options", [{"booster": "dart", "rate_drop": 0.5}, {"booster": "gblinear"}], ids=str)
def test_rounds_that_change_earlier_ones_are_not_cut_off(options: dict[str, Any]) -> None:
    with pytest.raises(ltr.LtrValueError, match="save_best=True would return another model"):
        train(custom_metric("mrr"), [early_stopping("mrr", 2, save_best=True)], **options)
    with pytest.warns(ltr.LtrWarning, match=r"Pass iteration_range=\(0, 0\)"):
        train(custom_metric("mrr"), [early_stopping("mrr", 2)], **options)
