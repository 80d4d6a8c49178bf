"""Early stopping of XGBoost's estimators, rankers and regressors alike."""

from __future__ import annotations

from typing import Any

from ltr_metrics.adapter import HostMetrics
from ltr_metrics.sklearn.training import Training
from ltr_metrics.xgboost import Monitor, early_stopping

HELD_OUT = "validation"


def train(estimator: Any, rest: Training, held: Training, metric: HostMetrics, rounds: int) -> int:
    """Train on the rest, stop by the metric on what is held out, and return the best number of rounds."""
    watched = metric.request.metrics[0]
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
    estimator.callbacks = [*(theirs or ()), monitor, stopping]
    try:
        rest.fit(estimator, verbose=rest.others.get("verbose", False))  # XGBRegressor would print every round
    finally:
        estimator.callbacks = theirs  # or the fitted estimator would carry the data held out
    return int(estimator.best_iteration) + 1
