"""Where the columns are: names in a Dask DataFrame, and Series or arrays beside it; their rows, partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import pandas_index
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, MissingExtraError, did_you_mean


@dataclass(frozen=True)
class Rows:
    """Columns by what they are: names in a frame, and Series or arrays beside it."""

    frame: Any
    columns: dict[str, str]
    beside: dict[str, Any]

    @classmethod
    def of(cls, frame: Any, wanted: Mapping[str, Any]) -> Rows:
        try:
            import dask.dataframe as dd
        except ImportError as error:
            raise MissingExtraError("dask", "dask") from error
        if frame is not None and not isinstance(frame, dd.DataFrame):
            raise LtrTypeError(f"frame must be a Dask DataFrame{_got(frame)}")
        columns = {role: source for role, source in wanted.items() if isinstance(source, str)}
        beside = {role: source for role, source in wanted.items() if not isinstance(source, str)}
        for role, column in columns.items():
            _require_column(frame, role, column)
        for role, source in beside.items():
            _require_dask(role, source)
        rows = cls(frame, columns, beside)
        numbers = {role: len(delayed) for role, delayed in rows._delayed().items()}
        if len(set(numbers.values())) > 1:
            each = ", ".join(f"{shown(role)} has {n}" for role, n in numbers.items())
            raise LtrValueError(f"All must have the same partitions: {each}. Repartition them alike before.")
        return rows

    def each(self, function: Callable[..., Any]) -> list[Any]:
        """Return, for each partition, the lazy result of function(its number, its columns by what they are)."""
        import dask

        delayed = self._delayed()
        frames = delayed.pop("frame", None)
        task = dask.delayed(partial(_of_partition, function, self.columns, tuple(self.beside)))
        beside = list(zip(*delayed.values(), strict=True)) or [()] * len(frames or ())
        return [task(at, None if frames is None else frames[at], *columns) for at, columns in enumerate(beside)]

    def meta(self) -> dict[str, Any]:
        """Return columns of the same types without rows."""
        frame = meta_of(self.frame) if self.columns else None
        found: dict[str, Any] = _of_partition(
            lambda _, found: found, self.columns, tuple(self.beside), 0, frame, *map(meta_of, self.beside.values())
        )
        return found

    def _delayed(self) -> dict[str, list[Any]]:
        found = {}
        if self.columns:
            own = [name for name in dict.fromkeys(self.columns.values()) if name in self.frame.columns]
            found["frame"] = list(self.frame[own].to_delayed())
        return found | {role: np.ravel(source.to_delayed()).tolist() for role, source in self.beside.items()}


def _require_column(frame: Any, role: str, column: str) -> None:
    if frame is None:
        raise LtrTypeError(
            f"{shown(role)} names the column {column!r}, and frame is None: pass the frame, or a Dask Series or array."
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
        raise LtrTypeError(f"{shown(role)} must be a column's name, or a Dask Series or array{_got(source)}")
    if source.ndim != 1:
        raise LtrValueError(
            f"{shown(role)} must be one-dimensional with one entry a row. Got a Dask array of {source.ndim} dimensions: pass one column."
        )


def _got(thing: Any) -> str:
    return (
        f". Got a {type(thing).__module__}.{type(thing).__name__}. What is in memory is evaluated by ltr_metrics.evaluate, or made one by "
        "dask.dataframe.from_pandas and dask.array.from_array."
    )


def shown(role: str) -> str:
    """Return what is called ``score new`` in here as a caller knows it."""
    return "score" if role == "score score" else role


def meta_of(collection: Any) -> Any:
    """Return an empty table, column or array of the types that Dask knows of."""
    return collection._meta  # noqa: SLF001  (which has no public name in Dask)


def column_of(frame: Any, name: str) -> Any:
    """Return a column of a partition; the index is one if it has the name."""
    return frame[name] if name in frame.columns else frame.index.to_series()


def _of_partition(
    function: Callable[[int, dict[str, Any]], Any],
    columns: Mapping[str, str],
    beside: Sequence[str],
    at: int,
    frame: Any,
    *given: Any,
) -> Any:
    """Call a function with the columns of a partition, after a look at whether their rows belong together."""
    found = {role: column_of(frame, column) for role, column in columns.items()}
    found |= dict(zip(beside, given, strict=True))
    first = next(iter(found))
    indexed = None
    for role, column in found.items():
        if len(column) != len(found[first]):
            raise LtrValueError(
                f"In partition {at}: all must have one entry a row. {shown(first)} has {len(found[first])}, {shown(role)} {len(column)}."
            )
        index = pandas_index(column)
        if index is not None and indexed is not None and not index.equals(indexed[1]):
            raise LtrValueError(
                f"In partition {at}: {shown(indexed[0])} and {shown(role)} have different indexes, so their rows may not belong together. "
                "Align them, or pass .to_dask_array() of the Series if the order of rows is what counts."
            )
        if index is not None and indexed is None:
            indexed = role, index
    return function(at, found)
