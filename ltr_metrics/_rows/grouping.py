"""Group rows into queries, by one id per row or by sizes, and name a row in messages."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ltr_metrics._rows.cache import Cache
from ltr_metrics._rows.checks import (
    LARGEST_EXACT_INTEGER,
    AnyArray,
    IntArray,
    as_ids,
    as_numbers,
    pandas_index,
    refuse_different_indexes,
    refuse_unequal_indexes,
)
from ltr_metrics._rows.ids import (
    codes_by_first_appearance,
    id_texts,
    positions_by_text,
    refuse_flags_beside_numbers,
    refuse_ids_of_one_text,
    refuse_missing,
    spelling_hint,
)
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line, warn

# The ids of queries in order of first appearance; row numbers, query after query, or None if they are in this order
# already; and the number of rows of each query.
Grouping = tuple[AnyArray, IntArray | None, IntArray]
QID = "qid"
OF_SCORERS = " In scikit-learn, ltr_metrics.sklearn.make_scorer makes a scorer that knows the queries."


def _group_by_ids(ids: AnyArray) -> Grouping:
    """Group rows by id, in any order."""
    is_object = ids.dtype == object
    if is_object:
        refuse_flags_beside_numbers(ids, QID)
    # Find the runs of equal ids first: sorted input then costs one comparison per row, and the rest
    # works on one entry per run.
    changes = _object_changes(ids) if is_object else ids[1:] != ids[:-1]
    run_start = np.flatnonzero(np.concatenate(([True], changes)))
    run_size = np.diff(np.append(run_start, len(ids)))
    run_ids = ids[run_start]
    if run_ids.dtype.kind not in "iu":
        refuse_missing(run_ids, QID, run_start)
    elif (run_ids[1:] > run_ids[:-1]).all():  # ascending ids: each run is a query
        return run_ids, None, run_size
    names, run_code = codes_by_first_appearance(run_ids, QID)
    if run_ids.dtype.kind not in "iuU":  # different values of these kinds have different texts
        refuse_ids_of_one_text(names, QID)
    if len(names) == len(run_start):
        return names, None, run_size
    sizes = np.bincount(run_code, weights=run_size).astype(np.intp)
    return names, np.argsort(np.repeat(run_code, run_size), kind="stable"), sizes


def _object_changes(ids: AnyArray) -> AnyArray:
    """Return for each id but the first whether it differs from the one before."""
    listed = ids.tolist()
    try:
        return np.fromiter(map(operator.ne, listed[1:], listed), dtype=np.bool_, count=max(0, len(listed) - 1))
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal, and arrays are not ids
        refuse_missing(ids, QID)
        return np.ones(max(0, len(listed) - 1), dtype=np.bool_)


def _group_by_sizes(group: Any, n_rows: int) -> Grouping:
    """Group rows by the sizes of the queries, whose rows follow each other."""
    sizes = as_group_sizes(group)
    total = sum(sizes.tolist())  # Python's integers do not overflow
    if total != n_rows:
        remedy = " Pass one id per row as qid." if len(sizes) == n_rows else ""
        raise LtrValueError(
            "group must hold the sizes of the queries in row order, which add up to the number of rows: its "
            f"{len(sizes)} sizes add up to {total}, but there are {n_rows} rows.{remedy}"
        )
    return np.arange(len(sizes)), None, sizes


def as_group_sizes(group: Any) -> IntArray:
    """Return query sizes as integers; an empty query is an error."""
    sizes = as_numbers(group, "group")
    is_bad = ~((sizes >= 1) & (sizes < LARGEST_EXACT_INTEGER) & (sizes == np.floor(sizes)))
    if is_bad.any():
        query = int(is_bad.argmax())
        raise LtrValueError(
            f"group must hold whole sizes of at least 1: got {sizes[query]:g} for query {query}. Leave empty queries "
            "out."
        )
    _warn_of_order_by_size(group, sizes)
    return sizes.astype(np.intp)


def _warn_of_order_by_size(group: Any, sizes: AnyArray) -> None:
    """Warn of the sizes that pandas' ``value_counts`` returns, which are in the order of the rows by accident only."""
    index, steps = pandas_index(group), np.diff(sizes)
    is_by_size = steps.any() and ((steps <= 0).all() or (steps >= 0).all())
    if is_by_size and index is not None and group.name == "count" and not index.is_monotonic_increasing:
        warn(
            "group looks like the result of pandas' value_counts, which sorts the sizes, while group must have them "
            "in the order of the rows. Pass qid= (one id per row), or the sizes that ltr_metrics.qid_to_group(qid) "
            "returns. If this is the order of the rows, pass group.to_numpy()."
        )


@explaining_calls
def qid_to_group(qid: Any) -> IntArray:
    """Return the sizes of the queries from one id per row; the rows of a query must be consecutive.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        One id per row, of any hashable type. The rows of a query are consecutive.

    Returns
    -------
    ndarray of int of shape (n_queries,)
        Number of rows of each query, in order of first appearance.

    Raises
    ------
    LtrValueError
        If the rows of a query are scattered: sizes cannot describe them.

    See Also
    --------
    group_to_qid : The inverse.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.qid_to_group(["b", "b", "a"])
    array([2, 1])
    """
    ids = as_ids(qid, "qid")
    if not len(ids):
        return np.zeros(0, dtype=np.intp)
    names, order, sizes = _group_by_ids(ids)
    if order is not None:
        offset = int(np.flatnonzero(np.diff(order) != 1)[0])
        query = names[np.searchsorted(sizes.cumsum(), offset, side="right")]
        raise LtrValueError(
            "The rows of each query must be adjacent in qid, because sizes cannot describe scattered rows. The rows "
            f"of query {query} stop at row {order[offset]} and go on later. Sort the rows by query first "
            "(order = np.argsort(qid, kind='stable'))."
        )
    return sizes


