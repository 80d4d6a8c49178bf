"""What the methods of a metric declare: the shape and the domain of each, checked when it is first used."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics.errors import LtrTypeError, LtrValueError

Declared = Literal[
    "by_grade", "by_row", "by_rank", "scale", "divisor", "gains", "discounts", "relevant", "n_relevant"
]  # fmt: skip
MAY_BE_UNDEFINED = ("divisor", "n_relevant")  # NaN for a query on which the metric is undefined
PER_QUERY = ("scale", *MAY_BE_UNDEFINED)
WORDS = dict.fromkeys(("by_grade", "gains", "relevant"), "one value for each distinct grade, an array of shape")
WORDS |= dict.fromkeys(PER_QUERY, "one number, or one for each query, an array of shape")
WORDS |= {"by_row": "one value for each row, an array of shape"}
PER_RANK = (
    "one number, or one for each rank, for each query and rank, or for each rank of each query, query after query"
)


def checked(name: Declared, what: str, values: Any, queries: LabelledQueries, depth: int) -> AnyArray:
    """Return the values of a method as an array, if they have its shape and are finite.

    Parameters
    ----------
    name : str
        The method.
    what : str
        The words for it in messages.
    values : array-like
        What it returned.
    queries : LabelledQueries
        The queries that it was called with.
    depth : int
        The number of ranks that a method with a value for each rank was called with.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise LtrTypeError(f"{what} must return numbers. Got {values!r}.") from None
    shapes = _shapes(name, queries, depth)
    if array.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise LtrValueError(f"{what} must return {WORDS.get(name, PER_RANK)}: {allowed}. Got the shape {array.shape}.")
    if name == "relevant":
        if not np.isin(array, (0.0, 1.0)).all():
            raise LtrValueError(f"{what} must return True or False for each distinct grade. Got {values!r}.")
        return array.astype(np.bool_)
    is_finite = np.isfinite(array)
    if name not in MAY_BE_UNDEFINED and not is_finite.all():
        index = ", ".join(map(str, np.argwhere(~is_finite)[0].tolist()))
        raise LtrValueError(f"{what} must return finite numbers. Got {array[~is_finite][0]} at the index [{index}].")
    return array


def _shapes(name: Declared, queries: LabelledQueries, depth: int) -> list[tuple[int, ...]]:
    if name in ("by_grade", "gains", "relevant"):
        return [(len(queries.grades),)]
    if name == "by_row":
        return [(queries.n_rows,)]
    if name in PER_QUERY:
        return [(), (queries.n_queries,)]
    return [(), (depth,), (queries.n_queries, depth), (queries.n_rows,)]


def refuse_outside_domain(
    kind: str, what: str, by_grade: FloatArray, by_rank: FloatArray, scale: FloatArray, queries: LabelledQueries
) -> None:
    """Raise an error if a kind of sum has no meaning for the values that a metric declares.

    Parameters
    ----------
    kind : str
        ``KIND`` of the metric; "gains" have a meaning for all numbers.
    what : str
        The name of the metric's class.
    by_grade, by_rank, scale : ndarray
        The values.
    queries : LabelledQueries
        All queries.
    """
    if kind == "precisions":
        if (by_grade < 0).any():
            raise LtrValueError(
                f"{what}.by_grade must be at least 0 for KIND='precisions', where a document counts if its value is "
                f"above 0. Got {_at_grade(by_grade, by_grade.argmin(), queries)}."
            )
        if (by_rank <= 0).any():
            raise LtrValueError(
                f"{what}.by_rank must be above 0 for KIND='precisions', which divides by it. Got {by_rank.min():g}."
            )
    if kind == "cascade":
        if (by_grade < 0).any():
            raise LtrValueError(
                f"{what}.by_grade must hold probabilities, from 0 to 1, for KIND='cascade'. "
                f"Got {_at_grade(by_grade, by_grade.argmin(), queries)}."
            )
        highest = queries.highest(by_grade) * scale
        if (highest > 1).any() or (scale < 0).any():
            query = int(np.argmax(highest))
            raise LtrValueError(
                f"{what}.by_grade must hold probabilities, from 0 to 1, for KIND='cascade'. The highest of query "
                f"{queries.qid[query]} is {highest[query]:g}."
            )


def _at_grade(by_grade: FloatArray, index: Any, queries: LabelledQueries) -> str:
    grade = queries.grades[index]
    return f"{by_grade[index]:g} for grade {grade:g}, first at {queries.first_row_of_grade(grade)}"
