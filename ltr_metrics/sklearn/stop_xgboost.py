"""Early stopping of XGBoost's estimators, rankers and regressors alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xgboost.callback import TrainingCallback

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics.errors import LtrTypeError
from ltr_metrics.sklearn.training import Training
from ltr_metrics.xgboost import Monitor, early_stopping

DATA_NAME = "validation"  # of the held-out queries, in XGBoost's log


class InOrder(TrainingCallback):
    """Call several callbacks one after the other, each in every round.

    XGBoost before 3.2 calls callbacks in no defined order. Every version skips those that come
    after a callback that ends the training. A user's callback may read the metric of the round (a
    tuner that prunes does), and ours must see every round.
    """

    def __init__(self, callbacks: Sequence[TrainingCallback]) -> None:
        super().__init__()
        self.callbacks = callbacks
        for callback in callbacks:
            if not isinstance(callback, TrainingCallback):
                raise LtrTypeError(
                    "callbacks of XGBoost's estimators must be instances of xgboost.callback.TrainingCallback. "
                    f"Got {callback!r}."
                )

    def before_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = callback.before_training(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        stops = [callback.before_iteration(model, epoch, evals_log) for callback in self.callbacks]  # calls each
        return any(stops)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        stops = [callback.after_iteration(model, epoch, evals_log) for callback in self.callbacks]  # calls each
        return any(stops)

    def after_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = callback.after_training(model)
        return model


def train(estimator: Any, rest: Training, held_out: Training, metrics: HostMetrics, rounds: int) -> int:
    """Train on the rest, stop by the held-out queries, and return the best number of rounds."""
    metric = metrics.request.metrics[0]
    monitor = Monitor(
        metric,
        held_out.rows["X"],
        held_out.rows["y"],
        qid=held_out.qid,
        name=DATA_NAME,
        sample_weight=held_out.rows.get("sample_weight"),
        base_margin=held_out.rows.get("base_margin"),
        missing=estimator.missing,
        columns=held_out.columns,
    )
    # save_best removes later rounds: Booster.predict, unlike XGBRanker.predict, would use them.
    stopping = early_stopping(metric, rounds, data_name=DATA_NAME, save_best=True)
    user_callbacks = estimator.callbacks
    estimator.callbacks = [InOrder([monitor, *(user_callbacks or ()), stopping])]
    try:
        rest.fit(estimator, verbose=rest.others.get("verbose", False))  # XGBRegressor would print every round
    finally:
        estimator.callbacks = user_callbacks  # otherwise the fitted estimator would keep the held-out data
    return int(estimator.best_iteration) + 1
