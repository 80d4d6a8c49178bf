"""Where a user who walks down a tie stops, as an expectation over all orders of its documents.

ERR and PFound need it. Let a tie have m documents, at which the user stops with probabilities p.
Let S_j be the mean, over all sets of j documents, of the product of 1 - p, which is the probability
to continue past the first j ranks of the tie, and T_j the probability to stop at its j-th rank.
Both are sums of positive terms, so no digit is lost. Three functions compute T for many ties at a
time; P is the number of a tie's ranks for which T is needed:

=====================  ======================================  ===========================
function               used for                                cost of a tie
=====================  ======================================  ===========================
`_grow_by_polynomial`  the usual ties                          6 P operations a document
`_grow_by_grade`       large ties with more than P documents   3 P^2 operations a grade
                       for each probability
`_grow_by_document`    ties of which more than 1000 ranks      12 P operations a document
                       are reached
=====================  ======================================  ===========================

The function for a tie depends only on this tie, so its digits do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks, values_of_grades
from ltr_metrics._engine.ties import TiedDocuments

NEGLIGIBLE = 2.0**-60  # a user who gets further with this probability changes no digit
CELLS_AT_ONCE = 50_000  # of a (ranks x ties) matrix, which then stays in the cache
USUAL_DEPTH = 10  # ties that need at most so many of their ranks are computed together
MANY_TIES = 200  # of which equal ones are found sooner than each is computed
MANY_DOCUMENTS = 100  # cost as much as to count the documents of each probability
MOST_RANKS = 1_000  # whose binomial coefficients are float64, scaled where there are more documents
LARGEST_LOG = 690  # of a float64, with room for a factor


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
    documents = ranking.open_documents(depth)
    if documents is not None:
        reach_probability = documents.accumulated_above(continuation, 1.0)
        is_reached = reach_probability > NEGLIGIBLE  # nobody comes to the ties far down in a list of thousands
        stops = documents.repeat(np.where(is_reached, reach_probability, 0.0))
        if is_reached.any():
            reached = documents if is_reached.all() else documents.take(np.flatnonzero(is_reached))
            stops[stops > 0] *= _stops_if_reached(reached, stop, effective_depth)
        documents.fill_documents(stops, by_rank)
    return by_rank


def _stops_if_reached(documents: TiedDocuments, stop: FloatArray, depth: int) -> FloatArray:
    """Return the probability to stop at each rank of the ties, for a user who reaches the tie.

    Ranks below the depth, or that nobody reaches, are 0. Ties with the same number of documents of
    each grade, and of ranks above the depth, are computed once.
    """
    n_within = np.clip(depth - documents.ties.n_above, 0, documents.ties.size)
    base = int(documents.ties.size.max()) + 1
    if len(n_within) < MANY_TIES or base ** (len(stop) + 1) >= 2**63:
        return _stops_in_ties(documents, stop, n_within)
    digits = np.array([base**grade for grade in range(1, len(stop) + 1)])  # a key has a digit for each grade
    keys = np.add.reduceat(digits.take(documents.grades - 1), documents.starts) + n_within
    _, example, kind = np.unique(keys, return_index=True, return_inverse=True)
    examples = documents.take(example)
    stops = _stops_in_ties(examples, stop, n_within[example])
    return stops[documents.repeat(examples.starts[kind]) + documents.rank_in_tie]


def _stops_in_ties(documents: TiedDocuments, stop: FloatArray, n_within: IntArray) -> FloatArray:
    """Return the same tie by tie, for the first ``n_within`` ranks of each."""
    begins, size = documents.starts, documents.ties.size
    stops, p = np.zeros(len(documents.grades)), values_of_grades(stop, documents.grades)
    if (np.diff(stop) < 0).any():  # a table may give a higher grade a lower one
        p = p[np.lexsort((p, documents.tie))]
    n_zero = documents.count(p == 0.0)
    mean = np.minimum(np.add.reduceat(p, begins) / size, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        # S_j <= S_1^j = (1 - mean)^j (Maclaurin), so S is negligible from here on
        max_reached = np.ceil(np.log(NEGLIGIBLE) / np.log1p(-mean))
    ranks = np.maximum(np.minimum(n_within, max_reached), 1).astype(np.intp)
    is_deep, has_few_kinds = ranks > MOST_RANKS, size - n_zero > MANY_DOCUMENTS
    if has_few_kinds.any():
        is_other = np.diff(p, prepend=-1.0) != 0
        is_other[begins] = True
        has_few_kinds &= documents.count(is_other & (p > 0)) * ranks + MANY_DOCUMENTS < size - n_zero
    for grow, is_suited in (
        (_grow_by_polynomial, ~has_few_kinds & ~is_deep),
        (_grow_by_grade, has_few_kinds & ~is_deep),
        (_grow_by_document, is_deep),
    ):
        for chosen in _groups(np.flatnonzero(is_suited), ranks, size - n_zero):
            j = np.arange(int(ranks[chosen].max()))
            by_rank = grow(p, begins[chosen], n_zero[chosen], size[chosen], len(j))
            is_needed = j < ranks[chosen][:, None]
            stops[(begins[chosen][:, None] + j)[is_needed]] = by_rank[is_needed]
    return stops


def _groups(ties: IntArray, ranks: IntArray, n_nonzero: IntArray) -> Iterator[IntArray]:
    """Yield those of some ties that need about as many ranks, so few that their matrices stay in the cache."""
    deepest, least = USUAL_DEPTH, 0
    while len(ties) and least < ranks[ties].max():
        chosen = ties[(ranks[ties] > least) & (ranks[ties] <= deepest)]
        chosen = chosen[np.argsort(-n_nonzero[chosen], kind="stable")]  # complete ones drop out
        at_once = max(1, CELLS_AT_ONCE // (deepest + 1))
        for first in range(0, len(chosen), at_once):
            yield chosen[first : first + at_once]
        deepest, least = 2 * deepest, deepest


def _grow_by_polynomial(stop: FloatArray, begins: IntArray, n_zero: IntArray, size: IntArray, ranks: int) -> FloatArray:
    """Return T_1 ... T_ranks of each tie, those with most documents at which users stop first.

    They are sums over sets of documents, divided at the end by the number of sets. Let E_j be the
    sum, over all sets of j documents, of the product of their 1 - p. Let F_j be the sum, over all
    documents and sets of j - 1 others, of p of the document times the product of 1 - p of the
    others. One more document changes them to

        F_j <- F_j + (1-p) F_{j-1} + p E_{j-1}
        E_j <- E_j + (1-p) E_{j-1}

    In ties of more than 1000 documents, E_j and F_{j+1} are kept times scale^j.
    """
    n_nonzero, scale = size - n_zero, _scale(size)
    e_f = np.zeros((2, ranks, len(size)))
    e_f[0] = _count_ways(n_zero, ranks, scale)  # of documents with 1 - p = 1
    first = begins + n_zero
    for step, n in enumerate(np.searchsorted(-n_nonzero, -np.arange(int(n_nonzero[0])), side="left").tolist()):
        p = stop[first[:n] + step]
        of_others = e_f[:, :-1, :n] * ((1 - p) * scale[:n])
        e_f[1, :, :n] += e_f[0, :, :n] * p
        e_f[:, 1:, :n] += of_others
    return _per_order(e_f[1], size, scale)


def _per_order(f: FloatArray, size: IntArray, scale: FloatArray) -> FloatArray:
    """Return T, (ties x ranks), of F, (ranks x ties): divide by the number of sets and orders."""
    f /= np.maximum(size * _count_ways(size - 1, len(f), scale), np.finfo(np.float64).tiny)
    return f.T


def _scale(size: IntArray) -> FloatArray:
    """Return the power of 2 by whose powers binomial coefficients of so many documents stay within float64."""
    if size.max() <= MOST_RANKS:
        return np.ones(len(size))
    largest = np.expm1(LARGEST_LOG / size)  # (1 + largest)^size is the sum of all coefficients
    return np.where(size > MOST_RANKS, np.exp2(np.floor(np.log2(largest))), 1.0)


def _count_ways(n: IntArray, ranks: int, scale: FloatArray) -> FloatArray:
    """Return the number of ways to choose j = 0, 1, ... of n, times scale^j, (ranks x n)."""
    ways = np.ones((ranks, len(n)))
    left = np.maximum(n + 1.0 - np.arange(ranks)[:, None], 0)
    for chosen in range(1, ranks):
        ways[chosen] = ways[chosen - 1] * left[chosen] / chosen * scale
    return ways


def _grow_by_document(stop: FloatArray, begins: IntArray, n_zero: IntArray, size: IntArray, ranks: int) -> FloatArray:
    """Return T_1 ... T_ranks of each tie, those with most documents at which users stop first."""
    j = np.arange(1.0, ranks + 1)
    before = (j - 1 <= n_zero[:, None]).astype(np.float64)  # S_0 ... S_{ranks-1}
    at = np.zeros_like(before)  # T_1 ... T_ranks
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


def _grow_by_grade(p: FloatArray, begins: IntArray, n_zero: IntArray, size: IntArray, ranks: int) -> FloatArray:
    """Return T_1 ... T_ranks of each tie, with E and F of `_grow_by_polynomial`, for all documents of one p at a time.

    Of b such documents, E_j is the number of sets of j times (1-p)^j, and F_j is p (b - j + 1)
    E_{j-1}, because each of the b - j + 1 others may follow. Two sets of documents are joined by

        E_j = sum over i of E_{j-i} E'_i  and  F_j = sum over i of F_{j-i} E'_i + E_{j-1-i} F'_{i+1}
    """
    tie = np.repeat(np.arange(len(size)), size)
    documents = np.arange(len(tie)) + np.repeat(begins - (np.cumsum(size) - size), size)
    stop, kind = np.unique(p[documents], return_inverse=True)
    count = np.bincount(kind * len(size) + tie, minlength=len(stop) * len(size)).reshape(len(stop), len(size))
    scale = _scale(size)
    e_f = np.zeros((2, ranks, len(size)))
    e_f[0] = _count_ways(n_zero, ranks, scale)  # of documents with p = 0, which have no F
    for p_of_kind, b in zip(stop[stop > 0], count[stop > 0], strict=True):
        e_of_kind = _count_ways(b, ranks, (1 - p_of_kind) * scale)
        f_of_kind = e_of_kind * (p_of_kind * (b - np.arange(ranks)[:, None]))
        joined = np.zeros_like(e_f)
        for i in range(min(ranks, int(b.max()) + 1)):
            terms = e_f[:, : ranks - i] * e_of_kind[i]
            terms[1] += e_f[0, : ranks - i] * f_of_kind[i]
            joined[:, i:] += terms
        e_f = joined
    return _per_order(e_f[1], size, scale)
