"""What the adapters to the hosts have in common: metrics resolved once, labels laid out once, no mean over nothing."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FrameType
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np

from ltr_metrics._engine.checks import require_option, same_arrays
from ltr_metrics._engine.words import ConventionName, NamedGain, NameStyle, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.parts import Totals
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics import MeanOf
from ltr_metrics.metrics.conventions import Convention, convention_of
from ltr_metrics.metrics.requests import DEFAULT_METRICS, Metrics, Request, leaves_gain_open, listed, name_of, resolve

Names = NameStyle | Mapping[Any, str]
NAMES: tuple[NameStyle, ...] = get_args(NameStyle)
Gain = NamedGain | tuple[float, ...]
SETTING_OF_GAIN = {"lightgbm": "label_gain", "xgboost": "ndcg_exp_gain"}


class UndefinedMeanError(LtrValueError):
    """A metric is undefined for all queries of a data set."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is evaluated in a training, and the name under which the host logs each metric."""

    request: Request
    logged: dict[str, str]  # canonical name -> name in the log

    def evaluate(self, queries: Queries, scores: Any) -> Evaluation:
        """Evaluate, and refuse a mean over no query, which a host would log as NaN and never stop on."""
        result = queries.evaluate_request(scores, self.request)
        refuse_undefined_means(result)
        return result

    def named(self, mean: Mapping[str, float]) -> dict[str, float]:
        """Return means by their names in the log."""
        return {self.logged[name]: value for name, value in mean.items()}


class HostMetrics:
    """Metrics that a host calls round after round."""

    HOST: ClassVar[str | None] = None  # the training library that calls, if it may have a gain of its own

    def __init__(
        self,
        metrics: Metrics,
        *,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "canonical",
    ) -> None:
        self._asked = None if metrics is None else listed(metrics)
        self._policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant}
        self.convention = convention_of(convention)
        self._names: Names = dict(names) if isinstance(names, Mapping) else names
        self._plans: dict[Gain | None, Plan] = {}
        self.request = self.plan().request
        if self.request.policy.ties == "docid":
            raise LtrValueError(
                'ties="docid" needs document ids, and no host hands them over: use ties="stable" for input order.'
            )
        if any(isinstance(metric, MeanOf) for metric in self.request.metrics):
            raise LtrValueError("mean_of needs columns, and no host hands them over: evaluate it after the training.")
        if log is not None and not isinstance(log, PerQueryLog):
            raise LtrTypeError(f"log must be a PerQueryLog. Got {log!r}.")
        self.log = log
        self.__name__ = ",".join(map(str, self.request.metrics))  # hosts that expect a function ask for it

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.request.metrics))})"

    @property
    def open_to_gain(self) -> list[str]:
        """The names whose gain is the convention's, and therefore the host's own if that has one."""
        asked = DEFAULT_METRICS if self._asked is None else self._asked
        is_open = self.convention.host is not None and self.convention.ndcg_gain == "exp"
        return [str(metric) for metric in asked if leaves_gain_open(metric)] if is_open else []

    @cached_property
    def follows_gain(self) -> bool:
        """Whether the host's own gain takes the place of the convention's."""
        return self.convention.host == self.HOST and bool(self.open_to_gain)

    def plan(self, gain: Gain = "exp") -> Plan:
        """Return what is evaluated under the host's own gain, which changes the names that leave the gain open."""
        key = None if gain == "exp" or not self.follows_gain else gain
        if key not in self._plans:
            convention = self.convention if key is None else replace(self.convention, ndcg_gain=key)
            request = resolve(self._asked, convention=convention, **self._policy)
            logged = _names_in_log(request, self._names)
            self._refuse_unusable_names(list(logged.values()))
            asked = request.asked | {name: canonical for canonical, name in logged.items() if name != canonical}
            self._plans[key] = Plan(replace(request, asked=asked), logged)
        return self._plans[key]

    def warn_of_unknown_gain(self) -> None:
        """Warn that the host's own gain cannot be read."""
        warn(
            f'convention="{self.convention.name}" follows {SETTING_OF_GAIN[str(self.HOST)]}, which cannot be read here, so '
            f"{', '.join(self.open_to_gain)} has the exponential gain. Write the gain into the name (ndcg_exp@10, "
            "ndcg_lin@10, ndcg(gain=[0,1,3])@10) to be independent of the host."
        )

    def _refuse_unusable_names(self, names: Sequence[str]) -> None:
        """Raise an error for names that the host cannot log; hosts have rules of their own."""


