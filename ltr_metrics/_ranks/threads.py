"""How many threads a call of the compiled core takes."""

from __future__ import annotations

import os
import sys
import threading

from ltr_metrics._rows.checks import require_count

ROWS_WORTH_A_THREAD = 50_000  # with fewer rows, starting threads and waiting for them costs more than they save


def n_threads_for(n_rows: int, n_threads: int | None) -> int:
    """Return the number of threads: one per 50,000 rows, but at most ``n_threads``.

    It is never more than `usable_processors`. If ``n_threads`` is None, it is 1 in a worker (a
    thread, or a process of multiprocessing or joblib), because whoever started the worker shares
    out the CPUs already. Outside a worker it is then at most ``OMP_NUM_THREADS``.
    """
    if type(n_threads) is int and n_threads == 1:
        return 1
    useful = max(1, n_rows // ROWS_WORTH_A_THREAD)
    if n_threads is not None:
        useful = min(useful, require_count("n_threads", n_threads, note=", or None"))
    elif useful > 1:
        useful = 1 if _is_in_worker() else min(useful, _openmp_limit())
    return 1 if useful == 1 else min(useful, usable_processors())


def usable_processors() -> int:
    """Return the number of CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_in_worker() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return True
    multiprocessing = sys.modules.get("multiprocessing.process")  # only a program that starts processes imports it
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _openmp_limit() -> int:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else sys.maxsize
