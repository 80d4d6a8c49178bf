"""Cumulative gain at the ranks of relevant documents, for average precision and Q-measure."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks
from ltr_metrics.metrics.tie_expectation.open_ties import OpenTies


def relevant_cumulative_gain(ranking: Ranking, lowest: int, depth: int, gains: FloatArray | None = None) -> FloatArray:
    r"""Return the cumulative gain at each rank that holds a relevant document, and 0 at the others.

    Let a tie of m documents have r relevant ones of mean gain g, and let G be the gain above it.
    Its place j = 1..m then has the expectation

    .. math:: \frac{r}{m} \left( G + g + (j - 1) \, g \, \frac{r - 1}{m - 1} \right)

    Parameters
    ----------
    ranking : Ranking
    lowest : int
        Grade index from which on a document is relevant.
    depth : int
        Number of ranks.
    gains : ndarray, optional
        Gain of each distinct grade, 0 for those that are not relevant.
        None is a gain of 1 for each relevant document.
    """
    is_relevant = ranking.at_least(lowest, depth)
    gain = is_relevant.astype(np.float64) if gains is None else ranking.in_some_order(gains, depth)
    cumulative = accumulate_ranks(np.add, gain)
    by_rank = cumulative * is_relevant
    open_ties = OpenTies.of(ranking, depth)
    if open_ties is not None:
        size, documents = open_ties.ties.size, open_ties.documents
        r = documents.count(open_ties.grade >= lowest).astype(np.float64)
        g = np.ones_like(r) if gains is None else open_ties.sums(gains) / np.maximum(r, 1)
        share, others = r / size, g * ((r - 1) / (size - 1))
        first = open_ties.accumulated_above(cumulative, 0.0) + g
        down_the_tie = documents.repeat(first) + documents.rank_in_tie * documents.repeat(others)
        open_ties.write(documents.repeat(share) * down_the_tie, by_rank)
    return by_rank
