"""The metrics of an adapter: resolved once, evaluated in every round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ltr_metrics._hosts.frames import HostCall
from ltr_metrics._hosts.known_hosts import ENTRY_POINTS, Gain
from ltr_metrics._hosts.log_names import Names, names_in_log
from ltr_metrics._rows.words import ConventionName, HostOfGain, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import refuse_undefined_means
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.logs.training_log import PerQueryLog, Round, require_data_name
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention, convention_of
from ltr_metrics.metrics.names import in_lower_case, spelling_of
from ltr_metrics.metrics.requests import DEFAULT_METRICS, Metrics, Request, leaves_gain_open, listed, name_of, resolve


@dataclass(frozen=True, eq=False)
class Plan:
    """What is evaluated in a training, and the name of each metric in the host's log."""

    request: Request
    logged: dict[str, str]  # canonical name -> name in the log

    def evaluate(self, queries: Queries, scores: Any) -> Evaluation:
        """Evaluate the scores of a host, which may predict several a row. Means may be NaN."""
        shape = getattr(scores, "shape", ())
        if len(shape) > 1:
            raise LtrValueError(
                f"A ranking needs one score per row. The model predicts an array of shape {tuple(shape)}. Train with a "
                "ranking, regression or binary objective (without num_class), or combine the columns into one score "
                "and pass it to ltr_metrics.evaluate."
            )
        return queries.evaluate_request(scores, self.request)

    def named(self, mean: Mapping[str, float]) -> dict[str, float]:
        """Return means by their names in the log."""
        return {self.logged[name]: value for name, value in mean.items()}

    @cached_property
    def directions(self) -> dict[str, bool]:
        """Whether higher is better, by name in the log."""
        return {self.logged[str(metric)]: metric.higher_is_better for metric in self.request.metrics}


class HostMetrics:
    """The metrics that an adapter evaluates round after round, with their names in the log.

    Parameters
    ----------
    metrics, ties, no_relevant, convention
        As for `ltr_metrics.evaluate`.
    log : PerQueryLog, optional
    names : {"asked", "canonical", "slug"} or mapping
    host : {"lightgbm", "xgboost"}, optional
        The host, if its trainings can have a gain of their own that a convention follows, and its
        early stopping depends on names.
    checks_names : bool, default True
        Whether names by which the host's own early stopping is wrong are errors.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "asked",
        host: HostOfGain | None = None,
        checks_names: bool = True,
    ) -> None:
        self._asked = None if metrics is None else listed(metrics)
        self._policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant}
        self.convention = convention_of(convention)
        self._names: Names = dict(names) if isinstance(names, Mapping) else names
        self._host = host
        self._host_of_names = host if checks_names else None
        self._plans: dict[Gain, Plan] = {}
        self.request = self.plan().request
        if self.request.policy.ties == "docid":
            raise LtrValueError(
                'ties="docid" needs document ids, which no host passes to a metric. Use ties="stable" for input order.'
            )
        if log is not None and not isinstance(log, PerQueryLog):
            raise LtrTypeError(f"log must be a PerQueryLog. Got {log!r}.")
        self.log = log

    def __str__(self) -> str:
        return ", ".join(self.request.names)

    @cached_property
    def _follows_gain(self) -> bool:
        """Whether a name leaves the gain to the convention, and the convention leaves it to the host."""
        asked = DEFAULT_METRICS if self._asked is None else self._asked
        is_open = any(leaves_gain_open(metric, self.convention) for metric in asked)
        return is_open and self.convention.host == self._host

    def plan(self, read_gain: Callable[[], Gain] = lambda: "exp") -> Plan:
        """Return the plan of a training; ``read_gain`` is called only if a metric follows the gain of the host."""
        gain = read_gain() if self._follows_gain else "exp"
        if gain not in self._plans:
            convention = self.convention if gain == "exp" else self.convention.with_gain(gain)
            request = resolve(self._asked, convention=convention, **self._policy)
            logged = names_in_log(request, self._names, self._host_of_names)
            asked = request.asked | {name: canonical for canonical, name in logged.items() if name != canonical}
            self._plans[gain] = Plan(replace(request, asked=asked), logged)
        return self._plans[gain]

    def evaluate_round(
        self,
        plan: Plan,
        queries: Queries,
        scores: Any,
        data: Any,
        *,
        name: str | None = None,
        at: Round | None = None,
    ) -> dict[str, float]:
        """Evaluate a data set in one round, record the values in the log, and return the means.

        ``data``, ``name`` and ``at`` are those of `PerQueryLog.record`; without a log, ``at`` is not
        needed. A NaN mean is an error: a host would log it and never stop on it.
        """
        result = plan.evaluate(queries, scores)
        refuse_undefined_means(result)
        if self.log is not None and at is not None:
            self.log.record(data, result, plan.request, at, name=name)
        return plan.named(result.mean)


class WatchedMetric:
    """The metric of a data set that a callback of early stopping watches, under whatever name it is logged.

    Parameters
    ----------
    metric : str or Metric
        A metric in any spelling, or a name in the log that is not that of a metric.
    data_name : str or None
    convention, host
        As for `HostMetrics`.
    """

    def __init__(
        self,
        metric: str | Metric,
        data_name: str | None,
        convention: ConventionName | Convention | None,
        host: HostOfGain,
    ) -> None:
        if data_name is not None:
            require_data_name(data_name, "data_name")
        self.data_name, self._asked = data_name, name_of(metric)
        self._metrics: HostMetrics | None = None
        # This ranks nothing. Without a tie policy, a convention with ties="docid" is an error.
        options: dict[str, Any] = {"ties": "mean", "convention": convention_of(convention), "host": host}
        try:
            self._metrics = HostMetrics(metric, names="canonical", checks_names=False, **options)
        except LtrValueError:
            if not isinstance(metric, str):  # a text may be a name of the user's own, or one of the host's metrics
                raise
        if self._metrics is not None and len(self._metrics.request.metrics) != 1:
            raise LtrValueError(f"early_stopping watches one metric. Got {self._metrics}.")

    def __str__(self) -> str:
        return self._asked if self._metrics is None else str(self._metrics)

    @property
    def is_of_host(self) -> bool:
        """Whether the name is none of this package, but of the host, of a user's function or misspelled."""
        return self._metrics is None

    def find(
        self, plans: Sequence[Plan], logged: Collection[str], read_gain: Callable[[], Gain]
    ) -> tuple[str, bool | None] | None:
        """Return the name of the metric in the log of a data set, and whether higher is better.

        Our metrics are found as metrics, in the plans of the training's metric functions. Only a
        name that is none of theirs may be that of a metric of the host, or of a user's function.
        """
        ours = {name: canonical for plan in plans for canonical, name in plan.logged.items() if name in logged}
        if self._metrics is None:
            directions = [plan.directions[self._asked] for plan in plans if self._asked in plan.directions]
            return (self._asked, next(iter(directions), None)) if self._asked in logged else None
        (metric,) = self._metrics.plan(read_gain).request.metrics
        found = [name for name, canonical in ours.items() if canonical == str(metric)]
        if len(found) > 1:
            raise LtrValueError(
                f"early_stopping watches {metric}, which is logged as {' and as '.join(found)}. Pass the name of one "
                "of them that is not the name of a metric, or evaluate the metric once."
            )
        spellings = str(metric), in_lower_case(self._asked)
        found += [name for name in spellings if name in logged and name not in ours]
        return (found[0], metric.higher_is_better) if found else None


