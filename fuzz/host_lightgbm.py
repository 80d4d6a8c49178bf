"""Trainings with LightGBM for `fuzz.hosts`, which keep the scores of every round."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np

import ltr_metrics as ltr
from fuzz.host_setups import Array, Part
from fuzz.host_trainings import Run, Training, options
from ltr_metrics.lightgbm import eval_metric, feval

HAS_EVAL_X = "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters  # since 4.7, which warns of eval_set


def _callbacks(case: Training, adapt: bool) -> list[Any]:
    if case.stop is None or not adapt:
        return []
    return [lgb.early_stopping(case.stop.rounds, first_metric_only=case.stop.is_ours, verbose=False)]


def _metric_of_host(case: Training) -> str:
    return "l2" if case.has_metric_of_host else "None"


def _finish(case: Training, run: Run, booster: Any, names: list[str], results: Any) -> Run:
    run.histories = [dict(results.get(name, {})) for name in names]
    run.best = booster.best_iteration
    run.n_kept = None if case.stop is None else run.best
    if case.params["boosting"] == "gbdt":
        run.predict = lambda i, n_rounds: np.asarray(booster.predict(case.sets[i].X, num_iteration=n_rounds))
    return run


def _train(case: Training, adapt: bool) -> Run:
    train = _dataset(case.train)
    sets = [train if part is case.train else _dataset(part, train) for part in case.sets]
    run, history = Run(ltr.PerQueryLog(), data=list(sets)), {}  # type: ignore[var-annotated]
    run.scores = [[] for _ in sets]

    def keep(scores: Array, dataset: Any) -> list[Any]:
        run.scores[next(i for i, one in enumerate(sets) if one is dataset)].append(scores.copy())
        return []

    booster = lgb.train(
        case.params | {"metric": _metric_of_host(case)},
        train,
        case.rounds,
        valid_sets=sets,
        valid_names=[f"set {i}" for i in range(len(sets))],
        feval=[keep, *([feval(case.question.given, **options(case, run))] if adapt else [])],
        callbacks=[lgb.record_evaluation(history), *_callbacks(case, adapt)],
    )
    return _finish(case, run, booster, [f"set {i}" for i in range(len(sets))], history)


def _dataset(part: Part, reference: Any = None) -> Any:
    return lgb.Dataset(part.X, part.y, group=part.sizes, weight=part.row_weight, reference=reference)


def _fit_ranker(case: Training, adapt: bool) -> Run:
    run = Run(ltr.PerQueryLog())
    of_labels: dict[int, list[Array]] = {}

    def keep(y_true: Array, y_pred: Array) -> list[Any]:
        if id(y_true) not in of_labels:
            run.data.append(y_true)
        of_labels.setdefault(id(y_true), []).append(y_pred.copy())
        return []

    parts, names = case.sets, [f"set {i}" for i in range(len(case.sets))]
    ours = [eval_metric(case.question.given, **options(case, run))] if adapt else []
    sets: dict[str, Any] = {"eval_set": [(part.X, part.y) for part in parts]}
    if HAS_EVAL_X:
        sets = {"eval_X": tuple(part.X for part in parts), "eval_y": tuple(part.y for part in parts)}
    if case.train.row_weight is not None:
        sets |= {"sample_weight": case.train.row_weight, "eval_sample_weight": [part.row_weight for part in parts]}
    ranker = lgb.LGBMRanker(n_estimators=case.rounds, metric=_metric_of_host(case), **case.params)
    ranker.fit(
        case.train.X,
        case.train.y,
        group=case.train.sizes,
        eval_group=[part.sizes for part in parts],
        eval_names=names,
        eval_metric=[keep, *ours],
        callbacks=_callbacks(case, adapt),
        **sets,
    )
    # The training data are evaluated first.
    order = sorted(range(len(parts)), key=lambda i: (parts[i] is not case.train, i))
    run.data = [run.data[order.index(i)] for i in range(len(parts))]
    run.scores = [of_labels[id(labels)] for labels in run.data]
    return _finish(case, run, ranker.booster_, names, ranker.evals_result_)


TRAININGS: dict[str, Callable[[Training, bool], Run]] = {"lgb.train": _train, "LGBMRanker": _fit_ranker}
