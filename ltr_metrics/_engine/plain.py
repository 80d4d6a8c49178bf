"""Results in plain types: JSON's for ids and numbers, and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.ids import IdOrder, id_text, id_texts, order_of_text
from ltr_metrics.errors import import_extra

if TYPE_CHECKING:
    import pandas

PlainId = str | int | float | bool


def plain_ids(qid: AnyArray) -> list[PlainId]:
    """Return the ids as JSON values."""
    return list(id_texts(qid)) if qid.dtype.kind in "mM" else list(map(plain_id, qid.tolist()))


def plain_id(value: object) -> PlainId:
    """Return an id as a JSON value."""
    value = value.item() if isinstance(value, np.generic) else value  # columns of mixed types hold NumPy scalars
    if isinstance(value, (bool, str, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return id_text(value)


def order_of_id(plain_id: PlainId) -> tuple[IdOrder, str]:
    """Return an id's sort key: its text, then its type, because a log may hold both 7 and "7"."""
    return order_of_text(id_text(plain_id)), type(plain_id).__name__


def segment_title(name: str | None, segment: object) -> str:
    """Return a segment's title; it contains the segmentation's name if there are several."""
    return str(segment) if name is None else f"{name}={segment}"


def none_if_nan(value: float) -> float | None:
    """Return a number as a JSON value."""
    return None if np.isnan(value) else value


def to_dataframe(data: Any, columns: Any = None) -> pandas.DataFrame:
    """Return a pandas DataFrame, or raise an error if pandas is not installed."""
    frame: pandas.DataFrame = import_extra("pandas", "report").DataFrame(data, columns=columns)
    return frame
