"""`early_stopping`: XGBoost's own callback, with the direction and the logged name of a metric."""

from __future__ import annotations

from typing import Any

import xgboost

from ltr_metrics._hosts.frames import find_call
from ltr_metrics._hosts.host_metrics import Plan, WatchedMetric, not_evaluated, several_sets
from ltr_metrics._hosts.log_names import refuse_names_in_use
from ltr_metrics._rows.checks import require_count, require_min_delta
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.xgboost.custom_metric import REMEDY, MatrixMetrics, gain_of_training
from ltr_metrics.xgboost.monitor import MonitoredHistory, run_monitors
from ltr_metrics.xgboost.xgboost_rounds import kind_that_changes_rounds

WHERE = "custom_metric, for data sets in evals, or to a Monitor in callbacks"


@explaining_calls
def early_stopping(
    metric: str | Metric,
    rounds: int,
    *,
    data_name: str | None = None,
    min_delta: float = 0.0,
    save_best: bool = False,
    convention: ConventionName | Convention | None = None,
) -> EarlyStopping:
    """Return a callback that stops when a metric has not become better for some rounds.

    The metric is one that `custom_metric` or `Monitor` logs.

    Parameters
    ----------
    metric : str or Metric
        The metric that you passed to `custom_metric` or `Monitor`, in any spelling. It is found
        under whatever name it has in the log.
    rounds : int
        Rounds without improvement after which to stop.
    data_name : str, optional
        Name of the data set, as in ``evals`` or ``Monitor(name=...)``. By default it is the data
        set that has the metric. If several ``evals`` have it, it is the last of them.
    min_delta : float, default 0
        Smallest improvement that counts. XGBoost keeps six decimals of a `custom_metric`. Those of
        a `Monitor` are exact.
    save_best : bool, default False
        Whether to return the model up to its best round. By default the model has all rounds, and a
        ``best_iteration``.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names. Pass the convention that you passed
        with the metric, if any.

    Returns
    -------
    xgboost.callback.EarlyStopping
        For ``callbacks=[...]``. You may use it for several trainings, one after the other.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: for a wrong argument.
        Before the first round: for ``save_best`` with ``dart``, with dropout (``rate_drop``,
        ``one_drop``) or with ``gblinear``, whose rounds change earlier ones. Without ``save_best``
        it is a warning.
        In the first round: if no data set has the metric, or if XGBoost's own metric writes into
        the same history.

    See Also
    --------
    custom_metric : Metrics for ``xgb.train``.
    Monitor : Metrics for ``XGBRanker``.

    Examples
    --------
    >>> import xgboost as xgb, ltr_metrics as ltr
    >>> from ltr_metrics.xgboost import Monitor, early_stopping
    >>> X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    >>> monitor = Monitor("mrr", X, y, qid=qid)
    >>> stop = early_stopping("mrr", rounds=3, min_delta=0.001)
    >>> ranker = xgb.XGBRanker(n_estimators=100, callbacks=[monitor, stop])
    >>> ranker = ranker.fit(X, y, qid=qid, verbose=False)
    >>> ranker.best_iteration < 97
    True
    """
    options = {"data_name": data_name, "min_delta": require_min_delta(min_delta), "save_best": save_best}
    return EarlyStopping(metric, rounds, convention=convention, **options)


