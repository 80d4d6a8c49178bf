"""`evaluate` for a Spark DataFrame.

Spark's shuffle brings the rows of each query together, its executors evaluate the queries, and the
driver adds up the means.
"""

from __future__ import annotations

import inspect
import pickle
import re
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.errors import PythonException
from pyspark.sql import DataFrame

from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiesOfSpark
from ltr_metrics.errors import LtrError, LtrValueError
from ltr_metrics.evaluation.distributed import DistributedEvaluation
from ltr_metrics.evaluation.parts import Totals, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation, take_queries
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve
from ltr_metrics.spark import columns
from ltr_metrics.spark.partition import BY, COLUMN, DOCID, LABEL, QID, SCHEMA, SCORE, WEIGHT, Task, evaluated

ROWS_AT_ONCE = 100_000  # more at once are hardly faster


def evaluate(
    frame: DataFrame,
    *,
    label: str = "label",
    score: str = "score",
    qid: str = "qid",
    metrics: Metrics | None = None,
    docid: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] = (),
    ties: TiesOfSpark | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
) -> DistributedEvaluation:
    """Evaluate a Spark DataFrame with one row per document, in any order and any partitions.

    Nothing runs until you first use the result. Then the columns that are needed are shuffled by
    ``qid`` and sorted within each partition. The executors evaluate Arrow batches of them, many
    queries at once. An executor's Python holds about 100,000 rows at a time, and all rows of the
    longest query.

    The first use computes everything. The means arrive as sums of each partition. The values per
    query stay on the executors, persisted in memory or on disk, until you use them or delete the
    result. They then arrive in ascending order of ``qid``, because rows in Spark have no order. The
    means do not change.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per document.
    label, score, qid : str
        Columns of grades, scores and query ids. Grades and scores are numbers of any type. Ids are
        numbers, text or dates.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those of ndcg@10,
        map, mrr and err@10 that the convention has. ``"mean_of(margin)@10"`` reads the column
        ``margin``.
    docid, weight : str, optional
        Columns of document ids, and of row weights. The weight of a query is the mean weight of its
        rows.
    by : str or sequence of str
        Columns of segments, each with one label per query.
    ties : {"mean", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied documents
        (default), lower or higher grade first, or descending document id. There is no ``"stable"``,
        because a shuffle keeps no order of rows. Pass another value with a convention that sets
        ``"stable"``.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names, ``ties`` and
        ``no_relevant``.

    Returns
    -------
    DistributedEvaluation
        A `ltr_metrics.Evaluation`. Its means are those of one machine up to the last digits.

    Raises
    ------
    LtrKeyError
        If a column does not exist.
    LtrTypeError
        If a column has the wrong type, or if ``frame`` is not a Spark DataFrame or is a stream.
    LtrValueError
        At once: for ``ties="stable"``.
        When you use the result: if there are no rows, for a null, and for a value that is an error
        in `ltr_metrics.evaluate`.

    See Also
    --------
    ltr_metrics.evaluate : Evaluate rows in memory.
    QueryEvaluator : Evaluate one metric, for tuning.

    Examples
    --------
    >>> from ltr_metrics.spark import evaluate
    >>> rows = [(7, 1, 0.2), (9, 2, 0.7), (7, 0, 0.8), (9, 0, 0.1)]
    >>> frame = spark.createDataFrame(rows, ["qid", "label", "score"])  # doctest: +SKIP
    >>> result = evaluate(frame, metrics=["mrr"])  # doctest: +SKIP
    >>> result["mrr"]  # doctest: +SKIP
    0.75
    >>> result.per_query["mrr"]  # doctest: +SKIP
    array([0.5, 1. ])
    """
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    refuse_input_order(request, docid)
    columns.refuse_other_frames(frame)
    by = (by,) if isinstance(by, str) else tuple(by)
    further = request.needed_columns
    names = {QID: qid, LABEL: label, SCORE: score, DOCID: docid, WEIGHT: weight}
    names |= {BY.format(name): name for name in by} | {COLUMN.format(name): name for name in further}
    task = Task(request, {r: n for r, n in names.items() if n is not None}, by, further, ROWS_AT_ONCE)
    return DistributedEvaluation(_OnExecutors(_by_query(frame, task), task), request, by)


def refuse_input_order(request: Request, docid: str | None) -> None:
    """Raise an error if ties need an order of rows, or document ids that are missing."""
    policy = request.policy
    if policy.ties == "stable":
        source = "" if policy.convention == "default" else f" (the convention {policy.convention!r} sets it)"
        raise LtrValueError(
            f'ties="stable" keeps the order of rows{source}, and rows in Spark have no order. Use ties="docid" with '
            'docid=, or ties="mean", the expected value over all orders.'
        )
    if policy.ties == "docid" and docid is None:
        raise LtrValueError('ties="docid" needs docid, a column of document ids; name it, or use ties="mean".')


