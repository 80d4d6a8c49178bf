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
from ltr_metrics.evaluation.log.folds import scores_of_one_search
from ltr_metrics.evaluation.log.matching import match_candidates
from ltr_metrics.evaluation.log.parameters import Parameters, varying_names
from ltr_metrics.evaluation.log.records import query_weights
from ltr_metrics.evaluation.log.scores import Score, search_key
from ltr_metrics.evaluation.means import counting, mean, standard_error
from ltr_metrics.metrics.base import Metric

WIDTH = 100  # of the parameters in a printed line


@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Printed):
    """One candidate over all folds, in one metric.

    Attributes
    ----------
    metric : str
        Canonical name.
    number : int
        Number of the candidate, in the order of the values of the parameters that vary.
    parameters : dict
        The parameters that differ between the candidates, as plain values.
    all_parameters : dict
        All parameters, as plain values.
    folds : ndarray of float64
        Mean of each fold, in the order of `Score.fold`. NaN if the candidate was not scored, as
        after a fit that failed. For a metric of which lower is better, the scorer returned minus
        this number.
    qid : list
        All queries of all folds, sorted by id. They are the same for all candidates, so the values
        of two candidates are paired.
    values : ndarray of float64
        Value of each query; NaN if the query was left out or not scored. A query of several folds
        has its mean over them.
    weight : ndarray of float64 or None
        Weight of each query.
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
        """Unweighted mean of the folds, as in scikit-learn: queries of small folds count more."""
        return float(self.folds.mean())

    @property
    def mean_over_queries(self) -> float:
        """Weighted mean of the queries: each counts the same in every fold."""
        return mean(self.values, self.weight)

    @property
    def standard_error(self) -> float:
        """Standard error of `mean_over_queries`, over queries; NaN for fewer than two."""
        return standard_error(self.values, self.weight)

    @property
    def n_queries(self) -> int:
        """Number of queries in `mean_over_queries`."""
        return int(counting(self.values, self.weight).sum())

    def printed_parts(self) -> list[str]:
        """Return one line, with the first characters of the parameters."""
        text = str(self.parameters)
        short = text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
        line = (
            f"{self.metric}{f' of {short}' if self.parameters else ''}: "
            f"{self.mean_over_folds:.4f} over {len(self.folds)} folds, "
            f"{self.mean_over_queries:.4f} +- {self.standard_error:.4f} over {self.n_queries:,} queries"
        )
        return [line]


def candidates_of(
    scores: Sequence[Score], metric: str | Metric, part: PartOfSearch | None, params: Iterable[Mapping[str, Any]] | None
) -> list[Candidate]:
    """Return each candidate over all its folds, the best first or in the order of ``params``."""
    of_part = [score for score in scores if score.part == part]
    if not of_part:
        parts = sorted({f"part={score.part!r}" for score in scores})
        raise LtrKeyError(
            f"There are no scores of part {part!r} in this log: pass {' or '.join(parts)}. The scorer knows the part "
            "of a QueryRanker, which remembers its training queries. Otherwise the part is None."
        )
    with_metric = [score for score in of_part if metric in score.evaluation.per_query]
    chosen = scores_of_one_search(with_metric or of_part)  # if none has it, _candidate fails
    queries = {query for score in chosen for query in score.evaluation.plain_qid}
    position = {query: i for i, query in enumerate(sorted(queries, key=order_of_id))}
    folds = sorted({_fold_of(score) for score in chosen})
    names = varying_names([score.parameters for score in chosen])
    by_number: dict[int, list[Score]] = {}
    for score in chosen:
        by_number.setdefault(score.candidate, []).append(score)
    candidates = [_candidate(own, metric, names, folds, position) for own in by_number.values()]
    if params is not None:
        return [candidates[i] for i in match_candidates(params, [(c.all_parameters, c.parameters) for c in candidates])]
    sign = 1 if candidates[0].metric in chosen[0].evaluation.lower_is_better else -1
    return sorted(candidates, key=lambda c: (np.isnan(c.mean_over_folds), sign * c.mean_over_folds, c.number))


def _fold_of(score: Score) -> tuple[int, int]:
    return search_key(score.search), score.fold


def _candidate(
    scores: Sequence[Score],
    metric: str | Metric,
    names: Sequence[str],
    folds: Sequence[tuple[int, int]],
    position: Mapping[PlainId, int],
) -> Candidate:
    name = scores[0].evaluation.per_query.canonical(metric)
    means = np.full(len(folds), np.nan)
    total, n_defined, weight, n_scored = np.zeros((4, len(position)))
    for score in scores:
        evaluation = score.evaluation
        means[folds.index(_fold_of(score))] = evaluation.mean[name]
        at, values = np.array([position[i] for i in evaluation.plain_qid]), evaluation.per_query[name]
        total[at] += np.where(np.isnan(values), 0, values)
        n_defined[at] += ~np.isnan(values)
        weight[at] += query_weights(evaluation)
        n_scored[at] += 1
    is_weighted = any(score.evaluation.weight is not None for score in scores)
    parameters = scores[0].parameters
    return Candidate(
        metric=name,
        number=scores[0].candidate,
        parameters={key: parameters[key] for key in names if key in parameters},
        all_parameters=parameters,
        folds=means,
        qid=list(position),
        values=np.divide(total, n_defined, out=np.full(len(position), np.nan), where=n_defined > 0),
        weight=weight / np.maximum(n_scored, 1) if is_weighted else None,
    )
