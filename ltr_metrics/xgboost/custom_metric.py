"""`custom_metric`, for ``xgb.train`` and ``xgb.cv``, on one or several workers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import xgboost

from ltr_metrics._hosts.frames import HostCall, find_call
from ltr_metrics._hosts.host_data import ColumnsByData, QueriesCache, queries_of_boundaries
from ltr_metrics._hosts.host_metrics import HostMetrics, MetricFunction, Plan, model_of_call
from ltr_metrics._hosts.known_hosts import Gain, with_metrics, wrong_host
from ltr_metrics._hosts.log_names import Names, refuse_names_in_use, refuse_separators
from ltr_metrics._hosts.workers import WorkerData, mean_over_workers
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.logs.training_log import PerQueryLog, Round
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.xgboost.xgboost_workers import XGBoostWorkers, ids_on_dask

REMEDY = (
    "Remove it from eval_metric (or pass disable_default_eval_metric=True), or give the Monitor or the data set "
    "another name."
)
WHERE_NOT = (
    " In xgb.cv and on several workers XGBoost makes data sets of its own. Instead of xgb.cv, pass "
    "QueryRanker(XGBRanker(), columns=[...]) and make_scorer of ltr_metrics.sklearn to scikit-learn's cross_validate, "
    "or call xgb.train for each fold. On several workers, use a Monitor, or evaluate after the training."
)


@with_metrics
@explaining_calls
def custom_metric(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "asked",
    columns: Mapping[Any, Any] | None = None,
) -> MatrixMetrics:
    """Return a metric function for ``custom_metric=`` of ``xgb.train`` and ``xgb.cv``.

    Stop early with `ltr_metrics.xgboost.early_stopping`. XGBoost's own ``early_stopping_rounds``
    minimises every metric whose name does not begin with auc, pre, map or ndcg, unless you pass
    ``maximize=True``. So it stops at once when mrr or err rises.

    XGBoost keeps six decimals of a custom metric. It keeps one history per name, so ``map@10``
    beside ``eval_metric="map@10"`` is an error.

    **On several workers** (``xgboost.dask.train``, or another launcher of XGBoost), each worker
    evaluates the queries that it has. All of them log the mean over the queries of all workers,
    weighted if the DMatrix has weights. So `early_stopping` stops all of them in the same round.
    A worker may have no rows. If one worker fails, all of them raise an error that names it.
    On Dask:

    - The rows of a query must be on one worker. ``DaskDMatrix(qid=...)`` moves no rows, so a query
      that spans two partitions may end up on two workers. ``DaskQuantileDMatrix`` takes it for two
      queries even on one worker. In ``xgboost.dask.train`` such data are an error in the first
      round; under other launchers nothing can detect it. ``ltr_metrics.dask.whole_queries(frame,
      qid)`` moves each query to one partition. ``DaskXGBRanker(allow_group_split=False)``, its
      default, does so itself, with a partition for each query.
    - Unless ``qid`` ascends over all partitions of a worker, XGBoost sorts the worker's rows by it
      and loses the input order within a query (its log says "Sorting data"). ``ties="stable"``
      then means the order after the sort.
    - If the features are data frames, a worker without any *partition* of a data set fails in
      XGBoost before it calls a metric ("data did not contain feature names"). Pass
      ``DaskDMatrix(feature_names=list(X.columns))``, or arrays, or as many partitions as there are
      workers. Partitions may be empty.
    - ``DaskDMatrix`` does not accept weights together with ``qid``. For a weighted mean use a
      `Monitor`, or evaluate after the training.
    - ``DaskXGBRanker`` takes a `Monitor`, as XGBRanker does.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied
        documents (default), input order, lower or higher grade first, or descending
        document id.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Name of another system, such as ``"trec_eval"``, or a `Convention`. Its choices fill in what
        the metric names, ``ties`` and ``no_relevant`` leave open. ``"xgboost"`` gives XGBoost's own
        values. It also follows the ``ndcg_exp_gain`` of the training: ``"ndcg@10"`` then means
        ``ndcg_lin@10``, and ``names="canonical"`` logs it as such. A name that states its gain
        (``"ndcg_exp@10"``), a metric object and other conventions do not depend on
        ``ndcg_exp_gain``.
    log : PerQueryLog, optional
        Records the values per query of every round. They have full precision. Use a new log for
        each training. Only a training that continues the booster of the log is appended. A log is
        an error on several workers, where it would be lost.
    names : {"asked", "canonical", "slug"} or mapping, default "asked"
        Names in the log. ``"asked"`` is a metric as you typed it, with its name in lower case, and
        the canonical name of a metric object. ``"canonical"`` is ``str(metric)``, such as
        ``ndcg_exp@10``, and ``"slug"`` is ``metric.slug``, which experiment trackers accept. A
        mapping gives names of your own, such as ``{"ndcg@10": "val_ndcg"}``. Its keys are metrics
        as you asked for them, or canonical names. Metrics that are not in it are named as you typed
        them. A metric in two spellings is logged once, under the first. XGBoost splits its log at
        spaces and colons, so a name has neither. Its own early stopping guesses the direction from
        the name, so ``ap``, ``average_precision`` and ``p``, which it would minimise, are errors:
        write ``map@10`` and ``precision@5``, or give them a name. So is a name that begins with
        auc, map, ndcg or pre if lower is better. `early_stopping` and a
        `ltr_metrics.PerQueryLog` find a metric by each of its names.
    columns : mapping of DMatrix to mapping, optional
        Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``. Metrics of your
        own read them too: ``{valid: {"revenue": array}}``, one number per row. They serve
        neither the folds of ``xgb.cv`` nor several workers, where XGBoost makes other DMatrix
        objects. Instead of ``xgb.cv``, use scikit-learn's ``cross_validate`` with
        `ltr_metrics.sklearn.make_scorer`. On several workers, use a `Monitor`.

    Returns
    -------
    callable
        A function ``(preds, DMatrix) -> [(name, value), ...]``. `early_stopping` knows the
        direction of each metric.

    Raises
    ------
    LtrValueError, LtrTypeError
        In training, in the first round: for a DMatrix without ``qid`` or ``group``, queries that
        are cut between workers, and a name that is in the log already. Also for several predictions
        a row, another host's data, and a metric that is undefined for all queries. Also for a
        column that is missing or no column of numbers. In any round: for NaN predictions.

    See Also
    --------
    Monitor : A callback for ``XGBRanker``, in full precision.
    early_stopping : Stop by one of the metrics.

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
    ['err@10', 'ndcg@10']
    """
    return MatrixMetrics(
        metrics, columns, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names
    )


class MatrixMetrics(MetricFunction):
    """A ``custom_metric``: called with predictions and the DMatrix that they are for."""

    def __init__(self, metrics: Metrics, columns: Any = None, **options: Any) -> None:
        super().__init__(HostMetrics(metrics, host="xgboost", **options))
        for canonical, name in self.metrics.plan().logged.items():
            usable = re.sub(r"[\s:]", "_", name)
            refuse_separators(name, f'Rename it: names={{"{canonical}": "{usable}"}}.')
        self._columns = ColumnsByData(self.metrics, columns, "valid")
        self._queries_cache = QueriesCache()

    def __call__(self, preds: Any, dmatrix: Any = None, *others: Any) -> list[tuple[str, float]]:
        if not isinstance(dmatrix, xgboost.DMatrix):
            raise wrong_host(
                "custom_metric is for xgb.train and xgb.cv, which pass an xgboost.DMatrix.", preds, dmatrix, *others
            )
        call = find_call("xgboost", "eval_set")
        plan = self._plan_of_call(call)
        if xgboost.collective.is_distributed():
            mean = mean_over_workers(XGBoostWorkers(), plan, self.metrics.log, lambda: self._own_data(preds, dmatrix))
        else:
            remedy = "Call booster.eval_set([(data, name)], round, feval=metric) instead."
            at = None if self.metrics.log is None else round_of(model_of_call(call, remedy))
            queries, _ = self._queries(dmatrix)
            mean = self.metrics.evaluate_round(plan, queries, preds, dmatrix, at=at)
        return list(mean.items())

    def _plan_of_call(self, call: HostCall | None) -> Plan:
        """Return the plan of this call, to which XGBoost passes neither the model nor any name."""
        if call is None:
            return self.metrics.plan()
        plan = self.metrics.plan(lambda: gain_of_training(call.local("self")))
        if not call.is_direct:  # a user's function in between names its values itself
            return plan
        data, text = (call.local(name, "the names in XGBoost's log") for name in ("evname", "res"))
        if data is not None and text is not None:
            refuse_separators(data, "Rename this data set in evals.")
            keys = [item.rpartition(":")[0] for item in text.split()]
            in_use = [key.removeprefix(f"{data}-") for key in keys if key.startswith(f"{data}-")]
            refuse_names_in_use(plan.logged, in_use, repr(data), REMEDY)
        return plan

    def _own_data(self, preds: Any, dmatrix: xgboost.DMatrix) -> WorkerData:
        """Evaluate the rows of this worker, of which there may be none."""
        if dmatrix.num_row() == 0:
            return WorkerData()
        queries, is_new = self._queries(dmatrix)
        return WorkerData(queries, preds, is_new, lambda: ids_on_dask(dmatrix))

    def _queries(self, dmatrix: xgboost.DMatrix) -> tuple[Queries, bool]:
        """Return the queries of a data set, and whether this is its first round."""

        def read() -> tuple[Any, ...]:
            return dmatrix.get_label(), dmatrix.get_weight(), dmatrix.get_uint_info("group_ptr")

        def make(label: Any, weight: Any, boundaries: Any) -> Queries:
            remedy = "Create it with xgb.DMatrix(X, y, qid=qid), rows of a query together, or with group=sizes."
            columns = self._columns.require(self._columns.of(dmatrix), "A DMatrix of this training", WHERE_NOT)
            weights = weight if len(weight) else None
            return queries_of_boundaries("DMatrix", remedy, label, boundaries, query_weight=weights, columns=columns)

        return self._queries_cache.get(dmatrix, read, make)


def gain_of_training(model: Any) -> Gain:
    """Return the gain of a training, which may be that of xgb.cv."""
    booster = model if isinstance(model, xgboost.Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    metrics = [section for section in learner.get("metrics", ()) if section["name"].startswith("ndcg")]
    for section in (*metrics, learner["objective"]):  # map and pre have this setting too, but it is always 1
        if "ndcg_exp_gain" in section.get("lambdarank_param", {}):
            setting = str(section["lambdarank_param"]["ndcg_exp_gain"])
            return "linear" if setting.lower() in ("0", "false") else "exp"
    return "exp"  # the objective has no gain, and XGBoost's NDCG is not in use


def round_of(booster: xgboost.Booster) -> Round:
    """Return the round that a booster is in."""
    n = booster.num_boosted_rounds()

    def taken_over(before: xgboost.Booster) -> int | None:
        n_before = before.num_boosted_rounds()
        with suppress(xgboost.core.XGBoostError):  # the rounds of gblinear cannot be told apart
            if n_before <= n and booster[:n_before].get_dump() == before.get_dump():
                return n_before
        return None

    return Round(n - 1, booster, taken_over)
