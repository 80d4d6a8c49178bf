"""The metric that `early_stopping` watches is found as a metric, in every spelling and under every name in the log."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from lightgbm_fit import validation_sets
from test_host_contract import LINEAR, PLAIN, STEPS
from trainings import LIGHTGBM, TRAININGS, XGBOOST, Case, Part, Run, matrix

import ltr_metrics as ltr
from ltr_metrics import lightgbm as ours_for_lightgbm
from ltr_metrics import xgboost as ours_for_xgboost
from ltr_metrics._hosts.host_metrics import HostMetrics, WatchedMetric
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.xgboost import custom_metric

pytestmark = pytest.mark.integration

TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)
STOPPING: dict[str, Any] = {
    "lgb.train": ours_for_lightgbm.early_stopping,
    "LGBMRanker": ours_for_lightgbm.early_stopping,
    "xgb.train": ours_for_xgboost.early_stopping,
    "XGBRanker": ours_for_xgboost.early_stopping,
}
PATIENCE = 3
HOSTS = pytest.mark.parametrize("name", STOPPING)


def stopped(name: str, watched: Any, metrics: Any, options: Any, params: Any = None, **stop: Any) -> tuple[Run, int]:
    callback = STOPPING[name](watched, PATIENCE, **stop)
    run = TRAININGS[name].train(Case(TRAIN, VALID, metrics, options, params or {}, 40, callbacks=(callback,)))
    best = run.model.best_iteration_ if name == "LGBMRanker" else run.model.best_iteration
    return run, best - (1 if name in ("lgb.train", "LGBMRanker") else 0)


def is_stopped_by(values: list[float], best: int) -> bool:
    """Whether the training ended ``PATIENCE`` rounds after the best one."""
    return best == int(np.argmax(values)) and len(values) == best + 1 + PATIENCE < 40


AVERAGE_PRECISION = ["ap@5", "average_precision@5", "map@5", "map(denominator=retrieved)@5", "MAP@5", ltr.MAP(k=5)]
GAIN = ["ndcg@10", "ndcg_exp@10", "NDCG@10", "ndcg(gain=exp)@10", ltr.NDCG(k=10), "gain"]


@HOSTS
@pytest.mark.parametrize(
    ("metrics", "options", "logged", "spellings"),
    [
        (["err@3", "ndcg@10"], {"names": "slug"}, "ndcg_exp_at_10", GAIN[:-1]),
        (["err@3", "ndcg@10"], {"names": {"ndcg@10": "gain"}}, "gain", GAIN),
        (["err@3", "NDCG@10"], {}, "ndcg@10", GAIN[:-1]),
        (["err@3", "ap@5"], {"names": {"AP@5": "ap@5"}}, "ap@5", [*AVERAGE_PRECISION[:3], *AVERAGE_PRECISION[4:]]),
        (["err@3", "map@5"], {"names": {"map@5": "mrr"}}, "mrr", ["ap@5"]),  # a name that is another metric's
        (["err@3", "rr", "MRR"], {}, "rr", ["rr", "reciprocal_rank", "mrr", "MRR", ltr.MRR()]),
        (["err@3", "rr"], {"names": "canonical"}, "mrr", ["rr", "reciprocal_rank", "mrr", "MRR", ltr.MRR()]),
    ],
    ids=["slug", "mapping", "asked", "alias", "misleading", "twice", "canonical"],
)
def test_every_spelling_under_every_name(
    name: str, metrics: Any, options: dict[str, Any], logged: str, spellings: list[Any]
) -> None:
    run, best = stopped(name, spellings[-1], metrics, options)
    assert is_stopped_by(run.history[logged], best)
    host: Any = TRAININGS[name].convention
    plan = HostMetrics(metrics, host=host, **options).plan()
    for watched in spellings:
        found = WatchedMetric(watched, None, None, host).find([plan], plan.logged.values(), lambda: "exp")
        assert found == (logged, True)


@HOSTS
@pytest.mark.parametrize("names", ["asked", {"ndcg@5": "gain"}], ids=str)
@pytest.mark.parametrize("gain", [None, LINEAR, STEPS], ids=["default", "linear", "steps"])
def test_a_convention_with_the_gain_of_the_training(name: str, names: Any, gain: Any) -> None:
    host = TRAININGS[name].convention
    if host == "xgboost" and gain is STEPS:
        pytest.skip("XGBoost has no such gain")
    params = {} if gain is None else {"label_gain": gain} if host == "lightgbm" else {"ndcg_exp_gain": False}
    options = {"convention": host, "names": names}
    run, best = stopped(name, "ndcg@5", ["ndcg@5"], options, params, convention=host)
    assert is_stopped_by(next(iter(run.history.values())), best)
    other = {"convention": "trec_eval", "ties": "mean", "names": names}
    run, best = stopped(name, "ndcg@5", ["mrr", "ndcg@5"], other, params, convention="trec_eval")
    assert is_stopped_by(list(run.history.values())[1], best)


@HOSTS
def test_the_metric_of_another_convention_is_not_found(name: str) -> None:
    """Not even if it is logged under the same words."""
    options = {"convention": "trec_eval", "ties": "mean"}
    with pytest.raises(
        ltr.LtrValueError, match=r"watches ndcg_exp@10, which is not evaluated\. Evaluated here: .*ndcg@10 of"
    ):
        stopped(name, "ndcg@10", ["mrr", "ndcg@10"], options)


@HOSTS
def test_the_hosts_own_metric_is_found_by_its_name(name: str) -> None:
    if name == "XGBRanker":
        pytest.skip("its own metrics are those of eval_set")
    params: dict[str, Any] = {"metric": "ndcg", "eval_at": [3]} if name in ("lgb.train", "LGBMRanker") else {}
    params = params or {"eval_metric": "ndcg@3"}
    for options in ({}, {"names": {"mrr": "our_mrr"}}):
        run, best = stopped(name, "ndcg@3", ["mrr"], options, params)
        assert is_stopped_by(run.history["ndcg@3"], best)


@HOSTS
@pytest.mark.parametrize(
    ("watched", "message"),
    [
        ("map@3", "watches map@3, which is not evaluated"),
        ("mrr@3", "watches mrr@3, which is not evaluated"),
        ("gian", "watches gian, which is not evaluated"),
        (["mrr", "map"], "watches one metric. Got mrr, map"),
    ],
)
def test_what_is_not_evaluated(name: str, watched: Any, message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        stopped(name, watched, ["mrr", "err@3"], {"names": {"err@3": "gain"}})
    for options, message in (({"convention": "terc_eval"}, "nvention"), ({"min_delta": np.nan}, "^min_delta must be")):
        with pytest.raises(ltr.LtrValueError, match=message):
            STOPPING[name]("gain", PATIENCE, **options)
    for rounds in (0, -1):  # with which LightGBM's own callback trains all rounds
        with pytest.raises(ltr.LtrValueError, match="^rounds must be"):
            STOPPING[name]("gain", rounds)


def test_a_metric_that_is_logged_twice() -> None:
    functions = [feval("mrr", names={"mrr": "one"}), feval("mrr", ties="worst", names={"mrr": "other"})]
    case = Case(TRAIN, VALID, adapter=functions, rounds=40)
    for watched, name in (("mrr", None), ("one", "one"), ("other", "other")):
        case = Case(
            TRAIN, VALID, adapter=functions, rounds=40,
            callbacks=(ours_for_lightgbm.early_stopping(watched, PATIENCE),),
        )  # fmt: skip
        if name is None:
            with pytest.raises(ltr.LtrValueError, match="mrr, which is logged as one and as other"):
                TRAININGS["lgb.train"].train(case)
        else:
            run = TRAININGS["lgb.train"].train(case)
            assert is_stopped_by(run.history[name], run.model.best_iteration - 1)


# -- the data set -----------------------------------------------------------------------------------------------------

SHORT = VALID._replace(**{key: getattr(VALID, key)[: len(VALID.y) // 2] for key in ("X", "y", "qid")})
SETS = [("one", VALID), ("own", TRAIN), ("other", SHORT)]


def trained_on(sets: list[tuple[str, Part]], stop: Any, metric: Any) -> tuple[lgb.Booster, dict[str, Any]]:
    data, history = lgb.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.group), {}
    given = [
        data if part is TRAIN else lgb.Dataset(part.X, part.y, group=part.group, reference=data) for _, part in sets
    ]
    booster = lgb.train(
        LIGHTGBM | {"metric": "None", "num_leaves": 3}, data, 200, given, [name for name, _ in sets], feval=metric,
        callbacks=[stop, lgb.record_evaluation(history)],
    )  # fmt: skip
    return booster, history


@pytest.mark.parametrize(
    ("sets", "watched"), [*[(SETS, watched) for watched, _ in SETS], ([("training", TRAIN)], "training")]
)
def test_one_set_the_training_set_included(sets: list[tuple[str, Part]], watched: str) -> None:
    stop = ours_for_lightgbm.early_stopping("ndcg@10", PATIENCE, data_name=watched if len(sets) > 1 else None)
    for _ in range(2):  # a callback serves several trainings
        booster, history = trained_on(sets, stop, feval(["mrr", "ndcg@10"], names="slug"))
        values, best = history[watched]["ndcg_exp_at_10"], booster.best_iteration
        assert best == int(np.argmax(values)) + 1 == len(values) - PATIENCE < 190
        scores = {name: {metric: logged[best - 1] for metric, logged in of.items()} for name, of in history.items()}
        assert booster.best_score == scores


def test_one_callback_serves_a_training_within_another() -> None:
    """As in several threads: LightGBM's own callback would compare each training with the best score of the other."""
    stop = pickle.loads(pickle.dumps(ours_for_lightgbm.early_stopping("value", PATIENCE)))
    rounds, inner = itertools.count(1), []

    def best_in_round_7(preds: Any, data: lgb.Dataset) -> tuple[str, float, bool]:
        at = next(rounds)
        if at == 2:
            inner.append(trained_on([("v", SHORT)], stop, lambda preds, data: ("value", 1.0, True))[0].best_iteration)
        return "value", -abs(at - 7), True

    assert trained_on([("v", VALID)], stop, best_in_round_7)[0].best_iteration == 7
    assert inner == [1]


