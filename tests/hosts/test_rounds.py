"""Rounds of the model: the log's values of round r are those of the model's first r + 1 rounds, however it was trained.

`Trained.check` asks the host's own ``predict`` for the scores after that number of rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from catboost import CatBoostRanker, CatBoostRegressor, Pool
from lightgbm_fit import validation_sets
from test_host_contract import PLAIN
from trainings import CATBOOST, LIGHTGBM, XGBOOST, Part, matrix

import ltr_metrics as ltr
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.lightgbm import early_stopping as stop_lightgbm
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.sklearn import QueryRanker
from ltr_metrics.xgboost import Monitor, custom_metric
from ltr_metrics.xgboost import early_stopping as stop_xgboost

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings(
        "ignore:(?s).*(gblinear|is deprecated|Regression loss|Parameters. |the `updater` parameter)"
    ),
]

TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)
METRICS = ["mrr", "ndcg_lin@5"]
Rounds = Iterable[int]


@dataclass
class Trained:
    """What a training leaves; ``predictable`` are the rounds whose model is the beginning of the final one."""

    log: ltr.PerQueryLog
    model: Any
    rounds: Rounds
    data: Any = "valid_0"
    valid: Part = VALID
    predictable: Rounds | None = None

    def predict(self, n_rounds: int) -> Any:
        model, X = self.model, self.valid.X
        if isinstance(model, (lgb.Booster, lgb.LGBMModel)):
            return model.predict(X, num_iteration=n_rounds)
        if isinstance(model, catboost.CatBoost):
            return model.predict(X, ntree_end=n_rounds)
        booster = model if isinstance(model, xgb.Booster) else model.get_booster()
        if '"name":"gblinear"' in booster.save_config():
            return booster.predict(xgb.DMatrix(X))
        return booster.predict(xgb.DMatrix(X), iteration_range=(0, n_rounds))

    def check(self) -> None:
        rounds = list(self.rounds)
        assert self.log.rounds(self.data).tolist() == rounds
        predictable = set(rounds if self.predictable is None else self.predictable)
        assert predictable <= set(rounds)
        for metric in METRICS:
            curve = self.log.best_round(self.data, metric)
            assert curve.rounds.tolist() == rounds
            for row, number in enumerate(rounds):
                if number in predictable:
                    result = self.valid.evaluate(self.predict(number + 1), METRICS)
                    found = self.log.values(self.data, metric)[row]
                    np.testing.assert_allclose(found, result.per_query[metric], rtol=1e-12)
            assert curve.n_rounds == rounds[int(curve.mean.argmax())] + 1


def cases(*functions: Callable[[Path], Trained]) -> Any:
    names = [function.__name__.strip("_") for function in functions]
    assert len(set(names)) == len(names)
    return pytest.mark.parametrize("training", functions, ids=names)


def varied(**variants: dict[str, Any]) -> Callable[[Any], list[Any]]:
    """Make a training of each variant of some options."""

    def make(function: Any) -> list[Any]:
        made = []
        for name, options in variants.items():

            def training(folder: Path, options: Any = options) -> Trained:
                return function(folder, **options)

            training.__name__ = f"{function.__name__}-{name}"
            made.append(training)
        return made

    return make


# -- LightGBM ---------------------------------------------------------------------------------------------------------

LGB = LIGHTGBM | {"metric": "None"}


class LightGBM:
    """A training set and a validation set of LightGBM, with a log."""

    def __init__(self, **params: Any) -> None:
        self.log, self.params = ltr.PerQueryLog(), LGB | params
        self.metric = feval(METRICS, log=self.log)
        self.train_set = lgb.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.group, free_raw_data=False)
        self.valid = self.dataset(VALID)

    def dataset(self, part: Part) -> lgb.Dataset:
        return lgb.Dataset(part.X, part.y, group=part.group, reference=self.train_set, free_raw_data=False)

    def fit(self, rounds: int, begun: Any = None, sets: Any = None, **options: Any) -> lgb.Booster:
        sets = [self.valid] if sets is None else sets
        return lgb.train(
            self.params, self.train_set, rounds, sets, **{"feval": self.metric} | options, init_model=begun
        )

    def loop(self) -> lgb.Booster:
        booster = lgb.Booster(self.params, self.train_set.construct())
        return booster.add_valid(self.valid, "valid")


def squares(scores: np.ndarray, train_set: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
    return scores - train_set.get_label(), np.ones_like(scores)


@varied(
    plain={},
    xendcg={"objective": "rank_xendcg", "bagging_fraction": 0.6, "bagging_freq": 1},
    poisson={"objective": "poisson"},
    own={"objective": squares},
    goss={"data_sample_strategy": "goss"},
    average={"objective": "regression", "boost_from_average": True},
    forest={"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    linear={"objective": "regression", "linear_tree": True},
    dart={"boosting": "dart", "drop_rate": 0.5},
)
def lightgbm_trains(folder: Path, **params: Any) -> Trained:
    host = LightGBM(**params)
    return Trained(host.log, host.fit(4), range(4), predictable=[3] if params.get("boosting") == "dart" else None)


@varied(
    booster={},
    file={"by_file": True},
    average={"objective": "regression", "boost_from_average": True},
    dart={"boosting": "dart", "drop_rate": 0.5},
)
def lightgbm_continues(folder: Path, by_file: bool = False, **params: Any) -> Trained:
    begun = LightGBM(**params).fit(4)
    begun.save_model(folder / "begun.txt")
    host = LightGBM(**params)
    booster = host.fit(3, str(folder / "begun.txt") if by_file else begun)
    return Trained(host.log, booster, range(4, 7), predictable=[6] if "boosting" in params else None)


@varied(booster={}, file={"how": "file"}, estimator={"how": "estimator"})
def lgbmranker_continues(folder: Path, how: str = "booster") -> Trained:
    def fit(log: ltr.PerQueryLog, begun: Any = None) -> lgb.LGBMRanker:
        ranker = lgb.LGBMRanker(n_estimators=3, metric="None", verbose=-1, n_jobs=1, learning_rate=0.3)
        return ranker.fit(
            TRAIN.X, TRAIN.y, group=TRAIN.group, eval_group=[VALID.group], init_model=begun,
            eval_metric=eval_metric(METRICS, log=log), **validation_sets((VALID.X, VALID.y)),
        )  # fmt: skip

    begun, log = fit(ltr.PerQueryLog()), ltr.PerQueryLog()
    begun.booster_.save_model(folder / "begun.txt")
    given = {"booster": begun.booster_, "file": str(folder / "begun.txt"), "estimator": begun}[how]
    return Trained(log, fit(log, given), range(3, 6))


@varied(
    booster={"how": lambda booster, host: booster.eval_valid(host.metric)},
    set={"how": lambda booster, host: booster.eval(host.valid, "valid", host.metric)},
    twice={"how": lambda booster, host: [booster.eval_valid(host.metric) for _ in range(2)]},
    wrapped={"how": lambda booster, host: booster.eval_valid(lambda *given: host.metric(*given))},
)
def lightgbm_by_hand_every_third_round(folder: Path, how: Any) -> Trained:
    host = LightGBM()
    booster = host.loop()
    for i in range(9):
        booster.update()
        if i % 3 == 2:
            how(booster, host)
    return Trained(host.log, booster, [2, 5, 8])


def lightgbm_goes_back(folder: Path) -> Trained:
    host = LightGBM()
    booster = host.loop()
    for i in range(6):
        booster.update()
        booster.eval_valid(host.metric)
        if i == 3:
            booster.rollback_one_iter().rollback_one_iter().reset_parameter({"learning_rate": 0.05})
    return Trained(host.log, booster, range(4), predictable=range(2))  # going back costs LightGBM's scores a last digit


def lightgbm_goes_on_by_hand(folder: Path) -> Trained:
    host = LightGBM()
    booster = host.fit(3, keep_training_booster=True)
    for _ in range(2):
        booster.update()
        booster.eval_valid(host.metric)
    return Trained(host.log, booster, range(5))


def lightgbm_one_set_under_two_names(folder: Path) -> Trained:
    host = LightGBM()
    return Trained(host.log, host.fit(5, sets=[host.valid, host.valid], valid_names=["a", "b"]), range(5))


def lightgbm_the_training_set(folder: Path) -> Trained:
    host = LightGBM()
    booster = host.fit(3, LightGBM().fit(2), sets=[host.train_set, host.valid])
    return Trained(host.log, booster, range(2, 5), "training", TRAIN)


def lightgbm_two_functions(folder: Path) -> Trained:
    host = LightGBM()
    functions = [feval(metric, log=host.log) for metric in METRICS]
    return Trained(host.log, host.fit(3, LightGBM().fit(2), feval=functions), range(2, 5))


def lightgbm_finds_no_split(folder: Path) -> Trained:
    host = LightGBM(min_data_in_leaf=10_000)  # its model has one round, whatever is asked for
    return Trained(host.log, host.fit(4), [0])


@varied(
    booster={},
    file={"how": "file"},
    function={"how": "function"},
    stopped={"how": "stopped"},
    twice={"how": "twice"},
    loop={"how": "loop"},
)
def lightgbm_appends(folder: Path, how: str = "booster") -> Trained:
    """One log of two trainings: the second continues the first."""
    host = LightGBM()
    stop = [stop_lightgbm("mrr", 3)] if how == "stopped" else []
    begun = host.fit(20 if how == "stopped" else 4, callbacks=stop)
    n_begun = begun.current_iteration()  # the rounds after the best one are gone
    assert len(host.log.rounds("valid_0")) - n_begun == (3 if how == "stopped" else 0)
    begun.save_model(folder / "begun.txt")
    if how == "loop":
        for _ in range(2):
            begun = host.fit(1, begun)
        return Trained(host.log, begun, range(6))
    metric = feval(METRICS, log=host.log) if how == "function" else host.metric
    booster = host.fit(3, str(folder / "begun.txt") if how == "file" else begun, feval=metric)
    if how == "twice":
        booster = host.fit(2, booster)
    return Trained(host.log, booster, range(booster.current_iteration()))


def lightgbm_stops_early_in_a_continued_training(folder: Path) -> Trained:
    host = LightGBM()
    booster = host.fit(30, LightGBM().fit(4), callbacks=[stop_lightgbm("mrr", 3)], keep_training_booster=True)
    best = host.log.best_round("valid_0", "mrr")
    assert best.n_rounds == booster.best_iteration < 31
    assert booster.best_score["valid_0"]["mrr"] == best.mean[best.best]
    return Trained(host.log, booster, range(4, booster.best_iteration + 3))


@cases(
    *lightgbm_trains,
    *lightgbm_continues,
    *lgbmranker_continues,
    *lightgbm_by_hand_every_third_round,
    lightgbm_goes_back,
    lightgbm_goes_on_by_hand,
    lightgbm_one_set_under_two_names,
    lightgbm_the_training_set,
    lightgbm_two_functions,
    lightgbm_finds_no_split,
    *lightgbm_appends,
    lightgbm_stops_early_in_a_continued_training,
)
def test_rounds_of_lightgbm(training: Callable[[Path], Trained], tmp_path: Path) -> None:
    training(tmp_path).check()


@pytest.mark.parametrize("n_begun", [0, 4])
def test_rounds_of_the_folds_of_lightgbm(n_begun: int) -> None:
    host = LightGBM()
    begun = LightGBM().fit(n_begun) if n_begun else None
    found = lgb.cv(LGB, host.train_set, 3, nfold=2, feval=host.metric, init_model=begun, return_cvbooster=True)
    for name, booster in zip(host.log.data_names, found["cvbooster"].boosters, strict=True):
        assert host.log.rounds(name).tolist() == list(range(n_begun, booster.current_iteration()))
        queries = host.log.qid(name)
        valid = np.isin(np.unique(TRAIN.qid, return_inverse=True)[1], queries)
        result = Part(TRAIN.X[valid], TRAIN.y[valid], TRAIN.qid[valid]).evaluate(
            booster.predict(TRAIN.X[valid]), METRICS
        )
        np.testing.assert_array_equal(host.log.values(name, "mrr")[-1], result.per_query["mrr"])


# -- XGBoost ----------------------------------------------------------------------------------------------------------

XGB = XGBOOST | {"disable_default_eval_metric": True}
CHANGES_EARLIER_ROUNDS = ("dart", "gblinear")


class XGBoost:
    """A training set and a validation set of XGBoost, with a log."""

    def __init__(self, *, monitored: bool = False, **params: Any) -> None:
        self.log, self.params = ltr.PerQueryLog(), XGB | params
        self.train_set, self.valid = matrix(TRAIN), matrix(VALID)
        self.monitor = Monitor(METRICS, VALID.X, VALID.y, qid=VALID.qid, name="valid_0", log=self.log)
        self.metric = None if monitored else custom_metric(METRICS, log=self.log)
        self.callbacks = [self.monitor] if monitored else []

    def fit(
        self, rounds: int, begun: Any = None, evals: Any = None, callbacks: Any = (), **options: Any
    ) -> xgb.Booster:
        return xgb.train(
            self.params | options, self.train_set, rounds, evals=[(self.valid, "v")] if evals is None else evals,
            custom_metric=self.metric, xgb_model=begun, callbacks=[*self.callbacks, *callbacks], verbose_eval=False,
        )  # fmt: skip

    def trained(self, model: Any, rounds: Rounds) -> Trained:
        last_only = self.params.get("booster") in CHANGES_EARLIER_ROUNDS
        return Trained(self.log, model, rounds, predictable=[max(rounds)] if last_only else None)


BOTH: dict[str, dict[str, Any]] = {"function": {}, "monitor": {"monitored": True}}
KINDS: dict[str, dict[str, Any]] = {
    "forest": {"num_parallel_tree": 3, "subsample": 0.6},
    "pointwise": {"objective": "reg:squarederror"},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "gblinear": {"booster": "gblinear"},
}


@varied(**BOTH, **KINDS)
def xgboost_trains(folder: Path, **params: Any) -> Trained:
    host = XGBoost(**params)
    return host.trained(host.fit(4), range(4))


@varied(**BOTH, **KINDS, file={"by_file": True}, monitor_file={"by_file": True, "monitored": True})
def xgboost_continues(folder: Path, by_file: bool = False, **params: Any) -> Trained:
    begun, host = XGBoost(**params).fit(4), XGBoost(**params)
    begun.save_model(folder / "begun.json")
    return host.trained(host.fit(3, str(folder / "begun.json") if by_file else begun), range(4, 7))


@varied(estimator={}, booster={"by_booster": True})
def xgbranker_continues(folder: Path, by_booster: bool = False) -> Trained:
    def fit(host: XGBoost, begun: Any = None) -> xgb.XGBRanker:
        ranker = xgb.XGBRanker(n_estimators=3, n_jobs=1, learning_rate=0.3, callbacks=[host.monitor])
        return ranker.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=begun, verbose=False)

    begun, host = fit(XGBoost()), XGBoost()
    ranker = fit(host, begun.get_booster() if by_booster else begun)
    return Trained(host.log, fit(host, ranker), range(3, 9))  # the second fit continues the booster of the log


@varied(**BOTH, continued={"n_begun": 2}, monitor_continued={"n_begun": 2, "monitored": True})
def xgboost_by_hand_every_third_round(folder: Path, n_begun: int = 0, **options: Any) -> Trained:
    host = XGBoost(**options)
    begun = XGBoost().fit(n_begun) if n_begun else None
    booster = xgb.Booster(host.params, [host.train_set, host.valid], model_file=begun)
    for i in range(9):
        booster.update(host.train_set, i)
        if i % 3 == 2 and host.metric is None:
            host.monitor.after_iteration(booster, i, {})
        elif i % 3 == 2:
            booster.eval_set([(host.valid, "v")], i, feval=host.metric)
    return host.trained(booster, [n_begun + i for i in (2, 5, 8)])


def xgboost_one_set_under_two_names(folder: Path) -> Trained:
    host = XGBoost()
    return host.trained(host.fit(5, evals=[(host.valid, "a"), (host.valid, "b")]), range(5))


def xgboost_refreshes(folder: Path) -> Trained:
    """It goes through the rounds of a model and changes the leaves of each."""
    begun, host = XGBoost().fit(4), XGBoost()
    host.train_set = host.valid
    return host.trained(host.fit(4, begun, process_type="update", updater="refresh"), range(4))


@varied(**BOTH, file={"by_file": True}, stopped={"stop": True}, monitor_stopped={"stop": True, "monitored": True})
def xgboost_appends(folder: Path, by_file: bool = False, stop: bool = False, **options: Any) -> Trained:
    """One log of two trainings: the second continues the first, which was stopped, with all its rounds."""
    host = XGBoost(**options)
    begun = host.fit(20 if stop else 4, callbacks=[stop_xgboost("mrr", 3)] if stop else [])
    assert begun.num_boosted_rounds() < 20
    begun.save_model(folder / "begun.json")
    says_so = pytest.warns(ltr.LtrWarning, match="continues a model that was stopped") if stop else nullcontext()
    with says_so if options else nullcontext():  # of the Monitor
        booster = host.fit(3, str(folder / "begun.json") if by_file else begun)
    return host.trained(booster, range(begun.num_boosted_rounds() + 3))


@varied(**BOTH)
def xgboost_stops_early_in_a_continued_training(folder: Path, **options: Any) -> Trained:
    host = XGBoost(**options)
    booster = host.fit(30, XGBoost().fit(4), callbacks=[stop_xgboost("mrr", 3)])
    assert host.log.best_round("valid_0", "mrr").n_rounds == booster.best_iteration + 1 < 31
    return host.trained(booster, range(4, booster.best_iteration + 4))


@cases(
    *xgboost_trains,
    *xgboost_continues,
    *xgbranker_continues,
    *xgboost_by_hand_every_third_round,
    xgboost_one_set_under_two_names,
    xgboost_refreshes,
    *xgboost_appends,
    *xgboost_stops_early_in_a_continued_training,
)
def test_rounds_of_xgboost(training: Callable[[Path], Trained], tmp_path: Path) -> None:
    training(tmp_path).check()


def test_rounds_of_the_folds_of_xgboost() -> None:
    host = XGBoost()
    xgb.cv(XGB, host.train_set, 3, nfold=2, custom_metric=host.metric)
    assert [host.log.rounds(name).tolist() for name in host.log.data_names] == [[0, 1, 2]] * 4


# -- CatBoost ---------------------------------------------------------------------------------------------------------


class Interrupt:
    """A callback that ends a training after some rounds."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def after_iteration(self, info: Any) -> bool:
        return bool(info.iteration < self.rounds)


