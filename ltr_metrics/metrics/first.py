"""Metrics that look for the first relevant document: MRR and hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ltr_metrics.inputs import BoolArray, FloatArray, IntArray
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.relevance import BinaryMetric
from ltr_metrics.ranking import Ranking


class DecidingTies(NamedTuple):
    """The ties that hold the first relevant document of their query."""

    row: IntArray  # query within the block
    above: IntArray  # documents above the tie
    size: IntArray
    relevant: FloatArray  # relevant documents in the tie


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(BinaryMetric, RankMetric):
    """Not a sum over ranks: only the first relevant document counts, so there is one number a query to look at."""

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        chosen = self.relevant(ranking.queries)
        relevant = ranking.at_least_as_laid_out(chosen, max(depths))
        first = relevant.argmax(axis=1)
        found = relevant[np.arange(len(first)), first]
        values = [np.where(found & (first < depth), self.at_rank(first + 1.0), 0.0) for depth in depths]
        if ranking.ties is not None:
            for value, depth in zip(values, depths, strict=True):
                ties = _deciding_ties(ranking, chosen, first, found, depth)
                if len(ties.row):
                    value[ties.row] = self.expected_in(ties, depth)
        return [self.where_defined(value, ranking) for value in values]

    def at_rank(self, rank: FloatArray) -> FloatArray:
        """Return the value where the first relevant document stands at a rank within the cutoff."""
        raise NotImplementedError

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        """Return the expected value where it stands in a tie."""
        raise NotImplementedError

    def where_defined(self, value: FloatArray, ranking: Ranking) -> FloatArray:
        """Put NaN where the metric is undefined."""
        return value


def _deciding_ties(ranking: Ranking, chosen: BoolArray, first: IntArray, found: BoolArray, depth: int) -> DecidingTies:
    ties = ranking.tied_places(depth).ties
    relevant = ranking.tie_sums(chosen.astype(np.float64), depth)
    decides = (relevant > 0) & ~(found[ties.row] & (first[ties.row] < ties.first))
    return DecidingTies(ties.row[decides], ties.first[decides], ties.size[decides], relevant[decides])


@dataclass(frozen=True, kw_only=True)
class MRR(FirstRelevant):
    r"""Mean reciprocal rank (per query: reciprocal rank); higher is better, from 0 to 1.

    .. math:: RR@k = 1 / \min \{ i \le k : y_i \ge rel \}

    and 0 when no relevant document stands among the first k. Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["mrr"])["mrr"]
    0.5
    """

    NAME: ClassVar[str] = "mrr"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"rr": {}}

    def at_rank(self, rank: FloatArray) -> FloatArray:
        return 1 / rank

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        # Place j is the first relevant one with probability C(m-j, r-1) / C(m, r): r/m for j = 1, then times
        # (m-j-r+1) / (m-j) from place to place.
        m, r, above = ties.size[:, None], ties.relevant[:, None], ties.above[:, None]
        j = np.arange(int(np.minimum(m - r + 1, depth - above).max()))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (m - j - r + 1) / (m - j)
        step[:, :1] = r / m
        step[:, 1:] = np.where(j[1:] < m, np.maximum(step[:, 1:], 0), 0)
        rank = above + j + 1.0
        return np.asarray(np.where(rank <= depth, np.cumprod(step, axis=1) / rank, 0).sum(axis=1))

    def where_defined(self, value: FloatArray, ranking: Ranking) -> FloatArray:
        return np.asarray(value + self.n_relevant(ranking.block) * 0.0)


@dataclass(frozen=True, kw_only=True)
class Hit(FirstRelevant):
    r"""Hit, or success: whether any of the first k documents is relevant; higher is better, 0 or 1.

    .. math:: hit@k = [\exists\, i \le k : y_i \ge rel]

    Always defined: 0 for a query without a relevant document. Under ``ties="mean"`` it is a probability.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["hit@1", "success@2"])
    >>> result["hit@1"], result["hit@2"]
    (0.0, 1.0)
    """

    NAME: ClassVar[str] = "hit"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"success": {}}

    def at_rank(self, rank: FloatArray) -> FloatArray:
        return np.ones_like(rank)

    def expected_in(self, ties: DecidingTies, depth: int) -> FloatArray:
        # 1 - P(none of the t places shown is relevant), where place j is not with probability 1 - r / (m-j+1)
        m, r = ties.size[:, None], ties.relevant[:, None]
        shown = np.minimum(np.minimum(m, depth - ties.above[:, None]), m - r + 1)
        j = np.arange(int(shown.max()))
        share = np.where(j < shown, r / np.maximum(m - j, 1), 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.log1p(-share).sum(axis=1)))
