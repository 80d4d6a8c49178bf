"""Dask's own shuffle brings the rows of each query together, in the order that they had."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import IntArray, as_numbers
from ltr_metrics._engine.grouping import as_ids, group_by_ids
from ltr_metrics.dask.cuts import hashes_of
from ltr_metrics.dask.partition import Asked, Part, as_plain, part_of
from ltr_metrics.dask.rows import Rows, column_of, meta_of, shown
from ltr_metrics.errors import LtrTypeError, naming
from ltr_metrics.evaluation.evaluate import Queries

if TYPE_CHECKING:
    import pandas


HASH, PLACE = "ltr_metrics.query", "ltr_metrics.place"  # columns that a shuffle needs besides
ROWS_OF_A_PARTITION = 2**40


def whole_queries(frame: Any, qid: str = "qid") -> Any:
    """Bring the rows of each query together, once, before a training or many evaluations.

    Parameters
    ----------
    frame : dask DataFrame
    qid : str
        Column of query ids, or the name of the frame's index.

    Returns
    -------
    dask DataFrame
        The same rows in as many partitions, lazily: each query is in one of them, partitions are sorted by query id, as
        ``xgboost.dask`` wants it, and the rows of a query keep their order. Persist it if it is used more than once.

    Raises
    ------
    LtrKeyError, LtrTypeError
        At once, if there is no such column, the frame is not one of Dask, or the name of a column is not text.
    LtrValueError
        When it is computed, if a row has no query id.

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
            f"qid must be the name of a column of the frame, as text. Got a {type(qid).__name__}. If the frame's columns have "
            "other names, rename them first: frame.rename(columns=str)."
        )
    rows = Rows.of(frame, {"qid": qid})
    _require_text_as_names(frame)
    meta = meta_of(frame)
    placed = frame.map_partitions(_placed, rows.columns["qid"], meta=_placed(meta, qid))
    return placed.shuffle(HASH).map_partitions(_sorted_by_query, qid, meta=meta)


def _require_text_as_names(frame: Any) -> None:
    """Refuse what Dask's shuffle on a cluster refuses, while Dask's shuffle on one machine may still take it."""
    other = next((name for name in frame.columns if not isinstance(name, str)), None)
    if other is not None:
        raise LtrTypeError(
            f"The names of all columns must be text, which Dask's shuffle between workers needs. Got the {type(other).__name__} "
            f"{other!r}. Rename the columns first: frame.rename(columns=str)."
        )


def shuffled(rows: Rows, asked: Asked) -> list[Any]:
    """Return the lazy evaluation of each partition after Dask has brought the rows of each query together."""
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False}):  # which would make one id of 7 and "7"
        table = dd.from_delayed(rows.each(_table), meta=_table(0, rows.meta()), verify_meta=False)
    task = dask.delayed(partial(evaluated_after_shuffle, asked))
    return [task(at, part) for at, part in enumerate(table.shuffle(HASH).to_delayed())]


def _table(at: int, columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return one table of columns from several places, with what a shuffle needs."""
    import pandas as pd

    with naming(f"In partition {at}"):
        for role in columns:
            if role.split()[0] in ("label", "score", "weight", "column"):
                as_numbers(as_plain(columns[role]), shown(role))  # while a message can say which row
    table = pd.DataFrame(
        {
            role: column.reset_index(drop=True) if hasattr(column, "index") else column
            for role, column in columns.items()
        }
    )
    return _placed(table, "qid", {"number": at})


def _placed(table: pandas.DataFrame, qid: str, partition_info: Mapping[str, Any] | None = None) -> pandas.DataFrame:
    """Add to each row the hash of its query and its place, in which ``partition_info`` of Dask says the partition."""
    at = 0 if partition_info is None else int(partition_info["number"])
    hashes = np.zeros(len(table), dtype=np.int64)
    if len(table):
        with naming(f"In partition {at}"):
            grouping = group_by_ids(as_ids(as_plain(column_of(table, qid)), "qid"))
        of_rows = np.repeat(hashes_of(grouping.ids), grouping.sizes).view(np.int64)
        hashes[slice(None) if grouping.order is None else grouping.order] = of_rows
    return table.assign(**{HASH: hashes, PLACE: np.arange(len(table)) + at * ROWS_OF_A_PARTITION})


def _sorted_by_query(table: pandas.DataFrame, qid: str) -> pandas.DataFrame:
    return table.sort_values([qid, PLACE]).drop(columns=[HASH, PLACE])


class _PlacedQueries(Queries):
    """Queries whose messages say where a row stood before a shuffle."""

    def __init__(self, place: IntArray, y_true: Any, **options: Any) -> None:
        self._place = place
        super().__init__(y_true, **options)

    def where(self, row: int) -> str:
        at, within = divmod(int(self._place[row]), ROWS_OF_A_PARTITION)
        return f"row {within} of partition {at} (query {self.qid[self.query_of_row(row)]})"


def evaluated_after_shuffle(asked: Asked, at: int, table: pandas.DataFrame) -> Part | None:
    """Evaluate the queries that a shuffle has brought together, in their old order."""
    table = table.sort_values(PLACE)  # no shuffle promises to keep the order of rows
    place = table.pop(PLACE).to_numpy()
    columns: dict[str, Any] = {str(role): column for role, column in table.drop(columns=HASH).items()}
    with naming(f"In partition {at} after the shuffle"):
        return part_of(asked, columns, partial(_PlacedQueries, place))
