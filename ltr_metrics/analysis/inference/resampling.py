"""Resampling in chunks, with its random bits, for the randomization test and the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ltr_metrics._engine.checks import FloatArray, require_count
from ltr_metrics._engine.rounding import SAME
from ltr_metrics._engine.threads import n_threads_for
from ltr_metrics.errors import LtrTypeError, LtrValueError

Seed: TypeAlias = "int | Sequence[int]"
Result = TypeVar("Result")
ByteArray = npt.NDArray[np.uint8]

MIN_RESAMPLES = 100  # with fewer, a p-value has less than two digits
CHUNK = 2**19  # numbers in a block of a chunk: four megabytes; threads wait for each other at smaller ones
BLOCK = 2**10  # units in a block: a dot product that every BLAS computes with one thread
DRAWS_PER_ROW = 10  # random numbers drawn in about the time in which one row is evaluated


def require_n_resamples(value: object) -> int:
    """Return a number of resamples, or raise an error."""
    return require_count("n_resamples", value, MIN_RESAMPLES, "; 10000 is usual")


def random_bits(seed: Seed, *purpose: int) -> np.random.PCG64:
    """Return the random bits of a seed for one purpose, given as numbers.

    A test and an interval with the same seed share no bits.
    """
    if seed is None:  # NumPy would take a new seed each time
        raise LtrTypeError("seed must be a whole number or a sequence of them, for reproducible results. Got None.")
    try:
        return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=purpose))
    except (TypeError, ValueError) as error:
        kind = LtrTypeError if isinstance(error, TypeError) else LtrValueError
        raise kind(f"seed must be a whole number, 0 or more, or a sequence of them. Got {seed!r}: {error}.") from None


def resample_in_chunks(
    work: Callable[[slice, np.random.PCG64], Result], n_resamples: int, n_units: int, seed: Seed, purpose: int
) -> list[Result]:
    """Call ``work`` for each chunk of the replicates, in several threads where that is faster.

    The size of a chunk depends on the number of units alone, and each chunk has its own random
    bits. So the result does not depend on the number of threads.
    """
    size = max(CHUNK // BLOCK, CHUNK // n_units)
    chunks = [slice(start, min(start + size, n_resamples)) for start in range(0, n_resamples, size)]

    def run(number: int) -> Result:
        return work(chunks[number], random_bits(seed, purpose, number))

    n_threads = n_threads_for(n_resamples * n_units // DRAWS_PER_ROW, None)
    if n_threads == 1:
        return list(map(run, range(len(chunks))))
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(run, range(len(chunks))))


def blocks_of_units(n_units: int) -> Iterator[slice]:
    """Yield the blocks of units for which random bits are drawn and sums are computed at a time."""
    for start in range(0, n_units, BLOCK):
        yield slice(start, min(start + BLOCK, n_units))


def random_bytes(n: int, bits: np.random.PCG64) -> ByteArray:
    """Return n random bytes, the same on every machine."""
    words = bits.random_raw(-(-n // 8)).astype("<u8", copy=False)
    drawn: ByteArray = words.view(np.uint8)[:n]
    return drawn


def sum_units(replicates: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the sums over a block's units, (columns x replicates).

    The replicates are (replicates x units), and the columns are (columns x units). Each sum is a
    dot product of two vectors. The order of summation of a matrix product would depend on the
    numbers of columns and threads.
    """
    sums: FloatArray = np.matmul(replicates[:, None, None, :], columns[None, :, :, None])
    return sums[:, :, 0, 0].T


def rounding_tolerance(column: FloatArray) -> float:
    """Return by how much two sums of plus or minus these numbers may differ by rounding alone.

    Metrics have few distinct values, so many sums are equal.
    """
    return (SAME + len(column) * float(np.finfo(np.float64).eps)) * float(np.abs(column).sum())
