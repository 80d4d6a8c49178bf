"""Where a user who walks down a tie stops, as an expectation over all orders of its documents.

ERR and PFound need it. Let a tie have m documents, at which the user stops with probabilities p.
Let S_j be the mean, over all sets of j documents, of the product of 1 - p, which is the probability
to continue past j places. Let T_j be the probability to stop at place j. In the order of documents
they grow by one document at a time, which is equally likely to be at each place. With the t-th

    T_j <- T_j (t-j)/t + T_{j-1} (1-p_t) (j-1)/t + S_{j-1} p_t / t
    S_j <- S_j (t-j)/t + S_{j-1} (1-p_t) j/t

All terms are positive, so no digit is lost. Documents at which nobody stops come first and leave
S = 1 and T = 0. Three functions compute T for many ties at a time, and `_groups` chooses:

=====================  =======================================  ==================================
function               used for                                 cost of a tie with P places
=====================  =======================================  ==================================
`_grow_by_polynomial`  ties whose binomial coefficients are     6 P operations a document, which
                       float64, the usual case                  is half of `_grow_by_document`
`_grow_by_grade`       ties with more than 3 P documents a      17 P^2 operations a grade, whatever
                       grade                                    the number of documents
`_grow_by_document`    all others: more than 1000 documents,    12 P operations a document
                       many places, many distinct grades
=====================  =======================================  ==================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks, values_of_grades
from ltr_metrics._engine.ties import TiedDocuments
from ltr_metrics.metrics.open_ties import OpenTies, kinds_by_grades

NEGLIGIBLE_LOG = 60 * np.log(2)  # a user who gets further with probability 2^-60 changes no digit
CELLS_AT_ONCE = 50_000  # of a (places x ties) matrix, which then stays in the cache
USUAL_DEPTH = 10  # ties that need at most so many places are computed together
FEW_PLACES = 2  # many ties are computed apart if they need at most 2 or 4 places
MANY_TIES = 1_000
DOCUMENTS_OF_A_GRADE = 3  # a grade costs as much, at each place, as so many documents
LARGEST_BINOMIAL_ROW = 1_000  # of Pascal's triangle whose entries are all float64
LARGEST_LOG = 700  # of a float64


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
        Ranks of ties below this one do not count, and may be 0.
    """
    by_rank = ranking.in_some_order(stop, depth)
    continuation = accumulate_ranks(np.multiply, 1 - by_rank)
    by_rank[:, 1:] *= continuation[:, :-1]
    open_ties = OpenTies.of(ranking, depth)
    if open_ties is not None:
        reach_probability = open_ties.accumulated_above(continuation, 1.0)
        stops = open_ties.documents.repeat(reach_probability)
        is_reached = stops > 0  # nobody comes to the ties far down in a list of thousands of documents
        if is_reached.any():
            documents = open_ties.documents.where(reach_probability > 0)
            stops[is_reached] *= _stops_if_reached(documents, stop, effective_depth)
        open_ties.write(stops, by_rank)
    return by_rank


def _stops_if_reached(documents: TiedDocuments, stop: FloatArray, depth: int) -> FloatArray:
    """Return the probability to stop at each place of the ties, for a user who reaches the tie.

    Places below the depth, or that nobody reaches, are 0. Ties of the same grades have the same
    probabilities, which are computed once.
    """
    n_within = np.maximum(np.minimum(documents.ties.size, depth - documents.ties.n_above), 1)
    kinds = kinds_by_grades(documents, n_within)
    if kinds is None:
        return _stops_in_ties(documents, stop, n_within)
    examples = documents.take(kinds.example)
    stops = _stops_in_ties(examples, stop, n_within[kinds.example])
    return stops[documents.repeat(examples.starts[kinds.of_tie]) + documents.rank_in_tie]


