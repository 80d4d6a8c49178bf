"""`evaluate` over the partitions of Dask: a task a partition, and not before a result is asked for something."""

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
from ltr_metrics.dask.partition import Asked, Part, evaluated
from ltr_metrics.dask.rows import Rows
from ltr_metrics.dask.shuffles import shuffled
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.distributed import DistributedEvaluation
from ltr_metrics.evaluation.parts import LabelChecks, Totals, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, resolve
from ltr_metrics.metrics.shown import MeanOf


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
    """Evaluate rows in the partitions of Dask, to the last digit or two as one machine would.

    Nothing is computed here. When the result is first asked for something, each partition is evaluated once, where it is, by the
    scheduler that Dask then has: a cluster, if there is a ``Client``, or this machine's threads or processes. What its queries
    give stays there; the means bring sums here, and 8 bytes a query to find out whether a query was cut. All else
    (``per_query``, ``qid``, `save`, a comparison) brings the values of every query here.

    Parameters
    ----------
    frame : dask DataFrame or None
        None if label, score and qid are Series or arrays.
    label, score, qid : str, dask Series or dask array
        Grades, scores and query ids: a column's name (or that of the index), or one entry a row in the partitions (chunks) of the frame, such as
        ``score=ranker.predict(X)`` of ``DaskLGBMRanker`` and ``DaskXGBRanker``.
    metrics, ties, no_relevant, convention
        As for `ltr_metrics.evaluate`. Columns that ``mean_of`` needs are taken from the frame by name. With ``ties="stable"`` the
        order of rows is that of the partitions and of the rows in them, also after a shuffle.
    docid, weight : str, dask Series or dask array, optional
        Document ids, and row weights, whose mean is a query's weight.
    by : sequence of str
        Columns of segments, the same label in all rows of a query.
    shuffle : bool, default False
        Whether Dask is to bring the rows of each query together first. Without it a query whose rows are in several partitions is
        an error.

    Returns
    -------
    DistributedEvaluation
        An `Evaluation`; its queries are in order of partitions, and of first appearance there.

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        At once: a column that is not there, unknown metrics, anything that is not in Dask, other numbers of partitions.
        When the result is asked: what `ltr_metrics.evaluate` refuses, with partition and row; queries that are cut.
    MissingExtraError
        If Dask is not installed.

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
    """Evaluate several scores of the same rows, which are read and laid out once; see `evaluate` for the parameters.

    Parameters
    ----------
    scores : mapping of str to str, dask Series or dask array
        By the name of what each is evaluated as.

    Returns
    -------
    dict of str to DistributedEvaluation
        By the names of ``scores``. The first that is asked for something has all of them computed.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 0, 2], "a": [0.2, 0.8, 0.1, 0.7], "b": [4, 3, 2, 1]})
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
    further = [metric.column for metric in request.metrics if isinstance(metric, MeanOf)]
    wanted = {"label": label, "qid": qid, "docid": docid, "weight": weight}
    wanted |= {f"score {name}": source for name, source in scores.items()}
    wanted |= {f"by {name}": name for name in segmentations} | {f"column {name}": name for name in further}
    rows = Rows.of(frame, {role: source for role, source in wanted.items() if source is not None})
    asked = Asked(request, tuple(scores), segmentations, tuple(dict.fromkeys(further)))
    lazy = shuffled(rows, asked) if shuffle else rows.each(partial(evaluated, asked))
    job = _Job(lazy, asked, is_shuffled=shuffle)
    return {
        name: DistributedEvaluation(_PartsOf(job, name, weight is not None), request, segmentations) for name in scores
    }


@dataclass(frozen=True, eq=False)
class _Sums:
    """What comes of each partition to the client."""

    totals: dict[str, Totals]
    labels: LabelChecks
    hashes: AnyArray


class _Job:
    """All partitions and scores: evaluated once, when the first of them is asked for something."""

    def __init__(self, lazy: list[Any], asked: Asked, *, is_shuffled: bool) -> None:
        self._lazy, self.asked, self._is_shuffled = lazy, asked, is_shuffled

    @cached_property
    def _kept(self) -> tuple[list[Any], _Sums]:
        import dask

        parts = list(dask.persist(*self._lazy))
        found = [sums for sums in self._of_each(_sums, parts) if sums is not None]
        if not found:
            raise LtrValueError("No partition has a row: there is no query to evaluate.")
        if not self._is_shuffled:
            refuse_cut_queries([sums.hashes for sums in found], lambda task: self._of_each(task, parts))
        labels = reduce(add, (sums.labels for sums in found))
        labels.check(self.asked.request)
        totals = {name: reduce(add, (sums.totals[name] for sums in found)) for name in self.asked.scores}
        return parts, _Sums(totals, labels, np.zeros(0))

    def totals(self, score: str) -> Totals:
        return self._kept[1].totals[score]

    def gather(self, score: str) -> Evaluation:
        parts, _ = self._kept
        found = [part for part in self._of_each(partial(_result, score), parts) if part is not None]
        result = concat_evaluations(part for part, _ in found)
        segments = dict(result.segments)
        for name in segments.keys() & found[0][1].keys():
            ascending = dict.fromkeys(label for _, of_part in found for label in of_part[name])
            labels, code = segments[name]
            order = np.argsort([list(ascending).index(label) for label in labels])
            segments[name] = [labels[i] for i in order], np.argsort(order)[code]
        return replace(result, segments=segments)

    def _of_each(self, function: Callable[..., Any], parts: list[Any]) -> tuple[Any, ...]:
        import dask

        task = dask.delayed(function)
        return tuple(dask.compute(*(task(part) for part in parts)))


@dataclass(frozen=True, eq=False)
class _PartsOf:
    """The parts of one score, as `DistributedEvaluation` asks for them."""

    job: _Job
    score: str
    is_weighted: bool

    def totals(self) -> Totals:
        return self.job.totals(self.score)

    def gather(self) -> Evaluation:
        return self.job.gather(self.score)


def _sums(part: Part | None) -> _Sums | None:
    if part is None:
        return None
    totals = {name: Totals.of(result.per_query, result.weight) for name, result in part.results.items()}
    return _Sums(totals, part.labels, hashes_of(next(iter(part.results.values())).qid))


def _result(score: str, part: Part | None) -> tuple[Evaluation, dict[str, list[Hashable]]] | None:
    return None if part is None else (part.results[score], part.ascending)
