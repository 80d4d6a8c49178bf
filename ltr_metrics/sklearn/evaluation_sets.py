"""The evaluation sets that ``fit`` passes to the host, without the column of queries."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, refuse_different_indexes, take_rows
from ltr_metrics._engine.grouping import Grouping, group_by_ids, group_by_sizes
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.sklearn.columns import as_labels, as_table, has_column, n_entries, queries_of, without_columns
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import QUERY_PARAMETERS, Training, mean_by_query, query_numbers

SETS = ("eval_set", "eval_X", "eval_y")
QUERIES = ("eval_qid", "eval_group")
XGBOOST_WEIGHTS = "sample_weight_eval_set"  # one per query if the estimator is a ranker
PER_ROW = ("eval_sample_weight", "eval_init_score", XGBOOST_WEIGHTS, "base_margin_eval_set")
KINDS_OF_FEATURES = ("cat_features", "text_features", "embedding_features")  # of CatBoost's Pool


class FitInput(NamedTuple):
    """The training set as the user passed it to ``fit``. It may be an evaluation set too."""

    X: Any
    y: Any
    column: str | int  # of X that holds the queries
    grouping: Grouping  # of the rows of X
    hidden: tuple[str | int, ...]  # columns of X that the estimator does not see


class EvaluationSet(NamedTuple):
    """One evaluation set, with the rows of each query together."""

    name: str  # as a user would write it: eval_set[0]
    X: Any  # without the column of queries
    y: Any
    sizes: IntArray | None  # of its queries; None if they are unknown
    per_row: dict[str, Any]
    is_training: bool = False
    is_ready: bool = False  # X is a Pool of CatBoost, or a file

    @property
    def query_numbers(self) -> IntArray | None:
        """The number of each row's query."""
        return None if self.sizes is None else query_numbers(self.sizes)


def evaluation_sets(fit_params: dict[str, Any], fit_input: FitInput) -> list[EvaluationSet]:
    """Read the evaluation sets among the fit parameters."""
    pairs = _pairs(fit_params)
    for name in (*QUERIES, *PER_ROW):
        n_values = n_entries(fit_params.get(name)) or 0
        if pairs and n_values > len(pairs):
            raise LtrValueError(
                f"{name} must be a list with an entry for each evaluation set. Got {n_values} entries "
                f"for {len(pairs)} set(s)."
            )
    return [_read(name, pair, i, fit_params, fit_input) for i, (name, pair) in enumerate(pairs)]


def host_parameters(
    sets: list[EvaluationSet], fit_params: dict[str, Any], steps: Steps, training: Training
) -> dict[str, Any]:
    """Return the fit parameters of the last step, with the sets in the form that its ``fit`` takes.

    ``training`` holds the training data as the last step sees them.
    """
    if not sets:
        return fit_params
    accepted = inspect.signature(steps.last.fit).parameters
    if QUERY_PARAMETERS & accepted.keys():
        _refuse_without_queries(sets)
    pairs = [_seen_by_last(data, steps, training) for data in sets]
    sizes = [data.sizes for data in sets]
    numbers = [data.query_numbers for data in sets]
    kept = {name: value for name, value in fit_params.items() if name not in (*SETS, *QUERIES, *PER_ROW)}
    per_row = {
        name: [_entries_of(name, data, accepted) for data in sets]
        for name in PER_ROW
        if fit_params.get(name) is not None
    }
    if "group_id" in accepted:
        return kept | per_row | {"eval_set": _pools(sets, pairs, kept, steps)}
    if "eval_X" in accepted:  # LightGBM from 4.7 on, which deprecates eval_set
        X, y = zip(*pairs, strict=True)
        kept |= {"eval_X": X, "eval_y": y}
    else:
        kept["eval_set"] = [data.X if data.is_ready else pair for data, pair in zip(sets, pairs, strict=True)]
    if "eval_qid" in accepted:
        kept["eval_qid"] = numbers
    elif "eval_group" in accepted:
        kept["eval_group"] = sizes
    return kept | per_row


