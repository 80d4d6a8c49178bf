"""The randomization test: how often the mean would differ as much, had the two systems changed names in some queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics.analysis.inference.resampling import in_chunks, sums, tolerance
from ltr_metrics.analysis.inference.sample import Sample

if TYPE_CHECKING:
    from ltr_metrics.analysis.inference.options import Seed

ALWAYS_EXACT = 13  # units; 2**13 sign vectors cost less than the usual number of random ones
PURPOSE = 0


def randomization_p(sample: Sample, n_resamples: int, seed: Seed) -> tuple[FloatArray, BoolArray]:
    """Return two-sided p-values, and which of them are over all signs."""
    columns = np.ascontiguousarray(sample.contribution.T)
    n_signs = np.array([np.count_nonzero(column) for column in columns], dtype=np.intp)
    exact = n_signs <= max(ALWAYS_EXACT, n_resamples.bit_length() - 1)
    p = np.full(len(columns), np.nan)
    for j in np.flatnonzero(exact):
        p[j] = exact_p(columns[j])
    drawn = np.flatnonzero(~exact)
    if len(drawn):
        p[drawn] = (1 + _as_extreme(columns[drawn], n_resamples, seed)) / (1 + n_resamples)
    p[sample.n < 2] = np.nan
    return p, exact & (sample.n > 1)


def exact_p(column: FloatArray) -> float:
    """Return the share of all sign vectors whose sum is at least as far from 0 as that of the column.

    The sum is as far from 0 with all signs reversed, so one unit keeps its sign.
    """
    column = column[column != 0]
    if not len(column):
        return 1.0
    reached = column[:1]
    for one in column[1:]:
        reached = np.concatenate([reached + one, reached - one])
    least = abs(float(column.sum())) - tolerance(column)
    return float(np.count_nonzero(np.abs(reached) >= least) / len(reached))


def _as_extreme(columns: FloatArray, n_resamples: int, seed: Seed) -> IntArray:
    """Count the random sign vectors whose sum is at least as far from 0 as the column's: the same signs for all columns."""
    n_units = columns.shape[1]
    n_words = -(-n_units // 64)
    least = [abs(float(column.sum())) - tolerance(column) for column in columns]

    def count(chunk: slice, bits: np.random.PCG64) -> IntArray:
        n = chunk.stop - chunk.start
        words = bits.random_raw(n * n_words).astype("<u8", copy=False).view(np.uint8).reshape(n, -1)
        plus = np.unpackbits(words, axis=1, count=n_units, bitorder="little").astype(np.float64)
        reached = [np.abs(2 * sums(plus, column) - column.sum()) for column in columns]
        return np.array([np.count_nonzero(r >= at) for r, at in zip(reached, least, strict=True)], dtype=np.intp)

    found: IntArray = np.sum(in_chunks(count, n_resamples, n_units, seed, PURPOSE), axis=0)
    return found
