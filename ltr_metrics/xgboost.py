"""XGBoost: `custom_metric` for ``xgb.train`` and ``xgb.cv``, `Monitor` for ``XGBRanker``, `early_stopping` for all of them; on Dask too.

``XGBRanker(eval_metric=...)`` calls a function once a query and averages what it returns by query size, without weights: no
function can repair that. `Monitor` is a callback, which sees all queries at once.
"""

from __future__ import annotations

import json
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ltr_metrics.adapter import (
    Gain,
    HostMetrics,
    Names,
    Plan,
    Prepared,
    find_host_call,
    gain_of_setting,
    refuse_undefined_means,
    wrong_host,
)
from ltr_metrics.conventions import Convention, Metrics
from ltr_metrics.errors import LtrTypeError, LtrValueError, MissingExtraError
from ltr_metrics.evaluation import Queries
from ltr_metrics.inputs import is_count
from ltr_metrics.label_checks import check_in_silence
from ltr_metrics.log import PerQueryLog
from ltr_metrics.metrics.base import Metric, is_number
from ltr_metrics.result import Evaluation
from ltr_metrics.totals import Totals
from ltr_metrics.words import ConventionName, NoRelevant, TiePolicy

try:
    import xgboost
except ImportError as error:
    raise MissingExtraError("xgboost", "xgboost") from error

from ltr_metrics.xgboost_workers import Part, ids_on_dask, totals_of_all

Pairs = list[tuple[str, float]]


def custom_metric(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "canonical",
) -> MatrixMetrics:
    """Return a metric function for ``xgb.train(custom_metric=...)`` and ``xgb.cv(custom_metric=...)``.

    Stop early by `ltr_metrics.xgboost.early_stopping`: XGBoost's own ``early_stopping_rounds`` minimises every metric
    whose name does not begin with auc, pre, map or ndcg (unless ``maximize=True`` is passed), and stops at once with a rising
    mrr or err. XGBoost keeps six decimals of a custom metric. XGBoost has one history for a name, so ``map@10`` beside
    ``eval_metric="map@10"`` is refused.

    **On several workers** (``xgboost.dask.train``, or any other launcher of XGBoost's), each evaluates the queries that it has, and all
    log the mean over the queries of all, weighted if the DMatrix has weights; so `early_stopping` ends all of them in the same round. A
    worker may have no rows. If one cannot go on, all raise, and say which. What has to be known on Dask:

    - Rows of a query must be on one worker. ``DaskDMatrix(qid=...)`` moves no rows: a query that two partitions cut may end on two workers,
      and ``DaskQuantileDMatrix`` takes it for two queries even on one. ``xgboost.dask.train`` is refused in the first round of such data;
      under other launchers nobody can see it. ``ltr_metrics.dask.whole_queries(frame, qid)`` brings queries together, and
      ``DaskXGBRanker(allow_group_split=False)``, its default, does it itself, by a partition for each query.
    - Unless ``qid`` ascends over all partitions of a worker, XGBoost sorts the worker's rows by it, and loses the input order within a
      query (its log says "Sorting data"). ``ties="stable"`` then means the order that XGBoost has made.
    - A worker without any *partition* of a data set fails in XGBoost before it calls a metric ("data did not contain feature names") if the
      features are data frames. Pass ``DaskDMatrix(feature_names=list(X.columns))``, or arrays, or as many partitions as there are workers; they
      may be empty.
    - ``DaskDMatrix`` refuses weights together with ``qid``. A weighted mean is had from a `Monitor`, or after the training.
    - ``DaskXGBRanker`` takes a `Monitor`, as XGBRanker does.

    Parameters
    ----------
    metrics : str, Metric, or several of them
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`. ``convention="xgboost"`` gives XGBoost's own values. It also follows the
        ``ndcg_exp_gain`` of the training: ``"ndcg@10"`` is then logged as ``ndcg_lin@10``. A name that says its gain
        (``"ndcg_exp@10"``), a metric object and other conventions do not depend on ``ndcg_exp_gain``.
    log : PerQueryLog, optional
        Gets the per-query values of every round, in full precision. A new one for each training: XGBoost does not tell a metric
        that another has begun. Refused on workers, with which it would be lost.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        Names in the log. ``"canonical"`` is ``str(metric)``, ``"asked"`` is the name as you typed it, and ``"slug"`` is
        ``metric.slug``, which experiment trackers accept. A mapping gives names of your own, such as ``{"ndcg@10": "gain"}``:
        its keys are metrics as you asked for them, or canonical names. Metrics that it leaves out keep their canonical
        name. XGBoost passes metrics on as text, so a name must not hold white space or a colon. `early_stopping` and a
        `PerQueryLog` know the metric under every one of its names.

    Returns
    -------
    callable
        ``(preds, DMatrix) -> [(name, value), ...]``

    Raises
    ------
    LtrValueError, LtrTypeError
        In training, at the first round: a DMatrix without ``qid`` or ``group``, NaN predictions, another host's data, queries that are
        cut between workers, a metric that is undefined for all queries, a name that one of XGBoost's own metrics has.

    Examples
    --------
    >>> import xgboost as xgb, ltr_metrics as ltr
    >>> from ltr_metrics.xgboost import custom_metric, early_stopping
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
    >>> train = xgb.DMatrix(X, y, qid=qid)
    >>> valid = xgb.DMatrix(X_valid, y_valid, qid=qid_valid)
    >>> history = {}
    >>> booster = xgb.train(
    ...     {"objective": "rank:ndcg", "disable_default_eval_metric": True},
    ...     train,
    ...     num_boost_round=100,
    ...     evals=[(valid, "valid")],
    ...     custom_metric=custom_metric(["err@10", "ndcg@10"]),
    ...     callbacks=[early_stopping("err@10", 10)],
    ...     evals_result=history,
    ...     verbose_eval=False,
    ... )
    >>> sorted(history["valid"])
    ['err@10', 'ndcg_exp@10']
    """
    return MatrixMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names)


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