def several_sets(metric: str, data: Iterable[str]) -> LtrValueError:
    """Return the error of a callback that cannot choose between data sets."""
    return LtrValueError(
        f"Several data sets have {metric}. Choose the one to watch with data_name=, of {', '.join(data)}."
    )


def not_evaluated(watched: WatchedMetric, logged: Iterable[str], where: str) -> LtrValueError:
    """Return the error of a callback whose metric is not in the host's log."""
    of_data, logged = "" if watched.data_name is None else f" of {watched.data_name!r}", list(logged)
    if watched.is_of_host and any(one.rpartition(" of ")[0] == str(watched) for one in logged):
        return LtrValueError(
            f"early_stopping watches {watched}, which is no metric of this package, so its direction is not known."
            f"{spelling_of(str(watched))} Watch a metric of this package, or use the early stopping of the host."
        )
    hint = spelling_of(str(watched)) if watched.is_of_host else ""
    return LtrValueError(
        f"early_stopping watches {watched}{of_data}, which is not evaluated.{hint} "
        f"Evaluated here: {', '.join(logged) or 'no metric on any validation set'}. Pass the metric to {where}. If you "
        "passed a convention there, pass it here too."
    )


def model_of_call(call: HostCall | None, remedy: str) -> Any:
    """Return the model whose method has called a metric, or raise an error if a user has called it."""
    if call is None or (call.frame is None and not call.is_direct):
        raise LtrValueError(
            "A metric with log= was called by hand, with predictions that do not say after how many rounds of the "
            f"model they were made. {remedy} Or leave out log=."
        )
    return call.local("self")


class MetricFunction:
    """Base of the adapters that are functions, and have a name, or that CatBoost may take for a metric."""

    def __init__(self, metrics: HostMetrics) -> None:
        self.metrics = metrics
        self.__name__ = ",".join(metrics.request.names)

    def is_max_optimal(self) -> bool:
        """Raise an error: CatBoost calls this first of an object that it takes for a metric."""
        raise LtrTypeError(f"{type(self).__name__} is for another host. {ENTRY_POINTS['catboost Pool']}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.metrics})"
