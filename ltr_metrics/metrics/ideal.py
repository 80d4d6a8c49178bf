"""The ideal ranking: all documents of a query, ranked or not, by descending grade."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.blocks import Block, ideal_rankings
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import with_padding_value


def ideal_by_rank(block: Block, values: FloatArray, depth: int) -> FloatArray:
    """Return a value of each distinct grade by rank of the ideal ranking, (queries x depth).

    The value is 0 below the last document of a query.
    """
    queries = block.queries
    grades = _ideal_grades(queries)
    rank, size = np.arange(depth), queries.sizes[block.members][:, None]
    offset = np.where(rank < size, queries.starts[block.members][:, None] + rank, 0)
    return np.where(rank < size, with_padding_value(values)[grades[offset]], 0.0)


@cached
def _ideal_grades(queries: LabelledQueries) -> AnyArray:
    """Return the grade indices of all ideal rankings, query after query."""
    ideal = np.empty_like(queries.grade_index)
    for members, grades in ideal_rankings(queries):
        rank = np.arange(grades.shape[1])
        is_document = rank < queries.sizes[members][:, None]
        ideal[(queries.starts[members][:, None] + rank)[is_document]] = grades[is_document]
    return ideal
