"""pytrec_eval's interface: `RelevanceEvaluator` takes dicts and returns a dict for each query.

It needs no compiler. To move a script, replace ``import pytrec_eval`` by
``import ltr_metrics.trec as pytrec_eval``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import BoolArray, require_count
from ltr_metrics._rows.queries import has_flag
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.io.trec import from_qrels
from ltr_metrics.metrics.requests import resolve_once

__all__ = ["RelevanceEvaluator", "supported_measures"]


def __dir__() -> list[str]:
    return list(__all__)


CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # of measures that are asked for without a cutoff, in trec_eval
CUTOFFS_OF_SUCCESS = (1, 5, 10)
WHOLE = {  # our name, with the relevance level where the measure has one
    "map": "map(rel={rel})",
    "ndcg": "ndcg",
    "recip_rank": "mrr(rel={rel})",
    "Rprec": "rprec(rel={rel})",
    "set_P": "precision(rel={rel})",
    "set_recall": "recall(rel={rel})",
    "set_F": "f1(rel={rel})",
    "bpref": "bpref(rel={rel})",
}
AT_CUTOFFS = {
    "map_cut": "map(rel={rel})@{k}",
    "ndcg_cut": "ndcg@{k}",
    "P": "precision(rel={rel})@{k}",
    "recall": "recall(rel={rel})@{k}",
    "success": "hit(rel={rel})@{k}",
}
Count = Callable[[Queries, BoolArray], Any]  # a number of each query, from the relevant among the distinct grades
COUNTS: dict[str, Count] = {
    "num_q": lambda queries, _: np.ones(queries.n_queries),
    "num_ret": lambda queries, _: queries.n_ranked,
    "num_rel": lambda queries, is_relevant: queries.count_by_query(is_relevant),
    "num_rel_ret": lambda queries, is_relevant: queries.sum_by_query(
        has_flag(queries.grade_index, is_relevant) & np.asarray(queries.retrieved)
    ),
}
OTHER_FORMS = "For data frames, lists and other ids, use ltr_metrics.from_qrels."
supported_measures = frozenset({*WHOLE, *AT_CUTOFFS, *COUNTS})


class RelevanceEvaluator:
    """Evaluate runs as pytrec_eval does: dicts in, a dict for each query out.

    The values are those of `ltr_metrics.evaluate` with ``convention="trec_eval"``.

    Parameters
    ----------
    query_relevance : mapping of str to mapping of str to int
        The judgments, ``{query: {document: grade}}``. A document with a negative grade counts as not
        judged, as in trec_eval.
    measures : iterable of str
        Names of trec_eval, with cutoffs after a dot or an underscore: ``"map"``, ``"ndcg_cut.10"``,
        ``"P_5,10"``. Without cutoffs, those of trec_eval are used. `supported_measures` has all
        names.
    relevance_level : int, default 1
        Lowest grade of a relevant document. NDCG uses the grades themselves.
    judged_docs_only_flag : bool, default False
        Whether to remove unjudged documents from the rankings.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a measure is not supported, a cutoff or the level is not a whole number of at least 1, or
        as for `ltr_metrics.from_qrels`.

    See Also
    --------
    ltr_metrics.from_qrels : The same dicts for `ltr_metrics.evaluate`, with all its options.

    Notes
    -----
    As in pytrec_eval, tied documents are ordered by descending id, and scores are rounded to
    float32, which ties scores that differ little. Unlike there, a NaN score is an
    error. pytrec_eval 0.5.11 may crash if all grades of a query are negative.

    Examples
    --------
    >>> from ltr_metrics.trec import RelevanceEvaluator
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1}}
    >>> evaluator = RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"})
    >>> evaluator.evaluate({"q1": {"a": 1.5, "b": 2.5, "c": 0.5}})["q1"]["map"]
    0.5833333333333333
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        qrels = _checked(query_relevance, "query_relevance", '{"q1": {"d1": 2}}')
        self._qrels = {query: _judged(documents) for query, documents in qrels.items() if documents}
        self._level = require_count("relevance_level", relevance_level)
        self._judged_only = judged_docs_only_flag
        cutoffs = _cutoffs_by_measure(measures)
        self._counts = [name for name in COUNTS if name in cutoffs]
        self._metrics = {name: ours.format(rel=self._level) for name, ours in WHOLE.items() if name in cutoffs}
        for name, ours in AT_CUTOFFS.items():
            self._metrics |= {f"{name}_{k}": ours.format(rel=self._level, k=k) for k in sorted(cutoffs.get(name, ()))}

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return the values of the measures for each query that has judgments and is in the run.

        Parameters
        ----------
        scores : mapping of str to mapping of str to float
            The run, ``{query: {document: score}}``. A query with an empty dict retrieved nothing.

        Returns
        -------
        dict of str to dict of str to float
            ``{query: {measure: value}}``, such as ``{"q1": {"map": 0.5, "ndcg_cut_10": 0.6}}``.
            Values are from 0 to 1, and higher is better, except for counts.

        Raises
        ------
        LtrValueError, LtrTypeError
            As for `ltr_metrics.from_qrels`.
        """
        run = _checked(scores, "scores", '{"q1": {"d1": 9.5}}')
        run = {query: self._ranked(query, run[query]) for query in run if query in self._qrels}
        values = self._values({query: ranked for query, ranked in run.items() if ranked and self._qrels[query]})
        return {query: values.get(query) or self._of_nothing(query, len(ranked)) for query, ranked in run.items()}

    def _ranked(self, query: str, documents: Mapping[str, float]) -> Mapping[str, float]:
        """Return the documents that are ranked: all, or only the judged ones."""
        if not self._judged_only:
            return documents
        return {document: score for document, score in documents.items() if document in self._qrels[query]}

    def _values(self, run: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return the values of queries with retrieved and judged documents."""
        if not run or not (self._counts or self._metrics):
            return {}
        data = from_qrels({query: self._qrels[query] for query in run}, run)
        queries = Queries(data.y_true, qid=data.qid, docid=data.docid, retrieved=data.retrieved, judged=data.judged)
        is_relevant = queries.grades >= self._level
        columns: dict[str, Any] = {name: COUNTS[name](queries, is_relevant) for name in self._counts}
        if self._metrics:
            with np.errstate(over="ignore"):  # the largest scores become infinite, and tie
                scores = data.y_score.astype(np.float32)
            request = resolve_once(list(self._metrics.values()), convention="trec_eval")
            result = queries.evaluate_request(scores, request)
            columns |= {measure: result.per_query[name] for measure, name in self._metrics.items()}
        rows = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()]).tolist()
        return {
            query: dict(zip(columns, row, strict=True)) for query, row in zip(queries.qid.tolist(), rows, strict=True)
        }

    def _of_nothing(self, query: str, n_retrieved: int) -> dict[str, float]:
        """Return the values of a query for which nothing was retrieved, or nothing is judged."""
        n_relevant = sum(grade >= self._level for grade in self._qrels[query].values())
        counts = {"num_q": 1.0, "num_ret": float(n_retrieved), "num_rel": float(n_relevant)}
        return {name: counts.get(name, 0.0) for name in (*self._counts, *self._metrics)}


