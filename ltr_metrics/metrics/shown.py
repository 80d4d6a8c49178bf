"""Metrics of the first k documents that do not look at grades: judged, mean_of and sum_of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import RankMetric

OF_ROWS = RankMetric.UNREAD | {"by_grade": "Override by_row, which counts instead."}


class MeanOverTop(RankMetric):
    """Base of the means over the first min(k, n) documents; undefined if n = 0."""

    UNREAD: ClassVar[dict[str, str]] = OF_ROWS

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray:
        n = queries.n_ranked if k is None else np.minimum(queries.n_ranked, k)
        return np.where(n > 0, n, np.nan)


class Judged(MeanOverTop):
    r"""Share of the first k documents that are judged; if it is low, distrust the other metrics.

    .. math:: judged@k = \frac{1}{\min(k, n)} \sum_{i=1}^{\min(k, n)} [\text{document } i \text{ is judged}]

    From 0 to 1. Undefined where no document has a rank.
    The judgments are the option ``judged`` of `ltr_metrics.evaluate`; without it, all documents are
    judged.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.

    See Also
    --------
    audit : The share of judged documents beside other facts about the data.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([1, 0, 0], [3, 2, 1], group=[3], metrics=["judged@2"], judged=[True, False, True])["judged@2"]
    0.5
    """

    NAME: ClassVar[str] = "judged"
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def by_row(self, queries: LabelledQueries) -> FloatArray:
        return np.ones(queries.n_rows) if queries.judged is None else queries.judged.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class ColumnMetric(RankMetric):
    """Base of the metrics of a further column, which the option ``columns`` of `ltr_metrics.evaluate` passes."""

    POSITIONAL: ClassVar[str | None] = "column"
    UNREAD: ClassVar[dict[str, str]] = OF_ROWS

    column: str = field(kw_only=False)  # the one parameter that may be positional, as in the name

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not re.fullmatch(r"[\w.-]+", self.column):
            raise LtrValueError(
                f"{self.NAME} must name a column in letters, digits, '_', '.' and '-', for example "
                f"{self.NAME}(margin)@10. Got {self.column!r}."
            )

    @property
    def needed_columns(self) -> tuple[str, ...]:
        return (self.column,)

    def check(self, queries: LabelledQueries) -> None:
        super().check(queries)
        column = np.abs(queries.column(self.column))
        with np.errstate(over="ignore"):
            is_finite = np.isfinite(column * float(queries.sizes.max()))
        if not is_finite.all():
            row = int(is_finite.argmin())
            raise LtrValueError(
                f"{self} must have values whose sum over a query is finite in float64. The sum may overflow for "
                f"{queries.column(self.column)[row]:g} at {queries.where(row)}. Divide the column by a number."
            )

    def by_row(self, queries: LabelledQueries) -> FloatArray:
        return queries.column(self.column)


@dataclass(frozen=True, kw_only=True)
class MeanOf(ColumnMetric, MeanOverTop):
    r"""Mean of a further column over the first k documents, in the column's own unit.

    .. math:: \frac{1}{\min(k, n)} \sum_{i=1}^{\min(k, n)} c_i

    Undefined where no document has a rank.
    The columns are the option ``columns`` of `ltr_metrics.evaluate`.

    Parameters
    ----------
    column : str
        Name of the column, in letters, digits, ``_``, ``.`` and ``-``.
    k : int, optional
        Cutoff; None is the whole list.

    Raises
    ------
    LtrValueError
        If the name of the column has other characters.
        On evaluation: if there is no such column.

    See Also
    --------
    SumOf : The sum instead of the mean.
    evaluate : The option ``columns`` passes the columns.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> margin = {"margin": [0.5, 2.0, 1.0]}
    >>> result = ltr.evaluate([1, 0, 0], [3, 2, 1], group=[3], metrics=["mean_of(margin)@2"], columns=margin)
    >>> result["mean_of(margin)@2"]
    1.25
    """

    NAME: ClassVar[str] = "mean_of"


@dataclass(frozen=True, kw_only=True)
class SumOf(ColumnMetric):
    r"""Sum of a further column over the first k documents, such as revenue, in the column's unit.

    .. math:: \sum_{i=1}^{\min(k, n)} c_i

    Always defined: 0 where no document has a rank. Higher counts as better.
    The columns are the option ``columns`` of `ltr_metrics.evaluate`.

    Parameters
    ----------
    column : str
        Name of the column, in letters, digits, ``_``, ``.`` and ``-``.
    k : int, optional
        Cutoff; None is the whole list.

    Raises
    ------
    LtrValueError
        If the name of the column has other characters.
        On evaluation: if there is no such column.

    See Also
    --------
    MeanOf : The mean instead of the sum.
    evaluate : The option ``columns`` passes the columns.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> revenue = {"revenue": [0.5, 2.0, 1.0]}
    >>> result = ltr.evaluate([1, 0, 0], [3, 2, 1], group=[3], metrics=["sum_of(revenue)@2"], columns=revenue)
    >>> result["sum_of(revenue)@2"]
    2.5
    """

    NAME: ClassVar[str] = "sum_of"
