"""`early_stopping`: LightGBM's own callback, on one metric of one data set."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import Any

from ltr_metrics._engine.words import ConventionName
from ltr_metrics._hosts.host_metrics import not_evaluated, several_sets, watched_metric
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention


def early_stopping(
    metric: str | Metric,
    rounds: int,
    *,
    data_name: str | None = None,
    min_delta: float = 0.0,
    convention: ConventionName | Convention | None = None,
) -> EarlyStopping:
    """Return a callback that stops when one metric of one data set has not become better for some rounds.

    LightGBM's own ``early_stopping`` stops when any metric of any validation set stalls. With
    ``first_metric_only=True`` it watches one metric, but still all validation sets.

    Parameters
    ----------
    metric : str or Metric
        The metric as you passed it to `feval` or `eval_metric`, or its name in the log. LightGBM's
        own metrics can be watched, too, by their name in the log.
    rounds : int
        Rounds without improvement after which to stop.
    data_name : str, optional
        Name of the data set, as in ``valid_names`` of ``lgb.train`` or ``eval_names`` of
        ``LGBMRanker.fit``. By default it is the only validation set; several are an error.
    min_delta : float, default 0
        Smallest improvement that counts.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names. Pass the convention that you passed
        with the metric, if any.

    Returns
    -------
    callable
        For ``callbacks=[...]`` of ``lgb.train``, ``lgb.cv`` and ``LGBMRanker.fit``. You may use it
        for several trainings, one after the other.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: for a wrong argument.
        In the first round: if no validation set, or more than one, has the metric.

    See Also
    --------
    feval : Metrics for ``lgb.train``.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import early_stopping, feval
    >>> X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    >>> other = [lgb.Dataset(X[qid % 2 == part], y[qid % 2 == part], reference=train,
    ...     group=ltr.qid_to_group(qid[qid % 2 == part])) for part in (0, 1)]
    >>> stop = early_stopping("mrr", 3, data_name="odd")
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 100, valid_sets=other, valid_names=["even", "odd"],
    ...     feval=feval(["mrr", "map"]), callbacks=[stop])
    >>> booster.best_iteration < 97
    True
    """
    callback = import_extra("lightgbm.callback", "lightgbm")
    names = [str(metric)]
    with suppress(LtrValueError):  # the name may also be the user's own, or LightGBM's
        names[:0] = watched_metric(metric, data_name, convention).request.names
    stop = callback.early_stopping(rounds, min_delta=min_delta, verbose=False)
    return EarlyStopping(stop, callback.EarlyStopException, names, data_name)


class EarlyStopping:
    """LightGBM's callback, which sees the results of one metric of one data set only."""

    before_iteration = False

    def __init__(self, stop: Any, stopped: Any, names: list[str], data_name: str | None) -> None:
        self._stop, self._stopped, self._names, self._data_name = stop, stopped, names, data_name
        self.order = stop.order
        self._results: dict[int, Any] = {}

    def __call__(self, env: Any) -> None:
        self._results[env.iteration] = env.evaluation_result_list
        try:
            self._stop(_with_results(env, [self._watched(env)]))
        except self._stopped as stopped:
            # The scores of the best round are those of all data sets and metrics, as without us.
            raise self._stopped(stopped.best_iteration, self._results[stopped.best_iteration]) from None

    def _watched(self, env: Any) -> Any:
        """Return the result of the watched metric and data set."""
        results = {_data_and_metric(result): result for result in env.evaluation_result_list or []}
        logged = {metric for _, metric in results}
        name = next((name for name in self._names if name in logged), self._names[0])
        found = {data: result for (data, metric), result in results.items() if metric == name}
        if self._data_name is not None:
            found = {data: result for data, result in found.items() if data == self._data_name}
        elif len(found) > 1:
            training = getattr(env.model, "_train_data_name", None)
            found.pop(training if isinstance(training, str) else "train", None)  # a CVBooster has any attribute
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise several_sets(name, found)
        evaluated = [f"{metric} of {data}" for data, metric in results]
        raise not_evaluated(name, self._data_name, evaluated, "feval")


def _with_results(env: Any, results: list[Any]) -> Any:
    """Return LightGBM's arguments for a callback with other results: a named tuple, or a dataclass from 4.7 on."""
    names = getattr(env, "_fields", None) or [field.name for field in fields(env)]
    return type(env)(**{name: getattr(env, name) for name in names} | {"evaluation_result_list": results})


def _data_and_metric(result: Any) -> tuple[str, str]:
    """Return the names of the data set and the metric, which ``lgb.cv`` of some versions joins."""
    data, metric = result[0], result[1]
    if data == "cv_agg":
        data, _, metric = metric.partition(" ")
    return data, metric
