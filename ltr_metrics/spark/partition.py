"""What executors do: the rows of a partition, query after query in Arrow batches, to one number a query."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ltr_metrics.errors import LtrTypeError, LtrValueError, LtrWarning, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.parts import LabelChecks, Totals
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Request

QID, LABEL, SCORE, DOCID, WEIGHT, BY, COLUMN = "qid", "label", "score", "docid", "weight", "by {}", "column {}"
SCHEMA = (
    "notes binary, queries binary"  # what comes back: the values of a step's queries, at the end notes on all of them
)


@dataclass(frozen=True)
class Task:
    """What is computed of each partition; travels to the executors.

    Attributes
    ----------
    request : Request
    names : dict of str to str
        What the column of each role is called by the user.
    by, columns : tuple of str
        Segmentations, and further columns that metrics look at.
    rows_at_once : int
    """

    request: Request
    names: dict[str, str]
    by: tuple[str, ...]
    columns: tuple[str, ...]
    rows_at_once: int


def evaluated(batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
    """Yield the pickled values of the queries, step after step, and at last their totals and what is to be checked of their labels.

    An error of the data is yielded, too: raised here it would reach the user as the last line of Spark's trace, after Spark has tried again.
    """
    totals, labels = Totals.nothing(map(str, task.request.metrics)), LabelChecks()
    try:
        for rows in whole_queries(batches, task):
            queries, result = _step(rows, task)
            labels.add(queries)
            totals += Totals.of(result.per_query, result.weight)
            yield _row(queries=result)
    except (LtrValueError, LtrTypeError) as error:
        for _ in batches:  # Spark ends a worker that has not read all
            pass
        yield _row(notes=error)
        return
    if totals.n_queries:
        yield _row(notes=(totals, labels))


def _row(notes: object = None, queries: object = None) -> pa.RecordBatch:
    columns = [pa.array([None if x is None else pickle.dumps(x)], pa.binary()) for x in (notes, queries)]
    return pa.RecordBatch.from_arrays(columns, ["notes", "queries"])


def whole_queries(batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.Table]:
    """Yield the rows again, whole queries at a time: about as many rows as asked for, or one query that is longer.

    The rows of a query must follow one another.
    """
    held: list[pa.RecordBatch] = []
    n_held = n_whole = 0  # rows held, and how many of them are of queries that have ended
    for batch in batches:
        for first in range(0, batch.num_rows, task.rows_at_once):
            rows = batch.slice(first, task.rows_at_once)
            _refuse_nulls(rows, QID, task)
            begins = _last_begin(rows, held[-1] if held else None)
            if begins is not None:
                n_whole = n_held + begins
            held.append(rows)
            n_held += rows.num_rows
            if n_held >= task.rows_at_once and n_whole:
                together = pa.Table.from_batches(held)
                yield together.slice(0, n_whole)
                held = together.slice(n_whole).to_batches()
                n_held, n_whole = n_held - n_whole, 0
    if held:
        yield pa.Table.from_batches(held)


def _last_begin(rows: pa.RecordBatch, before: pa.RecordBatch | None) -> int | None:
    """Return the last row whose query is another one than that of the row before it; None if all go on with the same."""
    ids = rows.column(QID)
    changes = np.flatnonzero(compute.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False))
    if len(changes):
        return int(changes[-1]) + 1
    return 0 if before is None or before.column(QID)[-1].as_py() != ids[0].as_py() else None


class _WithoutPlaces(Queries):
    """Queries whose messages say in which of them a row is: Spark's rows have no place."""

    def where(self, row: int) -> str:
        return f"query {self.qid[self.query_of_row(row)]}"


def _step(rows: pa.Table, task: Task) -> tuple[Queries, Evaluation]:
    """Evaluate whole queries; what is worth a warning is decided at the end, by the labels of all of them."""

    def column(role: str) -> Any:
        if role not in task.names:
            return None
        _refuse_nulls(rows, role, task)
        return rows.column(role).to_numpy()

    qid = rows.column(QID)
    with naming(f"In {len(qid):,} rows, from query {qid[0].as_py()} to {qid[-1].as_py()}"), warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        queries = _WithoutPlaces(
            column(LABEL),
            qid=column(QID),
            docid=column(DOCID),
            sample_weight=column(WEIGHT),
            by={name: column(BY.format(name)) for name in task.by} or None,
            columns={name: column(COLUMN.format(name)) for name in task.columns},
        )
        result = queries.evaluate_request(column(SCORE), task.request, n_threads=1)  # Spark runs a task a core
    return queries, result


def _refuse_nulls(rows: pa.Table | pa.RecordBatch, role: str, task: Task) -> None:
    values = rows.column(role)
    if values.null_count:
        name, at = task.names[role], int(compute.index(values.is_null(), pa.scalar(True)).as_py())
        query = "some rows" if role == QID else f"query {rows.column(QID)[at].as_py()}"
        raise LtrValueError(
            f"{role.partition(' ')[0]} must not be null: column {name!r} is null in {query}, in {values.null_count} rows of these. Fill it "
            f'in, or drop the rows (frame.dropna(subset=["{name}"])).'
        )
