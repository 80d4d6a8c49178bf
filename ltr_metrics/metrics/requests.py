"""Requests: names and options of a call, completed to full metrics and one policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ltr_metrics._ranks import native
from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.checks import require_option
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.conventions import (
    ALLOWED_IN_ALL_CONVENTIONS,
    TIES,
    Convention,
    checked_no_relevant,
    convention_of,
)
from ltr_metrics.metrics.dcg import DCG
from ltr_metrics.metrics.names import in_lower_case, metric, name_without_parameters, parse

DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "err@10")
OneMetric = str | Metric | Callable[..., Any]
Metrics = OneMetric | Iterable[OneMetric]


@dataclass(frozen=True)
class Policy:
    """How ties and undefined values are treated, for the metrics of an evaluation; results and files keep it."""

    ties: TiePolicy
    no_relevant: NoRelevant | float
    convention: str  # its name; explicit options win over it
    no_relevant_of: Mapping[str, NoRelevant | float] = field(default_factory=dict)  # exceptions
    unit: str = "queries"  # what the means are over; the weight of a query is its number of other units
    weighs_undefined_as_one: tuple[str, ...] = ()  # as in the NDCG of LightGBM and XGBoost

    def no_relevant_for(self, metric: str) -> NoRelevant | float:
        """Return the value, or the rule, for undefined values of a metric."""
        return self.no_relevant_of.get(metric, self.no_relevant)


@dataclass(frozen=True)
class PolicyOptions:
    """What a call says of ties and undefined values, for any metric: a convention, and options that win over it."""

    convention: Convention
    ties: TiePolicy | None = None
    no_relevant: NoRelevant | float | None = None
    weighs_undefined_as_one: bool | None = None  # None leaves it to the convention, unless `no_relevant` is given

    def no_relevant_for(self, metric: Metric) -> NoRelevant | float:
        """Return the value, or the rule, for undefined values of a metric."""
        if self.no_relevant is not None:
            return checked_no_relevant(self.no_relevant)
        of_metric = self.convention.metrics.get(metric.NAME, {}).get("no_relevant")
        value = checked_no_relevant(self.convention.no_relevant if of_metric is None else of_metric)
        # A convention's 0 or 1 is meant for its own metrics, where higher is better; the others skip the query.
        is_of_others = isinstance(metric, ALLOWED_IN_ALL_CONVENTIONS) or not metric.higher_is_better
        return "skip" if is_of_others and of_metric is None and not isinstance(value, str) else value

    def has_unweighted_one(self, metric: Metric) -> bool:
        """Whether an undefined value of a metric is added without the weight of its query."""
        if self.weighs_undefined_as_one is None:
            return self.no_relevant is None and metric.NAME in self.convention.weighs_undefined_as_one
        return self.weighs_undefined_as_one

    def policy(self, metrics: tuple[Metric, ...]) -> Policy:
        """Return how these metrics are treated."""
        ties = self.convention.ties if self.ties is None else require_option("ties", self.ties, TIES)
        usual = checked_no_relevant(self.convention.no_relevant if self.no_relevant is None else self.no_relevant)
        of_each = {str(metric): self.no_relevant_for(metric) for metric in metrics}
        exceptions = {name: value for name, value in of_each.items() if value != usual}
        as_one = tuple(str(metric) for metric in metrics if self.has_unweighted_one(metric))
        return Policy(ties, usual, self.convention.name, exceptions, _common_unit(metrics), as_one)


class SumAtCutoffs(NamedTuple):
    """Metrics that differ only in the cutoff, and their positions among all metrics."""

    metrics: list[RankMetric]
    cutoffs: list[int | None]
    positions: list[int]


Functions = list[tuple[int, Metric]]  # metrics that are functions of rankings, with their positions


@dataclass(frozen=True, eq=False)
class Request:
    """What to compute: complete metrics, the names that they were asked for by, and what the call says of the policy.

    `dataclasses.replace` gives the request of other metrics, whose policy follows from the same options.
    """

    metrics: tuple[Metric, ...]
    asked: dict[str, str]  # name as asked for -> canonical name
    options: PolicyOptions
    by_default: bool = False  # whether these are the default metrics

    @cached_property
    def policy(self) -> Policy:
        """How ties and undefined values of these metrics are treated."""
        return self.options.policy(self.metrics)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Canonical names of the metrics."""
        return tuple(map(str, self.metrics))

    @cached_property
    def typed(self) -> dict[str, str]:
        """The name that each metric was asked for by, the first of several, by canonical name."""
        first = {canonical: name for name, canonical in reversed(self.asked.items())}
        return {name: first.get(name, name) for name in self.names}

    @cached_property
    def lower_is_better(self) -> frozenset[str]:
        """Canonical names of the metrics where lower is better."""
        return frozenset(str(metric) for metric in self.metrics if not metric.higher_is_better)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """Names of the columns that the metrics read, each once."""
        return tuple(dict.fromkeys(name for metric in self.metrics for name in metric.needed_columns))

    def refuse_weights(self, metric: Metric) -> None:
        """Refuse weights of queries if the system's mean of a metric is not weighted by them."""
        name = str(metric)
        if metric.NAME in self.options.convention.no_weighted_mean:
            raise LtrValueError(
                f"{self.policy.convention} ignores the weights of queries in the mean of {name}. To get its number, "
                f"leave the weights out. To get the weighted mean, pass metrics={name!r}, ties={self.policy.ties!r} "
                f"and no_relevant={self.policy.no_relevant_for(name)!r} instead of the convention."
            )


