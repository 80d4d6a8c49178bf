"""Early stopping inside a fold: a metric on held-out queries decides how many rounds to keep."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ltr_metrics._engine.checks import AnyArray, BoolArray, require_count, require_fraction
from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics._hosts.known_hosts import host_of, module_of
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import Training


class Conflicts(NamedTuple):
    """Settings of a host's estimators that conflict with our early stopping."""

    own_stopping: tuple[str, ...]  # parameters that make the estimator stop by itself
    callback: str | None = None  # class of the host's callback that stops, if it has one
    booster: tuple[str, ...] = ()  # names of the parameter that selects the booster
    refused: tuple[str, ...] = ()  # boosters whose later rounds change earlier ones
    remedy: str = ""  # a booster that can be stopped


def fit_with_early_stopping(
    steps: Steps, training: Training, metrics: HostMetrics, *, rounds: int, fraction: float, random_state: Any
) -> tuple[int, AnyArray]:
    """Fit the estimator and the steps before it on the queries that are not held out.

    Return the number of rounds that its predictions use, and the held-out queries.
    """
    rounds = require_count("early_stopping_rounds", rounds, note=", or None to train for all rounds")
    require_fraction("validation_fraction", fraction, 0.1)
    of_host = _stopping_of(steps.last)
    _refuse_conflicts(steps.last, training.others, of_host.CONFLICTS)
    is_held_out = _draw_held_out(len(training.ids), fraction, random_state)
    rest = steps.fit_transform(training.of_queries(~is_held_out))
    held_out = training.of_queries(is_held_out)
    held_out = held_out.with_features(steps.transform(held_out.rows["X"]))
    with naming(f"On the {len(held_out.ids)} of {len(training.ids)} queries held out for early stopping"):
        return of_host.train(steps.last, rest, held_out, metrics, rounds), held_out.ids


def _draw_held_out(n_queries: int, fraction: float, random_state: Any) -> BoolArray:
    if n_queries < 2:
        raise LtrValueError(
            f"Early stopping needs at least 2 queries, one to train on and one to hold out. Got {n_queries}."
        )
    n_held_out = min(max(1, round(fraction * n_queries)), n_queries - 1)
    is_held_out = np.zeros(n_queries, dtype=np.bool_)
    is_held_out[check_random_state(random_state).permutation(n_queries)[:n_held_out]] = True
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


def _refuse_conflicts(estimator: Any, fit_params: dict[str, Any], conflicts: Conflicts) -> None:
    parameters = estimator.get_params() | fit_params
    own = [f"{name}={parameters[name]!r}" for name in conflicts.own_stopping if parameters.get(name)]
    callbacks = [*(estimator.get_params().get("callbacks") or ()), *(fit_params.get("callbacks") or ())]
    stopping = [c for c in callbacks if conflicts.callback in {kind.__name__ for kind in type(c).__mro__}]
    own += [f"the callback {callback!r}" for callback in stopping]
    if own:
        raise LtrValueError(
            f"QueryRanker is set to stop early, and so is {type(estimator).__name__} by {own[0]}. Set it on "
            "QueryRanker only, which watches its metric on whole queries."
        )
    for name in conflicts.booster:
        if parameters.get(name) in conflicts.refused:
            raise LtrValueError(
                f"early_stopping_rounds does not work with {name}={parameters[name]!r}, which changes earlier rounds. "
                f"Use {conflicts.remedy!r}, or early_stopping_rounds=None and a search over estimator__n_estimators."
            )
