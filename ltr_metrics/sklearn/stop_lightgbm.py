"""Early stopping of LightGBM's estimators, rankers and regressors alike."""

from __future__ import annotations

import inspect
from typing import Any

import lightgbm

from ltr_metrics._hosts.host_metrics import HIGHER_IS_BETTER, HostMetrics
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.sklearn.training import Training


def train(estimator: Any, rest: Training, held: Training, metrics: HostMetrics, rounds: int) -> int:
    """Train on the rest, stop by the metric on what is held out, and return the best number of rounds."""
    queries = Queries(held.rows["y"], qid=held.qid, sample_weight=held.rows.get("sample_weight"))

    def evaluate_held_out(y_true: Any, y_pred: Any) -> list[tuple[str, float, bool]]:
        # Bound to the held-out queries, because LightGBM passes none of a regressor. LightGBM copies other callables.
        mean = metrics.evaluate_round(metrics.plan(), queries, y_pred, y_true)
        return [(name, value, HIGHER_IS_BETTER) for name, value in mean.items()]

    estimator.set_params(metric="None")  # its own metrics would stand first, and the first decides
    stopping = lightgbm.early_stopping(rounds, first_metric_only=True, verbose=False)
    rest.fit(
        estimator,
        **_evaluation_of(held, inspect.signature(estimator.fit).parameters),
        eval_metric=evaluate_held_out,
        callbacks=[*(rest.others.get("callbacks") or ()), stopping],
    )
    return int(estimator.best_iteration_)


def _evaluation_of(held: Training, accepted: Any) -> dict[str, Any]:
    """Return what is held out as arguments of ``fit``."""
    X, y = held.rows["X"], held.rows["y"]
    arguments: dict[str, Any] = {"eval_names": ["validation"]}
    arguments |= {"eval_X": (X,), "eval_y": (y,)} if "eval_X" in accepted else {"eval_set": [(X, y)]}  # before 4.7
    if "eval_group" in accepted:
        arguments["eval_group"] = [held.sizes]
    if "init_score" in held.rows:
        arguments["eval_init_score"] = [held.rows["init_score"]]
    return arguments
