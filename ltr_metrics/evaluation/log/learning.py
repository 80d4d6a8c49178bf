"""The learning curve of a training: mean and interval of each round, and the queries that lose what they had.

Values are (rounds x queries), NaN = left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._engine.plain import none_if_nan, plain_ids
from ltr_metrics._engine.printed import Printed
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics.errors import one_line
from ltr_metrics.evaluation.log.rounds import best_round
from ltr_metrics.evaluation.means import counting, t_quantile

MOST_NAMED = 3  # queries in the text


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Printed):
    """What one data set's queries had in each round of a training; see `PerQueryLog.learning_curve`.

    Attributes
    ----------
    metric : str
        Canonical name.
    data : str
        Name of the data set.
    mean, low, high : ndarray of float64
        Of each round, (weighted) over queries: the mean and its interval.
    confidence : float
        Of the intervals, and of the plateau.
    n_queries : int
        Queries that the best round's mean is over.
    best : int
        The round of the highest mean, from 0, the earliest of equals.
    plateau : ndarray of int
        Rounds whose mean cannot be told from the best, paired by query: see `BestRound`.
    overfit : ndarray
        Ids of the queries that lose for good after the best round, the largest loss first.
    loss : ndarray of float64
        How much each of them loses.
    n_lasting_gains : int
        Queries that gain for good after the best round.
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
    overfit: AnyArray = field(default_factory=lambda: np.empty(0, dtype=object))
    loss: FloatArray = field(default_factory=lambda: np.empty(0))
    n_lasting_gains: int = 0

    @property
    def n_rounds(self) -> int:
        """Rounds of the training."""
        return len(self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON."""
        return {
            "metric": self.metric,
            "data": self.data,
            "rounds": list(range(self.n_rounds)),
            **{name: [none_if_nan(v) for v in getattr(self, name).tolist()] for name in ("mean", "low", "high")},
            "confidence": self.confidence,
            "n_queries": self.n_queries,
            "best": self.best,
            "plateau": self.plateau.tolist(),
            "overfit": [
                {"qid": qid, "loss": loss}
                for qid, loss in zip(plain_ids(self.overfit), self.loss.tolist(), strict=True)
            ],
            "n_lasting_gains": self.n_lasting_gains,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> LearningCurve:
        """Return the curve that `to_dict` wrote; further entries are not looked at."""
        mean, low, high = (np.array(found[name], dtype=np.float64) for name in ("mean", "low", "high"))
        return cls(
            **{name: found[name] for name in ("metric", "data", "confidence", "n_queries", "best", "n_lasting_gains")},
            mean=mean,
            low=low,
            high=high,
            plateau=np.array(found["plateau"], dtype=np.intp),
            overfit=np.array([query["qid"] for query in found["overfit"]], dtype=object),
            loss=np.array([query["loss"] for query in found["overfit"]], dtype=np.float64),
        )

    def printed_parts(self) -> list[str]:
        """Return the best round, what cannot be told from it, and who loses after it, a line each."""
        best, plateau = self.best, self.plateau
        interval = f"[{self.low[best]:.4f}, {self.high[best]:.4f}] ({100 * self.confidence:g}% interval, {self.n_queries:,} queries)"
        lines = [
            f"{self.metric} of {one_line(self.data)}: best round {best}, counted from 0, mean {self.mean[best]:.4f} {interval}"
        ]
        lines.append(
            f"{len(plateau)} of {self.n_rounds} rounds cannot be told from the best, the first of them {plateau[0]}, the last {plateau[-1]}"
        )
        if best == self.n_rounds - 1:
            return ["\n".join([*lines, "the best round is the last: more rounds may be better yet"])]
        lines.append(
            f"after the best round {len(self.overfit):,} queries lose for good and {self.n_lasting_gains:,} gain for good"
        )
        if len(self.overfit):
            named = zip(plain_ids(self.overfit[:MOST_NAMED]), self.loss, strict=False)
            lines[-1] += ", most of all " + ", ".join(f"{qid!r} (-{loss:.4f})" for qid, loss in named)
        return ["\n".join(lines)]


def learning_curve(
    values: FloatArray, weight: FloatArray | None, qid: AnyArray, *, metric: str, data: str, confidence: float
) -> LearningCurve:
    """Return mean and interval of each round, the best, its plateau, and the queries that lose for good after it."""
    found = best_round(values, weight, metric=metric, rule="max", confidence=confidence)
    n_queries = [int(counting(of_round, weight).sum()) for of_round in values]
    half = found.standard_error * [t_quantile(n, confidence) for n in n_queries]
    counts = counting(values[found.best], weight)
    loss = np.where(counts, lasting(values, found.best), 0.0)
    by_loss = np.argsort(-loss, kind="stable")
    overfit = by_loss[loss[by_loss] > 0]
    return LearningCurve(
        metric=metric,
        data=data,
        mean=found.curve,
        low=found.curve - half,
        high=found.curve + half,
        confidence=found.confidence,
        n_queries=n_queries[found.best],
        best=found.best,
        plateau=found.plateau,
        overfit=qid[overfit],
        loss=loss[overfit],
        n_lasting_gains=int((loss < 0).sum()),
    )


def lasting(values: FloatArray, best: int) -> FloatArray:
    """Return what each query loses for good after a round: above 0 a loss, below 0 a gain, 0 neither.

    A query's value jumps from round to round, so one round says little. A loss lasts if no round of the later half of those after the
    best comes back to the best round's value; it is what the nearest of them is short of. A gain likewise.
    """
    after = len(values) - 1 - best
    if after == 0:
        return np.zeros(values.shape[1])
    then, tail = values[best], values[len(values) - (after + 1) // 2 :]
    loss, gain = difference_of(then, tail.max(axis=0)), difference_of(then, tail.min(axis=0))
    change: FloatArray = np.where(loss > 0, loss, np.where(gain < 0, gain, 0.0))
    return change
