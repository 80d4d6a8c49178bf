"""`Monitor`: a callback that evaluates a data set in every round of a training."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import xgboost

from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts import (
    Names,
    Plan,
    wrong_host,
)
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.xgboost.training import XGBoostMetrics
from ltr_metrics.xgboost.workers import Part, mean_over_workers, totals_of_part


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
            evals_log.setdefault(self.name, WatchedHistory()).monitors.add(self)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self._rounds == epoch:  # not asked for yet by early_stopping, or by another Monitor
            ask_monitors(model, epoch, evals_log)
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
            mean = plan.named(mean_over_workers(plan, self.metrics.log, lambda: self._part(plan, model)))
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
        return Part(totals_of_part(plan, self.queries, self._predict(model)), self.queries, self._rounds == 0)

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


def ask_monitors(model: xgboost.Booster, epoch: int, evals_log: Any) -> None:
    """Let all Monitors evaluate: before 3.2 XGBoost calls callbacks in no order, and workers must be in step."""
    for name in sorted(evals_log):
        history = evals_log[name]
        for monitor in sorted(getattr(history, "monitors", ()), key=repr):
            monitor.evaluate(model, epoch, history)


class WatchedHistory(OrderedDict[str, list[float]]):
    """A data set in the log that Monitors write to: early_stopping finds them here, whichever of them comes first."""

    def __init__(self, *items: Any) -> None:
        super().__init__(*items)
        self.monitors: weakref.WeakSet[Monitor] = weakref.WeakSet()  # evals_result() would keep their data alive

    def __reduce__(self) -> Any:
        return OrderedDict, (list(self.items()),)  # a plain history where it is copied or pickled
