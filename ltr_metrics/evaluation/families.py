"""What metrics declare for some queries, made once for all scores."""

from __future__ import annotations

from typing import Any, cast

from ltr_metrics._ranks import native
from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.requests import Family, families_of

Families = tuple[Any, list[Family]]  # of metrics that the core adds up, as it reads them, and of all others


@cached
def families_for(queries: LabelledQueries, metrics: tuple[Metric, ...]) -> Families:
    """Return what metrics declare for these queries, as the core reads it, and the families of the others."""
    declared, functions = families_of(metrics)
    metric_of = [cast("RankMetric", one.metrics[0]) for one in declared]
    declarations = [m.declaration(queries, tuple(one.cutoffs)) for m, one in zip(metric_of, declared, strict=True)]
    structs = [of.struct(one.positions) for of, one in zip(declarations, declared, strict=True)]
    return native.array_of(structs), functions
