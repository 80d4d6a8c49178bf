"""The ideal ranking: all documents of a query, ranked or not, by descending grade."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._ranks.native import Declaration
from ltr_metrics._rows.checks import FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries, with_padding_value


def ideal_sums(
    queries: LabelledQueries,
    by_grade: FloatArray,
    cutoffs: Sequence[int | None],
    by_rank: FloatArray | float = 1.0,
    limit: IntArray | None = None,
) -> FloatArray:
    """Return the sum of a value over the first documents of each query's ideal ranking, for some cutoffs.

    Such a sum is what `RankMetric.divisor` needs for a metric that is a share of its best value.

    Parameters
    ----------
    queries : LabelledQueries
        The labels of all queries.
    by_grade : ndarray of float64 of shape (n_grades,)
        A value for each distinct grade, such as its gain.
    cutoffs : sequence of int or None
        The number of first ranks; None is the whole list.
    by_rank : ndarray of float64 of shape (depth,) or (n_queries, depth), or float, default 1
        A factor for each of the first ranks, such as a discount. ``depth`` is at least the highest
        cutoff, or the length of the longest query if that is smaller.
    limit : ndarray of int of shape (n_queries,), optional
        The highest cutoff of each query.

    Returns
    -------
    ndarray of float64 of shape (n_cutoffs, n_queries)
        The sum over the first ranks, or over all documents of a query that has fewer.

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
    ...         return ideal_sums(queries, queries.grades, [k])[0]
    >>> ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=[TopShare(k=1)])["top_share@1"]
    0.25
    """
    longest = int(queries.sizes.max())
    depths = [longest if k is None else min(k, longest) for k in cutoffs]
    depth = max(depths)
    of_rank = np.broadcast_to(by_rank, depth) if np.ndim(by_rank) == 0 else np.asarray(by_rank)[..., :depth]
    start = np.arange(queries.n_queries) * depth if of_rank.ndim == 2 else None
    if limit is not None:  # a row of factors for each distinct limit, or for each query
        distinct, row = np.unique(limit, return_inverse=True)
        of_rank = np.where(np.arange(depth) < (distinct if start is None else limit)[:, None], of_rank, 0.0)
        start = row * depth if start is None else start
    ones = np.ones((len(depths), queries.n_queries))
    flat = np.array(of_rank, dtype=np.float64).ravel()
    declaration = Declaration("gains", depths, with_padding_value(by_grade), None, flat, ones, start)
    return native.sums(queries, None, "ideal_of_all", declaration)
