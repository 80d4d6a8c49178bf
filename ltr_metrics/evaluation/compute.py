"""One value per query for each metric: from the compiled core, or from the metric's own function of rankings."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ltr_metrics._engine import native
from ltr_metrics._engine.cache import cached, cached_newest
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.requests import Family, Request, families_of


def compute_values(queries: LabelledQueries, scores: AnyArray, request: Request, n_threads: int) -> FloatArray:
    """Return one value per query for each metric, (metrics x queries), NaN if undefined."""
    values = np.empty((len(request.metrics), queries.n_queries))
    families, own = _families_of(queries, request)
    if len(families):
        native.evaluate(queries, scores, request.policy.ties, families, values, n_threads=n_threads)
    if own:
        ranking = Ranking(queries, scores, request.policy.ties, n_threads)
        for metrics, cutoffs, positions in own:
            metrics[0].write_values(ranking, cutoffs, [values[position] for position in positions])
    return values


@cached_newest
def _families_of(queries: LabelledQueries, request: Request) -> tuple[Any, list[Family]]:
    return _families(queries, request.metrics)


def declared_families(queries: LabelledQueries, metrics: tuple[Metric, ...]) -> Any:
    """Return what those of the metrics declare that the compiled core adds up."""
    return _families(queries, metrics)[0]


@cached
def _families(queries: LabelledQueries, metrics: tuple[Metric, ...]) -> tuple[Any, list[Family]]:
    """Return what metrics declare for these queries, as the core reads it, and the families of the others."""
    declared, own = families_of(metrics)
    metric_of = [cast("RankMetric", one.metrics[0]) for one in declared]
    declarations = [m.declaration(queries, tuple(one.cutoffs)) for m, one in zip(metric_of, declared, strict=True)]
    structs = [of.struct(one.positions) for of, one in zip(declarations, declared, strict=True)]
    return native.array_of(structs), own
