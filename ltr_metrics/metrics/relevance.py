"""Which documents are relevant, by the parameter ``rel``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ltr_metrics._rows.checks import BoolArray, FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric, is_number, spell


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(Metric):
    """Base of the metrics that ask whether a document is relevant.

    Parameters
    ----------
    rel : float or str, optional
        Lowest grade of a relevant document.
        None, the default, means 1; labels strictly between 0 and 1 are then an error.
        ``">0.5"`` means above that number.
        ``"binary"`` means 1; labels other than 0 and 1 are then an error.
    """

    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    rel: float | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rel is None or self.rel == "binary":
            return
        above = re.fullmatch(r">[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", str(self.rel), re.ASCII | re.IGNORECASE)
        limit = float(above[0][1:]) + 0.0 if above else self.rel  # turns -0.0 into 0.0
        if above:
            object.__setattr__(self, "rel", f">{spell(limit)}")
        if isinstance(limit, str) or not is_number(limit) or limit < 0 or self.rel == 0:
            raise LtrValueError(
                f"The parameter rel of {self.NAME} must be a number above 0, '>0.5' for above that number, or "
                f"'binary'. Got {self.rel!r}."
            )

    def check(self, queries: LabelledQueries) -> None:
        grades = queries.grades
        if self.rel is None:
            is_between = between_0_and_1(grades)
            if is_between.any():
                raise LtrValueError(
                    f"Some labels are strictly between 0 and 1 ({queries.first_of(is_between)}), so {self.NAME} cannot "
                    "tell which documents are relevant. Give the lowest relevant grade, for example "
                    f"{replace(self, rel=0.5)}."
                )
        elif self.rel == "binary":
            is_other = (grades != 0) & (grades != 1)
            if is_other.any():
                raise LtrValueError(
                    f"{self.NAME}(rel=binary) must have labels 0 and 1, as in XGBoost and in tools that read lists of "
                    f"ids: got {queries.first_of(is_other)}. Make the labels binary: y >= 1. Or give the lowest "
                    f"relevant grade, for example {replace(self, rel=1)}."
                )

    def relevant(self, queries: LabelledQueries) -> BoolArray:
        """Return whether a document of each distinct grade is relevant.

        Parameters
        ----------
        queries : LabelledQueries
            The labels of all queries; ``queries.grades`` are the distinct grades, ascending.

        Returns
        -------
        ndarray of bool of shape (n_grades,)
            One flag per distinct grade.
        """
        is_above = isinstance(self.rel, str) and self.rel != "binary"
        limit = float(str(self.rel)[1:]) if is_above else 1.0 if self.rel in (None, "binary") else float(self.rel)
        if queries.has_float32_labels:  # hosts keep labels as float32, so .7 must reach rel=0.7
            limit = float(np.float32(limit))
        return np.asarray(queries.grades > limit if is_above else queries.grades >= limit)

    def by_grade(self, queries: LabelledQueries) -> FloatArray:
        """Return 1 for each distinct grade that is relevant, and 0 for the others.

        Parameters
        ----------
        queries : LabelledQueries
            The labels of all queries.

        Returns
        -------
        ndarray of float64 of shape (n_grades,)
            0 or 1, in ascending order of the grades.
        """
        return self.relevant(queries).astype(np.float64)

    def n_relevant(self, queries: LabelledQueries) -> FloatArray:
        """Return R, the relevant documents of each query, ranked or not; NaN instead of 0.

        Parameters
        ----------
        queries : LabelledQueries
            The labels of all queries.

        Returns
        -------
        ndarray of float64 of shape (n_queries,)
            The number R of each query.
        """
        count = queries.count_by_query(self.relevant(queries))
        return np.where(count > 0, count, np.nan)


def between_0_and_1(grades: FloatArray) -> BoolArray:
    """Whether each grade is strictly between 0 and 1, as click rates are: it is then open which ones are relevant."""
    return np.asarray((grades > 0) & (grades < 1))
