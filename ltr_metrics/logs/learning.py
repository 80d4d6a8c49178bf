"""Statistics over the rounds of a training: the learning curve, its best round and its plateau.

Values are (rounds x queries); NaN = left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray, require_confidence
from ltr_metrics._rows.json_values import json_ids
from ltr_metrics.errors import LtrValueError, one_line
from ltr_metrics.evaluation.differences import difference_of, gain_of
from ltr_metrics.evaluation.means import counting, mean_interval, standard_error
from ltr_metrics.evaluation.ranges import range_of, within
from ltr_metrics.evaluation.tables import Result

MAX_NAMED = 3  # queries in the printed text


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
    overfit: AnyArray = field(default_factory=lambda: np.empty(0, dtype=object))
    loss: FloatArray = field(default_factory=lambda: np.empty(0))
    n_lasting_gains: int = 0
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
        losses = zip(values["overfit"], values.pop("loss"), strict=True)
        return values | {"overfit": [{"qid": qid, "loss": loss} for qid, loss in losses]}

    def printed(self) -> list[str]:
        """Return the best round, its plateau, and the lasting losses after it."""
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
            return ["\n".join([*lines, "the best round is the last: more rounds may be better yet"])]
        lines.append(
            f"after the best round {len(self.overfit):,} queries have a lasting loss and {self.n_lasting_gains:,} "
            "a lasting gain"
        )
        if len(self.overfit):
            largest = zip(json_ids(self.overfit[:MAX_NAMED]), self.loss, strict=False)
            sign = "-" if self.higher_is_better else "+"
            lines[-1] += ", largest losses: " + ", ".join(f"{qid!r} ({sign}{loss:.4f})" for qid, loss in largest)
        return ["\n".join(lines)]


def curve_of_values(
    values: FloatArray,
    weight: FloatArray | None,
    qid: AnyArray,
    *,
    metric: str,
    name: str | None = None,
    data: str,
    confidence: float,
    rounds: IntArray | None = None,
    higher_is_better: bool = True,
) -> LearningCurve:
    """Return the mean and interval of each round, the best round, and the overfit queries.

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
    means, low, high = np.array([mean_interval(of_round, weight, confidence) for of_round in values]).T
    best = int((means if higher_is_better else -means).argmax())
    # Fewer than two queries with a value in both rounds give NaN, which is not a difference.
    changes = [mean_interval(of_round - values[best], weight, confidence) for of_round in values]
    differs = np.array([change.low > 0 or change.high < 0 for change in changes])
    counts = counting(values[best], weight)
    loss = np.where(counts, lasting_losses(gain_of(values, higher_is_better=higher_is_better), best), 0.0)
    by_loss = np.argsort(-loss, kind="stable")
    overfit = by_loss[loss[by_loss] > 0]
    return LearningCurve(
        metric=metric,
        name=name or metric,
        data=data,
        mean=means,
        low=low,
        high=high,
        standard_error=np.array([standard_error(of_round, weight) for of_round in values]),
        confidence=confidence,
        n_queries=int(counts.sum()),
        best=best,
        plateau=np.flatnonzero(~differs),
        rounds=rounds,
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
