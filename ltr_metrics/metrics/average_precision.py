"""Average precision, with the four denominators that are in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks, row_sums
from ltr_metrics._engine.ties import TiedDocuments
from ltr_metrics._engine.words import Denominator
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import RankMetric, require_parameter
from ltr_metrics.metrics.relevance import BinaryMetric

FAR = 100  # times a tie's size: from so far down on, the closed form of its sum would lose two digits


@dataclass(frozen=True, kw_only=True)
class MAP(BinaryMetric, RankMetric):
    r"""Mean average precision (per query: average precision); higher is better, from 0 to 1.

    .. math:: AP@k = \frac{1}{D} \sum_{i=1}^{\min(k, n)} [y_i \ge rel] \, \frac{\#\{j \le i : y_j \ge rel\}}{i}

    Undefined where R = 0. D is one of four in use (see ``denominator``); without a cutoff min and relevant are the same.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.
    denominator : {"min", "relevant", "cutoff", "hits"}, default "min"
        D is min(R, k) (LightGBM, XGBoost, CatBoost), R (trec_eval), k (needs a cutoff), or the number of relevant documents
        among the first k (0 when there is none), where R counts all relevant documents of the query, also those that were
        not retrieved.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["map"])["map"]
    0.5
    """

    NAME: ClassVar[str] = "map"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"ap": {}}

    denominator: Denominator = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "denominator", get_args(Denominator))
        if self.denominator == "cutoff" and self.k is None:
            raise LtrValueError("map(denominator=cutoff) needs a cutoff: write map(denominator=cutoff)@10.")

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        if self.denominator == "hits":
            return self._over_hits(ranking, cutoffs)
        limited = [k for k in cutoffs if k is not None]
        values: dict[int | None, FloatArray] = {}
        if limited:
            values.update(zip(limited, super().at_cutoffs(ranking, limited), strict=True))
        if None in cutoffs:
            values[None] = self._sum_of_all(ranking) / self.divisor(ranking.block, None)
        return [values[k] for k in cutoffs]

    def _over_hits(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        """Divide by what depends on the ranking: a random number where a tie spans the cutoff."""
        depths = [ranking.depth(k) for k in cutoffs]
        sums = accumulate_ranks(np.add, self.contributions(ranking, max(depths)))
        hits = np.cumsum(ranking.at_least(self.lowest(ranking.queries), max(depths)), axis=1)
        values = [sums[:, depth - 1] / np.maximum(hits[:, depth - 1], 1) for depth in depths]
        if ranking.ties is not None:
            for value, depth in zip(values, depths, strict=True):
                self._replace_spanned(value, ranking, sums, hits, depth)
        undefined = self.n_relevant(ranking.block) * 0.0
        return [value + undefined for value in values]

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        relevant = ranking.at_least(self.lowest(ranking.queries), depth)
        hits = accumulate_ranks(np.add, relevant.astype(np.float64))
        adds = hits * relevant / np.arange(1.0, depth + 1)
        if ranking.ties is not None:
            tied = ranking.tied_documents(depth)
            tied.fill_documents(self._tied(ranking, tied, hits), adds)
        return adds

    def _sum_of_all(self, ranking: Ranking) -> FloatArray:
        """Sum over the whole list: from relevant document to relevant document, and from tie to tie."""
        lowest, sums = self.lowest(ranking.queries), np.zeros(len(ranking.n_ranked))
        is_relevant = ranking.at_least(lowest, ranking.width).ravel()
        relevant, cells = ranking.block.at_least(lowest), np.flatnonzero(is_relevant)
        rank = cells.astype(np.float64)
        rank -= relevant.cell_minus_rank
        adds = np.divide(relevant.nth, rank, out=rank)
        if ranking.ties is not None:
            adds[_is_tied(ranking, cells)] = 0.0
        if len(adds):
            sums[relevant.query] = np.add.reduceat(adds, relevant.start)
        if ranking.ties is not None and len(ranking.ties.query):
            ties = ranking.ties
            harmonic = ranking.block.cached("harmonic", lambda: harmonic_numbers(ranking.width))
            of_ties = sum_of_tie(ties.n_above, ties.size, *_count_in_ties(ranking, is_relevant), harmonic)
            begins = np.flatnonzero(np.concatenate(([True], ties.query[1:] != ties.query[:-1])))
            sums[ties.query[begins]] += np.add.reduceat(of_ties, begins)
        return sums

    def _tied(self, ranking: Ranking, tied: TiedDocuments, hits: AnyArray) -> FloatArray:
        """Return what place j of a tie adds on average: (r/m) (b + 1 + (j-1) (r-1)/(m-1)) / rank."""
        ties = tied.ties
        r = tied.sum((tied.grades >= self.lowest(ranking.queries)).astype(np.float64))
        b = np.where(ties.n_above > 0, hits[ties.query, ties.n_above - 1], 0)
        share, others = r / ties.size, (r - 1) / (ties.size - 1)
        rank = ties.n_above[tied.tie] + tied.rank_in_tie + 1
        return np.asarray(share[tied.tie] * (b[tied.tie] + 1 + tied.rank_in_tie * others[tied.tie]) / rank)

    def _replace_spanned(
        self, value: FloatArray, ranking: Ranking, sums: FloatArray, hits: AnyArray, depth: int
    ) -> None:
        """Put the expected value where a tie spans the cutoff, so that the number of hits is open."""
        tied = ranking.tied_documents(depth)
        ties = tied.ties
        spans = ties.n_above + ties.size > depth
        row, above, m = ties.query[spans], ties.n_above[spans], ties.size[spans]
        r = tied.sum((tied.grades >= self.lowest(ranking.queries)).astype(np.float64))[spans]
        if len(row):
            sum_above = np.where(above > 0, sums[row, above - 1], 0.0)
            hits_above = np.where(above > 0, hits[row, above - 1], 0)
            value[row] = _expected_over_hits(sum_above, hits_above, above, m, r, depth - above)

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n_relevant = self.n_relevant(block)
        if k is None or self.denominator == "relevant":
            return n_relevant
        return np.where(np.isnan(n_relevant), np.nan, np.minimum(n_relevant, k) if self.denominator == "min" else k)


def _is_tied(ranking: Ranking, cells: IntArray) -> BoolArray:
    """Return whether the documents in some flat cells share their scores."""
    assert ranking.documents.ties_with_next is not None
    with_next = ranking.documents.ties_with_next.ravel()
    tied = with_next.copy()
    tied[1:] |= with_next[:-1]
    return tied[cells]


def _count_in_ties(ranking: Ranking, is_relevant: BoolArray) -> tuple[AnyArray, AnyArray]:
    """Count the relevant documents tie by tie: how many each tie holds, and how many of its query stand above it."""
    assert ranking.ties is not None
    counted = np.cumsum(is_relevant, dtype=np.int32)
    above_query = np.concatenate(([0], counted[ranking.width - 1 :: ranking.width]))
    start = ranking.ties.offset
    above = counted[start] - is_relevant[start]
    return counted[start + ranking.ties.size - 1] - above, above - above_query[ranking.ties.query]


def sum_of_tie(c: IntArray, m: IntArray, r: IntArray, b: IntArray, harmonic: FloatArray) -> FloatArray:
    r"""Sum over the places of a tie of m documents, r of them relevant, that stands below c documents, b of them relevant.

    With q = (r-1)/(m-1), the sum over j of (r/m) (b + 1 + (j-1) q) / (c + j) is (r/m) (m q + (b + 1 - (c+1) q) d), where d is the
    sum of 1/(c + j), from the harmonic numbers. Far down the list the two terms nearly cancel; there the sum is taken place by place.
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


def harmonic_numbers(n: int) -> FloatArray:
    """Return the sums of 1/i up to 0, 1, ..., n, and below each what rounding took from it: their differences keep all digits."""
    terms = np.concatenate(([0.0], 1 / np.arange(1.0, n + 1)))
    sums = np.cumsum(terms)
    before = np.concatenate(([0.0], sums[:-1]))
    added = sums - before
    return np.stack((sums, np.cumsum((before - (sums - added)) + (terms - added))))


def _expected_over_hits(
    sum_above: FloatArray, b: AnyArray, above: IntArray, m: IntArray, r: FloatArray, t: IntArray
) -> FloatArray:
    """Expect (sum over the first k) / (hits in the first k) where the cutoff leaves t of a tie's m places.

    Given that h of the r relevant documents stand in these t places, they are in any order there: place j adds
    (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the tie.
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
    """P(h of t documents drawn from m, of which r are relevant, are relevant) for h = 0, 1, ..., a row a drawing.

    By the ratios of neighbours, outwards from the most likely h, where all products fall: no factorial, no lost digit.
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
