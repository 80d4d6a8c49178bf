"""Average precision, with the four denominators that are in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics.blocks import Block
from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.metrics.base import RankMetric, require_parameter
from ltr_metrics.metrics.relevance import BinaryMetric
from ltr_metrics.ranking import Ranking, TiedPlaces


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

    denominator: str = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "denominator", ("min", "relevant", "cutoff", "hits"))
        if self.denominator == "cutoff" and self.k is None:
            raise LtrValueError("map(denominator=cutoff) needs a cutoff: write map(denominator=cutoff)@10.")

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        if self.denominator != "hits":
            return super().at_cutoffs(ranking, cutoffs)
        # What divides depends on the ranking here: a random number where a tie spans the cutoff.
        depths = [ranking.depth(k) for k in cutoffs]
        sums = np.cumsum(self.contributions(ranking, max(depths)), axis=1)
        hits = np.cumsum(ranking.at_least_as_laid_out(self.relevant(ranking.queries), max(depths)), axis=1)
        values = [sums[:, depth - 1] / np.maximum(hits[:, depth - 1], 1) for depth in depths]
        if ranking.ties is not None:
            for value, depth in zip(values, depths, strict=True):
                self._replace_spanned(value, ranking, sums, hits, depth)
        undefined = self.n_relevant(ranking.block) * 0.0
        return [value + undefined for value in values]

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        chosen = self.relevant(ranking.queries)
        relevant = ranking.at_least_as_laid_out(chosen, depth)
        hits = np.cumsum(relevant, axis=1, dtype=np.int32)
        adds = (hits * relevant) / np.arange(1.0, depth + 1)
        if ranking.ties is not None:
            tied = ranking.tied_places(depth)
            ranking.replace_tied(adds, tied, self._tied(ranking, tied, hits, chosen, depth))
        return adds

    @staticmethod
    def _tied(ranking: Ranking, tied: TiedPlaces, hits: AnyArray, chosen: BoolArray, depth: int) -> FloatArray:
        """Return what place j of a tie adds on average: (r/m) (b + 1 + (j-1) (r-1)/(m-1)) / rank."""
        ties = tied.ties
        r = ranking.tie_sums(chosen.astype(np.float64), depth)
        b = np.where(ties.first > 0, hits[ties.row, ties.first - 1], 0)
        share, others = r / ties.size, (r - 1) / (ties.size - 1)
        return np.asarray(share[tied.tie] * (b[tied.tie] + 1 + tied.place * others[tied.tie]) / (tied.column + 1))

    def _replace_spanned(
        self, value: FloatArray, ranking: Ranking, sums: FloatArray, hits: AnyArray, depth: int
    ) -> None:
        """Put the expected value where a tie spans the cutoff, so that the number of hits is open."""
        ties = ranking.tied_places(depth).ties
        spans = ties.first + ties.size > depth
        row, above, m = ties.row[spans], ties.first[spans], ties.size[spans]
        r = ranking.tie_sums(self.relevant(ranking.queries).astype(np.float64), depth)[spans]
        if len(row):
            sum_above = np.where(above > 0, sums[row, above - 1], 0.0)
            hits_above = np.where(above > 0, hits[row, above - 1], 0)
            value[row] = _expected_over_hits(sum_above, hits_above, above, m, r, depth - above)

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n_relevant = self.n_relevant(block)
        if k is None or self.denominator == "relevant":
            return n_relevant
        return np.where(np.isnan(n_relevant), np.nan, np.minimum(n_relevant, k) if self.denominator == "min" else k)


def _expected_over_hits(
    sum_above: FloatArray, b: AnyArray, above: IntArray, m: IntArray, r: FloatArray, t: IntArray
) -> FloatArray:
    """Expect (sum over the first k) / (hits in the first k) where the cutoff leaves t of a tie's m places.

    Given that h of the r relevant documents stand in these t places, they are in any order there: place j adds
    (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the tie.
    """
    j = np.arange(1.0, t.max() + 1)
    inverse_rank = np.where(j <= t[:, None], 1 / (above[:, None] + j), 0.0)
    first, second = inverse_rank.sum(axis=1), (inverse_rank * (j - 1)).sum(axis=1)
    probability = hypergeometric(m, r, t)
    h = np.arange(probability.shape[1])
    others = np.maximum(h - 1, 0) / np.maximum(t - 1, 1)[:, None]
    in_tie = h / t[:, None] * ((b[:, None] + 1) * first[:, None] + others * second[:, None])
    ratio = (sum_above[:, None] + in_tie) / np.maximum(b[:, None] + h, 1)
    return np.asarray((probability * ratio).sum(axis=1))


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
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
