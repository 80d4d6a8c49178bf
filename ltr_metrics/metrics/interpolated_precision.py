"""Interpolated precision at levels of recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking, row_sums
from ltr_metrics._engine.words import RoundingOfIPrec
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import require_parameter
from ltr_metrics.metrics.relevance import BinaryMetric
from ltr_metrics.metrics.tie_expectation.interpolated_precision import highest_precisions

ELEVEN_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(BinaryMetric):
    r"""Interpolated precision: the highest from a level of recall on; higher is better, from 0 to 1.

    .. math:: \frac{1}{|L|} \sum_{l \in L} \max \{ C(i) / i : C(i) \ge \max(c(l), 1) \}

    C(i) is the number of relevant documents among the first i, and R that of the query, ranked or
    not. c(l) is the number of relevant documents that level l stands for, by default the lowest one
    with :math:`c / R \ge l`. A level that the ranking does not reach counts 0.
    Undefined where R = 0.

    Parameters
    ----------
    rel : float or str, optional
        Lowest grade of a relevant document; None means 1. See `Precision`.
    recall : float or sequence of float, default 0, 0.1, ..., 1
        The level of recall, from 0 to 1. For several levels, the value is the mean over them.
        The default is the 11-point average.
    rounding : {"up", "nearest", "truncated"}, default "up"
        How l R becomes a whole number. "up" is the lowest number that reaches the level. "nearest"
        is that of trec_eval 10. "truncated" is the floor of l R + 0.9 in float64, that of trec_eval
        up to version 9.

    Raises
    ------
    LtrValueError
        If a level is not between 0 and 1, and for an unknown ``rounding``.
        For ``rel`` as for `Precision`.
        On evaluation under ``ties="mean"``: if a tie is too large for the exact expectation.

    See Also
    --------
    MAP : The mean of the precisions at the relevant documents, without interpolation.
    RPrec : Precision and recall where they are equal.

    References
    ----------
    Manning, Raghavan & Schütze, Introduction to information retrieval, 2008, section 8.4.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> names = ["iprec(recall=0.5)", "iprec(recall=1)", "iprec"]
    >>> result = ltr.evaluate([0, 1, 0, 1, 1], [5, 4, 3, 2, 1], group=[5], metrics=names)
    >>> [round(result[name], 6) for name in names]
    [0.6, 0.6, 0.6]
    """

    NAME: ClassVar[str] = "iprec"
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"11pt_avg": {"recall": ELEVEN_LEVELS}}

    recall: float | tuple[float, ...] = ELEVEN_LEVELS
    rounding: RoundingOfIPrec = "up"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_parameter(self, "rounding", get_args(RoundingOfIPrec))
        levels = self._levels()
        object.__setattr__(self, "recall", levels[0] if np.ndim(self.recall) == 0 else levels)

    def _levels(self) -> tuple[float, ...]:
        """Return the levels as numbers; raise an error if they are not."""
        try:
            levels = np.atleast_1d(np.asarray(self.recall))
        except ValueError:  # rows of different lengths
            levels = np.zeros(0)
        is_level = levels.dtype.kind in "iuf" and levels.ndim == 1 and levels.size > 0
        if not is_level or not ((levels >= 0) & (levels <= 1)).all():
            raise LtrValueError(
                f"The parameter recall of iprec must be a number from 0 to 1, or several of them. Got {self.recall!r}."
            )
        return tuple(levels.astype(np.float64).tolist())

    def values(self, ranking: Ranking) -> FloatArray:
        n_relevant = self.n_relevant(ranking.block)
        counts = np.maximum(self._counts(np.nan_to_num(n_relevant)[:, None]), 1)
        highest = highest_precisions(ranking, self.lowest(ranking.queries), counts)
        return np.asarray(row_sums(highest) / counts.shape[1] + n_relevant * 0.0)

    def _counts(self, n_relevant: FloatArray) -> FloatArray:
        """Return the number of relevant documents that each level stands for, (queries x levels)."""
        level = np.atleast_1d(self.recall)
        share = level * n_relevant
        if self.rounding == "truncated":
            return np.asarray(np.floor(share + 0.9))
        if self.rounding == "nearest":
            return np.floor(share) + (share - np.floor(share) >= 0.5)
        # Recall and level are float64, so c / R reaches a level with few decimals exactly where it should.
        count, total = np.ceil(share), np.maximum(n_relevant, 1)
        count -= (count - 1) / total >= level
        return np.asarray(count + (count / total < level))