def _stops_in_ties(documents: TiedDocuments, stop: FloatArray, n_within: IntArray) -> FloatArray:
    """Return the same, tie by tie, for the first ``n_within`` places of each."""
    grade, begins, size = documents.grades, documents.starts, documents.ties.size
    stops, p = np.zeros(len(grade)), values_of_grades(stop, grade)
    if (np.diff(stop) < 0).any():  # a table may give a higher grade a lower one
        p = p[np.lexsort((p, documents.tie))]
    n_zero = documents.count(p == 0.0)
    mean = np.minimum(np.add.reduceat(p, begins) / size, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        # S_j <= S_1^j = (1 - mean)^j (Maclaurin), so S is negligible from here on
        max_reached = np.ceil(NEGLIGIBLE_LOG / np.abs(np.log1p(-mean)))
    places = np.maximum(np.minimum(n_within, max_reached), 1).astype(np.intp)
    n_grades = np.ones_like(size)
    if ((size - n_zero) > DOCUMENTS_OF_A_GRADE * USUAL_DEPTH).any():
        n_grades = _count_distinct(documents, p > 0)
    for n_places, grow, chosen in _groups(places, size, size - n_zero, n_grades, len(stop)):
        if grow is _grow_by_grade:
            count = _count_grades(grade, begins[chosen], size[chosen], len(stop))
            present = np.flatnonzero(count.any(axis=0) & (stop > 0))
            by_place = _grow_by_grade(stop[present], count[:, present], n_zero[chosen], n_places)
        else:
            by_place = grow(p, begins[chosen], n_zero[chosen], size[chosen], n_places)
        j = np.arange(n_places)
        is_needed = j < places[chosen][:, None]
        stops[(begins[chosen][:, None] + j)[is_needed]] = by_place[is_needed]
    return stops


def _groups(
    places: IntArray, size: IntArray, n_nonzero: IntArray, n_grades: IntArray, n_columns: int
) -> Iterator[tuple[int, Callable[..., FloatArray], IntArray]]:
    """Yield ties that need about as many places, and the function for them.

    A group is small enough for its matrices to stay in the cache. The function for a tie depends on
    this tie alone, so that its digits do not depend on its neighbours.
    """
    deepest, least = FEW_PLACES if len(places) >= MANY_TIES else USUAL_DEPTH, 0
    while least < places.max():
        is_member = (places > least) & (places <= deepest)
        usual = max(deepest, USUAL_DEPTH)  # the function must not depend on the number of ties
        for grow, is_suited in _ways_to_grow(usual, size, n_nonzero, n_grades):
            chosen = np.flatnonzero(is_suited & is_member)
            chosen = chosen[np.argsort(-n_nonzero[chosen], kind="stable")]  # complete ones drop out
            n_cells = max(deepest + 1, n_columns if grow is _grow_by_grade else 0)
            at_once = max(1, CELLS_AT_ONCE // n_cells)
            for first in range(0, len(chosen), at_once):
                yield deepest, grow, chosen[first : first + at_once]
        deepest, least = 2 * deepest if deepest != 4 else USUAL_DEPTH, deepest


def _ways_to_grow(
    places: int, size: IntArray, n_nonzero: IntArray, n_grades: IntArray
) -> list[tuple[Callable[..., FloatArray], BoolArray]]:
    """Return the functions that are needed for so many places, and which ties each is for."""
    large = DOCUMENTS_OF_A_GRADE * n_grades * places < n_nonzero
    fits = size <= LARGEST_BINOMIAL_ROW
    if not fits.all():
        # The number of ways to fill the places, at most size^places / places!, must be a float64.
        fits |= places * np.log(size) - math.lgamma(places + 1) < LARGEST_LOG
    elif not large.any():
        return [(_grow_by_polynomial, fits)]
    return [(_grow_by_grade, large), (_grow_by_polynomial, fits & ~large), (_grow_by_document, ~fits & ~large)]


def _count_distinct(documents: TiedDocuments, counts: BoolArray) -> IntArray:
    """Count the distinct grades of each tie, which ascend, among some of its documents."""
    other = np.ones(len(documents.grades), dtype=np.bool_)
    np.not_equal(documents.grades[1:], documents.grades[:-1], out=other[1:])
    other[documents.starts] = True
    return documents.count(other & counts)


def _count_grades(grade: AnyArray, begins: IntArray, size: IntArray, n_grades: int) -> IntArray:
    """Count the documents of each grade in some ties, (ties x grades)."""
    tie = np.repeat(np.arange(len(size)), size)
    document = np.arange(len(tie)) + np.repeat(begins - (np.cumsum(size) - size), size)
    cells = np.bincount(tie * n_grades + (grade[document] - 1), minlength=len(size) * n_grades)
    return cells.reshape(len(size), n_grades)


def _grow_by_polynomial(
    stop: FloatArray, begins: IntArray, n_zero: IntArray, size: IntArray, places: int
) -> FloatArray:
    """Return T_1 ... T_places of each tie, those with most documents at which users stop first.

    They are sums over sets of documents, divided at the end by the number of sets. Let E_j be the
    sum, over all sets of j documents, of the product of their 1 - p. Let F_j be the sum, over all
    documents and sets of j - 1 others, of p of the document times the product of 1 - p of the
    others. One more document changes them to

        F_j <- F_j + (1-p) F_{j-1} + p E_{j-1}
        E_j <- E_j + (1-p) E_{j-1}
    """
    n_nonzero = size - n_zero
    e = _binomials(n_zero, places)  # of documents with 1 - p = 1
    f = np.zeros_like(e)
    first = begins + n_zero
    for step, n in enumerate(np.searchsorted(-n_nonzero, -np.arange(int(n_nonzero[0])), side="left").tolist()):
        p = stop[first[:n] + step]
        continuation = 1 - p
        of_others = f[:-1, :n] * continuation
        f[:, :n] += e[:, :n] * p
        f[1:, :n] += of_others
        e[1:, :n] += e[:-1, :n] * continuation
    f /= np.maximum(size * _binomials(size - 1, places), 1)
    return f.T


def _binomials(n: IntArray, places: int) -> FloatArray:
    """Return the number of ways to choose 0, 1, ... of n, (places x n)."""
    if places <= USUAL_DEPTH and n.max() <= LARGEST_BINOMIAL_ROW:
        return _pascals_triangle()[:places].take(n, axis=1)
    return _count_ways(n, places)


@cache
def _pascals_triangle() -> FloatArray:
    return _count_ways(np.arange(LARGEST_BINOMIAL_ROW + 1), USUAL_DEPTH)


def _count_ways(n: IntArray, places: int) -> FloatArray:
    ways = np.ones((places, len(n)))
    for chosen in range(1, places):
        ways[chosen] = ways[chosen - 1] * np.maximum(n - chosen + 1, 0) / chosen
    return ways


def _grow_by_document(stop: FloatArray, begins: IntArray, n_zero: IntArray, size: IntArray, places: int) -> FloatArray:
    """Return T_1 ... T_places of each tie, those with most documents at which users stop first."""
    j = np.arange(1.0, places + 1)
    before = (j - 1 <= n_zero[:, None]).astype(np.float64)  # S_0 ... S_{places-1}
    at = np.zeros_like(before)  # T_1 ... T_places
    for step in range(int((size - n_zero).max())):
        n = int(np.searchsorted(n_zero - size, -step, side="left"))
        t = (n_zero[:n] + step + 1.0)[:, None]
        p = stop[begins[:n] + n_zero[:n] + step][:, None]
        shifted = at[:n, :-1] * ((1 - p) * j[:-1] / t)
        at[:n] *= np.maximum(t - j, 0) / t
        at[:n, 1:] += shifted
        at[:n] += before[:n] * (p / t)
        shifted = before[:n, :-1] * ((1 - p) * j[:-1] / t)
        before[:n, 1:] *= np.maximum(t - j[:-1], 0) / t
        before[:n, 1:] += shifted
    return at


def _grow_by_grade(stop: FloatArray, count: IntArray, n_zero: IntArray, places: int) -> FloatArray:
    """Return T_1 ... T_places of each tie, from the numbers of its documents of each grade.

    To A, the documents so far, add b documents with one p. Of the first j places, i hold documents
    of A with the probability of a drawing without replacement. Let W_j(i) be that times
    (1-p)^(j-i). Then

        T_{j+1} = sum over i of W_j(i) (P(next from A) T^A_{i+1} + P(next from B) p S^A_i)
        S_{j+1} = sum over i of W_{j+1}(i) S^A_i
    """
    i = np.arange(places + 1.0)
    a = n_zero.astype(np.float64)[:, None]
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
