"""The mean of a metric at every cutoff up to the requested one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ltr_metrics._engine.plain import none_if_nan
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import mean_interval
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.requests import Request

MAX_CUTOFFS = 20  # on one curve; more cutoffs are spaced evenly on a logarithmic scale


def metric_curves(
    queries: Mapping[str, Queries], scores: Mapping[str, Any], request: Request, confidence: float
) -> list[dict[str, Any]]:
    """Return the mean and its interval at each cutoff, for each family of metrics with a cutoff."""
    return [_curve(family, queries, scores, request, confidence) for family in _deepest_of_each_family(request)]


def _curve(
    family: RankMetric, queries: Mapping[str, Queries], scores: Mapping[str, Any], request: Request, confidence: float
) -> dict[str, Any]:
    cutoffs = _cutoffs(family.k or 1)
    request = _at_cutoffs(family, cutoffs, request)
    models, n_queries = {}, 0
    for name, column in scores.items():
        result = queries[name].evaluate_request(column, request)
        n_queries = result.n_queries - next(reversed(result.n_undefined.values()))
        intervals = [
            mean_interval(values, result.weight, confidence, result.cluster) for values in result.per_query.values()
        ]
        models[name] = {
            key: [none_if_nan(getattr(interval, key)) for interval in intervals] for key in ("mean", "low", "high")
        }
    return {
        "metric": str(family).rpartition("@")[0],
        "k": cutoffs,
        "n_queries": n_queries,
        "confidence": confidence,
        "models": models,
    }


def _deepest_of_each_family(request: Request) -> list[RankMetric]:
    families: dict[object, RankMetric] = {}
    for metric in request.metrics:
        if isinstance(metric, RankMetric) and (metric.k or 0) > 1:
            known = families.setdefault(metric.family, metric)
            families[metric.family] = max(known, metric, key=lambda one: one.k or 0)
    return list(families.values())


def _at_cutoffs(family: RankMetric, cutoffs: list[int], request: Request) -> Request:
    metrics = tuple(replace(family, k=k) for k in cutoffs)
    undefined = request.policy.no_relevant_for(str(family))
    policy = replace(request.policy, no_relevant_of={str(metric): undefined for metric in metrics})
    return replace(request, metrics=metrics, asked={str(metric): str(metric) for metric in metrics}, policy=policy)


def _cutoffs(deepest: int) -> list[int]:
    if deepest <= MAX_CUTOFFS:
        return list(range(1, deepest + 1))
    return sorted({round(k) for k in np.geomspace(1, deepest, MAX_CUTOFFS).tolist()})
