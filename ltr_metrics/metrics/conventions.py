"""Conventions: the choices of other systems as values, with every field stated.

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
    ConventionName,
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
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
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


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            name="default",
            ties="mean",
            no_relevant="skip",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=None,
            uncut=frozenset(),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # With query weights, LightGBM's own NDCG differs: a query without a relevant document
            # adds 1 to its sum, not 1 x weight (docs/hosts/lightgbm.md and
            # tests/test_conformance_lightgbm.py).
            name="lightgbm",
            ties="stable",
            no_relevant=1,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map"}),
            uncut=frozenset(),
            rel=">0.5",
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host="lightgbm",
        ),
        Convention(
            name="xgboost",
            ties="stable",
            no_relevant=1,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=32,
            metrics=frozenset({"ndcg", "map", "precision"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host="xgboost",
        ),
        Convention(
            name="catboost",
            ties="worst",
            no_relevant=0,
            ndcg_no_relevant=1,
            recall_no_relevant=1,
            cutoff=None,
            metrics=frozenset({"dcg", "ndcg", "map", "mrr", "precision", "recall", "err", "pfound"}),
            uncut=frozenset(),
            rel=">0.5",
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="label",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="sklearn",
            ties="mean",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"dcg", "ndcg"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="trec_eval",
            ties="docid",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "precision", "recall", "f1", "mrr", "rprec", "hit", "bpref", "iprec"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="pad",
            iprec_rounding="truncated",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="gdeval",
            ties="docid",
            no_relevant="drop",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "err"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="letor",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "precision"}),
            uncut=frozenset({"map"}),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="jarvelin",
            ndcg_ideal="cutoff",
            ndcg_short="zero",
            map_denominator="relevant",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # Its sort is not stable, so the order of ties is open there; we take the mean over all orders.
            name="ranx",
            ties="mean",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset(
                {"dcg", "ndcg", "map", "mrr", "precision", "recall", "f1", "rprec", "hit", "rbp", "bpref"}
            ),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded="label",
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # Its NDCG averages ties; the order of ties in its other metrics is open. A score of 0 or less makes
            # a document non-relevant there, except for NDCG, hit rate and R-precision; that is not reproduced.
            name="torchmetrics",
            ties="mean",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "mrr", "precision", "recall", "rprec", "hit"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="hits",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # It shuffles ties at random, and we take the mean over all orders.
            name="tf_ranking",
            ties="mean",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"dcg", "ndcg", "map", "mrr", "precision", "recall", "hit", "bpref", "pair_accuracy"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0,
            pairs_average="micro",
            host=None,
        ),
        Convention(
            name="ranklib",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=10,
            metrics=frozenset({"dcg", "ndcg", "map", "mrr", "precision", "err"}),
            uncut=frozenset({"map"}),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # Its graded NDCG has an ideal in the order of the labels as given; that is not reproduced.
            name="spark_mllib",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "precision", "recall"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain=(0, 1),
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="vespa",
            ties="stable",
            no_relevant="drop",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "mrr", "precision", "recall", "hit"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain="linear",
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="kaggle",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=10,
            metrics=frozenset({"map"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain=(0, 1),
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="replay",
            ties="docid",
            no_relevant="drop",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "mrr", "precision", "recall", "hit"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain=(0, 1),
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # It leaves the order of ties open, and we take the mean over all orders.
            name="recbole",
            ties="mean",
            no_relevant="drop",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "mrr", "precision", "recall", "hit"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain=(0, 1),
            ndcg_discount="log2",
            ndcg_ideal="cutoff",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            name="rectools",
            ties="stable",
            no_relevant="drop",
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=None,
            metrics=frozenset({"ndcg", "map", "mrr", "precision", "recall", "f1", "hit"}),
            uncut=frozenset(),
            rel="binary",
            ndcg_gain=(0, 1),
            ndcg_discount="log2",
            ndcg_ideal="slots",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="pad",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # Its expected reciprocal rank has no default for the highest grade, so it is left out.
            name="elasticsearch",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=10,
            metrics=frozenset({"dcg", "ndcg", "mrr", "precision", "recall"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="shown",
            ndcg_short="pad",
            map_denominator="min",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=4,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
        Convention(
            # Its scorer ERR@10 has the grades 0 to 3. Its AP is 0/0 for a query without a relevant document.
            name="quepid",
            ties="stable",
            no_relevant=0,
            ndcg_no_relevant=None,
            recall_no_relevant=None,
            cutoff=10,
            metrics=frozenset({"cg", "dcg", "ndcg", "map", "mrr", "precision", "err"}),
            uncut=frozenset(),
            rel=None,
            ndcg_gain="exp",
            ndcg_discount="log2",
            ndcg_ideal="all",
            ndcg_short="pad",
            map_denominator="relevant",
            precision_short="cut",
            iprec_rounding="up",
            err_max_grade=3,
            err_p="exp",
            rbp_graded=None,
            pfound_p_break=0.15,
            pfound_p_rel="label",
            pfound_max_grade=4,
            pairs_tied=0.5,
            pairs_average="macro",
            host=None,
        ),
    )
}

ALIASES: dict[str, str] = {  # systems with the convention of another, by tests or by make conformance
    "pytrec_eval": "trec_eval",
    "ir_measures": "trec_eval",
    "pyterrier": "trec_eval",
    "keras_rs": "tf_ranking",
    "pyvespa": "vespa",
    "ml_metrics": "kaggle",
    "opensearch": "elasticsearch",
}


def convention_of(convention: ConventionName | Convention | None) -> Convention:
    """Return the convention with this name, or alias; None is the default convention."""
    if convention is None:
        return CONVENTIONS["default"]
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        raise LtrTypeError(f"convention must be a name or a Convention. Got {convention!r}.")
    name = ALIASES.get(convention, convention)
    if name not in CONVENTIONS:
        raise LtrValueError(
            f"There is no convention {convention!r}.{did_you_mean(convention, (*CONVENTIONS, *ALIASES))} Known: "
            f"{', '.join(CONVENTIONS)}; also {', '.join(ALIASES)}."
        )
    return CONVENTIONS[name]
