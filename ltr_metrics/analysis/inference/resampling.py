"""What randomization and bootstrap share: replicates chunk by chunk, their sums, and when two sums are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.rounding import SAME
from ltr_metrics._engine.threads import n_threads_for
from ltr_metrics.analysis.inference.options import random_bits

if TYPE_CHECKING:
    from ltr_metrics.analysis.inference.options import Seed

Result = TypeVar("Result")

CHUNK = 2**17  # numbers of a chunk's matrix, a megabyte: a core's own cache
DRAWS_LIKE_A_ROW = (
    10  # random numbers that take about the time of a row of an evaluation, by which threads are dealt out
)


def in_chunks(
    work: Callable[[slice, np.random.PCG64], Result], n_resamples: int, n_units: int, seed: Seed, purpose: int
) -> list[Result]:
    """Call ``work`` for each chunk of the replicates, in several threads where that pays.

    The size of a chunk depends on the number of units alone, and each has random bits of its own: results are the same in
    any number of threads.
    """
    size = max(1, CHUNK // n_units)
    chunks = [slice(at, min(at + size, n_resamples)) for at in range(0, n_resamples, size)]

    def one(number: int) -> Result:
        return work(chunks[number], random_bits(seed, purpose, number))

    n_threads = n_threads_for(n_resamples * n_units // DRAWS_LIKE_A_ROW, None)
    if n_threads == 1:
        return [one(number) for number in range(len(chunks))]
    from concurrent.futures import ThreadPoolExecutor  # which takes its time to import

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(one, range(len(chunks))))


def sums(replicates: FloatArray, column: FloatArray) -> FloatArray:
    """Return the sum over units of each replicate, (replicates x units) times (units,).

    Not by BLAS, which adds up in another order for another number of columns, or of threads.
    """
    total: FloatArray = np.einsum("ru,u->r", replicates, column)
    return total


def tolerance(column: FloatArray) -> float:
    """Return by how much two sums of plus or minus these numbers may differ by rounding alone; metrics have few values."""
    return (SAME + len(column) * float(np.finfo(np.float64).eps)) * float(np.abs(column).sum())