def sums_and_functions(metrics: Iterable[Metric]) -> tuple[list[SumAtCutoffs], Functions]:
    """Return the metrics that the compiled core adds up, together for all cutoffs, and those that are functions."""
    sums: dict[object, SumAtCutoffs] = {}
    functions = []
    for position, one in enumerate(metrics):
        if not isinstance(one, RankMetric):
            functions.append((position, one))
            continue
        sum_ = sums.setdefault(one.without_cutoff, SumAtCutoffs([], [], []))
        sum_.metrics.append(one)
        sum_.cutoffs.append(one.k)
        sum_.positions.append(position)
    return list(sums.values()), functions


@cached
def declared_sums(queries: LabelledQueries, metrics: tuple[Metric, ...]) -> tuple[native.Sums, Functions]:
    """Return what metrics declare for these queries, as the core reads it, and the metrics that are functions."""
    sums, functions = sums_and_functions(metrics)
    declarations = [one.metrics[0].declaration(queries, tuple(one.cutoffs)) for one in sums]
    structs = [declaration.struct(queries, one.positions) for declaration, one in zip(declarations, sums, strict=True)]
    return native.Sums(structs), functions


def resolve(
    metrics: Metrics | None = None,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
) -> Request:
    """Complete names and options: by explicit values, then the convention, then the default.

    Each call returns a new object, because logs tell two metric functions apart by its identity.
    """
    chosen = convention_of(convention)
    default = [name for name in DEFAULT_METRICS if _has(chosen, parse(name).cls)]
    items = default if metrics is None else listed(metrics)
    completed = [complete(item, chosen) if isinstance(item, str) else metric(item) for item in items]
    named = by_name(completed)
    asked: dict[str, str] = {}
    for item, one in zip(items, completed, strict=True):
        if isinstance(item, str):  # a convention may have made another metric of it than the one whose name it is
            asked[in_lower_case(item)] = str(one)
        else:
            asked.setdefault(name_of(item), str(one))
    if not named:
        raise LtrValueError("metrics must have at least one metric: got none.")
    request = Request(tuple(named.values()), asked, PolicyOptions(chosen, ties, no_relevant), metrics is None)
    request.policy  # noqa: B018  # refuses wrong options here
    return request


def by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Return metrics by canonical name; refuse two metrics of one name, and two classes of one name."""
    named: dict[str, Metric] = {}
    classes: dict[str, type[Metric]] = {}
    for one in metrics:
        name, word = str(one), name_without_parameters(str(one))
        if classes.setdefault(word, type(one)) is not type(one) or named.setdefault(name, one) != one:
            raise LtrValueError(
                f"Two different metrics are both named {name if name in named else word!r}: give their functions or "
                "classes different names."
            )
    return named


def resolve_once(metrics: Metrics | None = None, **options: Any) -> Request:
    """Return the same as `resolve`, but the same object for the same words, because loops ask again and again."""
    asked = None if metrics is None else tuple(listed(metrics))
    are_words = set(map(type, (*(asked or ()), *options.values()))) <= _WORDS
    return (_kept if are_words else resolve)(asked, **options)


_WORDS = {str, int, float, type(None)}
_kept = lru_cache(maxsize=100)(resolve)


def listed(metrics: Metrics) -> list[OneMetric]:
    """Return the metrics that were asked for, one or several, as a list."""
    if isinstance(metrics, (str, Metric)) or callable(metrics):
        return [metrics]
    if not hasattr(metrics, "__iter__"):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    return list(metrics)


def leaves_gain_open(metric: OneMetric, convention: Convention) -> bool:
    """Whether a metric is a name that leaves the gain to the host of a convention, as ``"ndcg@10"`` does."""
    if not isinstance(metric, str) or convention.host is None:
        return False
    parsed = parse(metric)
    given = convention.completing(parsed.cls) | parsed.parameters
    return issubclass(parsed.cls, DCG) and "gain" not in given


def name_of(metric: object) -> str:
    """Return the name of a metric, of a function, or the name itself."""
    return getattr(metric, "__name__", str(metric)) if callable(metric) else str(metric)


def _common_unit(metrics: Iterable[Metric]) -> str:
    """Return what the means are over; refuse two kinds, because a query has one weight in an evaluation."""
    kinds = {metric.mean_over: str(metric) for metric in metrics}
    if len(kinds) > 1:
        raise LtrValueError(
            "One evaluation cannot hold these metrics, because "
            f"{' and '.join(f'{name} is a mean over {kind}' for kind, name in kinds.items())}, and each query has "
            "only one weight. Evaluate them in two calls, or use average=macro."
        )
    return next(iter(kinds))


def _has(convention: Convention, cls: type[Metric]) -> bool:
    return cls.NAME in convention.metrics or cls in ALLOWED_IN_ALL_CONVENTIONS


def complete(name: str, convention: Convention) -> Metric:
    """Return the metric that a name stands for in a convention; raise an error if the system does not have it."""
    parsed = parse(name)
    if not _has(convention, parsed.cls):
        raise LtrValueError(
            f"{name!r} is not a metric of {convention.name}, which has only {', '.join(sorted(convention.metrics))}, "
            "so that convention says nothing about it. Set ties= and no_relevant= instead of the convention, or pass "
            f"the metric as an object, ltr_metrics.metric({name!r})."
        )
    if "k" in convention.metrics.get(parsed.cls.NAME, {}) and "k" in parsed.parameters:
        raise LtrValueError(
            f"{name!r} is not a metric of {convention.name}, whose {parsed.cls.NAME} has no cutoff: write "
            f"{parsed.cls.NAME!r}, or pass the metric as an object, ltr_metrics.metric({name!r})."
        )
    return parsed.make(name, convention.completing(parsed.cls))
