"""The three kinds of sums over ranks, and what ties do to each of them (to the cascade in `cascade_ties`).

A `RankMetric` declares its kind, a value for each grade and one for each rank. Here they become what
each rank adds to the sum, as an expectation over all orders of tied documents:

===========  =======================================================  ===========================
kind         what a rank adds (g is the grade there)                  metrics
===========  =======================================================  ===========================
gains        by_grade[g] x by_rank[rank]                              CG, DCG, NDCG, precision, ...
precisions   (sum of by_grade so far if by_grade[g] > 0) / by_rank    MAP, Q-measure
cascade      P(the user stops here) x by_rank[rank], where by_grade   ERR, PFound
             has P(the user stops at a document that is reached)
===========  =======================================================  ===========================

All kinds keep one rule: a tie whose documents have one grade keeps its exact value, because rounding
could lift a perfect ranking above 1. So they start from `Ranking.open_documents`, the other ties.
MAP without a cutoff has a faster way to the same sum, in `average_precision`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks, values_of_grades
from ltr_metrics.metrics.cascade_ties import NEGLIGIBLE, stop_probabilities

Kind = Literal["gains", "precisions", "cascade"]


class Terms(NamedTuple):
    """What a metric declares, for the queries of one ranking."""

    by_grade: FloatArray | None  # for each distinct grade; None if `by_row` counts
    by_row: FloatArray | None  # for each row of the input
    by_rank: FloatArray  # one number, or for each rank, also for each query
    scale: FloatArray  # one number, or for each query


def gains(ranking: Ranking, terms: Terms, depth: int) -> FloatArray:
    """Return what each rank adds: in a tie, the mean of its documents."""
    if terms.by_row is not None:
        by_rank = ranking.expected_of_rows(terms.by_row, depth)
    else:
        assert terms.by_grade is not None
        by_rank = ranking.expected(terms.by_grade, depth)
    by_rank *= terms.by_rank
    return by_rank


def precisions(ranking: Ranking, terms: Terms, depth: int) -> FloatArray:
    """Return what each rank adds; see `relevant_cumulative_gain` for ties."""
    assert terms.by_grade is not None
    return np.asarray(relevant_cumulative_gain(ranking, terms.by_grade, depth) / terms.by_rank)


def cascade(ranking: Ranking, terms: Terms, depth: int) -> FloatArray:
    """Return what each rank adds; see `cascade_ties` for ties."""
    assert terms.by_grade is not None
    highest = np.abs(np.atleast_2d(terms.by_rank)).max(axis=0)
    effective_depth = depth - int(np.argmax((highest >= NEGLIGIBLE * highest.max())[::-1]))
    if terms.scale.ndim == 0:
        by_rank = stop_probabilities(ranking, terms.by_grade * terms.scale, depth, effective_depth)
    else:
        by_rank = np.zeros((len(terms.scale), depth), order="F")
        for one in np.unique(terms.scale):
            scaled = np.minimum(terms.by_grade * one, 1.0)  # above 1 only in queries of another scale
            of_scale = terms.scale == one
            by_rank[of_scale] = stop_probabilities(ranking, scaled, depth, effective_depth)[of_scale]
    by_rank *= terms.by_rank
    return by_rank


KINDS: dict[Kind, Callable[[Ranking, Terms, int], FloatArray]] = {
    "gains": gains,
    "precisions": precisions,
    "cascade": cascade,
}


def relevant_cumulative_gain(ranking: Ranking, by_grade: FloatArray, depth: int) -> FloatArray:
    r"""Return the cumulative gain at each rank that holds a relevant document, and 0 at the others.

    ``by_grade`` has the gains of the distinct grades; a document with a gain above 0 is relevant.

    Let a tie of m documents have r relevant ones of mean gain g, and let G be the gain above it.
    Its j-th rank, j = 1..m, then has the expectation

    .. math:: \frac{r}{m} \left( G + g + (j - 1) \, g \, \frac{r - 1}{m - 1} \right)
    """
    gain = ranking.in_some_order(by_grade, depth)
    cumulative = accumulate_ranks(np.add, gain)
    by_rank = cumulative * (gain > 0)
    documents = ranking.open_documents(depth)
    if documents is not None:
        size, of_documents = documents.ties.size, values_of_grades(by_grade, documents.grades)
        r = documents.count(of_documents > 0).astype(np.float64)
        g = documents.sum(of_documents) / np.maximum(r, 1)
        share, others = r / size, g * ((r - 1) / (size - 1))
        first = documents.accumulated_above(cumulative, 0.0) + g
        down_the_tie = documents.repeat(first) + documents.rank_in_tie * documents.repeat(others)
        documents.fill_documents(documents.repeat(share) * down_the_tie, by_rank)
    return by_rank
