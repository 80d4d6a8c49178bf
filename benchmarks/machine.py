"""The machine of a run, and the versions of all packages that took part."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

import numpy as np

HOSTS = ("lightgbm", "xgboost", "xgboost-cpu", "catboost")
PACKAGES = ("ltr_metrics", "numpy", *HOSTS, "ranx", "numba", "pytrec_eval-terrier", "ir_measures", "scikit-learn")
USUAL_NAMES = {"X86_V3": "AVX2", "X86_V4": "AVX-512"}  # of what NumPy calls levels


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Describe the machine, with the instructions that NumPy found, on which the speed of its sort depends."""
    linux = Path("/proc/cpuinfo")
    cpu = re.search(r"model name\s*: (.+)", linux.read_text() if linux.exists() else "")
    simd = getattr(np.__config__, "CONFIG", {}).get("SIMD Extensions", {})  # from NumPy 1.26 on
    levels = " ".join(USUAL_NAMES.get(name, name) for name in [*simd.get("baseline", []), *simd.get("found", [])])
    name, system = cpu[1] if cpu else platform.processor(), f"{platform.system()} {platform.machine()}"
    return f"{name}, {n_cores()} cores, {levels}, {system}"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    installed = {package.name: package.version for package in metadata.distributions()}
    return {"Python": platform.python_version()} | {name: installed[name] for name in PACKAGES if name in installed}
