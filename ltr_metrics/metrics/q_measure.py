"""Q-measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.metrics.base import RankMetric, number, parameter
from ltr_metrics.metrics.gains import GAINS, Gain, GainMetric, refuse_falling
from ltr_metrics.metrics.kinds import Kind
from ltr_metrics.metrics.relevance import BinaryMetric


@dataclass(frozen=True, kw_only=True)
class QMeasure(GainMetric, BinaryMetric, RankMetric):
    r"""Q-measure: average precision for graded relevance; higher is better, from 0 to 1 (perfect).

    .. math:: Q@k = \frac{1}{\min(R, k)} \sum_{i=1}^{\min(k, n)} [y_i \ge rel] \,
        \frac{C(i) + \beta \, cg(i)}{i + \beta \, cg^*(i)}

    C(i) is the number of relevant documents down to rank i, and cg(i) is the sum of their gains. A
    document that is not relevant has no gain. :math:`cg^*(i)` is cg(i) of the ideal ranking, which
    has all documents of the query, ranked or not. R is the number of its relevant documents.
    Undefined where R = 0. With :math:`\beta = 0` it is average precision.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.
    gain : {"linear", "exp"}, sequence of float, or callable, default "linear"
        Gain of a grade, as for `DCG`. It must not be negative, nor fall as the grade rises.
    beta : float, default 1
        Weight of the gains, at least 0. With large values the rank counts less.

    Raises
    ------
    LtrValueError
        If ``beta`` is not a finite number of at least 0. For ``rel`` as for `Precision`.
        On evaluation: if a gain is negative, or falls as the grade rises.

    See Also
    --------
    MAP : The same for relevance of 0 or 1.
    NDCG : Another metric for graded relevance.

    References
    ----------
    Sakai, Ranking the NTCIR systems based on multigrade relevance, AIRS 2004.
    The divisor with a cutoff is that of NTCIREVAL.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> round(ltr.evaluate([0, 3, 0, 2], [9, 8, 7, 6], group=[4], metrics=["q"])["q"], 6)
    0.674603
    """

    NAME: ClassVar[str] = "q"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"q_measure": {}}

    KIND: ClassVar[Kind] = "precisions"

    gain: Gain = parameter("linear", tried=GAINS)
    beta: float = number(1, "of at least 0", lambda beta: beta >= 0, tried=(0, 1, 10))

    def check(self, queries: LabelledQueries) -> None:
        super().check(queries)
        refuse_falling(self, queries, self.by_grade(queries), "Choose a gain that rises with the grade.")

    def by_grade(self, queries: LabelledQueries) -> FloatArray:
        return np.where(self.relevant(queries), 1 + self.beta * self.gains(queries), 0.0)

    def by_rank(self, queries: LabelledQueries, depth: int) -> FloatArray:
        """Return i + beta cg*(i) at the ranks i = 1, 2, ... of each query, query after query."""
        by_grade = self.by_grade(queries)
        # A relevant document adds 1 + beta g, and any other one adds 1.
        grades = native.ideal_grades(queries)
        terms = np.append(1.0, np.where(by_grade > 0, by_grade, 1.0))[grades]
        return native.accumulate(terms, queries.starts)

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray:
        n_relevant = self.n_relevant(queries)
        return n_relevant if k is None else np.minimum(n_relevant, k)
