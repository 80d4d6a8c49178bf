"""Rows to queries: group rows by an id a row or by sizes, and say where a row is, for messages."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.cache import Cache
from ltr_metrics._engine.checks import (
    LARGEST_EXACT_INTEGER,
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    as_numbers,
    as_vector,
    pandas_index,
    refuse_different_indexes,
    refuse_other_index,
)
from ltr_metrics._engine.ids import id_texts, positions_by_text, refuse_ids_of_one_text, spelling_hint
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line


class Grouping(NamedTuple):
    """Which rows belong to which query; queries in order of first appearance."""

    ids: AnyArray
    order: IntArray | None  # row numbers, query after query; None where the rows stand so already
    sizes: IntArray

    @property
    def starts(self) -> IntArray:
        """Where each query begins among the rows in query order."""
        return self.sizes.cumsum() - self.sizes

    def sum(self, values: AnyArray) -> FloatArray:
        """Sum over each query of one value a row, rows in query order."""
        return np.asarray(np.add.reduceat(values, self.starts, dtype=np.float64))


def as_ids(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return one id a row as an array that keeps different ids apart."""
    if isinstance(values, (list, tuple)) and not _are_plain_texts(values) and not _are_small_integers(values):
        ids = np.empty(len(values), dtype=object)  # np.asarray would turn 1 and "1" into one text, tuples into a matrix
        ids[:] = list(values)
        values = ids
    ids = as_vector(values, name, n_rows)
    if ids.dtype.kind == "f":
        _refuse_blurred(ids, name)
    return ids.astype(object) if ids.dtype.kind == "T" else ids


