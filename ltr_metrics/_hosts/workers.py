"""Evaluation on several workers of a training: each evaluates its queries, and all get the mean over all.

A host calls metrics in step on all workers. If one worker finds an error, all raise an error,
because the others would wait for it. How the workers reach each other is up to the host: `Workers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import numpy as np

from ltr_metrics._hosts.host_metrics import Plan
from ltr_metrics._ranks import native
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray
from ltr_metrics.errors import LtrError, LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import means_of_parts, refuse_undefined_means
from ltr_metrics.evaluation.parts import check_labels
from ltr_metrics.logs.training_log import PerQueryLog
from ltr_metrics.metrics.requests import Request

HOW_TO_KEEP_QUERIES_WHOLE = (
    "Move the rows of each query to one partition before the training: whole_queries(frame, qid) does it for Dask."
)


class Workers(Protocol):
    """How the workers of a training reach each other. They make the same calls in the same order."""

    @property
    def rank(self) -> int: ...

    @property
    def n_workers(self) -> int: ...

    def sum(self, numbers: FloatArray) -> FloatArray:
        """Return the sum of the numbers of all workers, in float64; the shape may be lost."""

    def broadcast(self, value: Any, rank: int) -> Any:
        """Return the value that the worker of this rank has passed."""


@dataclass
class WorkerData:
    """What one worker evaluates; without queries on a worker that has no rows."""

    queries: Queries | None = None
    scores: Any = None
    is_new: bool = False  # in the first round: whether the other workers have not seen these queries yet
    qid: Callable[[], AnyArray | None] = lambda: None  # the distinct ids, None if only sizes are known


def mean_over_workers(
    workers: Workers, plan: Plan, log: PerQueryLog | None, data_of_worker: Callable[[], WorkerData]
) -> dict[str, float]:
    """Return the means over the queries of all workers, by their names in the log.

    Whatever can fail on one worker only belongs into ``data_of_worker``: checks of what the host has passed, labels
    and columns, names in use, the prediction. Lay out the queries there, and not before.
    """
    names = plan.request.names
    part, result, error = WorkerData(), None, None
    try:
        if log is not None:
            raise LtrValueError(
                "log= keeps what one process evaluates, and the data of this training are spread over workers. Leave "
                "it out. After the training, ltr_metrics.evaluate has the values per query of any round."
            )
        part = data_of_worker()
        if part.queries is not None:
            part.queries.give_no_warnings()
            result = plan.evaluate(part.queries, part.scores)
    except Exception as caught:  # of any kind: the other workers wait
        error = caught
    order = crc32(",".join(names).encode())
    n_queries, sums = 0 if result is None else result.n_queries, np.zeros((len(names), 4))
    if result is not None:
        sums = native.sums_of_means(np.array(list(result.per_query.values())), result.weight)
    numbers = [error is not None, part.is_new, order, n_queries, *sums.ravel()]
    messages = _gather(workers, np.array(numbers, dtype=np.float64))
    _raise_on_all(workers, messages[:, 0] > 0, error)
    if np.ptp(messages[:, 2]):
        here = ", ".join(names)
        raise LtrValueError(f"All workers must evaluate the same metrics in the same order. Here: {here}.")
    if messages[:, 1].any():
        _check_all_queries(workers, part, plan.request)
    if not messages[:, 3].any():
        raise LtrValueError("The data set has no rows with labels on any worker, so there is nothing to evaluate.")
    means = means_of_parts(messages[:, 4:].reshape(workers.n_workers, len(names), 4))
    whole = Whole(dict(zip(names, means, strict=True)), int(messages[:, 3].sum()))
    refuse_undefined_means(whole)
    return plan.named(whole.mean)


class Whole(NamedTuple):
    """The means over the queries of all workers, and the number of these queries."""

    mean: dict[str, float]
    n_queries: int


def _check_all_queries(workers: Workers, part: WorkerData, request: Request) -> None:
    """Check what no worker can check by itself: the grades of all labels, and that no query is cut."""
    mine, error = None, None
    try:
        if part.queries is not None:
            mine = part.queries.grades, part.qid()
            if mine[1] is not None and len(mine[1]) != part.queries.n_queries:
                raise LtrValueError(
                    f"The data set has {part.queries.n_queries} queries, and its rows have {len(mine[1])} different "
                    f"ids, so the host has cut or merged some. {HOW_TO_KEEP_QUERIES_WHOLE}"
                )
    except Exception as caught:
        error = caught
    of_all = [workers.broadcast(mine, other) for other in range(workers.n_workers)]
    present = {other: message for other, message in enumerate(of_all) if message is not None}
    try:
        for other, (_, qid) in present.items():
            if mine is not None and mine[1] is not None and qid is not None and other != workers.rank:
                cut = np.intersect1d(mine[1], qid)
                if len(cut):
                    raise LtrValueError(
                        f"The rows of query {cut[0]} are split between this worker and worker {other} (queries like "
                        f"this: {len(cut):,}). Each worker would rank only its own rows. {HOW_TO_KEEP_QUERIES_WHOLE}"
                    )
        if workers.rank == 0 and present:  # one warning for all workers
            check_labels([grades for grades, _ in present.values()], request)
    except Exception as caught:
        error = error or caught
    _raise_on_all(workers, _gather(workers, np.array([error is not None], dtype=np.float64))[:, 0] > 0, error)


def _gather(workers: Workers, message: FloatArray) -> FloatArray:
    """Return the messages of all workers, one per row: each adds its row to zeros, so the sum is exact."""
    rows = np.zeros((workers.n_workers, len(message)))
    rows[workers.rank] = message
    return workers.sum(rows).reshape(rows.shape)


def _raise_on_all(workers: Workers, failed: BoolArray, error: Exception | None) -> None:
    """Raise this worker's error, or that of the first worker with one."""
    if not failed.any():
        return
    first = int(failed.argmax())
    text = str(error) if isinstance(error, LtrError) else f"{type(error).__name__}: {error}"
    text_of_first = workers.broadcast(text, first)
    with naming(f"Worker {first if error is None else workers.rank} (of 0 to {workers.n_workers - 1})"):
        raise LtrValueError(text_of_first) if error is None else error