# -- names in the log -----------------------------------------------------------------------------------------------------


def _names_in_log(request: Request, names: Names) -> dict[str, str]:
    """Return the name in the log for each canonical name."""
    if isinstance(names, Mapping):
        logged = _own_names(request, names)
    elif not isinstance(names, str):
        raise LtrTypeError(
            f"names must be one of {', '.join(map(repr, NAMES))}, or a mapping of metrics to names of your own. "
            f"Got {names!r}."
        )
    elif require_option("names", names, NAMES) == "asked":
        logged = _names_as_asked(request)
    else:
        logged = {str(metric): metric.slug if names == "slug" else str(metric) for metric in request.metrics}
    _refuse_shared_names(request, logged)
    return logged


def _names_as_asked(request: Request) -> dict[str, str]:
    typed: dict[str, str] = {}
    for asked, canonical in request.asked.items():
        if typed.setdefault(canonical, asked) != asked:
            raise LtrValueError(
                f"{typed[canonical]!r} and {asked!r} are the same metric, {canonical}, which is logged once. With "
                'names="asked" it would have two names. Leave one of them out, or name it yourself: '
                f'names={{"{canonical}": ...}}.'
            )
    return typed


def _own_names(request: Request, names: Mapping[Any, str]) -> dict[str, str]:
    logged = {str(metric): str(metric) for metric in request.metrics}
    given: dict[str, str] = {}
    for key, name in names.items():
        metric = name_of(key)
        canonical = metric if metric in logged else request.asked.get(metric)
        if canonical is None:
            known = dict.fromkeys([*request.asked, *logged])
            raise LtrValueError(
                f"names has {metric!r}, which is not evaluated.{did_you_mean(metric, known)} A key is a metric as you "
                f"asked for it, or its canonical name. Here: {', '.join(known)}."
            )
        if not isinstance(name, str) or not name.strip():
            raise LtrTypeError(f"names must map metrics to text that is not empty. Got {name!r} for {metric!r}.")
        if given.setdefault(canonical, name) != name:
            raise LtrValueError(
                f"names gives {canonical} two names, {given[canonical]!r} and {name!r}. Keep one of the two keys."
            )
    return logged | given


def _refuse_shared_names(request: Request, logged: Mapping[str, str]) -> None:
    """Refuse a name that two metrics would have: a log keeps one history for a name, and is asked by all names."""
    owner: dict[str, str] = {}
    for canonical, name in logged.items():
        if owner.setdefault(name, canonical) != canonical:
            raise LtrValueError(
                f"{owner[name]} and {canonical} would both be logged as {name!r}, and a log has one history for a name. "
                f'Give one of them another name: names={{"{canonical}": ...}}.'
            )
    for name, canonical in {**request.asked, **{canonical: canonical for canonical in logged}}.items():
        if owner.get(name, canonical) != canonical:
            raise LtrValueError(
                f"{owner[name]} would be logged as {name!r}, which is the name of {canonical} here. Choose another name."
            )


# -- what the host is doing -----------------------------------------------------------------------------------------------


class HostCall(NamedTuple):
    """Where in a host the metric function is called: hosts tell a metric nothing of the model or of other metrics."""

    frame: FrameType | None  # of the host's function that was looked for, None if it is not among the callers
    is_direct: bool  # whether only the host and this package stand in between
    in_host: bool  # whether the host is among the callers at all


def find_host_call(package: str, function: str) -> HostCall:
    """Look for a function of a host among the callers."""
    is_direct, in_host, frame = True, False, inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        in_host |= module == package
        if module == package and frame.f_code.co_name == function:
            return HostCall(frame, is_direct, in_host)
        is_direct &= module in ("ltr_metrics", package)
        frame = frame.f_back
    return HostCall(None, False, in_host)


