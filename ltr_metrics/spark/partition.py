"""The work of an executor: evaluate the queries of a partition, from Arrow batches of rows."""

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
SCHEMA = "notes binary, queries binary"  # of the result: values of the queries of each step, and at the end notes


@dataclass(frozen=True)
class Task:
    """What is computed for each partition. It is sent to the executors.

    Attributes
    ----------
    request : Request
    names : dict of str to str
        The user's name of the column of each role.
    by, columns : tuple of str
        Segmentations, and columns that metrics read.
    rows_at_once : int
    """

    request: Request
    names: dict[str, str]
    by: tuple[str, ...]
    columns: tuple[str, ...]
    rows_at_once: int


def evaluated(batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
    """Yield the pickled values of the queries, and finally their totals and label checks.

    An error of the data is yielded too. If it were raised here, Spark would try again, and the user
    would see it as the last line of Spark's trace.
    """
    totals, labels = Totals.nothing(map(str, task.request.metrics)), LabelChecks()
    try:
        for rows in whole_queries(batches, task):
            queries, result = _step(rows, task)
            labels.add(queries)
            totals += Totals.of(result.per_query, result.weight)
            yield _row(queries=result)
    except (LtrValueError, LtrTypeError) as error:
        for _ in batches:  # Spark kills a worker that has not read everything
            pass
        yield _row(notes=error)
        return
    if totals.n_queries:
        yield _row(notes=(totals, labels))


def _row(notes: object = None, queries: object = None) -> pa.RecordBatch:
    columns = [pa.array([None if x is None else pickle.dumps(x)], pa.binary()) for x in (notes, queries)]
    return pa.RecordBatch.from_arrays(columns, ["notes", "queries"])


def whole_queries(batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.Table]:
    """Yield whole queries, in tables of about ``rows_at_once`` rows, or of one longer query.

    The rows of a query must be contiguous.
    """
    pending: list[pa.RecordBatch] = []
    n_pending = n_whole = 0  # pending rows, and how many of them belong to complete queries
    for batch in batches:
        for first in range(0, batch.num_rows, task.rows_at_once):
            rows = batch.slice(first, task.rows_at_once)
            _refuse_nulls(rows, QID, task)
            start = _start_of_last_query(rows, pending[-1] if pending else None)
            if start is not None:
                n_whole = n_pending + start
            pending.append(rows)
            n_pending += rows.num_rows
            if n_pending >= task.rows_at_once and n_whole:
                table = pa.Table.from_batches(pending)
                yield table.slice(0, n_whole)
                pending = table.slice(n_whole).to_batches()
                n_pending, n_whole = n_pending - n_whole, 0
    if pending:
        yield pa.Table.from_batches(pending)


def _start_of_last_query(rows: pa.RecordBatch, before: pa.RecordBatch | None) -> int | None:
    """Return the first row of the last query, or None if all rows continue the query before."""
    ids = rows.column(QID)
    changes = np.flatnonzero(compute.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False))
    if len(changes):
        return int(changes[-1]) + 1
    return 0 if before is None or before.column(QID)[-1].as_py() != ids[0].as_py() else None


class _UnorderedQueries(Queries):
    """Queries whose messages name the query of a row: rows in Spark have no order."""

    def where(self, row: int) -> str:
        return f"query {self.qid[self.query_of_row(row)]}"


def _step(rows: pa.Table, task: Task) -> tuple[Queries, Evaluation]:
    """Evaluate whole queries without warnings, which depend on the labels of all queries."""

    def column(role: str) -> Any:
        if role not in task.names:
            return None
        _refuse_nulls(rows, role, task)
        return rows.column(role).to_numpy()

    qid = rows.column(QID)
    with naming(f"In {len(qid):,} rows, from query {qid[0].as_py()} to {qid[-1].as_py()}"), warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        queries = _UnorderedQueries(
            column(LABEL),
            qid=column(QID),
            docid=column(DOCID),
            sample_weight=column(WEIGHT),
            by={name: column(BY.format(name)) for name in task.by} or None,
            columns={name: column(COLUMN.format(name)) for name in task.columns},
        )
        result = queries.evaluate_request(column(SCORE), task.request, n_threads=1)  # Spark runs one task per core
    return queries, result


def _refuse_nulls(rows: pa.Table | pa.RecordBatch, role: str, task: Task) -> None:
    values = rows.column(role)
    if values.null_count:
        name, row = task.names[role], int(compute.index(values.is_null(), pa.scalar(True)).as_py())
        query = "some rows" if role == QID else f"query {rows.column(QID)[row].as_py()}"
        raise LtrValueError(
            f"{role.partition(' ')[0]} must not be null: column {name!r} is null in {query}, in {values.null_count} "
            f'rows of these. Fill it in, or drop the rows (frame.dropna(subset=["{name}"])).'
        )