@explaining_calls
def group_to_qid(group: Any) -> IntArray:
    """Return one query id per row, 0, 1, ..., from the sizes of the queries.

    Parameters
    ----------
    group : array-like of int
        Sizes of the queries, whose rows are consecutive.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Ascending ids.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a size is not a whole number of at least 1.

    See Also
    --------
    qid_to_group : The inverse.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.group_to_qid([2, 1])
    array([0, 0, 1])
    """
    sizes = as_group_sizes(group)
    return np.repeat(np.arange(len(sizes)), sizes)


class GroupedRows(Cache):
    """Rows grouped into queries, and the pandas index that their columns share, if they have one.

    Attributes
    ----------
    qid : ndarray
        Id of each query, in order of first appearance.
    order : ndarray of int or None
        Row numbers, query after query; None if the rows are in this order already.
    sizes, starts : ndarray of int
        Number of rows of each query, and the offset of its first row among the rows in query order.
    """

    def __init__(self, n_rows: int, group: Any, **columns: Any) -> None:
        """Group rows by sizes, or by the column ``qid``; all columns must have one pandas index if they have any."""
        qid = columns["qid"]
        self._shared_index = refuse_different_indexes(n_rows, **columns)  # with the name of the column
        if (qid is None) == (group is None):
            raise LtrTypeError(
                "Pass either qid (one id per row) or group (the sizes of the queries). Got "
                f"{'both.' if group is not None else f'neither.{OF_SCORERS}'}"
            )
        if n_rows == 0:
            raise LtrValueError("y_true must not be empty: there is no query to evaluate.")
        ids = None if qid is None else as_ids(qid, QID, n_rows)
        self.qid, self.order, self.sizes = _group_by_sizes(group, n_rows) if ids is None else _group_by_ids(ids)
        self.starts = self.sizes.cumsum() - self.sizes
        self.rows_are_queries = False
        self.n_rows = n_rows
        self.n_queries = len(self.sizes)

    @classmethod
    def of_ids(cls, qid: AnyArray) -> GroupedRows:
        """Return the rows with these query ids."""
        return GroupedRows(len(qid), None, qid=qid)

    @classmethod
    def of_queries(cls, qid: AnyArray) -> GroupedRows:
        """Return queries without their documents, one row each; an index then holds query ids."""
        rows = cls.of_ids(qid)
        rows.rows_are_queries = True
        return rows

    def query_of_rows(self) -> IntArray:
        """Return the position of each row's query."""
        query = np.empty(self.n_rows, dtype=np.intp)
        query[self.rows_in_query_order()] = np.repeat(np.arange(self.n_queries), self.sizes)
        return query

    def rows_in_query_order(self) -> IntArray:
        """Return row numbers, query after query; the rows of a query are in input order."""
        return np.arange(self.n_rows) if self.order is None else self.order

    def sum_by_query(self, values: AnyArray) -> Any:
        """Sum one value per row over each query; flags are counted."""
        in_order = values if self.order is None else values[self.order]
        return np.add.reduceat(in_order, self.starts, dtype=np.intp if in_order.dtype.kind == "b" else in_order.dtype)

    def find_repetition(self, values: AnyArray) -> list[int] | None:
        """Return two rows of one query that have the same number, or None."""
        query = self.query_of_rows()
        order = np.lexsort((values, query))
        is_repeated = (np.diff(values[order]) == 0) & (np.diff(query[order]) == 0)
        return order[is_repeated.argmax() :][:2].tolist() if is_repeated.any() else None

    def where(self, row: int) -> str:
        """Return a row's name in messages, such as 'row 5 (query 10002)'; rows count from 0."""
        return f"row {row} (query {one_line(self.qid[self.query_of_rows()[row]])})"

    def by_query_id(self, name: str, values: Any) -> list[Any]:
        """Return the entries of a mapping or pandas Series by query id, in order of the queries.

        Its ids may have another type than those of the rows: two ids are the same if they have the
        same text.
        """
        by_id = dict(values.items())
        if len(by_id) < len(values):
            raise LtrValueError(f"{name} must have one entry per query: its index holds an id twice.")
        keys, entries = list(by_id), list(by_id.values())
        position, texts = positions_by_text(keys, name), id_texts(self.qid)
        missing = next((at for at, text in enumerate(texts) if text not in position), None)
        if missing is not None:
            qid = self.qid[missing : missing + 1].tolist()[0]
            hint = spelling_hint([qid], keys)
            raise LtrValueError(f"{name} has no entry for query {qid!r}. Every query needs an entry.{hint}")
        return [entries[position[text]] for text in texts]

    def refuse_different_indexes(self, **columns: Any) -> None:
        """Refuse pandas objects whose index differs from that of the rows, or from each other's."""
        indexed = refuse_different_indexes(self.n_rows, **columns)
        if indexed is not None and self._shared_index is not None:
            refuse_unequal_indexes(*self._shared_index, *indexed)
