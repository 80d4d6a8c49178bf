"""The queries of a host's data sets, laid out once, and their columns, which no host passes to a metric."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics._rows.checks import named_columns, same_arrays
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries


class LaidOut(NamedTuple):
    """The queries of a data set, and what they were made of."""

    data: weakref.ref[Any]
    version: Any
    fields: tuple[Any, ...]  # copies, because a host may change its arrays in place
    queries: Queries


class QueriesCache:
    """Cache the queries of each data set until its labels, weights or boundaries change.

    Hosts pass the same object in every round, and report some changes of its content nowhere.
    So the fields are compared with copies of them, unless the host says by a version that none has changed. An entry is
    dropped with its data set.
    """

    def __init__(self) -> None:
        self._entries: dict[Any, LaidOut] = {}

    def get(
        self,
        data: Any,
        read: Callable[[], tuple[Any, ...]],
        make: Callable[..., Queries],
        *,
        version: Any = None,
        name: str | None = None,
    ) -> tuple[Queries, bool]:
        """Return the queries of a data set, and whether they were laid out just now.

        ``read`` returns the fields, arrays or None, and ``make`` makes the queries of them. One object
        may be the data of several data sets, which then differ by their names.
        """
        key, entries = (id(data), name), self._entries
        known = entries.get(key)
        if known is not None and known.data() is not data:  # another one that was at the same address
            known = None
        if known is not None and version is not None and version == known.version:
            return known.queries, False
        fields = read()
        if known is not None and all(map(same_arrays, known.fields, fields)):
            entries[key] = known._replace(version=version)
            return known.queries, False
        queries = make(*fields)
        copies = tuple(None if field is None else np.array(field) for field in fields)
        entries[key] = LaidOut(weakref.ref(data, lambda _: entries.pop(key, None)), version, copies, queries)
        return queries, True

    def __reduce__(self) -> Any:
        return QueriesCache, ()  # copies and other processes fill their own


class ColumnsByData:
    """The columns of each data set, by the host's object or by the name of the data set.

    Parameters
    ----------
    metrics : HostMetrics
        The metrics that read the columns.
    columns : mapping or None
        The columns, which map names to arrays, by data set.
    key : str
        What selects a data set, as a user would write it, for messages. A name is in quotes.
    """

    def __init__(self, metrics: HostMetrics, columns: Any, key: str) -> None:
        self._needed, self._key = metrics.request.needed_columns, key
        self._entries: list[tuple[Any, dict[str, Any]]] = []
        if columns is None:
            self.require(None, "The training")
        by_data = {} if columns is None else columns
        by_name = key.startswith('"')
        if not isinstance(by_data, Mapping) or any(isinstance(data, str) != by_name for data in by_data):
            keys = f"the keys {', '.join(map(repr, by_data))}" if isinstance(by_data, Mapping) else ""
            given = keys or type(by_data).__name__
            raise LtrTypeError(
                f"columns must map data sets to their columns: {{{key}: {{'revenue': ...}}}}. Got {given}."
            )
        self._entries = [(data, named_columns(columns, f"columns[{data!r}]")) for data, columns in by_data.items()]

    def of(self, data: Any) -> dict[str, Any] | None:
        """Return the columns of a data set, or None if there are none for it."""
        known = (own for key, own in self._entries if key is data or (isinstance(key, str) and key == data))
        return next(known, None)

    def require(self, columns: dict[str, Any] | None, data: str, hint: str = "") -> dict[str, Any]:
        """Return the columns that `of` has found; raise an error if metrics need some and there are none."""
        if columns is None and self._needed:
            column, names = self._needed[0], [key for key, _ in self._entries if isinstance(key, str)]
            given = f" Given: {', '.join(names)}.{did_you_mean(data, names)}" if names else ""
            raise LtrValueError(
                f"{data} has no columns here, and the metrics read the column {column!r} of every data set, which no "
                f"host passes to a metric. Pass it: columns={{{self._key}: {{{column!r}: ...}}}}, one number per row."
                f"{given}{hint}"
            )
        return columns or {}

    def __deepcopy__(self, memo: dict[int, Any]) -> ColumnsByData:
        return self  # an object is recognised by its identity


def require_columns(metrics: HostMetrics, queries: Queries) -> None:
    """Raise an error at once if a column that a metric needs is missing or no column of numbers."""
    for metric in metrics.request.metrics:
        if metric.needed_columns:
            metric.check(queries)


def require_features(n: int, n_expected: int) -> None:
    """Refuse X with another number of features, which a host might treat as missing values."""
    if n != n_expected:
        raise LtrValueError(f"X has {n} features, and the model was trained on {n_expected}.")


def queries_of_boundaries(data: str, remedy: str, label: Any, boundaries: Any, **options: Any) -> Queries:
    """Return the queries of a data set that keeps the offsets of its queries.

    Parameters
    ----------
    data, remedy : str
        What the host calls the data set, and how a user gives it queries, for messages.
    label, boundaries : ndarray or None
    **options
        ``query_weight`` or ``sample_weight``, and ``columns`` of `Queries`.
    """
    if boundaries is None or len(boundaries) < 2:
        missing = "rows with labels" if label is None or len(label) == 0 else "queries"
        raise LtrValueError(f"The {data} has no {missing}. {remedy}")
    return Queries(label, group=np.diff(boundaries), **options)
