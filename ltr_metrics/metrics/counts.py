"""Precision, recall, F1 and R-precision, which count relevant documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking, accumulate_ranks
from ltr_metrics._engine.words import ShortOfPrecision
from ltr_metrics.metrics.base import RankMetric, require_parameter
from ltr_metrics.metrics.relevance import BinaryMetric


@dataclass(frozen=True, kw_only=True)
class Precision(BinaryMetric, RankMetric):
    r"""Precision: the share of relevant documents among the first k; higher is better, from 0 to 1.

    .. math:: P@k = \frac{1}{k} \sum_{i=1}^{\min(k, n)} [y_i \ge rel]

    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list, whose length is then the divisor.
    rel : float or str, optional
        Lowest grade of a relevant document.
        None, the default, means 1; labels strictly between 0 and 1 are then an error.
        ``">0.5"`` means above that number.
        ``"binary"`` means 1; labels other than 0 and 1 are then an error.
    short : {"pad", "cut"}, default "pad"
        The divisor if fewer than ``k`` documents are ranked: ``k``, or their number.

    Raises
    ------
    LtrValueError
        If ``rel`` is none of these forms, or for an unknown ``short``.
        On evaluation: for labels that ``rel`` excludes.

    See Also
    --------
    Recall : The share of all relevant documents in the first k.
    MAP : The mean of the precisions at the relevant documents.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["precision@2"])["precision@2"]
    0.5
    """

    NAME: ClassVar[str] = "precision"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"p": {}}

    short: ShortOfPrecision = "pad"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "short", get_args(ShortOfPrecision))

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        n = np.maximum(block.n_ranked, 1)
        if k is None:
            return n.astype(np.float64)
        return np.full(len(n), float(k)) if self.short == "pad" else np.minimum(n, k).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Recall(BinaryMetric, RankMetric):
    r"""Recall: the share of all relevant documents in the first k; higher is better, from 0 to 1.

    .. math:: R@k = \frac{1}{R} \sum_{i=1}^{\min(k, n)} [y_i \ge rel]

    R is the number of relevant documents of the query, including those that were not retrieved.
    Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Raises
    ------
    LtrValueError
        For an unknown form of ``rel``, and on evaluation for labels that it excludes, as for
        `Precision`.

    See Also
    --------
    Precision : The share of relevant documents among the first k.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["recall@3"])["recall@3"]
    0.5
    """

    NAME: ClassVar[str] = "recall"

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        return self.n_relevant(block)


@dataclass(frozen=True, kw_only=True)
class F1(BinaryMetric, RankMetric):
    r"""F1: the harmonic mean of precision and recall; higher is better, from 0 to 1.

    .. math:: F1@k = \frac{2}{k + R} \sum_{i=1}^{\min(k, n)} [y_i \ge rel]

    R is the number of relevant documents of the query, including those that were not retrieved.
    Undefined where R = 0.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list, whose length is then k.
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.

    Raises
    ------
    LtrValueError
        For an unknown form of ``rel``, and on evaluation for labels that it excludes, as for
        `Precision`.

    See Also
    --------
    Precision : The share of relevant documents among the first k.
    Recall : The share of all relevant documents in the first k.

    References
    ----------
    van Rijsbergen, Information Retrieval, 2nd edition, 1979 (as 1 - E with equal weights).

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["f1@2"])["f1@2"]
    0.5
    """

    NAME: ClassVar[str] = "f1"

    def divisor(self, block: Block, k: int | None) -> FloatArray:
        return np.asarray(((block.n_ranked if k is None else k) + self.n_relevant(block)) / 2)


class RPrec(BinaryMetric):
    r"""R-precision: the precision of the first R documents; higher is better, from 0 to 1.

    .. math:: \frac{1}{R} \sum_{i=1}^{\min(R, n)} [y_i \ge rel]

    R is the number of relevant documents of the query, including those that were not retrieved.
    It takes the place of a cutoff. Undefined where R = 0.

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
    Precision : The same with a fixed cutoff.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([0, 1, 0, 1], [4, 3, 2, 1], group=[4], metrics=["rprec"])["rprec"]
    0.5
    """

    NAME: ClassVar[str] = "rprec"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"r_precision": {}}

    def values(self, ranking: Ranking) -> FloatArray:
        n_relevant = self.n_relevant(ranking.block)
        last = np.clip(np.nan_to_num(n_relevant), 1, ranking.width).astype(np.intp)
        sums = accumulate_ranks(np.add, self.contributions(ranking, int(last.max())))
        return np.asarray(sums[np.arange(len(last)), last - 1] / n_relevant)
