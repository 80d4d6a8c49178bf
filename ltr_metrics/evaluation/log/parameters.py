"""A candidate's parameters as plain values, which are the same in every process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np

from ltr_metrics.metrics.base import Metric

Parameters = dict[str, Any]
KEPT_AS_TEXT = (Metric, Enum, Decimal, date, os.PathLike)  # date includes datetime


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: None, a number, a text, or a list or dict of these.

    Metrics, members of an Enum, Decimals, dates and paths become their ``str``. Any other object
    becomes the name of its class, a class or a function its own name. A ``repr`` may contain a
    memory address, which would make one candidate another in each process.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (set, frozenset)):  # the order of a set differs between processes
        return sorted(map(plain, value), key=as_text)
    if isinstance(value, KEPT_AS_TEXT):
        return str(value)
    return getattr(value, "__qualname__", type(value).__qualname__)


def as_text(value: Any) -> str:
    """Return the text by which values are compared: 1, 1.0 and True differ, and NaN equals NaN."""
    return json.dumps(plain(value), sort_keys=True)


def varying_names(candidates: Sequence[Parameters]) -> list[str]:
    """Return the names of the parameters that differ between candidates, or that some lack."""
    names = sorted({name for parameters in candidates for name in parameters})
    texts = {name: {as_text(p[name]) if name in p else None for p in candidates} for name in names}
    return [name for name in names if len(texts[name]) > 1]


def sort_key(value: Any) -> tuple[bool, float, str]:
    """Return a key that sorts plain values: numbers by size, then all others by their text."""
    is_number = isinstance(value, (int, float)) and value == value
    return (not is_number, value if is_number else 0, as_text(value))
