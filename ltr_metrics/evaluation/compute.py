"""One value a query for each metric: block by block, in several threads where that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Batch, batches_of
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, concat, rank
from ltr_metrics._engine.sorting import NaNScoreError
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric, RankMetric

FIRST_RANKS = 32  # cutoffs up to here are read from the first ranks of many blocks together


class Family(NamedTuple):
    """Metrics that differ in nothing but the cutoff, and where among all metrics they are."""

    metrics: list[Metric]
    at: list[int]


def values_of(
    queries: LabelledQueries, scores: AnyArray, metrics: Sequence[Metric], ties: TiePolicy, n_threads: int
) -> dict[str, FloatArray]:
    """Return one value a query for each metric, NaN where it is undefined: one sort, families together."""
    scores = np.ascontiguousarray(scores)
    whole, first = _families(metrics)
    deepest = max((metric.cutoff or 0 for family in first for metric in family.metrics), default=0)
    by_block = np.empty((len(metrics), queries.n_queries))  # queries block after block

    def of_batch(batch: Batch) -> None:
        tops = []
        for block in batch.blocks:
            ranking = rank(block, scores, ties)
            _fill(by_block, ranking, whole)
            if first:
                tops.append(ranking.top(deepest))
        if first:
            _fill(by_block, concat(batch, tops), first)

    batches = batches_of(queries, n_threads)
    try:
        _each(of_batch, batches, n_threads)
    except NaNScoreError:
        queries.refuse_nan_scores(scores)
        raise
    place = queries.cached("place in blocks", lambda: _places(queries, batches))  # the same however they are cut
    values = by_block.take(place, axis=1)
    _refuse_infinite(values, metrics, queries)
    return dict(zip(map(str, metrics), values, strict=True))


def _families(metrics: Sequence[Metric]) -> tuple[list[Family], list[Family]]:
    """Part the families, and these into cutoffs that need the whole ranking and those that need the first ranks alone."""
    whole: dict[object, Family] = {}
    first: dict[object, Family] = {}
    for at, metric in enumerate(metrics):
        family = (first if _is_shallow(metric) else whole).setdefault(metric.family(), Family([], []))
        family.metrics.append(metric)
        family.at.append(at)
    return list(whole.values()), list(first.values())


def _is_shallow(metric: Metric) -> bool:
    return (
        isinstance(metric, RankMetric) and metric.OF_GRADES_ALONE and metric.k is not None and metric.k <= FIRST_RANKS
    )


def _fill(by_block: FloatArray, ranking: Ranking, families: Iterable[Family]) -> None:
    """Write the values of a ranking's queries."""
    own = slice(ranking.block.begin, ranking.block.begin + len(ranking.block.members))
    for family in families:
        found = family.metrics[0].at_cutoffs(ranking, [metric.cutoff for metric in family.metrics])
        for at, values in zip(family.at, found, strict=True):
            by_block[at, own] = values


def _each(work: Callable[[Batch], None], batches: Sequence[Batch], n_threads: int) -> None:
    if n_threads == 1 or len(batches) == 1:
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # not kept: a pool would not outlive a fork

    with ThreadPoolExecutor(min(n_threads, len(batches))) as pool:
        list(pool.map(work, batches))


def _places(queries: LabelledQueries, batches: Sequence[Batch]) -> AnyArray:
    place = np.empty(queries.n_queries, dtype=np.intp)
    place[np.concatenate([batch.together.members for batch in batches])] = np.arange(queries.n_queries)
    return place


def _refuse_infinite(values: FloatArray, metrics: Sequence[Metric], queries: LabelledQueries) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        metric, query = np.argwhere(infinite)[0]
        raise LtrValueError(
            f"The metric {metrics[metric]} must be finite, or NaN where it is undefined: it is not for query {queries.qid[query]}."
        )
