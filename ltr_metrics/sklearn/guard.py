"""The guard against folds that cut queries: the ranker remembers what it was fitted on, the scorer compares."""

from __future__ import annotations

import math
from typing import Any

from sklearn.pipeline import Pipeline

from ltr_metrics.errors import LtrValueError
from ltr_metrics.grouping import Grouping, group_by_ids
from ltr_metrics.inputs import AnyArray
from ltr_metrics.sklearn.columns import as_table, queries_of

Extent = tuple[int, float]


class Extents(dict[Any, Extent]):
    """Of each query its documents and the sum of their labels: enough to tell a whole query from a part of it."""

    def __init__(self, grouping: Grouping, labels: AnyArray, *, from_X: bool = False) -> None:
        sums = grouping.sum(labels if grouping.order is None else labels[grouping.order])
        extents = zip(grouping.sizes.tolist(), sums.tolist(), strict=True)
        super().__init__(zip(grouping.ids.tolist(), extents, strict=True))
        self.from_X = from_X  # the ids come from a column of X, which the steps before a ranker may change


def part_of(estimator: Any, X: Any, ids: AnyArray, labels: AnyArray) -> str | None:
    """Return whether a ranker is scored on queries that it was fitted on ("train") or on others ("test"); None if on both, or unknown.

    Refuse a part of a query of which it was fitted on another part: such folds flatter every ranker.
    """
    ranker, steps_before = _last_step(estimator)
    fitted = getattr(ranker, "queries_", None)
    if not isinstance(fitted, Extents):
        return None
    if fitted.from_X and steps_before:
        ids = _ids_behind(steps_before, X, ids, ranker.qid)
    scored = Extents(group_by_ids(ids), labels)
    known = [name for name in scored if name in fitted]
    cut = [name for name in known if not _same_extent(fitted[name], scored[name])]
    if cut:
        raise LtrValueError(
            f"Query {cut[0]!r} stands on both sides, with {fitted[cut[0]][0]} documents in the training part and {scored[cut[0]][0]} others "
            f"here, as do {len(cut)} of these {len(scored)} queries: folds that cut queries flatter every ranker. Split by cv=GroupKFold() "
            "with groups=qid. (If these are other queries, give them other ids.)"
        )
    return "test" if not known else "train" if len(known) == len(scored) else None


def _last_step(estimator: Any) -> tuple[Any, list[Pipeline]]:
    """Return the last step within searches and pipelines, and the pipelines of the steps before it."""
    steps_before = []
    while hasattr(estimator, "best_estimator_") or isinstance(estimator, Pipeline):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            steps_before += [estimator[:-1]] if len(estimator) > 1 else []
            estimator = estimator[-1]
    return estimator, steps_before


def _ids_behind(steps_before: list[Pipeline], X: Any, ids: AnyArray, column: str | int) -> AnyArray:
    """Return the ids as the ranker sees them: a scaler scales the queries' column as any other."""
    for steps in steps_before:
        X = steps.transform(X)
    seen = queries_of(as_table(X), None, column, "QueryRanker, behind the steps before it,")
    n_seen, n_queries = len(group_by_ids(seen).sizes), len(group_by_ids(ids).sizes)
    if n_seen != n_queries:
        raise LtrValueError(
            f"The steps before QueryRanker make {n_seen} queries of {n_queries}, since they change the column {column!r} of queries. Let "
            "them leave it as it is, for example by ColumnTransformer(..., remainder='passthrough')."
        )
    return seen


def _same_extent(a: Extent, b: Extent) -> bool:
    return a[0] == b[0] and math.isclose(a[1], b[1], rel_tol=1e-9, abs_tol=1e-12)  # sums depend on the order of rows
