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


def checked(
    name: Declared, what: str, values: Any, queries: LabelledQueries, argument: int | None = None
) -> AnyArray | None:
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
    argument : int or None
        The further argument that it was called with, such as the number of ranks.
    """
    if name == "by_row" and values is None:
        return None
    try:
        array = np.asarray(values, dtype=np.float64, order="C")  # as the compiled core reads it
    except (TypeError, ValueError):
        raise LtrTypeError(f"{what} must return numbers. Got {values!r}.") from None
    shapes = _shapes(name, queries, argument)
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


def _shapes(name: Declared, queries: LabelledQueries, depth: int | None) -> list[tuple[int, ...]]:
    if name in ("by_grade", "gains", "relevant"):
        return [(len(queries.grades),)]
    if name == "by_row":
        return [(queries.n_rows,)]
    if name in PER_QUERY:
        return [(), (queries.n_queries,)]
    assert depth is not None
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
    if kind.startswith("precisions"):
        if (by_grade < 0).any():
            raise LtrValueError(
                f"{what}.by_grade must be at least 0 for KIND='precisions', where a document counts if its value is "
                f"above 0. Got {_at_grade(by_grade, by_grade.argmin(), queries)}."
            )
        if kind == "precisions_by_hits" and not np.isin(by_grade, (0.0, 1.0)).all():
            index = int(np.argmin(np.isin(by_grade, (0.0, 1.0))))
            raise LtrValueError(
                f"{what}.by_grade must be 0 or 1 with denominator=hits, which counts relevant documents. "
                f"Got {_at_grade(by_grade, index, queries)}."
            )
        if (by_rank <= 0).any():
            raise LtrValueError(
                f"{what}.by_rank must be above 0 for KIND='precisions', which divides by it. Got {by_rank.min():g}."
            )
    if kind == "cascade":
        rule = f"{what}.by_grade must hold probabilities, from 0 to 1, for KIND='cascade'"
        stop = queries.highest(by_grade) * scale if scale.ndim else by_grade * scale
        if by_grade.min() < 0 or (stop.max() > 1 and not scale.ndim):
            index = int(by_grade.argmin() if by_grade.min() < 0 else stop.argmax())
            raise LtrValueError(f"{rule}. Got {_at_grade(by_grade if by_grade.min() < 0 else stop, index, queries)}.")
        if stop.max() > 1 or scale.min() < 0:
            query = int(stop.argmax() if stop.max() > 1 else scale.argmin())
            raise LtrValueError(f"{rule}, after scale. The highest of query {queries.qid[query]} is {stop[query]:g}.")


def _at_grade(by_grade: FloatArray, index: Any, queries: LabelledQueries) -> str:
    grade = queries.grades[index]
    return f"{by_grade[index]:g} for grade {grade:g}, first at {queries.first_row_of_grade(grade)}"
