"""CG, DCG and NDCG, which add up gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ltr_metrics._ranks.native import accumulate, ideal_sums
from ltr_metrics._rows.checks import FloatArray, require_option
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import RankMetric, parameter, word
from ltr_metrics.metrics.gains import GainMetric, refuse_falling, refuse_overflow

NamedDiscount = Literal["log2", "jarvelin", "position"]
Ideal = Literal["cutoff", "shown", "all", "slots"]
ShortOfNDCG = Literal["pad", "zero"]
DISCOUNTS: tuple[NamedDiscount, ...] = get_args(NamedDiscount)
Discount = NamedDiscount | Callable[[FloatArray], FloatArray]


class CG(RankMetric):
    r"""Cumulative gain: the sum of the first k grades; higher is better, from 0 upwards.

    .. math:: CG@k = \sum_{i=1}^{\min(k, n)} y_i

    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.

    See Also
    --------
    DCG : The same sum with gains, and a discount for later ranks.

    References
    ----------
    Jarvelin & Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[4], metrics=["cg@2"])["cg@2"]
    6.0
    """

    NAME: ClassVar[str] = "cg"
    RANGE: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def check(self, queries: LabelledQueries) -> None:
        refuse_overflow(self, queries, queries.grades, "Scale such grades down.")

    def by_grade(self, queries: LabelledQueries) -> FloatArray:
        return queries.grades


@dataclass(frozen=True, kw_only=True)
class DCG(GainMetric, RankMetric):
    r"""Discounted cumulative gain; higher is better, from 0 without an upper limit.

    .. math:: DCG@k = \sum_{i=1}^{\min(k, n)} gain(y_i) \, discount(i)

    Always defined: 0 for a query without a relevant document.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    gain : {"exp", "linear"}, sequence of float, or callable, default "exp"
        ``"exp"`` is :math:`2^y - 1` (Burges et al., Learning to rank using gradient descent, ICML
        2005). ``"linear"`` is :math:`y` (Jarvelin & Kekalainen, Cumulated gain-based evaluation of
        IR techniques, TOIS 2002). A sequence is a table, indexed by whole grades (LightGBM's
        ``label_gain``). A callable gets the grades as float64 and returns as many gains; it must
        have a name.
    discount : {"log2", "jarvelin", "position"} or callable, default "log2"
        Weight of rank i. ``"log2"`` is :math:`1 / \log_2(i + 1)`.
        ``"jarvelin"`` is 1 for the first rank and :math:`1 / \log_2 i` from the second on.
        ``"position"`` is :math:`1 / i`.
        A callable gets the ranks 1, 2, ... as float64, and returns as many weights.

    Raises
    ------
    LtrValueError, LtrTypeError
        For an unknown gain or discount, and for a function without a name.
        On evaluation: if a gain overflows float64, is not finite, or the table has no entry for a
        grade.

    See Also
    --------
    NDCG : DCG as a share of the DCG of the ideal ranking.
    CG : The sum of the grades without a discount.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[4], metrics=["dcg_exp", "dcg_lin@2"])
    >>> round(result["dcg_exp"], 4), round(result["dcg_lin@2"], 4)
    (12.8946, 4.5237)
    """

    NAME: ClassVar[str] = "dcg"
    RANGE: ClassVar[tuple[float, float]] = (0.0, math.inf)
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"dcg_exp": {"gain": "exp"}, "dcg_lin": {"gain": "linear"}}

    discount: Discount = parameter("log2", tried=DISCOUNTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.discount) or getattr(self.discount, "__name__", "") in DISCOUNTS:
            require_option(f"The parameter discount of {self.NAME}", self.discount, DISCOUNTS)
        str(self)  # refuses a function without a name here, and not in the first line of a log

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        name, parameters = super()._spelled()
        short = {"exp": "_exp", "linear": "_lin"}.get(self.gain, "") if isinstance(self.gain, str) else ""
        if short:
            parameters.pop("gain", None)
        return name + short, parameters

    def by_grade(self, queries: LabelledQueries) -> FloatArray:
        return self.gains(queries)

    def by_rank(self, queries: LabelledQueries, depth: int) -> FloatArray:
        return self.discounts(queries, depth)

    def discounts(self, queries: LabelledQueries, depth: int) -> FloatArray:
        """Return the discount of each rank.

        Parameters
        ----------
        queries : LabelledQueries
            The labels of all queries.
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        ndarray of float64 of shape (depth,)
            The discount of the ranks 1, 2, ..., finite and at least 0.

        Raises
        ------
        LtrValueError
            If a function of your own returns anything else.
        """
        ranks = np.arange(1.0, depth + 1)
        if self.discount == "log2":
            return np.asarray(1 / np.log2(ranks + 1))
        if self.discount == "jarvelin":
            return np.asarray(1 / np.log2(np.maximum(ranks, 2)))
        if self.discount == "position":
            return np.asarray(1 / ranks)
        discounts = np.array(self.discount(ranks.copy()), dtype=np.float64)  # a copy, as of gains
        if discounts.shape != ranks.shape or not (np.isfinite(discounts) & (discounts >= 0)).all():
            raise LtrValueError(
                f"The discount of {self} must give one finite number of at least 0 for each of the ranks 1 to "
                f"{depth}. Got {discounts!r}."
            )
        return discounts


@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    r"""Normalised discounted cumulative gain; higher is better, from 0 to 1 (perfect).

    .. math:: NDCG@k = DCG@k / IDCG@k

    where IDCG@k is the DCG@k of all the query's documents, ranked by grade; ``ideal`` gives it
    another length. Undefined where IDCG@k is 0, or no document of the query has a gain. ``ndcg@k``
    has the gain of the convention; the canonical names are ``ndcg_exp@k`` and ``ndcg_lin@k``.

    Parameters
    ----------
    k : int, optional
        Cutoff; None is the whole list.
    gain : {"exp", "linear"}, sequence of float, or callable, default "exp"
        Gain of a grade, as for `DCG`. It must not be negative, nor fall as the grade
        rises.
    discount : {"log2", "jarvelin", "position"} or callable, default "log2"
        Weight of a rank, as for `DCG`.
    ideal : {"cutoff", "shown", "all", "slots"}, default "cutoff"
        Length of the ideal ranking that IDCG@k adds up. ``"cutoff"`` is its first k documents.
        ``"shown"`` is its first min(k, n), where n is the number of documents that were retrieved,
        as in Elasticsearch. ``"all"`` is all documents of the query, as in Quepid's ``ndcg@10``.
        ``"slots"`` is k documents of gain 1, whether or not the query has so many, as in RecTools.
        It needs a cutoff, and gains of at most 1. If nothing was retrieved, the value is 0 for
        each of them.
    short : {"pad", "zero"}, default "pad"
        Value of a list shorter than ``k``: as if padded with documents of gain 0, or 0 (LETOR's
        script).

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `DCG`, and for ``ideal="slots"`` without a cutoff.
        On evaluation, also if a gain is negative, or falls as the grade rises, or is above 1 with
        ``ideal="slots"``.

    See Also
    --------
    DCG : The same without the division by the ideal.
    explain_difference : Why two systems disagree on a value.

    References
    ----------
    Jarvelin & Kekalainen, TOIS 2002 (linear gain); Burges et al., ICML 2005 (exponential gain).
    Ties: McSherry & Najork, Computing information retrieval performance measures efficiently in the
    presence of tied scores, ECIR 2008.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[4], metrics=["ndcg", "ndcg_lin"])
    >>> round(result["ndcg_exp"], 6), round(result["ndcg_lin"], 6)
    (0.741378, 0.859861)
    """

    NAME: ClassVar[str] = "ndcg"
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    UNREAD: ClassVar[dict[str, str]] = RankMetric.UNREAD | dict.fromkeys(
        ("KIND", "by_row"), "The ideal of NDCG is a sum of gains of grades. Subclass DCG, and override divisor too."
    )
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"ndcg_exp": {"gain": "exp"}, "ndcg_lin": {"gain": "linear"}}

    ideal: Ideal = word("cutoff", Ideal)
    short: ShortOfNDCG = word("pad", ShortOfNDCG)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ideal == "slots" and self.k is None:
            raise LtrValueError(f"ndcg(ideal=slots) needs a cutoff. Write {replace(self, k=10)}.")

    def check(self, queries: LabelledQueries) -> None:
        gains = self.by_grade(queries)
        refuse_falling(self, queries, gains, "Use dcg for such a gain.")
        if self.ideal == "slots" and gains[-1] > 1:
            raise LtrValueError(
                f"The gain of {self} must be at most 1, which is the gain of each slot of its ideal: it is above 1 "
                f"for grade {queries.first_of(gains > 1)}. Give gains up to 1, for example "
                f"{replace(self, gain=(0.0, 1.0, 1.0))} for the grades 0 to 2."
            )

    def divisor(self, queries: LabelledQueries, k: int | None) -> FloatArray:
        return np.asarray(self._ideals(queries, [k])[0])

    def divisors(self, queries: LabelledQueries, cutoffs: Sequence[int | None]) -> FloatArray:
        is_overridden = type(self).divisor is not NDCG.divisor
        return super().divisors(queries, cutoffs) if is_overridden else self._ideals(queries, cutoffs)

    def _ideals(self, queries: LabelledQueries, cutoffs: Sequence[int | None]) -> FloatArray:
        """Return the ideal DCG of each cutoff and query, NaN where it is 0."""
        has_slots, longest = self.ideal == "slots", int(queries.sizes.max())
        depths = [longest if k is None or self.ideal == "all" else k for k in cutoffs]
        depth = max(depths) if has_slots else min(max(depths), longest)
        by_grade, by_rank = self.by_grade(queries), self.by_rank(queries, depth)
        if (by_rank < 0).any() or (by_rank.ndim == 1 and len(by_rank) != depth):
            raise LtrValueError(
                f"{type(self).__name__}.by_rank must be at least 0 and have a value for each rank, or for each query "
                f"and rank, because the ideal DCG needs it. Got the shape {by_rank.shape} and {by_rank.min():g}."
            )
        if has_slots:
            by_rank = np.broadcast_to(by_rank, (*by_rank.shape[:-1], depth))
            slots = accumulate(by_rank.ravel(), np.arange(0, by_rank.size, depth)).reshape(by_rank.shape)
            has_gain = queries.highest(by_grade) > 0
            ideals = np.array([np.where(has_gain, slots[..., k - 1], 0.0) for k in depths])
        else:
            limit = np.maximum(queries.n_ranked, 1) if self.ideal == "shown" else None
            ideals = ideal_sums(queries, by_grade, depths, by_rank, limit)
        ideals = np.where(ideals > 0, ideals, np.nan)
        if self.short == "zero":
            is_short = queries.n_ranked < np.array([[k or 0] for k in cutoffs])
            ideals[is_short & ~np.isnan(ideals)] = np.inf
        return ideals
