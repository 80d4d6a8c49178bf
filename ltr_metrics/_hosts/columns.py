"""The further columns of a host's data sets. No host passes them to a metric, so the user does."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ltr_metrics._engine.checks import named_columns
from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean


class ColumnsByData:
    """The columns of each data set, by the host's object or by the name of the data set.

    Parameters
    ----------
    metrics : HostMetrics
        The metrics that read the columns.
    columns : mapping or None
        The columns, which map names to arrays, by data set.
    key : str
        What a data set is selected by, as a user would write it, for messages.
    by_name : bool
        Whether it is selected by a name, and not by an object.
    """

    def __init__(self, metrics: HostMetrics, columns: Any, key: str, *, by_name: bool = False) -> None:
        self._needed, self._key = metrics.request.needed_columns, key
        if columns is None:
            self._require_none_needed()
        by_data = {} if columns is None else columns
        if not isinstance(by_data, Mapping) or any(isinstance(one, str) != by_name for one in by_data):
            raise LtrTypeError(
                f"columns must map data sets to their columns: {{{key}: {{'revenue': ...}}}}. Got {columns!r:.200}."
            )
        self._entries = [
            (_reference(data, by_name), named_columns(own, f"columns[{data!r}]")) for data, own in by_data.items()
        ]

    def of(self, data: Any) -> dict[str, Any] | None:
        """Return the columns of a data set, or None if there are none for it."""
        return next((columns for reference, columns in self._entries if _is_same(reference(), data)), None)

    def require(self, columns: dict[str, Any] | None, data: str, hint: str = "") -> dict[str, Any]:
        """Return the columns that `of` has found; raise an error if metrics need some and there are none."""
        if columns is None and self._needed:
            names = [name for reference, _ in self._entries if isinstance(name := reference(), str)]
            given = f" Given: {', '.join(names)}.{did_you_mean(data, names)}" if names else ""
            raise LtrValueError(
                f"{data} has no columns here, and the metrics read {', '.join(self._needed)}.{given} Pass columns= for "
                f"every data set that is evaluated: {{{self._key}: {{{self._needed[0]!r}: ...}}}}.{hint}"
            )
        return columns or {}

    def _require_none_needed(self) -> None:
        if self._needed:
            raise LtrValueError(
                f"The metrics read the column {self._needed[0]!r}, which no host passes to a metric. Pass it: "
                f"columns={{{self._key}: {{{self._needed[0]!r}: ...}}}}, one number a row."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> ColumnsByData:
        return self  # a data set is recognised by its identity

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled. In another process the data sets are other objects.
        kept = [reference() for reference, _ in self._entries]
        named = [(name, columns) for name, (_, columns) in zip(kept, self._entries, strict=True) if _is_text(name)]
        return {"_needed": self._needed, "_key": self._key, "_named": named}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._needed, self._key = state["_needed"], state["_key"]
        self._entries = [(_reference(name, True), columns) for name, columns in state["_named"]]


def require_columns(metrics: HostMetrics, queries: Any) -> None:
    """Raise an error at once if a column that a metric needs is missing or no column of numbers."""
    for metric in metrics.request.metrics:
        if metric.needed_columns:
            metric.check_once(queries)


def _reference(data: Any, by_name: bool) -> Callable[[], Any]:
    return (lambda: data) if by_name else weakref.ref(data)


def _is_text(name: Any) -> bool:
    return isinstance(name, str)


def _is_same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, str) and isinstance(other, str) else one is other and one is not None
