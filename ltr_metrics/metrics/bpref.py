"""Bpref, the binary preference measure."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries, has_flag
from ltr_metrics.metrics.base import shared_by_cutoffs
from ltr_metrics.metrics.relevance import BinaryMetric


class Bpref(BinaryMetric):
    r"""Bpref, the binary preference, without unjudged documents; higher is better, from 0 to 1.

    .. math:: \frac{1}{R} \sum_r \left( 1 - \frac{\min(N(r), R)}{\min(N, R)} \right)

    over the relevant documents r that have a rank. N(r) is the number of judged documents above r
    that are not relevant. N is their number in the whole query, and R the number of relevant
    documents, ranked or not. Where N = 0, each relevant document with a rank counts 1.
    Undefined where R = 0.

    A document that is not judged does not count, wherever it is ranked.
    The judgments are the option ``judged`` of `ltr_metrics.evaluate`; without it, all documents are
    judged.

    Parameters
    ----------
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Raises
    ------
    LtrValueError
        For an unknown form of ``rel``, and on evaluation for labels that it excludes, as for
        `Precision`.

    See Also
    --------
    Judged : The share of the first documents that are judged.
    PairAccuracy : All pairs of documents of different grade, judged or not.

    References
    ----------
    Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.
    The formula is that of trec_eval, where min(N, R) is the divisor instead of R.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> judged = [True, False, True, True, True]  # the second document is not judged
    >>> ltr.evaluate([1, 0, 0, 1, 0], [5, 4, 3, 2, 1], group=[5], metrics=["bpref"], judged=judged)["bpref"]
    0.75
    """

    NAME: ClassVar[str] = "bpref"
    UNREAD: ClassVar[dict[str, str]] = {"by_grade": "Override relevant."}

    def values(self, ranking: Ranking) -> FloatArray:
        queries = ranking.queries
        is_relevant = ranking.has_flag(self.relevant(queries))
        is_nonrelevant = ~is_relevant if queries.judged is None else ~is_relevant & queries.judged[ranking.rows]
        n_relevant = self.n_relevant(queries)
        most = np.minimum(np.nan_to_num(n_relevant), self._n_nonrelevant(queries))  # min(N(r), R) <= min(N, R)
        lost = capped_counts_above(ranking, is_nonrelevant, most[ranking.query])
        share = 1 - lost / np.maximum(most, 1)[ranking.query]
        return np.asarray(ranking.sum_by_query(np.where(is_relevant, share, 0.0)) / n_relevant)

    @shared_by_cutoffs
    def _n_nonrelevant(self, queries: LabelledQueries) -> IntArray:
        """Return N, the number of judged documents of each query that are not relevant, ranked or not."""
        is_nonrelevant = has_flag(queries.grade_index, ~self.relevant(queries))
        if queries.judged is not None:
            is_nonrelevant &= queries.judged
        return np.asarray(queries.sum_by_query(is_nonrelevant))


# -- the expectation under ties ------------------------------------------------------------------


def capped_counts_above(ranking: Ranking, is_nonrelevant: BoolArray, most: FloatArray) -> FloatArray:
    r"""Return the expected min(number of nonrelevant documents above, most) of each relevant document.

    In a tie with q nonrelevant documents, a relevant one has 0, 1, ..., or q of them above it, each
    with probability 1 / (q + 1). With b nonrelevant documents above the tie, the expectation is

    .. math:: \frac{1}{q + 1} \sum_{x=0}^{q} \min(b + x, most)

    for all relevant documents of the tie. Without ties, q = 0. Other documents do not matter.

    Parameters
    ----------
    ranking : Ranking
        The ranked documents.
    is_nonrelevant : ndarray of bool
        Which documents are counted.
    most : ndarray of float64
        The limit of each document's query.
    """
    above, in_tie = ranking.count_above(is_nonrelevant).astype(np.float64), np.zeros(len(most))
    ties = ranking.mixed
    ties.spread(above[ties.start], above)
    ties.spread(ties.sum(is_nonrelevant.astype(np.float64)), in_tie)
    n_below = np.clip(most - above, 0, in_tie + 1)  # how many of the q + 1 numbers are below the limit
    total = n_below * above + n_below * (n_below - 1) / 2 + (in_tie + 1 - n_below) * most
    return np.asarray(total / (in_tie + 1))
