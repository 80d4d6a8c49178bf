"""The metrics of an adapter: resolved once, evaluated in every round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.words import ConventionName, HostOfGain, NoRelevant, TiePolicy
from ltr_metrics._hosts.known_hosts import Gain, not_for_catboost
from ltr_metrics._hosts.log_names import Names, names_in_log
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.totals import Totals
from ltr_metrics.evaluation.training_log import PerQueryLog
from ltr_metrics.metrics.conventions import Convention, convention_of
from ltr_metrics.metrics.requests import DEFAULT_METRICS, Metrics, Request, leaves_gain_open, listed, resolve


class UndefinedMeanError(LtrValueError):
    """A metric is undefined for all queries of a data set."""


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

    def directions(self) -> dict[str, bool]:
        """Return whether higher is better, by name in the log."""
        return {self.logged[str(metric)]: metric.higher_is_better for metric in self.request.metrics}


class HostMetrics:
    """The metrics that an adapter evaluates round after round, with their names in the log.

    Parameters
    ----------
    metrics, ties, no_relevant, convention
        As for `ltr_metrics.evaluate`.
    log : PerQueryLog, optional
    names : {"canonical", "asked", "slug"} or mapping
    host : {"lightgbm", "xgboost"}, optional
        The host, if its trainings can have a gain of their own that a convention follows.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        log: PerQueryLog | None = None,
        names: Names = "canonical",
        host: HostOfGain | None = None,
    ) -> None:
        self._asked = None if metrics is None else listed(metrics)
        self._policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant}
        self.convention = convention_of(convention)
        self._names: Names = dict(names) if isinstance(names, Mapping) else names
        self._host = host
        self._plans: dict[Gain | None, Plan] = {}
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

    @property
    def names_with_open_gain(self) -> list[str]:
        """Names that leave the gain to the convention, and so to a host with a gain of its own."""
        asked = DEFAULT_METRICS if self._asked is None else self._asked
        return [str(metric) for metric in asked if leaves_gain_open(metric, self.convention)]

    @cached_property
    def follows_gain(self) -> bool:
        """Whether the host's own gain replaces that of the convention."""
        return self.convention.host == self._host and bool(self.names_with_open_gain)

    def plan(self, gain: Gain = "exp") -> Plan:
        """Return what is evaluated under the host's own gain.

        The gain changes the names that leave it open.
        """
        key = None if gain == "exp" or not self.follows_gain else gain
        if key not in self._plans:
            convention = self.convention if key is None else self.convention.with_gain(key)
            request = resolve(self._asked, convention=convention, **self._policy)
            logged = names_in_log(request, self._names)
            asked = request.asked | {name: canonical for canonical, name in logged.items() if name != canonical}
            self._plans[key] = Plan(replace(request, asked=asked), logged)
        return self._plans[key]

    def plan_of_training(self, read_gain: Callable[[], Gain]) -> Plan:
        """Return what is evaluated in a training, whose own gain is read only if the metrics follow it."""
        return self.plan(read_gain()) if self.follows_gain else self.plan()

    def evaluate_round(
        self,
        plan: Plan,
        queries: Queries,
        scores: Any,
        data: Any,
        *,
        name: str | None = None,
        training: Any = None,
        number: int | None = None,
    ) -> dict[str, float]:
        """Evaluate a data set in one round, record the values in the log, and return the means.

        ``data``, ``name``, ``training`` and ``number`` are those of `PerQueryLog.record`.
        A NaN mean is an error: a host would log it and never stop on it.
        """
        result = plan.evaluate(queries, scores)
        refuse_undefined_means(result)
        if self.log is not None:
            self.log.record(data, result, plan.request, name=name, training=training, number=number)
        return plan.named(result.mean)


class MetricFunction:
    """Base of the adapters that a host takes as a function: hosts ask a function for its name."""

    def __init__(self, metrics: HostMetrics) -> None:
        self.metrics = metrics
        self.__name__ = ",".join(metrics.request.names)

    def is_max_optimal(self) -> bool:
        """Raise an error: CatBoost calls this first of an object that it takes for a metric."""
        raise not_for_catboost(type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.metrics})"


def refuse_undefined_means(result: Evaluation | Totals) -> None:
    """Raise an error for a mean over no query."""
    for name, value in result.mean.items():
        if np.isnan(value):
            raise UndefinedMeanError(
                f"{name} is undefined for all {result.n_queries} queries of this data set (or the others have weight "
                "0), so it has no mean. A metric is undefined where no document is relevant to it, an order metric "
                "where all grades are equal, and a metric of your own where it returns NaN. Evaluate on other data, or "
                "set no_relevant=0 or 1."
            )