def _are_plain_texts(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether all are text that NumPy's arrays of text keep: these drop NUL characters at the end."""
    return set(map(type, values)) <= {str} and "\0" not in "".join(values)


def _are_small_integers(values: list[Any] | tuple[Any, ...]) -> bool:
    return set(map(type, values)) <= {int} and -(2**63) <= min(values, default=0) <= max(values, default=0) < 2**63


def _refuse_blurred(ids: AnyArray, name: str) -> None:
    limit = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
    blurred = np.abs(ids) >= limit
    if blurred.any():
        row = int(blurred.argmax())
        raise LtrValueError(
            f"{name} must not hold {ids.dtype} ids from {limit:.0f} on, where neighbouring ids are one number: got {ids[row]:.0f} "
            f"at row {row}. Keep ids as integers or text."
        )


def group_by_ids(ids: AnyArray) -> Grouping:
    """Group rows by id, in any order."""
    if ids.dtype == object:
        _refuse_truth_among_numbers(ids, "qid")
    # Runs of equal ids first: sorted input then costs one comparison a row, and the rest works on a row a run.
    changes = _changes_of_objects(ids) if ids.dtype == object else ids[1:] != ids[:-1]
    run_start = np.flatnonzero(np.concatenate(([True], changes)))
    run_size = np.diff(np.append(run_start, len(ids)))
    run_ids = ids[run_start]
    if run_ids.dtype.kind not in "iu":
        _refuse_missing(run_ids, "qid", run_start)
    names, run_code = _codes_by_first_appearance(run_ids, "qid")
    if run_ids.dtype.kind not in "iuU":  # whose different values have different texts
        refuse_ids_of_one_text(names, "qid")
    if len(names) == len(run_start):
        return Grouping(names, None, run_size)
    sizes = np.bincount(run_code, weights=run_size).astype(np.intp)
    return Grouping(names, np.argsort(np.repeat(run_code, run_size), kind="stable"), sizes)


def _changes_of_objects(ids: AnyArray) -> AnyArray:
    listed = ids.tolist()
    try:
        return np.fromiter(map(operator.ne, listed[1:], listed), dtype=np.bool_, count=max(0, len(listed) - 1))
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal, and arrays are no ids
        _refuse_missing(ids, "qid")
        return np.ones(max(0, len(listed) - 1), dtype=np.bool_)


def _refuse_missing(
    ids: AnyArray, name: str, row_of: IntArray | None = None, *, what: str = "an id", unit: str = "row"
) -> None:
    missing = _missing(ids)
    if missing.any():
        at = int(missing.argmax())
        row = at if row_of is None else int(row_of[at])
        raise LtrValueError(f"{name} must have {what} in every {unit}: it is missing at {unit} {row}.")


def _refuse_truth_among_numbers(ids: AnyArray, name: str) -> None:
    """Refuse True beside 1 and False beside 0, which are two ids, but equal for Python."""
    if ids.dtype != object or not (set(map(type, ids.tolist())) & {bool, np.bool_}):
        return
    row_of: dict[tuple[bool, Any], int] = {}
    for row, one in enumerate(ids.tolist()):
        if isinstance(one, (bool, np.bool_, Number)):
            row_of.setdefault((isinstance(one, (bool, np.bool_)), one), row)
    for (is_truth, one), row in row_of.items():
        other = row_of.get((False, one)) if is_truth else None
        if other is not None:
            raise LtrValueError(
                f"{name} must not hold both {bool(one)} and {ids.tolist()[other]!r}, which Python takes for one: got them at row {row} "
                f"and row {other}. Give all one type."
            )


def _refuse_nul_at_the_end(ids: AnyArray, name: str) -> None:
    """Refuse text that NumPy's arrays of text, such as those of document ids and saved results, would change."""
    for one in ids.tolist():
        if isinstance(one, (str, bytes)) and one[-1:] in ("\0", b"\0"):
            raise LtrValueError(
                f"{name} must not end with a NUL character, which NumPy drops from text: got {one!r}. Remove the character."
            )


def _missing(ids: AnyArray) -> BoolArray:
    if ids.dtype.kind == "f":
        return np.isnan(ids)
    if ids.dtype.kind in "mM":
        return np.isnat(ids)
    if ids.dtype == object:
        return np.array([i is None or str(i) == "<NA>" or i != i for i in ids.tolist()], dtype=np.bool_)
    return np.zeros(len(ids), dtype=np.bool_)


def label_codes(values: Any, name: str, ascending: list[Hashable] | None = None) -> tuple[AnyArray, IntArray]:
    """Return the distinct labels and, for each entry, the position of its label among them.

    They stand in order of first appearance, or as ``ascending`` has them: by default what an ordered categorical says.
    """
    labels = as_ids(values, name)
    _refuse_missing(labels, name, what="a label", unit="entry")
    _refuse_truth_among_numbers(labels, name)
    distinct, code = _codes_by_first_appearance(labels, name)
    ascending = ordered_categories(values) if ascending is None else ascending
    if ascending is None:
        return distinct, code
    place = {label: at for at, label in enumerate(ascending)}
    order = np.argsort([place[label] for label in distinct.tolist()])
    return distinct[order], np.argsort(order)[code]


def ordered_categories(values: Any) -> list[Hashable] | None:
    """Return the labels, ascending, of pandas' ordered categoricals and of `bins`; None of anything else."""
    found = getattr(values, "cat", values)  # where a pandas Series has them
    return list(found.categories) if getattr(found, "ordered", None) is True else None


def _codes_by_first_appearance(ids: AnyArray, name: str) -> tuple[AnyArray, IntArray]:
    if ids.dtype == object:  # any hashable kind: a dict keeps 1 and "1" apart and remembers the order
        try:
            code = {name: i for i, name in enumerate(dict.fromkeys(ids.tolist()))}
        except TypeError as error:
            raise LtrTypeError(f"{name} must be hashable: {error}.") from None
        names = np.empty(len(code), dtype=object)
        names[:] = list(code)
        _refuse_nul_at_the_end(names, name)
        return names, np.fromiter(map(code.__getitem__, ids.tolist()), dtype=np.intp, count=len(ids))
    names, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    position = np.empty(len(names), dtype=np.intp)
    position[by_appearance] = np.arange(len(names))
    return names[by_appearance], position[inverse]


def group_by_sizes(group: Any, n_rows: int) -> Grouping:
    """Group rows that stand one query after the other, by sizes."""
    sizes = as_group_sizes(group)
    total = sum(sizes.tolist())  # Python's integers do not overflow
    if total != n_rows:
        raise LtrValueError(
            f"group must hold the sizes of the queries in row order and add up to the rows: its {len(sizes)} sizes add up "
            f"to {total}, there are {n_rows} rows." + (" One id a row goes into qid." if len(sizes) == n_rows else "")
        )
    return Grouping(np.arange(len(sizes)), None, sizes)


def as_group_sizes(group: Any) -> IntArray:
    """Return query sizes as integers; an empty query is an error."""
    sizes = as_numbers(group, "group")
    bad = ~((sizes >= 1) & (sizes < LARGEST_EXACT_INTEGER) & (sizes == np.floor(sizes)))
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(
            f"group must hold whole sizes of at least 1: got {sizes[at]:g} for query {at}. Leave empty queries out."
        )
    return sizes.astype(np.intp)


def as_document_ids(values: Any, n_rows: int) -> AnyArray:
    """Return one document id a row as text; a missing id is an error."""
    ids = as_ids(values, "docid", n_rows)
    _refuse_missing(ids, "docid")
    if ids.dtype == object:
        _refuse_nul_at_the_end(ids, "docid")
    try:
        if ids.dtype.kind == "S":
            return np.char.decode(ids, "utf-8")
    except UnicodeDecodeError as error:
        raise LtrValueError(f"docid must be text, or bytes in UTF-8: {error}.") from None
    return np.array([str(one) for one in ids.tolist()]) if ids.dtype == object else ids.astype(str)


def qid_to_group(qid: Any) -> IntArray:
    """Return the sizes of queries from an id a row; the rows of a query must stand together.

    Raises
    ------
    LtrValueError
        If a query's rows are scattered: sizes cannot describe them.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.qid_to_group(["b", "b", "a"])
    array([2, 1])
    """
    ids = as_ids(qid, "qid")
    if not len(ids):
        return np.zeros(0, dtype=np.intp)
    grouping = group_by_ids(ids)
    if grouping.order is not None:
        place = int(np.flatnonzero(np.diff(grouping.order) != 1)[0])
        name = grouping.ids[np.searchsorted(grouping.sizes.cumsum(), place, side="right")]
        raise LtrValueError(
            f"qid must have the rows of a query together, since sizes say nothing of scattered rows: query {name} ends at row "
            f"{grouping.order[place]} and goes on later. Sort the rows by query first (order = np.argsort(qid, kind='stable'))."
        )
    return grouping.sizes


def group_to_qid(group: Any) -> IntArray:
    """Return an id a row, 0, 1, ..., from the sizes of queries.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.group_to_qid([2, 1])
    array([0, 0, 1])
    """
    sizes = as_group_sizes(group)
    return np.repeat(np.arange(len(sizes)), sizes)


# -- rows grouped into queries ---------------------------------------------------------------------


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
        self._indexed = None  # name and index of the first pandas object among the columns
        for name, index in refuse_different_indexes(**columns):
            if self._indexed is None and len(index) == n_rows:
                self._indexed = name, index
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
