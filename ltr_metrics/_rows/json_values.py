"""Results as others read them: ids and numbers in JSON's types, and data frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ltr_metrics._rows.checks import AnyArray
from ltr_metrics._rows.ids import IdOrder, id_text, id_texts, order_of_text
from ltr_metrics.errors import import_extra

if TYPE_CHECKING:
    import pandas

JsonId = str | int | float | bool
DataFrame: TypeAlias = "pandas.DataFrame"  # pandas is imported where a frame is made


def json_ids(qid: AnyArray) -> list[JsonId]:
    """Return the ids as JSON values."""
    return list(id_texts(qid)) if qid.dtype.kind in "mM" else list(map(json_id, qid.tolist()))


def json_id(value: object) -> JsonId:
    """Return an id as a JSON value."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":  # columns of mixed types hold NumPy scalars
        value = value.item()
    if isinstance(value, (bool, str, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return id_text(value)


def to_json(value: Any) -> Any:
    """Return a value in JSON's types: arrays and tuples are lists, objects are dicts, NaN and infinity are None."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            numbers = value.astype(object)
            numbers[~np.isfinite(value)] = None
            return numbers.tolist()
        return json_ids(value) if value.dtype.kind in "mMO" else value.tolist()
    if dataclasses.is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return to_json(value._asdict())
    if isinstance(value, Mapping):
        return {
            repr(name).removesuffix(".0") if isinstance(name, float) else str(name): to_json(one)
            for name, one in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None else json_id(value)


def order_of_id(json_id: JsonId) -> tuple[IdOrder, str]:
    """Return an id's sort key: its text, then its type, because a log may hold both 7 and "7"."""
    return order_of_text(id_text(json_id)), type(json_id).__name__


def segment_title(name: str | None, segment: object) -> str:
    """Return a segment's title; it contains the segmentation's name if there are several."""
    return id_text(segment) if name is None else f"{name}={id_text(segment)}"


def to_dataframe(data: Any, columns: Any = None) -> DataFrame:
    """Return a pandas DataFrame, or raise an error if pandas is not installed."""
    frame: DataFrame = import_extra("pandas", "report").DataFrame(data, columns=columns)
    return frame