def _by_query(frame: DataFrame, task: Task) -> DataFrame:
    """Return the checked columns, with the rows of each query together in one partition."""
    kinds: dict[str, Callable[[DataFrame, str, str], Any]] = {QID: columns.ids, DOCID: columns.document_ids}
    kinds |= dict.fromkeys((BY.format(name) for name in task.by), columns.ids)
    needed = []
    for role, name in task.names.items():
        checked_column = kinds.get(role, columns.numbers)
        needed.append(checked_column(frame, role.partition(" ")[0], name).alias(role))
    return frame.select(*needed).repartition(QID).sortWithinPartitions(QID)


class _OnExecutors:
    """The values of all queries, which Spark keeps, and their totals."""

    def __init__(self, rows: DataFrame, task: Task) -> None:
        self.is_weighted = WEIGHT in task.names
        self._task = task
        _unpersist_postponed()
        self._values = rows.mapInArrow(lambda batches: evaluated(batches, task), SCHEMA)
        self._forget: Callable[[], object] = lambda: None

    @cached_property
    def _kept(self) -> DataFrame:
        kept = self._values.persist(StorageLevel.MEMORY_AND_DISK)
        self._forget = forget = weakref.finalize(self, _unpersist_when_possible, kept)
        forget.atexit = False  # the session may be gone
        return kept

    @cached_property
    def _totals(self) -> Totals:
        with _explaining_executors():
            rows = self._kept.where("notes is not null").select("notes").collect()
        notes = [pickle.loads(row.notes) for row in rows]
        error = next((note for note in notes if isinstance(note, LtrError)), None)
        if error is None and not notes:
            error = LtrValueError("The frame has no rows: there is no query to evaluate.")
        if error is not None:
            self._forget()
            del self._kept
            raise error
        totals, labels = zip(*notes, strict=True)
        reduce(add, labels).check(self._task.request)
        of_all: Totals = reduce(add, totals)
        return of_all

    def totals(self) -> Totals:
        """Evaluate all queries, and return the sums from which the means are computed."""
        return self._totals

    def gather(self) -> Evaluation:
        """Bring the values of all queries here, in ascending order of ids, and unpersist them."""
        _ = self._totals  # raises the errors
        with _explaining_executors():
            rows = self._kept.where("queries is not null").select("queries").toLocalIterator()
            whole = _by_id(concat_evaluations(pickle.loads(row.queries) for row in rows))
        self._forget()
        return whole


# Frames of deleted results that could not be unpersisted at once; the next evaluation does it.
_POSTPONED: deque[DataFrame] = deque()


def _unpersist_when_possible(frame: DataFrame) -> None:
    """Unpersist the frame of a deleted result, or postpone it while this thread is calling Spark.

    The garbage collector may run in the middle of such a call. A second call on the same
    connection would break the first one.
    """
    caller = inspect.currentframe()
    while caller is not None:
        if caller.f_globals.get("__name__", "").startswith("py4j."):
            _POSTPONED.append(frame)
            return
        caller = caller.f_back
    _unpersist(frame)


def _unpersist_postponed() -> None:
    while _POSTPONED:
        _unpersist(_POSTPONED.popleft())


def _unpersist(frame: DataFrame) -> None:
    with suppress(Exception):  # a stopped session has dropped it already
        frame.unpersist()


def _by_id(result: Evaluation) -> Evaluation:
    order = np.argsort(result.qid, kind="stable")
    ids = result.qid[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):  # only if Spark's shuffle is wrong
        raise LtrValueError(f"Query {ids[twice[0]]} came in two parts. Evaluate again.")
    segments = {name: _by_appearance(labels, code[order]) for name, (labels, code) in result.segments.items()}
    return replace(take_queries(result, order), segments=segments)


def _by_appearance(labels: list[Any], code: IntArray) -> tuple[list[Any], IntArray]:
    distinct, first = np.unique(code, return_index=True)
    appearing = distinct[np.argsort(first)]
    return [labels[i] for i in appearing], np.argsort(appearing)[code]


@contextmanager
def _explaining_executors() -> Iterator[None]:
    """Explain the error if the executors' Python lacks a module."""
    try:
        yield
    except PythonException as error:
        lacks = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", str(error))
        if lacks is None:
            raise
        raise LtrValueError(
            f"The Python of the executors cannot import {lacks[1]}. It needs ltr_metrics, NumPy, pandas and pyarrow "
            "in the versions of the driver, and the modules of your own metrics. Set PYSPARK_PYTHON before you "
            'create the session (locally os.environ["PYSPARK_PYTHON"] = sys.executable; on a cluster spark.archives), '
            "and use addPyFile for modules of your own."
        ) from error
