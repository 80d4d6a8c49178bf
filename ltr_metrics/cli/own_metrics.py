"""``--metrics-module``: metrics of a Python file, which the command runs, by their names."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ltr_metrics.errors import LtrError, LtrValueError, did_you_mean
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import metric, parse, split_names
from ltr_metrics.metrics.requests import OneMetric

MODULE = "ltr_metrics_module"  # the name of the file's module, which no installed module has


def requested_metrics(arguments: Mapping[str, Any]) -> list[OneMetric] | None:
    """Return the metrics of ``--metrics``, those of the file as objects; None means the default metrics."""
    names: str | None = arguments["metrics"]
    path: Path | None = arguments["metrics_module"]
    own = {} if path is None else _load(path)
    if names is None:
        if path is not None:
            raise LtrValueError(
                f"--metrics-module needs --metrics, which names its metrics. {path} has {', '.join(own)}."
            )
        return None
    requested = [name.strip() for name in split_names(names)]
    return [own[name] if name in own else _built_in(name, path, own) for name in requested]


def _built_in(name: str, path: Path | None, own: Mapping[str, Metric]) -> str:
    """Return the name of a metric of this package; an unknown one is an error that lists the file's."""
    if path is None:
        return name
    try:
        parse(name)
    except LtrValueError as error:
        raise LtrValueError(f"{error} {path} has {', '.join(own)}.{did_you_mean(name, own)}") from None
    return name


def _load(path: Path) -> dict[str, Metric]:
    """Run a Python file, and return the metrics at its top level by name."""
    own: dict[str, Metric] = {}
    for variable, value in vars(_run(path)).items():
        if not isinstance(value, Metric):
            continue
        try:
            name = str(metric(value))
        except LtrError as error:
            raise LtrValueError(f"{path}: {variable} cannot be used as a metric: {error}") from error
        if own.setdefault(name, value) != value:
            raise LtrValueError(f"{path}: {variable} is the second metric that is named {name!r}. Rename one of them.")
    if not own:
        raise LtrValueError(
            f"{path} has no metric at its top level. Assign one to a variable, such as "
            "first_purchase = ltr_metrics.as_metric(function, per='query'), or revenue = Revenue(k=10)."
        )
    return own


def _run(path: Path) -> ModuleType:
    """Run the file as a module, which can import other files of its folder."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise LtrValueError(f"--metrics-module needs a Python file, whose name ends in .py. Got {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise LtrValueError(f"{_place(path, error)} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def _place(path: Path, error: Exception) -> str:
    """Return the file with the line that failed."""
    if isinstance(error, SyntaxError):
        return f"{error.filename or path}, line {error.lineno},"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}," if lines else str(path)
