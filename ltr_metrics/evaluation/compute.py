"""One value per query for each metric, computed block by block in one or more threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ltr_metrics._engine.blocks import Block, batches_of, positions_in_blocks
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.metrics.requests import Family, Request


def compute_values(
    queries: LabelledQueries, scores: AnyArray, request: Request, n_threads: int
) -> dict[str, FloatArray]:
    """Return one value per query for each metric, NaN if undefined, from one sort of the scores."""
    scores = np.ascontiguousarray(scores)
    if np.isnan(scores.min()):
        queries.refuse_nan_scores(scores)
    whole, shallow, depth = request.families
    values = np.empty((len(request.metrics), queries.n_queries))  # in the order of the blocks

    def evaluate_batch(batch: Block) -> None:
        first_ranks = []
        for block in batch.parts or [batch]:
            ranking = Ranking.of_block(block, scores, request.policy.ties)
            _fill(values, ranking, whole)
            if not batch.parts:
                _fill(values, ranking, shallow)
            elif shallow:
                first_ranks.append(ranking.first(depth))
        if first_ranks:
            _fill(values, Ranking.concat(batch, first_ranks), shallow)

    is_shared = n_threads > 1
    _run(evaluate_batch, batches_of(queries, is_shared), n_threads)
    positions = positions_in_blocks(queries, is_shared)
    if positions is not None:
        for of_metric in values:  # one by one, which takes less memory
            of_metric[:] = of_metric[positions]
    return dict(zip(request.names, values, strict=True))


def _fill(values: FloatArray, ranking: Ranking, families: Iterable[Family]) -> None:
    """Write the values of a ranking's queries, which are in the order of all blocks."""
    for metrics, cutoffs, positions in families:
        metrics[0].write_values(ranking, cutoffs, [values[position, ranking.block.span] for position in positions])


def _run(work: Callable[[Block], None], batches: Sequence[Block], n_threads: int) -> None:
    if n_threads == 1 or len(batches) == 1:
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # not kept: a pool does not survive a fork

    with ThreadPoolExecutor(min(n_threads, len(batches))) as pool:
        list(pool.map(work, batches))
