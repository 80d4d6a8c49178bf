"""The running sums over impressions: wins, credit, and differences in credit, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr_metrics._engine.checks import AnyArray, FloatArray, require_count
from ltr_metrics.errors import LtrValueError

Counts = npt.NDArray[np.int64]

CHECKPOINTS_PER_DECADE = 10
TIE_TOLERANCE = 1e-9  # relative to max(1, |a|, |b|): credits are sums of 1/P in any order
MAX_CREDIT = 1e150  # the square of a larger credit may overflow


def checkpoints(n_impressions: int) -> Counts:
    """Return the numbers of impressions at which results are kept: ten per decade, and ``n_impressions``.

    All checkpoints but the last are the same for every ``n_impressions``.

    Examples
    --------
    >>> from ltr_metrics.interleaving.tally import checkpoints
    >>> checkpoints(30).tolist()
    [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30]
    """
    require_count("n_impressions", n_impressions)
    n_decades = len(str(n_impressions))
    exponents = np.arange(CHECKPOINTS_PER_DECADE * n_decades + 1) / CHECKPOINTS_PER_DECADE
    counts = np.rint(10.0**exponents).astype(np.int64)
    return np.unique(np.append(counts[counts < n_impressions], np.int64(n_impressions)))


def block_ends(start: int, stop: int) -> Counts:
    """Return the ends of the parts of the block of impressions ``start`` to ``stop - 1``.

    The parts end at the checkpoints and at the end of the block. The ends count from the block's
    first impression.

    Examples
    --------
    >>> from ltr_metrics.interleaving.tally import block_ends
    >>> block_ends(0, 4).tolist(), block_ends(9, 14).tolist()
    ([1, 2, 3, 4], [1, 4, 5])
    """
    ends = checkpoints(stop)
    return ends[ends > start] - start


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over consecutive parts of many impressions: how often each ranker wins, and by how much.

    Build one tally per block with `from_credit`, then join the blocks with `concat`.

    Attributes
    ----------
    n : ndarray of int64 of shape (n_parts,)
        Number of impressions in each part.
    wins : ndarray of int64 of shape (n_parts, n_rankers, n_rankers)
        Number of impressions in which the row's credit is higher than the column's.
    credit : ndarray of float64 of shape (n_parts, n_rankers)
        Sums of credit.
    differences, squares : ndarray of float64 of shape (n_parts, n_rankers, n_rankers)
        Sums of the differences in credit, row - column, and of their squares. A tie adds exactly 0
        to both.
    """

    n: Counts
    wins: Counts
    credit: FloatArray
    differences: FloatArray
    squares: FloatArray

    @classmethod
    def from_credit(cls, credit: FloatArray, ends: Any) -> Tally:
        """Return the tally of one block of impressions.

        Two credits a and b are tied if ``|a - b| <= 1e-9 max(1, |a|, |b|)``, because they may be
        sums of the same terms in different orders.

        Parameters
        ----------
        credit : ndarray of float64 of shape (n_rankers, n_impressions)
            The impressions are in the order in which they occurred.
        ends : sequence of int
            The number of impressions up to the end of each part, ascending. The last one is
            ``n_impressions``.

        Raises
        ------
        LtrValueError
            If a credit is NaN, infinite or too large to square, or if ``ends`` do not ascend to
            ``n_impressions``.
        """
        credit = np.ascontiguousarray(credit, dtype=np.float64)
        if credit.ndim != 2 or len(credit) < 2:
            raise LtrValueError(
                "credit must have one row per ranker, two or more, and one column per impression. "
                f"Got shape {credit.shape}."
            )
        starts, sizes = _part_bounds(ends, credit.shape[1])
        is_valid = np.abs(credit) < MAX_CREDIT
        if not is_valid.all():
            ranker, impression = np.argwhere(~is_valid)[0].tolist()
            raise LtrValueError(
                f"credit must be finite and below {MAX_CREDIT:g}, so that it can be squared. Got "
                f"{credit[ranker, impression]} for ranker {ranker} in impression {impression} (from 0)."
            )
        wins, differences, squares = _compare_pairs(credit, starts)
        return cls(sizes, wins, np.add.reduceat(credit, starts, axis=1).T, differences, squares)

    @classmethod
    def concat(cls, tallies: Sequence[Tally]) -> Tally:
        """Return one tally with the parts of several, whose impressions follow each other."""
        return cls(*map(np.concatenate, zip(*(tally._fields for tally in tallies), strict=True)))

    @property
    def ends(self) -> Counts:
        """Number of impressions up to the end of each part."""
        return np.cumsum(self.n)

    def merge_parts(self, ends: Any) -> Tally:
        """Return a tally with fewer parts. ``ends`` are a subset of `ends` that includes the last."""
        known = self.ends
        if not np.isin(ends, known).all():
            raise LtrValueError(
                f"Parts can be merged but not split: they end at {known.tolist()}. Got ends {list(ends)}."
            )
        starts = _part_bounds(np.searchsorted(known, ends) + 1, len(known))[0]
        return Tally(*(np.add.reduceat(values, starts, axis=0) for values in self._fields))

    def merge_by(self, code: AnyArray) -> Tally:
        """Return a tally with one part for each code, of the parts that have it."""
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        return Tally(*(np.add.reduceat(values[order], starts, axis=0) for values in self._fields))

    @property
    def _fields(self) -> tuple[AnyArray, ...]:
        return self.n, self.wins, self.credit, self.differences, self.squares


def _compare_pairs(credit: FloatArray, starts: Counts) -> tuple[Counts, FloatArray, FloatArray]:
    """Return the wins, differences and squared differences of all pairs of rankers, by part."""
    shape = (len(starts), len(credit), len(credit))
    wins = np.zeros(shape, dtype=np.int64)
    differences, squares = np.zeros((2, *shape))
    # The work is done in place: allocating memory costs more than the arithmetic.
    tolerance = np.abs(credit)
    np.maximum(tolerance, 1, out=tolerance)
    tolerance *= TIE_TOLERANCE
    difference, bound = np.empty_like(credit[0]), np.empty_like(credit[0])
    for i, j in combinations(range(len(credit)), 2):
        np.maximum(tolerance[i], tolerance[j], out=bound)
        np.subtract(credit[i], credit[j], out=difference)
        won, lost = difference > bound, difference < np.negative(bound, out=bound)
        wins[:, i, j] = np.add.reduceat(won, starts, dtype=np.int64)
        wins[:, j, i] = np.add.reduceat(lost, starts, dtype=np.int64)
        difference *= won | lost
        differences[:, i, j] = np.add.reduceat(difference, starts)
        differences[:, j, i] = -differences[:, i, j]
        difference *= difference
        squares[:, i, j] = squares[:, j, i] = np.add.reduceat(difference, starts)
    return wins, differences, squares


def _part_bounds(ends: Any, n: int) -> tuple[Counts, Counts]:
    """Return the start and the size of each part."""
    ends = np.asarray(ends)
    bounds = np.concatenate([[0], ends])
    sizes = np.diff(bounds)
    if ends.dtype.kind not in "iu" or bounds[-1] != n or sizes.min() < 1:
        raise LtrValueError(f"ends must be ascending whole numbers, from 1 or more to {n}. Got {ends.tolist()}.")
    return bounds[:-1].astype(np.int64), sizes.astype(np.int64)
