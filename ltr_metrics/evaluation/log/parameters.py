"""A candidate's parameters as plain values: the same in every fold and process, and comparable as text."""

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
BY_TEXT = (Metric, Enum, Decimal, date, os.PathLike)  # date includes datetime


def plain(value: Any) -> Any:
    """Return None, numbers, text, and lists and dicts of them as JSON has them; all else as the name of its class or function.

    What is `BY_TEXT` is its ``str``: metrics by their canonical names, members of an Enum, Decimals, dates, paths.
    A name and not a ``repr``, which has addresses in it and would make one candidate another in each process.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (set, frozenset)):  # whose order differs between processes
        return sorted(map(plain, value), key=as_text)
    if isinstance(value, BY_TEXT):
        return str(value)
    return getattr(value, "__qualname__", type(value).__qualname__)


def as_text(value: Any) -> str:
    """Return the text of a plain value, by which values are told apart: 1, 1.0 and True are three, NaN is itself."""
    return json.dumps(plain(value), sort_keys=True)


def with_nested(parameters: Mapping[str, Any]) -> Parameters:
    """Add the parameters of estimators among the values, by the names that ``get_params(deep=True)`` has for them."""
    nested = {
        f"{name}__{inner}": entry
        for name, value in parameters.items()
        if hasattr(value, "get_params") and not isinstance(value, type)
        for inner, entry in value.get_params(deep=True).items()
    }
    return nested | dict(parameters)


def varying(candidates: Sequence[Parameters]) -> list[str]:
    """Return the names of those that are not the same, or not there, in all candidates."""
    names = sorted({name for parameters in candidates for name in parameters})
    texts = {name: {as_text(p[name]) if name in p else None for p in candidates} for name in names}
    return [name for name in names if len(texts[name]) > 1]


def order_of(value: Any) -> tuple[bool, float, str]:
    """Return what plain values are sorted by: numbers by size, before all else by text."""
    is_number = isinstance(value, (int, float)) and value == value
    return (not is_number, value if is_number else 0, as_text(value))
