"""The best value that any order of a query's documents has, and the mean over all of them.

The mean over all orders is the expectation under ties if all scores are equal, which a metric has anyway. The best
value is that of documents in descending order of their merit, if the metric's weights fall from rank to rank:

===========  ============================================================  =========================
kind         why swapping two neighbours into descending order never hurts  otherwise
===========  ============================================================  =========================
gains        the larger value gets the larger weight                        both are sorted
precisions   a value counts in the precision of each rank from its own on   every order is evaluated
cascade      u p + v (1 - p) q >= u q + v (1 - q) p for p >= q, u >= v      every order is evaluated
===========  ============================================================  =========================

A metric that is a function of the user's is unknown, so every order is evaluated if these are few.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ltr_metrics._ranks.native import Declaration, sums
from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrError, LtrValueError, one_line
from ltr_metrics.metrics.base import Metric, RankMetric, is_of_user
from ltr_metrics.metrics.own import FunctionMetric, all_orders, refuse_too_many_orders, values_of_orders
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
    merits = metric.declared("by_grade", queries) if isinstance(metric, BinaryMetric) else queries.grades
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


# -- every order ------------------------------------------------------------------------------------------------------


class _OrdersOnly(Ranking):
    """A ranking that stands for an order, and not for the scores that gave it."""

    @property
    def scores(self) -> AnyArray:
        raise LtrValueError("it reads the scores, and an order has none.")


def over_all_orders(metric: Metric, queries: LabelledQueries) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the best value over all orders of each query's documents, by evaluating each of them.

    Raises
    ------
    LtrValueError
        If a query has too many orders, or some with a value and others without one.
    """
    mean, best = np.full(queries.n_queries, np.nan), np.full(queries.n_queries, np.nan)
    for query, values in enumerate(map(np.asarray, _values_by_query(metric, queries))):
        if np.isnan(values).all():
            continue
        if not np.isfinite(values).all():
            qid = one_line(queries.qid[query])
            raise LtrValueError(f"it has a number for some orders of the documents of query {qid}, none for others.")
        mean[query] = math.fsum(values) / len(values)
        best[query] = np.max(values) if metric.higher_is_better else np.min(values)
    return mean, best


def _values_by_query(metric: Metric, queries: LabelledQueries) -> Iterable[Any]:
    """Return the values of all orders of each query's documents."""
    if isinstance(metric, FunctionMetric):
        return values_of_orders(metric, queries)
    n, rows = queries.n_ranked, np.arange(queries.n_rows) if queries.ranked_rows is None else queries.ranked_rows
    kind = _kinds(metric, queries)[rows]
    rows_by_kind: list[IntArray] = []
    orders: list[Iterator[list[int]]] = []
    for query, (end, size) in enumerate(zip(queries.ranked_ends, n, strict=True)):
        of_query = slice(end - size, end)
        counts = np.unique(kind[of_query], return_counts=True)[1].tolist()
        refuse_too_many_orders(queries, query, counts)
        rows_by_kind.append(rows[of_query][np.argsort(kind[of_query], kind="stable")])
        orders.append(all_orders(counts) if counts else iter([[]]))
    values: list[list[float]] = [[] for _ in n]
    scores = np.zeros(queries.n_rows)
    is_new = np.ones(len(n), dtype=np.bool_)
    while True:
        _write_next(orders, rows_by_kind, scores, is_new)
        if not is_new.any():
            return values
        value = _values(metric, queries, scores)
        for query in np.flatnonzero(is_new).tolist():
            values[query].append(float(value[query]))


def _values(metric: Metric, queries: LabelledQueries, scores: FloatArray) -> FloatArray:
    if isinstance(metric, RankMetric):
        return np.asarray(sums(queries, scores, "stable", metric.declaration(queries, (metric.k,)))[0])
    try:
        return np.broadcast_to(metric.values(_OrdersOnly(queries, scores, "stable")), queries.n_queries)
    except LtrError:
        raise
    except Exception as error:
        raise LtrValueError(f"it raised {type(error).__name__} for some order: {error}") from error


def _write_next(orders: list[Iterator[list[int]]], rows: list[IntArray], scores: FloatArray, is_new: BoolArray) -> None:
    """Write the scores of the next order of each query that has one."""
    for query in np.flatnonzero(is_new).tolist():
        order = next(orders[query], None)
        is_new[query] = order is not None
        if order:
            scores[rows[query]] = -np.argsort(order, kind="stable")  # the ranks of the documents of each kind


def _kinds(metric: Metric, queries: LabelledQueries) -> IntArray:
    """Return a number for each row; rows with the same one are interchangeable."""
    if isinstance(metric, RankMetric):
        declaration = metric.declaration(queries, (metric.k,))
        return np.asarray(np.unique(_values_of_rows(declaration, queries), return_inverse=True)[1])
    return np.arange(queries.n_rows)
