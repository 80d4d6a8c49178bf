"""Bytes a row of prepared queries and one evaluation, beyond the caller's arrays.

NumPy reports its memory to tracemalloc.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

import ltr_metrics as ltr
from benchmarks.effort import Effort
from benchmarks.figures import About, Figure, Row
from benchmarks.ours import FIVE, evaluation
from benchmarks.shapes import Data, mslr, mslr_of
from benchmarks.targets import TARGETS


class Memory(NamedTuple):
    """Bytes at the highest point, and those that stay while the queries and the result are kept."""

    peak: int
    kept: int


def memory_of(data: Data) -> Memory:
    """Prepare queries and evaluate all five once."""
    evaluation(mslr(10))()  # what is made once for all is no memory of these rows
    gc.collect()
    tracemalloc.start()
    try:
        queries = ltr.Queries(data.y, group=data.sizes)
        result = queries.evaluate(data.scores, FIVE, n_threads=1)
        kept, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return Memory(peak, kept)


def memory(effort: Effort) -> Iterator[Row]:
    """Measure the two largest numbers of rows, and what each further row adds."""
    small, large = (mslr_of(n) for n in effort.rows[-2:])
    of_small, of_large = memory_of(small), memory_of(large)
    for data, found in ((small, of_small), (large, of_large)):
        yield _a_row("memory at the peak, a row", data, found.peak / data.n_rows, judged=True)
        yield _a_row("memory that stays, a row", data, found.kept / data.n_rows)
    slope = (of_large.peak - of_small.peak) / (large.n_rows - small.n_rows)
    yield _a_row(f"memory at the peak, each row beyond {small.n_rows:,}", large, slope, judged=True)


def _a_row(what: str, data: Data, value: float, judged: bool = False) -> Row:
    figure = Figure("ours", value, value, value, 1, "B/row")
    about = About("memory", what, data.shape, data.n_rows, 1)
    return Row(*about, figure, None, figure, TARGETS["memory"] if judged else None)
