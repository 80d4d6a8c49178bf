"""Other systems' choices, as values; names and a convention to complete metrics and one policy.

A convention completes *names* in the fields that they leave open. A metric object is complete and never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.inputs import require_option
from ltr_metrics.metrics.base import Metric, RankMetric, is_number
from ltr_metrics.metrics.names import METRICS, metric, parse
from ltr_metrics.metrics.shown import Judged, MeanOf
from ltr_metrics.ranking import Ranking
from ltr_metrics.words import (
    ConventionName,
    Denominator,
    HostOfGain,
    NoRelevant,
    ShortOfNDCG,
    ShortOfPrecision,
    StopOfERR,
    TiePolicy,
)

OF_ANY_RANKING = (Judged, MeanOf)  # they ask nothing that systems answer differently
NO_RELEVANT: tuple[NoRelevant, ...] = get_args(NoRelevant)
HOSTS: tuple[HostOfGain, ...] = get_args(HostOfGain)  # their trainings may have a gain of their own
DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "err@10")
OneMetric = str | Metric | Callable[[Ranking], Any]
Metrics = OneMetric | Iterable[OneMetric]


TIES: tuple[TiePolicy, ...] = get_args(TiePolicy)


def checked_no_relevant(value: object) -> NoRelevant | float:
    """Return one of the words, or a finite number as a float; refuse anything else."""
    if isinstance(value, str):
        if value in NO_RELEVANT:
            return value
    elif is_number(value.item() if isinstance(value, np.generic) else value):
        return float(value)  # type: ignore[arg-type]
    hint = did_you_mean(value, NO_RELEVANT) if isinstance(value, str) else ""
    raise LtrValueError(f"no_relevant must be one of 'skip', 'drop', 'error', or a finite number; got {value!r}.{hint}")


@dataclass(frozen=True, kw_only=True)
class Convention:
    """What a system means by a metric's bare name; make your own with `dataclasses.replace`.

    Fields named after a metric (``ndcg_gain``, ``precision_short``) complete that metric's names.

    Attributes
    ----------
    name : str
    ties, no_relevant
        As for `evaluate`. ``ndcg_no_relevant`` and ``recall_no_relevant`` are those of one metric, None as of the others.
    cutoff : int or None
        What a name without ``@k`` means; None is the whole list.
    metrics : frozenset of str or None
        What the system has, by name without parameters; another name is an error. None is everything.
    uncut : frozenset of str
        Of these, what it has without a cutoff alone.
    rel
        As for `Precision`, of all metrics that ask whether a document is relevant.
    host : {"lightgbm", "xgboost"} or None
        The training library whose own gain (LightGBM's ``label_gain``, XGBoost's ``ndcg_exp_gain``) takes the place of
        ``ndcg_gain`` in its trainings. This is so only while ``ndcg_gain`` is ``"exp"``, which is the default of both.

    Examples
    --------
    >>> import dataclasses
    >>> import ltr_metrics as ltr
    >>> mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", no_relevant="skip")
    >>> ltr.evaluate([0, 0, 1, 0], [1, 2, 3, 4], group=[2, 2], metrics=["ndcg"], convention=mine).n_undefined
    {'ndcg_exp': 1}
    """

    name: str
    ties: TiePolicy = "mean"
    no_relevant: NoRelevant | float = "skip"
    ndcg_no_relevant: NoRelevant | float | None = None
    recall_no_relevant: NoRelevant | float | None = None
    cutoff: int | None = None
    metrics: frozenset[str] | None = None
    uncut: frozenset[str] = frozenset()
    rel: float | str | None = None
    ndcg_gain: Any = "exp"
    ndcg_discount: Any = "log2"
    ndcg_short: ShortOfNDCG = "pad"
    map_denominator: Denominator = "min"
    precision_short: ShortOfPrecision = "pad"
    err_max_grade: float = 4
    err_p: StopOfERR = "exp"
    host: HostOfGain | None = None

    def __post_init__(self) -> None:
        if self.host is not None:
            require_option("host", self.host, HOSTS)
        require_option("ties", self.ties, TIES)
        for value in (self.no_relevant, self.ndcg_no_relevant, self.recall_no_relevant):
            if value is not None:
                checked_no_relevant(value)
        known = {cls.NAME for cls in METRICS}
        for name in {*(self.metrics or ()), *self.uncut} - known:
            raise LtrValueError(f"The convention {self.name!r} has no metric {name!r}.{did_you_mean(name, known)}")
        for cls in METRICS:  # which refuse what they cannot be made of
            if issubclass(cls, RankMetric) and cls is not MeanOf:
                cls(**self.completing(cls) | {"k": 1 if self.cutoff is None else self.cutoff})

    def completing(self, cls: type[Metric]) -> dict[str, Any]:
        """Return the parameters of a metric that this convention sets."""
        prefix = cls.COMPLETED_BY or cls.NAME
        by_field = {"k": self.cutoff, "rel": self.rel}
        names = [f.name for f in fields(cls)]
        by_field |= {n: getattr(self, f"{prefix}_{n}") for n in names if hasattr(self, f"{prefix}_{n}")}
        return {n: by_field[n] for n in names if n in by_field}


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(name="default"),
        Convention(
            name="lightgbm",
            ties="stable",
            no_relevant=1,
            rel=">0.5",
            metrics=frozenset({"ndcg", "map"}),
            host="lightgbm",
        ),
        Convention(
            name="xgboost",
            ties="stable",
            no_relevant=1,
            cutoff=32,
            rel="binary",
            metrics=frozenset({"ndcg", "map", "precision"}),
            precision_short="cut",
            host="xgboost",
        ),
        Convention(
            name="catboost",
            ties="worst",
            no_relevant=0,
            ndcg_no_relevant=1,
            recall_no_relevant=1,
            rel=">0.5",
            metrics=frozenset({"dcg", "ndcg", "map", "mrr", "precision", "recall", "err", "pfound"}),
            ndcg_gain="linear",
            precision_short="cut",
            err_p="label",
        ),
        Convention(name="sklearn", no_relevant=0, metrics=frozenset({"dcg", "ndcg"}), ndcg_gain="linear"),
        Convention(
            name="trec_eval",
            ties="docid",
            no_relevant=0,
            metrics=frozenset({"ndcg", "map", "precision", "recall", "f1", "mrr", "rprec", "hit"}),
            ndcg_gain="linear",
            map_denominator="relevant",
        ),
        Convention(name="gdeval", ties="docid", no_relevant="drop", metrics=frozenset({"ndcg", "err"})),
        Convention(
            name="letor",
            ties="stable",
            no_relevant=0,
            metrics=frozenset({"ndcg", "map", "precision"}),
            uncut=frozenset({"map"}),
            ndcg_discount="jarvelin",
            ndcg_short="zero",
            map_denominator="relevant",
        ),
    )
}


@dataclass(frozen=True)
class Policy:
    """How ties and undefined values are treated, for all metrics of an evaluation."""

    ties: TiePolicy
    no_relevant: NoRelevant | float
    convention: str  # whose choices these are, as far as no option said otherwise
    no_relevant_of: Mapping[str, NoRelevant | float] = field(
        default_factory=dict
    )  # canonical name -> where it is another one

    def no_relevant_for(self, metric: str) -> NoRelevant | float:
        """Return what takes the place of a metric's undefined values."""
        return self.no_relevant_of.get(metric, self.no_relevant)


