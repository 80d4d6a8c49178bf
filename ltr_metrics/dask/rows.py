"""The columns of an evaluation, partition by partition.

They are columns of a Dask DataFrame, or Dask Series and arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import pandas_index
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean, import_extra


@dataclass(frozen=True)
class Rows:
    """Columns by role: names of columns of a frame, and separate Series or arrays."""

    frame: Any
    columns: dict[str, str]
    separate: dict[str, Any]

    @classmethod
    def of(cls, frame: Any, wanted: Mapping[str, Any]) -> Rows:
        dd = import_extra("dask.dataframe", "dask")
        if frame is not None and not isinstance(frame, dd.DataFrame):
            raise LtrTypeError(f"frame must be a Dask DataFrame.{_got(frame)}")
        columns = {role: source for role, source in wanted.items() if isinstance(source, str)}
        separate = {role: source for role, source in wanted.items() if not isinstance(source, str)}
        for role, column in columns.items():
            _require_column(frame, role, column)
        for role, source in separate.items():
            _require_dask(role, source)
        rows = cls(frame, columns, separate)
        n_partitions = {role: len(delayed) for role, delayed in rows._delayed().items()}
        if len(set(n_partitions.values())) > 1:
            each = ", ".join(f"{argument_name(role)} has {n}" for role, n in n_partitions.items())
            raise LtrValueError(f"All columns must have the same partitions: {each}. Repartition them alike first.")
        return rows

    def each(self, function: Callable[..., Any]) -> list[Any]:
        """Return the lazy result of ``function(number, columns by role)`` for each partition."""
        import dask

        delayed = self._delayed()
        frames = delayed.pop("frame", None)
        task = dask.delayed(partial(_call_with_columns, function, self.columns, tuple(self.separate)))
        separate = list(zip(*delayed.values(), strict=True)) or [()] * len(frames or ())
        return [task(i, None if frames is None else frames[i], *columns) for i, columns in enumerate(separate)]

    def meta(self) -> dict[str, Any]:
        """Return columns of the same types without rows."""
        columns: dict[str, Any] = _call_with_columns(
            lambda _, columns: columns,
            self.columns,
            tuple(self.separate),
            0,
            meta_of(self.frame) if self.columns else None,
            *map(meta_of, self.separate.values()),
        )
        return columns

    def _delayed(self) -> dict[str, list[Any]]:
        delayed = {}
        if self.columns:
            needed = [name for name in dict.fromkeys(self.columns.values()) if name in self.frame.columns]
            delayed["frame"] = list(self.frame[needed].to_delayed())
        return delayed | {role: np.ravel(source.to_delayed()).tolist() for role, source in self.separate.items()}


def _require_column(frame: Any, role: str, column: str) -> None:
    if frame is None:
        raise LtrTypeError(
            f"{argument_name(role)} names the column {column!r}, and frame is None: pass the frame, or a Dask Series "
            "or array."
        )
    names = list(frame.columns)
    if column not in names:
        if frame.index.name == column:
            return
        hint = did_you_mean(column, map(str, names))
        raise LtrKeyError(f"The frame has no column {column!r}.{hint} It has {', '.join(map(str, names))}.")
    if names.count(column) > 1:
        raise LtrValueError(f"The frame has {names.count(column)} columns named {column!r}; keep one of each name.")


def _require_dask(role: str, source: Any) -> None:
    import dask.array as da
    import dask.dataframe as dd

    if not isinstance(source, (dd.Series, da.Array)):
        raise LtrTypeError(
            f"{argument_name(role)} must be the name of a column, or a Dask Series or array.{_got(source)}"
        )
    if source.ndim != 1:
        raise LtrValueError(
            f"{argument_name(role)} must be one-dimensional with one entry a row. Got a Dask array of {source.ndim} "
            "dimensions: pass one column."
        )


def _got(value: Any) -> str:
    return (
        f" Got a {type(value).__module__}.{type(value).__name__}. Evaluate data in memory with ltr_metrics.evaluate, "
        "or convert them with dask.dataframe.from_pandas or dask.array.from_array."
    )


def argument_name(role: str) -> str:
    """Return the name of a role in messages: that of the score of `evaluate` is ``score``."""
    return "score" if role == "score score" else role


def meta_of(collection: Any) -> Any:
    """Return an empty table, column or array of the same types."""
    return collection._meta  # noqa: SLF001  (Dask has no public name for it)


def column_of(frame: Any, name: str) -> Any:
    """Return a column of a partition, or the index if it has this name."""
    return frame[name] if name in frame.columns else frame.index.to_series()


def _call_with_columns(
    function: Callable[[int, dict[str, Any]], Any],
    names: Mapping[str, str],
    separate: Sequence[str],
    number: int,
    frame: Any,
    *values: Any,
) -> Any:
    """Call a function with the columns of a partition, whose rows must belong together."""
    columns = {role: column_of(frame, name) for role, name in names.items()}
    columns |= dict(zip(separate, values, strict=True))
    first = next(iter(columns))
    indexed = None
    for role, column in columns.items():
        if len(column) != len(columns[first]):
            raise LtrValueError(
                f"In partition {number}: all must have one entry a row. {argument_name(first)} has "
                f"{len(columns[first])}, {argument_name(role)} {len(column)}."
            )
        index = pandas_index(column)
        if index is not None and indexed is not None and not index.equals(indexed[1]):
            raise LtrValueError(
                f"In partition {number}: {argument_name(indexed[0])} and {argument_name(role)} have different "
                "indexes, so their rows may not belong together. Align them, or pass .to_dask_array() of the Series "
                "if the order of rows is what counts."
            )
        if index is not None and indexed is None:
            indexed = role, index
    return function(number, columns)