class CatBoost:
    """A training set and a validation set of CatBoost, with a log."""

    def __init__(self, kind: Any = CatBoostRanker) -> None:
        self.log, self.kind = ltr.PerQueryLog(), kind
        self.train_set, self.valid = (Pool(part.X, part.y, group_id=part.qid) for part in (TRAIN, VALID))

    def fit(self, rounds: int, begun: Any = None, sets: Any = None, fit: Any = None, **params: Any) -> Any:
        metric = EvalMetric(METRICS, self.valid, log=self.log)
        model = self.kind(eval_metric=metric, iterations=rounds, **CATBOOST | params)
        sets = [self.valid] if sets is None else sets
        return model.fit(self.train_set, eval_set=sets, init_model=begun, **fit or {})

    def trained(self, model: Any, rounds: Rounds) -> Trained:
        kept = [number for number in rounds if number < model.tree_count_]
        return Trained(self.log, model, rounds, "validation", predictable=kept)


NEVER = 100  # rounds without improvement that do not occur, but an active detector waits for them
DETECTORS: dict[str, dict[str, Any]] = {
    "fit": {"fit": {"early_stopping_rounds": NEVER}},
    "od_type": {"od_type": "Iter", "od_wait": NEVER},
    "od_wait": {"od_wait": NEVER},
    "od_pval": {"od_pval": 1e-9},
    "od_pval_type": {"od_pval": 1e-9, "od_type": "IncToDec"},
}
INACTIVE: dict[str, dict[str, Any]] = {
    "no_detector": {},
    "no_pval": {"od_pval": 0.0},
    "no_pval_type": {"od_type": "IncToDec", "od_wait": 3},
    "best": {"use_best_model": True},
    "best_min_trees": {"use_best_model": True, "best_model_min_trees": 10},
    "in_fit": {"fit": {"metric_period": 5}, "metric_period": None},
}


