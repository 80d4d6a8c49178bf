"""The best value that any order of a query's documents has, and the mean over all of them.

The mean over all orders is the expectation under ties if all scores are equal, which a metric has anyway. The best
value is that of documents in descending order of their merit, if the metric's weights fall from rank to rank:

===========  ============================================================  =========================
kind         why swapping two neighbours into descending order never hurts  otherwise
===========  ============================================================  =========================
gains        the larger value gets the larger weight                        both are sorted
precisions   a value counts in the precision of each rank from its own on   it is not known
cascade      u p + v (1 - p) q >= u q + v (1 - q) p for p >= q, u >= v      it is not known
===========  ============================================================  =========================

Nothing is known of a function of the user's.
"""

from __future__ import annotations

import numpy as np

from ltr_metrics._ranks.native import Declaration
from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.metrics.base import Metric, RankMetric, is_of_user
from ltr_metrics.metrics.own import FunctionMetric
from ltr_metrics.metrics.relevance import BinaryMetric


def is_function_of_user(metric: Metric) -> bool:
    """Whether a function of the user's computes the values, of which nothing is known."""
    return isinstance(metric, FunctionMetric) or is_of_user(_defining_class(metric))


def _defining_class(metric: Metric) -> type[Metric]:
    """Return the class whose function computes the values of a metric that declares nothing."""
    return next(cls for cls in type(metric).__mro__ if "values" in vars(cls))


# -- metrics of known kinds -------------------------------------------------------------------------------------------


def merits_of_grades(metric: Metric, queries: LabelledQueries) -> FloatArray:
    """Return the merit of each distinct grade, for a metric of this package that is a function of the ranking."""
    # Any of them falls as a document of a higher grade, or a relevant one, moves down, or rises where lower is better.
    merits = metric.by_grade(queries) if isinstance(metric, BinaryMetric) else queries.grades
    is_usual = metric.higher_is_better == _defining_class(metric).higher_is_better
    return merits if is_usual else -merits


def merits_declared(metric: RankMetric, declaration: Declaration) -> FloatArray | None:
    """Return the merit of each grade index, or of each row if the metric declares that; None if none gives the best."""
    if declaration.kind.startswith("precisions"):
        falls = _falls(declaration._replace(by_rank=1 / declaration.by_rank)) and metric.higher_is_better
    else:
        falls = _falls(declaration)
    if declaration.kind == "precisions_by_hits":  # their mean, which is at most 1
        by_rank = declaration.by_rank
        falls &= declaration.by_rank_start is None and bool((by_rank == np.arange(1.0, len(by_rank) + 1)).all())
    if not falls or (declaration.divisors < 0).any():
        return None
    merits = declaration.by_grade if declaration.by_row is None else declaration.by_row
    assert merits is not None
    return merits if metric.higher_is_better else -merits


def _falls(declaration: Declaration) -> bool:
    """Whether the values by rank never rise within a query, and are at least 0, which they are below the cutoff."""
    by_rank = declaration.by_rank
    falls = by_rank[1:] <= by_rank[:-1]
    if declaration.by_rank_start is not None:
        falls[declaration.by_rank_start[1:] - 1] = True
    return bool(falls.all() and (by_rank >= 0).all())


def best_sums(metric: RankMetric, declaration: Declaration, queries: LabelledQueries) -> FloatArray:
    """Return the best values of sums of gains, (cutoffs x queries): if both factors are sorted (rearrangement)."""
    n = queries.n_ranked
    query, rank = np.repeat(np.arange(len(n)), n), np.arange(n.sum()) - np.repeat(queries.ranked_ends - n, n)
    rows = np.arange(queries.n_rows) if queries.ranked_rows is None else queries.ranked_rows
    value = _values_of_rows(declaration, queries)[rows]
    first = 0 if declaration.by_rank_start is None else declaration.by_rank_start[query]
    by_rank = declaration.by_rank[np.minimum(first + rank, len(declaration.by_rank) - 1)]
    best = np.empty_like(declaration.divisors)
    for row, k, divisor in zip(best, declaration.cutoffs, declaration.divisors, strict=True):
        sign = np.where(divisor < 0, -1.0, 1.0) * (1 if metric.higher_is_better else -1)
        weight = by_rank if k is None else np.where(rank < k, by_rank, 0.0)
        ascending = [one[np.lexsort((one, query))] for one in (value * sign[query], weight)]
        with np.errstate(divide="ignore", invalid="ignore"):
            row[:] = sign * np.bincount(query, ascending[0] * ascending[1], len(n)) / divisor
    return best


def _values_of_rows(declaration: Declaration, queries: LabelledQueries) -> FloatArray:
    if declaration.by_row is not None:
        return declaration.by_row
    assert declaration.by_grade is not None
    return np.asarray(declaration.by_grade[queries.grade_index])
