"""The queries of a host's data sets, laid out once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import same_arrays
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.evaluate import Queries


class QueriesCache:
    """Cache the queries of each data set until its labels, weights or boundaries change.

    Hosts pass the same object in every round, and report some changes of its content nowhere.
    So the fields are compared with copies of them. An entry is dropped with its data set.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], tuple[Any, ...], Queries]] = {}

    def get(self, data: Any, fields: tuple[Any, ...], make: Callable[[], Queries]) -> Queries:
        """Return the queries of a data set. Make them if a field (array or None) has changed."""
        key, entries = id(data), self._entries
        if key in entries:
            reference, copies, queries = entries[key]
            if reference() is data and all(map(same_arrays, copies, fields)):
                return queries
        queries = make()
        copies = tuple(None if field is None else np.array(field) for field in fields)  # may change in place
        entries[key] = weakref.ref(data, lambda _: entries.pop(key, None)), copies, queries
        return queries

    def __reduce__(self) -> Any:
        return QueriesCache, ()  # copies and other processes fill their own


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
    n_labels = 0 if label is None else len(label)
    if boundaries is None or len(boundaries) < 2:
        if n_labels == 0:
            raise LtrValueError(f"The {data} has no rows with labels, so there is nothing to evaluate.")
        raise LtrValueError(f"The {data} has no queries. {remedy}")
    if n_labels != boundaries[-1]:
        raise LtrValueError(f"The {data} must have one label a row: got {n_labels} labels for {boundaries[-1]} rows.")
    return Queries(label, group=np.diff(boundaries), **options)
