"""What a convention is: the choices of a system as a value, with every field stated.

A convention completes metric *names* in the fields that they leave open.
A metric object is complete and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import require_option
from ltr_metrics._engine.words import (
    Average,
    Denominator,
    Graded,
    HostOfGain,
    Ideal,
    NamedMaxGrade,
    NoRelevant,
    RoundingOfIPrec,
    ShortOfNDCG,
    ShortOfPrecision,
    StopOfERR,
    StopOfPFound,
    TiePolicy,
)
from ltr_metrics.errors import LtrValueError, did_you_mean
from ltr_metrics.metrics.base import Metric, RankMetric, is_number
from ltr_metrics.metrics.dcg import Discount
from ltr_metrics.metrics.gains import Gain
from ltr_metrics.metrics.names import METRICS
from ltr_metrics.metrics.order import PairAccuracy
from ltr_metrics.metrics.shown import ColumnMetric, Judged, MeanOf, SumOf

ALLOWED_IN_ALL_CONVENTIONS = (Judged, MeanOf, SumOf)  # metrics that go with every convention
NO_RELEVANT: tuple[NoRelevant, ...] = get_args(NoRelevant)
HOSTS_WITH_GAIN: tuple[HostOfGain, ...] = get_args(HostOfGain)  # hosts with a setting for the gain
TIES: tuple[TiePolicy, ...] = get_args(TiePolicy)


def checked_no_relevant(value: object) -> NoRelevant | float:
    """Return a valid value of ``no_relevant``, numbers as float; raise an error otherwise."""
    if isinstance(value, str):
        if value in NO_RELEVANT:
            return value
    elif is_number(value.item() if isinstance(value, np.generic) else value):
        return float(value)  # type: ignore[arg-type]
    hint = did_you_mean(value, NO_RELEVANT) if isinstance(value, str) else ""
    raise LtrValueError(f"no_relevant must be one of 'skip', 'drop', 'error', or a finite number; got {value!r}.{hint}")


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The meaning of a metric's bare name in a system.

    `CONVENTIONS` has the conventions of several systems. Make your own of one of them with
    ``dataclasses.replace``. No field has a default, so that facts about other systems do not change
    with our own choices. Fields named after a metric (``ndcg_gain``, ``precision_short``) complete
    that metric's names.

    Attributes
    ----------
    name : str
        Name of the system, for results and messages.
    ties : {"mean", "stable", "worst", "best", "docid"}
        Treatment of tied scores, as for `evaluate`.
    no_relevant : {"skip", "drop", "error"} or float
        Treatment of a query on which a metric is undefined, as for `evaluate`.
    ndcg_no_relevant, recall_no_relevant : {"skip", "drop", "error"}, float or None
        The same for one metric; None is as for all metrics.
    cutoff : int or None
        Cutoff of a name without ``@k``; None is the whole list.
    metrics : frozenset of str or None
        Metrics of the system, by name without parameters; other names are an error. None is all
        metrics.
    uncut : frozenset of str
        Those of its metrics that have no cutoff.
    rel : float, str or None
        Lowest grade of a relevant document, as for `Precision`, for all metrics that ask for it.
    ndcg_gain : {"exp", "linear"}, sequence of float, or callable
        The gain of `NDCG` and `DCG`.
    ndcg_discount : {"log2", "jarvelin", "position"} or callable
        The discount of `NDCG` and `DCG`.
    ndcg_ideal : {"cutoff", "shown", "all", "slots"}
        The ideal ranking of `NDCG`.
    ndcg_short : {"pad", "zero"}
        The value of `NDCG` for a list shorter than the cutoff.
    map_denominator : {"min", "relevant", "cutoff", "hits"}
        The denominator of `MAP`.
    precision_short : {"pad", "cut"}
        The divisor of `Precision` for a list shorter than the cutoff.
    iprec_rounding : {"up", "nearest", "truncated"}
        How `InterpolatedPrecision` rounds the number of relevant documents of a level.
    err_max_grade : float or "query"
        The highest grade of the scale of `ERR`.
    err_p : {"exp", "label"}
        How `ERR` makes a probability of a label.
    rbp_graded : {None, "max", "label"}
        How `RBP` uses grades.
    pfound_p_break : float
        The probability that the user of `PFound` gives up after a document.
    pfound_p_rel : {"label", "yandex", "exp"} or sequence of float
        How `PFound` makes a probability of a label.
    pfound_max_grade : float or "query"
        The highest grade of the scale of `PFound`, with ``pfound_p_rel="exp"``; otherwise 4.
    pairs_tied : float
        What a pair with equal scores counts in `PairAccuracy`.
    pairs_average : {"macro", "micro"}
        Whether the mean of `PairAccuracy` is over queries or over pairs.
    host : {"lightgbm", "xgboost"} or None
        Training library whose setting (LightGBM's ``label_gain``, XGBoost's ``ndcg_exp_gain``)
        replaces ``ndcg_gain`` in its trainings. It does so only if ``ndcg_gain`` is ``"exp"``, the
        default of both.

    Raises
    ------
    LtrValueError
        If ``host``, ``ties``, or one of the three treatments of undefined values is not one of
        these.

    See Also
    --------
    CONVENTIONS : The conventions of several systems, by name.
    explain_difference : What each choice changes in a value.

    Examples
    --------
    >>> import dataclasses
    >>> import ltr_metrics as ltr
    >>> mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", no_relevant="skip")
    >>> ltr.evaluate([0, 0, 1, 0], [1, 2, 3, 4], group=[2, 2], metrics=["ndcg"], convention=mine).n_undefined
    {'ndcg_exp': 1}
    """

    name: str
    ties: TiePolicy
    no_relevant: NoRelevant | float
    ndcg_no_relevant: NoRelevant | float | None
    recall_no_relevant: NoRelevant | float | None
    cutoff: int | None
    metrics: frozenset[str] | None
    uncut: frozenset[str]
    rel: float | str | None
    ndcg_gain: Gain
    ndcg_discount: Discount
    ndcg_ideal: Ideal
    ndcg_short: ShortOfNDCG
    map_denominator: Denominator
    precision_short: ShortOfPrecision
    iprec_rounding: RoundingOfIPrec
    err_max_grade: float | NamedMaxGrade
    err_p: StopOfERR
    rbp_graded: Graded | None
    pfound_p_break: float
    pfound_p_rel: StopOfPFound | tuple[float, ...]
    pfound_max_grade: float | NamedMaxGrade
    pairs_tied: float
    pairs_average: Average
    host: HostOfGain | None

    def __post_init__(self) -> None:
        if self.host is not None:
            require_option("host", self.host, HOSTS_WITH_GAIN)
        require_option("ties", self.ties, TIES)
        for name in ("no_relevant", "ndcg_no_relevant", "recall_no_relevant"):
            if getattr(self, name) is not None:
                checked_no_relevant(getattr(self, name))
        known = {cls.NAME for cls in METRICS}
        for name in {*(self.metrics or ()), *self.uncut} - known:
            raise LtrValueError(f"The convention {self.name!r} has no metric {name!r}.{did_you_mean(name, known)}")
        for cls in METRICS:  # each class checks its parameters
            if issubclass(cls, RankMetric) and not issubclass(cls, ColumnMetric):
                cls(**self.completing(cls) | {"k": 1 if self.cutoff is None else self.cutoff})
            elif issubclass(cls, PairAccuracy):
                cls(**self.completing(cls))

    def completing(self, cls: type[Metric]) -> dict[str, Any]:
        """Return the parameters of a metric that this convention sets."""
        prefix = cls.CONVENTION_PREFIX or cls.NAME
        by_field = {"k": None if cls.NAME in self.uncut else self.cutoff, "rel": self.rel}
        names = [f.name for f in fields(cls)]
        by_field |= {n: getattr(self, f"{prefix}_{n}") for n in names if hasattr(self, f"{prefix}_{n}")}
        return {n: by_field[n] for n in names if n in by_field}
