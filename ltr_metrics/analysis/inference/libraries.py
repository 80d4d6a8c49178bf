"""SciPy, imported where it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ltr_metrics.errors import MissingExtraError

EXTRA = "report"


def library(module: str) -> Any:
    """Return a module of an optional library."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(module.partition(".")[0], EXTRA) from error
