"""The validation set of an `EvalMetric`: its queries, and the labels by which it is recognised."""

from __future__ import annotations

from typing import Any

import catboost
import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries


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
        With ``sample_weight`` alone.
    data : object
        By which a `PerQueryLog` finds the values: the Pool, or this object.
    sizes : ndarray or None
        Sizes of the queries in the order of the rows; None if a query has rows in several places.
    """

    def __init__(self, valid: Any, sample_weight: Any = None, columns: Any = None) -> None:
        self._sample_weight, self._columns = sample_weight, columns
        self._queries: dict[str, Any]
        if isinstance(valid, catboost.Pool):
            self.data: Any = valid
            self._label, self._queries = valid.get_label(), {"group": _sizes_of_pool(valid)}
        elif isinstance(valid, (tuple, list)) and len(valid) == 2:
            self.data = self
            self._label, self._queries = valid[0], {"qid": valid[1]}
        else:
            raise LtrTypeError(
                "EvalMetric needs the validation set: the catboost.Pool that you pass to fit(eval_set=...), created "
                f"with group_id=, or the pair (y, qid). Got {_describe(valid)}."
            )
        if self._label is None:
            raise LtrValueError("The validation Pool has no labels. Create it with Pool(X, y, group_id=qid).")
        self.queries = self.queries_with(None)
        self._target = as_target(self._label)
        self.sizes = _sizes_in_row_order(self._queries)

    def queries_with(self, weight: Any) -> Queries:
        """Return the queries with the weights of the rows that CatBoost passes, if any."""
        own = self._sample_weight
        weights = weight if own is None else own
        return Queries(self._label, sample_weight=weights, columns=self._columns, **self._queries)

    def has_labels(self, label: Any) -> bool:
        """Whether labels are those of the validation set, as CatBoost stores them."""
        target = as_target(label)
        return target is not None and self._target is not None and np.array_equal(target, self._target)

    def has_queries(self, pool: Any) -> bool:
        """Whether the queries of a Pool are those of the validation set. A Pool may have no queries."""
        if pool.get_group_id_hash() is None:
            return True
        return self.sizes is not None and np.array_equal(_sizes_of_pool(pool), self.sizes)

    def __getstate__(self) -> dict[str, Any]:
        # A Pool cannot be pickled.
        return self.__dict__ | {"data": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"data": self}


def as_target(label: Any) -> AnyArray | None:
    """Return labels as CatBoost stores them, or None if they are not numbers."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(label, dtype=np.float32)
    except (TypeError, ValueError):
        return None


def _sizes_of_pool(pool: Any) -> IntArray:
    query_of_row = pool.get_group_id_hash()
    if query_of_row is None:
        raise LtrValueError("The validation Pool has no queries. Create it with Pool(X, y, group_id=qid).")
    return _lengths_of_runs(np.asarray(query_of_row))


def _sizes_in_row_order(queries: dict[str, Any]) -> IntArray | None:
    if "group" in queries:
        sizes: IntArray = queries["group"]
        return sizes
    ids = as_ids(queries["qid"], "qid")
    lengths = _lengths_of_runs(ids)
    return lengths if len(lengths) == len(set(ids.tolist())) else None


def _lengths_of_runs(ids: AnyArray) -> IntArray:
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    lengths: IntArray = np.diff(np.r_[starts, len(ids)])
    return lengths


def _describe(value: Any) -> str:
    return f"{len(value)} entries" if isinstance(value, (tuple, list)) else f"a {type(value).__name__}"
