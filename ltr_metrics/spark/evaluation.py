"""`evaluate` over a Spark DataFrame: its own shuffle brings queries together, its executors evaluate them, means are added here."""

from __future__ import annotations

import pickle
import re
import weakref
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
from ltr_metrics.metrics.shown import MeanOf
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
    """Evaluate a Spark DataFrame, a row a document, in any order and any partitions.

    Nothing runs before the result is asked for something. Then the columns that are needed are shuffled by ``qid`` and sorted within each
    partition, and Arrow batches of them are evaluated by the executors, many queries at once. An executor's Python holds about 100,000 rows
    at a time, and all of the longest query.

    The first answer computes everything. The means arrive as sums of each partition. The values of single queries stay on the executors,
    persisted in memory or on disk, until something asks for them or the result is let go; they then come in ascending order of ``qid``,
    for rows in Spark have no order, and the means remain what they were.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    label, score, qid : str
        Columns of grades, scores and query ids. Grades and scores are numbers of any type, ids numbers, text or dates.
    metrics, no_relevant, convention
        As for `ltr_metrics.evaluate`. ``"mean_of(margin)@10"`` looks at the column ``margin``.
    docid, weight : str, optional
        Columns of document ids, and of row weights, whose mean is a query's weight.
    by : str or sequence of str
        Columns of segments, each with one label a query.
    ties : {"mean", "worst", "best", "docid"}, optional
        As for `ltr_metrics.evaluate`, but for ``"stable"``: a shuffle leaves no order of rows. Conventions that set it need another one.

    Returns
    -------
    DistributedEvaluation
        An `Evaluation`; its means are those of one machine up to the last digits.

    Raises
    ------
    LtrKeyError
        If there is no such column.
    LtrTypeError
        If a column has a type that is none for it; also if ``frame`` is no Spark DataFrame, or a stream.
    LtrValueError
        For ``ties="stable"``; and, once something is asked for, without rows, with a null or with a value that `ltr_metrics.evaluate` refuses.

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
    further = tuple(dict.fromkeys(metric.column for metric in request.metrics if isinstance(metric, MeanOf)))
    names = {QID: qid, LABEL: label, SCORE: score, DOCID: docid, WEIGHT: weight}
    names |= {BY.format(name): name for name in by} | {COLUMN.format(name): name for name in further}
    task = Task(request, {r: n for r, n in names.items() if n is not None}, by, further, ROWS_AT_ONCE)
    return DistributedEvaluation(_OnExecutors(_by_query(frame, task), task), request, by)


def refuse_input_order(request: Request, docid: str | None) -> None:
    """Raise an error where equal scores are to stand in an order that Spark's rows do not have."""
    policy = request.policy
    if policy.ties == "stable":
        whose = "" if policy.convention == "default" else f" (the convention {policy.convention!r} sets it)"
        raise LtrValueError(
            f'ties="stable" keeps the order of rows{whose}, and rows in Spark have none: queries are brought together in any order. Use '
            'ties="docid" with docid=, or ties="mean", the expected value over all orders.'
        )
    if policy.ties == "docid" and docid is None:
        raise LtrValueError('ties="docid" needs docid, a column of document ids; name it, or use ties="mean".')


def _by_query(frame: DataFrame, task: Task) -> DataFrame:
    """Return the columns that are needed, checked, of whole queries in each partition, row after row."""
    kinds: dict[str, Callable[[DataFrame, str, str], Any]] = {QID: columns.ids, DOCID: columns.document_ids}
    kinds |= dict.fromkeys((BY.format(name) for name in task.by), columns.ids)
    needed = []
    for role, name in task.names.items():
        of_kind = kinds.get(role, columns.numbers)
        needed.append(of_kind(frame, role.partition(" ")[0], name).alias(role))
    return frame.select(*needed).repartition(QID).sortWithinPartitions(QID)


class _OnExecutors:
    """The values of all queries where Spark keeps them, and what it tells of them."""

    def __init__(self, rows: DataFrame, task: Task) -> None:
        self.is_weighted = WEIGHT in task.names
        self._task = task
        self._values = rows.mapInArrow(lambda batches: evaluated(batches, task), SCHEMA)
        self._forget: Callable[[], object] = lambda: None

    @cached_property
    def _kept(self) -> DataFrame:
        kept = self._values.persist(StorageLevel.MEMORY_AND_DISK)
        self._forget = forget = weakref.finalize(self, _unpersist, kept)
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
        """Evaluate all queries, and return what their means are made of."""
        return self._totals

    def gather(self) -> Evaluation:
        """Bring the values of all queries here, ascending by id, and let Spark forget them."""
        _ = self._totals  # which raises what there is to raise
        with _explaining_executors():
            rows = self._kept.where("queries is not null").select("queries").toLocalIterator()
            whole = _by_id(concat_evaluations(pickle.loads(row.queries) for row in rows))
        self._forget()
        return whole


def _unpersist(frame: DataFrame) -> None:
    with suppress(Exception):  # a session that was stopped has forgotten it
        frame.unpersist()


def _by_id(result: Evaluation) -> Evaluation:
    order = np.argsort(result.qid, kind="stable")
    ids = result.qid[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):  # Spark's shuffle would have to be wrong
        raise LtrValueError(f"Query {ids[twice[0]]} came in two parts. Evaluate again.")
    segments = {name: _by_appearance(labels, code[order]) for name, (labels, code) in result.segments.items()}
    return replace(take_queries(result, order), segments=segments)


def _by_appearance(labels: list[Any], code: IntArray) -> tuple[list[Any], IntArray]:
    distinct, first = np.unique(code, return_index=True)
    appearing = distinct[np.argsort(first)]
    return [labels[i] for i in appearing], np.argsort(appearing)[code]


@contextmanager
def _explaining_executors() -> Iterator[None]:
    """Say what is wrong with the executors' Python, where it lacks something."""
    try:
        yield
    except PythonException as error:
        lacks = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", str(error))
        if lacks is None:
            raise
        raise LtrValueError(
            f"The Python of the executors cannot import {lacks[1]}. It needs ltr_metrics, NumPy, pandas and pyarrow in the versions of the driver, "
            "and the modules of your own metrics. Set PYSPARK_PYTHON before the session is made (locally "
            'os.environ["PYSPARK_PYTHON"] = sys.executable; on a cluster spark.archives), and addPyFile for modules of your own.'
        ) from error