class XGBoostMetrics(HostMetrics):
    """Metrics that follow XGBoost's own gain."""

    HOST = "xgboost"

    def plan_in(self, model: Any) -> Plan:
        """Return what is evaluated in the training of a model."""
        return self.plan(_gain_of(model)) if self.follows_gain else self.plan()


class MatrixMetrics(XGBoostMetrics):
    """A ``custom_metric``: called with predictions and the DMatrix that they are for."""

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._prepared = Prepared()

    def _refuse_unusable_names(self, names: Sequence[str]) -> None:
        for name in names:
            _refuse_what_breaks_text(name, f'Rename {name!r}, for example by names={{"{name}": ...}}.')

    def __call__(self, preds: Any, dmatrix: Any = None, *others: Any) -> Pairs:
        if not isinstance(dmatrix, xgboost.DMatrix):
            raise wrong_host(
                "custom_metric is for xgb.train and xgb.cv, which hand over an xgboost.DMatrix.",
                *(preds, dmatrix, *others),
            )
        plan = self._plan_in_call()
        if xgboost.collective.is_distributed():
            mean = _mean_over_workers(plan, self.log, lambda: self._part(plan, preds, dmatrix))
            return list(plan.named(mean).items())
        result = plan.evaluate(self._queries(dmatrix), preds)
        if self.log is not None:
            self.log.record(dmatrix, result, plan.request)
        return list(plan.named(result.mean).items())

    def _plan_in_call(self) -> Plan:
        """Return what is evaluated in this call, in which XGBoost hands over neither the model nor any name."""
        call = find_host_call("xgboost", "eval_set")
        if call.frame is None:
            if call.in_host and self.follows_gain:
                self.warn_of_unknown_gain()
            return self.plan()
        plan = self.plan_in(call.frame.f_locals["self"])
        if call.is_direct:
            _refuse_what_the_text_cannot_hold(plan, call.frame.f_locals)
        return plan

    def _part(self, plan: Plan, preds: Any, dmatrix: xgboost.DMatrix) -> Part:
        """Evaluate the rows of this worker, which may be none."""
        if dmatrix.num_row() == 0:
            return Part(Totals.nothing(map(str, plan.request.metrics)))
        queries, made = self._queries(dmatrix), []
        queries.once("known to the other workers", lambda: made.append(queries))
        return Part(_totals_of(plan, queries, preds), queries, bool(made), lambda: ids_on_dask(dmatrix))

    def _queries(self, dmatrix: xgboost.DMatrix) -> Queries:
        facts = dmatrix.get_label(), dmatrix.get_weight(), dmatrix.get_uint_info("group_ptr")
        return self._prepared.get(dmatrix, facts, lambda: _queries_of(*facts))


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
        if not is_count(rounds):
            raise LtrValueError(f"rounds must be a whole number, 1 or more. Got {rounds!r}.")
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
        _ask_monitors(model, epoch, evals_log)
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
        if len(having) > 1 and any(isinstance(evals_log[name], _Watched) for name in having):
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


