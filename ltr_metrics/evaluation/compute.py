"""One value per query for each metric, computed block by block in one or more threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ltr_metrics._engine.blocks import Batch, batches_of
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, first_ranks, rank
from ltr_metrics._engine.sorting import NaNScoreError
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Family, Request


def compute_values(
    queries: LabelledQueries, scores: AnyArray, request: Request, n_threads: int
) -> dict[str, FloatArray]:
    """Return one value per query for each metric, NaN if undefined, from one sort of the scores."""
    scores = np.ascontiguousarray(scores)
    metrics, ties = request.metrics, request.policy.ties
    whole, shallow, depth = request.families
    values = np.empty((len(metrics), queries.n_queries))

    def evaluate_batch(batch: Batch) -> None:
        if len(batch.blocks) == 1 and batch.combined.is_short:
            ranking = Ranking.of_block(rank(batch.combined, scores, ties))
            _fill(values, ranking, whole)
            _fill(values, ranking.of_grades_alone(), shallow)
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
    _refuse_infinite(values, metrics, queries)
    return dict(zip(request.names, values, strict=True))


def _fill(values: FloatArray, ranking: Ranking, families: Iterable[Family]) -> None:
    """Write the values of a ranking's queries."""
    for metrics, cutoffs, positions in families:
        of_family = metrics[0].values_at(ranking, cutoffs)
        for position, metric_values in zip(positions, of_family, strict=True):
            values[position][ranking.block.selection] = metric_values


def _run(work: Callable[[Batch], None], batches: Sequence[Batch], n_threads: int) -> None:
    if n_threads == 1 or len(batches) == 1:
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # not kept: a pool does not survive a fork

    with ThreadPoolExecutor(min(n_threads, len(batches))) as pool:
        list(pool.map(work, batches))


def _refuse_infinite(values: FloatArray, metrics: Sequence[Metric], queries: LabelledQueries) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        metric, query = np.argwhere(infinite)[0]
        raise LtrValueError(
            f"The metric {metrics[metric]} must be finite, or NaN where it is undefined: it is infinite for query "
            f"{queries.qid[query]}."
        )
