"""The guard against folds that cut queries.

The ranker keeps the size of each query that it was fitted on, and the scorer compares.
"""

from __future__ import annotations

import math
from typing import Any

from ltr_metrics._rows.checks import AnyArray
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.ids import id_texts
from ltr_metrics._rows.words import PartOfSearch
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.sklearn.columns import names_of_columns
from ltr_metrics.sklearn.steps import Steps

Extent = tuple[int, float]


class Extents(dict[Any, Extent]):
    """The number of documents and the sum of labels of each query.

    They distinguish a whole query from a part of it.
    """

    def __init__(self, ids: AnyArray, sizes: AnyArray, sums: AnyArray, *, from_X: bool = False) -> None:
        super().__init__(zip(ids.tolist(), zip(sizes.tolist(), sums.tolist(), strict=True), strict=True))
        self.from_X = from_X  # whether the ids come from a column of X, which the steps before a ranker may change

    @classmethod
    def of(cls, rows: GroupedRows, labels: AnyArray, *, from_X: bool = False) -> Extents:
        """Return the extents of the queries of rows with labels."""
        return cls(rows.qid, rows.sizes, rows.sum_by_query(labels), from_X=from_X)


def column_of_ranker(estimator: Any) -> str | int | None:
    """Return the column of X that holds the queries of a `QueryRanker`, or None if it is unknown.

    Behind the other steps of a pipeline, a position may be that of another column.
    """
    steps = Steps(estimator)
    column: str | int | None = steps.last.qid if isinstance(getattr(steps.last, "queries_", None), Extents) else None
    return column if isinstance(column, str) or not steps.pipelines else None


def part_of(estimator: Any, X: Any, queries: Queries, labels: AnyArray) -> PartOfSearch | None:
    """Return "train" for queries that the ranker was fitted on, and "test" for others.

    Return None for a mixture of both, and for an estimator that does not remember its queries. A
    split that cuts queries is an error.
    """
    steps = Steps(estimator)
    fitted = getattr(steps.last, "queries_", None)
    if not isinstance(fitted, Extents):
        return None
    scored = Extents.of(queries, labels)
    if fitted.from_X and steps.pipelines:
        scored = _extents_after_steps(steps, X, labels, queries.n_queries)
    by_text = dict(zip(id_texts(fitted), fitted.values(), strict=True))
    known = {name: by_text[text] for name, text in zip(scored, id_texts(scored), strict=True) if text in by_text}
    cut = [name for name, extent in known.items() if not _same_extent(extent, scored[name])]
    if cut:
        raise LtrValueError(
            f"Query {cut[0]!r} is on both sides of the split, with {known[cut[0]][0]} documents in the training "
            f"part and {scored[cut[0]][0]} others here (such queries: {len(cut):,} of {len(scored):,}). "
            "The model has seen documents of a test query, and the score would be that of a fragment: split with "
            "cv=GroupKFold() and groups=qid. (If these are other queries, give them other ids.)"
        )
    return "test" if not known else "train" if len(known) == len(scored) else None


def warn_of_ids_as_a_feature(estimator: Any, X: Any, column: str | int) -> None:
    """Warn if an estimator that is not in a `QueryRanker` was fitted on the column of queries.

    It was not if a step of a pipeline drops the column. XGBRanker itself drops a column named qid.
    """
    steps = Steps(estimator)
    if isinstance(getattr(steps.last, "queries_", None), Extents):
        return
    names = names_of_columns(X)
    name = column if isinstance(column, str) else names[column]
    seen = steps.names_seen_by_last(names)
    if name not in names or seen is None or getattr(steps.last, "n_features_in_", None) != len(seen):
        return
    if any(column_name == name or column_name.endswith(f"__{name}") for column_name in seen):  # ColumnTransformer's
        kind = type(steps.last).__name__
        warn(
            f"{kind} was trained on column {column!r} of X, the ids of the queries, as on a feature. Wrap it, with "
            f"all steps before it, to remove the column: QueryRanker({'...' if steps.pipelines else kind + '()'}). Or "
            "leave the column out of X and route qid, with sklearn.set_config(enable_metadata_routing=True)."
        )


def _extents_after_steps(steps: Steps, X: Any, labels: AnyArray, n_queries: int) -> Extents:
    """Return the queries as the ranker sees them: a scaler scales their column too."""
    extents = Extents.of(GroupedRows.of_ids(steps.last.queries_in(steps.transform(X))), labels)
    if len(extents) != n_queries:
        raise LtrValueError(
            f"The steps before QueryRanker make {len(extents)} queries of {n_queries}, since they change the column "
            f"{steps.last.qid!r} of queries. Keep it as it is, for example with ColumnTransformer(..., "
            "remainder='passthrough')."
        )
    return extents


def _same_extent(a: Extent, b: Extent) -> bool:
    # The sums may be in another order, and of float32 labels.
    return a[0] == b[0] and math.isclose(a[1], b[1], rel_tol=1e-6)
