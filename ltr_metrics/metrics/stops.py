"""Where a user who walks down a tie stops: the expectation over all orders of the tied documents, for ERR and PFound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ltr_metrics.inputs import FloatArray, IntArray
from ltr_metrics.ranking import TiedPlaces

NEGLIGIBLE_LOG = 60 * np.log(2)  # a user who gets further with probability 2^-60 changes no digit
CELLS_OF_A_RECURSION = 2_000_000
GRADES_WORTH_COUNTING = 32


def expected_stops(tied: TiedPlaces, stop: FloatArray, depth: int) -> FloatArray:
    """Return the probability to stop at each place of a tie, for one who arrives at the tie, over all its orders.

    ``stop`` has for each tied document the probability to stop there, lowest first within a tie. Let S_j be the mean, over
    all j documents of the tie, of the product of 1 - p (one goes on past j places), and T_j the probability to stop at
    place j. The tie grows by a document at a time, which is equally likely to stand at each place; with the t-th

        T_j <- T_j (t-j)/t + T_{j-1} (1-p_t) (j-1)/t + S_{j-1} p_t / t
        S_j <- S_j (t-j)/t + S_{j-1} (1-p_t) j/t

    where all terms are positive, so that no digit is lost. Documents at which nobody stops come first and leave S = 1 and
    T = 0; large ties grow by a grade at a time instead. Places beyond the depth, or that nobody reaches, stay 0.
    """
    ties = tied.ties
    stops = np.zeros(len(stop))
    if not len(stops):
        return stops
    never = np.add.reduceat((stop == 0.0).astype(np.intp), tied.begins)
    mean = np.minimum(np.add.reduceat(stop, tied.begins) / ties.size, 1.0)
    with np.errstate(
        divide="ignore", over="ignore"
    ):  # S_j <= S_1^j = (1 - mean)^j (Maclaurin), so S is negligible from here on
        reached = np.ceil(NEGLIGIBLE_LOG / np.abs(np.log1p(-mean)))
    within = np.minimum(ties.size, depth - ties.first)
    places = np.maximum(np.minimum(within, reached), 1).astype(np.intp)
    of_grade, count = _count_grades(tied, stop)
    for chosen in _of_like_size(places):
        depth = int(places[chosen].max())
        if count is not None and len(of_grade) * depth < count[chosen].sum(axis=1).max():
            at = _by_grade(of_grade, count[chosen], never[chosen], depth)
        else:
            at = _by_document(stop, tied.begins[chosen], never[chosen], ties.size[chosen], depth)
        j = np.arange(depth)
        shown = j < places[chosen][:, None]
        stops[(tied.begins[chosen][:, None] + j)[shown]] = at[shown]
    return stops


def _count_grades(tied: TiedPlaces, stop: FloatArray) -> tuple[FloatArray, IntArray | None]:
    """Distinct probabilities above 0 and how often each tie has them, (ties x grades); None if they are too many."""
    of_grade, grade = np.unique(stop, return_inverse=True)
    if len(of_grade) > GRADES_WORTH_COUNTING:
        return of_grade, None
    shape = (len(tied.begins), len(of_grade))
    count = np.bincount(tied.tie * shape[1] + grade, minlength=shape[0] * shape[1]).reshape(shape)
    above_zero = of_grade > 0
    return of_grade[above_zero], count[:, above_zero]


def _of_like_size(places: IntArray) -> Iterator[IntArray]:
    """Yield ties that need about as many places, where a matrix over all of them would waste too much."""
    if len(places) * int(places.max()) <= CELLS_OF_A_RECURSION // 10:
        yield np.arange(len(places))
        return
    size_class = np.frexp(places)[1]
    order = np.argsort(size_class, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(size_class[order])) + 1):
        at_once = max(1, CELLS_OF_A_RECURSION // int(places[members].max() + 1))
        for first in range(0, len(members), at_once):
            yield members[first : first + at_once]


def _by_document(stop: FloatArray, begins: IntArray, never: IntArray, size: IntArray, places: int) -> FloatArray:
    """T_1 ... T_places of each tie, (ties x places)."""
    order = np.argsort(never - size, kind="stable")  # most documents to add first: the rest drop out from the end
    begins, never, size = begins[order], never[order], size[order]
    j = np.arange(1.0, places + 1)
    before = (j - 1 <= never[:, None]).astype(np.float64)  # S_0 ... S_{places-1}
    at = np.zeros_like(before)  # T_1 ... T_places
    for step in range(int((size - never).max())):
        n = int(np.searchsorted(never - size, -step, side="left"))
        t = (never[:n] + step + 1.0)[:, None]
        p = stop[begins[:n] + never[:n] + step][:, None]
        shifted = at[:n, :-1] * ((1 - p) * j[:-1] / t)
        at[:n] *= np.maximum(t - j, 0) / t
        at[:n, 1:] += shifted
        at[:n] += before[:n] * (p / t)
        shifted = before[:n, :-1] * ((1 - p) * j[:-1] / t)
        before[:n, 1:] *= np.maximum(t - j[:-1], 0) / t
        before[:n, 1:] += shifted
    result = np.empty_like(at)
    result[order] = at
    return result


def _by_grade(stop: FloatArray, count: IntArray, never: IntArray, places: int) -> FloatArray:
    """T_1 ... T_places of each tie from the number of its documents of each grade, whatever their number.

    To A, the documents so far, come b documents that all stop with probability p. Of the first j places, i hold documents
    of A with the probability of a drawing without replacement; let W_j(i) be that times (1-p)^(j-i). Then

        T_{j+1} = sum over i of W_j(i) (P(next from A) T^A_{i+1} + P(next from B) p S^A_i)
        S_{j+1} = sum over i of W_{j+1}(i) S^A_i
    """
    i = np.arange(places + 1.0)
    a = never.astype(np.float64)[:, None]
    survives = (i <= a).astype(np.float64)  # S_0 ... S_places
    stops = np.zeros_like(survives)  # T_1 ... T_places, and a column that stays 0
    for p, b in zip(stop, count.T[:, :, None].astype(np.float64), strict=True):
        new_survives, new_stops = np.ones_like(survives), np.zeros_like(stops)
        w = np.zeros_like(survives)
        w[:, 0] = 1.0
        for j in range(places):
            left = np.maximum(a + b - j, 1.0)
            next_a = w * (np.maximum(a - i, 0.0) / left)
            next_b = w * (np.maximum(b - (j - i), 0.0) / left)
            new_stops[:, j] = (next_a * stops + next_b * survives * p).sum(axis=1)
            w = next_b * (1.0 - p)
            w[:, 1:] += next_a[:, :-1]
            new_survives[:, j + 1] = (w * survives).sum(axis=1)
        a, survives, stops = a + b, new_survives, new_stops
    return stops[:, :places]
