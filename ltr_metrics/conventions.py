"""Other systems' choices, as values; names and a convention to complete metrics and one policy.

A convention completes *names* in the fields that they leave open. A metric object is complete and never changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.inputs import require_option
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import parse
from ltr_metrics.ranking import LAYOUT_OF_TIES

NO_RELEVANT = ("skip", "drop", "error")
DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "err@10")
Metrics = str | Metric | Iterable[str | Metric]


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
    cutoff: int | None = None  # what a name without @k means
    metrics: frozenset[str] | None = None  # what the system has; None is everything
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
        Convention(name="lightgbm", ties="stable", no_relevant=1, metrics=frozenset({"ndcg", "map"})),
        Convention(
            name="xgboost",
            ties="stable",
            no_relevant=1,
            cutoff=32,
            metrics=frozenset({"ndcg", "map", "precision"}),
            precision_short="cut",
        ),
    )
}


@dataclass(frozen=True)
class Policy:
    """How ties and undefined values are treated, for all metrics of an evaluation."""

    ties: str
    no_relevant: str | float
    convention: str  # whose choices these are, as far as no option said otherwise


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
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    complete: dict[str, Metric] = {}
    asked: dict[str, str] = {}
    for item in metrics:
        made = item if isinstance(item, Metric) else _complete(item, chosen)
        if complete.setdefault(str(made), made) != made:
            raise LtrValueError(
                f"Two different metrics are both named {str(made)!r}: give their functions different names."
            )
        asked[str(item)] = str(made)
    if not complete:
        raise LtrValueError("metrics must name at least one metric: got none.")
    ties = chosen.ties if ties is None else ties
    require_option("ties", ties, tuple(LAYOUT_OF_TIES))
    no_relevant = chosen.no_relevant if no_relevant is None else no_relevant
    if isinstance(no_relevant, str):
        require_option("no_relevant", no_relevant, NO_RELEVANT)
    elif not isinstance(no_relevant, (int, float, np.number)) or not np.isfinite(no_relevant):
        raise LtrValueError(f"no_relevant must be 'skip', 'drop', 'error' or a finite number. Got {no_relevant!r}.")
    else:
        no_relevant = float(no_relevant)
    return Request(tuple(complete.values()), asked, Policy(ties, no_relevant, chosen.name))


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
    prefix = parsed.cls.COMPLETED_BY or parsed.cls.NAME
    completed = {
        field.name: getattr(convention, f"{prefix}_{field.name}")
        for field in fields(parsed.cls)
        if hasattr(convention, f"{prefix}_{field.name}")
    }
    return parsed.cls(**{"k": convention.cutoff, **completed, **parsed.given})
