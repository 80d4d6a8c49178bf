"""One value per query for each metric, computed block by block in one or more threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Batch, batches_of
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, first_ranks, rank
from ltr_metrics._engine.sorting import NaNScoreError
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric, RankMetric

FIRST_RANKS = 32  # metrics up to this cutoff are computed for a batch of blocks at once


class Family(NamedTuple):
    """Metrics that differ only in the cutoff, and their positions among all metrics."""

    metrics: list[Metric]
    cutoffs: list[int | None]
    positions: list[int]

    @classmethod
    def group(cls, metrics: Sequence[Metric], chosen: Iterable[bool]) -> list[Family]:
        """Group those of the metrics that are chosen."""
        families: dict[object, Family] = {}
        for position, (metric, is_chosen) in enumerate(zip(metrics, chosen, strict=True)):
            if is_chosen:
                family = families.setdefault(metric.family, cls([], [], []))
                family.metrics.append(metric)
                family.cutoffs.append(_cutoff(metric))
                family.positions.append(position)
        return list(families.values())


def compute_values(
    queries: LabelledQueries, scores: AnyArray, metrics: Sequence[Metric], ties: TiePolicy, n_threads: int
) -> dict[str, FloatArray]:
    """Return one value per query for each metric, NaN if undefined, from one sort of the scores."""
    scores = np.ascontiguousarray(scores)
    depth = max((k for metric in metrics if _needs_first_ranks_alone(metric) and (k := _cutoff(metric))), default=0)
    shallow = Family.group(metrics, map(_needs_first_ranks_alone, metrics))
    whole = Family.group(metrics, (not _needs_first_ranks_alone(metric) for metric in metrics))
    families = Family.group(metrics, (True for _ in metrics))
    values = np.empty((len(metrics), queries.n_queries))

    def evaluate_batch(batch: Batch) -> None:
        if len(batch.blocks) == 1 and batch.combined.is_short:
            _fill(values, Ranking.of_block(rank(batch.combined, scores, ties)), families)
            return
        tops_by_block = []
        for block in batch.blocks:
            ranked = rank(block, scores, ties)
            if whole:
                _fill(values, Ranking.of_block(ranked), whole)
            if shallow:
                tops_by_block.append(first_ranks(ranked, depth))
        if shallow:
            _fill(values, Ranking.of_batch(batch, tops_by_block), shallow)

    batches = batches_of(queries, n_threads)
    try:
        _run(evaluate_batch, batches, n_threads)
    except NaNScoreError:
        queries.refuse_nan_scores(scores)
        raise
    return dict(zip(map(str, metrics), values, strict=True))


def _cutoff(metric: Metric) -> int | None:
    return metric.k if isinstance(metric, RankMetric) else None


def _needs_first_ranks_alone(metric: Metric) -> bool:
    k = _cutoff(metric)
    return k is not None and k <= FIRST_RANKS and not (metric.READS_ROWS or metric.needed_columns)


def _fill(values: FloatArray, ranking: Ranking, families: Iterable[Family]) -> None:
    """Write the values of a ranking's queries."""
    for metrics, cutoffs, positions in families:
        at_cutoffs = metrics[0].at_cutoffs(ranking, cutoffs)
        for metric, position, of_metric in zip(metrics, positions, at_cutoffs, strict=True):
            _refuse_infinite(of_metric, metric, ranking)
            values[position][ranking.block.members] = of_metric


def _run(work: Callable[[Batch], None], batches: Sequence[Batch], n_threads: int) -> None:
    if n_threads == 1 or len(batches) == 1:
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # not kept: a pool does not survive a fork

    with ThreadPoolExecutor(min(n_threads, len(batches))) as pool:
        list(pool.map(work, batches))


def _refuse_infinite(values: FloatArray, metric: Metric, ranking: Ranking) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        raise LtrValueError(
            f"The metric {metric} must be finite, or NaN where it is undefined: it is infinite for query "
            f"{ranking.queries.qid[ranking.block.members[int(infinite.argmax())]]}."
        )
