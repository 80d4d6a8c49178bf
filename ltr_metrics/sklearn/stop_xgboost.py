"""Early stopping of XGBoost's estimators, rankers and regressors alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xgboost.callback import TrainingCallback

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics.errors import LtrTypeError
from ltr_metrics.sklearn.training import Training
from ltr_metrics.xgboost import Monitor, early_stopping

HELD_OUT = "validation"


class InOrder(TrainingCallback):
    """Callbacks that are called one after the other, each in every round.

    XGBoost before 3.2 calls callbacks in no order, and every version leaves out those that stand behind one which ends the
    training. A callback of the user's reads the metric of the round (a tuner that prunes does), and ours must see every round.
    """

    def __init__(self, callbacks: Sequence[TrainingCallback]) -> None:
        super().__init__()
        self.callbacks = callbacks
        for callback in callbacks:
            if not isinstance(callback, TrainingCallback):
                raise LtrTypeError(
                    f"callbacks of XGBoost's estimators must be instances of xgboost.callback.TrainingCallback. Got {callback!r}."
                )

    def before_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = callback.before_training(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        stops = [callback.before_iteration(model, epoch, evals_log) for callback in self.callbacks]  # each is called
        return any(stops)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        stops = [callback.after_iteration(model, epoch, evals_log) for callback in self.callbacks]  # each is called
        return any(stops)

    def after_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = callback.after_training(model)
        return model


def train(estimator: Any, rest: Training, held: Training, metrics: HostMetrics, rounds: int) -> int:
    """Train on the rest, stop by the metric on what is held out, and return the best number of rounds."""
    watched = metrics.request.metrics[0]
    monitor = Monitor(
        watched,
        held.rows["X"],
        held.rows["y"],
        qid=held.qid,
        name=HELD_OUT,
        sample_weight=held.rows.get("sample_weight"),
        base_margin=held.rows.get("base_margin"),
        missing=estimator.missing,
    )
    # The rounds behind the best are cut off: Booster.predict, unlike XGBRanker.predict, would use them.
    stopping = early_stopping(watched, rounds, data_name=HELD_OUT, save_best=True)
    theirs = estimator.callbacks
    estimator.callbacks = [InOrder([monitor, *(theirs or ()), stopping])]
    try:
        rest.fit(estimator, verbose=rest.others.get("verbose", False))  # XGBRegressor would print every round
    finally:
        estimator.callbacks = theirs  # or the fitted estimator would carry the data held out
    return int(estimator.best_iteration) + 1