@varied(**DETECTORS)
def catboost_period_with_a_detector(folder: Path, **params: Any) -> Trained:
    host = CatBoost()
    return host.trained(host.fit(13, metric_period=5, **params), range(13))


@varied(**INACTIVE)
def catboost_period_without_a_detector(folder: Path, **params: Any) -> Trained:
    host = CatBoost()
    params = {name: value for name, value in ({"metric_period": 5} | params).items() if value is not None}
    return host.trained(host.fit(13, **params), [0, 5, 10, 12])


@varied(plain={}, period_over_all={"metric_period": 20}, best={"use_best_model": True},
        min_trees={"use_best_model": True, "best_model_min_trees": 5},
        yetirank={"loss_function": "YetiRank"},
        ordered={"loss_function": "YetiRank", "boosting_type": "Ordered"},
        pairs={"loss_function": "PairLogit"},
        stochastic={"loss_function": "StochasticRank:metric=NDCG"},
        lossguide={"grow_policy": "Lossguide"},
        threads={"thread_count": 2})  # fmt: skip
def catboost_trains(folder: Path, **params: Any) -> Trained:
    host = CatBoost()
    return host.trained(host.fit(6, **params), [0, 5] if "metric_period" in params else range(6))


def catboost_from_an_average(folder: Path) -> Trained:
    host = CatBoost(CatBoostRegressor)
    return host.trained(host.fit(4, loss_function="RMSE", boost_from_average=True), range(4))


