"""The training in which CatBoost calls a metric. CatBoost does not pass it, so we read its frames."""

from __future__ import annotations

from typing import Any

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._hosts.frames import HostCall, find_call, is_called_by
from ltr_metrics.catboost.validation_set import ValidationSet
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.evaluate import Queries

EVALUATE_LATER = "ltr_metrics.learning_curve evaluates any data set after the training."


def training_call() -> HostCall | None:
    """Return the call of the training that is running."""
    return find_call("catboost", "_train", is_required=False)


class Training:
    """One training that an `EvalMetric` evaluates in.

    Raises
    ------
    LtrValueError
        If its evaluation sets do not allow it.
    """

    def __init__(self, valid: ValidationSet, call: HostCall | None) -> None:
        self._valid, self._params = valid, _params_of(call)
        self._queries: Queries | None = None
        self._address: int | None = None  # of the labels: CatBoost keeps each set at its own place
        if call is not None:
            refuse_unusable_sets(valid, call.local("test_pool"))
        elif is_called_by("catboost"):
            raise LtrValueError(
                "EvalMetric works in fit of CatBoost's estimators and in catboost.train, which have one validation "
                "set. catboost.cv and CatBoost's searches make validation sets of their own. Use "
                "ltr_metrics.sklearn.QueryRanker with scikit-learn's cross-validation and searches instead."
            )

    def is_of(self, call: HostCall | None) -> bool:
        """Whether a call belongs to this training."""
        return _params_of(call) is self._params

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


def _params_of(call: HostCall | None) -> Any:
    """Return the parameters of a training, which CatBoost copies for each training."""
    return None if call is None else call.local("params")


def refuse_unusable_sets(valid: ValidationSet, pools: list[Any]) -> None:
    """Raise an error unless the last evaluation set, by which CatBoost stops, is the validation set.

    Labels alone identify a set, so no other evaluation set may have the same labels.
    """
    same = [i for i, pool in enumerate(pools) if valid.has_labels(pool.get_label())]
    if not pools:
        raise LtrValueError(
            "This training has no evaluation set. Pass the validation set to fit as well: fit(..., eval_set=pool). "
            "The learn set is not evaluated, because CatBoost passes no queries and may reorder the rows of this set."
        )
    if not same:
        raise LtrValueError(
            f"No evaluation set of this training has the {valid.queries.n_rows} labels that EvalMetric was created "
            "with, in their order. Create EvalMetric with the Pool that you pass as eval_set, or with (y, qid) of the "
            f"same rows. eval_set has {' and '.join(str(pool.num_row()) for pool in pools)} rows."
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
    if not valid.has_queries(pools[-1]):
        raise LtrValueError(
            "The queries that EvalMetric was created with differ from group_id of the evaluation set. Create it with "
            "the Pool itself, or with the qid that you pass as group_id."
        )


def refuse_gpu() -> None:
    """Raise an error if CatBoost prepares a training on a graphics card."""
    call = find_call("catboost", "_prepare_train_params", is_required=False)
    # get_params() would copy the metric, which brings us here again.
    params = {} if call is None else vars(call.local("self")).get("_init_params", {})
    if str(params.get("task_type")).upper() == "GPU":
        raise LtrValueError(
            'CatBoost evaluates EvalMetric on the CPU alone. Train with task_type="CPU", or use one of CatBoost\'s own '
            f"metrics. {EVALUATE_LATER}"
        )
