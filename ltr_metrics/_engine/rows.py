"""Rows grouped into queries: which rows a query has, and where a row is, for messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_metrics._engine.cache import Cache
from ltr_metrics._engine.checks import AnyArray, IntArray, pandas_index, refuse_different_indexes, refuse_other_index
from ltr_metrics._engine.grouping import as_ids, group_by_ids, group_by_sizes
from ltr_metrics._engine.ids import id_texts, positions_by_text, spelling_hint
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line


class GroupedRows(Cache):
    """Rows, an id a row or sizes, and the pandas index that the columns share, if they have one.

    Attributes
    ----------
    qid : ndarray
        Id of each query, in order of first appearance.
    order : ndarray of int or None
        Row numbers, query after query; None where the rows stand so already.
    sizes, starts : ndarray of int
        Rows of each query, and where they begin among the rows in query order.
    """

    def __init__(self, n_rows: int, qid: Any, group: Any, columns: dict[str, Any]) -> None:
        super().__init__()
        refuse_different_indexes(**columns)
        indexed = ((name, pandas_index(column)) for name, column in columns.items())
        self._indexed = next(
            ((name, index) for name, index in indexed if index is not None and len(index) == n_rows), None
        )
        if (qid is None) == (group is None):
            raise LtrTypeError(
                f"Pass exactly one of qid (an id a row) and group (sizes); got {'both' if group is not None else 'neither'}."
            )
        if n_rows == 0:
            raise LtrValueError("y_true is empty: there is no query to evaluate.")
        self.qid: AnyArray
        self.order: IntArray | None
        self.sizes: IntArray
        if group is not None:
            self.qid, self.order, self.sizes = group_by_sizes(group, n_rows)
        else:
            self.qid, self.order, self.sizes = group_by_ids(as_ids(qid, "qid", n_rows))
        self.rows_are_queries = False
        self.n_rows = n_rows
        self.n_queries = len(self.sizes)
        self.starts: IntArray = np.cumsum(self.sizes) - self.sizes

    @classmethod
    def of_queries(cls, qid: AnyArray) -> GroupedRows:
        """Return queries without their documents, each as a row; what is given by id is by id here, too."""
        rows = GroupedRows(len(qid), qid, None, {})
        rows.rows_are_queries = True
        return rows

    def query_of_rows(self) -> IntArray:
        """Return the position of each row's query."""
        query = np.empty(self.n_rows, dtype=np.intp)
        query[self.rows_in_query_order()] = np.repeat(np.arange(self.n_queries), self.sizes)
        return query

    def rows_in_query_order(self) -> IntArray:
        """Row numbers, query after query (first appearance), rows of a query in input order."""
        return np.arange(self.n_rows) if self.order is None else self.order

    def sum_by_query(self, values: AnyArray) -> Any:
        """Sum of one value a row over each query."""
        in_order = values if self.order is None else values[self.order]
        total = np.int64 if in_order.dtype.kind == "b" else in_order.dtype
        return np.add.reduceat(in_order, self.starts, dtype=total)

    def query_of_row(self, row: int) -> int:
        """Position of the query that a row belongs to."""
        place = row if self.order is None else int(np.flatnonzero(self.order == row)[0])
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def where(self, row: int) -> str:
        """'row 5 (query 10002)': rows count from 0."""
        return f"row {row} (query {one_line(self.qid[self.query_of_row(row)])})"

    def by_query_id(self, name: str, values: Any) -> list[Any]:
        """Return the entries of a mapping or pandas Series by query id, in the order of the queries.

        The ids may have another type than those of the rows: they are the same if their text is.
        """
        by_id = dict(values.items())
        if len(by_id) < len(values):
            raise LtrValueError(f"{name} must have one entry a query: its index holds an id twice.")
        keys, entries = list(by_id), list(by_id.values())
        position, texts = positions_by_text(keys, name), id_texts(self.qid)
        missing = next((at for at, text in enumerate(texts) if text not in position), None)
        if missing is not None:
            one = self.qid[missing : missing + 1].tolist()[0]
            hint = spelling_hint([one], keys)
            raise LtrValueError(f"{name} has no entry for query {one!r}; give every query one.{hint}")
        self._refuse_rows_that_read_as_ids(name, pandas_index(values))
        return [entries[position[text]] for text in texts]

    def _refuse_rows_that_read_as_ids(self, name: str, index: Any) -> None:
        """Refuse a Series cut out of the rows, one a query, whose row labels happen to be query ids as well."""
        if index is None or self._indexed is None or len(index) != self.n_queries or index.name is not None:
            return  # an index with a name, as groupby makes it, is meant
        places = self._indexed[1].get_indexer(index) if self._indexed[1].is_unique else np.array([-1])
        if (places >= 0).all():
            queries = self.query_of_rows()[places]
            if len(np.unique(queries)) == self.n_queries and id_texts(self.qid[queries]) != id_texts(index):
                raise LtrValueError(
                    f"{name} may be by query id or by row, for its index has the labels of one row of each query that are ids of "
                    "others as well: pass a dict for values by id, or .to_numpy() for values in order of first appearance."
                )

    def refuse_other_index(self, name: str, column: Any) -> None:
        """Refuse a pandas object whose index is not that of the other columns."""
        index = pandas_index(column)
        if self._indexed is not None and index is not None:
            refuse_other_index(*self._indexed, name, index)