def catboost_stops(folder: Path) -> Trained:
    host = CatBoost()
    model = host.fit(40, metric_period=5, fit={"early_stopping_rounds": 3}, use_best_model=True)
    best = host.log.best_round("validation", "mrr")
    assert best.n_rounds == model.tree_count_ == model.best_iteration_ + 1 < 37
    return host.trained(model, range(model.tree_count_ + 3))


@varied(plain={}, set_first={"period": 5}, with_detector={"period": 5, "od_wait": NEVER})
def catboost_several_sets(folder: Path, period: int = 1, **params: Any) -> Trained:
    host = CatBoost()
    half = len(VALID.y) // 2
    other = Pool(VALID.X[:half], VALID.y[:half], group_id=VALID.qid[:half])
    rounds = [0, 5, 7] if period == 5 and not params else range(8)
    return host.trained(host.fit(8, sets=[other, host.valid], metric_period=period, **params), rounds)


@varied(model={}, file={"by_file": True}, period={"metric_period": 5}, best={"use_best_model": True},
        detector={"metric_period": 5, "od_wait": NEVER})  # fmt: skip
def catboost_continues(folder: Path, by_file: bool = False, **params: Any) -> Trained:
    begun, host = CatBoost().fit(4), CatBoost()
    begun.save_model(str(folder / "begun.cbm"))
    model = host.fit(8, str(folder / "begun.cbm") if by_file else begun, **params)
    rounds = [4, 9, 11] if params == {"metric_period": 5} else range(4, 12)
    return host.trained(model, rounds)