@dataclass(frozen=True)
class Request:
    """What is to be computed: complete metrics, the name that each was asked for by, and one policy."""

    metrics: tuple[Metric, ...]
    asked: dict[str, str]  # name as asked for -> canonical name
    policy: Policy
    by_default: bool = False  # whether nobody named the metrics


def resolve(
    metrics: Metrics | None = None,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
) -> Request:
    """Complete names and options: an explicit value wins, then the convention's, then the default."""
    chosen, by_default = convention_of(convention), metrics is None
    if metrics is None:
        metrics = [name for name in DEFAULT_METRICS if _has(chosen, parse(name).cls)]
    complete: dict[str, Metric] = {}
    asked: dict[str, str] = {}
    for item in listed(metrics):
        made = _completed(item, chosen) if isinstance(item, str) else metric(item)
        if complete.setdefault(str(made), made) != made:
            raise LtrValueError(
                f"Two different metrics are both named {str(made)!r}: give their functions different names."
            )
        asked[name_of(item)] = str(made)
    if not complete:
        raise LtrValueError("metrics must name at least one metric: got none.")
    policy = _policy(chosen, complete, ties, no_relevant)
    return Request(tuple(complete.values()), asked, policy, by_default)


def listed(metrics: Metrics) -> list[OneMetric]:
    """Return the metrics that were asked for, one or several, as a list."""
    if isinstance(metrics, (str, Metric)) or callable(metrics):
        return [metrics]
    if not isinstance(metrics, Iterable):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    return list(metrics)


