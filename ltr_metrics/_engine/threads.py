"""How many threads an evaluation takes."""

from __future__ import annotations

import os
import sys
import threading
from functools import cache

import numpy as np

from ltr_metrics._engine.checks import require_count

ROWS_WORTH_A_THREAD = 500_000  # below it, starting threads and waiting for each other costs more than they save
CGROUP_LIMITS = (
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
)


def n_threads_for(n_rows: int, asked: int | None) -> int:
    """Return how many threads to take: as many as pay, at most those asked for and those that the process may use at once.

    Left to itself, it is one in a worker (a thread, or a process of multiprocessing or joblib), for those who started it
    share the processors out already, and no more than ``OMP_NUM_THREADS`` says.
    """
    worth = max(1, n_rows // ROWS_WORTH_A_THREAD)
    if asked is not None:
        asked = require_count("n_threads", asked, note=", or None")
        return 1 if worth == 1 or asked == 1 else min(asked, worth, usable_processors())
    if worth == 1 or _in_a_worker():
        return 1
    return min(worth, usable_processors(), _openmp_limit())


def usable_processors() -> int:
    """Return how many processors the process may use at once: by affinity, and by its container's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, _quota()))


@cache
def _quota() -> int:
    """Whole processors' worth of time that a control group allows, rounded up; a very high number without one."""
    from pathlib import Path  # which takes its time to import

    try:
        new, *old = map(Path, CGROUP_LIMITS)
        quota, period = new.read_text().split() if new.exists() else (one.read_text().strip() for one in old)
        return int(np.ceil(int(quota) / int(period))) if int(quota) > 0 else sys.maxsize
    except (OSError, ValueError):  # no control groups here, or no limit: "max"
        return sys.maxsize


def _in_a_worker() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return True
    multiprocessing = sys.modules.get("multiprocessing.process")  # imported by whoever starts processes, and in these
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _openmp_limit() -> int:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else sys.maxsize