def _checked(data: Any, name: str, example: str) -> Mapping[str, Mapping[str, Any]]:
    """Return a dict of dicts whose queries are text, as pytrec_eval wants them."""
    if not isinstance(data, Mapping):
        raise LtrTypeError(f"{name} must be a dict of dicts, {example}. Got {type(data).__name__}. {OTHER_FORMS}")
    for query, documents in data.items():
        if not isinstance(query, str) or not isinstance(documents, Mapping):
            raise LtrTypeError(
                f"{name} must map text to dicts, as in {example}. Got {documents!r:.80} for {query!r}. {OTHER_FORMS}"
            )
    return data


def _judged(grades: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grades that are not negative. `from_qrels` refuses those that are not numbers."""
    return {document: grade for document, grade in grades.items() if not (isinstance(grade, Real) and grade < 0)}


def _cutoffs_by_measure(measures: Iterable[str]) -> dict[str, set[int]]:
    """Return the cutoffs of each measure, as pytrec_eval reads them."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise LtrTypeError(f'measures must be a set of names, such as {{"map", "ndcg_cut.10"}}. Got {measures!r}.')
    cutoffs: dict[str, set[int]] = {}
    for measure in measures:
        name, numbers = _split(measure)
        cutoffs.setdefault(name, set()).update(numbers)
    for name in AT_CUTOFFS.keys() & cutoffs.keys():
        cutoffs[name] = cutoffs[name] or set(CUTOFFS_OF_SUCCESS if name == "success" else CUTOFFS)
    return cutoffs


def _split(measure: str) -> tuple[str, set[int]]:
    """Return the name of a measure and its cutoffs; refuse what is not supported."""
    if measure in supported_measures:
        return measure, set()
    match = re.fullmatch(r"(\w+?)[._]([0-9]+(?:,[0-9]+)*)", measure, re.ASCII) if isinstance(measure, str) else None
    if match is None or match[1] not in AT_CUTOFFS:
        raise LtrValueError(
            f"The measure {measure!r} is not supported.{did_you_mean(str(measure), supported_measures)} There are "
            f"{', '.join(sorted(supported_measures))}; {', '.join(AT_CUTOFFS)} take cutoffs, such as ndcg_cut.5,10."
        )
    return match[1], {require_count(f"the cutoff of {match[1]}", int(number)) for number in match[2].split(",")}