@varied(
    longer={},
    period={"metric_period": 5},
    detector={"metric_period": 5, "od_wait": NEVER},
    best={"use_best_model": True},
    model={"n_begun": 3},
)
def catboost_resumes_a_snapshot(folder: Path, n_begun: int = 0, **params: Any) -> Trained:
    """The first training is interrupted after 7 rounds, in the middle of a period."""
    begun = CatBoost().fit(n_begun) if n_begun else None
    params |= {"save_snapshot": True, "snapshot_interval": 0, "allow_writing_files": True, "train_dir": str(folder)}
    first, host = CatBoost(), CatBoost()
    first.fit(12, begun, fit={"callbacks": [Interrupt(7)]}, **params)
    model = host.fit(12, begun, **params)
    is_sparse = "metric_period" in params and "od_wait" not in params
    assert first.log.rounds("validation").tolist() == ([0, 5] if is_sparse else list(range(n_begun, n_begun + 7)))
    return host.trained(model, [10, 11] if is_sparse else range(n_begun + 7, n_begun + 12))


@cases(
    *catboost_trains,
    catboost_from_an_average,
    catboost_stops,
    *catboost_period_with_a_detector,
    *catboost_period_without_a_detector,
    *catboost_several_sets,
    *catboost_continues,
    *catboost_resumes_a_snapshot,
)
def test_rounds_of_catboost(training: Callable[[Path], Trained], tmp_path: Path) -> None:
    training(tmp_path).check()


