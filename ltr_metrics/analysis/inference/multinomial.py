r"""Sums over n units drawn with replacement from n, for the bootstrap.

A unit's count is the number of times that it is drawn. To draw n indices and count them takes
longer than all sums over the counts. So we draw the counts themselves:

1. Independent Poisson counts with the sum N are the counts of N draws, given N.
2. We draw such counts with a mean sum that is 3 standard deviations below n. A replicate with
   :math:`N \ge n` is drawn again. That depends on N alone, so step 1 still holds.
3. We draw the remaining n - N units one by one. In all, these are n draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.analysis.inference.resampling import ByteArray, blocks_of_units, random_bytes, sum_units

MARGIN = 3.0  # standard deviations: 1 of 740 replicates is drawn again, and for 5,000 units 4 % are drawn one by one
N_COUNTS = 21  # a Poisson count of mean 1 is higher with a probability of 1e-20


def resampled_sums(columns: FloatArray, n_resamples: int, bits: np.random.PCG64) -> FloatArray:
    """Return the sums over n units drawn from the n of the columns, (columns x resamples).

    The columns are (columns x units). All of them have the same draws.
    """
    n_units = columns.shape[1]
    law = CountLaw.of(mean_count(n_units))
    sums, n_drawn = _sum_poisson_counts(law, columns, n_resamples, bits)
    while len(again := np.flatnonzero(n_drawn >= n_units)):
        sums[:, again], n_drawn[again] = _sum_poisson_counts(law, columns, len(again), bits)
    return sums + _sum_single_draws(columns, n_units - n_drawn, bits)


def mean_count(n_units: int) -> float:
    """Return the mean of the Poisson counts: the sum's mean m satisfies m + 3 sqrt(m) = n."""
    root = (math.sqrt(MARGIN**2 + 4 * n_units) - MARGIN) / 2
    return root**2 / n_units


@dataclass(frozen=True, eq=False)
class CountLaw:
    r"""Poisson counts from random bytes, with their exact probabilities :math:`p_k`.

    Each count k belongs to :math:`b_k` of the 256 bytes, about :math:`256 p_k`. Marks correct the
    rest: a Poisson number of them at random units, each of which sets the unit's count to its k,
    the highest k last. Let :math:`s_k` be the probability that a unit has no mark of k or higher.
    Then a unit's count is k with probability :math:`s_{k+1} - s_k + s_0 b_k / 256`, which is
    :math:`p_k` if :math:`s_{k+1} = s_k + p_k - s_0 b_k / 256`. The largest :math:`s_0` for which no
    step is negative needs the fewest marks.

    Attributes
    ----------
    thresholds : ndarray of uint8
        A byte's count is the number of thresholds that it reaches.
    marks : ndarray of float64 of shape (21,)
        Mean number of marks of each k on a unit, :math:`\log(s_{k+1} / s_k)`.
    """

    thresholds: ByteArray
    marks: FloatArray

    @classmethod
    def of(cls, mean: float) -> CountLaw:
        """Return the law of Poisson counts of a mean below 1."""
        p = np.array([math.exp(-mean) * mean**k / math.factorial(k) for k in range(N_COUNTS)])
        n_bytes = np.floor(256 * p)
        while n_bytes.sum() < 256:
            n_bytes[np.argmax(p / (n_bytes + 1))] += 1
        unmarked = float((256 * p[n_bytes > 0] / n_bytes[n_bytes > 0]).min())
        steps = np.maximum(p - unmarked * n_bytes / 256, 0)  # one is 0 but for rounding
        marks = np.diff(np.log(unmarked + np.append(0, np.cumsum(steps))))
        ends = np.cumsum(n_bytes)
        return cls(ends[ends < 256].astype(np.uint8), marks)

    def draw(self, n: int, bits: np.random.PCG64) -> ByteArray:
        """Return n independent counts."""
        drawn = random_bytes(n, bits)
        counts: ByteArray = np.zeros(n, dtype=np.uint8)
        for threshold in self.thresholds:
            counts += (drawn >= threshold).view(np.uint8)  # to add bool is slower
        generator = np.random.Generator(bits)
        marks = np.repeat(np.arange(N_COUNTS, dtype=np.uint8), generator.poisson(n * self.marks))
        counts[generator.integers(n, size=len(marks))] = marks  # of several marks on a unit, the last one stays
        return counts


def _sum_poisson_counts(
    law: CountLaw, columns: FloatArray, n_resamples: int, bits: np.random.PCG64
) -> tuple[FloatArray, IntArray]:
    """Return the sums over Poisson counts, (columns x resamples), and the number of draws of each."""
    sums = np.zeros((len(columns), n_resamples))
    n_drawn = np.zeros(n_resamples, dtype=np.intp)
    for units in blocks_of_units(columns.shape[1]):
        width = units.stop - units.start
        counts = law.draw(n_resamples * width, bits).reshape(n_resamples, width)
        n_drawn += counts.sum(axis=1, dtype=np.uint16)
        sums += sum_units(counts.astype(np.float64), columns[:, units])
    return sums, n_drawn


def _sum_single_draws(columns: FloatArray, n_draws: IntArray, bits: np.random.PCG64) -> FloatArray:
    """Return the sums over units drawn one by one, (columns x resamples), at least one for each resample."""
    drawn = np.random.Generator(bits).integers(columns.shape[1], size=n_draws.sum())
    rows = np.ascontiguousarray(columns.T).take(drawn, axis=0)
    sums: FloatArray = np.add.reduceat(rows, np.cumsum(n_draws) - n_draws, axis=0).T
    return sums
