"""`evaluate` and `Queries`: from labels and scores to values per query and their means."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.cache import newest_cached
from ltr_metrics._rows.checks import BoolArray, FloatArray
from ltr_metrics._rows.positions import Positions
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.signatures import DataOptions as DataOptions
from ltr_metrics._rows.signatures import explaining_calls, nearest_option, with_options_of
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy, Unjudged
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.columns import column_of, columns_by_key, naming_columns, read_options, refuse_mixture
from ltr_metrics.evaluation.fingerprint import Fingerprint, hash_by_query
from ltr_metrics.evaluation.result import Evaluation, weights_above_0
from ltr_metrics.evaluation.skill import SkillScale, scale_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Functions, Metrics, Request, declared_sums, resolve_once

SeveralScores = list[str] | tuple[str, ...] | Mapping[str, str]  # columns of scores, or by a name for each


class Queries(LabelledQueries):
    """The labels of many queries, validated and grouped once, for many evaluations.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative. Fractional grades are accepted if the metric is defined on
        them.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and ``group`` is
        required. Two ids with the same text, such as 7 and ``"7"``, are an error.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid. The ids of a mapping may have
        another type: they are the same if they have the same text.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.
    docid : array-like of shape (n_rows,), optional
        Document ids, for ``ties="docid"``. A document occurs only once in a query.
    retrieved : array-like of bool of shape (n_rows,), optional
        False for a judged document that the system did not return. It has no rank, but it counts in
        the ideal ranking and, if its grade is high enough, among the relevant documents.
    judged : array-like of bool of shape (n_rows,), optional
        False for an unjudged document. Its label must not be above 0 (NaN is accepted) and counts
        as 0. By default all documents are judged.
    unjudged : {"zero", "drop"}, optional
        Treatment of unjudged documents: grade 0 (default), or removal from the ranking, which
        leaves the condensed list.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numeric columns by name, with one number per row, which ``mean_of(name)``,
        ``sum_of(name)`` and metrics of your own read. A DataFrame is accepted.
    by : array-like, or mapping of str to array-like, optional
        One segment label per query, in order of first appearance, or per row, the same in all rows
        of a query. ``result.by`` has the evaluation of each segment. Several segmentations are
        given by name.
    cluster : array-like, optional
        One label per query or per row, such as a user or a query text. Queries of one cluster are
        not independent, so standard errors and intervals are computed over clusters.

    Attributes
    ----------
    qid : ndarray
        Id of each query, in order of first appearance (0, 1, ... with ``group``).
    sizes : ndarray of int
        Number of documents of each query.
    n_rows, n_queries : int
        Number of rows, and of queries.

    Raises
    ------
    LtrValueError, LtrTypeError
        If lengths differ, a label is NaN or negative, ids or labels are missing or blank, a document
        is repeated in a query, sizes do not add up, two columns of a table have one name, or both or
        neither of ``qid`` and ``group`` are given.

    See Also
    --------
    evaluate : Evaluate labels that you need only once.

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
        skill: bool = False,
        n_threads: int | None = None,
    ) -> Evaluation:
        """Rank each query's documents by score, and evaluate the rankings.

        Parameters
        ----------
        y_score : array-like of shape (n_rows,), or Positions
            Scores; higher is better. Infinite scores rank first and last, and NaN is an
            error. Or the position of each document in the ranking, as
            `ltr_metrics.Positions`.
        metrics : str, Metric, or several of them, optional
            Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). By default ndcg@10, map, mrr
            and err@10 are evaluated, or those of them that the convention has.
        ties : {"mean", "stable", "worst", "best", "docid"}, optional
            Treatment of tied scores: the expected value over all orders of the tied
            documents (default), input order, lower or higher grade first, or descending
            document id.
        no_relevant : {"skip", "drop", "error"} or float, optional
            Treatment of a query on which a metric is undefined. "skip" (default) leaves it
            out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
            every mean. "error" raises an error. A number is the metric's value for the
            query.
        convention : str or Convention, optional
            Name of another system, such as ``"trec_eval"``, or a `Convention`. Its choices fill in
            what the metric names, ``ties`` and ``no_relevant`` leave open.
        skill : bool, default False
            Whether the result prints, saves and exports chance, ideal and skill of each metric. They
            take as long as one to three evaluations, once for all evaluations of these queries.
            Without this option, ``result.skill`` computes them when you ask for it.
        n_threads : int, optional
            Maximum number of threads. One thread is used per 50,000 rows, and never more
            than the CPUs available to the process. The default is one thread in a worker (a
            thread, or a process that multiprocessing or joblib started), and otherwise at
            most ``OMP_NUM_THREADS``. The values do not depend on it.

        Returns
        -------
        Evaluation
            The values per query and their means.

        Raises
        ------
        LtrValueError, LtrTypeError
            For NaN scores, a wrong number of scores, unknown metrics, and labels that a metric is
            not defined on.
        """
        self.warn_of_ids()
        request = resolve_once(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
        result = self.evaluate_request(y_score, request, n_threads)
        return result.with_skill() if skill else result

    def evaluate_request(self, y_score: Any, request: Request, n_threads: int | None = None) -> Evaluation:
        """Evaluate a request with resolved names; adapters call this in every round."""
        if isinstance(y_score, Positions):
            scores, has_position = y_score.as_scores(self)
            queries = self if has_position.all() else self.with_retrieved(has_position)
            return queries.evaluate_request(scores, request, n_threads)
        scores = self.scores(y_score)
        (sums, functions), same = _same_for_all_scores(self, request)
        policy = request.policy
        values = np.empty((len(request.metrics), self.n_queries))  # NaN where a metric is undefined
        if sums.structs:
            native.evaluate(self, scores, policy.ties, sums, values, n_threads)
        if functions:
            ranking = Ranking(self, scores, policy.ties, n_threads)
            for position, metric in functions:
                values[position] = metric.values(ranking)
        skips_undefined = policy.no_relevant == "skip" and not policy.no_relevant_of
        counted_as_one = {} if skips_undefined else _apply_no_relevant(self, values, request)
        mean = native.means(values, same["weight"], n_threads)
        if not all(map(math.isfinite, mean)):  # an infinite value makes its mean infinite or NaN
            _refuse_infinite(self, request.names, values)
        return Evaluation(
            ByMetric(zip(request.names, mean, strict=True), request.asked),
            ByMetric(zip(request.names, values, strict=True), request.asked),
            counted_as_one=counted_as_one,
            skill_scale=SkillScale(partial(scale_of, self, request)),
            **same,
        )


if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

    class Options(DataOptions, total=False):
        """The options that `evaluate` has for arrays and for the columns of a table."""

        metrics: Metrics | None
        ties: TiePolicy | None
        no_relevant: NoRelevant | float | None
        convention: ConventionName | Convention | None
        skill: bool
        n_threads: int | None


@overload
def evaluate(y_true: Any, y_score: Any, **options: Unpack[Options]) -> Evaluation: ...


@overload
def evaluate(*, data: Any, label: str = "label", score: str = "score", **options: Unpack[Options]) -> Evaluation: ...


@overload
def evaluate(
    *, data: Any, label: str = "label", score: SeveralScores, **options: Unpack[Options]
) -> dict[str, Evaluation]: ...


@explaining_calls
def evaluate(
    y_true: Any = None,
    y_score: Any = None,
    *,
    data: Any = None,
    label: str | None = None,
    score: str | SeveralScores | None = None,
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
    cluster: Any = None,
    skill: bool = False,
    n_threads: int | None = None,
) -> Evaluation | dict[str, Evaluation]:
    """Rank each query's documents by score, and evaluate the rankings.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    y_score : array-like of shape (n_rows,), or Positions
        Scores; higher is better. Infinite scores rank first and last, and NaN is an
        error. Or the position of each document in the ranking, as
        `ltr_metrics.Positions`.
    data : table, optional
        Instead of arrays: a pandas or polars data frame, an Arrow table or a dict of arrays, with one
        row per document. All columns are then given by name, and only ``data[name]`` is asked of the
        table. Options with one value per row or per query are names of columns: ``qid``, ``docid``,
        ``sample_weight``, ``query_weight``, ``retrieved``, ``judged``, ``cluster``, ``by`` and
        ``columns``. The columns that metrics such as ``mean_of(price)`` need are read by themselves.
    label : str, default "label"
        Column of the grades.
    score : str, or several of them, default "score"
        Column of the scores. Several columns, in a list or in a mapping that names them, give a dict
        with one evaluation each.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and
        ``group`` is required. Two ids with the same text, such as 7 and ``"7"``, are an
        error. With ``data``, the column of the ids, ``"qid"`` by default.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). By default ndcg@10, map, mrr and
        err@10 are evaluated, or those of them that the convention has.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied
        documents (default), input order, lower or higher grade first, or descending
        document id.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Name of another system, such as ``"trec_eval"``, or a `Convention`. Its choices fill in what
        the metric names, ``ties`` and ``no_relevant`` leave open.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid. The ids of a
        mapping may have another type: they are the same if they have the same text. With ``data``, a
        column with the same weight in all rows of a query.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.
    docid : array-like of shape (n_rows,), optional
        Document ids, for ``ties="docid"``. A document occurs only once in a query.
    retrieved : array-like of bool of shape (n_rows,), optional
        False for a judged document that the system did not return. It has no rank, but it counts in
        the ideal ranking and, if its grade is high enough, among the relevant documents.
    judged : array-like of bool of shape (n_rows,), optional
        False for an unjudged document. Its label must not be above 0 (NaN is accepted)
        and counts as 0. By default all documents are judged.
    unjudged : {"zero", "drop"}, optional
        Treatment of unjudged documents: grade 0 (default), or removal from the ranking,
        which leaves the condensed list.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numeric columns by name, with one number per row, which ``mean_of(name)``,
        ``sum_of(name)`` and metrics of your own read. A DataFrame is accepted. With ``data``, the
        names of the columns that metrics of your own read without naming them.
    by : array-like, or mapping of str to array-like, optional
        One segment label per query, in order of first appearance, or per row, the same
        in all rows of a query. ``result.by`` has the evaluation of each segment.
        Several segmentations are given by name. With ``data``, one column, or several in a list or in
        a mapping that names them.
    cluster : array-like, optional
        One label per query or per row, such as a user or a query text. Queries of one cluster are
        not independent, so standard errors and intervals are computed over clusters.
    skill : bool, default False
        Whether the result prints, saves and exports chance, ideal and skill of each metric. They
        take as long as one to three evaluations, once for all evaluations of these queries.
        Without this option, ``result.skill`` computes them when you ask for it.
    n_threads : int, optional
        Maximum number of threads. One thread is used per 50,000 rows, and never more
        than the CPUs available to the process. The default is one thread in a worker (a
        thread, or a process that multiprocessing or joblib started), and otherwise at
        most ``OMP_NUM_THREADS``. The values do not depend on it.

    Returns
    -------
    Evaluation, or dict of str to Evaluation
        The values per query and their means, by metric. Higher is better, except for the metrics in
        ``lower_is_better``. Of several columns of scores, one evaluation for each.

    Raises
    ------
    LtrValueError, LtrTypeError
        See `Queries`. Also for NaN scores, unknown metrics, and labels that a metric is not defined
        on. With ``data``, also for a column that is missing, and for an array beside it.

    Warns
    -----
    LtrWarning
        If ``qid`` names no queries: more than 90 % of at least 20 queries have one document, or all
        of at least 200 rows are of one query. Where this is right, pass ``group`` instead.

        If ``y_true`` and ``y_score`` look swapped. The labels then have at least eight different
        values that are not whole numbers, more than half as many as rows. The scores are whole
        numbers from 0 to at most 30, of which a quarter repeat a score of their query. Fractional
        labels, such as click rates, cause no warning with the scores of a model.

        If several queries share a segment, a cluster or a document whose name is a word for a missing
        value, such as "NA" or "nan", which is text like any other.

    See Also
    --------
    Queries : Validate and group labels once, for many evaluations.
    intervals : Confidence intervals of the means.
    compare : Compare models, with intervals and p-values.
    evaluate_batches : Evaluate rows that do not fit into memory, batch by batch.
    explain_difference : Why two systems disagree on a value.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], qid=[7, 7, 9, 9], metrics=["ndcg@10", "mrr"])
    >>> result["mrr"]
    0.75
    >>> result.per_query["ndcg@10"].round(4)
    array([0.6309, 1.    ])

    The same columns in a table, here a dict, with the scores of two models:

    >>> table = {"query": [7, 7, 9, 9], "label": [1, 0, 0, 2], "old": [0.2, 0.8, 0.1, 0.7], "new": [2, 1, 1, 2]}
    >>> results = ltr.evaluate(data=table, qid="query", score=["old", "new"], metrics=["mrr"])
    >>> {name: result["mrr"] for name, result in results.items()}
    {'old': 0.75, 'new': 1.0}
    """
    options = {
        "qid": qid,
        "group": group,
        "query_weight": query_weight,
        "sample_weight": sample_weight,
        "docid": docid,
        "retrieved": retrieved,
        "judged": judged,
        "unjudged": unjudged,
        "columns": columns,
        "by": by,
        "cluster": cluster,
    }
    policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
    if data is not None or label is not None or score is not None:
        refuse_mixture(data, {"y_true": y_true, "y_score": y_score}, {"label": label, "score": score})
    if data is None:
        if isinstance(y_true, Queries):
            raise LtrTypeError("y_true is a Queries, which evaluates scores itself: y_true.evaluate(y_score, metrics).")
        return Queries(y_true, **options).evaluate(y_score, metrics, **policy, skill=skill, n_threads=n_threads)
    needed = resolve_once(metrics, **policy).needed_columns
    score, results = "score" if score is None else score, {}
    with naming_columns(label, options):
        queries = Queries(**read_options(data, label, options, needed))
        for key, name in columns_by_key(score, "score").items():
            y_score = column_of(data, name, "score")
            with naming(name):
                results[key] = queries.evaluate(y_score, metrics, **policy, skill=skill, n_threads=n_threads)
    return results[score] if isinstance(score, str) else results


class AuditedQueries(Queries):
    """Queries that may repeat a document, which an audit reports instead of raising an error."""

    may_repeat_documents: ClassVar[bool] = True


def queries_from(
    y_true: Any, options: Mapping[str, Any], function: str, further: Sequence[str] = (), kind: type[Queries] = Queries
) -> Queries:
    """Return `Queries` with the options that another function has besides its ``further`` ones, or those passed."""
    known = list(inspect.signature(LabelledQueries.__init__).parameters)[2:]
    for name in options.keys() - set(known):
        raise LtrTypeError(
            f"{function} has no option {name!r}.{nearest_option(name, [*further, *known])} Its options for the data "
            f"are {', '.join(known)}."
        )
    if isinstance(y_true, Queries):
        unused = [name for name, value in options.items() if value is not None]
        if unused:
            raise LtrTypeError(
                f"{unused[0]} is not used, because y_true is a Queries, which has all options for the data. Pass "
                f"{unused[0]} to Queries instead."
            )
        return y_true
    queries = kind(y_true, **options)
    queries.warn_of_ids()
    return queries


with_data_options = with_options_of(LabelledQueries)  # for the functions that pass them to `queries_from`


@newest_cached
def _same_for_all_scores(
    queries: LabelledQueries, request: Request
) -> tuple[tuple[native.Sums, Functions], dict[str, Any]]:
    """Have each metric check the labels; return the sums to compute, and fields that all evaluations share."""
    queries.forget_older()
    warns = request.policy.convention == "default" and queries.warns_of_labels
    has_units = type(request.metrics[0]).query_weight is not Metric.query_weight  # as all metrics of the request
    for metric in request.metrics:
        try:
            metric.check(queries)
            if queries.weight is not None:
                request.refuse_weights(metric)
        except LtrValueError as error:
            if request.by_default:
                remedy = " It is one of the default metrics: name the metrics that you need."
                raise LtrValueError(f"{error}{remedy}") from None
            raise
        if warns:
            metric.warn_of_labels(queries)
    return (
        declared_sums(queries, request.metrics),
        {
            "qid": queries.qid,
            "n_documents": queries.n_documents,
            "n_relevant": queries.count_by_query(queries.grades >= 1),
            "weight": _weights(queries, request) if has_units else queries.weight,
            "policy": request.policy,
            "segments": queries.segments,
            "cluster_labels": queries.cluster_labels,
            "fingerprint": fingerprint_of(queries),
            "lower_is_better": request.lower_is_better,
        },
    )


def fingerprint_of(queries: LabelledQueries) -> Fingerprint:
    """Return the fingerprints of labelled queries; until they are computed, it keeps four bytes per row."""
    rows = queries.grades, queries.grade_index, queries.judged, queries.order, queries.starts
    return Fingerprint(partial(hash_by_query, *rows), None if queries.judged is None else queries.unjudged)


def _refuse_infinite(queries: LabelledQueries, names: Sequence[str], matrix: FloatArray) -> None:
    for name, values in zip(names, matrix, strict=True):
        if np.isinf(values).any():
            query = queries.qid[int(np.isinf(values).argmax())]
            raise LtrValueError(
                f"The metric {name} must be finite, or NaN where it is undefined: it is infinite for query {query}."
            )


def _weights(queries: LabelledQueries, request: Request) -> FloatArray | None:
    """Return the weight of each query in the means: the user's, times the number of units that a mean is over."""
    n_units = request.metrics[0].query_weight(queries)
    if n_units is None or queries.weight is None:
        return queries.weight if n_units is None else n_units
    with np.errstate(over="ignore"):
        weight: FloatArray = n_units * queries.weight
    if not np.isfinite(weight).all():
        query = queries.qid[int(np.isinf(weight).argmax())]
        raise LtrValueError(
            f"The weight of query {query}, times its number of {request.metrics[0].mean_over}, is beyond float64. "
            "Scale the weights down."
        )
    return weight


def _apply_no_relevant(queries: LabelledQueries, matrix: FloatArray, request: Request) -> dict[str, BoolArray]:
    """Replace undefined values in place; return, by metric, the queries that count as an unweighted 1."""
    counted_as_one: dict[str, BoolArray] = {}
    policy = request.policy
    for name, values in zip(request.names, matrix, strict=True):
        no_relevant = policy.no_relevant_for(name)
        if no_relevant == "skip":
            continue
        undefined = np.isnan(values)
        if no_relevant == "drop":
            values[queries.count_by_query(queries.grades > 0) == 0] = np.nan
        elif no_relevant == "error" and undefined.any():
            query = queries.qid[int(undefined.argmax())]
            raise LtrValueError(
                f"{name} is undefined for query {query}, for example because no document is relevant (queries like "
                f'this: {int(undefined.sum()):,}). To leave them out of the mean, use no_relevant="skip".'
            )
        elif not isinstance(no_relevant, str):
            values[undefined] = no_relevant
            if name in policy.weighs_undefined_as_one:
                values[undefined] /= weights_above_0(queries.weight, undefined, queries.qid, name, policy.convention)
                counted_as_one[name] = undefined
    return counted_as_one
