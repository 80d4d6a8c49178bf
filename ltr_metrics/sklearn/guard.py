"""The guard against folds that cut queries: the ranker remembers what it was fitted on, the scorer compares."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.grouping import Grouping, group_by_ids
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.sklearn.columns import as_table, has_column, names_of_columns, queries_of
from ltr_metrics.sklearn.steps import Steps

Extent = tuple[int, float]


class Extents(dict[Any, Extent]):
    """Of each query its documents and the sum of their labels: enough to tell a whole query from a part of it."""

    def __init__(self, ids: AnyArray, sizes: AnyArray, sums: AnyArray, *, from_X: bool = False) -> None:
        super().__init__(zip(ids.tolist(), zip(sizes.tolist(), sums.tolist(), strict=True), strict=True))
        self.from_X = from_X  # the ids come from a column of X, which the steps before a ranker may change

    @classmethod
    def of(cls, grouping: Grouping, labels: AnyArray, *, from_X: bool = False) -> Extents:
        """Make it of labels in the order of the rows."""
        sums = grouping.sum(labels if grouping.order is None else labels[grouping.order])
        return cls(grouping.ids, grouping.sizes, sums, from_X=from_X)


class Side(NamedTuple):
    """On which side of a split a ranker is scored."""

    part: PartOfSearch | None = None  # "train": queries that it was fitted on, "test": others; None: both, or unknown
    fitted: Extents | None = None  # queries that it was fitted on, if they have the names of those that are scored


def side_of(estimator: Any, X: Any, queries: Queries, labels: AnyArray) -> Side:
    """Return what is known of a split, and refuse one that cuts queries, for such folds flatter every ranker.

    Whole queries that the ranker was fitted on may be scored, as searches do for their training scores.
    """
    steps = Steps(estimator)
    fitted = getattr(steps.last, "queries_", None)
    if not isinstance(fitted, Extents):
        return Side()
    scored = Extents(queries.qid, queries.sizes, queries.sum_by_query(labels))
    renamed = False
    if fitted.from_X and steps.pipelines:
        behind = _seen_behind(steps, X, labels, queries.n_queries)
        scored, renamed = behind, behind.keys() != scored.keys()
    known = [name for name in scored if name in fitted]
    cut = [name for name in known if not _same_extent(fitted[name], scored[name])]
    if cut:
        raise LtrValueError(
            f"Query {cut[0]!r} stands on both sides, with {fitted[cut[0]][0]} documents in the training part and {scored[cut[0]][0]} others "
            f"here; so do {len(cut)} of these {len(scored)} queries. Folds that cut queries flatter every ranker: split by cv=GroupKFold() "
            "with groups=qid. (If these are other queries, give them other ids.)"
        )
    part: PartOfSearch | None = "test" if not known else "train" if len(known) == len(scored) else None
    return Side(part, None if renamed else fitted)


def warn_of_ids_as_a_feature(estimator: Any, X: Any, column: str | int) -> None:
    """Warn if an estimator that is not in a `QueryRanker` was fitted on the column of queries.

    A column may be dropped by a step of a pipeline, and XGBRanker itself drops one that is named qid.
    """
    steps = Steps(estimator)
    if isinstance(getattr(steps.last, "queries_", None), Extents) or not has_column(X, column):
        return
    names = names_of_columns(X)
    name = column if isinstance(column, str) else names[column]
    seen = steps.names_seen_by_last(names)
    if seen is None or getattr(steps.last, "n_features_in_", None) != len(seen):
        return
    if any(one == name or one.endswith(f"__{name}") for one in seen):  # ColumnTransformer adds prefixes
        kind = type(steps.last).__name__
        wrapped = f"make_pipeline(..., {kind}())" if steps.pipelines else f"{kind}()"
        warn(
            f"{kind} was trained on column {column!r} of X, the ids of the queries, as on a feature. Wrap "
            f"it, which keeps the column from it: QueryRanker({wrapped}). Or leave the column out of X and "
            "route qid, with sklearn.set_config(enable_metadata_routing=True)."
        )


def _seen_behind(steps: Steps, X: Any, labels: AnyArray, n_queries: int) -> Extents:
    """Return the queries as the ranker sees them: a scaler scales their column as any other."""
    column, who = steps.last.qid, "QueryRanker, behind the steps before it,"
    seen = Extents.of(group_by_ids(queries_of(as_table(steps.transform(X)), None, column, who)), labels)
    if len(seen) != n_queries:
        raise LtrValueError(
            f"The steps before QueryRanker make {len(seen)} queries of {n_queries}, since they change the column {column!r} of queries. Let "
            "them leave it as it is, for example by ColumnTransformer(..., remainder='passthrough')."
        )
    return seen


def _same_extent(a: Extent, b: Extent) -> bool:
    return a[0] == b[0] and math.isclose(
        a[1], b[1], rel_tol=1e-6
    )  # sums in another order, of labels that may be float32
