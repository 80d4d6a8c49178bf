"""Metrics that only ask whether a document is relevant: precision, recall, MAP, MRR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics.blocks import Block
from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.metrics.base import BinaryMetric, require_parameter
from ltr_metrics.ranking import Ranking, TiedPlaces


@dataclass(frozen=True, kw_only=True)
class Precision(BinaryMetric):
    r"""Precision: the share of relevant documents among the first k; higher is better, from 0 to 1.

    .. math:: P@k = \frac{1}{k} \sum_{i=1}^{\min(k, n)} [y_i \ge rel]

    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list, and divides by its length.
    rel : float, optional
        Lowest grade of a relevant document; None means 1.
    short : {"pad", "cut"}, default "pad"
        What divides when fewer than ``k`` documents are ranked: ``k``, or their number.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["precision@2"])["precision@2"]
    0.5
    """

    NAME: ClassVar[str] = "precision"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"p": {}}

    short: str = "pad"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "short", ("pad", "cut"))

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n = np.maximum(block.n_ranked, 1)
        if k is None:
            return n.astype(np.float64)
        return np.full(len(n), float(k)) if self.short == "pad" else np.minimum(n, k).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Recall(BinaryMetric):
    r"""Recall: the share of the relevant documents that stand among the first k; higher is better, from 0 to 1.

    .. math:: R@k = \frac{1}{R} \sum_{i=1}^{\min(k, n)} [y_i \ge rel]

    R counts all relevant documents of the query, also those that were not retrieved. Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float, optional
        Lowest grade of a relevant document; None means 1.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["recall@3"])["recall@3"]
    0.5
    """

    NAME: ClassVar[str] = "recall"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {}

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        return self.n_relevant(block)


@dataclass(frozen=True, kw_only=True)
class MAP(BinaryMetric):
    r"""Mean average precision (per query: average precision); higher is better, from 0 to 1.

    .. math:: AP@k = \frac{1}{D} \sum_{i=1}^{\min(k, n)} [y_i \ge rel] \, \frac{\#\{j \le i : y_j \ge rel\}}{i}

    Undefined where R = 0. D is one of three in use (see ``denominator``); without a cutoff the first two are the same.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float, optional
        Lowest grade of a relevant document; None means 1.
    denominator : {"min", "relevant", "cutoff"}, default "min"
        D is min(R, k) (LightGBM, XGBoost, CatBoost), R (trec_eval), or k (needs a cutoff), where R counts all relevant
        documents of the query, also those that were not retrieved.

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
        require_parameter(self, "denominator", ("min", "relevant", "cutoff"))
        if self.denominator == "cutoff" and self.k is None:
            raise LtrValueError("map(denominator=cutoff) needs a cutoff: write map(denominator=cutoff)@10.")

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        chosen = self.relevant(ranking.queries)
        relevant = ranking.at_least(chosen, depth)
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

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n_relevant = self.n_relevant(block)
        if k is None or self.denominator == "relevant":
            return n_relevant
        return np.where(np.isnan(n_relevant), np.nan, np.minimum(n_relevant, k) if self.denominator == "min" else k)


@dataclass(frozen=True, kw_only=True)
class MRR(BinaryMetric):
    r"""Mean reciprocal rank (per query: reciprocal rank); higher is better, from 0 to 1.

    .. math:: RR@k = 1 / \min \{ i \le k : y_i \ge rel \}

    and 0 when no relevant document stands among the first k. Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float, optional
        Lowest grade of a relevant document; None means 1.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["mrr"])["mrr"]
    0.5
    """

    NAME: ClassVar[str] = "mrr"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"rr": {}}

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        # Not a sum over ranks: only the first relevant document counts, so there is one number a query to look at.
        depths = [ranking.depth(k) for k in cutoffs]
        chosen = self.relevant(ranking.queries)
        relevant = ranking.at_least(chosen, max(depths))
        first = relevant.argmax(axis=1)
        found = relevant[np.arange(len(first)), first]
        undefined = self.n_relevant(ranking.block) * 0.0
        values = [np.where(found & (first < depth), 1 / (first + 1.0), 0.0) + undefined for depth in depths]
        if ranking.ties is not None:
            for value, depth in zip(values, depths, strict=True):
                row, expected = _tied_reciprocal_rank(ranking, chosen, first, found, depth)
                value[row] = expected
        return values


def _tied_reciprocal_rank(
    ranking: Ranking, chosen: BoolArray, first: IntArray, found: BoolArray, depth: int
) -> tuple[IntArray, FloatArray]:
    """Find the queries whose first relevant document is tied, and their expected reciprocal rank.

    With r relevant among the m documents of the tie, place j is the first relevant one with probability
    C(m-j, r-1) / C(m, r): r/m for j = 1, then times (m-j-r+1) / (m-j) from place to place.
    """
    ties = ranking.tied_places(depth).ties
    r = ranking.tie_sums(chosen.astype(np.float64), depth)
    decides = (r > 0) & ~(found[ties.row] & (first[ties.row] < ties.first))
    row, above, m, r = ties.row[decides], ties.first[decides], ties.size[decides], r[decides]
    places = int(np.minimum(m - r + 1, depth - above).max(initial=0))
    j = np.arange(places)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (m[:, None] - j - r[:, None] + 1) / (m[:, None] - j)
    step[:, :1] = (r / m)[:, None]
    step[:, 1:] = np.where(j[1:] < m[:, None], np.maximum(step[:, 1:], 0), 0)
    probability = np.cumprod(step, axis=1)
    rank = above[:, None] + j + 1.0
    return row, np.where(rank <= depth, probability / rank, 0).sum(axis=1)
