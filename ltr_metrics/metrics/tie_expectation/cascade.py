"""Where a user who reads down a tie stops: the expectation over all orders, for ERR and PFound.

Three algorithms compute it; the cost of each decides which one a tie gets:

=================  ==================================================  ==========================
algorithm          adds to the tie                                     used
=================  ==================================================  ==========================
`_by_grade`        all documents of a grade at once                    large ties of few grades
`_by_polynomial`   one document, as sums over sets of documents        other ties
`_by_document`     one document, as probabilities                      if such sums overflow
=================  ==================================================  ==========================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks
from ltr_metrics.metrics.tie_expectation.open_ties import OpenTies

NEGLIGIBLE_LOG = 60 * np.log(2)  # a user who gets further with probability 2^-60 changes no digit
CELLS_OF_A_RECURSION = 50_000
USUAL_DEPTH = 10  # as many as are usually asked for; ties that need fewer are not told apart
GRADES_A_DOCUMENT = 3  # to add all documents of a grade takes as long, at each place, as three documents more
LARGEST_BINOMIAL_ROW = 1_000  # of Pascal's triangle whose entries are float64


def stop_probabilities(ranking: Ranking, stop: FloatArray, depth: int, effective_depth: int) -> FloatArray:
    """Return the probability that the user stops at each rank.

    Parameters
    ----------
    ranking : Ranking
    stop : ndarray
        Probability to stop at a document of each distinct grade.
    depth : int
        Number of ranks.
    effective_depth : int
        Ranks of ties below this one do not count and may have any value between 0 and the probability.
    """
    by_rank = ranking.in_some_order(stop, depth)
    continuation = accumulate_ranks(np.multiply, 1 - by_rank)
    by_rank[:, 1:] *= continuation[:, :-1]
    open_ties = OpenTies.of(ranking, depth)
    if open_ties is not None:
        reach_probability = open_ties.accumulated_above(continuation, 1.0)[open_ties.documents.tie]
        open_ties.write(reach_probability * expected_stops(open_ties, stop, effective_depth), by_rank)
    return by_rank


def expected_stops(tied: OpenTies, stop: FloatArray, depth: int) -> FloatArray:
    """Return the probability that a user who arrives at a tie stops at each of its ranks, over all orders.

    ``stop`` is the probability to stop at each distinct grade. Let S_j be the mean, over all sets of
    j documents of the tie, of the product of 1 - p: the user goes on past j ranks. Let T_j be the
    probability to stop at rank j of the tie. The tie grows by one document at a time, which is
    equally likely to stand at each rank. The t-th one, with probability p_t, changes them to

        T_j <- T_j (t-j)/t + T_{j-1} (1-p_t) (j-1)/t + S_{j-1} p_t / t
        S_j <- S_j (t-j)/t + S_{j-1} (1-p_t) j/t

    All terms are positive, so no digit is lost. Documents at which nobody stops come first and leave
    S = 1 and T = 0. Large ties grow by one grade at a time instead. Ranks below the depth, or that
    nobody reaches, stay 0.
    """
    grade, begins, size = tied.grade, tied.documents.starts, tied.ties.size
    stops, of_document = np.zeros(len(grade)), stop[grade - 1]
    n_grades = _count_distinct(grade, of_document > 0, begins)
    if (np.diff(stop) < 0).any():  # a table may give a higher grade a lower one
        of_document = of_document[np.lexsort((of_document, tied.documents.tie))]
    never = np.add.reduceat(of_document == 0.0, begins, dtype=np.intp)
    to_add = size - never
    mean = np.minimum(np.add.reduceat(of_document, begins) / size, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        # S_j <= S_1^j = (1 - mean)^j (Maclaurin), so S is negligible from here on
        reached = np.ceil(NEGLIGIBLE_LOG / np.abs(np.log1p(-mean)))
    within = np.minimum(size, depth - tied.ties.n_above)
    places = np.maximum(np.minimum(within, reached), 1).astype(np.intp)
    for deepest, grow, chosen in _alike(places, size, to_add, n_grades, len(stop)):
        if grow is _by_grade:
            count = _count_grades(grade, begins[chosen], size[chosen], len(stop))
            found = np.flatnonzero(count.any(axis=0) & (stop > 0))
            at = _by_grade(stop[found], count[:, found], never[chosen], deepest)
        else:
            at = grow(of_document, begins[chosen], never[chosen], size[chosen], deepest)
        j = np.arange(deepest)
        shown = j < places[chosen][:, None]
        stops[(begins[chosen][:, None] + j)[shown]] = at[shown]
    return stops


def _alike(
    places: IntArray, size: IntArray, to_add: IntArray, n_grades: IntArray, n_columns: int
) -> Iterator[tuple[int, Callable[..., FloatArray], IntArray]]:
    """Yield ties that need about equally many ranks, and the algorithm for them.

    They are few enough for their matrices to stay in the cache. The algorithm depends on the tie
    alone, so its digits do not depend on its neighbours.
    """
    deepest, least = USUAL_DEPTH, 0
    while least < places.max():
        of_depth = (places > least) & (places <= deepest)
        # The number of ways to fill the places, at most size^places / places!, is to be a float64.
        fits = (size <= LARGEST_BINOMIAL_ROW) | (deepest * np.log(size) - math.lgamma(deepest + 1) < 700)
        large = GRADES_A_DOCUMENT * n_grades * deepest < to_add
        for grow, members in ((_by_grade, large), (_by_polynomial, fits & ~large), (_by_document, ~fits & ~large)):
            chosen = np.flatnonzero(members & of_depth)
            most_first = np.argsort(-to_add[chosen], kind="stable")  # so that those which are done drop out at the end
            chosen = chosen[most_first]
            at_once = max(1, CELLS_OF_A_RECURSION // max(deepest + 1, n_columns if grow is _by_grade else 0))
            for first in range(0, len(chosen), at_once):
                yield deepest, grow, chosen[first : first + at_once]
        deepest, least = 2 * deepest, deepest


def _count_distinct(grade: AnyArray, counts: BoolArray, begins: IntArray) -> IntArray:
    """How many distinct grades each tie has among the documents that count; grades ascend within a tie."""
    other = np.ones(len(grade), dtype=np.bool_)
    np.not_equal(grade[1:], grade[:-1], out=other[1:])
    other[begins] = True
    return np.add.reduceat(other & counts, begins, dtype=np.intp)


def _count_grades(grade: AnyArray, begins: IntArray, size: IntArray, n_grades: int) -> IntArray:
    """How many documents of each grade some ties have, (ties x grades)."""
    tie = np.repeat(np.arange(len(size)), size)
    document = np.arange(len(tie)) + np.repeat(begins - (np.cumsum(size) - size), size)
    cells = np.bincount(tie * n_grades + (grade[document] - 1), minlength=len(size) * n_grades)
    return cells.reshape(len(size), n_grades)


def _by_polynomial(stop: FloatArray, begins: IntArray, never: IntArray, size: IntArray, places: int) -> FloatArray:
    """Return T_1 ... T_places of each tie, those with most documents to add first, (ties x places).

    They are sums over sets of documents, divided at the end by the number of sets. Let E_j be the
    sum, over all sets of j documents, of the product of their 1 - p. Let F_j be the sum, over all
    documents and sets of j - 1 others, of p of the one times the product of 1 - p of the others.
    One more document changes them to

        F_j <- F_j + (1-p) F_{j-1} + p E_{j-1}
        E_j <- E_j + (1-p) E_{j-1}
    """
    to_add = size - never
    e = _binomials(never, places)  # of documents with 1 - p = 1
    f = np.zeros_like(e)
    first = begins + never
    for step, n in enumerate(np.searchsorted(-to_add, -np.arange(int(to_add[0])), side="left").tolist()):
        p = stop[first[:n] + step]
        goes_on = 1 - p
        of_others = f[:-1, :n] * goes_on
        f[:, :n] += e[:, :n] * p
        f[1:, :n] += of_others
        e[1:, :n] += e[:-1, :n] * goes_on
    f /= np.maximum(size * _binomials(size - 1, places), 1)
    return f.T


def _binomials(n: IntArray, places: int) -> FloatArray:
    """How many ways there are to choose 0, 1, ... of n, (places x n)."""
    ways = np.ones((places, len(n)))
    for chosen in range(1, places):
        ways[chosen] = ways[chosen - 1] * np.maximum(n - chosen + 1, 0) / chosen
    return ways


def _by_document(stop: FloatArray, begins: IntArray, never: IntArray, size: IntArray, places: int) -> FloatArray:
    """Return T_1 ... T_places of each tie, those with most documents to add first, (ties x places)."""
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
    return at


def _by_grade(stop: FloatArray, count: IntArray, never: IntArray, places: int) -> FloatArray:
    """Return T_1 ... T_places of each tie from the number of its documents of each grade, whatever their number.

    A are the documents so far. We add b documents, at each of which the user stops with probability
    p. Of the first j ranks, i hold documents of A with the probability of a drawing without
    replacement; let W_j(i) be that times (1-p)^(j-i). Then

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
