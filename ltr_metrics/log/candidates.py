"""The candidates of a search, each over all folds, paired query by query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError
from ltr_metrics.inputs import FloatArray
from ltr_metrics.log.files import order_of_id
from ltr_metrics.log.parameters import Parameters, as_text, varying, with_nested
from ltr_metrics.log.scores import Score, in_order, some, weight_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.result import Evaluation, PlainId, mean, plain_ids
from ltr_metrics.standard_error import counting, standard_error

WIDTH = 100  # of the parameters in one line
Fold = tuple[int, int]  # of Score.search and Score.fold, in their order

_REMEMBER = (
    "The log cannot tell, since it does not know which queries the rankers were fitted on. Wrap the estimator in a QueryRanker, which "
    "remembers, behind steps that leave its column of queries as it is; or let the scorer see the test parts of one search alone "
    "(return_train_score=False, no scoring of other data). Either with a new folder."
)


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
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

    def __str__(self) -> str:
        """Return one line, with as much of the parameters as goes into it."""
        text = str(self.parameters)
        short = text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
        return (
            f"{self.metric}{f' of {short}' if self.parameters else ''}: {self.mean_over_folds:.4f} over {len(self.folds)} folds, "
            f"{self.mean_over_queries:.4f} +- {self.standard_error:.4f} over {self.n_queries:,} queries"
        )

    __repr__ = __str__  # what a notebook shows


def candidates_of(
    scores: Sequence[Score], metric: str | Metric, part: str | None, params: Iterable[Mapping[str, Any]] | None
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
    compared = _of_one_search(with_it)
    unknown = [score for score in compared if score.search is None]
    if part is None:
        _refuse_nested_folds(unknown)
    _refuse_missing_folds(unknown)
    place = _places(score.evaluation for score in compared)
    folds = sorted(set(map(_fold, compared)))
    names = varying([score.parameters for score in compared])
    by_number: dict[int, list[Score]] = {}
    for score in compared:
        by_number.setdefault(score.candidate, []).append(score)
    found = [_candidate(of_one, metric, names, folds, place) for of_one in by_number.values()]
    if params is not None:
        return _in_order_of(params, found)
    return sorted(found, key=lambda c: (np.isnan(c.mean_over_folds), -c.mean_over_folds, c.number))


def _of_one_search(scores: Sequence[Score]) -> Sequence[Score]:
    """Return the scores of the search that has several folds; all of them if none has.

    A refitted ranker that was scored on other data, and a baseline beside it, are searches of one fold. So is each split of a
    cross-validation whose splits leave out some of the queries.
    """
    n_folds = Counter(search for search, _ in {(score.search, score.fold) for score in scores})
    searches = sorted((search for search, n in n_folds.items() if n > 1), key=in_order)
    if len(searches) > 1:
        raise LtrValueError(
            f"This log holds the scores of {len(searches)} searches, on different data: those within a nested cross-validation, or two that "
            "wrote into one folder. Give each a folder of its own. scores() and to_pandas() have all of them, told apart by search: "
            f"{' and '.join(map(str, searches))}."
        )
    if not searches:
        return scores
    of_search = [score for score in scores if score.search in searches]
    _refuse_shared_queries(of_search, [score for score in scores if score.search not in searches])
    return of_search


def _refuse_shared_queries(of_search: Sequence[Score], others: Sequence[Score]) -> None:
    """Refuse a test part of another search with queries of this one's: it may be a fold, and not the test of a refitted ranker."""
    queries = {name for score in of_search for name in plain_ids(score.evaluation.qid)}
    for score in others:
        shared = [name for name in plain_ids(score.evaluation.qid) if name in queries and score.part == "test"]
        if shared:
            raise LtrValueError(
                f"Query {shared[0]!r} was scored in search {of_search[0].search}, which has several folds, and in search {score.search}, whose "
                "rankers were fitted and scored on other data. Either two searches wrote into one folder: give each a folder of its own. Or "
                "splits leave out some of the queries, and some of them the same by chance: let train_size + test_size be 1."
            )


def _refuse_nested_folds(scores: Sequence[Score]) -> None:
    """Refuse a fold within another one, of rankers fitted on unknown queries: a training part contains other splits' test parts."""
    queries = _queries_of_folds(scores)
    for inner, outer in permutations(queries, 2):
        if queries[inner] < queries[outer]:
            raise LtrValueError(
                f"Of part None, all queries of fold {inner} ({_some_of(queries[inner])}) are in fold {outer} too, as training parts contain test "
                f"parts: the scores of both would count alike. {_REMEMBER}"
            )


def _refuse_missing_folds(scores: Sequence[Score]) -> None:
    """Refuse a candidate without a fold that others have, of rankers fitted on unknown queries."""
    queries = _queries_of_folds(scores)
    scored = {(score.candidate, score.fold) for score in scores}
    for score, fold in product(scores, queries):
        if (score.candidate, fold) not in scored:
            raise LtrValueError(
                f"Candidate {score.candidate} was not scored on fold {fold} ({_some_of(queries[fold])}), and others were: either its fit failed, "
                f"or these data are no fold of the search, as those of search.score(...). {_REMEMBER} Parameters: {as_text(score.parameters)}."
            )


def _queries_of_folds(scores: Sequence[Score]) -> dict[int, frozenset[PlainId]]:
    return {score.fold: frozenset(plain_ids(score.evaluation.qid)) for score in scores}


def _some_of(queries: Iterable[PlainId]) -> str:
    return some(sorted(queries, key=order_of_id))


def _fold(score: Score) -> Fold:
    return in_order(score.search), score.fold


def _places(evaluations: Iterable[Evaluation]) -> dict[PlainId, int]:
    names = {name for evaluation in evaluations for name in plain_ids(evaluation.qid)}
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
        means[folds.index(_fold(score))] = evaluation.mean[name]
        at, values = np.array([place[i] for i in plain_ids(evaluation.qid)]), evaluation.per_query[name]
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


def _in_order_of(params: Iterable[Mapping[str, Any]], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidate of each of ``cv_results_["params"]``: the one whose parameters contain these."""
    if isinstance(params, (str, Mapping)):
        raise LtrTypeError(
            f'params must be several candidates\' parameters, as search.cv_results_["params"]. Got {params!r}.'
        )
    texts = [{name: as_text(value) for name, value in c.all_parameters.items()} for c in candidates]
    ordered = []
    for wanted in params:
        text = {name: as_text(value) for name, value in with_nested(wanted).items()}
        matching = [c for c, known in zip(candidates, texts, strict=True) if text.items() <= known.items()]
        if len(matching) != 1:
            raise LtrKeyError(
                f"{len(matching) or 'No'} candidate{'s have' if matching else ' has'} the parameters {dict(wanted)!r}, where one should. "
                f"Of those that vary, the log has {some([c.parameters for c in candidates])}."
            )
        ordered += matching
    return ordered
