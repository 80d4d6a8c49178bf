"""Scores and labels to one number a query and its mean: `evaluate` and `Queries`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.positions import Positions
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.threads import n_threads_for
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy, Unjudged
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.compute import values_of
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Policy, Request, resolve


class Queries(LabelledQueries):
    """Labels of many queries, validated and laid out once, to be scored many times.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative; fractional ones are accepted where a metric is defined on them.
    qid : array-like of shape (n_rows,), optional
        An id a row, in any order, of any hashable type. Exactly one of ``qid`` and ``group`` is needed.
        Two ids that have one text, such as 7 and ``"7"``, are an error.
    group : array-like of int, optional
        Sizes of the queries, whose rows stand one query after the other.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight a query, in order of first appearance, or by qid. The ids of a mapping may have
        another type: they are the same if they have the same text.
    sample_weight : array-like of shape (n_rows,), optional
        One weight a row; a query's weight is their mean.
    docid : array-like of shape (n_rows,), optional
        Document ids, for ``ties="docid"``.
    retrieved : array-like of bool of shape (n_rows,), optional
        False for a document that is judged but has no rank: it counts among the relevant ones and in the ideal ranking.
    judged : array-like of bool of shape (n_rows,), optional
        False for a document that nobody judged; its label must not be above 0 (NaN will do) and counts as 0. Default: all are
        judged.
    unjudged : {"zero", "drop"}, optional
        What becomes of the rows that are not judged: grade 0 (default), or they are taken out of the ranking, which leaves
        the condensed list.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numbers of the documents, for ``mean_of(name)``. A DataFrame will do.
    by : array-like, or mapping of str to array-like, optional
        A label a query (in order of first appearance) or a row (the same in all rows of a query): ``result.by`` has the
        evaluation of each segment. Several segmentations are given by name.

    Attributes
    ----------
    qid : ndarray
        Id of each query, in order of first appearance (0, 1, ... with ``group``).
    sizes : ndarray of int
        Documents of each query.
    n_rows, n_queries : int

    Raises
    ------
    LtrValueError, LtrTypeError
        If lengths differ, a label is NaN or negative, ids are missing, sizes do not add up, both or neither of ``qid`` and
        ``group`` are given.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> queries = ltr.Queries([1, 0, 0, 2], qid=["a", "a", "b", "b"])
    >>> queries.evaluate([0.2, 0.8, 0.1, 0.7], "mrr").per_query["mrr"]
    array([0.5, 1. ])
    >>> queries.evaluate([0.9, 0.8, 0.1, 0.7], "mrr")["mrr"]
    1.0
    """

    def __repr__(self) -> str:
        return f"Queries({self.n_queries:,} queries, {self.n_rows:,} rows)"

    def evaluate(
        self,
        y_score: Any,
        metrics: Metrics | None = None,
        *,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        n_threads: int | None = None,
    ) -> Evaluation:
        """Evaluate one score a row; see `evaluate` for the parameters."""
        request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
        return self.evaluate_request(y_score, request, n_threads)

    def evaluate_request(self, y_score: Any, request: Request, n_threads: int | None = None) -> Evaluation:
        """Evaluate a request whose names are resolved already, as adapters do round after round."""
        if isinstance(y_score, Positions):
            scores, has_position = y_score.as_scores(self)
            queries = self if has_position.all() else self.with_retrieved(has_position)
            if queries.retrieved is not None and not queries.retrieved.any():
                raise LtrValueError("No retrieved document has a position: there is no ranking to evaluate.")
            return queries.evaluate_request(scores, request, n_threads)
        scores = self.scores(y_score)
        for metric in request.metrics:
            try:
                metric.check_once(self)
            except LtrValueError as error:
                if request.by_default:
                    raise LtrValueError(
                        f"{error} It is one of the default metrics: name those that you want."
                    ) from None
                raise
        threads = n_threads_for(self.n_rows, n_threads)
        per_query = values_of(self, scores, request.metrics, request.policy.ties, threads)
        _apply_no_relevant(self, per_query, request.policy)
        return _evaluation(self, per_query, request)


def evaluate(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    metrics: Metrics | None = None,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    query_weight: Any = None,
    sample_weight: Any = None,
    docid: Any = None,
    retrieved: Any = None,
    judged: Any = None,
    unjudged: Unjudged | None = None,
    columns: Any = None,
    by: Any = None,
    n_threads: int | None = None,
) -> Evaluation:
    """Evaluate the ranking that scores give each query's documents.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    y_score : array-like of shape (n_rows,), or Positions
        Scores, higher is better; infinite ones rank first and last, NaN is an error. Or the place of each document in the
        ranking, as `ltr_metrics.Positions`.
    qid, group, query_weight, sample_weight, docid, retrieved, judged, unjudged, columns, by
        As for `Queries`; exactly one of ``qid`` and ``group``.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). Default: ndcg@10, map, mrr and err@10, of these the ones that
        the convention has.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        In which order equal scores stand: the expected value over all orders (default), input order, lower or higher grade
        first, or document id, descending.
    no_relevant : {"skip", "drop", "error"} or float, optional
        For a query that a metric is undefined on: left out of that metric's mean (default), left out of every metric if
        all its grades are 0, an error, or this value.
    convention : str or Convention, optional
        Another system's choices for what the names and the two options above leave open.
    n_threads : int, optional
        Threads to take at most: more than one for each half a million rows do not pay, and it is never more than the process may
        use. Default: one alone in a worker (a thread, or a process that multiprocessing or joblib started), and no more than
        ``OMP_NUM_THREADS``. The values do not depend on it. A metric of your own may be called from several threads at a time.

    Returns
    -------
    Evaluation

    Raises
    ------
    LtrValueError, LtrTypeError
        See `Queries`; also for NaN scores, unknown metrics, and labels that a metric is not defined on.

    Warns
    -----
    LtrWarning
        If ``y_true`` and ``y_score`` look swapped. Then the labels have eight or more different values that are not whole,
        more than half as many as rows. And the scores are whole numbers from 0 to at most 30, of which a quarter repeat a
        score of their query. Fractional labels, such as click rates, give no warning with the scores of a model.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], qid=[7, 7, 9, 9], metrics=["ndcg@10", "mrr"])
    >>> result["mrr"]
    0.75
    >>> result.per_query["ndcg@10"].round(4)
    array([0.6309, 1.    ])
    """
    queries = Queries(
        y_true,
        qid=qid,
        group=group,
        query_weight=query_weight,
        sample_weight=sample_weight,
        docid=docid,
        retrieved=retrieved,
        judged=judged,
        unjudged=unjudged,
        columns=columns,
        by=by,
    )
    return queries.evaluate(
        y_score, metrics, ties=ties, no_relevant=no_relevant, convention=convention, n_threads=n_threads
    )


def queries_from(y_true: Any, options: dict[str, Any], function: str, own: Sequence[str] = ()) -> Queries:
    """Make `Queries` of the options that another function passes on, besides its own."""
    known = list(inspect.signature(LabelledQueries.__init__).parameters)[2:]
    for name in options.keys() - set(known):
        raise LtrTypeError(
            f"{function} has no option {name!r}.{did_you_mean(name, [*own, *known])} Of the data it takes {', '.join(known)}."
        )
    return Queries(y_true, **options)


def _evaluation(queries: LabelledQueries, per_query: dict[str, FloatArray], request: Request) -> Evaluation:
    return Evaluation.of(
        per_query,
        request.asked,
        qid=queries.qid,
        n_documents=queries.n_documents,
        n_relevant=queries.count_by_query(queries.grades >= 1),
        weight=queries.weight,
        policy=request.policy,
        segments=queries.segments,
        fingerprint=Fingerprint.of(queries),
    )


def _apply_no_relevant(queries: LabelledQueries, per_query: dict[str, FloatArray], policy: Policy) -> None:
    for name, values in per_query.items():
        no_relevant = policy.no_relevant_for(name)
        undefined = np.isnan(values)
        if no_relevant == "drop":
            values[queries.count_by_query(queries.grades > 0) == 0] = np.nan
        elif no_relevant == "error" and undefined.any():
            query = queries.qid[int(undefined.argmax())]
            raise LtrValueError(
                f"{name} is undefined for query {query}, whose labels make no difference between rankings, and "
                f'no_relevant="error" forbids that ({int(undefined.sum())} such queries). Use "skip" to leave them out.'
            )
        elif not isinstance(no_relevant, str):
            values[undefined] = no_relevant
