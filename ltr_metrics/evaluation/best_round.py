"""Statistics over the rounds of a training: changes, the curve of each segment, the best round.

Values are (rounds x queries); NaN = left out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, require_confidence, require_option
from ltr_metrics._engine.grouping import label_codes
from ltr_metrics._engine.results import Result
from ltr_metrics._engine.words import RuleOfBestRound
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.change import Change, change_of
from ltr_metrics.evaluation.means import counting, mean, standard_error

RULES: tuple[RuleOfBestRound, ...] = get_args(RuleOfBestRound)


def change(values: FloatArray, qid: AnyArray, before: int, after: int, *, higher_is_better: bool) -> Change:
    """Return which queries improved and which got worse between two rounds."""
    for round_ in (before, after):
        if not isinstance(round_, (int, np.integer)) or not -len(values) <= round_ < len(values):
            raise LtrValueError(f"There are {len(values)} rounds in the log, counted from 0; got round {round_!r}.")
    return change_of(values[after] - values[before], qid, higher_is_better=higher_is_better)


def segment_curves(values: FloatArray, weight: FloatArray | None, by: Any) -> dict[Hashable, FloatArray]:
    """Return the mean of each round for each segment of the queries."""
    names, code = label_codes(by, "by")
    if len(code) != values.shape[1]:
        raise LtrValueError(f"by must have one label a query, {values.shape[1]} in the order of qid. Got {len(code)}.")
    return {
        name: curve(values[:, code == i], None if weight is None else weight[code == i])
        for i, name in enumerate(names.tolist())
    }


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
    round : int
        The chosen round, from 0.
    rule : str
        The rule that chose it.
    best : int
        The round with the best mean, the earliest of equal ones, as hosts choose it.
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
    round: int
    rule: RuleOfBestRound
    best: int
    curve: FloatArray
    standard_error: FloatArray
    plateau: IntArray
    confidence: float
    rounds: IntArray
    higher_is_better: bool = True

    @property
    def n_rounds(self) -> int:
        """Number of rounds to keep.

        Pass it to ``predict``: LightGBM's ``num_iteration=n_rounds``, XGBoost's
        ``iteration_range=(0, n_rounds)``.
        """
        return int(self.rounds[self.round]) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        return {
            "metric": self.metric,
            "round": self.round,
            "n_rounds": self.n_rounds,
            "rule": self.rule,
            "best": self.best,
            "curve": self.curve.tolist(),
            "standard_error": self.standard_error.tolist(),
            "plateau": self.plateau.tolist(),
            "confidence": self.confidence,
            "rounds": self.rounds.tolist(),
            "higher_is_better": self.higher_is_better,
        }

    def printed_parts(self) -> list[str]:
        """Return the chosen round, the best one and the plateau."""
        n_rounds = "1 round" if self.n_rounds == 1 else f"{self.n_rounds} rounds"
        chosen, best, first, last = self.rounds[[self.round, self.best, self.plateau[0], self.plateau[-1]]].tolist()
        rule = f"rule {self.rule}: round {chosen}, counted from 0"
        lines = [f"{self.metric}: keep {n_rounds} ({rule}), mean {self._mean(self.round)}"]
        if self.round != self.best:
            lines.append(f"best: round {best}, mean {self._mean(self.best)}")
        lines.append(
            f"{len(self.plateau)} of {len(self.curve)} rounds do not differ significantly from the best at "
            f"{100 * self.confidence:g}% confidence, the first is {first}, the last {last}"
        )
        if self.round not in self.plateau:
            lines.append(f"round {chosen} differs significantly from the best, compared query by query")
        return ["\n".join(lines)]

    def _mean(self, round_: int) -> str:
        return f"{self.curve[round_]:.4f} +- {self.standard_error[round_]:.4f}"


def best_round(
    values: FloatArray,
    weight: FloatArray | None,
    *,
    metric: str,
    rule: RuleOfBestRound,
    confidence: float,
    rounds: IntArray | None = None,
    higher_is_better: bool = True,
) -> BestRound:
    """Choose a round, and find those whose mean does not differ significantly from the best one.

    ``rounds`` are the rounds of the rows of ``values``, by default all of them.
    """
    require_option("rule", rule, RULES)
    confidence = require_confidence(confidence)
    _refuse_too_few(values, weight, metric)
    means = curve(values, weight)
    errors = np.array([standard_error(of_round, weight) for of_round in values])
    goodness = means if higher_is_better else -means
    best = int(goodness.argmax())
    chosen = best if rule == "max" else int((goodness >= goodness[best] - errors[best]).argmax())
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    same = [not _differs(of_round - values[best], weight, z) for of_round in values]
    rounds = np.arange(len(values)) if rounds is None else rounds
    plateau = np.flatnonzero(same)
    return BestRound(metric, chosen, rule, best, means, errors, plateau, confidence, rounds, higher_is_better)


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