class Monitor(xgboost.callback.TrainingCallback):
    """Evaluate a data set in every round of a training, in full precision: a callback for ``XGBRanker`` and ``xgb.train``.

    The values are in ``evals_result()`` under ``name``, where `early_stopping` finds them. A round costs
    the prediction of that round's trees alone; with ``dart`` and ``gblinear``, whose earlier rounds change, of the whole model.

    XGBoost's own rule for ``early_stopping_rounds``, the last metric of the last data set, still means XGBoost's metrics: ours
    stand before them in the log. They are watched by `early_stopping`. Any other callback that reads our values, or that may stop
    the training, stands behind the Monitor in ``callbacks``.

    On Dask (``DaskXGBRanker``, ``xgboost.dask.train``) the rows, which are in memory and not Dask's, are sent to every worker, and each evaluates
    all of them. The mean over several workers is taken of them all: under another launcher each may have rows of its own.

    Parameters
    ----------
    metrics : str, Metric, or several of them
    X : array, sparse matrix or data frame
        Features, as for the training. Of a data frame, a column ``"qid"`` is the queries if none are given, as in XGBRanker.
    y : array-like of shape (n_rows,)
    qid, group, query_weight, sample_weight
        As for `ltr_metrics.evaluate`.
    name : str, default "valid"
        Name of the data set in the log.
    base_margin : array-like of shape (n_rows,), optional
        Scores to start from.
    missing : float, default NaN
        As for XGBRanker.
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`; ``convention="xgboost"`` follows ``ndcg_exp_gain``, as in `custom_metric`.
    log : PerQueryLog, optional
        Gets the per-query values of every round, under ``name``. Refused on workers, with which it would be lost.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        As for `custom_metric`. White space and colons are allowed here, since nothing passes through text.

    Raises
    ------
    LtrValueError, LtrTypeError
        As `ltr_metrics.evaluate`, when it is made; in the training for NaN predictions, several scores a row, ``xgb.cv``, a
        metric that is undefined for all queries, and a name that another metric writes to.

    Examples
    --------
    >>> import xgboost as xgb, ltr_metrics as ltr
    >>> from ltr_metrics.xgboost import Monitor, early_stopping
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
    >>> watched = Monitor(["err@10", "ndcg@10"], X_valid, y_valid, qid=qid_valid)
    >>> ranker = xgb.XGBRanker(n_estimators=100, callbacks=[watched, early_stopping("err@10", 10)])
    >>> ranker = ranker.fit(X, y, qid=qid)
    >>> score = ranker.predict(X_valid)  # of the best round
    >>> best = ltr.evaluate(y_valid, score, qid=qid_valid, metrics="err@10")["err@10"]
    >>> best == max(ranker.evals_result()["valid"]["err@10"])
    True
    """

    def __init__(
        self,
        metrics: Metrics,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        name: str = "valid",
        query_weight: Any = None,
        sample_weight: Any = None,
        base_margin: Any = None,
        missing: float = np.nan,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "canonical",
    ) -> None:
        super().__init__()
        self.metrics = XGBoostMetrics(
            metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names
        )
        self.plan: Plan | None = None  # of the training that goes on
        if not isinstance(name, str) or not name:
            raise LtrTypeError(f"name must be a text, the data set's name in the log. Got {name!r}.")
        if isinstance(X, xgboost.DMatrix):
            raise LtrTypeError("Monitor takes X, y and qid; xgb.train(custom_metric=...) evaluates a DMatrix.")
        if qid is None and group is None and hasattr(X, "iloc") and "qid" in X.columns:
            X, qid = X.drop(columns="qid"), X["qid"]
        self.name = name
        self.queries = Queries(y, qid=qid, group=group, query_weight=query_weight, sample_weight=sample_weight)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != self.queries.n_rows:
            raise LtrValueError(f"X and y must have the same number of rows: got {n_rows} and {self.queries.n_rows}.")
        self._features = {"data": X, "base_margin": base_margin, "missing": missing}
        self._dmatrix: xgboost.DMatrix | None = None
        self._rounds = 0

    def before_training(self, model: Any) -> Any:
        if not isinstance(model, xgboost.Booster):
            raise LtrTypeError(
                "Monitor watches one model, and xgb.cv trains one for each fold: use custom_metric there."
            )
        if self._rounds and self.metrics.log is not None:
            raise LtrValueError("The log has a training of this Monitor already. Give a new one to each training.")
        self._dmatrix, self._rounds = None, 0
        if not xgboost.collective.is_distributed():
            self._lay_out()
        return model

    def _lay_out(self) -> None:
        # Workers do this in step, so on several it waits until EarlyStopping.before_training is over, of which that is true too.
        self._dmatrix = xgboost.DMatrix(**self._features, enable_categorical=True)

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self._rounds == 0:  # before XGBoost's own data sets, so that "the last one" remains theirs
            evals_log.setdefault(self.name, _Watched()).monitors.add(self)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self._rounds == epoch:  # not asked for yet by early_stopping, or by another Monitor
            _ask_monitors(model, epoch, evals_log)
        return False

    def evaluate(self, model: xgboost.Booster, epoch: int, history: OrderedDict[str, list[float]]) -> None:
        """Append the values of the model as it is, once a round."""
        if self._rounds != epoch:
            return
        result: Evaluation | None = None
        if self._dmatrix is None:
            self._lay_out()
        plan = self._plan_of_training(model)
        if xgboost.collective.is_distributed():
            mean = plan.named(_mean_over_workers(plan, self.metrics.log, lambda: self._part(plan, model)))
        else:
            result = plan.evaluate(self.queries, self._predict(model))
            mean = plan.named(result.mean)
        for metric, value in mean.items():
            values = history.setdefault(metric, [])
            if len(values) != self._rounds:
                raise LtrValueError(
                    f"Another metric writes {metric} of {self.name} into the log: one of XGBoost's own (eval_metric) or another Monitor. "
                    "Give this Monitor another name=, or its metrics other names=."
                )
            values.append(value)
        for metric in [name for name in history if self._rounds == 0 and name not in mean]:
            history.move_to_end(metric)  # and XGBoost's last metric of it
        if self.metrics.log is not None and result is not None:
            self.metrics.log.record(self, result, plan.request, name=self.name)
        self._rounds += 1

    def _plan_of_training(self, model: xgboost.Booster) -> Plan:
        plan = self.metrics.plan_in(model)
        if self._rounds == 0:
            self.plan = plan
        if self.plan is not plan:
            raise LtrValueError(
                f"ndcg_exp_gain has changed after {self._rounds} rounds of the training, so that the log would hold two "
                f"metrics in one history. Leave it as it is during a training, or write the gain into the name: ndcg_exp@10."
            )
        return plan

    def _part(self, plan: Plan, model: xgboost.Booster) -> Part:
        """Evaluate in one of several workers: all have the same rows if Dask has sent them this callback."""
        return Part(_totals_of(plan, self.queries, self._predict(model)), self.queries, self._rounds == 0)

    def _predict(self, model: xgboost.Booster) -> Any:
        if self._rounds == 0:
            self._refuse_other_features(model)
        # XGBoost keeps its last prediction of a DMatrix and adds the new trees, so one DMatrix serves the whole training.
        return model.predict(self._dmatrix)

    def _refuse_other_features(self, model: xgboost.Booster) -> None:
        given, expected = self._dmatrix.num_col(), model.num_features()  # type: ignore[union-attr]
        if given != expected:  # Booster.predict would take the missing ones for missing values
            raise LtrValueError(
                f'The Monitor\'s X has {given} features, and the model was trained on {expected}. (A column "qid" is none if qid= and '
                "group= are left out.)"
            )

    def after_training(self, model: Any) -> Any:
        # A DMatrix can be neither copied nor pickled, which the estimator that has this callback must be.
        self._dmatrix = None
        return model

    def __call__(self, *given: Any) -> None:
        raise wrong_host("Monitor is a callback for callbacks=[...] of XGBRanker and xgb.train.", *given)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_dmatrix": None}  # also when a training broke off

    def __deepcopy__(self, memo: dict[int, Any]) -> Monitor:
        copied = type(self).__new__(type(self))  # scikit-learn's clone copies callbacks: they share the data
        memo[id(self)] = copied
        copied.__dict__ = self.__getstate__() | {"_rounds": 0}
        return copied

    def __repr__(self) -> str:
        return f"Monitor({', '.join(map(str, self.metrics.request.metrics))}, {self.queries!r}, name={self.name!r})"


