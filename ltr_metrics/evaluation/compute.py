"""One value per query for each metric, computed block by block in one or more threads."""

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

FIRST_RANKS = 32  # metrics up to this cutoff are computed for a batch of blocks at once


class Family(NamedTuple):
    """Metrics that differ only in the cutoff, and their indices among all metrics."""

    metrics: list[Metric]
    indices: list[int]


def compute_values(
    queries: LabelledQueries, scores: AnyArray, metrics: Sequence[Metric], ties: TiePolicy, n_threads: int
) -> dict[str, FloatArray]:
    """Return one value per query for each metric, NaN if undefined, from one sort of the scores."""
    scores = np.ascontiguousarray(scores)
    deep, shallow = _families(metrics)
    depth = max((metric.cutoff or 0 for family in shallow for metric in family.metrics), default=0)
    by_block = np.empty((len(metrics), queries.n_queries))  # in the order of the blocks

    def compute_batch(batch: Batch) -> None:
        tops = []
        for block in batch.blocks:
            ranking = rank(block, scores, ties)
            _fill(by_block, ranking, deep)
            if shallow:
                tops.append(ranking.top(depth))
        if shallow:
            _fill(by_block, concat(batch, tops), shallow)

    batches = batches_of(queries, n_threads)
    try:
        _run(compute_batch, batches, n_threads)
    except NaNScoreError:
        queries.refuse_nan_scores(scores)
        raise
    # The positions are the same however the blocks are batched.
    position = queries.cached("position in blocks", lambda: _positions(queries, batches))
    values = by_block.take(position, axis=1)
    _refuse_infinite(values, metrics, queries)
    return dict(zip(map(str, metrics), values, strict=True))


def _families(metrics: Sequence[Metric]) -> tuple[list[Family], list[Family]]:
    """Return the families that need the whole ranking, and those that need only the first ranks."""
    deep: dict[object, Family] = {}
    shallow: dict[object, Family] = {}
    for index, metric in enumerate(metrics):
        family = (shallow if _is_shallow(metric) else deep).setdefault(metric.family(), Family([], []))
        family.metrics.append(metric)
        family.indices.append(index)
    return list(deep.values()), list(shallow.values())


def _is_shallow(metric: Metric) -> bool:
    return (
        isinstance(metric, RankMetric) and metric.OF_GRADES_ALONE and metric.k is not None and metric.k <= FIRST_RANKS
    )


def _fill(by_block: FloatArray, ranking: Ranking, families: Iterable[Family]) -> None:
    """Write the values of a ranking's queries into the columns of its block."""
    columns = slice(ranking.block.begin, ranking.block.begin + len(ranking.block.members))
    for family in families:
        values_at_cutoffs = family.metrics[0].at_cutoffs(ranking, [metric.cutoff for metric in family.metrics])
        for index, values in zip(family.indices, values_at_cutoffs, strict=True):
            by_block[index, columns] = values


def _run(work: Callable[[Batch], None], batches: Sequence[Batch], n_threads: int) -> None:
    if n_threads == 1 or len(batches) == 1:
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # not kept: a pool does not survive a fork

    with ThreadPoolExecutor(min(n_threads, len(batches))) as pool:
        list(pool.map(work, batches))


def _positions(queries: LabelledQueries, batches: Sequence[Batch]) -> AnyArray:
    """Return the position of each query in the order of the blocks."""
    position = np.empty(queries.n_queries, dtype=np.intp)
    position[np.concatenate([batch.together.members for batch in batches])] = np.arange(queries.n_queries)
    return position


def _refuse_infinite(values: FloatArray, metrics: Sequence[Metric], queries: LabelledQueries) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        metric, query = np.argwhere(infinite)[0]
        raise LtrValueError(
            f"The metric {metrics[metric]} must be finite, or NaN where it is undefined: it is infinite for query "
            f"{queries.qid[query]}."
        )
