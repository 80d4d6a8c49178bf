"""The kinds of sums, and the shapes and domains of what a metric's methods declare, checked when first used.

===========  =======================================================  ===========================
kind         what a rank adds (g is the grade there)                  metrics
===========  =======================================================  ===========================
gains        by_grade[g] x by_rank[rank]                              CG, DCG, NDCG, precision, ...
precisions   (sum of by_grade so far if by_grade[g] > 0) / by_rank    MAP, Q-measure
cascade      P(the user stops here) x by_rank[rank], where by_grade   ERR, PFound, MRR, hit
             has P(the user stops at a document that is reached)
===========  =======================================================  ===========================

The core has a fourth kind, "precisions_by_hits", for ``MAP(denominator="hits")``: the sum of the
precisions, divided by the number of relevant documents down to the cutoff. Under ties this number is
random, so it cannot be a divisor. No class can declare this kind.

The functions of these names in ``_ranks/sums.hpp`` say how each kind treats ties.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrTypeError, LtrValueError

Kind = Literal["gains", "precisions", "cascade"]
MethodName = Literal[
    "by_grade", "by_row", "by_rank", "by_query", "divisor", "gains", "discounts", "relevant", "n_relevant"
]  # fmt: skip
NamedResult = MethodName | Literal["divisors", "values", "query_weight"]
RESULTS: tuple[NamedResult, ...] = (*get_args(MethodName), "divisors", "values", "query_weight")
MAY_BE_UNDEFINED = ("divisor", "n_relevant", "divisors", "values")  # NaN for a query on which the metric is undefined
MAY_BE_NONE = ("by_row", "query_weight")


def checked(
    name: NamedResult, owner: str, values: Any, queries: LabelledQueries, argument: Any = None
) -> AnyArray | None:
    """Return what a method of a user's class has returned as a new array, if it has the right shape and is finite.

    All that such a method returns passes here before anything reads it, so it may change or be filled again later.

    Parameters
    ----------
    name : str
        The method.
    owner : str
        The name of the class.
    values : array-like
        What it returned.
    queries : LabelledQueries
        The queries that it was called with.
    argument : int, list of int, or None
        The further argument that it was called with, such as the number of ranks.
    """
    if name in MAY_BE_NONE and values is None:
        return None
    what, (what_it_has, shapes) = f"{owner}.{name}", _shapes(name, queries, argument)
    wanted = f"{what} must return {what_it_has}: {' or '.join(map(str, shapes))}."
    array = _as_floats(values)
    if array is None:
        raise LtrTypeError(f"{wanted} Got {values!r}, which is not an array of numbers.")
    if array.shape not in shapes:
        raise LtrValueError(f"{wanted} Got the shape {array.shape}.")
    if name == "relevant":
        if not np.isin(array, (0.0, 1.0)).all():
            raise LtrValueError(f"{what} must return True or False for each distinct grade. Got {values!r}.")
        return array.astype(np.bool_)
    if name not in MAY_BE_UNDEFINED:
        refuse_infinite(owner, **{name: array})
    if name == "query_weight" and (array < 0).any():
        raise LtrValueError(f"{what} must return numbers that are not negative. Got {array.min():g}.")
    return array


def refuse_infinite(owner: str, **declared: FloatArray | None) -> None:
    """Raise an error if a method has returned infinity or NaN, as some parameters lead beyond float64."""
    for name, array in declared.items():
        if array is not None and not np.isfinite(array).all():
            at = np.argwhere(~np.isfinite(array))[0].tolist()
            raise LtrValueError(f"{owner}.{name} must return finite numbers. Got {array[tuple(at)]} at the index {at}.")


def _as_floats(values: Any) -> FloatArray | None:
    """Return a copy as the compiled core reads it, or None if the values are not numbers."""
    if values is None:
        return None
    try:
        array = np.asarray(values)
        return np.array(array, dtype=np.float64, order="C") if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError):  # rows of different lengths, and objects
        return None


def _shapes(name: NamedResult, queries: LabelledQueries, argument: Any) -> tuple[str, list[tuple[Any, ...]]]:
    """Return what a method has a value for, in words, and the shapes that it may return."""
    if name in ("by_grade", "gains", "relevant"):
        return "one value for each distinct grade, an array of shape", [(len(queries.grades),)]
    if name == "by_row":
        return "one value for each row, an array of shape", [(queries.n_rows,)]
    if name in ("by_query", "divisor", "n_relevant"):
        return "one number, or one for each query, an array of shape", [(), (queries.n_queries,)]
    if name in ("values", "query_weight"):
        return "one number for each query, an array of shape", [(queries.n_queries,)]
    if name == "divisors":
        return "one number for each cutoff and query, an array of shape", [(len(argument), queries.n_queries)]
    of_ranks = "for each rank, for each query and rank, or for each rank of each query, query after query"
    return f"one number, or one {of_ranks}", [(), (argument,), (queries.n_queries, argument), (queries.n_rows,)]


def refuse_outside_domain(
    kind: str, what: str, by_grade: FloatArray, by_rank: FloatArray, by_query: FloatArray, queries: LabelledQueries
) -> None:
    """Raise an error if a kind of sum has no meaning for the values that a metric declares.

    Parameters
    ----------
    kind : str
        ``KIND`` of the metric; "gains" have a meaning for all numbers.
    what : str
        The name of the metric's class.
    by_grade, by_rank, by_query : ndarray
        The values.
    queries : LabelledQueries
        All queries.
    """

    def require(is_right: BoolArray, values: FloatArray, rule: str) -> None:
        if not is_right.all():
            at = int(np.where(is_right, -1, abs(values - 0.5)).argmax())  # the farthest one from 0 to 1
            grade = queries.first_of(np.arange(len(values)) == at)
            raise LtrValueError(f"{what}.by_grade must {rule}. Got {values[at]:g} for grade {grade}.")

    if kind.startswith("precisions"):
        counts = "where a document counts if its value is above 0"
        require(by_grade >= 0, by_grade, f"be at least 0 for KIND='precisions', {counts}")
        if kind == "precisions_by_hits":
            rule = "be 0 or 1 with denominator=hits, which counts relevant documents"
            require(np.isin(by_grade, (0.0, 1.0)), by_grade, rule)
        if (by_rank <= 0).any():
            raise LtrValueError(
                f"{what}.by_rank must be above 0 for KIND='precisions', which divides by it. Got {by_rank.min():g}."
            )
    if kind == "cascade":
        rule = "hold probabilities, from 0 to 1, for KIND='cascade'"
        stop = by_grade if by_query.ndim else by_grade * by_query
        require((stop >= 0) & ((stop <= 1) | bool(by_query.ndim)), stop, rule)
        highest = queries.highest(by_grade) * by_query if by_query.ndim else stop
        if highest.max() > 1 or by_query.min() < 0:
            query = int(highest.argmax() if highest.max() > 1 else by_query.argmin())
            of_query = f"The highest of query {queries.qid[query]} is {highest[query]:g}."
            raise LtrValueError(f"{what}.by_grade must {rule}, after by_query. {of_query}")


def by_rank_of_queries(by_rank: AnyArray, queries: LabelledQueries, depth: int) -> tuple[FloatArray, AnyArray | None]:
    """Return the values by rank as a flat array, and where those of each query begin; None if all share them."""
    if by_rank.ndim == 2:
        return by_rank.ravel(), np.arange(queries.n_queries) * depth
    if by_rank.ndim and len(by_rank) != depth:  # query after query
        return by_rank, queries.starts
    return np.array(np.broadcast_to(by_rank, depth)), None
