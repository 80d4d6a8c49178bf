"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics._engine.words import Graded
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import RankMetric, is_number
from ltr_metrics.metrics.gains import overflows, refuse_overflow
from ltr_metrics.metrics.relevance import BinaryMetric


@dataclass(frozen=True, kw_only=True)
class RBP(BinaryMetric, RankMetric):
    r"""Rank-biased precision; higher is better, from 0 to 1 (for a list without end).

    .. math:: RBP@k = (1 - p) \sum_{i=1}^{\min(k, n)} rel_i \, p^{i-1}

    where :math:`rel_i` is 1 for a relevant document and 0 for another. With ``graded`` it is
    :math:`y_i / max\_grade` or :math:`y_i`.
    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document, unless ``graded``; None means 1. See `Precision`.
    p : float, default 0.8
        Persistence: the probability that the user continues to the next document, between 0 and 1.
    graded : {None, "max", "label"}, optional
        ``"max"`` takes the grade as a share of ``max_grade``, instead of a relevance of 0 or 1.
        ``"label"`` takes the grade itself, as ranx does. The value may then be above 1.
    max_grade : float, default 4
        The highest grade of the scale, for ``graded="max"``. A label above it is an error.

    Raises
    ------
    LtrValueError
        If ``p`` is not between 0 and 1, if ``graded`` is combined with ``rel``, or if ``max_grade``
        is given without ``graded="max"``. On evaluation: for a label above ``max_grade``, for
        labels whose sum overflows float64, or as for `Precision`.

    See Also
    --------
    ERR : A user model in which a good document ends the search.

    References
    ----------
    Moffat & Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> round(ltr.evaluate([1, 0, 1], [3, 2, 1], group=[3], metrics=["rbp(p=0.5)"])["rbp(p=0.5)"], 6)
    0.625
    """

    NAME: ClassVar[str] = "rbp"

    p: float = 0.8
    graded: Graded | None = None
    max_grade: float = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.p) and 0 < self.p < 1):
            raise LtrValueError(f"The parameter p of rbp must be a number between 0 and 1. Got {self.p!r}.")
        if self.graded not in (None, *get_args(Graded)):
            raise LtrValueError(f"The parameter graded of rbp must be None, 'max' or 'label'. Got {self.graded!r}.")
        if not (is_number(self.max_grade) and self.max_grade > 0):
            raise LtrValueError(f"The parameter max_grade of rbp must be a number above 0. Got {self.max_grade!r}.")
        if self.graded and self.rel is not None:
            raise LtrValueError(
                f"rbp(graded={self.graded}) takes grades as they are, so rel has no effect. Leave one of them out."
            )
        if self.graded != "max" and self.max_grade != 4:
            raise LtrValueError("The parameter max_grade of rbp is for graded=max. Write rbp(graded=max,max_grade=2).")

    def check(self, queries: LabelledQueries) -> None:
        if not self.graded:
            super().check(queries)
        elif self.graded == "label":
            if overflows(queries, queries.grades):
                refuse_overflow(self, queries, queries.grades, "Scale such grades down.")
        elif queries.grades[-1] > self.max_grade:
            raise LtrValueError(
                f"rbp(graded=max) must have no label above max_grade={self.max_grade:g}: got {queries.grades[-1]:g} at "
                f"{queries.first_row_of_grade(queries.grades[-1])}. Give the scale's highest grade, for example "
                f"{replace(self, max_grade=queries.grades[-1])}."
            )

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        if self.graded:
            grades = ranking.queries.grades
            gains = ranking.expected(grades if self.graded == "label" else grades / self.max_grade, depth)
        else:
            gains = super().contributions(ranking, depth)
        return np.asarray(gains * ((1 - self.p) * self.p ** np.arange(depth)))
