"""Metrics that look for the first relevant document: MRR and hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.ranking import Ranking, row_sums
from ltr_metrics._engine.ties import Ties
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.relevance import BinaryMetric


class DecidingTies(NamedTuple):
    """The ties that hold the first relevant document of their query."""

    query: IntArray  # query within the block
    n_above: IntArray  # documents above the tie
    size: IntArray
    relevant: FloatArray  # relevant documents in the tie

    def above_rank(self, depth: int) -> DecidingTies:
        """Those that begin within the first ``depth`` ranks."""
        chosen = self.n_above < depth
        return DecidingTies(self.query[chosen], self.n_above[chosen], self.size[chosen], self.relevant[chosen])


@dataclass(frozen=True, kw_only=True)
class FirstRelevant(BinaryMetric, RankMetric):
    """Not a sum over ranks: only the first relevant document counts, so there is one number a query to look at."""

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        lowest = self.lowest(ranking.queries)
        first = _first_rank(ranking, lowest)
        values = [np.where(first <= depth, self.at_rank(first), 0.0) for depth in depths]
        if ranking.ties is not None:
            deciding = _deciding_ties(ranking, ranking.ties, lowest, first)
            for value, depth in zip(values, depths, strict=True):
                ties = deciding.above_rank(depth)
                if len(ties.query):
                    value[ties.query] = self.expected_in(ties, depth)
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


def _first_rank(ranking: Ranking, lowest: int) -> FloatArray:
    """Return the rank of the first relevant document, tied documents in some order; infinite if there is none."""
    is_relevant = ranking.at_least(lowest, ranking.width)
    column = is_relevant.argmax(axis=1)
    return np.where(is_relevant[np.arange(len(column)), column], column + 1.0, np.inf)


def _deciding_ties(ranking: Ranking, ties: Ties, lowest: int, first: FloatArray) -> DecidingTies:
    """Find them from the first relevant document of each query, tied ones in some order.

    Where the first ranks alone are looked at, it may also stand below them, in a tie that begins above.
    """
    rank, last = first[ties.query], ties.n_above + ties.size
    ties = ties.take(
        np.flatnonzero((rank > ties.n_above) & ((rank <= last) | (np.isinf(rank) & (last > ranking.width))))
    )
    relevant = np.zeros(len(ties.query))
    if len(ties.query):
        relevant = np.add.reduceat(
            ranking.tied_grades[ties.document_offsets()] >= lowest, ties.starts, dtype=np.float64
        )
    found = relevant > 0
    return DecidingTies(ties.query[found], ties.n_above[found], ties.size[found], relevant[found])


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
        m, r, above = ties.size[:, None], ties.relevant[:, None], ties.n_above[:, None]
        j = np.arange(int(np.minimum(m - r + 1, depth - above).max()))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (m - j - r + 1) / (m - j)
        step[:, :1] = r / m
        step[:, 1:] = np.where(j[1:] < m, np.maximum(step[:, 1:], 0), 0)
        rank = above + j + 1.0
        return row_sums(np.where(rank <= depth, np.cumprod(step, axis=1) / rank, 0))

    def where_defined(self, value: FloatArray, ranking: Ranking) -> FloatArray:
        return np.asarray(value + self.n_relevant(ranking.block) * 0.0)


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
        shown = np.minimum(np.minimum(m, depth - ties.n_above[:, None]), m - r + 1)
        j = np.arange(int(shown.max()))
        share = np.where(j < shown, r / np.maximum(m - j, 1), 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(row_sums(np.log1p(-share))))
