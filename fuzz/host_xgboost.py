"""Trainings with XGBoost for `fuzz.hosts`, which keep the scores of every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import xgboost as xgb

import ltr_metrics as ltr
from fuzz.host_setups import Part
from fuzz.host_trainings import Run, Training, options
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping


class Keeper(xgb.callback.TrainingCallback):
    """Keep the scores of every round, each predicted anew by the whole model."""

    def __init__(self, run: Run, parts: Sequence[Part]) -> None:
        super().__init__()
        self.run, self.parts = run, parts
        run.scores = [[] for _ in parts]

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        for part, scores in zip(self.parts, self.run.scores, strict=True):
            scores.append(model.predict(xgb.DMatrix(part.X)))
        return False

    def __deepcopy__(self, memo: Any) -> Keeper:
        return self


def _dmatrix(case: Training, part: Part) -> xgb.DMatrix:
    queries = {"group": part.sizes} if case.queries == "group" else {"qid": part.queries}
    return xgb.DMatrix(part.X, part.y, weight=part.query_weight, **queries)


def _callbacks(case: Training, adapt: bool) -> list[Any]:
    if case.stop is None or not adapt:
        return []
    metric, data = case.question.metrics[case.stop.metric], f"set{case.stop.data}"
    if not case.stop.is_ours and case.subject == "xgb.train":
        name = case.question.names_in_log[case.stop.metric]
        return [xgb.callback.EarlyStopping(case.stop.rounds, metric_name=name, data_name=data, maximize=True)]
    convention = {key: value for key, value in case.question.policy.items() if key == "convention"}
    return [early_stopping(metric, case.stop.rounds, data_name=data, **convention)]


def _finish(case: Training, run: Run, booster: xgb.Booster, history: Any) -> Run:
    run.histories = [dict(history.get(f"set{i}", {})) for i in range(len(case.sets))]
    run.best = None if booster.attr("best_iteration") is None else booster.best_iteration + 1
    if case.params["booster"] == "gbtree":
        run.predict = lambda i, n_rounds: booster.predict(xgb.DMatrix(case.sets[i].X), iteration_range=(0, n_rounds))
    return run


def _train(case: Training, adapt: bool) -> Run:
    train = _dmatrix(case, case.train)
    sets = [train if part is case.train else _dmatrix(case, part) for part in case.sets]
    run, history = Run(ltr.PerQueryLog(), data=list(sets)), {}  # type: ignore[var-annotated]
    of_host = {"eval_metric": "pre@2" if case.style.is_binary else "ndcg@2"}
    params = case.params | (of_host if case.has_metric_of_host else {"disable_default_eval_metric": True})
    booster = xgb.train(
        params,
        train,
        case.rounds,
        evals=[(matrix, f"set{i}") for i, matrix in enumerate(sets)],
        custom_metric=custom_metric(case.question.given, **options(case, run)) if adapt else None,
        evals_result=history,
        callbacks=[Keeper(run, case.sets), *_callbacks(case, adapt)],
        verbose_eval=False,
    )
    return _finish(case, run, booster, history)


def _monitors(case: Training, run: Run) -> list[Monitor]:
    return [_monitor(case, run, part, f"set{i}") for i, part in enumerate(case.sets)]


def _monitor(case: Training, run: Run, part: Part, name: str) -> Monitor:
    X, given = part.X, options(case, run)
    if case.queries == "column":
        X = part.X.assign(qid=part.qid)
    else:
        given |= {"qid": part.qid} if case.queries == "qid" else {"group": part.sizes}
    if case.weights:
        given["query_weight"] = part.query_weight
    return Monitor(case.question.given, X, part.y, name=name, **given)


def _train_with_monitors(case: Training, adapt: bool) -> Run:
    run = Run(ltr.PerQueryLog(), data=[f"set{i}" for i in range(len(case.sets))])
    history = {}  # type: ignore[var-annotated]
    train = _dmatrix(case, case.train)
    monitors = _monitors(case, run) if adapt else []
    booster = xgb.train(
        case.params | {"disable_default_eval_metric": not case.has_metric_of_host},
        train,
        case.rounds,
        evals=[(train, "training")] if case.has_metric_of_host else [],
        evals_result=history,
        callbacks=[*monitors, Keeper(run, case.sets), *_callbacks(case, adapt)],
        verbose_eval=False,
    )
    return _finish(case, run, booster, history)


def _fit_ranker(case: Training, adapt: bool) -> Run:
    run = Run(ltr.PerQueryLog(), data=[f"set{i}" for i in range(len(case.sets))])
    params = {
        "random_state" if key == "seed" else "n_jobs" if key == "nthread" else key: v for key, v in case.params.items()
    }
    monitors = _monitors(case, run) if adapt else []
    callbacks = [*monitors, Keeper(run, case.sets), *_callbacks(case, adapt)]
    ranker = xgb.XGBRanker(n_estimators=case.rounds, callbacks=callbacks, **params)
    part, X = case.train, case.train.X
    fit: dict[str, Any] = {}
    if case.queries == "column":
        X = pd.DataFrame(part.X).assign(qid=part.queries)
    else:
        fit = {"group": part.sizes} if case.queries == "group" else {"qid": part.queries}
    if case.has_metric_of_host:
        fit |= {"eval_set": [(X, part.y)], **{f"eval_{key}": [value] for key, value in fit.items()}}
    ranker.fit(X, part.y, sample_weight=part.query_weight, verbose=False, **fit)
    history = ranker.evals_result() if adapt or case.has_metric_of_host else {}
    return _finish(case, run, ranker.get_booster(), history)


TRAININGS: dict[str, Callable[[Training, bool], Run]] = {
    "xgb.train": _train,
    "xgb.train, Monitor": _train_with_monitors,
    "XGBRanker, Monitor": _fit_ranker,
}