@pytest.mark.parametrize(
    ("sets", "metric", "watched", "data_name", "message"),
    [
        (SETS, feval("mrr"), "mrr", None, "Several data sets have mrr.*of one, other"),
        (SETS, feval("mrr"), "mrr", "test", "mrr of 'test', which is not evaluated.*mrr of one"),
        (SETS, feval("mrr"), "map", "one", "map of 'one', which is not evaluated"),
        ([("v", VALID), ("v", SHORT)], feval("mrr"), "mrr", "v", "Several data sets have mrr.*of v, v"),
        (SETS, None, "map", None, "no metric on any validation set. Pass .* feval, for data sets in valid_sets"),
    ],
)
def test_sets_that_cannot_be_watched(sets: Any, metric: Any, watched: str, data_name: Any, message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        trained_on(sets, ours_for_lightgbm.early_stopping(watched, PATIENCE, data_name=data_name), metric)


@pytest.mark.parametrize("watched", ["own", "one"])
def test_the_training_set_of_an_estimator(watched: str) -> None:
    ranker = lgb.LGBMRanker(n_estimators=200, metric="None", verbose=-1, n_jobs=1, learning_rate=0.3, num_leaves=3)
    ranker.fit(
        TRAIN.X, TRAIN.y, group=TRAIN.group, eval_group=[TRAIN.group, VALID.group], eval_names=["own", "one"],
        eval_metric=[eval_metric("mrr"), eval_metric("ndcg@10", names={"ndcg@10": "gain"})],
        callbacks=[ours_for_lightgbm.early_stopping("ndcg@10", PATIENCE, data_name=watched)],
        **validation_sets((TRAIN.X, TRAIN.y), (VALID.X, VALID.y)),
    )  # fmt: skip
    values = ranker.evals_result_[watched]["gain"]
    assert ranker.best_iteration_ == int(np.argmax(values)) + 1 == len(values) - PATIENCE < 190


@pytest.mark.parametrize("data_name", [None, "valid", "train"])
@pytest.mark.parametrize("names", ["slug", {"ndcg@10": "gain"}], ids=str)
def test_the_folds_of_lightgbm(data_name: str | None, names: Any) -> None:
    data = lgb.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.group)
    fold = np.repeat(np.arange(len(TRAIN.group)) % 3, TRAIN.group)
    params = LIGHTGBM | {"metric": "None", "num_leaves": 3}
    options: dict[str, Any] = {
        "folds": [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)],
        "eval_train_metric": True,
    }
    stop = ours_for_lightgbm.early_stopping("ndcg@10", PATIENCE, data_name=data_name)
    whole = lgb.cv(params, data, 150, feval=feval(["mrr", "ndcg@10"], names=names), **options)
    found = lgb.cv(params, data, 150, feval=feval(["mrr", "ndcg@10"], names=names), callbacks=[stop], **options)
    key = f"{data_name or 'valid'} {'gain' if isinstance(names, dict) else 'ndcg_exp_at_10'}-mean"
    best = 0
    for i, value in enumerate(whole[key]):
        best = i if value > whole[key][best] else best
        if i - best == PATIENCE:
            break
    assert len(found[key]) == best + 1 < 147


