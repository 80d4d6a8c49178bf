"""Evaluate a fitted model round by round, on queries and for metrics that are resolved already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._hosts.host_metrics import refuse_undefined_means
from ltr_metrics.curves.fitted import Fitted
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.training_log import PerQueryLog
from ltr_metrics.metrics.requests import Request


def evaluate_rounds(
    fitted: Fitted,
    queries: Queries,
    request: Request,
    *,
    every: int,
    name: str,
    start: FloatArray | None = None,
    n_threads: int | None = None,
    show: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> PerQueryLog:
    """Return the log of a model's rounds on one data set.

    ``show`` may display the progress while the numbers of rounds pass through it.
    """
    scores_of_rounds, stops = fitted.scores(every, start, queries.n_rows)
    log = PerQueryLog()
    for n_rounds, scores in zip(show(stops), scores_of_rounds, strict=True):
        result = queries.evaluate_request(scores, request, n_threads)
        refuse_undefined_means(result)
        log.record(queries, result, request, name=name, number=n_rounds - 1)
    return log
