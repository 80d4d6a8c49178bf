"""`evaluate` over the partitions of Dask: lazy, with one task per partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.dask.cuts import hashes_of, refuse_cut_queries
from ltr_metrics.dask.partition import Part, Task, evaluate_partition
from ltr_metrics.dask.rows import Rows
from ltr_metrics.dask.shuffles import evaluate_shuffled
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.distributed import DistributedEvaluation
from ltr_metrics.evaluation.parts import LabelChecks, Totals, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, resolve


def evaluate(
    frame: Any,
    *,
    label: Any = "label",
    score: Any = "score",
    qid: Any = "qid",
    metrics: Metrics | None = None,
    docid: Any = None,
    weight: Any = None,
    by: Sequence[str] = (),
    shuffle: bool = False,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
) -> DistributedEvaluation:
    """Evaluate rows in the partitions of Dask, to the last digit or two as on one machine.

    Nothing is computed at once. When you first use the result, each partition is evaluated once, on
    the worker that has it. Dask's current scheduler does so: a cluster if there is a ``Client``, or
    threads or processes of this machine. The values of the queries stay there. For the means, only
    sums come to this process, and 8 bytes per query to find queries that were cut. Everything else
    (``per_query``, ``qid``, ``save``, a comparison) brings the values of every query here.

    Parameters
    ----------
    frame : dask DataFrame or None
        The rows. None if label, score and qid are Series or arrays.
    label, score, qid : str, dask Series or dask array
        Grades, scores and query ids. Each is the name of a column (or of the index), or has one
        entry a row in the partitions (chunks) of the frame. For example,
        ``score=ranker.predict(X)`` of ``DaskLGBMRanker`` and ``DaskXGBRanker``.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those
        of ndcg@10, map, mrr and err@10 that the convention has.
    docid, weight : str, dask Series or dask array, optional
        Document ids, and row weights. The weight of a query is the mean weight of its rows.
    by : sequence of str
        Columns of segments, with the same label in all rows of a query.
    shuffle : bool, default False
        Whether Dask brings the rows of each query together first. Without it, a query with rows in
        several partitions is an error.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied documents
        (default), input order, lower or higher grade first, or descending document id. The input
        order is that of the partitions and of the rows in them, also after a shuffle.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names, ``ties`` and
        ``no_relevant``.

    Returns
    -------
    DistributedEvaluation
        A `ltr_metrics.Evaluation`. Its queries are in the order of the partitions, and of first
        appearance there.

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        At once: for a missing column, unknown metrics, data that are not in Dask, and different
        numbers of partitions.
        When you use the result: for the errors of `ltr_metrics.evaluate`, with partition and row,
        and for queries that are cut.
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    evaluate_scores : Evaluate several scores at once.
    whole_queries : Move the rows of each query to one partition.
    ltr_metrics.evaluate : Evaluate rows in memory.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 0, 2], "score": [0.2, 0.8, 0.1, 0.7]})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> result = ltr_metrics.dask.evaluate(frame, metrics=["mrr"])
    >>> result["mrr"], result.per_query["mrr"]
    (0.75, array([0.5, 1. ]))
    """
    return evaluate_scores(
        frame,
        {"score": score},
        label=label,
        qid=qid,
        metrics=metrics,
        docid=docid,
        weight=weight,
        by=by,
        shuffle=shuffle,
        ties=ties,
        no_relevant=no_relevant,
        convention=convention,
    )["score"]


def evaluate_scores(
    frame: Any,
    scores: Mapping[str, Any],
    *,
    label: Any = "label",
    qid: Any = "qid",
    metrics: Metrics | None = None,
    docid: Any = None,
    weight: Any = None,
    by: Sequence[str] = (),
    shuffle: bool = False,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
) -> dict[str, DistributedEvaluation]:
    """Evaluate several scores of the same rows, which are read and laid out once.

    Parameters
    ----------
    frame : dask DataFrame or None
        The rows. None if labels, scores and query ids are Series or arrays.
    scores : mapping of str to str, dask Series or dask array
        The scores, by name.
    label, qid : str, dask Series or dask array
        Grades, scores and query ids, as for `evaluate`.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those
        of ndcg@10, map, mrr and err@10 that the convention has.
    docid, weight : str, dask Series or dask array, optional
        Document ids, and row weights. The weight of a query is the mean weight of its rows.
    by : sequence of str
        Columns of segments, with the same label in all rows of a query.
    shuffle : bool, default False
        Whether Dask brings the rows of each query together first. Without it, a query with rows in
        several partitions is an error.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied documents
        (default), input order, lower or higher grade first, or descending document id. The input
        order is that of the partitions and of the rows in them, also after a shuffle.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names, ``ties`` and
        ``no_relevant``.

    Returns
    -------
    dict of str to DistributedEvaluation
        By the names of ``scores``. Using one of them computes all of them.

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        As for `evaluate`, with the name of the score.
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    evaluate : Evaluate one score.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 0, 2]})
    >>> rows = rows.assign(a=[0.2, 0.8, 0.1, 0.7], b=[4, 3, 2, 1])
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> results = ltr_metrics.dask.evaluate_scores(frame, {"old": "a", "new": "b"}, metrics=["mrr"])
    >>> {name: result["mrr"] for name, result in results.items()}
    {'old': 0.75, 'new': 0.75}
    """
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    if not scores:
        raise LtrValueError("Name at least one column of scores. Got none.")
    if request.policy.ties == "docid" and docid is None:
        raise LtrValueError('ties="docid" needs document ids: pass docid=, a column of the frame or one id a row.')
    segmentations = (by,) if isinstance(by, str) else tuple(by)
    columns = request.needed_columns
    sources = {"label": label, "qid": qid, "docid": docid, "weight": weight}
    sources |= {f"score {name}": source for name, source in scores.items()}
    sources |= {f"by {name}": name for name in segmentations} | {f"column {name}": name for name in columns}
    rows = Rows.of(frame, {role: source for role, source in sources.items() if source is not None})
    task = Task(request, tuple(scores), segmentations, columns)
    lazy = evaluate_shuffled(rows, task) if shuffle else rows.each(partial(evaluate_partition, task))
    job = _Job(lazy, task, is_shuffled=shuffle)
    return {
        name: DistributedEvaluation(_PartsOfScore(job, name, weight is not None), request, segmentations)
        for name in scores
    }


@dataclass(frozen=True, eq=False)
class _Sums:
    """What comes to the client from each partition."""

    totals: dict[str, Totals]
    labels: LabelChecks
    hashes: AnyArray


class _Job:
    """All partitions and scores, evaluated once, when a result is first used."""

    def __init__(self, lazy: list[Any], task: Task, *, is_shuffled: bool) -> None:
        self._lazy, self._task, self._is_shuffled = lazy, task, is_shuffled

    @cached_property
    def _evaluated(self) -> tuple[list[Any], dict[str, Totals]]:
        """The parts on the workers, and the totals of each score. Errors are not cached."""
        import dask

        parts = list(dask.persist(*self._lazy))
        sums = [part_sums for part_sums in _compute(_sums_of, parts) if part_sums is not None]
        if not sums:
            raise LtrValueError("No partition has a row: there is no query to evaluate.")
        if not self._is_shuffled:
            refuse_cut_queries([part_sums.hashes for part_sums in sums], lambda function: _compute(function, parts))
        reduce(add, (part_sums.labels for part_sums in sums)).check(self._task.request)
        return parts, {name: reduce(add, (part_sums.totals[name] for part_sums in sums)) for name in self._task.scores}

    def totals(self, score: str) -> Totals:
        return self._evaluated[1][score]

    def gather(self, score: str) -> Evaluation:
        parts, _ = self._evaluated
        results = [result for result in _compute(partial(_result_of, score), parts) if result is not None]
        result = concat_evaluations(evaluation for evaluation, _ in results)
        segments = dict(result.segments)
        for name in segments.keys() & results[0][1].keys():
            ordered = list(dict.fromkeys(label for _, categories in results for label in categories[name]))
            labels, code = segments[name]
            order = np.argsort([ordered.index(label) for label in labels])
            segments[name] = [labels[i] for i in order], np.argsort(order)[code]
        return replace(result, segments=segments)


@dataclass(frozen=True, eq=False)
class _PartsOfScore:
    """The parts of one score, for `DistributedEvaluation`."""

    job: _Job
    score: str
    is_weighted: bool

    def totals(self) -> Totals:
        return self.job.totals(self.score)

    def gather(self) -> Evaluation:
        return self.job.gather(self.score)


def _compute(function: Callable[..., Any], parts: list[Any]) -> tuple[Any, ...]:
    """Call a function with each part, where it is, and bring the results here."""
    import dask

    task = dask.delayed(function)
    return tuple(dask.compute(*(task(part) for part in parts)))


def _sums_of(part: Part | None) -> _Sums | None:
    if part is None:
        return None
    totals = {name: Totals.of(result.per_query, result.weight) for name, result in part.results.items()}
    return _Sums(totals, part.labels, hashes_of(next(iter(part.results.values())).qid))


def _result_of(score: str, part: Part | None) -> tuple[Evaluation, dict[str, list[Hashable]]] | None:
    return None if part is None else (part.results[score], part.categories)
