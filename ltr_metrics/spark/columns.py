"""The columns of a Spark DataFrame, checked by name and type without running a job."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as F  # noqa: N812 (the usual name)

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean

NUMBERS = (types.IntegralType, types.FractionalType, types.BooleanType)
IDS = (*NUMBERS, types.StringType, types.DateType, types.TimestampType)
DOCUMENT_IDS = (types.IntegralType, types.StringType)


def refuse_other_frames(frame: object) -> None:
    """Raise an error for anything but a Spark DataFrame, and for streams."""
    if not hasattr(frame, "mapInArrow"):
        remedy = "For data in memory use ltr_metrics.evaluate, for Dask ltr_metrics.dask.evaluate."
        raise LtrTypeError(f"frame must be a Spark DataFrame. Got a {type(frame).__name__}. {remedy}")
    if frame.isStreaming:  # type: ignore[attr-defined]
        raise LtrTypeError(
            "frame is a stream, whose queries are never complete: evaluate a batch of it (foreachBatch)."
        )


def ids(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column of query ids or of labels of segments."""
    return _without_collation(_of_kind(frame, role, name, IDS, "numbers, text or dates"), frame, name)


def document_ids(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column of document ids, which are sorted as text."""
    return _without_collation(_of_kind(frame, role, name, DOCUMENT_IDS, "whole numbers or text"), frame, name)


def numbers(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column of numbers."""
    remedy = f' Convert it, for example by withColumn("{name}", col("{name}").cast("double")).'
    return _of_kind(frame, role, name, NUMBERS, "numbers", remedy)


def column_of(frame: DataFrame, role: str, name: str) -> Column:
    """Return the column of exactly this name."""
    if not isinstance(name, str):
        raise LtrTypeError(f"{role} must be the name of a column. Got {name!r}.")
    if name not in frame.columns:
        columns = ", ".join(frame.columns)
        raise LtrKeyError(
            f"{role}: the frame has no column {name!r}.{did_you_mean(name, frame.columns)} It has {columns}."
        )
    if frame.columns.count(name) > 1:
        raise LtrValueError(f"{role}: the frame has {frame.columns.count(name)} columns {name!r}. Rename or drop one.")
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")  # or a dot would mean a field of a struct


def _of_kind(
    frame: DataFrame, role: str, name: str, kinds: Iterable[type[types.DataType]], what: str, remedy: str = ""
) -> Column:
    column, kind = column_of(frame, role, name), frame.schema[name].dataType
    if not isinstance(kind, tuple(kinds)):
        raise LtrTypeError(f"{role} must be a column of {what}: {name!r} is {kind.simpleString()}.{remedy}")
    return column


def _without_collation(column: Column, frame: DataFrame, name: str) -> Column:
    """Return text without its collation, under which Spark may take different ids for equal."""
    return column.cast("string") if isinstance(frame.schema[name].dataType, types.StringType) else column
