"""Early stopping inside a fold: a metric on held-out queries decides how many rounds to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ltr_metrics._engine.checks import AnyArray, BoolArray, require_count, require_fraction
from ltr_metrics._hosts.host_metrics import HostMetrics, UndefinedMeanError
from ltr_metrics._hosts.known_hosts import host_of, module_of
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import Training


class Conflicts(NamedTuple):
    """Settings of a host's estimators that conflict with our early stopping."""

    own_stopping: tuple[str, ...]  # parameters that make the estimator stop by itself
    callback: str | None = None  # class of the host's callback that stops, if it has one
    booster: tuple[str, ...] = ()  # names of the parameter that selects the booster
    refused: tuple[str, ...] = ()  # boosters that cannot be stopped
    reason: str = ""
    remedy: str = ""  # a booster that can


@dataclass(frozen=True)
class StopEarly:
    """The parameters of QueryRanker for early stopping."""

    rounds: int
    fraction: float
    metrics: HostMetrics  # with one metric
    random_state: Any

    def __post_init__(self) -> None:
        require_count("early_stopping_rounds", self.rounds, note=", or None to train for all rounds")
        require_fraction("validation_fraction", self.fraction, 0.1)

    def fit(self, steps: Steps, training: Training) -> tuple[int, AnyArray]:
        """Fit the estimator and the steps before it on the queries that are not held out.

        Return the number of rounds that its predictions use, and the held-out queries.
        """
        estimator = steps.last
        of_host = _stopping_of(estimator)
        callbacks = [*(estimator.get_params().get("callbacks") or ()), *(training.others.get("callbacks") or ())]
        _refuse_conflicts(estimator, training.others, of_host.CONFLICTS, callbacks)
        is_held_out = self._draw_held_out(len(training.ids))
        rest = steps.fit_transform(training.of_queries(~is_held_out))
        held_out = steps.transform_training(training.of_queries(is_held_out))
        try:
            return of_host.train(estimator, rest, held_out, self.metrics, int(self.rounds)), held_out.ids
        except UndefinedMeanError as error:  # on data that the user did not choose
            raise UndefinedMeanError(
                f"On the {len(held_out.ids)} of {len(training.ids)} queries that are held out for early stopping: "
                f"{error} A larger validation_fraction holds out more."
            ) from error

    def _draw_held_out(self, n_queries: int) -> BoolArray:
        if n_queries < 2:
            raise LtrValueError(
                f"Early stopping needs at least 2 queries, one to train on and one to hold out. Got {n_queries}."
            )
        n_held_out = min(max(1, round(self.fraction * n_queries)), n_queries - 1)
        is_held_out = np.zeros(n_queries, dtype=np.bool_)
        is_held_out[check_random_state(self.random_state).permutation(n_queries)[:n_held_out]] = True
        return is_held_out


def _stopping_of(estimator: Any) -> ModuleType:
    """Return the module of an estimator's host that stops it early."""
    host = host_of(estimator)
    if host is None:
        raise LtrTypeError(
            "early_stopping_rounds is for estimators of LightGBM, XGBoost and CatBoost, whose training can be watched "
            f"round by round. Got a {type(estimator).__name__}. Set early_stopping_rounds=None, and search for its "
            "number of rounds with estimator__... instead."
        )
    return module_of(host, "stopping")


def _refuse_conflicts(
    estimator: Any, fit_params: dict[str, Any], conflicts: Conflicts, callbacks: Iterable[Any]
) -> None:
    parameters = estimator.get_params() | fit_params
    own = [f"{name}={parameters[name]!r}" for name in conflicts.own_stopping if parameters.get(name)]
    stopping = [c for c in callbacks if conflicts.callback in {kind.__name__ for kind in type(c).__mro__}]
    own += [f"the callback {callback!r}" for callback in stopping]
    if own:
        raise LtrValueError(
            f"QueryRanker is set to stop early, and so is {type(estimator).__name__} by {own[0]}. Set it on "
            "QueryRanker alone, which watches its metric on whole queries."
        )
    for name in conflicts.booster:
        if parameters.get(name) in conflicts.refused:
            raise LtrValueError(
                f"early_stopping_rounds does not work with {name}={parameters[name]!r}: {conflicts.reason}. Use "
                f"{conflicts.remedy!r}, or early_stopping_rounds=None and a search over estimator__n_estimators."
            )
