"""Training data: the rows of whole queries, in the form that an estimator's ``fit`` takes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ltr_metrics._rows.checks import AnyArray, BoolArray, IntArray, take_rows
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.sklearn.columns import n_entries

# Parameters of the hosts' fit, by what their entries belong to. Unknown ones belong to rows if they have one entry per
# row, which is scikit-learn's own rule.
QUERY_PARAMETERS = {"qid", "group", "group_id"}
PER_ROW = ("sample_weight", "init_score", "base_margin", "baseline", "group_weight", "subgroup_id")
PER_PAIR = {"pairs", "pairs_weight", "graph"}
OF_OTHER_THINGS = {
    "callbacks", "feature_name", "feature_weights", "categorical_feature", "cat_features", "text_features",
    "embedding_features",
}  # fmt: skip


def refuse_unusable(fit_params: dict[str, Any]) -> None:
    """Refuse fit parameters that belong to other rows than those that the estimator gets."""
    given = sorted(name for name, value in fit_params.items() if value is not None)
    for name in given:
        if name in QUERY_PARAMETERS:
            raise LtrTypeError(f"QueryRanker makes {name} for the estimator from qid: do not pass it.")
        if name in PER_PAIR:
            raise LtrTypeError(
                f"QueryRanker.fit does not take {name}, which refers to rows by their numbers. Folds select rows, and "
                "QueryRanker reorders them and may hold some out, so the numbers would be those of other rows. Leave "
                "it out (CatBoost makes pairs from the grades), or fit the estimator itself."
            )
    names = [name for name in given if name.startswith("eval_") or name.endswith("_eval_set")]
    if names:
        raise LtrTypeError(
            f"QueryRanker.fit takes no evaluation sets. Got {', '.join(names)}. To stop early, set "
            "QueryRanker(early_stopping_rounds=...), which holds out whole queries. To watch a set of your own, fit "
            "the estimator itself, with the adapter of ltr_metrics for its library."
        )


def query_numbers(sizes: IntArray) -> IntArray:
    """Return the number of each row's query, for the rows of each query together."""
    numbers: IntArray = np.repeat(np.arange(len(sizes)), sizes)
    return numbers


def mean_by_query(weights: Any, sizes: IntArray) -> AnyArray:
    """Return the mean weight of each query, for the rows of each query together."""
    return np.asarray(np.bincount(query_numbers(sizes), weights) / sizes)


@dataclass(frozen=True)
class Training:
    """Arguments of ``fit``, with the rows of a query together."""

    rows: dict[str, Any]  # X, y and everything else with one entry per row
    others: dict[str, Any]
    ids: AnyArray  # of the queries
    sizes: IntArray
    columns: dict[str, Any] = field(default_factory=dict)  # that metrics read, and the estimator does not see

    @classmethod
    def of(
        cls, rows: dict[str, Any], fit_params: dict[str, Any], grouping: GroupedRows, columns: dict[str, Any]
    ) -> Training:
        """Bring the rows of each query together, in the fit parameters with one entry per row too."""
        n_rows = grouping.n_rows
        per_row = {name: value for name, value in fit_params.items() if name in PER_ROW and value is not None}
        others = {name: value for name, value in fit_params.items() if name not in PER_ROW}
        rows = rows | per_row
        for name, column in rows.items():
            if n_entries(column) != n_rows:
                raise LtrValueError(
                    f"X, y, qid and {name if name in PER_ROW else 'sample_weight'} must have one entry per row: got "
                    f"{n_entries(column)} of {name} for {n_rows} of qid."
                )
        for name in others.keys() - OF_OTHER_THINGS:
            if n_entries(others[name]) == n_rows:
                rows[name] = others.pop(name)
        if grouping.order is not None:
            rows, columns = _take(rows, grouping.order), _take(columns, grouping.order)
        return cls(rows, others, grouping.qid, grouping.sizes, columns)

    @property
    def qid(self) -> AnyArray:
        """The query id of each row."""
        return np.repeat(self.ids, self.sizes)

    def of_queries(self, mask: BoolArray) -> Training:
        """Return the rows of some of the queries."""
        positions = np.flatnonzero(np.repeat(mask, self.sizes))
        rows, columns = _take(self.rows, positions), _take(self.columns, positions)
        return Training(rows, self.others, self.ids[mask], self.sizes[mask], columns)

    def with_features(self, X: Any) -> Training:
        """Return the same rows with other features."""
        return replace(self, rows=self.rows | {"X": X})

    def fit(self, estimator: Any, **further: Any) -> None:
        """Fit an estimator, and pass the queries in the form that it takes, if any."""
        arguments = self.rows | self.others | further
        accepted = inspect.signature(estimator.fit).parameters
        if "qid" in accepted:  # XGBoost, which takes one weight per query
            arguments["qid"] = query_numbers(self.sizes)
            if "sample_weight" in arguments:
                arguments["sample_weight"] = mean_by_query(arguments["sample_weight"], self.sizes)
        elif "group" in accepted:  # LightGBM
            arguments["group"] = self.sizes
        elif "group_id" in accepted:  # CatBoost
            arguments["group_id"] = query_numbers(self.sizes)
        estimator.fit(arguments.pop("X"), arguments.pop("y"), **arguments)


def clone_sharing_callbacks(estimator: Any) -> Any:
    """Clone an estimator, and share its callbacks: a tuner's callback reports to its study."""
    cloned = clone(estimator)
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    callbacks = {name: value for name, value in parameters.items() if name.rpartition("__")[2] == "callbacks" and value}
    return cloned.set_params(**callbacks) if callbacks else cloned


def _take(columns: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    return {name: take_rows(column, rows) for name, column in columns.items()}