def _queries_of(label: Any, weight: Any, boundaries: Any) -> Queries:
    if len(boundaries) < 2:
        if len(label) == 0:
            raise LtrValueError("The DMatrix has no rows with labels, so there is nothing to evaluate.")
        raise LtrValueError(
            "The DMatrix has no queries: make it with xgb.DMatrix(X, y, qid=qid), rows of a query together, or group=sizes."
        )
    if len(label) != boundaries[-1]:
        raise LtrValueError(
            f"The DMatrix has {len(label)} labels for {boundaries[-1]} rows: a ranking needs one a row."
        )
    return Queries(label, group=np.diff(boundaries), query_weight=weight if len(weight) else None)


def _totals_of(plan: Plan, queries: Queries, scores: Any) -> Totals:
    check_in_silence(queries, plan.request)
    result = queries.answer(scores, plan.request)  # a mean over no query is refused if no worker has one
    return Totals.of(result.per_query, result.weight)


def _mean_over_workers(plan: Plan, log: PerQueryLog | None, evaluate: Callable[[], Part]) -> dict[str, float]:
    """Return the mean over the queries of all workers, of which XGBoost then takes the plain mean, which changes nothing."""
    if log is not None:
        raise LtrValueError(
            "log= keeps what one process evaluates, and this training's data are spread over workers, with which it would be lost. Leave "
            "it out; after the training, ltr_metrics.evaluate has the queries of any round: booster.predict(data, iteration_range=(0, i + 1))."
        )
    totals = totals_of_all(evaluate, plan.request)
    refuse_undefined_means(totals)
    return totals.mean


