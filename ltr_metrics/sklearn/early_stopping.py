"""Early stopping inside a fold: whole queries are held out, and a metric on them decides how many rounds to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ltr_metrics._engine.checks import AnyArray, BoolArray, require_count, require_fraction
from ltr_metrics._hosts.host_metrics import HostMetrics, UndefinedMeanError
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import Training, is_of_evaluation


class Host(NamedTuple):
    """What of a host's estimators cannot go together with our early stopping."""

    own_stopping: tuple[str, ...]  # parameters by which the estimator stops by itself
    callback: str  # class of its callback that stops
    booster: tuple[str, ...]  # names of the parameter that chooses the booster
    refused: tuple[str, ...]  # boosters that cannot be stopped
    why: str
    instead: str


HOSTS = {
    "lightgbm": Host(
        own_stopping=("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"),
        callback="_EarlyStoppingCallback",
        booster=("boosting_type", "boosting", "boost"),
        refused=("dart",),
        why="LightGBM does not stop it early",
        instead="gbdt",
    ),
    "xgboost": Host(
        own_stopping=("early_stopping_rounds",),
        callback="EarlyStopping",
        booster=("booster",),
        refused=("dart", "gblinear"),
        why="cut back to its best round it is not the model that was evaluated then",
        instead="gbtree",
    ),
}


@dataclass(frozen=True)
class StopEarly:
    """The parameters of QueryRanker that say how to stop."""

    rounds: int
    fraction: float
    metrics: HostMetrics  # with one metric
    random_state: Any

    def __post_init__(self) -> None:
        require_count("early_stopping_rounds", self.rounds, note=", or None to train for all rounds")
        require_fraction("validation_fraction", self.fraction, 0.1)

    def fit(self, steps: Steps, training: Training) -> tuple[int, AnyArray]:
        """Fit the estimator; return the rounds that its predictions use, and the queries that were held out.

        The steps of a pipeline before it are fitted on the other queries, too.
        """
        estimator = steps.last
        host = _host_of(estimator)
        callbacks = [*(estimator.get_params().get("callbacks") or ()), *(training.others.get("callbacks") or ())]
        _refuse_settings(estimator, HOSTS[host], callbacks)
        _refuse_evaluation_by_hand(training.others | training.rows)
        held_out = self._choose(len(training.ids))
        train = import_module(f"ltr_metrics.sklearn.stop_{host}").train
        rest = steps.fit_transform(training.of_queries(~held_out))
        held = steps.transform_training(training.of_queries(held_out))
        try:
            return train(estimator, rest, held, self.metrics, int(self.rounds)), held.ids
        except UndefinedMeanError as error:  # on data that the user did not choose
            raise UndefinedMeanError(
                f"On the {len(held.ids)} of {len(training.ids)} queries that are held out for early stopping: {error} A larger "
                "validation_fraction holds out more."
            ) from error

    def _choose(self, n_queries: int) -> BoolArray:
        if n_queries < 2:
            raise LtrValueError(
                f"Early stopping needs at least 2 queries, one to train on and one to hold out. Got {n_queries}."
            )
        n_held_out = min(max(1, round(self.fraction * n_queries)), n_queries - 1)
        held_out = np.zeros(n_queries, dtype=np.bool_)
        held_out[check_random_state(self.random_state).permutation(n_queries)[:n_held_out]] = True
        return held_out


def _host_of(estimator: Any) -> str:
    """Return the host that an estimator, or a class that it is made from, comes from."""
    packages = {kind.__module__.partition(".")[0] for kind in type(estimator).__mro__}
    for host in HOSTS:
        if host in packages:
            return host
    raise LtrTypeError(
        "early_stopping_rounds is for estimators of LightGBM and XGBoost, whose training can be watched round by round. Got a "
        f"{type(estimator).__name__}: set early_stopping_rounds=None, and search for its number of rounds by estimator__... instead."
    )


def _refuse_settings(estimator: Any, host: Host, callbacks: Iterable[Any]) -> None:
    parameters = estimator.get_params()
    own = [f"{name}={parameters[name]!r}" for name in host.own_stopping if parameters.get(name)]
    own += [f"the callback {c!r}" for c in callbacks if host.callback in {kind.__name__ for kind in type(c).__mro__}]
    if own:
        raise LtrValueError(
            f"QueryRanker is to stop early, and so is {type(estimator).__name__} by {own[0]}. Set it on QueryRanker alone, which watches "
            "its metric on whole queries."
        )
    for name in host.booster:
        if parameters.get(name) in host.refused:
            raise LtrValueError(
                f"early_stopping_rounds does not go with {name}={parameters[name]!r}: {host.why}. Use {host.instead!r}, or "
                "early_stopping_rounds=None and a search over estimator__n_estimators."
            )


def _refuse_evaluation_by_hand(fit_params: dict[str, Any]) -> None:
    given = sorted(filter(is_of_evaluation, fit_params))
    if given:
        raise LtrTypeError(
            f"With early_stopping_rounds QueryRanker evaluates the queries that it holds out: do not pass {', '.join(given)}, or set "
            "early_stopping_rounds=None."
        )
