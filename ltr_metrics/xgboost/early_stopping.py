"""`early_stopping`: XGBoost's own callback, given the direction and the logged name of a metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import xgboost

from ltr_metrics._engine.checks import require_count
from ltr_metrics._engine.words import ConventionName
from ltr_metrics._hosts import (
    Plan,
    find_host_call,
)
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.base import Metric, is_number
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.xgboost.custom_metric import MatrixMetrics
from ltr_metrics.xgboost.monitor import WatchedHistory, ask_monitors
from ltr_metrics.xgboost.training import XGBoostMetrics


def early_stopping(
    metric: str | Metric,
    rounds: int,
    *,
    data_name: str | None = None,
    min_delta: float = 0.0,
    save_best: bool = False,
    convention: ConventionName | Convention | None = None,
) -> EarlyStopping:
    """Return a callback that stops when a metric of `custom_metric` or `Monitor` has not risen for some rounds.

    Parameters
    ----------
    metric : str or Metric
        As it was given to `custom_metric` or `Monitor`. It is found under whatever name these give it in the log.
    rounds : int
        Rounds without improvement after which to stop.
    data_name : str, optional
        Name of the data set, as in ``evals`` or ``Monitor(name=...)``. Default: the one that has the metric, of several
        ``evals`` the last.
    min_delta : float, default 0
        What counts as an improvement. XGBoost keeps six decimals of a `custom_metric`; those of `Monitor` are exact.
    save_best : bool, default False
        Return the model up to its best round; by default it has all rounds and ``best_iteration``.
    convention : str or Convention, optional
        If one was given with the metric.

    Returns
    -------
    xgboost.callback.EarlyStopping
        For ``callbacks=[...]``. It may be used for several trainings, one after the other.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once if an argument is wrong; at the first round if no data set has the metric, or if XGBoost's own metric
        writes into the same history.

    Examples
    --------
    See `custom_metric` and `Monitor`.
    """
    return EarlyStopping(
        metric, rounds, data_name=data_name, min_delta=min_delta, save_best=save_best, convention=convention
    )


class EarlyStopping(xgboost.callback.EarlyStopping):
    """XGBoost's early stopping, told the direction and the logged name of one of our metrics."""

    def __init__(
        self,
        metric: str | Metric,
        rounds: int,
        *,
        convention: ConventionName | Convention | None = None,
        **options: Any,
    ) -> None:
        # It looks for a name and ranks nothing; but a convention with ties="docid" is refused without a policy.
        self._watched = XGBoostMetrics(metric, ties="mean", convention=convention)
        names = list(self._watched.plan().logged)
        if len(names) != 1:
            raise LtrValueError(f"early_stopping watches one metric. Got {', '.join(names)}.")
        require_count("rounds", rounds)
        if not is_number(options["min_delta"]) or not options["min_delta"] >= 0:
            raise LtrValueError(f"min_delta must be a number, 0 or more. Got {options['min_delta']!r}.")
        if not isinstance(options["data_name"], (str, type(None))):
            raise LtrTypeError(f"data_name must be the name of a data set. Got {options['data_name']!r}.")
        super().__init__(rounds=int(rounds), metric_name=names[0], maximize=True, **options)
        self._given_name = self.data
        self._rounds_seen = 0

    def before_training(self, model: Any) -> Any:
        # XGBoost's own goes on from the last training's best score; estimators keep one callback for all fits
        self.data = self._given_name
        self.stopping_history, self.best_scores, self._rounds_seen = {}, {}, 0
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._rounds_seen += 1
        ask_monitors(model, epoch, evals_log)
        names = self._names_in_log(model, evals_log)
        if self.data is None:
            self.data = self._only_or_last(names, evals_log)
        if self.data is None or self.data not in names:
            self._refuse_what_is_not_logged(model, evals_log)
        self.metric_name = names[self.data]
        history = evals_log[self.data][self.metric_name]
        if len(history) > self._rounds_seen:
            raise LtrValueError(
                f"Two metrics write {self.metric_name} of {self.data} into one history, which has {len(history)} values after round "
                f"{self._rounds_seen}: XGBoost's own metric of that name, or ours twice. Take it out of eval_metric, or rename ours, for "
                'example by names= or by convention="xgboost".'
            )
        stop: bool = super().after_iteration(model, epoch, evals_log)
        return stop

    def _names_in_log(self, model: Any, evals_log: Any) -> dict[str, str]:
        """Return the name that the metric has in the log, for each data set that has it."""
        (canonical,) = self._watched.plan_in(model).logged
        found = {}
        for data, history in evals_log.items():
            plans = [*_plan_of_custom_metric(model), *(m.plan for m in getattr(history, "monitors", ()) if m.plan)]
            names = [plan.logged[canonical] for plan in plans if canonical in plan.logged]
            taken = {name for plan in plans for name in plan.logged.values()}
            names += [] if canonical in taken else [canonical]  # of a function of the user's, or XGBoost's own
            names = [name for name in names if name in history]
            if names:
                found[data] = names[0]
        return found

    def _only_or_last(self, names: Mapping[str, str], evals_log: Any) -> str | None:
        """Return the data set that has the metric: the last of ``evals``, as XGBoost chooses; Monitors stand in no order."""
        having = list(names)
        if len(having) > 1 and any(isinstance(evals_log[name], WatchedHistory) for name in having):
            raise LtrValueError(
                f"Several data sets have {names[having[0]]}: say which to watch by data_name=, of {', '.join(having)}."
            )
        return having[-1] if having else None

    def _refuse_what_is_not_logged(self, model: Any, evals_log: Any) -> NoReturn:
        logged = "; ".join(f"{name}: {', '.join(metrics)}" for name, metrics in evals_log.items()) or "nothing"
        where = "" if self._given_name is None else f" of {self._given_name!r}"
        (canonical,) = self._watched.plan_in(model).logged
        raise LtrValueError(
            f"early_stopping watches {canonical}{where}, which is not in the log. It has {logged}. Pass the metric to "
            "xgb.train(custom_metric=custom_metric(...)) with evals, or to a Monitor in callbacks; a convention that was given there must be "
            "given here."
        )


def _plan_of_custom_metric(model: Any) -> list[Plan]:
    """Return the plan of the training's custom_metric, if it is one of ours; a callback is not told of it."""
    call = find_host_call("xgboost", "after_iteration")
    container = None if call.frame is None else call.frame.f_locals.get("self")
    metric = getattr(container, "metric", None)
    return [metric.plan_in(model)] if isinstance(metric, MatrixMetrics) else []
