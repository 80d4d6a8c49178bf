"""Evaluation on several workers, as threads: all get the mean over all queries, or all get an error."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics._hosts.workers import WorkerData, mean_over_workers

METRICS = ["ndcg@10", "err@10", "map", "mrr"]
X, Y, QID = ltr.make_ranking(n_queries=20, random_state=0)
SCORES = X[:, 0].round(1)


class Threads:
    """Workers that are threads: whoever is left waiting breaks the barrier."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers, self.barrier = n_workers, threading.Barrier(n_workers, timeout=20)
        self.own, self.sent = threading.local(), [None] * n_workers

    rank = property(lambda self: self.own.rank)

    def _all(self, value: Any) -> list[Any]:
        self.sent[self.rank] = value
        self.barrier.wait()
        sent = list(self.sent)
        self.barrier.wait()
        return sent

    def sum(self, numbers: Any) -> Any:
        return np.sum(self._all(numbers), axis=0)

    def broadcast(self, value: Any, rank: int) -> Any:
        return self._all(value)[rank]


def on_workers(
    *parts: Callable[[], WorkerData],
    metrics: Any = METRICS,
    rounds: int = 1,
    own: Any = None,
    log: Any = None,
    **options: Any,
) -> list[Any]:
    """Return what each worker gets in the last round: its means, or its error. Worker 0 may have its own metrics."""
    workers, outcome = Threads(len(parts)), [None] * len(parts)
    plans = [HostMetrics(asked, host="xgboost", **options).plan() for asked in (own or metrics, metrics)]

    def work(rank: int) -> None:
        workers.own.rank = rank
        try:
            for _ in range(rounds):
                first = rank == 0
                outcome[rank] = mean_over_workers(workers, plans[not first], log if first else None, parts[rank])
        except Exception as error:
            outcome[rank] = error

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return outcome


def part(rows: Any, y: Any = Y, scores: Any = SCORES, weight: Any = None, qid: Any = QID) -> Callable[[], WorkerData]:
    queries = ltr.Queries(y[rows], qid=qid[rows], sample_weight=None if weight is None else weight[rows])
    return lambda: WorkerData(queries, scores[rows], True, lambda: np.unique(qid[rows]))


def refused(outcome: list[Any], *texts: str) -> None:
    for error in outcome:
        assert isinstance(error, Exception), outcome
        assert all(text in str(error) for text in texts), outcome


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ties": "worst"},
        {"no_relevant": 0},
        {"convention": "xgboost", "metrics": ["ndcg@10", "ndcg_lin"]},
        {"metrics": ["pair_accuracy(average=micro)"]},
    ],
    ids=str,
)
def test_all_get_the_mean_over_all(n_workers: int, weighted: bool, options: dict[str, Any]) -> None:
    """Worker 0 has no query with a relevant document, and the last one has no rows."""
    y = np.where(QID % n_workers == 0, 0, Y) if n_workers > 1 else Y
    weight = np.repeat(np.random.default_rng(0).random(20) + 0.1, ltr.qid_to_group(QID)) if weighted else None
    shares = [part(QID % n_workers == rank, y, weight=weight) for rank in range(n_workers)]
    options = {"metrics": METRICS} | options
    outcome = on_workers(*shares, WorkerData, rounds=2, names="canonical", **options)
    whole = ltr.evaluate(y, SCORES, qid=QID, sample_weight=weight, **options).mean
    assert all(one == outcome[0] for one in outcome)
    for name, mean in whole.items():
        assert abs(outcome[0][name] - mean) <= np.spacing(mean)  # one unit in the last place


def test_what_one_worker_finds_is_an_error_of_all() -> None:
    first, second = QID < 10, QID >= 10
    nan = np.where(QID[-1] == QID, np.nan, SCORES)
    refused(on_workers(part(first), part(second, scores=nan)), "Worker 1 (of 0 to 1)", "NaN")
    refused(on_workers(part(first), lambda: WorkerData(ltr.Queries(-Y, qid=QID))), "Worker 1 (of 0 to 1)", "got -")

    def fails() -> WorkerData:
        raise ZeroDivisionError("of mine")

    one, other = on_workers(fails, part(second))
    assert isinstance(one, ZeroDivisionError)
    assert str(other) == "Worker 0 (of 0 to 1): ZeroDivisionError: of mine"


def test_what_no_worker_can_find_alone() -> None:
    halves = part(QID < 10), part(QID >= 10)
    refused(on_workers(*halves, own=METRICS[::-1]), "the same metrics in the same order")
    refused(on_workers(*halves, log=ltr.PerQueryLog()), "Worker 0 (of 0 to 1)", "log= keeps what one process evaluates")
    cut = slice(0, 15), slice(15, None)
    refused(on_workers(*map(part, cut)), f"query {QID[15]} are split between this worker and", "whole_queries")
    merged = on_workers(
        part(QID < 10), lambda: WorkerData(ltr.Queries(Y, qid=QID), SCORES, True, lambda: np.arange(95, 100))
    )
    refused(merged, "The data set has 20 queries, and its rows have 5 different ids")
    refused(on_workers(part(QID < 10, Y * 0), part(QID >= 10, Y * 0), metrics="mrr"), "undefined for all 20 queries")
    refused(on_workers(WorkerData, WorkerData), "no rows with labels on any worker")


def test_grades_are_checked_once_over_all_workers() -> None:
    """One worker alone has no high grade, which is no reason to warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        on_workers(part(QID < 10, np.minimum(Y, 1)), part(QID >= 10), metrics="err@10")
    with pytest.warns(ltr.LtrWarning, match="err") as caught:
        on_workers(*(part(i == QID % 2, np.minimum(Y, 1)) for i in range(2)), metrics="err@10")
    assert len(caught) == 1
