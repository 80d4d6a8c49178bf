"""Evaluation on several XGBoost workers: each evaluates its queries, and all get the mean over all.

XGBoost calls metrics and callbacks in step on all workers. If one worker finds an error, all raise
an error, because the others would wait for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xgboost import collective
from xgboost.core import XGBoostError

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._hosts.host_metrics import Plan, refuse_undefined_means
from ltr_metrics.errors import LtrError, LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.parts import LabelChecks, Totals, check_without_warnings
from ltr_metrics.metrics.requests import Request

HOW_TO_KEEP_QUERIES_WHOLE = (
    "Move the rows of each query to one partition before the training, with ltr_metrics.dask.whole_queries(frame, "
    "qid). DaskXGBRanker does so itself unless allow_group_split=True."
)


@dataclass
class Part:
    """What one worker has evaluated.

    Attributes
    ----------
    totals : Totals
    queries : LabelledQueries, optional
        None on a worker without rows.
    is_new : bool
        Whether the other workers have not seen these queries in an earlier round.
    qid : callable
        Returns the distinct ids of the queries, or None if they are unknown.
    """

    totals: Totals
    queries: LabelledQueries | None = None
    is_new: bool = False
    qid: Callable[[], AnyArray | None] = lambda: None


def totals_of_all(evaluate: Callable[[], Part], request: Request) -> Totals:
    """Evaluate this worker's part, and return the totals of all workers.

    All workers get the same totals. This takes one all-reduce. In the first round of a data set it
    takes a few more, to check the labels and ids of all workers.

    Raises
    ------
    LtrError
        On all workers if one of them raises an error. The message names that worker.
    """
    names = tuple(map(str, request.metrics))
    part, error = Part(Totals.nothing(names)), None
    try:
        part = evaluate()
    except Exception as caught:  # of any kind: the other workers wait
        error = caught
    message = np.array([error is not None, part.is_new, *part.totals.to_array()], dtype=np.float64)
    messages = _gather(message)
    _raise_on_all(messages[:, 0] > 0, error)
    if messages[:, 1].any():
        _check_all_queries(part, request)
    total = Totals.nothing(names)
    for numbers in messages[:, 2:]:  # in the order of ranks, so all workers get the same digits
        total += Totals.from_array(names, numbers)
    if not total.n_queries:
        raise LtrValueError("The data set has no rows with labels on any worker, so there is nothing to evaluate.")
    return total


def ids_on_dask(dmatrix: Any) -> AnyArray | None:
    """Return the distinct query ids of a DMatrix that xgboost.dask trains with, and None elsewhere.

    A DMatrix keeps the offsets of queries and drops their ids. The function that xgboost.dask runs
    on each worker has both, so we read them from its frame.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "do_train" and frame.f_globals.get("__name__") == "xgboost.dask":
            matrices, sources = frame.f_locals.get("evals", ()), frame.f_locals.get("refs", ())
            for (matrix, _), source in zip(matrices, sources, strict=True):
                if matrix is dmatrix:
                    return _distinct([part["qid"] for part in source["parts"] or () if "qid" in part])
        frame = frame.f_back
    return None


def _distinct(ids: list[Any]) -> AnyArray:
    arrays = [part.get() if hasattr(part, "__cuda_array_interface__") else np.asarray(part) for part in ids]
    return np.unique(np.concatenate(arrays)) if arrays else np.zeros(0, dtype=np.int64)


