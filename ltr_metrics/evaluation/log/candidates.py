"""The candidates of a search, each over all folds, paired query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.plain import PlainId, order_of_id
from ltr_metrics._engine.printed import Printed
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrKeyError
from ltr_metrics.evaluation.log.folds import Fold, fold_of, of_one_search
from ltr_metrics.evaluation.log.matching import places_of
from ltr_metrics.evaluation.log.parameters import Parameters, varying
from ltr_metrics.evaluation.log.scores import Score, weight_of
from ltr_metrics.evaluation.means import counting, mean, standard_error
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric

WIDTH = 100  # of the parameters in one line


@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Printed):
    """One candidate over all folds, in one metric.

    Attributes
    ----------
    metric : str
        Canonical name.
    number : int
        The candidate's number: its place in the order of the varying parameters' values.
    parameters : dict
        Those that differ between the candidates, as plain values.
    all_parameters : dict
        All of them.
    folds : ndarray of float64
        Mean of each fold, as the scorer gave it, in order of `Score.fold`; NaN where the candidate was not scored, as after a
        fit that failed.
    qid : list
        All queries of all folds, in order of their ids: the same for all candidates, whose values are therefore paired.
    values : ndarray of float64
        One a query, NaN = left out or not scored; the mean over folds for a query that is in several.
    weight : ndarray of float64 or None
        One a query.
    """

    metric: str
    number: int
    parameters: Parameters
    all_parameters: Parameters
    folds: FloatArray
    qid: list[PlainId]
    values: FloatArray
    weight: FloatArray | None

    @property
    def mean_over_folds(self) -> float:
        """Plain mean of the folds, as scikit-learn has it: a query in a smaller fold counts more."""
        return float(self.folds.mean())

    @property
    def mean_over_queries(self) -> float:
        """Weighted mean of the queries: each counts as much whichever fold it is in."""
        return mean(self.values, self.weight)

    @property
    def standard_error(self) -> float:
        """Standard error of `mean_over_queries`, over queries; NaN for fewer than two."""
        return standard_error(self.values, self.weight)

    @property
    def n_queries(self) -> int:
        """Queries that `mean_over_queries` is over."""
        return int(counting(self.values, self.weight).sum())

    def printed_parts(self) -> list[str]:
        """Return one line, with as much of the parameters as goes into it."""
        text = str(self.parameters)
        short = text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
        line = (
            f"{self.metric}{f' of {short}' if self.parameters else ''}: {self.mean_over_folds:.4f} over {len(self.folds)} folds, "
            f"{self.mean_over_queries:.4f} +- {self.standard_error:.4f} over {self.n_queries:,} queries"
        )
        return [line]


def candidates_of(
    scores: Sequence[Score], metric: str | Metric, part: PartOfSearch | None, params: Iterable[Mapping[str, Any]] | None
) -> list[Candidate]:
    """Return each candidate over all its folds, the best first or in the order of ``params``."""
    chosen = [score for score in scores if score.part == part]
    if not chosen:
        parts = sorted({repr(score.part) for score in scores})
        raise LtrKeyError(
            f"There are no scores of part {part!r} in this log: pass {' or '.join(f'part={known}' for known in parts)}. The scorer knows the "
            "part where a QueryRanker remembers what it was fitted on; otherwise it is None."
        )
    with_it = [score for score in chosen if metric in score.evaluation.per_query] or chosen  # of none: it says so
    compared = of_one_search(with_it)
    place = _places(score.evaluation for score in compared)
    folds = sorted(set(map(fold_of, compared)))
    names = varying([score.parameters for score in compared])
    by_number: dict[int, list[Score]] = {}
    for score in compared:
        by_number.setdefault(score.candidate, []).append(score)
    found = [_candidate(of_one, metric, names, folds, place) for of_one in by_number.values()]
    if params is not None:
        return [found[i] for i in places_of(params, [(c.all_parameters, c.parameters) for c in found])]
    return sorted(found, key=lambda c: (np.isnan(c.mean_over_folds), -c.mean_over_folds, c.number))


def _places(evaluations: Iterable[Evaluation]) -> dict[PlainId, int]:
    names = {name for evaluation in evaluations for name in evaluation.plain_qid}
    return {name: i for i, name in enumerate(sorted(names, key=order_of_id))}


def _candidate(
    scores: Sequence[Score],
    metric: str | Metric,
    names: Sequence[str],
    folds: Sequence[Fold],
    place: Mapping[PlainId, int],
) -> Candidate:
    name = scores[0].evaluation.per_query.canonical(metric)
    means = np.full(len(folds), np.nan)
    total, defined, weight, scored = np.zeros((4, len(place)))
    for score in scores:
        evaluation = score.evaluation
        means[folds.index(fold_of(score))] = evaluation.mean[name]
        at, values = np.array([place[i] for i in evaluation.plain_qid]), evaluation.per_query[name]
        total[at] += np.where(np.isnan(values), 0, values)
        defined[at] += ~np.isnan(values)
        weight[at] += weight_of(evaluation)
        scored[at] += 1
    weighted = any(score.evaluation.weight is not None for score in scores)
    parameters = scores[0].parameters
    return Candidate(
        metric=name,
        number=scores[0].candidate,
        parameters={key: parameters[key] for key in names if key in parameters},
        all_parameters=parameters,
        folds=means,
        qid=list(place),
        values=np.divide(total, defined, out=np.full(len(place), np.nan), where=defined > 0),
        weight=weight / np.maximum(scored, 1) if weighted else None,
    )
