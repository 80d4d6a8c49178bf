"""On what a run was made: the machine, and the versions of all that took part."""

from __future__ import annotations

import inspect
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import ltr_metrics as ltr

DISTRIBUTIONS = (
    "numpy",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "catboost",
    "ranx",
    "numba",
    "pytrec_eval-terrier",
    "ir_measures",
    "scikit-learn",
)
USUAL_NAMES = {"X86_V3": "AVX2", "X86_V4": "AVX-512"}  # of what NumPy calls levels


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """Describe the machine."""
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "simd": _simd(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what is installed."""
    found = {"ltr_metrics": ltr.__version__}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _simd() -> list[str]:
    """Return what NumPy has found, on which its sort depends."""
    if "mode" not in inspect.signature(np.show_config).parameters:  # before 1.26 it prints and returns nothing
        return []
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    found = [*extensions["baseline"], *extensions.get("found", [])]
    return [USUAL_NAMES.get(name, name) for name in found]
