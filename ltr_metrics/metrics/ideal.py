"""The ideal ranking: all documents of a query, ranked or not, by descending grade."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import with_padding_value


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
    queries = block.queries
    grades = _ideal_grades(queries)
    rank, size = np.arange(depth), queries.sizes[block.members][:, None]
    offset = np.where(rank < size, queries.starts[block.members][:, None] + rank, 0)
    return np.where(rank < size, with_padding_value(values)[grades[offset]], 0.0)


@cached
def _ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all ideal rankings, query after query."""
    n_values = len(queries.grades) + 1
    keys = np.sort((queries.query_of_rows() + 1) * n_values - queries.grade_index - 1)
    return n_values - 1 - keys % n_values
