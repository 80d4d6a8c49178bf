"""`early_stopping`: LightGBM's own callback, on one metric of one data set."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any
from weakref import WeakKeyDictionary

from ltr_metrics._hosts.frames import find_call
from ltr_metrics._hosts.host_metrics import Plan, WatchedMetric, not_evaluated, several_sets
from ltr_metrics._rows.checks import require_count, require_min_delta
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName
from ltr_metrics.errors import import_extra, warn
from ltr_metrics.lightgbm.lightgbm_metric import LightGBMFunction, gain_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention


@explaining_calls
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
        The metric that you passed to `feval` or `eval_metric`, in any spelling. It is found under
        whatever name it has in the log. LightGBM's own metrics, and those of a function of yours,
        can be watched by their name in the log.
    rounds : int
        Rounds without improvement after which to stop.
    data_name : str, optional
        Name of the data set, as in ``valid_names`` of ``lgb.train`` or ``eval_names`` of
        ``LGBMRanker.fit``. It may be that of the training data. By default it is the only
        validation set; several are an error.
    min_delta : float, default 0
        Smallest improvement that counts: a round is better if it exceeds the best one by more.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names. Pass the convention that you passed
        with the metric, if any.

    Returns
    -------
    callable
        For ``callbacks=[...]`` of ``lgb.train``, ``lgb.cv`` and ``LGBMRanker.fit``. You may use it
        for several trainings, even in several threads at the same time.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: for a wrong argument.
        In the first round: if no data set, or more than one, has the metric.

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
    watched = WatchedMetric(metric, data_name, convention, "lightgbm")
    options = {"min_delta": require_min_delta(min_delta), "verbose": False}
    make_stop = functools.partial(callback.early_stopping, require_count("rounds", rounds), **options)
    return EarlyStopping(make_stop, callback.EarlyStopException, watched)


class EarlyStopping:
    """LightGBM's callback, which sees the results of one metric of one data set only."""

    before_iteration = False

    def __init__(self, make_stop: Callable[[], Any], stopped: Any, watched: WatchedMetric) -> None:
        self._make_stop, self._stopped, self._watched = make_stop, stopped, watched
        self.order = make_stop().order
        # LightGBM's callback keeps the best score of one training, so trainings in several threads need one each.
        self._trainings: WeakKeyDictionary[Any, tuple[Any, dict[int, Any]]] = WeakKeyDictionary()

    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration or env.model not in self._trainings:
            self._trainings[env.model] = self._make_stop(), {}
            _warn_of_rounds_that_are_not_counted(env)
        stop, results = self._trainings[env.model]
        results[env.iteration] = env.evaluation_result_list
        try:
            stop(_with_results(env, [self._result(env)]))
        except self._stopped as stopped:
            # The scores of the best round are those of all data sets and metrics, as without us.
            raise self._stopped(stopped.best_iteration, results[stopped.best_iteration]) from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_trainings"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_trainings": WeakKeyDictionary()}

    def _result(self, env: Any) -> Any:
        """Return the result of the watched metric and data set."""
        results = [(*_data_and_metric(result), result) for result in env.evaluation_result_list or []]
        logged = {metric for _, metric, _ in results}
        found = self._watched.find(_plans(env), logged, lambda: gain_of(env.params))
        name, data_name = None if found is None else found[0], self._watched.data_name
        chosen = [(data, result) for data, metric, result in results if metric == name and data_name in (None, data)]
        if len(chosen) > 1 and data_name is None:
            training = getattr(env.model, "_train_data_name", None)  # a CVBooster has any attribute
            training = training if isinstance(training, str) else "train"
            chosen = [(data, result) for data, result in chosen if data != training]
        if len(chosen) > 1:
            raise several_sets(str(self._watched), [data for data, _ in chosen])
        if not chosen:
            where = "feval, for data sets in valid_sets, or to LGBMRanker.fit(eval_metric=...), for those in eval_set"
            raise not_evaluated(self._watched, [f"{metric} of {data}" for data, metric, _ in results], where)
        ((data, result),) = chosen
        # LightGBM's callback ignores the training data, which it recognises by their name.
        values = f"{data} (watched)", name, *result[2:]
        return type(result)(*values) if hasattr(result, "_fields") else values


def _warn_of_rounds_that_are_not_counted(env: Any) -> None:
    """Warn in the first round of a ``lgb.cv`` that continues a model, whose rounds ``lgb.train`` would count."""
    folds = env.model.boosters if type(env.model).__name__ == "CVBooster" else []
    before = max((fold.current_iteration() for fold in folds), default=0) - (env.iteration - env.begin_iteration + 1)
    if folds and before > 0:
        warn(
            f"lgb.cv(init_model=...) continues a model of {before} rounds and counts only the new ones, in its "
            "best_iteration and in its log, unlike lgb.train. To predict with a fold, pass "
            f"num_iteration={before} + best_iteration."
        )


def _plans(env: Any) -> list[Plan]:
    """Return what our metric functions of this training evaluate. LightGBM passes them to no callback."""
    call = find_call("lightgbm", "train", "cv")
    given = None if call is None else call.local("feval", "under which name feval logs the metric to stop by")
    functions = list(given) if isinstance(given, (list, tuple)) else [given]
    ours = [getattr(function, "func", function) for function in functions]  # within a wrapper of LGBMRanker
    return [
        function.metrics.plan(lambda: gain_of(env.params))
        for function in ours
        if isinstance(function, LightGBMFunction)
    ]


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
