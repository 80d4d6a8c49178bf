"""The ideal ranking: all documents of a query, ranked or not, by descending grade."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.blocks import CELLS_IN_A_BLOCK, SHORT_LIST, cut_by_length
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import row_sums, values_of_grades


def ideal_sums(
    queries: LabelledQueries,
    by_grade: FloatArray,
    k: int | IntArray | None = None,
    by_rank: FloatArray | float = 1.0,
) -> FloatArray:
    """Return the sum of a value over the first documents of each query's ideal ranking.

    It is what `RankMetric.divisor` needs for a metric that is a share of its best value.

    Parameters
    ----------
    queries : Queries
        The labels of all queries.
    by_grade : ndarray of float64 of shape (n_grades,)
        A value for each distinct grade, such as its gain.
    k : int or ndarray of int of shape (n_queries,), optional
        The number of first ranks, also for each query. The default is the whole list.
    by_rank : ndarray of float64 of shape (depth,) or (n_queries, depth), or float, default 1
        A factor for each of the first ranks, such as a discount. ``depth`` is at least k, or the
        length of the longest query if that is smaller.

    Returns
    -------
    ndarray of float64 of shape (n_queries,)
        The sum over the first k ranks, or over all documents of a query that has fewer.

    See Also
    --------
    ltr_metrics.RankMetric : The base class of metrics, whose divisor often is an ideal value.

    Examples
    --------
    The share of the best possible grade at rank 1:

    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.metrics import ideal_sums
    >>> @dataclass(frozen=True, kw_only=True)
    ... class TopShare(ltr.RankMetric):
    ...     NAME: ClassVar[str] = "top_share"
    ...
    ...     def by_grade(self, queries):
    ...         return queries.grades
    ...
    ...     def divisor(self, queries, k):
    ...         return ideal_sums(queries, queries.grades, k)
    >>> ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=[TopShare(k=1)])["top_share@1"]
    0.25
    """
    deepest = queries.sizes.max() if k is None else np.max(k)
    of_rank = np.atleast_2d(by_rank)
    sums = np.empty(queries.n_queries)
    for members, grades in ideal_rankings(queries):
        width = min(deepest, grades.shape[1])
        terms = values_of_grades(by_grade, grades[:, :width])
        terms *= (of_rank if len(of_rank) == 1 else of_rank[members])[:, :width]
        if isinstance(k, np.ndarray):
            terms[np.arange(width) >= k[members, None]] = 0.0
        sums[members] = row_sums(terms)
    return sums


@cached
def ideal_rankings(queries: LabelledQueries) -> list[tuple[IntArray, AnyArray]]:
    """Return the ideal rankings: for queries of similar length, their positions and grade indices by rank.

    The matrices are (queries x documents), of all documents, retrieved or not, and padded with 0,
    "no document". Those of short queries are laid out by rank.
    """
    return [(m, _sort_by_grade(queries, m)) for m in cut_by_length(queries.sizes, CELLS_IN_A_BLOCK)]


def _sort_by_grade(queries: LabelledQueries, members: IntArray) -> AnyArray:
    size = queries.sizes[members]
    rank = np.arange(int(size.max()))
    is_document = rank < size[:, None]
    position = np.where(is_document, queries.starts[members][:, None] + rank, 0)
    rows = position if queries.order is None else queries.order[position]
    grades = np.where(is_document, queries.grade_index[rows], queries.grade_index.dtype.type(0))
    grades.sort(axis=1)
    return np.asfortranarray(grades[:, ::-1]) if len(rank) <= SHORT_LIST else grades[:, ::-1]