def test_the_folds_of_lightgbm_that_continue_a_model() -> None:
    data = lgb.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.group, free_raw_data=False)
    params = LIGHTGBM | {"metric": "None", "num_leaves": 3}
    first = lgb.train(params, data, 5)
    stop = ours_for_lightgbm.early_stopping("ndcg@10", PATIENCE)
    options: dict[str, Any] = {"feval": feval("ndcg@10"), "callbacks": [stop], "nfold": 3, "return_cvbooster": True}
    with pytest.warns(ltr.LtrWarning, match=r"continues a model of 5 rounds.* num_iteration=5 \+ best_iteration"):
        found = lgb.cv(params, data, 99, init_model=first, **options)
    rounds = found["cvbooster"].boosters[0].current_iteration()
    assert rounds == 5 + len(found["valid ndcg@10-mean"]) + PATIENCE < 99
    assert found["cvbooster"].best_iteration == len(found["valid ndcg@10-mean"])  # new rounds only


@pytest.mark.parametrize("data_name", ["train", "test"])
def test_the_folds_of_xgboost(data_name: str) -> None:
    params = XGBOOST | {"disable_default_eval_metric": True, "max_depth": 2}
    stop = ours_for_xgboost.early_stopping("ndcg@10", PATIENCE, data_name=data_name)
    found = xgb.cv(
        params, matrix(TRAIN), 99, nfold=3, custom_metric=custom_metric(["mrr", "ndcg@10"], names={"ndcg@10": "gain"}),
        as_pandas=False, callbacks=[stop],
    )  # fmt: skip
    values = found[f"{data_name}-gain-mean"]
    assert len(values) == int(np.argmax(values)) + 1 < 90
