"""Other systems' choices, as values; names and a convention to complete metrics and one policy.

A convention completes *names* in the fields that they leave open. A metric object is complete and never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.inputs import require_option
from ltr_metrics.metrics.base import Metric, is_number
from ltr_metrics.metrics.names import metric, parse
from ltr_metrics.ranking import Ranking
from ltr_metrics.sorting import LAYOUT_OF_TIES

NO_RELEVANT = ("skip", "drop", "error")
DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "err@10")
OneMetric = str | Metric | Callable[[Ranking], Any]
Metrics = OneMetric | Iterable[OneMetric]


@dataclass(frozen=True, kw_only=True)
class Convention:
    """What a system means by a metric's bare name; make your own with `dataclasses.replace`.

    Fields named after a metric (``ndcg_gain``, ``precision_short``) complete that metric's names.

    Examples
    --------
    >>> import dataclasses
    >>> import ltr_metrics as ltr
    >>> mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", no_relevant="skip")
    >>> ltr.evaluate([0, 0, 1, 0], [1, 2, 3, 4], group=[2, 2], metrics=["ndcg"], convention=mine).n_undefined
    {'ndcg_exp': 1}
    """

    name: str
    ties: str = "mean"
    no_relevant: str | float = "skip"
    ndcg_no_relevant: str | float | None = None  # of NDCG, if not as of the others
    recall_no_relevant: str | float | None = None
    cutoff: int | None = None  # what a name without @k means
    metrics: frozenset[str] | None = None  # what the system has; None is everything
    uncut: frozenset[str] = frozenset()  # of these the ones that it has without a cutoff alone
    rel: float | str | None = None  # of all metrics that ask whether a document is relevant
    ndcg_gain: Any = "exp"
    ndcg_discount: Any = "log2"
    ndcg_short: str = "pad"
    map_denominator: str = "min"
    precision_short: str = "pad"
    err_max_grade: float = 4
    err_p: str = "exp"


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(name="default"),
        Convention(name="lightgbm", ties="stable", no_relevant=1, rel=">0.5", metrics=frozenset({"ndcg", "map"})),
        Convention(
            name="xgboost",
            ties="stable",
            no_relevant=1,
            cutoff=32,
            rel="binary",
            metrics=frozenset({"ndcg", "map", "precision"}),
            precision_short="cut",
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

    ties: str
    no_relevant: str | float
    convention: str  # whose choices these are, as far as no option said otherwise
    no_relevant_of: Mapping[str, str | float] = field(default_factory=dict)  # canonical name -> where it is another one

    def no_relevant_for(self, metric: str) -> str | float:
        """Return what takes the place of a metric's undefined values."""
        return self.no_relevant_of.get(metric, self.no_relevant)


@dataclass(frozen=True)
class Request:
    """What is to be computed: complete metrics, the name that each was asked for by, and one policy."""

    metrics: tuple[Metric, ...]
    asked: dict[str, str]  # name as asked for -> canonical name
    policy: Policy


def resolve(
    metrics: Metrics | None = None,
    *,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
) -> Request:
    """Complete names and options: an explicit value wins, then the convention's, then the default."""
    chosen = _convention(convention)
    if metrics is None:
        metrics = [name for name in DEFAULT_METRICS if _has(chosen, parse(name).cls)]
    if isinstance(metrics, (str, Metric)) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    complete: dict[str, Metric] = {}
    asked: dict[str, str] = {}
    for item in metrics:
        made = _complete(item, chosen) if isinstance(item, str) else metric(item)
        if complete.setdefault(str(made), made) != made:
            raise LtrValueError(
                f"Two different metrics are both named {str(made)!r}: give their functions different names."
            )
        asked[name_of(item)] = str(made)
    if not complete:
        raise LtrValueError("metrics must name at least one metric: got none.")
    policy = _policy(chosen, complete, ties, no_relevant)
    return Request(tuple(complete.values()), asked, policy)


def name_of(metric: object) -> str:
    """Return the name that a metric, its name or its function goes by."""
    return getattr(metric, "__name__", str(metric)) if callable(metric) else str(metric)


def _policy(
    convention: Convention, metrics: Mapping[str, Metric], ties: str | None, no_relevant: str | float | None
) -> Policy:
    ties = require_option("ties", convention.ties if ties is None else ties, tuple(LAYOUT_OF_TIES))
    if no_relevant is not None:
        return Policy(ties, _no_relevant(no_relevant), convention.name)
    exceptions = {name: getattr(convention, f"{metric.NAME}_no_relevant", None) for name, metric in metrics.items()}
    of_metric = {name: _no_relevant(value) for name, value in exceptions.items() if value is not None}
    return Policy(ties, _no_relevant(convention.no_relevant), convention.name, of_metric)


def _no_relevant(value: object) -> str | float:
    if isinstance(value, str):
        return require_option("no_relevant", value, NO_RELEVANT)
    if not is_number(value.item() if isinstance(value, np.generic) else value):
        raise LtrValueError(f"no_relevant must be 'skip', 'drop', 'error' or a finite number. Got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def _convention(convention: str | Convention | None) -> Convention:
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
    return convention.metrics is None or cls.NAME in convention.metrics


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
    prefix = parsed.cls.COMPLETED_BY or parsed.cls.NAME
    by_field = {"k": convention.cutoff, "rel": convention.rel}
    names = [f.name for f in fields(parsed.cls)]
    by_field |= {n: getattr(convention, f"{prefix}_{n}") for n in names if hasattr(convention, f"{prefix}_{n}")}
    return parsed.make(name, {n: by_field[n] for n in names if n in by_field})
