"""One value per query for each metric: from the compiled core, or from the metric's own function of rankings."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ltr_metrics._engine import native
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.requests import Family, Request, families_of

Families = tuple[Any, list[Family]]  # of metrics that the core adds up, as it reads them, and of all others


def compute_values(
    queries: LabelledQueries, scores: AnyArray, request: Request, families: Families, n_threads: int
) -> FloatArray:
    """Return one value per query for each metric, (metrics x queries), NaN if undefined."""
    values = np.empty((len(request.metrics), queries.n_queries))
    declared, own = families
    if len(declared):
        native.evaluate(queries, scores, request.policy.ties, declared, values, n_threads=n_threads)
    if own:
        ranking = Ranking(queries, scores, request.policy.ties, n_threads)
        for (metric,), _, (position,) in own:  # a family of one
            values[position] = metric.values(ranking)
    return values


@cached
def families_for(queries: LabelledQueries, metrics: tuple[Metric, ...]) -> Families:
    """Return what metrics declare for these queries, as the core reads it, and the families of the others."""
    declared, own = families_of(metrics)
    metric_of = [cast("RankMetric", one.metrics[0]) for one in declared]
    declarations = [m.declaration(queries, tuple(one.cutoffs)) for m, one in zip(metric_of, declared, strict=True)]
    structs = [of.struct(one.positions) for of, one in zip(declarations, declared, strict=True)]
    return native.array_of(structs), own