def _pairs(fit_params: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the name and the pair of each set."""
    sets, X, y = (fit_params.get(name) for name in SETS)
    if (X is None) != (y is None) or (sets is not None and X is not None):
        passed = ", ".join(name for name in SETS if fit_params.get(name) is not None)
        raise LtrTypeError(f"Pass evaluation sets as eval_set, or as eval_X and eval_y. Got {passed}.")
    if X is not None and not isinstance(X, tuple):
        return [("eval_X", (X, y))]
    if X is not None:
        if not isinstance(y, tuple) or len(y) != len(X):
            raise LtrValueError(f"eval_X is a tuple of {len(X)} sets. eval_y must be a tuple of as many arrays.")
        return [(f"eval_X[{i}]", pair) for i, pair in enumerate(zip(X, y, strict=True))]
    if sets is None:
        return []
    is_one_pair = isinstance(sets, tuple) and len(sets) == 2 and not all(isinstance(data, tuple) for data in sets)
    if is_one_pair or not isinstance(sets, (list, tuple)):
        return [("eval_set", sets)]
    return [(f"eval_set[{i}]", pair) for i, pair in enumerate(sets)]


def _read(name: str, pair: Any, index: int, fit_params: dict[str, Any], fit_input: FitInput) -> EvaluationSet:
    per_row = {column: _entry(fit_params.get(column), index) for column in PER_ROW}
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        return EvaluationSet(name, pair, None, None, per_row, is_ready=True)
    is_training = pair[0] is fit_input.X and pair[1] is fit_input.y
    with naming(name):
        refuse_different_indexes(X=pair[0], y=pair[1])
        X, y = as_table(pair[0]), as_labels(pair[1])
        n_rows = int(X.shape[0])
        ids, group = (_entry(fit_params.get(name), index) for name in QUERIES)
        grouping = _queries(X, n_rows, ids, group, fit_input.column)
        if n_entries(y) != n_rows:
            raise LtrValueError(f"X and y must have one entry a row: got {n_entries(y)} labels for {n_rows} rows.")
        if is_training and grouping is not None and not np.array_equal(grouping.sizes, fit_input.grouping.sizes):
            raise LtrValueError("This is the training set, but its queries differ from those of X.")
    grouping = fit_input.grouping if is_training else grouping
    rows = {"X": without_columns(X, fit_input.hidden), "y": y} | per_row
    if grouping is not None:
        rows = _ordered(rows, grouping)
    sizes = None if grouping is None else grouping.sizes
    return EvaluationSet(name, rows.pop("X"), rows.pop("y"), sizes, rows, is_training)


def _queries(X: Any, n_rows: int, ids: Any, group: Any, column: str | int) -> Grouping | None:
    """Return the queries of a set, from its column or from parameters of ``fit``, if it has any."""
    if ids is None and not has_column(X, column):
        return None if group is None else group_by_sizes(group, n_rows)
    ids = queries_of(X, ids, column, "The evaluation set")
    if len(ids) != n_rows:
        raise LtrValueError(f"eval_qid must have one id a row: got {len(ids)} for {n_rows} rows.")
    grouping = group_by_ids(ids)
    if group is not None and not (grouping.order is None and np.array_equal(group, grouping.sizes)):
        raise LtrValueError(
            "eval_group does not match the ids of the queries: it must hold their sizes, and the rows of a query "
            "must be together. Leave eval_group out: QueryRanker makes it from the ids."
        )
    return grouping


def _entry(collection: Any, index: int) -> Any:
    """Return the entry of one set in a list or in LightGBM's dict, or None."""
    if isinstance(collection, dict):
        return collection.get(index)
    return None if collection is None or index >= len(collection) else collection[index]


def _ordered(columns: dict[str, Any], grouping: Grouping) -> dict[str, Any]:
    """Bring the rows of each query together, in all columns with one entry a row."""
    if grouping.order is None:
        return columns
    n_rows = len(grouping.order)
    return {
        name: take_rows(column, grouping.order) if n_entries(column) == n_rows else column
        for name, column in columns.items()
    }


def _refuse_without_queries(sets: list[EvaluationSet]) -> None:
    for data in sets:
        if data.sizes is None and not data.is_ready:
            raise LtrValueError(
                f"{data.name} has no queries, which a ranker needs. Keep them in the same column as in the X that you "
                "fit (QueryRanker removes it from both), or pass eval_qid, a list with one array of ids for each "
                "evaluation set."
            )


def _seen_by_last(data: EvaluationSet, steps: Steps, training: Training) -> tuple[Any, Any]:
    """Return X and y of a set as the last step sees them.

    The training set is returned as the same objects, so that LightGBM recognises it.
    """
    if data.is_training:
        return training.rows["X"], training.rows["y"]
    if not data.is_ready:
        return steps.transform(data.X), data.y
    is_catboost = "catboost" in {kind.__module__.partition(".")[0] for kind in type(steps.last).__mro__}
    if steps.pipelines or not is_catboost:
        raise LtrTypeError(f"{data.name} must be a pair (X, y). Got {type(data.X).__name__}.")
    return data.X, None


def _entries_of(name: str, data: EvaluationSet, accepted: Any) -> Any:
    """Return the weights of a set, one per query for XGBoost's rankers, or its initial scores."""
    entries: AnyArray | None = data.per_row[name]
    per_query = name == XGBOOST_WEIGHTS and "qid" in accepted
    if not per_query or entries is None or data.sizes is None or n_entries(entries) != data.sizes.sum():
        return entries
    return mean_by_query(entries, data.sizes)


def _pools(
    sets: list[EvaluationSet], pairs: list[tuple[Any, Any]], fit_params: dict[str, Any], steps: Steps
) -> list[Any]:
    """Return CatBoost's data sets, because a pair cannot hold the queries."""
    from catboost import Pool

    kinds = kinds_of_features(steps.last, fit_params)
    return [
        X if data.is_ready else Pool(X, y, group_id=data.query_numbers, **kinds)
        for data, (X, y) in zip(sets, pairs, strict=True)
    ]


def kinds_of_features(estimator: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of CatBoost's Pool that say which features are not numbers."""
    settings = estimator.get_params() | fit_params
    return {name: settings.get(name) for name in KINDS_OF_FEATURES}
