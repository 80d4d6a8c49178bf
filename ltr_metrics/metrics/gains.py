"""Gains of grades, for all metrics that add up gains, and tables by whole grades, of gains or probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.words import NamedGain
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric, as_numbers, parameter

GAINS: tuple[NamedGain, ...] = get_args(NamedGain)
Gain = NamedGain | tuple[float, ...] | Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True)
class GainMetric(Metric):
    """Base of the metrics that have a gain for each grade.

    Parameters
    ----------
    gain : {"exp", "linear"}, sequence of float, or callable
        As for `DCG`.
    """

    gain: Gain = parameter("exp", tried=GAINS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gain, (list, tuple, np.ndarray)):
            object.__setattr__(self, "gain", as_table(self.gain, "gain table", self.NAME))
        is_function = callable(self.gain) and getattr(self.gain, "__name__", "") not in GAINS
        if not (is_function or self.gain in GAINS or isinstance(self.gain, tuple)):
            raise LtrValueError(
                f"The parameter gain of {self.NAME} must be one of 'exp', 'linear', a table or a function of another "
                f"name; got {self.gain!r}."
            )

    def check(self, queries: LabelledQueries) -> None:
        super().check(queries)
        self.gains(queries)

    def gains(self, queries: LabelledQueries) -> FloatArray:
        """Return the gain of each distinct grade.

        Parameters
        ----------
        queries : LabelledQueries
            The labels of all queries.

        Returns
        -------
        ndarray of float64 of shape (n_grades,)
            The gain of each distinct grade, in ascending order of the grades.

        Raises
        ------
        LtrValueError
            If a function of your own returns another number of gains, a grade is not in the table,
            or a gain overflows float64.
        """
        grades = queries.grades
        if self.gain == "exp":
            gains = _exponential(grades)
        elif self.gain == "linear":
            gains = grades
        elif isinstance(self.gain, tuple):
            gains = of_table(queries, self.gain, f"gain table of {self}")
        else:
            gains = np.array(self.gain(grades.copy()), dtype=np.float64)  # a copy: the function may keep its array
            if gains.shape != grades.shape:
                raise LtrValueError(
                    f"The gain of {self} must give one gain per grade: got {gains.shape} for {grades.shape}."
                )
        refuse_overflow(self, queries, gains, "Use the linear gain, or a gain table for such grades.")
        return gains


def refuse_overflow(metric: Metric, queries: LabelledQueries, gains: FloatArray, remedy: str) -> None:
    """Raise an error if a gain is not finite, or its sum over a query might not be."""
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(gains * queries.sizes.max())
    if not is_finite.all():
        raise LtrValueError(
            f"{metric} must have values whose sum over a query is finite in float64. The sum may overflow for grade "
            f"{queries.first_of(~is_finite)}. {remedy}"
        )


def refuse_falling(metric: Metric, queries: LabelledQueries, gains: FloatArray, remedy: str) -> None:
    """Raise an error if a gain is negative or falls: the ideal ranking would not be the best."""
    wrong = (gains < 0) | (np.diff(gains, prepend=0.0) < 0)
    if wrong.any():
        raise LtrValueError(
            f"The gain of {metric} must not be negative, and must not fall as the grade rises, because the ideal "
            f"ranking would then not be the best one. It breaks this rule at grade {queries.first_of(wrong)}. {remedy}"
        )


def _exponential(grades: FloatArray) -> FloatArray:
    """Return 2^y - 1 with all digits of small fractional grades, and exactly for whole ones."""
    whole = np.floor(grades)
    with np.errstate(over="ignore"):
        # exp2 may be inexact for whole numbers
        exact = np.ldexp(1.0, np.minimum(whole, 2000).astype(np.int64)) - 1
        small = np.expm1(np.minimum(grades, 1) * np.log(2))
        return np.where(whole == grades, exact, np.where(grades < 1, small, np.exp2(grades) - 1))


# -- tables by whole grades ----------------------------------------------------------------------


def as_table(values: Any, what: str, metric: str) -> tuple[float, ...]:
    """Return a table, given as a sequence of finite numbers, as a tuple."""
    table = as_numbers(values)
    if table is None:
        raise LtrValueError(f"The {what} of {metric} must be one finite number per grade, from 0 on. Got {values!r}.")
    return table


def of_table(queries: LabelledQueries, table: tuple[float, ...], what: str) -> FloatArray:
    """Return the entry for each distinct grade."""
    outside = (queries.grades != np.floor(queries.grades)) | (queries.grades >= len(table))
    if outside.any():
        grade = queries.grades[int(outside.argmax())]
        remedy = "A table has entries for whole grades only."
        if grade == np.floor(grade):
            remedy = "Extend the table." if len(table) > 2 else "Extend the table, or make the labels binary: y >= 1."
        raise LtrValueError(
            f"The {what} has entries for the whole grades 0 to {len(table) - 1}: got {queries.first_of(outside)}. "
            f"{remedy}"
        )
    return np.asarray(table, dtype=np.float64)[queries.grades.astype(np.intp)]
