"""`custom_metric`: a metric function for ``xgb.train`` and ``xgb.cv``, on one process and on several workers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xgboost

from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts import (
    Names,
    Plan,
    QueriesCache,
    find_host_call,
    wrong_host,
)
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.parts import Totals
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.xgboost.training import XGBoostMetrics
from ltr_metrics.xgboost.workers import Part, ids_on_dask, mean_over_workers, totals_of_part

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


class MatrixMetrics(XGBoostMetrics):
    """A ``custom_metric``: called with predictions and the DMatrix that they are for."""

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._queries_cache = QueriesCache()

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
            mean = mean_over_workers(plan, self.log, lambda: self._part(plan, preds, dmatrix))
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
        queries.cached("known to the other workers", lambda: made.append(queries))
        return Part(totals_of_part(plan, queries, preds), queries, bool(made), lambda: ids_on_dask(dmatrix))

    def _queries(self, dmatrix: xgboost.DMatrix) -> Queries:
        facts = dmatrix.get_label(), dmatrix.get_weight(), dmatrix.get_uint_info("group_ptr")
        return self._queries_cache.get(dmatrix, facts, lambda: _queries_of(*facts))


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
