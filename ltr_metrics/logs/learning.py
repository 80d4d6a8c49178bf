"""Statistics over the rounds of a training: the learning curve, its best round and its plateau.

Values are (rounds x queries); NaN = left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray, require_confidence
from ltr_metrics.errors import LtrValueError, one_line
from ltr_metrics.evaluation.joint import largest_t
from ltr_metrics.evaluation.limits import effective_number, influence, t_quantile
from ltr_metrics.evaluation.means import counting, mean_interval, scaled_weights, standard_error
from ltr_metrics.evaluation.ranges import difference_of, possible_values, range_of, within
from ltr_metrics.evaluation.tables import Result

MOST_ROUNDS = 300  # whose largest t is drawn; of more rounds, evenly spaced ones, which are as different
NORMAL = NormalDist()


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """The mean of one data set's queries in each round of a training, with its interval.

    `PerQueryLog.learning_curve` returns it.

    Attributes
    ----------
    metric : str
        Canonical name.
    name : str
        The name that you asked for it by, which figures and the printed text have.
    data : str
        Name of the data set.
    mean, low, high : ndarray of float64
        The (weighted) mean over queries of each round, as the host received it, and the limits of
        its interval.
    standard_error : ndarray of float64
        Standard error of each mean, over queries.
    confidence : float
        Confidence level of the intervals and of the plateau.
    n_queries : int
        Number of queries in the best round's mean.
    rounds : ndarray of int
        The round of the model, from 0, of each entry of ``mean``. They are 0, 1, 2, ... unless the
        training continued a model or rounds were left out, as after
        ``ltr_metrics.learning_curve(every=10)``.
    best : int
        Where ``mean`` is best, the earliest of equal ones, as hosts choose it: a position in ``mean``.
    plateau : ndarray of int
        The positions in ``mean`` of the rounds that do not differ significantly from the best one,
        itself included, paired by query.
    higher_is_better : bool
        The direction of the metric.
    """

    metric: str
    name: str
    data: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    confidence: float
    n_queries: int
    best: int
    plateau: IntArray
    rounds: IntArray
    higher_is_better: bool = True

    @property
    def n_rounds(self) -> int:
        """Number of rounds of the model to keep, which is 1 more than the round of the best mean.

        Pass it to ``predict``: LightGBM's ``num_iteration=n_rounds``, XGBoost's
        ``iteration_range=(0, n_rounds)``, CatBoost's ``ntree_end=n_rounds``.
        """
        return int(self.rounds[self.best]) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return lists, numbers and text, ready for JSON, with the canonical name of the metric only."""
        values = super().to_dict() | {"n_rounds": self.n_rounds}
        del values["name"]
        return values

    def printed(self) -> list[str]:
        """Return the best round and its plateau."""
        best, plateau = self.best, self.plateau
        low, high = within([self.low[best], self.high[best]], range_of(self.metric, self.mean))
        interval = f"[{low:.4f}, {high:.4f}] ({100 * self.confidence:g}% interval"
        mean = f"mean {self.mean[best]:.4f} {interval}, {self.n_queries:,} queries)"
        first, last = (self.rounds[plateau[[0, -1]]] + 1).tolist()
        kept = f"{self.n_rounds} round{'s' * (self.n_rounds != 1)}"
        extent = f"first after {first}, last after {last}"
        lines = [
            f"{self.name} of {one_line(self.data)}: keep {kept}, {mean}",
            f"{len(plateau)} of {len(self.mean)} evaluated rounds do not differ significantly from it, {extent}",
        ]
        if best == len(self.mean) - 1:
            lines.append("the best round is the last: more rounds may be better yet")
        return ["\n".join(lines)]


def curve_of_values(
    values: FloatArray,
    weight: FloatArray | None,
    *,
    metric: str,
    name: str | None = None,
    data: str,
    confidence: float,
    rounds: IntArray | None = None,
    higher_is_better: bool = True,
) -> LearningCurve:
    """Return the mean and interval of each round, the best round and its plateau.

    ``rounds`` are the rounds of the rows of ``values``, by default all of them.
    """
    confidence = require_confidence(confidence)
    rounds = np.arange(len(values)) if rounds is None else rounds
    n_queries = np.array([counting(of_round, weight).sum() for of_round in values])
    if (n_queries < 2).any():
        position = int((n_queries < 2).argmax())
        raise LtrValueError(
            f"A learning curve needs at least two queries that {metric} is defined for, since it compares rounds by "
            f"the spread between queries: round {rounds[position]} has {n_queries[position]} of "
            f"{values.shape[1]}{'' if weight is None else ', not counting those of weight 0'}. Evaluate on more "
            "queries, or set no_relevant=0 or 1."
        )
    intervals = [
        mean_interval(of_round, weight, confidence, possible=possible_values(metric, of_round)) for of_round in values
    ]
    means, low, high = np.array(intervals).T
    best = int((means if higher_is_better else -means).argmax())
    return LearningCurve(
        metric=metric,
        name=name or metric,
        data=data,
        mean=means,
        low=low,
        high=high,
        standard_error=np.array([standard_error(of_round, weight) for of_round in values]),
        confidence=confidence,
        n_queries=int(n_queries[best]),
        best=best,
        plateau=plateau_of(values, weight, best, confidence),
        rounds=rounds,
        higher_is_better=higher_is_better,
    )


def plateau_of(values: FloatArray, weight: FloatArray | None, best: int, confidence: float) -> IntArray:
    """Return the rounds whose difference to the best one is within its interval, all of which hold together.

    The best round was chosen among all, so each difference is compared with the `largest_t` of all rounds.
    """
    changes = difference_of(values, values[best])
    of_queries = np.zeros(changes.shape)
    means, errors, degrees = np.zeros(len(changes)), np.zeros(len(changes)), np.ones(len(changes))
    for i, change in enumerate(changes):
        counts = counting(change, weight)
        n = int(counts.sum())
        if n > 1:  # with fewer, no difference is seen
            weights = np.ones(n) if weight is None else scaled_weights(weight[counts])[0]
            units = influence(change[counts], None, weights)
            of_queries[i, counts] = units.of_unit
            means[i], degrees[i] = units.estimate, max(effective_number(weights) - 1, 1.0)
            errors[i] = np.sqrt(n / (n - 1) * (units.of_unit**2).sum())
    step = -(-len(values) // MOST_ROUNDS)
    level = max(2 * NORMAL.cdf(largest_t(of_queries[::step].T, confidence)) - 1, confidence)
    t = {of: t_quantile(of, level) for of in np.unique(degrees).tolist()}
    return np.flatnonzero(np.abs(means) <= np.array([t[of] for of in degrees.tolist()]) * errors)
