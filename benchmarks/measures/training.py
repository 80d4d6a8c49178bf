"""Seconds that metrics add to 50 rounds of training: ours, and the hosts' own.

What is trained on is a tenth of what is evaluated, so that the difference of two trainings is not
lost in their noise. All trainings have the validation set, so that all pay for its predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.clock import Times, side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Missing, Row, faster
from benchmarks.machine import cores
from benchmarks.ours import FIVE
from benchmarks.shapes import Data, features, mslr
from benchmarks.targets import TARGETS

ROUNDS = 50
NOTHING, OWN = "nothing", "its own"  # the trainings beside ours, which are called as the adapter is
IDLE = "a feval that does nothing"  # LightGBM converts and copies the scores for it all the same
CUTOFFS = [1, 3, 5, 10]
Trainings = Callable[[Data, Data, int], dict[str, Callable[[], object]]]


def lightgbm_training(effort: Effort) -> Iterator[Row | Missing]:
    """Measure lgb.train with feval against LightGBM's own ndcg and map."""
    yield from _added(effort, "lgb.train", _lightgbm, "ndcg, map @1,3,5,10")


def xgboost_training(effort: Effort) -> Iterator[Row | Missing]:
    """Measure xgb.train with custom_metric and with a Monitor against XGBoost's own ndcg."""
    yield from _added(effort, "xgb.train", _xgboost, "ndcg @1,3,5,10")


def _added(effort: Effort, host: str, trainings: Trainings, work: str) -> Iterator[Row | Missing]:
    small, data = mslr(effort.training_queries // 10), mslr(effort.training_queries)
    for n_threads in effort.training_threads:
        if n_threads > cores():
            yield Missing(f"{host} with {n_threads} threads", f"this machine has {cores()} core")
            continue
        try:
            contenders = trainings(small, data, n_threads)
        except ModuleNotFoundError as error:
            yield Missing(host, f"not installed: pip install {error.name}")
            return
        times = side_by_side(contenders, effort.slow)
        added: Times = {name: seconds - times[NOTHING] for name, seconds in times.items()}
        for ours in [name for name in contenders if name not in (NOTHING, OWN)]:
            what = f"added to {ROUNDS} rounds by {ours}{'' if ours == IDLE else '(all five)'}; {OWN}: {work}"
            about = About(host, what, data.shape, data.n_rows, n_threads)
            yield faster(about, added, ours, OWN, None if ours == IDLE else TARGETS["training"])


def _lightgbm(small: Data, data: Data, n_threads: int) -> dict[str, Callable[[], object]]:
    import lightgbm as lgb

    from ltr_metrics.lightgbm import feval

    quiet: dict[str, Any] = {"verbose": -1}
    train_set = lgb.Dataset(features(small), small.y, group=small.sizes, params=quiet)
    valid = lgb.Dataset(features(data), data.y, group=data.sizes, reference=train_set, params=quiet)
    params = quiet | {"objective": "lambdarank", "num_threads": n_threads, "eval_at": CUTOFFS}

    def train(metric: Any, feval: Any = None) -> Any:
        return lgb.train(params | {"metric": metric}, train_set, ROUNDS, valid_sets=[valid], feval=feval)

    return {
        NOTHING: partial(train, "None"),
        OWN: partial(train, ["ndcg", "map"]),
        "feval": lambda: train("None", feval(FIVE)),
        IDLE: lambda: train("None", lambda _scores, _data: ("nothing", 0.0, True)),
    }


def _xgboost(small: Data, data: Data, n_threads: int) -> dict[str, Callable[[], object]]:
    import xgboost as xgb

    from ltr_metrics.xgboost import Monitor, custom_metric

    X = features(data)
    train_set = xgb.DMatrix(features(small), small.y, group=small.sizes, nthread=n_threads)
    evals = [(xgb.DMatrix(X, data.y, group=data.sizes, nthread=n_threads), "valid")]
    params = {"objective": "rank:ndcg", "nthread": n_threads}
    silent = params | {"disable_default_eval_metric": True}
    own = params | {"eval_metric": [f"ndcg@{k}" for k in CUTOFFS]}

    def train(params: dict[str, Any], **options: Any) -> Any:
        return xgb.train(params, train_set, ROUNDS, verbose_eval=False, **options)

    return {
        NOTHING: partial(train, silent, evals=evals),
        OWN: partial(train, own, evals=evals),
        "custom_metric": lambda: train(silent, evals=evals, custom_metric=custom_metric(FIVE)),
        "Monitor": lambda: train(silent, callbacks=[Monitor(FIVE, X, data.y, group=data.sizes)]),  # predicts by itself
    }