def _check_all_queries(part: Part, request: Request) -> None:
    """Check what no worker can check alone: the grades of all labels, and that no query is cut."""
    labels, qid, error = LabelChecks(), None, None
    try:
        if part.queries is not None:
            labels.add(part.queries)
            qid = part.qid()
            _refuse_other_queries(part.queries, qid)
    except Exception as caught:
        error = caught
    rank, all_labels, shared = collective.get_rank(), LabelChecks(), {}
    for other in range(collective.get_world_size()):
        message: Any = collective.broadcast((labels, qid) if other == rank else None, other)
        labels_of_other, qid_of_other = message
        all_labels += labels_of_other
        if other != rank and qid is not None and qid_of_other is not None:
            shared[other] = np.intersect1d(qid, qid_of_other)
    if error is None:
        try:
            _refuse_cut_queries(shared)
            if rank == 0:  # one warning for all workers
                all_labels.check(request)
        except Exception as caught:
            error = caught
    _raise_on_all(_gather(np.array([error is not None], dtype=np.float64))[:, 0] > 0, error)


def _refuse_other_queries(queries: LabelledQueries, qid: AnyArray | None) -> None:
    if qid is not None and len(qid) != queries.n_queries:
        raise LtrValueError(
            f"The DMatrix has {queries.n_queries} queries, and its rows have {len(qid)} different ids. A "
            "DaskQuantileDMatrix takes a query with rows in two partitions for two queries, and XGBoost reads ids as "
            f"32-bit numbers. {HOW_TO_KEEP_QUERIES_WHOLE}"
        )


def _refuse_cut_queries(shared: dict[int, AnyArray]) -> None:
    for other, ids in shared.items():
        if len(ids):
            raise LtrValueError(
                f"Query {ids[0]} has rows here and on worker {other}, as have {len(ids)} queries in total. Each worker "
                f"would rank its rows alone. {HOW_TO_KEEP_QUERIES_WHOLE}"
            )


def _gather(message: FloatArray) -> FloatArray:
    """Return the messages of all workers, one a row.

    The rows are summed, and each worker adds its own row to zeros, so the sum is exact.
    """
    rows = np.zeros((collective.get_world_size(), len(message)))
    rows[collective.get_rank()] = message
    try:
        summed: FloatArray = collective.allreduce(rows, collective.Op.SUM).reshape(rows.shape)
    except XGBoostError as error:
        raise XGBoostError(
            "Another worker has left the training, and its log says why. If its log says 'data did not contain feature "
            "names', it has no partition of a data set: pass feature_names=list(X.columns) to DaskDMatrix, or use as "
            f"many partitions as there are workers. {error}"
        ) from error
    return summed


def _raise_on_all(failed: BoolArray, error: Exception | None) -> None:
    """Raise this worker's error, or that of the first worker with one."""
    if not failed.any():
        return
    first, n_workers = int(failed.argmax()), collective.get_world_size()
    text = None
    if error is not None:
        text = str(error) if isinstance(error, LtrError) else f"{type(error).__name__}: {error}"
    text_of_first = collective.broadcast(text, first)
    if error is None:
        raise LtrValueError(f"{_worker(first)}: {text_of_first}")
    if n_workers == 1:
        raise error
    with naming(_worker(collective.get_rank())):
        raise error


def _worker(rank: int) -> str:
    return f"Worker {rank} (of 0 to {collective.get_world_size() - 1})"


def totals_of_part(plan: Plan, queries: Queries, scores: Any) -> Totals:
    """Return the sums over one worker's queries."""
    check_without_warnings(queries, plan.request)
    result = plan.evaluate(queries, scores)  # a mean over no query is an error only if no worker has one
    return Totals.of(result.per_query, result.weight)


def mean_over_workers(plan: Plan, log: PerQueryLog | None, evaluate: Callable[[], Part]) -> dict[str, float]:
    """Return the means over the queries of all workers, by their names in the log.

    XGBoost then averages the equal values of all workers, which does not change them.
    """
    if log is not None:
        raise LtrValueError(
            "log= keeps what one process evaluates. The data of this training are spread over workers, and their logs "
            "would be lost. Leave it out. After the training, ltr_metrics.evaluate has the values per query of any "
            "round: booster.predict(data, iteration_range=(0, i + 1))."
        )
    totals = totals_of_all(evaluate, plan.request)
    refuse_undefined_means(totals)
    return plan.named(totals.mean)
