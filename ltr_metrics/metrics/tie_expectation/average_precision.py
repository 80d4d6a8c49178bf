"""Average precision under ties: its sum over a whole list, and its ratio to the number of hits.

`cumulative_gain` has the expectation of each rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks, row_sums
from ltr_metrics.metrics.tie_expectation.counts import count_in_ties
from ltr_metrics.metrics.tie_expectation.cumulative_gain import relevant_cumulative_gain
from ltr_metrics.metrics.tie_expectation.open_ties import OpenTies

FAR = 100  # times a tie's size: further down, the closed form would lose two digits


def whole_sums(ranking: Ranking, lowest: int) -> FloatArray:
    """Return the sum of the precisions at the relevant documents of each whole list.

    It goes from relevant document to relevant document, and from tie to tie, instead of from rank
    to rank.
    """
    sums = np.zeros(len(ranking.n_ranked))
    is_relevant = ranking.tied_grades >= lowest  # of a whole ranking, they are its flat matrix
    relevant, cells = ranking.block.at_least(lowest), np.flatnonzero(is_relevant)
    rank = cells.astype(np.float64)
    rank -= relevant.cell_minus_rank
    precision = np.divide(relevant.nth, rank, out=rank)
    if ranking.ties is not None:
        precision[_is_tied(ranking, cells)] = 0.0
    if len(precision):
        sums[relevant.query] = np.add.reduceat(precision, relevant.start)
    ties = ranking.ties
    if ties is not None and len(ties.query):
        harmonic = _harmonic_numbers_of(ranking.block)
        counts = count_in_ties(ranking, lowest)
        n_above = counts.before - relevant.before[ties.query]
        in_ties = sum_of_tie(ties.n_above, ties.size, counts.within, n_above, harmonic)
        begins = np.flatnonzero(np.concatenate(([True], ties.query[1:] != ties.query[:-1])))
        sums[ties.query[begins]] += np.add.reduceat(in_ties, begins)
    return sums


def _is_tied(ranking: Ranking, cells: IntArray) -> BoolArray:
    """Return whether the documents in some flat cells share their scores."""
    assert ranking.documents.ties_with_next is not None
    with_next = ranking.documents.ties_with_next.ravel()
    is_tied = with_next.copy()
    is_tied[1:] |= with_next[:-1]
    return is_tied[cells]


def sum_of_tie(c: IntArray, m: IntArray, r: IntArray, b: IntArray, harmonic: FloatArray) -> FloatArray:
    r"""Return the sum over a tie of m documents, r relevant, below c documents, b relevant.

    With q = (r-1)/(m-1), the sum over j of (r/m) (b + 1 + (j-1) q) / (c + j) is

        (r/m) (m q + (b + 1 - (c+1) q) d)

    where d is the sum of 1/(c + j), from the harmonic numbers.
    Far down the list the two terms nearly cancel; there the sum is taken place by place.
    """
    last = c + m
    sums, rest = harmonic
    d = (sums[last] - sums[c]) + (rest[last] - rest[c])
    size, q = m.astype(np.float64), (r - 1) / (m - 1)
    total = size * q + (b + 1 - (c + 1) * q) * d
    far = np.flatnonzero(last > (FAR + 1) * size)
    if len(far):
        begins = np.cumsum(m[far]) - m[far]
        tie = np.repeat(far, m[far])
        j = np.arange(len(tie)) - np.repeat(begins, m[far])
        total[far] = np.add.reduceat((b[tie] + 1 + j * q[tie]) / (c[tie] + 1 + j), begins)
    return np.asarray(total * (r / size))


@cached
def _harmonic_numbers_of(block: Block) -> FloatArray:
    return harmonic_numbers(block.width)


def harmonic_numbers(n: int) -> FloatArray:
    """Return the sums of 1/i up to 0, 1, ..., n, and the rounding error of each in a second row.

    With both rows, differences of the sums keep all digits.
    """
    terms = np.concatenate(([0.0], 1 / np.arange(1.0, n + 1)))
    sums = np.cumsum(terms)
    before = np.concatenate(([0.0], sums[:-1]))
    added = sums - before
    return np.stack((sums, np.cumsum((before - (sums - added)) + (terms - added))))


def ratios_to_hits(ranking: Ranking, lowest: int, depths: Sequence[int]) -> list[FloatArray]:
    """Return the sum of the precisions down to each depth, divided by the number of hits there.

    Both are random where a tie spans the cutoff.
    """
    deepest = max(depths)
    sums = accumulate_ranks(np.add, relevant_cumulative_gain(ranking, lowest, deepest) / np.arange(1.0, deepest + 1))
    hits = np.cumsum(ranking.at_least(lowest, deepest), axis=1)
    ratios = [sums[:, depth - 1] / np.maximum(hits[:, depth - 1], 1) for depth in depths]
    for ratio, depth in zip(ratios, depths, strict=True):
        open_ties = OpenTies.of(ranking, depth)
        if open_ties is not None:
            _write_expected_ratios(ratio, open_ties, lowest, sums, hits, depth)
    return ratios


def _write_expected_ratios(
    ratio: FloatArray, open_ties: OpenTies, lowest: int, sums: FloatArray, hits: AnyArray, depth: int
) -> None:
    """Write the expected ratio of the queries in which a tie spans the cutoff."""
    ties = open_ties.ties
    spans = ties.n_above + ties.size > depth
    if spans.any():
        r = open_ties.documents.count(open_ties.grade >= lowest).astype(np.float64)
        sum_above, hits_above = (open_ties.accumulated_above(values, 0)[spans] for values in (sums, hits))
        n_above = ties.n_above[spans]
        ratio[ties.query[spans]] = _expected_ratio(
            sum_above, hits_above, n_above, ties.size[spans], r[spans], depth - n_above
        )


def _expected_ratio(
    sum_above: FloatArray, b: AnyArray, above: IntArray, m: IntArray, r: FloatArray, t: IntArray
) -> FloatArray:
    """Return the expected ratio where t of a tie's m places are within the cutoff.

    Given that h of the r relevant documents are at these t places, they are in any order there:
    place j adds (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the
    tie.
    """
    j = np.arange(1.0, t.max() + 1)
    inverse_rank = np.where(j <= t[:, None], 1 / (above[:, None] + j), 0.0)
    first, second = row_sums(inverse_rank), row_sums(inverse_rank * (j - 1))
    probability = hypergeometric(m, r, t)
    h = np.arange(probability.shape[1])
    others = np.maximum(h - 1, 0) / np.maximum(t - 1, 1)[:, None]
    in_tie = h / t[:, None] * ((b[:, None] + 1) * first[:, None] + others * second[:, None])
    ratio = (sum_above[:, None] + in_tie) / np.maximum(b[:, None] + h, 1)
    return row_sums(probability * ratio)


def hypergeometric(m: IntArray, r: FloatArray, t: IntArray) -> FloatArray:
    """Return P(h relevant among t of m documents, r relevant) for h = 0, 1, ..., a row each.

    It multiplies ratios of neighbours outwards from the most likely h, in both directions of which
    the products fall: there is no factorial, and no digit is lost.
    """
    drawn, total = t[:, None].astype(np.float64), m[:, None].astype(np.float64)
    relevant = r[:, None]
    spare = total - relevant - drawn
    lowest, highest = np.maximum(0, -spare), np.minimum(relevant, drawn)
    mode = np.clip(np.floor((drawn + 1) * (relevant + 1) / (total + 2)), lowest, highest)
    h = np.arange(highest.max() + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_next = (relevant - h) * (drawn - h) / ((h + 1) * (spare + h + 1))
        upwards = np.ones_like(to_next)
        upwards[:, 1:] = np.where(h[1:] > mode, to_next[:, :-1], 1.0)
        downwards = np.where((h < mode) & (h >= lowest), 1 / to_next, 1.0)
    weight = np.cumprod(upwards, axis=1) * np.cumprod(downwards[:, ::-1], axis=1)[:, ::-1]
    weight[(h < lowest) | (h > highest)] = 0.0
    return np.asarray(weight / row_sums(np.asarray(weight))[:, None])
