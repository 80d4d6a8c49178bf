"""The validation set of an `EvalMetric`, and the training in which CatBoost evaluates it.

CatBoost passes neither queries nor the data set, so its labels identify the set, and we read what
else we need from the frames of the training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import numpy as np

from ltr_metrics._hosts.frames import HostCall, find_call
from ltr_metrics._rows.checks import AnyArray, IntArray, copy_of
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.logs.training_log import Round

DEFAULT_ITERATIONS = 1000  # CatBoost's own
EVALUATE_LATER = "ltr_metrics.learning_curve evaluates any data set after the training."


class ValidationSet:
    """A validation set as the user described it.

    Parameters
    ----------
    valid : catboost.Pool or tuple
        A Pool with labels and ``group_id``, or the pair ``(y, qid)``.
    sample_weight : array-like of shape (n_rows,), optional
        By default the weights are those that CatBoost passes.
    columns : mapping, optional
        Further columns of the rows.

    Attributes
    ----------
    queries : Queries
        With ``sample_weight`` only.
    data : object
        By which a `PerQueryLog` finds the values: the Pool, or this object.
    """

    def __init__(self, valid: Any, sample_weight: Any = None, columns: Any = None) -> None:
        self._sample_weight, self._columns = copy_of(sample_weight), columns
        self.data: Any = self
        if isinstance(valid, catboost.Pool):
            self.data, label = valid, valid.get_label()
            if label is None:
                raise LtrValueError("The validation Pool has no labels. Create it with Pool(X, y, group_id=qid).")
            # It holds float32, and gives float64. As float32 again, 0.9 reaches a threshold of 0.9.
            self._label = as_target(label)
            self._queries: dict[str, Any] = {"group": sizes_of_pool(valid)}
        elif isinstance(valid, (tuple, list)) and len(valid) == 2:
            self._label, self._queries = copy_of(valid[0]), {"qid": copy_of(valid[1])}
        else:
            raise LtrTypeError(
                "EvalMetric needs the validation set: the catboost.Pool that you pass to fit(eval_set=...), created "
                f"with group_id=, or the pair (y, qid). Got a {type(valid).__name__}."
            )
        self.queries = self.queries_with(None)
        self._columns = self.queries.columns or None  # copies, which belong to it
        self._target = as_target(self._label)

    def queries_with(self, weight: Any) -> Queries:
        """Return the queries with the weights of the rows that CatBoost passes, if any."""
        weights = weight if self._sample_weight is None else self._sample_weight
        return Queries(self._label, sample_weight=weights, columns=self._columns, **self._queries)

    def has_labels(self, label: Any) -> bool:
        """Whether labels are those of the validation set, as CatBoost stores them."""
        return np.array_equal(as_target(label), self._target)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"data": None}  # a Pool cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"data": self}


class ValidatedTraining:
    """One training that an `EvalMetric` evaluates in.

    Raises
    ------
    LtrValueError
        If its evaluation sets do not allow it.
    """

    def __init__(self, valid: ValidationSet, min_delta: float, call: HostCall | None) -> None:
        self._valid, self._min_delta, self._params = valid, min_delta, params_of(call)
        self._best: float | None = None  # of the values that were better by more than min_delta
        self._queries: Queries | None = None
        self._address: int | None = None  # of the labels: CatBoost keeps each set at its own place
        self._n_continued = 0  # rounds of the model that the training continues
        self._number: int | None = None  # of the last evaluated round, without these
        self.other_set_is_evaluated = False  # since that round
        if call is not None:
            begun = call.local("init_model")
            self._n_continued = 0 if begun is None else int(begun.tree_count_)
            refuse_unusable_sets(valid, call.local("test_pool"))
            if min_delta and self._params.get("save_snapshot"):
                raise LtrValueError(
                    f"min_delta={min_delta:g} does not work with save_snapshot=True, because CatBoost does not tell a "
                    "metric the best value of a training that it resumes. Leave out one of them."
                )

    def counted(self, value: float, *, higher_is_better: bool) -> float:
        """Return a value for CatBoost, or the best one so far if it is better by no more than ``min_delta``."""
        sign = 1 if higher_is_better else -1
        if self._best is None or sign * (value - self._best) > self._min_delta:
            self._best = value
        return sign * min(sign * value, sign * self._best)

    def is_of(self, call: HostCall | None) -> bool:
        """Whether a call belongs to this training."""
        return params_of(call) is self._params

    def next_round(self) -> Round:
        """Return the round that CatBoost evaluates now.

        That is every ``metric_period``-th one and the last one, or every round if an overfitting
        detector is active. In the rounds in between CatBoost evaluates only the validation set, and
        not the learn set, by which we recognise them.
        """
        params = self._params or {}
        previous = self._n_resumed() - 1 if self._number is None else self._number
        self._number = previous + 1
        if self.other_set_is_evaluated:
            period = params.get("metric_period", 1)
            self._number = min((previous // period + 1) * period, params.get("iterations", DEFAULT_ITERATIONS) - 1)
        self.other_set_is_evaluated = False
        return Round(int(self._n_continued + self._number), self)

    def _n_resumed(self) -> int:
        """Return the number of rounds in the snapshot that the training resumes.

        CatBoost says it in no call, but it writes the time of every round into a file, and when it
        resumes a training, it writes those of the snapshot first.
        """
        params = self._params or {}
        if not params.get("save_snapshot"):
            return 0
        file = Path(params.get("train_dir") or "catboost_info", "time_left.tsv")
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
            return int(lines[-1].partition("\t")[0]) + 1 if len(lines) > 1 else 0
        except (OSError, ValueError) as error:
            raise LtrValueError(
                f"With save_snapshot, log= needs the file {file}, in which CatBoost says how many rounds the snapshot "
                f"has: {error}. Leave out log=. {EVALUATE_LATER}"
            ) from None

    def queries_of(self, target: AnyArray, weight: AnyArray | None) -> Queries:
        """Return the queries of the validation set, whose labels and weights CatBoost has passed."""
        address = int(target.__array_interface__["data"][0])
        if self._queries is None:
            # The array is a view of CatBoost's memory, which may not outlive this call.
            self._queries = self._valid.queries if weight is None else self._valid.queries_with(weight.copy())
            self._address = address
        if address != self._address:
            raise LtrValueError(
                "The learn set has the same labels as the validation set, in the same order, and CatBoost does not say "
                "which of them it evaluates. Create EvalMetric with queries that are not in the training. "
                f"{EVALUATE_LATER}"
            )
        return self._queries


def training_call() -> HostCall | None:
    """Return the call of the training that is running, or None outside of CatBoost."""
    for function in ("cv", "_tune_hyperparams"):
        call = find_call("catboost", function)
        if call is not None and call.frame is not None:
            raise LtrValueError(
                "EvalMetric works in fit of CatBoost's estimators and in catboost.train, which have one validation "
                "set. catboost.cv and CatBoost's searches make validation sets of their own. Use "
                "ltr_metrics.sklearn.QueryRanker with scikit-learn's cross-validation and searches instead."
            )
    return find_call("catboost", "_train")


def params_of(call: HostCall | None) -> Any:
    """Return the parameters of a training, which CatBoost copies for each training."""
    return None if call is None else call.local("params")


def refuse_unusable_sets(valid: ValidationSet, pools: list[Any]) -> None:
    """Raise an error unless the last evaluation set, by which CatBoost stops, is the validation set.

    Only the labels identify a set, so no other evaluation set may have the same labels.
    """
    same = [i for i, pool in enumerate(pools) if valid.has_labels(pool.get_label())]
    if not same:
        raise LtrValueError(
            f"No evaluation set of this training has the {valid.queries.n_rows} labels that EvalMetric was created "
            "with, in their order. Create EvalMetric with the Pool that you pass to fit as eval_set, or with (y, qid) "
            f"of the same rows. eval_set has {' and '.join(str(pool.num_row()) for pool in pools) or 'no'} rows. The "
            "learn set is not evaluated, because CatBoost passes no queries and may reorder its rows."
        )
    if len(same) > 1:
        raise LtrValueError(
            f"eval_set[{same[0]}] and eval_set[{same[1]}] have the same labels in the same order. CatBoost does not "
            f"say which of them it evaluates, so they cannot be told apart. Pass one of them. {EVALUATE_LATER}"
        )
    if same[0] != len(pools) - 1:
        raise LtrValueError(
            f"EvalMetric evaluates eval_set[{same[0]}], and CatBoost stops by the last of the {len(pools)} evaluation "
            "sets. Pass the validation set as the last one."
        )
    has_queries = pools[-1].get_group_id_hash() is not None
    if has_queries and not np.array_equal(sizes_of_pool(pools[-1]), valid.queries.n_documents):
        raise LtrValueError(
            "The queries that EvalMetric was created with differ from group_id of the evaluation set. Create it with "
            "the Pool itself, or with the qid that you pass as group_id."
        )


def refuse_gpu() -> None:
    """Raise an error if CatBoost prepares a training on a graphics card."""
    call = find_call("catboost", "_prepare_train_params")
    if call is None or call.frame is None:  # CatBoost copies a metric elsewhere too
        return
    # get_params() would copy the metric, which brings us here again.
    estimator = call.local("self", 'whether task_type="GPU" is set')
    if str(getattr(estimator, "_init_params", {}).get("task_type")).upper() == "GPU":
        raise LtrValueError(
            'EvalMetric works only with task_type="CPU". On a graphics card CatBoost copies the labels for each call, '
            "so EvalMetric could not tell the learn set from the validation set. Train on the CPU, or use one of "
            f"CatBoost's own metrics. {EVALUATE_LATER}"
        )


def as_target(label: Any) -> AnyArray:
    """Return labels as CatBoost stores them."""
    return np.array(label, dtype=np.float32)


def sizes_of_pool(pool: Any) -> IntArray:
    """Return the sizes of a Pool's queries, whose rows are consecutive."""
    query_of_row = pool.get_group_id_hash()
    if query_of_row is None:
        raise LtrValueError("The validation Pool has no queries. Create it with Pool(X, y, group_id=qid).")
    starts = np.flatnonzero(np.r_[True, query_of_row[1:] != query_of_row[:-1]])
    sizes: IntArray = np.diff(np.r_[starts, len(query_of_row)])
    return sizes