class EarlyStopping(xgboost.callback.EarlyStopping):
    """XGBoost's early stopping, with the direction and the logged name of one of our metrics."""

    def __init__(
        self,
        metric: str | Metric,
        rounds: int,
        *,
        convention: ConventionName | Convention | None = None,
        **options: Any,
    ) -> None:
        self._watched = WatchedMetric(metric, options["data_name"], convention, "xgboost")
        super().__init__(rounds=require_count("rounds", rounds), **options)
        self._data_name = self.data
        self._rounds_seen, self._training = 0, 0

    def before_training(self, model: Any) -> Any:
        # XGBoost's own callback would continue from the best score of the last training, and an
        # estimator keeps one callback for all fits.
        self.data, self._training = self._data_name, id(model)
        self.stopping_history, self.best_scores, self._rounds_seen = {}, {}, 0
        if isinstance(model, xgboost.Booster):  # xgb.cv passes several, which it does not return
            self._require_rounds_that_stay(model)
        return super().before_training(model)

    def _require_rounds_that_stay(self, model: xgboost.Booster) -> None:
        """Say that a model whose rounds change earlier ones is another one when it is cut back."""
        kind = kind_that_changes_rounds(model)
        if kind is None:
            return
        reason = f"Each round of XGBoost's {kind} changes what earlier rounds added"
        if self.save_best:
            raise LtrValueError(
                f"{reason}, so save_best=True would return another model than the one of the best round. Leave it out, "
                "or use booster='gbtree' without rate_drop and one_drop."
            )
        warn(
            f"{reason}, so the rounds up to the best one are not the model that was evaluated then, and predict of "
            "XGBoost's estimators uses only these. Pass iteration_range=(0, 0) to predict with all rounds, or use "
            "booster='gbtree' without rate_drop and one_drop."
        )

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._require_one_training(model)
        self._rounds_seen += 1
        run_monitors(model, epoch, evals_log)
        found = self._find(model, evals_log)
        if self.data is None:
            self.data = self._only_or_last(list(found), evals_log)
        if self.data is None or self.data not in found:
            logged = [f"{metric} of {data}" for data, metrics in evals_log.items() for metric in metrics]
            raise not_evaluated(self._watched, logged, WHERE)
        self.metric_name, self.maximize = found[self.data]
        if len(evals_log[self.data][self.metric_name]) > self._rounds_seen:
            refuse_names_in_use({self.metric_name: self.metric_name}, [self.metric_name], repr(self.data), REMEDY)
        stop: bool = super().after_iteration(model, epoch, evals_log)
        self._require_one_training(model)
        return stop

    def _require_one_training(self, model: Any) -> None:
        """Refuse a second training at the same time, in both: XGBoost's callback has the state of one."""
        if self._training != id(model):
            self._training = 0
            raise LtrValueError(
                "One early_stopping is in two trainings at the same time, such as those of several threads, and would "
                "mix their rounds. Give each training an early_stopping of its own."
            )

    def _find(self, model: Any, evals_log: Any) -> dict[str, tuple[str, bool]]:
        """Return the name of the metric in the log and its direction, for each data set that has it."""
        plan_of_function = _plan_of_custom_metric(model)
        found = {}
        for data, history in evals_log.items():
            of_monitors = (monitor.training_of(model).plan for monitor in getattr(history, "monitors", ()))
            plans = [*plan_of_function, *filter(None, of_monitors)]
            one = self._watched.find(plans, history, lambda: gain_of_training(model))
            if one is not None and one[1] is not None:  # that of a name which is no metric of ours is unknown
                found[data] = one[0], one[1]
        return found

    def _only_or_last(self, data: list[str], evals_log: Any) -> str | None:
        """Return the data set that has the metric, of several ``evals`` the last, as in XGBoost.

        Monitors have no order, so several data sets are an error if one of them has a Monitor.
        """
        if len(data) > 1 and any(isinstance(evals_log[name], MonitoredHistory) for name in data):
            raise several_sets(str(self._watched), data)
        return data[-1] if data else None


def _plan_of_custom_metric(model: Any) -> list[Plan]:
    """Return the plan of our custom_metric, if any. XGBoost does not pass it to callbacks."""
    call = find_call("xgboost", "after_iteration")
    if call is None:
        return []
    container = call.local("self", "under which name a custom_metric logs the metric to stop by")
    function = getattr(container, "metric", None)
    return [function.metrics.plan(lambda: gain_of_training(model))] if isinstance(function, MatrixMetrics) else []
