"""`Monitor`: a callback that evaluates a data set in every round of a training."""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import xgboost

from ltr_metrics._hosts.frames import find_call
from ltr_metrics._hosts.host_data import require_columns, require_features
from ltr_metrics._hosts.host_metrics import HostMetrics, MetricFunction, Plan
from ltr_metrics._hosts.known_hosts import wrong_host
from ltr_metrics._hosts.log_names import Names, refuse_names_in_use
from ltr_metrics._hosts.workers import WorkerData, mean_over_workers
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.logs.training_log import PerQueryLog, require_data_name
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.xgboost.custom_metric import REMEDY, gain_of_training, round_of
from ltr_metrics.xgboost.xgboost_workers import XGBoostWorkers


@dataclass
class MonitoredTraining:
    """What a Monitor knows about the training that runs."""

    n_rounds_before: int = 0  # of the model that it continues
    n_evaluated: int = 0  # rounds
    epoch: int | None = None  # XGBoost's number of the last one of them
    plan: Plan | None = None
    dmatrix: xgboost.DMatrix | None = None  # of the features


class Monitor(MetricFunction, xgboost.callback.TrainingCallback):
    """Evaluate a data set in every round of a training, in full precision.

    This is a callback for ``XGBRanker`` and ``xgb.train``. The values are in ``evals_result()``
    under ``name``, where `early_stopping` finds them. Each round costs only the prediction of its
    own trees. With ``dart`` and ``gblinear``, which change earlier rounds, it costs the prediction
    of the whole model.

    XGBoost's ``early_stopping_rounds`` watches the last metric of the last data set. This remains a
    metric of XGBoost, because ours come before XGBoost's in the log. To watch ours, use
    `early_stopping`. Put any other callback that reads our values, or that may stop the training,
    behind the Monitor in ``callbacks``.

    On Dask (``DaskXGBRanker``, ``xgboost.dask.train``) the rows are in memory and not in Dask. They
    are sent to every worker, and each worker evaluates all of them. The logged mean is the mean
    over all workers, because under another launcher each worker may have rows of its own.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).
    X : array, sparse matrix or data frame
        Features, as for the training, which are copied. If you pass neither ``qid`` nor ``group``, a column ``"qid"``
        of a data frame holds the queries, as in XGBRanker.
    y : array-like of shape (n_rows,)
        Grades, finite and not negative.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and
        ``group`` is required. Two ids with the same text, such as 7 and ``"7"``, are an
        error.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    name : str, default "valid"
        Name of the data set in the log.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid. The ids of a
        mapping may have another type: they are the same if they have the same text.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.
    base_margin : array-like of shape (n_rows,), optional
        Scores to start from.
    missing : float, optional
        The value in X that stands for a missing one. By default it is that of the training:
        ``missing`` of the estimator, or of the DMatrix that you pass to ``xgb.train``. Pass it if
        this is a slice of a DMatrix, or comes from a file, since such a DMatrix does not keep it.
        In a loop of your own, without ``xgb.train``, the default is NaN.
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
        the metric names, ``ties`` and ``no_relevant`` leave open. ``"xgboost"`` follows
        ``ndcg_exp_gain``, as in `custom_metric`.
    log : PerQueryLog, optional
        Records the values per query of every round. They are under ``name``. A log is an error on
        several workers, where it would be lost.
    names : {"asked", "canonical", "slug"} or mapping, default "asked"
        Names in the log. ``"asked"`` is a metric as you typed it, with its name in lower case, and
        the canonical name of a metric object. ``"canonical"`` is ``str(metric)``, such as
        ``ndcg_exp@10``, and ``"slug"`` is ``metric.slug``, which experiment trackers accept. A
        mapping gives names of your own, such as ``{"ndcg@10": "val ndcg"}``. Its keys are metrics
        as you asked for them, or canonical names. Metrics that are not in it are named as you typed
        them. A metric in two spellings is logged once, under the first. XGBoost's own early
        stopping guesses the direction from the name, so ``ap``, ``average_precision`` and ``p``,
        which it would minimise, are errors: write ``map@10`` and ``precision@5``, or give them a
        name. So is a name that begins with auc, map, ndcg or pre if lower is better.
        `early_stopping` and a `ltr_metrics.PerQueryLog` find a metric by each of its names.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numeric columns by name, with one number per row, which ``mean_of(name)``,
        ``sum_of(name)`` and metrics of your own read. A DataFrame is accepted.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: as for `ltr_metrics.evaluate`.
        In the training: for NaN predictions, several predictions per row, ``xgb.cv``, a metric that
        is undefined for all queries, and a name that another metric writes to.

    See Also
    --------
    custom_metric : A metric function for ``xgb.train``, without a prediction of its own.
    early_stopping : Stop by a metric of the Monitor.

    Examples
    --------
    >>> import xgboost as xgb, ltr_metrics as ltr
    >>> from ltr_metrics.xgboost import Monitor, early_stopping
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
    >>> watched = Monitor(["err@10", "ndcg@10"], X_valid, y_valid, qid=qid_valid)
    >>> ranker = xgb.XGBRanker(n_estimators=100, callbacks=[watched, early_stopping("err@10", 10)])
    >>> ranker = ranker.fit(X, y, qid=qid, verbose=False)
    >>> score = ranker.predict(X_valid)  # of the best round
    >>> best = ltr.evaluate(y_valid, score, qid=qid_valid, metrics="err@10")["err@10"]
    >>> best == max(ranker.evals_result()["valid"]["err@10"])
    True
    """

    _checks_names = True  # whether XGBoost's own early stopping may guess directions from the names in the log

    @explaining_calls
    def __init__(
        self,
        metrics: Metrics,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        name: str = "valid",
        query_weight: Any = None,
        sample_weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "asked",
        columns: Any = None,
    ) -> None:
        policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
        of_host: dict[str, Any] = {"host": "xgboost", "checks_names": self._checks_names}
        super().__init__(HostMetrics(metrics, **policy, log=log, names=names, **of_host))
        self.name = require_data_name(name)
        if isinstance(X, xgboost.DMatrix) or y is None:
            raise LtrTypeError("Monitor takes X, y and qid. To evaluate a DMatrix, use xgb.train(custom_metric=...).")
        if qid is None and group is None and hasattr(X, "iloc") and "qid" in X.columns:
            X, qid = X.drop(columns="qid"), X["qid"]
        weights = {"query_weight": query_weight, "sample_weight": sample_weight}
        self.queries = Queries(y, qid=qid, group=group, columns=columns, **weights)
        self.queries.refuse_different_indexes(X=X, base_margin=base_margin)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != self.queries.n_rows:
            raise LtrValueError(f"X and y must have the same number of rows: got {n_rows} and {self.queries.n_rows}.")
        require_columns(self.metrics, self.queries)
        # Each training reads them anew, while the labels are copies already.
        self._features = copy.deepcopy({"data": X, "base_margin": base_margin})
        self._missing = missing
        self._trainings: weakref.WeakKeyDictionary[Any, MonitoredTraining] = weakref.WeakKeyDictionary()  # in threads

    def before_training(self, model: Any) -> Any:
        if not isinstance(model, xgboost.Booster):
            raise LtrTypeError(
                "Monitor watches one model, and xgb.cv trains one for each fold. Use custom_metric there."
            )
        was_stopped = model.attr("best_iteration") is not None
        self._trainings[model] = MonitoredTraining(_n_rounds(model) if was_stopped else 0)
        return model

    def training_of(self, model: xgboost.Booster) -> MonitoredTraining:
        """Return what is known of the training of a model. A loop that is written by hand may call nothing before."""
        return self._trainings.setdefault(model, MonitoredTraining())

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if (
            self.training_of(model).n_evaluated == 0
        ):  # before XGBoost's own data sets, so that "the last one" remains one of them
            self._join(evals_log)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self.training_of(model).epoch != epoch:  # early_stopping or another Monitor may have run this one already
            self._join(evals_log)
            run_monitors(model, epoch, evals_log)
        return False

    def _join(self, evals_log: Any) -> None:
        evals_log.setdefault(self.name, MonitoredHistory()).monitors.add(self)

    def after_training(self, model: Any) -> Any:
        before, best = self.training_of(model).n_rounds_before, model.attr("best_iteration")
        del self._trainings[model]
        if best is not None and int(best) < before < _n_rounds(model):
            warn(
                "This training continues a model that was stopped early (xgb_model), and keeps its best_iteration "
                f"{best}, although the model now has {_n_rounds(model)} rounds. predict of XGBoost's estimators uses "
                f"only the first {int(best) + 1}, and none of the new ones. Pass iteration_range=(0, "
                f"{_n_rounds(model)}), stop this training early as well, or remove the attribute from the first "
                "model: get_booster().set_attr(best_iteration=None, best_score=None)."
            )
        return model

    def evaluate(self, model: xgboost.Booster, epoch: int, history: OrderedDict[str, list[float]]) -> None:
        """Append the means of the current model to the history, once a round."""
        training = self.training_of(model)
        if training.epoch == epoch:
            return
        plan = training.plan = self.metrics.plan(lambda: gain_of_training(model))
        in_use = [metric for metric, values in history.items() if len(values) != training.n_evaluated]
        refuse_names_in_use(plan.logged, in_use, repr(self.name), REMEDY)
        if xgboost.collective.is_distributed():
            mean = mean_over_workers(XGBoostWorkers(), plan, self.metrics.log, lambda: self._own_data(model))
        else:
            at = None if self.metrics.log is None else round_of(model)
            scores = self._predict(model)
            mean = self.metrics.evaluate_round(plan, self.queries, scores, self, name=self.name, at=at)
        for metric, value in mean.items():
            history.setdefault(metric, []).append(value)
        if training.n_evaluated == 0:  # the last metric remains one of XGBoost
            for metric in [metric for metric in history if metric not in mean]:
                history.move_to_end(metric)
        training.n_evaluated, training.epoch = training.n_evaluated + 1, epoch

    def _own_data(self, model: xgboost.Booster) -> WorkerData:
        """Evaluate on one of several workers. On Dask all of them have the same rows."""
        return WorkerData(self.queries, self._predict(model), self.training_of(model).n_evaluated == 0)

    def _predict(self, model: xgboost.Booster) -> Any:
        training = self.training_of(model)
        if training.dmatrix is None:  # in the first round, because several workers must build theirs in step
            settings = _settings_of_training() if self._missing is None else {"missing": self._missing}
            training.dmatrix = xgboost.DMatrix(**self._features, **settings, enable_categorical=True)
            require_features(training.dmatrix.num_col(), model.num_features())
        # XGBoost caches the last prediction of a DMatrix, and adds that of the new trees.
        return model.predict(training.dmatrix)

    def __call__(self, *arguments: Any) -> None:
        raise wrong_host("Monitor is a callback for callbacks=[...] of XGBRanker and xgb.train.", *arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Monitor:
        """Return a copy that shares the data and the log: scikit-learn's clone copies callbacks."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_trainings"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_trainings": weakref.WeakKeyDictionary()}  # of which DMatrix cannot be pickled

    def __repr__(self) -> str:
        return f"Monitor({self.metrics}, {self.queries!r}, name={self.name!r})"


def _settings_of_training() -> dict[str, Any]:
    """Return how the running training reads its features. In a loop that is written by hand, nothing is known."""
    call = find_call("xgboost", "train")
    if call is None:
        return {}
    if call.frame is None:
        raise LtrValueError(
            "A Monitor reads from xgb.train which value stands for a missing one, and xgb.train does not run here. "
            "Pass it: Monitor(missing=numpy.nan), or another value."
        )
    train = call.local("dtrain")
    return {"missing": train.missing, "nthread": train.nthread}


def _n_rounds(model: xgboost.Booster) -> int:
    return int(model.num_boosted_rounds())


def run_monitors(model: xgboost.Booster, epoch: int, evals_log: Any) -> None:
    """Make all Monitors evaluate, in one order on all workers.

    XGBoost before 3.2 calls callbacks in no defined order.
    """
    for name in sorted(evals_log):
        history = evals_log[name]
        for monitor in sorted(getattr(history, "monitors", ()), key=repr):
            monitor.evaluate(model, epoch, history)


class MonitoredHistory(OrderedDict[str, list[float]]):
    """The log of a data set with the Monitors that write to it, for early_stopping to find them."""

    def __init__(self, *items: Any) -> None:
        super().__init__(*items)
        # Weak, because users keep evals_result(), which would keep the data of the Monitors.
        self.monitors: weakref.WeakSet[Monitor] = weakref.WeakSet()

    def __reduce__(self) -> Any:
        return OrderedDict, (list(self.items()),)  # copies and pickles are plain histories
