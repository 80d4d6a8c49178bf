"""The number of nonrelevant documents above each document, up to a limit, for bpref."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray
from ltr_metrics._engine.ranking import Ranking


def capped_counts_above(ranking: Ranking, is_nonrelevant: BoolArray, most: FloatArray) -> FloatArray:
    r"""Return the expected min(number of nonrelevant documents above, most) of each relevant document.

    In a tie with q nonrelevant documents, a relevant one has 0, 1, ..., or q of them above it, each
    with probability 1 / (q + 1). With b nonrelevant documents above the tie, the expectation is

    .. math:: \frac{1}{q + 1} \sum_{x=0}^{q} \min(b + x, most)

    for all relevant documents of the tie. Without ties, q = 0. Other documents do not matter.

    Parameters
    ----------
    ranking : Ranking
        A whole ranking.
    is_nonrelevant : ndarray of bool
        Which documents are counted, (queries x width); within a tie in any order.
    most : ndarray of float64
        The limit of each query, (queries x 1).
    """
    above: FloatArray = np.cumsum(is_nonrelevant, axis=1) - is_nonrelevant.astype(np.float64)
    in_tie: FloatArray = np.zeros_like(above)
    if ranking.ties is not None:
        tied = ranking.tied_documents(ranking.width)
        query, n_above = tied.ties.query, tied.ties.n_above
        nonrelevant = tied.count(is_nonrelevant[tied.repeat(query), tied.repeat(n_above) + tied.rank_in_tie])
        tied.fill_ties(nonrelevant.astype(np.float64), in_tie)
        tied.fill_ties(above[query, n_above], above)
    n_below = np.clip(most - above, 0, in_tie + 1)  # how many of the q + 1 numbers are below the limit
    total = n_below * above + n_below * (n_below - 1) / 2 + (in_tie + 1 - n_below) * most
    return np.asarray(total / (in_tie + 1))