def test_a_snapshot_whose_rounds_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of CatBoost might write another file."""
    monkeypatch.setattr("ltr_metrics.catboost.catboost_validation.Path", lambda folder, name: Path(folder, "renamed"))
    options = {"save_snapshot": True, "allow_writing_files": True, "train_dir": str(tmp_path)}
    with pytest.raises(
        catboost.CatBoostError, match=r"(?s)With save_snapshot, log= needs the file .*renamed.*Leave out"
    ):
        CatBoost().fit(3, **options)
    metric = EvalMetric("mrr", (VALID.y, VALID.qid))  # without a log it needs no round
    CatBoostRanker(eval_metric=metric, iterations=3, **CATBOOST | options).fit(
        CatBoost().train_set, eval_set=CatBoost().valid
    )


# -- a second training with one log -----------------------------------------------------------------------------------


def lightgbm_again(how: str) -> None:
    host = LightGBM()
    first = host.fit(3)
    if how == "again":
        host.fit(3)
    elif how == "other":
        host.fit(3, LightGBM(seed=1, learning_rate=0.2).fit(3))
    elif how == "shorter":
        first = host.fit(2, first)
        host.fit(3, LightGBM().fit(3))
    else:
        host.fit(3, first, feval=feval(METRICS, log=host.log, ties="worst"))


def xgboost_again(how: str, **options: Any) -> None:
    host = XGBoost(**options)
    first = host.fit(3)
    if how == "again":
        host.fit(3)
    elif how == "other":
        host.fit(3, XGBoost(eta=0.2).fit(3))
    elif how == "shorter":
        second = host.fit(2, first)
        host.fit(3, first)
        assert second is not None  # it exists, and is that of the log
    else:
        host.metric = custom_metric(METRICS, log=host.log, ties="worst")
        host.fit(3, first)


def monitor_again(how: str) -> None:
    xgboost_again(how, monitored=True)


def gblinear_again(how: str) -> None:
    """Whether a linear model continues another one cannot be seen."""
    host = XGBoost(booster="gblinear")
    first = host.fit(3)
    host.fit(3, first if how == "again" else None)


def catboost_again(how: str) -> None:
    host = CatBoost()
    metric = EvalMetric(METRICS, host.valid, log=host.log)
    model = CatBoostRanker(eval_metric=metric, iterations=3, **CATBOOST)
    model.fit(host.train_set, eval_set=host.valid)
    begun = None if how == "again" else model.copy()
    model.fit(host.train_set, eval_set=host.valid, init_model=begun)


@pytest.mark.parametrize(
    ("train", "how"),
    [
        *[(train, how) for train in (lightgbm_again, xgboost_again, monitor_again)
          for how in ("again", "other", "shorter")],
        *[(train, how) for train in (gblinear_again, catboost_again) for how in ("again", "other")],
    ],
)  # fmt: skip
def test_another_training_is_refused(train: Callable[[str], None], how: str) -> None:
    with pytest.raises(Exception, match=r"has rounds of another training, which this one\s+does not continue"):
        train(how)


@pytest.mark.parametrize("train", [lightgbm_again, xgboost_again])
def test_a_continued_training_with_another_policy_is_refused(train: Callable[[str], None]) -> None:
    with pytest.raises(ltr.LtrValueError, match="Two metric functions write mrr into one log"):
        train("policy")


def test_a_call_by_hand_does_not_say_the_round() -> None:
    host, scores = LightGBM(), VALID.X[:, 0].astype(float)
    with pytest.raises(ltr.LtrValueError, match=r"called by hand.*Call booster.eval_valid\(metric\)"):
        host.metric(scores, host.valid.construct())
    with pytest.raises(ltr.LtrValueError, match=r"called by hand.*Call booster.eval_valid\(metric\)"):
        host.fit(1, feval=None, callbacks=[lambda env: host.metric(scores, host.valid)])
    other = XGBoost()
    with pytest.raises(ltr.LtrValueError, match=r"called by hand.*Call booster.eval_set\("):
        other.metric(scores, other.valid)
    assert host.log.data_names == other.log.data_names == ()


def test_metrics_that_are_evaluated_in_different_rounds() -> None:
    host = LightGBM()
    booster, often = host.loop(), feval("err@5", log=host.log)
    for i in range(4):
        booster.update()
        booster.eval_valid([often, host.metric] if i % 2 else often)
    assert [host.log.rounds(host.valid, metric).tolist() for metric in ("err@5", "mrr")] == [[0, 1, 2, 3], [1, 3]]
    assert host.log.best_round(host.valid, "mrr").rounds.tolist() == [1, 3]
    with pytest.raises(ltr.LtrValueError, match=r"in different rounds.*rounds\(data, metric\), of err@5, mrr"):
        host.log.rounds(host.valid)


# -- the number of rounds of a QueryRanker ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "n_begun"),
    [
        (lgb.LGBMRanker(n_estimators=8, verbose=-1, n_jobs=1, learning_rate=0.3), 0),
        (lgb.LGBMRanker(n_estimators=8, verbose=-1, n_jobs=1, learning_rate=0.3), 3),
        (xgb.XGBRanker(n_estimators=8, n_jobs=1), 0),
        (xgb.XGBRanker(n_estimators=8, n_jobs=1), 3),
        (CatBoostRanker(**CATBOOST | {"iterations": 8, "use_best_model": None}), 0),
        (CatBoostRanker(**CATBOOST | {"iterations": 8, "use_best_model": None}), 3),
        (CatBoostRanker(**CATBOOST | {"iterations": 8, "use_best_model": None, "best_model_min_trees": 6}), 0),
        (CatBoostRanker(**CATBOOST | {"iterations": 8, "use_best_model": None, "best_model_min_trees": 6}), 3),
        (CatBoostRanker(**CATBOOST | {"iterations": 8, "use_best_model": None, "metric_period": 3}), 3),
    ],
)
def test_n_rounds_is_what_predict_uses(estimator: Any, n_begun: int) -> None:
    given: dict[str, Any] = {}
    if n_begun:
        parameter = "xgb_model" if isinstance(estimator, xgb.XGBRanker) else "init_model"
        begun = QueryRanker(estimator).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid).estimator_
        given = {parameter: begun.booster_ if hasattr(begun, "booster_") else begun}
        n_begun = 8
    ranker = QueryRanker(estimator, early_stopping_rounds=8, validation_fraction=0.4, metric="mrr", random_state=0)
    ranker.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, **given)
    assert max(n_begun, 1) < ranker.n_rounds_ <= n_begun + 8
    trained = Trained(ltr.PerQueryLog(), ranker.estimator_, [])
    np.testing.assert_array_equal(trained.predict(ranker.n_rounds_), ranker.predict(VALID.X))
    assert not np.array_equal(trained.predict(ranker.n_rounds_ - 1), ranker.predict(VALID.X))
