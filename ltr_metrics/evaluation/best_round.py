"""The best round of a training, and its plateau.

Values are (rounds x queries); NaN = left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray, require_confidence
from ltr_metrics._engine.results import Result
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import counting, mean, standard_error


def curve(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the mean of each round, NaN for a mean of no query."""
    return np.array([mean(of_round, weight) for of_round in values])


@dataclass(frozen=True, eq=False, repr=False)
class BestRound(Result):
    """The round to keep, and the rounds that do not differ significantly from the best one.

    `PerQueryLog.best_round` returns it.

    Attributes
    ----------
    metric : str
        Canonical name.
    round, best : int
        The round with the best mean, the earliest of equal ones, as hosts choose it: a position in
        ``curve``, from 0.
    curve : ndarray of float64
        Mean of each round, as the host received it.
    standard_error : ndarray of float64
        Standard error of each round's mean, over queries.
    plateau : ndarray of int
        Rounds whose mean does not differ significantly from that of the best round, which is one
        of them.
    confidence : float
        Confidence level of the plateau.
    rounds : ndarray of int
        The round of the training, from 0, of each entry of ``curve``. They are 0, 1, 2, ... unless
        the log has only some rounds, as after ``ltr_metrics.learning_curve(every=10)``. ``round``,
        ``best`` and ``plateau`` are positions in ``curve``.
    higher_is_better : bool
        The direction of the metric.
    """

    metric: str
    best: int
    curve: FloatArray
    standard_error: FloatArray
    plateau: IntArray
    confidence: float
    rounds: IntArray
    higher_is_better: bool = True

    @property
    def round(self) -> int:
        """The best round, a position in ``curve``."""
        return self.best

    @property
    def n_rounds(self) -> int:
        """Number of rounds to keep.

        Pass it to ``predict``: LightGBM's ``num_iteration=n_rounds``, XGBoost's
        ``iteration_range=(0, n_rounds)``.
        """
        return int(self.rounds[self.best]) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        return super().to_dict() | {"round": self.round, "n_rounds": self.n_rounds}

    def printed_parts(self) -> list[str]:
        """Return the best round and the plateau."""
        n_rounds = "1 round" if self.n_rounds == 1 else f"{self.n_rounds} rounds"
        best, first, last = self.rounds[[self.best, self.plateau[0], self.plateau[-1]]].tolist()
        mean = f"mean {self.curve[self.best]:.4f} +- {self.standard_error[self.best]:.4f}"
        plateau = (
            f"{len(self.plateau)} of {len(self.curve)} rounds do not differ significantly from the best at "
            f"{100 * self.confidence:g}% confidence, the first is {first}, the last {last}"
        )
        return [f"{self.metric}: keep {n_rounds} (the best is round {best}, counted from 0), {mean}\n{plateau}"]


def best_round(
    values: FloatArray,
    weight: FloatArray | None,
    *,
    metric: str,
    confidence: float,
    rounds: IntArray | None = None,
    higher_is_better: bool = True,
) -> BestRound:
    """Find the best round, and those whose mean does not differ significantly from it.

    ``rounds`` are the rounds of the rows of ``values``, by default all of them.
    """
    confidence = require_confidence(confidence)
    _refuse_too_few(values, weight, metric)
    means = curve(values, weight)
    errors = np.array([standard_error(of_round, weight) for of_round in values])
    best = int((means if higher_is_better else -means).argmax())
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    same = [not _differs(of_round - values[best], weight, z) for of_round in values]
    rounds = np.arange(len(values)) if rounds is None else rounds
    plateau = np.flatnonzero(same)
    return BestRound(metric, best, means, errors, plateau, confidence, rounds, higher_is_better)


def _differs(difference: FloatArray, weight: FloatArray | None, z: float) -> bool:
    # Fewer than two queries with a value in both rounds give NaN, which is not a difference.
    return abs(mean(difference, weight)) > z * standard_error(difference, weight)


def _refuse_too_few(values: FloatArray, weight: FloatArray | None, metric: str) -> None:
    n_queries = np.array([counting(of_round, weight).sum() for of_round in values])
    if (n_queries < 2).any():
        round_ = int((n_queries < 2).argmax())
        raise LtrValueError(
            f"best_round needs at least two queries that {metric} is defined for, since it compares rounds by the "
            f"spread between queries: round {round_} has {n_queries[round_]} of {values.shape[1]}"
            f"{'' if weight is None else ', not counting those of weight 0'}. Evaluate on more queries, or set "
            "no_relevant=0 or 1."
        )
