"""Statistics over the rounds of a training: the best round and its plateau, and the learning curve.

Values are (rounds x queries); NaN = left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, require_confidence
from ltr_metrics._engine.plain import plain_ids
from ltr_metrics.errors import Argument, LtrValueError, one_line
from ltr_metrics.evaluation.change import gain_of
from ltr_metrics.evaluation.means import counting, degrees_of_freedom, mean, standard_error, t_quantile
from ltr_metrics.evaluation.rounding import difference_of
from ltr_metrics.evaluation.tables import Result

MAX_NAMED = 3  # queries in the printed text


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
            f"{len(self.plateau)} of {len(self.curve)} rounds do not differ significantly from it at "
            f"{100 * self.confidence:g}% confidence, first {first}, last {last}"
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
    n_queries = np.array([counting(of_round, weight).sum() for of_round in values])
    if (n_queries < 2).any():
        round_ = int((n_queries < 2).argmax())
        raise LtrValueError(
            f"best_round needs at least two queries that {metric} is defined for, since it compares rounds by the "
            f"spread between queries: round {round_} has {n_queries[round_]} of {values.shape[1]}"
            f"{'' if weight is None else ', not counting those of weight 0'}. Evaluate on more queries, or set ",
            Argument("no_relevant", 0),
            " or 1.",
        )
    means = np.array([mean(of_round, weight) for of_round in values])
    errors = np.array([standard_error(of_round, weight) for of_round in values])
    best = int((means if higher_is_better else -means).argmax())
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    differences = [of_round - values[best] for of_round in values]
    # Fewer than two queries with a value in both rounds give NaN, which is not a difference.
    differs = [abs(mean(change, weight)) > z * standard_error(change, weight) for change in differences]
    rounds = np.arange(len(values)) if rounds is None else rounds
    plateau = np.flatnonzero(~np.array(differs))
    return BestRound(metric, best, means, errors, plateau, confidence, rounds, higher_is_better)


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """The mean of one data set's queries in each round of a training, with its interval.

    `PerQueryLog.learning_curve` returns it.

    Attributes
    ----------
    metric : str
        Canonical name.
    data : str
        Name of the data set.
    mean, low, high : ndarray of float64
        The (weighted) mean over queries of each round, and the limits of its interval.
    confidence : float
        Confidence level of the intervals and of the plateau.
    n_queries : int
        Number of queries in the best round's mean.
    best : int
        The round with the best mean, from 0, the earliest of equal ones.
    plateau : ndarray of int
        Rounds whose mean does not differ significantly from the best, paired by query: see
        `BestRound`.
    rounds : ndarray of int
        The round of the training, from 0, of each entry of ``mean``: see `BestRound`. ``best`` and
        ``plateau`` are positions in ``mean``.
    overfit : ndarray
        Ids of the queries with a lasting loss after the best round, the largest loss first.
    loss : ndarray of float64
        Loss of each of these queries, a positive number.
    n_lasting_gains : int
        Number of queries with a lasting gain after the best round.
    higher_is_better : bool
        The direction of the metric.
    """

    metric: str
    data: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    n_queries: int
    best: int
    plateau: IntArray
    rounds: IntArray
    overfit: AnyArray = field(default_factory=lambda: np.empty(0, dtype=object))
    loss: FloatArray = field(default_factory=lambda: np.empty(0))
    n_lasting_gains: int = 0
    higher_is_better: bool = True

    @property
    def n_rounds(self) -> int:
        """Number of rounds of the training, up to the last one of the curve."""
        return int(self.rounds[-1]) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON."""
        plain = super().to_dict()
        losses = zip(plain["overfit"], plain.pop("loss"), strict=True)
        return plain | {"overfit": [{"qid": qid, "loss": loss} for qid, loss in losses]}

    def printed_parts(self) -> list[str]:
        """Return the best round, its plateau, and the lasting losses after it."""
        best, plateau = self.best, self.plateau
        interval = f"[{self.low[best]:.4f}, {self.high[best]:.4f}] ({100 * self.confidence:g}% interval"
        mean = f"mean {self.mean[best]:.4f} {interval}, {self.n_queries:,} queries)"
        at_best, first, last = self.rounds[[best, plateau[0], plateau[-1]]].tolist()
        extent = f"the first is {first}, the last {last}"
        lines = [
            f"{self.metric} of {one_line(self.data)}: best round {at_best}, counted from 0, {mean}",
            f"{len(plateau)} of {len(self.mean)} rounds do not differ significantly from the best, {extent}",
        ]
        if best == len(self.mean) - 1:
            return ["\n".join([*lines, "the best round is the last: more rounds may be better yet"])]
        lines.append(
            f"after the best round {len(self.overfit):,} queries have a lasting loss and {self.n_lasting_gains:,} "
            "a lasting gain"
        )
        if len(self.overfit):
            largest = zip(plain_ids(self.overfit[:MAX_NAMED]), self.loss, strict=False)
            sign = "-" if self.higher_is_better else "+"
            lines[-1] += ", largest losses: " + ", ".join(f"{qid!r} ({sign}{loss:.4f})" for qid, loss in largest)
        return ["\n".join(lines)]


def learning_curve(
    values: FloatArray,
    weight: FloatArray | None,
    qid: AnyArray,
    *,
    metric: str,
    data: str,
    confidence: float,
    rounds: IntArray | None = None,
    higher_is_better: bool = True,
) -> LearningCurve:
    """Return the mean and interval of each round, the best round, and the overfit queries.

    ``rounds`` are the rounds of the rows of ``values``, by default all of them.
    """
    options: dict[str, Any] = {"metric": metric, "confidence": confidence, "higher_is_better": higher_is_better}
    chosen = best_round(values, weight, rounds=rounds, **options)
    half = chosen.standard_error * [t_quantile(degrees_of_freedom(of_round, weight), confidence) for of_round in values]
    counts = counting(values[chosen.best], weight)
    loss = np.where(counts, lasting_losses(gain_of(values, higher_is_better=higher_is_better), chosen.best), 0.0)
    by_loss = np.argsort(-loss, kind="stable")
    overfit = by_loss[loss[by_loss] > 0]
    return LearningCurve(
        metric=metric,
        data=data,
        mean=chosen.curve,
        low=chosen.curve - half,
        high=chosen.curve + half,
        confidence=chosen.confidence,
        n_queries=int(counts.sum()),
        best=chosen.best,
        plateau=chosen.plateau,
        rounds=chosen.rounds,
        overfit=qid[overfit],
        loss=loss[overfit],
        n_lasting_gains=int((loss < 0).sum()),
        higher_is_better=higher_is_better,
    )


def lasting_losses(values: FloatArray, best: int) -> FloatArray:
    """Return the lasting loss of each query after a round; a gain is negative, and 0 is neither.

    Higher values are better here.

    A query's value varies from round to round, so that one round means little. We look at the later
    half of the rounds after the best one. A loss is lasting if all of them are below the query's
    value at the best round, and it is the difference to the highest of them. A gain is lasting if
    all are above that value, and it is the difference to the lowest of them.
    """
    n_after = len(values) - 1 - best
    if n_after == 0:
        return np.zeros(values.shape[1])
    at_best, later = values[best], values[len(values) - (n_after + 1) // 2 :]
    loss, gain = difference_of(at_best, later.max(axis=0)), difference_of(at_best, later.min(axis=0))
    lasting: FloatArray = np.where(loss > 0, loss, np.where(gain < 0, gain, 0.0))
    return lasting
