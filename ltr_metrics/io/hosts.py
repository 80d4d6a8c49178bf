"""The register of hosts. A new host is a folder with its name, and an entry of `HOSTS`.

The folder ``ltr_metrics/HOST`` has the metric function of the host in ``__init__.py``, and modules
that are imported when they are needed: ``HOST_stopping.py`` (early stopping inside `QueryRanker`)
and ``HOST_rounds.py`` (the rounds of a fitted model, for `learning_curve`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Literal

HOSTS = ("lightgbm", "xgboost", "catboost")


def host_of(thing: object) -> str | None:
    """Return the host that a class, or one of its base classes, comes from."""
    packages = {cls.__module__.partition(".")[0] for cls in type(thing).__mro__}
    return next((host for host in HOSTS if host in packages), None)


def module_of(host: str, part: Literal["stopping", "rounds"]) -> ModuleType:
    """Import a part of a host's folder."""
    return import_module(f"ltr_metrics.{host}.{host}_{part}")
