"""`EvalMetric`: any metric of this package as CatBoost's ``eval_metric``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import catboost.metrics
import numpy as np

from ltr_metrics._hosts.host_data import require_columns
from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics._hosts.known_hosts import wrong_host
from ltr_metrics._hosts.log_names import Names
from ltr_metrics._rows.checks import require_min_delta
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.catboost.catboost_validation import ValidatedTraining, ValidationSet, refuse_gpu, training_call
from ltr_metrics.errors import LtrValueError
from ltr_metrics.logs.training_log import PerQueryLog
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics

NOT_EVALUATED = -1.0  # CatBoost requires a finite number for each set
DATA_NAME = "validation"  # CatBoost's own name


class EvalMetric:
    """A metric of this package for ``eval_metric=`` of ``CatBoostRanker``.

    CatBoost stops by it (``early_stopping_rounds``) and selects the best round by it
    (``use_best_model``). The other estimators of CatBoost that predict one score per row take it too.

    CatBoost passes no queries to a custom metric. So an `EvalMetric` has the queries of the
    validation set, and recognises this set by its labels.

    - Pass the same validation set to ``fit(eval_set=...)``. If there are several evaluation sets,
      pass it as the last one, by which CatBoost stops.
    - The learn set and other evaluation sets are not evaluated. CatBoost requires a number for each
      set, so its log has -1 there. (CatBoost reorders the rows of the learn set under ordered
      boosting and with categorical features, so their queries are unknown.)
    - The mean over queries is weighted if the evaluation set has weights. CatBoost passes one
      weight per row as float32, either ``weight`` or ``group_weight`` of the Pool. The weight of a
      query is the mean weight of its rows.
    - CatBoost accepts only one custom metric. If you pass several metrics, CatBoost logs the first
      one and stops by it, and ``log`` records the values of all.
    - With ``metric_period=5`` CatBoost evaluates every fifth round and the last one, and only these
      rounds are in the log, with their numbers (0, 5, 10, ...). If an overfitting detector is
      active (``early_stopping_rounds``, ``od_type``, ``od_wait``, ``od_pval``), it evaluates every
      round.
    - The rounds of ``log`` are those of the model. A training that continues an ``init_model``, or
      resumes a snapshot, begins with the round after it.
    - An error in the training arrives as a ``CatBoostError``, whose text ends with our message.
    - It does not work with ``task_type="GPU"``, ``catboost.cv`` and CatBoost's own searches.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). Several require ``log``.
    valid : catboost.Pool or tuple
        The validation set: a Pool with labels and ``group_id``, or the pair ``(y, qid)`` with one
        entry per row.
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
        the metric names, ``ties`` and ``no_relevant`` leave open. ``"catboost"`` gives the values
        of CatBoost's own metrics.
    log : PerQueryLog, optional
        Records the values per query of every round. They are under the name ``"validation"`` or the
        Pool.
    names : {"asked", "canonical", "slug"} or mapping, default "asked"
        Names in CatBoost's log. ``"asked"`` is a metric as you typed it, with its name in lower
        case, and the canonical name of a metric object. ``"canonical"`` is ``str(metric)``, such as
        ``ndcg_exp@10``, and ``"slug"`` is ``metric.slug``, which experiment trackers accept. A
        mapping gives names of your own, such as ``{"ndcg@10": "val ndcg"}``. Its keys are metrics
        as you asked for them, or canonical names. Metrics that are not in it are named as you typed
        them. A metric in two spellings is evaluated once, under the first. A name must not be that
        of one of CatBoost's metrics.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numeric columns by name, with one number per row, which ``mean_of(name)``,
        ``sum_of(name)`` and metrics of your own read. A DataFrame is accepted.
    min_delta : float, default 0
        Smallest improvement that counts: a round is better if it exceeds the best one by more.
        CatBoost itself has no such setting, and decides by the values in its log. So it gets the
        best value so far for a round that is better by no more than this, while ``log`` has the
        values themselves. It does not work with ``save_snapshot``.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: for an unknown metric, a validation set without labels or queries, labels that the
        metric is not defined on, several metrics without ``log``, and an unusable name.
        When the training begins: for ``task_type="GPU"``.
    CatBoostError
        In the training: if no evaluation set has the labels of ``valid``, if two have them, if the
        one that has them is not the last evaluation set or has other queries, or if the learn set
        has the same labels. Also for a metric that is undefined for all queries, for NaN
        predictions and for several predictions per row.

    See Also
    --------
    ltr_metrics.sklearn.QueryRanker : Early stopping inside each fold of a search.
    ltr_metrics.learning_curve : Evaluate all rounds of a trained model.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from catboost import CatBoostRanker, Pool
    >>> from ltr_metrics.catboost import EvalMetric
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
    >>> train, valid = Pool(X, y, group_id=qid), Pool(X_valid, y_valid, group_id=qid_valid)
    >>> ranker = CatBoostRanker(
    ...     iterations=20,
    ...     loss_function="QueryRMSE",
    ...     eval_metric=EvalMetric("err@10", valid),
    ...     verbose=False,
    ...     allow_writing_files=False,
    ... )
    >>> ranker = ranker.fit(train, eval_set=valid, early_stopping_rounds=5)
    >>> score = ranker.predict(valid)  # of the best round
    >>> best = ltr.evaluate(y_valid, score, qid=qid_valid, metrics="err@10")["err@10"]
    >>> abs(best - ranker.best_score_["validation"]["err@10"]) < 1e-12
    True
    """

    no_jit = True  # otherwise CatBoost tries to compile `evaluate` with numba, and warns

    @explaining_calls
    def __init__(
        self,
        metrics: Metrics,
        valid: Any,
        *,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "asked",
        columns: Any = None,
        min_delta: float = 0.0,
    ) -> None:
        policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
        self.metrics = HostMetrics(metrics, **policy, log=log, names=names)
        names_in_log = list(self.metrics.plan().logged.values())
        if hasattr(catboost.metrics, names_in_log[0]):
            raise LtrValueError(
                f"{names_in_log[0]!r} is the name of one of CatBoost's own metrics. CatBoost keeps one history per "
                "name, so it would mix the values of both. Choose another name, such as "
                f'names={{"{self.metrics.request.names[0]}": "my_{names_in_log[0]}"}}.'
            )
        if len(names_in_log) > 1 and log is None:
            raise LtrValueError(
                f"CatBoost takes one custom metric and would log only {names_in_log[0]}. Pass one metric, or "
                "log=PerQueryLog() for the values of all."
            )
        self.valid = valid if isinstance(valid, ValidationSet) else ValidationSet(valid, columns=columns)
        require_columns(self.metrics, self.valid.queries)
        self.min_delta = require_min_delta(min_delta)
        self._training: ValidatedTraining | None = None
        _name_class(self, type(self))

    def is_max_optimal(self) -> bool:
        """Return whether higher is better; CatBoost calls this."""
        return self.metrics.request.metrics[0].higher_is_better

    def evaluate(self, approxes: Sequence[Any], target: Any, weight: Any) -> tuple[float, float]:
        """Return the mean over queries and 1; CatBoost calls this for each set in each round."""
        training = self._current_training()
        if not self.valid.has_labels(target):
            training.other_set_is_evaluated = True
            return NOT_EVALUATED, 1.0
        scores = approxes[0] if len(approxes) == 1 else np.column_stack(approxes)
        mean = self.metrics.evaluate_round(
            self.metrics.plan(),
            training.queries_of(target, weight),
            scores,
            self.valid.data,
            name=DATA_NAME,
            at=None if self.metrics.log is None else training.next_round(),
        )
        return training.counted(next(iter(mean.values())), higher_is_better=self.is_max_optimal()), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value for CatBoost's log; CatBoost calls this."""
        return error

    def __call__(self, first: Any, second: Any = None, weight: Any = None, group: Any = None) -> None:
        raise wrong_host("EvalMetric is an object for CatBoostRanker(eval_metric=...).", first, second)

    def _current_training(self) -> ValidatedTraining:
        call = training_call()
        training = self._training
        if training is None or not training.is_of(call):
            self._training = training = ValidatedTraining(self.valid, self.min_delta, call)
        return training

    def __deepcopy__(self, memo: dict[int, Any]) -> EvalMetric:
        """Return this object: scikit-learn's clone accepts a parameter of CatBoost in no other case."""
        refuse_gpu()
        return self

    def __reduce__(self) -> Any:
        return _restore, (type(self).__base__, self.__dict__ | {"_training": None})

    def __repr__(self) -> str:
        return f"EvalMetric({self.metrics})"


def _name_class(metric: EvalMetric, kind: type[EvalMetric]) -> None:
    """Give the metric a class of its own, under whose name CatBoost logs it."""
    name = next(iter(metric.metrics.plan().logged.values()))
    metric.__class__ = type(name, (kind,), {"__module__": __name__})


def _restore(kind: type[EvalMetric], state: dict[str, Any]) -> EvalMetric:
    """Return a pickled metric, whose own class cannot be pickled by name."""
    metric = kind.__new__(kind)
    metric.__dict__ |= state
    _name_class(metric, kind)
    return metric
