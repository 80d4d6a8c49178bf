"""The ideal ranking: all documents of a query, ranked or not, by descending grade."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.blocks import CELLS_IN_A_BLOCK, SHORT_LIST, Block, cut_by_length
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import values_of_grades


def ideal_by_rank(block: Block, values: FloatArray, depth: int) -> FloatArray:
    """Return a value of each distinct grade by rank of the ideal ranking, (queries x depth).

    The value is 0 below the last document of a query.

    Parameters
    ----------
    block : Block
        Queries of similar length.
    values : ndarray of float64 of shape (n_grades,)
        A value for each distinct grade, such as its gain.
    depth : int
        The number of first ranks that are needed.

    Returns
    -------
    ndarray of float64 of shape (n_queries, depth)
        Grades descend from left to right.

    See Also
    --------
    ltr_metrics.RankMetric : The base class of metrics, whose divisor often is an ideal value.

    Examples
    --------
    The share of the best possible grade at rank 1:

    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.metrics import ideal_by_rank
    >>> @dataclass(frozen=True, kw_only=True)
    ... class TopShare(ltr.RankMetric):
    ...     NAME: ClassVar[str] = "top_share"
    ...
    ...     def by_grade(self, queries):
    ...         return queries.grades
    ...
    ...     def divisor(self, block, k):
    ...         return ideal_by_rank(block, block.queries.grades, k or block.width).sum(axis=1)
    >>> ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=[TopShare(k=1)])["top_share@1"]
    0.25
    """
    queries, rank = block.queries, np.arange(depth)
    size = queries.sizes[block.members][:, None]
    position = np.where(rank < size, queries.starts[block.members][:, None] + rank, 0)
    grades = _ideal_grades(queries)[position]
    return values_of_grades(values, np.where(rank < size, grades, grades.dtype.type(0)))


@cached
def _ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all ideal rankings, query after query."""
    n_values = len(queries.grades) + 1
    keys = np.sort((queries.query_of_rows() + 1) * n_values - queries.grade_index - 1)
    return n_values - 1 - keys % n_values


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
