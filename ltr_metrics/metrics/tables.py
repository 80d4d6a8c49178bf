"""Parameters that are tables by whole grades, of gains or probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError


def as_table(values: Any, what: str, metric: str) -> tuple[float, ...]:
    """Return a table, given as a sequence of finite numbers, as a tuple."""
    try:
        table = np.asarray(values)
    except ValueError:  # rows of different lengths
        table = np.zeros(0)
    if table.ndim != 1 or not table.size or table.dtype.kind not in "iuf" or not np.isfinite(table).all():
        raise LtrValueError(
            f"The {what} of {metric} must be one finite number per grade, from grade 0 on. Got {values!r}."
        )
    return tuple(table.astype(np.float64).tolist())


def of_table(queries: LabelledQueries, table: tuple[float, ...], what: str) -> FloatArray:
    """Return the entry for each distinct grade."""
    outside = (queries.grades != np.floor(queries.grades)) | (queries.grades >= len(table))
    if outside.any():
        grade = queries.grades[int(outside.argmax())]
        remedy = "A table has entries for whole grades only."
        if grade == np.floor(grade):
            remedy = "Extend the table." if len(table) > 2 else "Extend the table, or make the labels binary: y >= 1."
        raise LtrValueError(
            f"The {what} has entries for the whole grades 0 to {len(table) - 1}: got {grade:g} at "
            f"{queries.first_row_of_grade(grade)}. {remedy}"
        )
    return np.asarray(table, dtype=np.float64)[queries.grades.astype(np.intp)]
