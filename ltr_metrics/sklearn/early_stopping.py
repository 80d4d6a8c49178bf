"""Early stopping inside a fold: a metric on held-out queries decides how many rounds to keep."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics._hosts.known_hosts import host_of, module_of
from ltr_metrics._rows.checks import AnyArray, BoolArray, require_count, require_fraction, require_min_delta
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import Training


class Conflicts(NamedTuple):
    """Settings of a host's estimators that conflict with `QueryRanker`, which alone chooses the rounds to keep."""

    own_stopping: tuple[str, ...]  # parameters that make the estimator stop by itself, unless they are 0 or None
    objects: tuple[type, ...]  # classes of callbacks and metrics that do so


def fit_with_early_stopping(
    ranker: Any, steps: Steps, training: Training, metrics: HostMetrics
) -> tuple[int, AnyArray]:
    """Fit the estimator and the steps before it on the queries that are not held out, as a `QueryRanker` is set.

    Return the number of rounds that its predictions use, and the held-out queries.
    """
    note = ", or None to train for all rounds"
    rounds = require_count("early_stopping_rounds", ranker.early_stopping_rounds, note=note)
    min_delta = require_min_delta(ranker.min_delta)
    fraction = require_fraction("validation_fraction", ranker.validation_fraction, 0.1)
    of_host = _stopping_of(steps.last)
    is_held_out = _draw_held_out(len(training.ids), fraction, ranker.random_state)
    rest = steps.fit_transform(training.of_queries(~is_held_out))
    held_out = training.of_queries(is_held_out)
    held_out = held_out.with_features(steps.transform(held_out.rows["X"]))
    with naming(f"On the {len(held_out.ids)} of {len(training.ids)} queries held out for early stopping"):
        return of_host.train(steps.last, rest, held_out, metrics, rounds, min_delta), held_out.ids


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


def refuse_own_stopping(estimator: Any, fit_params: dict[str, Any], *, stops: bool) -> None:
    """Refuse settings of a host's estimator that decide, beside `QueryRanker`, which rounds to keep.

    ``stops`` says whether `QueryRanker` itself stops early.
    """
    host = host_of(estimator)
    if host is None:
        return
    conflicts: Conflicts = module_of(host, "stopping").CONFLICTS
    settings = estimator.get_params()
    parameters = settings | fit_params
    own = [f"{name}={parameters[name]!r}" for name in conflicts.own_stopping if parameters.get(name)]
    callbacks = [*(settings.get("callbacks") or ()), *(fit_params.get("callbacks") or ())]
    own += [f"the callback {callback!r}" for callback in callbacks if isinstance(callback, conflicts.objects)]
    if isinstance(parameters.get("eval_metric"), conflicts.objects):
        own.append(f"eval_metric={parameters['eval_metric']!r}")
    if own:
        kind = type(estimator).__name__
        so = f"QueryRanker is set to stop early, and so is {kind}" if stops else f"{kind} is set to stop early"
        raise LtrValueError(
            f"{so} by {own[0]}. Inside QueryRanker, set early_stopping_rounds only on QueryRanker, which holds out "
            f"whole queries. To stop by a validation set of your own, fit the {kind} itself."
        )


def cannot_cut_back(settings: str, remedy: str) -> LtrValueError:
    """Return the error for a model that is not the one of its best round once later rounds are cut off."""
    return LtrValueError(
        f"early_stopping_rounds does not work with {settings}. {remedy}, or set early_stopping_rounds=None and search "
        "over estimator__n_estimators."
    )


def other_best_round(callback: Any) -> LtrValueError:
    """Return the error for a user's callback that has declared a best round."""
    return LtrValueError(
        f"QueryRanker is set to stop early, and the callback {callback!r} has declared a best round too. Remove it, or "
        "set early_stopping_rounds=None."
    )