def gain_of_setting(setting: str, value: Any) -> Gain:
    """Return the gain that a host's own setting stands for: ``"exp"`` and ``"linear"`` where it is one of these."""
    if setting == "ndcg_exp_gain":
        return "linear" if str(value).lower() in ("0", "false") else "exp"
    entries = value.split(",") if isinstance(value, str) else [] if value is None else value
    table = tuple(float(str(entry)) for entry in entries)  # through text, as LightGBM reads it
    if all(gain == 2.0**grade - 1 for grade, gain in enumerate(table)):  # no table at all is LightGBM's default
        return "exp"
    return "linear" if all(gain == grade for grade, gain in enumerate(table)) else table


def refuse_undefined_means(result: Evaluation | Totals) -> None:
    """Refuse a mean over no query."""
    for name, value in result.mean.items():
        if np.isnan(value):
            raise UndefinedMeanError(
                f"{name} is undefined for all {result.n_queries} queries of this data set (or those that are left have weight "
                "0), so it has no mean. A metric is undefined where no document is relevant to it, one of order where all grades are "
                "equal, one of your own where it returns NaN. Evaluate on other data, or set no_relevant=0 or 1."
            )


class QueriesCache:
    """Queries of a host's data sets: laid out once, again if what they were made of has changed, dropped with the data set.

    Hosts hand over the same object in every round, and nothing of theirs tells of all changes.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], tuple[Any, ...], Queries]] = {}

    def get(self, data: Any, facts: tuple[Any, ...], make: Callable[[], Queries]) -> Queries:
        """Return the queries of a data set, made anew unless its facts (arrays or None) are those of the last time."""
        reference, before, queries = self._known.get(id(data), (None, (), None))
        if (
            queries is not None
            and reference is not None
            and reference() is data
            and all(map(same_arrays, before, facts))
        ):
            return queries
        queries, key, known = make(), id(data), self._known
        copies = tuple(None if fact is None else np.array(fact) for fact in facts)  # they may be changed in place
        known[key] = weakref.ref(data, lambda _: known.pop(key, None)), copies, queries
        return queries

    def __reduce__(self) -> Any:
        return QueriesCache, ()  # copies and other processes prepare for themselves


# What takes the place of an adapter that was given to the wrong host, told by what the host hands over; the first that fits.
HOST_ENTRY_POINTS = {
    "estimator": "scikit-learn's scoring= takes ltr_metrics.sklearn.make_scorer(...)",
    "lightgbm Dataset": "lgb.train(feval=...) takes ltr_metrics.lightgbm.feval(...)",
    "xgboost DMatrix": "xgb.train(custom_metric=...) takes ltr_metrics.xgboost.custom_metric(...)",
    "numpy ndarray": "LGBMRanker.fit(eval_metric=...) takes ltr_metrics.lightgbm.eval_metric(...), XGBRanker(callbacks=[...]) takes "
    "ltr_metrics.xgboost.Monitor(...)",
}


def wrong_host(rule: str, *given: Any) -> LtrTypeError:
    """Return the error for what a host handed over to an adapter of another one, with the right one's name."""
    kinds = list(map(_kind, given))
    told = next((kind for kind in HOST_ENTRY_POINTS if kind in kinds), None)
    if told is None:
        return LtrTypeError(
            f"{rule} Got {' and '.join(f'a {kind}' for kind in kinds)}. Elsewhere: {'; '.join(HOST_ENTRY_POINTS.values())}."
        )
    return LtrTypeError(f"{rule} Got {'an' if told == 'estimator' else 'a'} {told}: {HOST_ENTRY_POINTS[told]}.")


def _kind(thing: Any) -> str:
    host, name = type(thing).__module__.partition(".")[0], type(thing).__name__
    if hasattr(thing, "fit") or hasattr(thing, "predict"):
        return "estimator"
    return "xgboost DMatrix" if host == "xgboost" and name.endswith("DMatrix") else f"{host} {name}"
