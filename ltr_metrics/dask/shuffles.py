"""Shuffles of Dask that bring the rows of each query together, in their old order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import IntArray, as_numbers
from ltr_metrics._engine.grouping import as_ids, group_by_ids
from ltr_metrics.dask.cuts import hashes_of
from ltr_metrics.dask.partition import Part, Task, as_plain, evaluate_columns
from ltr_metrics.dask.rows import Rows, argument_name, column_of, meta_of
from ltr_metrics.errors import LtrTypeError, naming
from ltr_metrics.evaluation.evaluate import Queries

if TYPE_CHECKING:
    import pandas


HASH, POSITION = "ltr_metrics.query", "ltr_metrics.position"  # columns that a shuffle adds
ROWS_PER_PARTITION = 2**40  # more than a partition has; a position is number * ROWS_PER_PARTITION + row


def whole_queries(frame: Any, qid: str = "qid") -> Any:
    """Move the rows of each query to one partition, once, before a training or many evaluations.

    Parameters
    ----------
    frame : dask DataFrame
        The rows, in any order.
    qid : str
        Column of query ids, or the name of the frame's index.

    Returns
    -------
    dask DataFrame
        The same rows in as many partitions, computed lazily. Each query is in one partition.
        Each partition is sorted by query id, as ``xgboost.dask`` requires, and the rows of a query
        keep their order. Persist the frame if you use it more than once.

    Raises
    ------
    LtrKeyError, LtrTypeError
        At once, if there is no such column, the frame is not a Dask DataFrame, or the name of a
        column is not text.
    LtrValueError
        When it is computed, if a row has no query id.

    See Also
    --------
    evaluate : The option ``shuffle`` does this for one evaluation.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 9, 7, 9], "label": [1, 0, 0, 2], "score": [0.2, 0.1, 0.8, 0.7]})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> whole = ltr_metrics.dask.whole_queries(frame)
    >>> ltr_metrics.dask.evaluate(whole, metrics=["mrr"])["mrr"]
    0.75
    """
    if not isinstance(qid, str):
        raise LtrTypeError(
            f"qid must be the name of a column of the frame, as text. Got a {type(qid).__name__}. If the names of the "
            "frame's columns are not text, rename them first: frame.rename(columns=str)."
        )
    rows = Rows.of(frame, {"qid": qid})
    _require_text_as_names(frame)
    meta = meta_of(frame)
    extended = frame.map_partitions(_with_positions, rows.columns["qid"], meta=_with_positions(meta, qid))
    return extended.shuffle(HASH).map_partitions(_sorted_by_query, qid, meta=meta)


def _require_text_as_names(frame: Any) -> None:
    """Require what a shuffle on a cluster requires, and a shuffle on one machine may not."""
    other = next((name for name in frame.columns if not isinstance(name, str)), None)
    if other is not None:
        raise LtrTypeError(
            "The names of all columns must be text, because Dask's shuffle between workers needs it. Got the "
            f"{type(other).__name__} {other!r}. Rename the columns first: frame.rename(columns=str)."
        )


def evaluate_shuffled(rows: Rows, task: Task) -> list[Any]:
    """Return the lazy evaluation of each partition after a shuffle by query."""
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False}):  # or 7 and "7" would become one id
        table = dd.from_delayed(rows.each(_table), meta=_table(0, rows.meta()), verify_meta=False)
    evaluate = dask.delayed(partial(_evaluate_after_shuffle, task))
    return [evaluate(i, partition) for i, partition in enumerate(table.shuffle(HASH).to_delayed())]


def _table(number: int, columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return the columns of a partition as one table, with the columns that a shuffle adds."""
    import pandas as pd

    with naming(f"In partition {number}"):
        for role in columns:
            if role.split()[0] in ("label", "score", "weight", "column"):
                as_numbers(as_plain(columns[role]), argument_name(role))  # now, while a message can name the row
    table = pd.DataFrame(
        {
            role: column.reset_index(drop=True) if hasattr(column, "index") else column
            for role, column in columns.items()
        }
    )
    return _with_positions(table, "qid", {"number": number})


def _with_positions(
    table: pandas.DataFrame, qid: str, partition_info: Mapping[str, Any] | None = None
) -> pandas.DataFrame:
    """Add the hash of its query and its position to each row. Dask passes ``partition_info``."""
    number = 0 if partition_info is None else int(partition_info["number"])
    hashes = np.zeros(len(table), dtype=np.int64)
    if len(table):
        with naming(f"In partition {number}"):
            grouping = group_by_ids(as_ids(as_plain(column_of(table, qid)), "qid"))
        by_query = np.repeat(hashes_of(grouping.ids), grouping.sizes).view(np.int64)
        hashes[slice(None) if grouping.order is None else grouping.order] = by_query
    return table.assign(**{HASH: hashes, POSITION: np.arange(len(table)) + number * ROWS_PER_PARTITION})


def _sorted_by_query(table: pandas.DataFrame, qid: str) -> pandas.DataFrame:
    return table.sort_values([qid, POSITION]).drop(columns=[HASH, POSITION])


class _ShuffledQueries(Queries):
    """Queries whose messages name the partition and row before the shuffle."""

    def __init__(self, positions: IntArray, y_true: Any, **options: Any) -> None:
        self._positions = positions
        super().__init__(y_true, **options)

    def where(self, row: int) -> str:
        number, offset = divmod(int(self._positions[row]), ROWS_PER_PARTITION)
        return f"row {offset} of partition {number} (query {self.qid[self.query_of_row(row)]})"


def _evaluate_after_shuffle(task: Task, number: int, table: pandas.DataFrame) -> Part | None:
    """Evaluate the queries of a partition after the shuffle, with their rows in the old order."""
    table = table.sort_values(POSITION)  # a shuffle may not keep the order of rows
    positions = table.pop(POSITION).to_numpy()
    columns: dict[str, Any] = {str(role): column for role, column in table.drop(columns=HASH).items()}
    with naming(f"In partition {number} after the shuffle"):
        return evaluate_columns(task, columns, partial(_ShuffledQueries, positions))
