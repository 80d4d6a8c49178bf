"""A metric of clicks that corrects them for the probability that users saw the document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from ltr_metrics._rows.checks import BoolArray, FloatArray, require_option
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.words import EstimatorOfMetric
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics import CG, DCG, Precision, RankMetric, SumOf, metric
from ltr_metrics.metrics.base import Metric, is_number, spell
from ltr_metrics.metrics.shown import OF_ROWS

ESTIMATORS: tuple[EstimatorOfMetric, ...] = get_args(EstimatorOfMetric)
ADDITIVE = (DCG, CG, Precision, SumOf)  # the classes themselves: NDCG is a subclass of DCG, and is not additive
NOT_LINEAR = "its value at one document depends on the clicks on others, so weights of clicks do not remove its bias"
DIVIDES = "it divides by a number that needs the relevance of documents without a click"
REASONS = dict.fromkeys(("mrr", "err", "pfound", "map", "hit", "q"), NOT_LINEAR)
REASONS |= dict.fromkeys(("ndcg", "recall", "f1", "rprec"), DIVIDES)
RATIOS = (
    " If propensities are ratios to that of one position, pass Propensities and position= to evaluate, or "
    "relative=True to ClickMetric. A weight is 1 / propensity: do not pass weights."
)


@dataclass(frozen=True, kw_only=True)
class ClickMetric(RankMetric):
    r"""A metric of clicks, corrected by inverse propensity scoring; higher is better.

    It is a metric like any other, for ``feval``, ``Monitor``, ``make_scorer`` and ``evaluate``: the
    labels are clicks, and further columns hold the propensities. With clicks :math:`c_d`,
    propensities :math:`p_d` and the rank :math:`r_d` that the new model gives the document,

    .. math:: DCG_{ips} = \sum_d discount(r_d) \frac{gain(c_d)}{p_d}

    The weight :math:`1 / p_d` is at most ``clip``. The doubly robust estimate replaces
    :math:`c_d / p_d` by :math:`m_d + (c_d - p_d m_d) / p_d`, where :math:`m_d` is the baseline.

    Parameters
    ----------
    k : int, optional
        Cutoff, which is that of ``metric``. Leave it out.
    metric : str or Metric
        DCG, CG, precision or ``sum_of``, such as ``"dcg@10"``. ``sum_of(column)`` adds up the
        column over the clicked documents.
    estimator : {"ips", "dr"}, default "ips"
        Inverse propensity scoring, or the doubly robust estimate.
    clip : float, optional
        Largest weight of a click, at least 1. Larger weights are reduced to it, which lowers the
        variance and biases the estimate downwards. By default weights are not clipped.
    propensity : str, default "propensity"
        Name of the column of propensities, from 0 to 1. 0 is a document that users could not see.
        `Propensities.of_rows` makes it from positions.
    baseline : str, optional
        Name of the column of the doubly robust estimate's baseline, the predicted probability
        that the document is clicked where the propensity is 1.
    relative : bool, default False
        Whether propensities are ratios to that of one position, as `estimate_propensities` returns
        them. They may then be above 1.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the metric is not a sum over documents, or for a wrong option. On evaluation: if a column
        is missing, if a propensity is above 1 and not ``relative``, or if a clicked document has
        the propensity 0.

    See Also
    --------
    ltr_metrics.counterfactual.evaluate : Evaluate clicks once, with standard errors and warnings.
    estimate_propensities : Estimate the propensities.

    References
    ----------
    Joachims, Swaminathan & Schnabel, Unbiased learning-to-rank with biased feedback, WSDM 2017.
    Doubly robust: Oosterhuis, TOIS 2023.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.counterfactual import ClickMetric
    >>> corrected = ClickMetric(metric="dcg@10", clip=20)
    >>> columns = {"propensity": [1.0, 0.5, 0.2]}
    >>> result = ltr.evaluate([0, 0, 1], [1, 2, 3], group=[3], metrics=[corrected, "dcg@10"], columns=columns)
    >>> result.mean
    {'ips(dcg_exp@10,clip=20)': 5.0, 'dcg_exp@10': 1.0}
    """

    NAME: ClassVar[str] = "ips"
    UNREAD: ClassVar[dict[str, str]] = OF_ROWS

    metric: Any
    estimator: EstimatorOfMetric = "ips"
    clip: float | None = None
    propensity: str = "propensity"
    baseline: str | None = None
    relative: bool = False

    def __post_init__(self) -> None:
        inner = additive(self.metric)
        if self.k is not None and self.k != inner.cutoff:
            raise LtrValueError(f"k is the cutoff of the metric, which is {inner}. Got k={self.k!r}: leave it out.")
        object.__setattr__(self, "metric", inner)
        object.__setattr__(self, "k", inner.cutoff)
        super().__post_init__()
        require_option("estimator", self.estimator, ESTIMATORS)
        if self.clip is not None and not (is_number(self.clip) and self.clip >= 1):
            raise LtrValueError(
                f"clip is the largest weight of a click, 1 / propensity, a number of at least 1. Got {self.clip!r}."
            )
        if (self.estimator == "dr") != (self.baseline is not None):
            raise LtrTypeError('estimator="dr" needs baseline, and no other estimator has it.')

    @cached_property
    def _canonical(self) -> str:
        clip = "" if self.clip is None else f",clip={spell(self.clip)}"
        return f"{self.estimator}({self.metric}{clip})"

    @cached_property
    def without_cutoff(self) -> tuple[Any, ...]:
        """The class and all parameters but the cutoff: metrics that have these in common are computed together."""
        options = (self.estimator, self.clip, self.propensity, self.baseline, self.relative)
        return (type(self), self.metric.without_cutoff, *options)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        baseline = () if self.baseline is None else (self.baseline,)
        return (*self.metric.needed_columns, self.propensity, *baseline)

    def check(self, queries: LabelledQueries) -> None:
        super().check(queries)
        self.metric.check(queries)
        self.by_row(queries)

    def by_rank(self, queries: LabelledQueries, depth: int) -> FloatArray | float:
        value: FloatArray | float = self.metric.by_rank(queries, depth)
        return value

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray | float:
        value: FloatArray | float = self.metric.divisor(queries, k)
        return value

    def by_row(self, queries: LabelledQueries) -> FloatArray:
        """Return the estimated gain of each row."""
        inner, clicked = self.metric, is_clicked(queries)
        by_grade: Any = queries.grades > 0 if isinstance(inner, SumOf) else inner.by_grade(queries)
        if queries.grades[0] == 0 and by_grade[0] != 0:
            raise LtrValueError(f"The gain of a document without a click must be 0. It is {by_grade[0]:g} in {inner}.")
        gain = queries.column(inner.column) if isinstance(inner, SumOf) else 1.0
        if self.estimator == "ips":
            return np.asarray(np.append(0.0, by_grade)[queries.grade_index] * gain * self._weights(queries))
        if not np.isin(queries.grades, (0.0, 1.0)).all():
            raise LtrValueError(f"{self} needs clicks of 0 and 1. Got {queries.grades.max():g}.")
        baseline, propensity = _numbers(queries, str(self.baseline)), self._propensities(queries)
        estimate = baseline + self._weights(queries) * (clicked - propensity * baseline)
        return np.asarray(by_grade[-1] * gain * estimate)

    def _propensities(self, queries: LabelledQueries) -> FloatArray:
        return _numbers(queries, self.propensity, np.inf if self.relative else 1.0, RATIOS)

    def _weights(self, queries: LabelledQueries) -> FloatArray:
        """Return the weight of a click on each row, 1 / propensity or ``clip``; 0 for a propensity of 0."""
        propensity = self._propensities(queries)
        impossible = is_clicked(queries) & (propensity == 0)
        if queries.retrieved is not None:
            impossible &= queries.retrieved
        if impossible.any():
            where = queries.where(int(impossible.argmax()))
            raise LtrValueError(
                f"A clicked document must have a propensity above 0: it is 0 at {where}, {impossible.sum()} such rows "
                "in all. Positions count from 1, and 0 means that a document was not displayed."
            )
        weight = inverse(propensity)
        return weight if self.clip is None else np.minimum(weight, self.clip)


def additive(asked: Any) -> Metric:
    """Return a metric that is a sum over documents; refuse any other with the reason."""
    one = metric(asked)
    if type(one) in ADDITIVE:
        return one
    reason = REASONS.get(one.NAME, "it is not known to be a sum of gains of clicked documents")
    raise LtrValueError(
        f"{one} cannot be estimated from clicks: {reason}. Use dcg, cg, precision or sum_of(column), for example "
        f'"dcg{"" if one.cutoff is None else f"@{one.cutoff}"}".'
    )


def is_clicked(queries: LabelledQueries) -> BoolArray:
    """Return whether each row has a label above 0."""
    return np.append(False, queries.grades > 0)[queries.grade_index]


def inverse(propensity: FloatArray) -> FloatArray:
    """Return 1 / propensity, and 0 where the propensity is 0."""
    return np.divide(1.0, propensity, out=np.zeros_like(propensity), where=propensity > 0)


def _numbers(queries: LabelledQueries, name: str, highest: float = 1.0, remedy: str = "") -> FloatArray:
    """Return a column of numbers from 0 to the highest."""
    column = queries.column(name)
    is_bad = (column < 0) | (column > highest)
    if is_bad.any():
        rule = "a probability, from 0 to 1" if highest == 1 else "at least 0"
        got = f"{column[is_bad][0]:g} at {queries.where(int(is_bad.argmax()))} (such rows: {is_bad.sum():,})"
        raise LtrValueError(f"{name} must be {rule}: got {got}.{remedy if column[is_bad][0] > 1 else ''}")
    return column
