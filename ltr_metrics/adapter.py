"""What the adapters to the hosts have in common: metrics resolved once, labels laid out once, no mean over nothing."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ltr_metrics.conventions import Convention, Metrics, resolve
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation import Queries
from ltr_metrics.inputs import same_arrays
from ltr_metrics.log import PerQueryLog
from ltr_metrics.metrics import MeanOf
from ltr_metrics.result import Evaluation
from ltr_metrics.totals import Totals


class UndefinedMeanError(LtrValueError):
    """A metric is undefined for all queries of a data set."""


class HostMetrics:
    """Metrics that a host calls round after round."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        ties: str | None = None,
        no_relevant: str | float | None = None,
        convention: str | Convention | None = None,
        log: PerQueryLog | None = None,
    ) -> None:
        self.request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
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

    def evaluate(self, queries: Queries, scores: Any) -> Evaluation:
        """Evaluate, and refuse a mean over no query, which a host would log as NaN and never stop on."""
        result = queries.answer(scores, self.request)
        refuse_undefined_means(result)
        return result


def refuse_undefined_means(result: Evaluation | Totals) -> None:
    """Refuse a mean over no query."""
    for name, value in result.mean.items():
        if np.isnan(value):
            raise UndefinedMeanError(
                f"{name} is undefined for all {result.n_queries} queries of this data set (or those that are left have weight "
                "0), so it has no mean. A metric is undefined where no document is relevant to it, one of order where all grades are "
                "equal, one of your own where it returns NaN. Evaluate on other data, or set no_relevant=0 or 1."
            )


class Prepared:
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
        return Prepared, ()  # copies and other processes prepare for themselves


# What takes the place of an adapter that was given to the wrong host, told by what the host hands over; the first that fits.
PLACES = {
    "estimator": "scikit-learn's scoring= takes ltr_metrics.sklearn.make_scorer(...)",
    "lightgbm Dataset": "lgb.train(feval=...) takes ltr_metrics.lightgbm.feval(...)",
    "xgboost DMatrix": "xgb.train(custom_metric=...) takes ltr_metrics.xgboost.custom_metric(...)",
    "numpy ndarray": "LGBMRanker.fit(eval_metric=...) takes ltr_metrics.lightgbm.eval_metric(...), XGBRanker(callbacks=[...]) takes "
    "ltr_metrics.xgboost.Monitor(...)",
}


def wrong_host(rule: str, *given: Any) -> LtrTypeError:
    """Return the error for what a host handed over to an adapter of another one, with the right one's name."""
    kinds = list(map(_kind, given))
    told = next((kind for kind in PLACES if kind in kinds), None)
    if told is None:
        return LtrTypeError(
            f"{rule} Got {' and '.join(f'a {kind}' for kind in kinds)}. Elsewhere: {'; '.join(PLACES.values())}."
        )
    return LtrTypeError(f"{rule} Got {'an' if told == 'estimator' else 'a'} {told}: {PLACES[told]}.")


def _kind(thing: Any) -> str:
    host, name = type(thing).__module__.partition(".")[0], type(thing).__name__
    if hasattr(thing, "fit") or hasattr(thing, "predict"):
        return "estimator"
    return "xgboost DMatrix" if host == "xgboost" and name.endswith("DMatrix") else f"{host} {name}"
