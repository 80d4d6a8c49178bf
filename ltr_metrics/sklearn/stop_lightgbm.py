"""Early stopping of LightGBM's estimators, rankers and regressors alike."""

from __future__ import annotations

import inspect
from typing import Any

import lightgbm

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.lightgbm import triples
from ltr_metrics.sklearn.training import Training


def train(estimator: Any, rest: Training, held_out: Training, metrics: HostMetrics, rounds: int) -> int:
    """Train on the rest, stop by the held-out queries, and return the best number of rounds."""
    weights = held_out.rows.get("sample_weight")
    queries = Queries(held_out.rows["y"], qid=held_out.qid, sample_weight=weights, columns=held_out.columns)

    # It uses the queries above, because LightGBM passes no queries for a regressor. It is a
    # function, because LightGBM copies other callables.
    def evaluate_held_out(y_true: Any, y_pred: Any) -> list[tuple[str, float, bool]]:
        return triples(metrics.plan(), metrics.evaluate_round(metrics.plan(), queries, y_pred, y_true))

    estimator.set_params(metric="None")  # LightGBM's own metrics would come first, and the first one decides
    stopping = lightgbm.early_stopping(rounds, first_metric_only=True, verbose=False)
    rest.fit(
        estimator,
        **_fit_arguments(held_out, inspect.signature(estimator.fit).parameters),
        eval_metric=evaluate_held_out,
        callbacks=[*(rest.others.get("callbacks") or ()), stopping],
    )
    return int(estimator.best_iteration_)


def _fit_arguments(held_out: Training, accepted: Any) -> dict[str, Any]:
    """Return the held-out rows as arguments of ``fit``."""
    X, y = held_out.rows["X"], held_out.rows["y"]
    arguments: dict[str, Any] = {"eval_names": ["validation"]}
    arguments |= {"eval_X": (X,), "eval_y": (y,)} if "eval_X" in accepted else {"eval_set": [(X, y)]}  # before 4.7
    if "eval_group" in accepted:
        arguments["eval_group"] = [held_out.sizes]
    if "init_score" in held_out.rows:
        arguments["eval_init_score"] = [held_out.rows["init_score"]]
    return arguments
