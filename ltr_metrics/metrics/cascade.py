"""ERR and PFound, the metrics of the cascade model.

A user walks down the list and stops at each document with a probability that depends on its grade.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np

from ltr_metrics._engine.blocks import ideal_rankings
from ltr_metrics._engine.cache import cached, cached_per
from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, with_padding_value
from ltr_metrics._engine.words import NamedMaxGrade, StopOfERR, StopOfPFound
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.metrics.base import RankMetric, is_number, require_parameter
from ltr_metrics.metrics.tables import as_table, of_table
from ltr_metrics.metrics.tie_expectation import stop_probabilities
from ltr_metrics.metrics.tie_expectation.cascade import NEGLIGIBLE_LOG

HIGHEST_GRADE = 1000  # 2^-1000 is still a float64 with all its digits
YANDEX = (0.0, 0.07, 0.14, 0.41, 0.61)  # p_rel of the grades 0 to 4


class CascadeMetric(RankMetric):
    """A sum over ranks of (probability that the user stops there) x (utility of stopping there)."""

    max_grade: float | NamedMaxGrade

    @property
    def is_exponential(self) -> bool:
        """Whether the probability to stop is 2^y - 1 as a share of 2^max_grade."""
        raise NotImplementedError

    def check(self, queries: LabelledQueries) -> None:
        self.stop_probability(queries)

    @cached_per("family")
    def stop_probability(self, queries: LabelledQueries) -> FloatArray:
        """Return the probability to stop at a document of each distinct grade."""
        return self.probabilities(queries)

    def probabilities(self, queries: LabelledQueries) -> FloatArray:
        """Compute `stop_probability`; raise an error if a label has no probability."""
        raise NotImplementedError

    def utility_at_rank(self, depth: int) -> FloatArray:
        """Return the utility of stopping at each rank."""
        raise NotImplementedError

    def effective_depth(self, depth: int) -> int:
        """Return the rank, up to ``depth``, below which all utilities sum to less than 2^-60."""
        return depth

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        stop, effective_depth = self.stop_probability(ranking.queries), self.effective_depth(depth)
        if self.is_exponential and self.max_grade == "query":
            by_rank = _stops_by_own_scale(ranking, stop, depth, effective_depth)
        else:
            by_rank = stop_probabilities(ranking, stop, depth, effective_depth)
        by_rank *= self.utility_at_rank(depth)
        return by_rank


def _stops_by_own_scale(ranking: Ranking, gains: FloatArray, depth: int, effective_depth: int) -> FloatArray:
    """Return the probability to stop at each rank, for gains as a share of 2^(highest grade of the query)."""
    by_rank = np.zeros((len(ranking.n_ranked), depth), order="F")
    highest = _highest_grade(ranking.queries)[ranking.block.members]
    for grade in np.unique(highest[highest > 0]):  # without a grade above 0, nobody stops
        stop = np.where(ranking.queries.grades <= grade, gains * 2.0**-grade, 0.0)
        is_chosen = highest == grade
        by_rank[is_chosen] = stop_probabilities(ranking, stop, depth, effective_depth)[is_chosen]
    return by_rank


@cached
def _highest_grade(queries: LabelledQueries) -> FloatArray:
    """Return the highest grade of each query, over all of its documents, ranked or not."""
    highest = np.empty(queries.n_queries)
    for members, grades in ideal_rankings(queries):
        highest[members] = with_padding_value(queries.grades)[grades[:, 0]]
    return highest


@dataclass(frozen=True, kw_only=True)
class ERR(CascadeMetric):
    r"""Expected reciprocal rank; higher is better, from 0 to below 1.

    .. math:: ERR@k = \sum_{i=1}^{\min(k, n)} \frac{1}{i} \, p_i \prod_{j<i} (1 - p_j),
        \quad p_i = \frac{2^{y_i} - 1}{2^{max\_grade}}

    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    max_grade : float or "query", default 4
        The highest grade of the scale (not of the data). A label above it is an error.
        If all labels are much lower, every value is small, so a warning says so: 0/1 labels on a
        scale to 4 give a perfect query .0625.
        ``"query"`` is the highest grade of the query's own documents, ranked or not, as in
        RankEval. Then values of different queries are on different scales. ``p="label"`` does not
        use ``max_grade``.
    p : {"exp", "label"}, default "exp"
        How a label becomes the probability to stop: by the mapping above, which needs whole grades,
        or as the label itself, which must then be between 0 and 1.

    Raises
    ------
    LtrValueError
        If ``max_grade`` is neither ``"query"`` nor between 0 and 1000, or for an unknown ``p``. On
        evaluation: for a label above ``max_grade``, or above 1000 with ``"query"``. Also for a
        label that is not a whole number or, with ``p="label"``, not between 0 and 1.

    Warns
    -----
    LtrWarning
        On evaluation, if no label is above half of ``max_grade``.

    See Also
    --------
    PFound : Another model of a user who reads from the top and stops.

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> round(ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[4], metrics=["err"])["err"], 6)
    0.569153
    """

    NAME: ClassVar[str] = "err"

    max_grade: float | NamedMaxGrade = 4
    p: StopOfERR = "exp"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "p", get_args(StopOfERR))
        _require_max_grade(self)

    @property
    def is_exponential(self) -> bool:
        return self.p == "exp"

    def utility_at_rank(self, depth: int) -> FloatArray:
        return 1 / np.arange(1.0, depth + 1)

    def probabilities(self, queries: LabelledQueries) -> FloatArray:
        if self.p == "label":
            return _labels_as_probabilities(queries, "err(p=label)", "Use err for whole grades.")
        return _exponential(self, queries, of_labels=replace(self, p="label", max_grade=4))


@dataclass(frozen=True, kw_only=True)
class PFound(CascadeMetric):
    r"""PFound: the probability that the user finds a good document; higher is better, from 0 to 1.

    .. math:: pFound@k = \sum_{i=1}^{\min(k, n)} (1 - p_{break})^{i-1} \, pRel_i \prod_{j<i} (1 - pRel_j)

    which is :math:`\sum pLook_i \, pRel_i` with :math:`pLook_1 = 1` and
    :math:`pLook_i = pLook_{i-1} (1 - pRel_{i-1}) (1 - p_{break})`.
    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    p_break : float, default 0.15
        Probability that the user gives up after a document, from 0 to below 1.
    p_rel : {"label", "yandex", "exp"} or sequence of float, default "label"
        How a label becomes the probability that the document is relevant to the user. "label" is
        the label itself, which must be between 0 and 1. "yandex" is Yandex's table: 0, .07, .14,
        .41, .61 for the grades 0 to 4. "exp" is the mapping of ERR. A sequence is a table by whole
        grades.
    max_grade : float or "query", default 4
        The highest grade of the scale, for ``p_rel="exp"``. ``"query"`` is that of the query's own
        documents, as for `ERR`.

    Raises
    ------
    LtrValueError, LtrTypeError
        If ``p_break`` or ``max_grade`` is out of range, or ``p_rel`` is neither a known name nor a
        table of probabilities, or if ``max_grade`` is given without ``p_rel="exp"``.
        On evaluation: for a label that ``p_rel`` is not defined on.

    Warns
    -----
    LtrWarning
        On evaluation, if ``p_rel="label"`` and all labels are 0 or 1.

    See Also
    --------
    ERR : A similar user model, with the discount 1 / rank.

    References
    ----------
    Gulin, Karpovich, Raskovalov & Segalovich, Yandex at ROMIP'2009: optimization of ranking
    algorithms by machine learning methods, ROMIP 2009.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> name = "pfound(p_rel=yandex)"
    >>> round(ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[4], metrics=[name])[name], 6)
    0.600328
    """

    NAME: ClassVar[str] = "pfound"

    p_break: float = 0.15
    p_rel: StopOfPFound | tuple[float, ...] = "label"
    max_grade: float | NamedMaxGrade = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.p_rel, (list, tuple, np.ndarray)):
            table = as_table(self.p_rel, "p_rel table", self.NAME)
            if not all(0 <= p <= 1 for p in table):
                raise LtrValueError(
                    f"The p_rel table of pfound must hold probabilities, from 0 to 1. Got {self.p_rel!r}."
                )
            object.__setattr__(self, "p_rel", table)
        else:
            require_parameter(self, "p_rel", get_args(StopOfPFound))
        if not (is_number(self.p_break) and 0 <= self.p_break < 1):
            raise LtrValueError(
                f"The parameter p_break of pfound must be a number from 0 to below 1. Got {self.p_break!r}."
            )
        _require_max_grade(self)
        if self.p_rel != "exp" and self.max_grade != 4:
            raise LtrValueError(
                "The parameter max_grade of pfound is for p_rel=exp. Write pfound(p_rel=exp,max_grade=2)."
            )

    @property
    def is_exponential(self) -> bool:
        return self.p_rel == "exp"

    def utility_at_rank(self, depth: int) -> FloatArray:
        return np.asarray((1 - self.p_break) ** np.arange(depth))

    def effective_depth(self, depth: int) -> int:
        return depth if self.p_break == 0 else min(depth, math.ceil(-NEGLIGIBLE_LOG / math.log1p(-self.p_break)))

    def probabilities(self, queries: LabelledQueries) -> FloatArray:
        if self.p_rel == "label":
            remedy = (
                "Choose how grades become probabilities: pfound(p_rel=yandex) for grades 0 to 4, "
                "pfound(p_rel=exp), or a table, "
                "pfound(p_rel=[0,0.5,1])."
            )
            p = _labels_as_probabilities(queries, "pfound", remedy)
            if queries.grades[-1] == 1 and set(queries.grades) <= {0.0, 1.0}:
                warn(
                    "pfound takes the labels 0 and 1 as probabilities, so every relevant document ends the "
                    "search and the rest "
                    "of the list does not count. If 1 is only the higher of two grades, write for example "
                    "pfound(p_rel=[0,0.5])."
                )
            return p
        if self.p_rel == "exp":
            return _exponential(self, queries, of_labels=replace(self, p_rel="label", max_grade=4))
        table = YANDEX if isinstance(self.p_rel, str) else self.p_rel
        return of_table(queries, table, f"p_rel table of {self}")


def _require_max_grade(metric: ERR | PFound) -> None:
    value = metric.max_grade
    if value not in get_args(NamedMaxGrade) and not (is_number(value) and 0 < float(value) <= HIGHEST_GRADE):
        raise LtrValueError(
            f"The parameter max_grade of {metric.NAME} must be a number above 0 and at most {HIGHEST_GRADE}, or "
            f"'query'. Got {value!r}."
        )


def _labels_as_probabilities(queries: LabelledQueries, name: str, remedy: str) -> FloatArray:
    highest = queries.grades[-1]
    if highest > 1:
        raise LtrValueError(
            f"{name} must have labels between 0 and 1, which are probabilities: got {highest:g} at "
            f"{queries.first_row_of_grade(highest)}. {remedy}"
        )
    return queries.grades


def _exponential(metric: ERR | PFound, queries: LabelledQueries, *, of_labels: ERR | PFound) -> FloatArray:
    """Return (2^y - 1) / 2^max_grade for each distinct grade, the mapping of Chapelle et al.

    With ``max_grade="query"`` it is 2^y - 1, because the divisor depends on the query.
    """
    grades, name, is_of_query = queries.grades, metric.NAME, metric.max_grade == "query"
    max_grade = float(HIGHEST_GRADE if metric.max_grade == "query" else metric.max_grade)
    highest = grades[-1]
    if is_of_query and highest > max_grade:
        raise LtrValueError(
            f"{metric} must have no label above {max_grade:g}: got {highest:g} at "
            f"{queries.first_row_of_grade(highest)}. Such a label is not a grade of a scale."
        )
    if highest > max_grade:
        remedy = "Such a label is not a grade of a scale."
        if highest <= HIGHEST_GRADE:
            remedy = f"Give the scale's highest grade, max_grade={highest:g}."  # a name may leave 4 to a convention
        raise LtrValueError(
            f"{name} must have no label above max_grade={max_grade:g}: got {highest:g} at "
            f"{queries.first_row_of_grade(highest)}. {remedy}"
        )
    fractional = grades[grades != np.floor(grades)]
    if fractional.size:
        raise LtrValueError(
            f"{metric} must have whole grades: got {fractional[0]:g} at {queries.first_row_of_grade(fractional[0])}. "
            f"For labels that are probabilities, use {of_labels}."
        )
    if not is_of_query and 0 < highest <= max_grade / 2:
        warn(
            f"{name} counts grades on a scale to max_grade={max_grade:g} and the highest label is {highest:g}, so all "
            f"values are small. If {highest:g} is the scale's highest grade, write "
            f"{replace(metric, max_grade=highest)}."
        )
    return np.asarray((np.ldexp(1.0, grades.astype(np.int64)) - 1) * (1.0 if is_of_query else 2.0**-max_grade))
