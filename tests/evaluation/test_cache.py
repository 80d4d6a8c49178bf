"""What the queries keep for later evaluations: enough for every loop, and never more than a bound."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics._rows import cache


def loops() -> list[Any]:
    """Return metrics that each need arrays of their own: cutoffs, lists and parameters."""
    return [
        *(f"ndcg@{k}" for k in range(1, 60)),
        *([f"map@{k}", f"recall@{k + 1}"] for k in range(1, 30)),
        *(ltr.QMeasure(beta=beta) for beta in range(1, 40)),
    ]


def test_results_are_bounded_and_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BYTES_KEPT", 2**17)
    monkeypatch.setattr(cache, "BYTES_KEPT_PER_ROW", 8)
    rng = np.random.default_rng(0)
    n_queries = 2_000
    y, score = rng.integers(0, 3, 5 * n_queries), rng.normal(size=5 * n_queries)
    queries = ltr.Queries(y, group=[5] * n_queries)
    most, limit = 0, 2**17 + 8 * len(y)
    for metric in loops():
        queries.evaluate(score, metric)
        kept = [*queries.results.newer.values(), *queries.results.older.values()]
        most = max(most, sum(map(cache.n_bytes_of, kept)))
    largest = 8 * len(y) + 20 * 8 * n_queries  # what the newest evaluation may add to either half
    assert limit < most < 2 * (limit + largest)
    again = ltr.Queries(y, group=[5] * n_queries)
    for metric in loops()[::-1]:
        assert queries.evaluate(score, metric).mean == again.evaluate(score, metric).mean


@dataclass(frozen=True, kw_only=True)
class Counted(ltr.RankMetric):
    NAME: ClassVar[str] = "counted"
    n_calls: ClassVar[int] = 0

    def by_grade(self, queries: ltr.Queries) -> np.ndarray:
        type(self).n_calls += 1
        return queries.grades


def test_a_loop_forgets_nothing_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BYTES_KEPT", 0)
    monkeypatch.setattr(cache, "BYTES_KEPT_PER_ROW", 0)
    queries, before = ltr.Queries([1, 0, 2], group=[3]), Counted.n_calls
    for _ in range(5):
        queries.evaluate([3, 2, 1], [Counted(), "map", "kendall"])  # another request each time
    assert Counted.n_calls == before + 1


def test_copies_begin_anew() -> None:
    queries = ltr.Queries([1, 0, 2], group=[3])
    queries.evaluate([3, 2, 1], "ndcg")
    other = pickle.loads(pickle.dumps(queries))
    assert "results" not in vars(other)
    assert queries.results.newer
    assert other.evaluate([3, 2, 1], "ndcg").mean == queries.evaluate([3, 2, 1], "ndcg").mean