def leaves_gain_open(metric: OneMetric) -> bool:
    """Whether a metric is given by a name that leaves its gain to a convention, as ``"ndcg@10"`` does."""
    if not isinstance(metric, str):
        return False
    parsed = parse(metric)
    return any(field.name == "gain" for field in fields(parsed.cls)) and "gain" not in parsed.given


def name_of(metric: object) -> str:
    """Return the name that a metric, its name or its function goes by."""
    return getattr(metric, "__name__", str(metric)) if callable(metric) else str(metric)


def _policy(
    convention: Convention,
    metrics: Mapping[str, Metric],
    ties: TiePolicy | None,
    no_relevant: NoRelevant | float | None,
) -> Policy:
    ties = require_option("ties", convention.ties if ties is None else ties, TIES)
    if no_relevant is not None:
        return Policy(ties, checked_no_relevant(no_relevant), convention.name)
    exceptions = {
        name: "skip" if isinstance(metric, OF_ANY_RANKING) else getattr(convention, f"{metric.NAME}_no_relevant", None)
        for name, metric in metrics.items()
    }
    of_metric = {n: checked_no_relevant(v) for n, v in exceptions.items() if v not in (None, convention.no_relevant)}
    return Policy(ties, checked_no_relevant(convention.no_relevant), convention.name, of_metric)


def convention_of(convention: ConventionName | Convention | None) -> Convention:
    """Return the convention of a name; None is the default one."""
    if convention is None:
        return CONVENTIONS["default"]
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        raise LtrTypeError(f"convention must be a name or a Convention. Got {convention!r}.")
    if convention not in CONVENTIONS:
        raise LtrValueError(
            f"There is no convention {convention!r}.{did_you_mean(convention, CONVENTIONS)} Known: {', '.join(CONVENTIONS)}."
        )
    return CONVENTIONS[convention]


def _has(convention: Convention, cls: type[Metric]) -> bool:
    return convention.metrics is None or cls.NAME in convention.metrics or cls in OF_ANY_RANKING


def _completed(name: str, convention: Convention) -> Metric:
    """Complete a name, which loops ask for again and again."""
    try:
        return _known_complete(name, convention)
    except TypeError:  # a convention whose gain is a list has no hash
        return _complete(name, convention)


@lru_cache(maxsize=1_000)
def _known_complete(name: str, convention: Convention) -> Metric:
    return _complete(name, convention)


def _complete(name: str, convention: Convention) -> Metric:
    parsed = parse(name)
    if convention.metrics is not None and not _has(convention, parsed.cls):
        raise LtrValueError(
            f"{name!r} is not a metric of {convention.name}, which has {', '.join(sorted(convention.metrics))} alone, so that "
            f"convention says nothing about it. Pass the metric as an object (ltr_metrics.metric({name!r})), or set ties and "
            "no_relevant instead of the convention."
        )
    if parsed.cls.NAME in convention.uncut and "k" in parsed.given:
        raise LtrValueError(
            f"{name!r} is not a metric of {convention.name}, whose {parsed.cls.NAME} has no cutoff: write {parsed.cls.NAME!r}, or pass "
            f"the metric as an object (ltr_metrics.metric({name!r}))."
        )
    return parsed.make(name, convention.completing(parsed.cls))