def _gain_of(model: Any) -> Gain:
    """Return the gain that XGBoost's own NDCG has in the training of a model, or of the folds of xgb.cv."""
    booster = model if isinstance(model, xgboost.Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    metrics = [part for part in learner.get("metrics", ()) if part["name"].startswith("ndcg")]
    for part in (*metrics, learner["objective"]):  # map and pre have a gain in their settings too, which is always 1
        if "ndcg_exp_gain" in part.get("lambdarank_param", {}):
            return gain_of_setting("ndcg_exp_gain", part["lambdarank_param"]["ndcg_exp_gain"])
    return "exp"  # the objective has no gain, and XGBoost's NDCG is not in use


def _plan_of_custom_metric(model: Any) -> list[Plan]:
    """Return the plan of the training's custom_metric, if it is one of ours; a callback is not told of it."""
    call = find_host_call("xgboost", "after_iteration")
    container = None if call.frame is None else call.frame.f_locals.get("self")
    metric = getattr(container, "metric", None)
    return [metric.plan_in(model)] if isinstance(metric, MatrixMetrics) else []


def _refuse_what_the_text_cannot_hold(plan: Plan, of_round: Mapping[str, Any]) -> None:
    """Refuse names of data sets, and of metrics in use, given the locals of XGBoost's function that makes the text."""
    data, text = of_round.get("evname", ""), of_round.get("res", "")
    _refuse_what_breaks_text(data, f"Rename the data set {data!r} in evals.")
    in_use = {item.rpartition(":")[0] for item in text.split()}
    for name in plan.logged.values():
        if f"{data}-{name}" in in_use:
            raise LtrValueError(
                f"Two metrics write {name} of {data} into one history: XGBoost's own metric of that name and ours, or two data "
                "sets have that name. Take it out of eval_metric (or pass disable_default_eval_metric=True), or give ours "
                f'another name: names={{"{name}": "my_{name}"}}.'
            )


def _refuse_what_breaks_text(name: str, remedy: str) -> None:
    if re.search(r"[\s:]", name):
        raise LtrValueError(
            f"XGBoost passes metrics on as text, which a name with white space or a colon breaks. {remedy}"
        )


def _ask_monitors(model: xgboost.Booster, epoch: int, evals_log: Any) -> None:
    """Let all Monitors evaluate: before 3.2 XGBoost calls callbacks in no order, and workers must be in step."""
    for name in sorted(evals_log):
        history = evals_log[name]
        for monitor in sorted(getattr(history, "monitors", ()), key=repr):
            monitor.evaluate(model, epoch, history)


class _Watched(OrderedDict[str, list[float]]):
    """A data set in the log that Monitors write to: early_stopping finds them here, whichever of them comes first."""

    def __init__(self, *items: Any) -> None:
        super().__init__(*items)
        self.monitors: weakref.WeakSet[Monitor] = weakref.WeakSet()  # evals_result() would keep their data alive

    def __reduce__(self) -> Any:
        return OrderedDict, (list(self.items()),)  # a plain history where it is copied or pickled
