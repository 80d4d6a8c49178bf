"""Which columns of a Spark DataFrame are needed, and whether they are what they are taken for; nothing runs."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as F  # noqa: N812 (as all of Spark's users call it)

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean

NUMBERS = (types.IntegralType, types.FractionalType, types.BooleanType)
IDS = (*NUMBERS, types.StringType, types.DateType, types.TimestampType)
DOCUMENT_IDS = (types.IntegralType, types.StringType)


def refuse_other_frames(frame: object) -> None:
    """Raise an error of what is no Spark DataFrame, or one that has no end."""
    if not hasattr(frame, "mapInArrow"):
        remedy = "For data in memory there is ltr_metrics.evaluate, for Dask ltr_metrics.dask.evaluate."
        raise LtrTypeError(f"frame must be a Spark DataFrame. Got a {type(frame).__name__}. {remedy}")
    if frame.isStreaming:  # type: ignore[attr-defined]
        raise LtrTypeError(
            "frame is a stream, whose queries are never complete: evaluate a batch of it (foreachBatch)."
        )


def ids(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column that queries or segments are told apart by."""
    return _text_as_bytes_compare(_of_kind(frame, role, name, IDS, "numbers, text or dates"), frame, name)


def document_ids(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column of document ids, which are ordered as text."""
    return _text_as_bytes_compare(_of_kind(frame, role, name, DOCUMENT_IDS, "whole numbers or text"), frame, name)


def numbers(frame: DataFrame, role: str, name: str) -> Column:
    """Return a column of numbers."""
    remedy = f' Convert it, for example by withColumn("{name}", col("{name}").cast("double")).'
    return _of_kind(frame, role, name, NUMBERS, "numbers", remedy)


def column_of(frame: DataFrame, role: str, name: str) -> Column:
    """Return the column of exactly this name."""
    if not isinstance(name, str):
        raise LtrTypeError(f"{role} must be the name of a column. Got {name!r}.")
    if name not in frame.columns:
        have = ", ".join(frame.columns)
        raise LtrKeyError(
            f"{role}: the frame has no column {name!r}.{did_you_mean(name, frame.columns)} It has {have}."
        )
    if frame.columns.count(name) > 1:
        raise LtrValueError(f"{role}: the frame has {frame.columns.count(name)} columns {name!r}. Rename or drop one.")
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")  # or a dot would mean a field of a struct


def _of_kind(
    frame: DataFrame, role: str, name: str, kinds: Iterable[type[types.DataType]], what: str, remedy: str = ""
) -> Column:
    column, found = column_of(frame, role, name), frame.schema[name].dataType
    if not isinstance(found, tuple(kinds)):
        raise LtrTypeError(f"{role} must be a column of {what}: {name!r} is {found.simpleString()}.{remedy}")
    return column


def _text_as_bytes_compare(column: Column, frame: DataFrame, name: str) -> Column:
    """Rid text of its collation, under which different ids may be equal for Spark and are not for Python."""
    return column.cast("string") if isinstance(frame.schema[name].dataType, types.StringType) else column
