"""Leaderboards against a slow version of their definition, and with weights, clusters and gaps."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.inference import correct, resampling


def compared(values: dict[str, Any], *, lower_is_better: bool = False, **options: Any) -> Comparison:
    """Compare values per query of one metric, each pair of models."""
    own = ["v"] if lower_is_better else []
    results = {
        name: ltr.Evaluation.from_per_query({"qid": np.arange(len(of)), "v": of}, lower_is_better=own)
        for name, of in values.items()
    }
    return ltr.compare(results, **({"baseline": None} | options))


def slow_ranks(values: np.ndarray, weight: np.ndarray) -> list[tuple[int, int]]:
    """Return the intervals of the ranks by their definition, with c from other draws."""
    n, rng = len(values), np.random.default_rng(0)
    degrees = weight.sum() ** 2 / (weight**2).sum() - 1
    ranks = []
    for j in range(values.shape[1]):
        low, high = 1, values.shape[1]
        d = values[:, [j]] - np.delete(values, j, axis=1)
        d = d[:, np.ptp(d, axis=0) > 1e-12]
        mean = weight @ d / weight.sum()
        r = weight[:, None] * (d - mean) / weight.sum()
        s = np.sqrt(n / (n - 1) * (r**2).sum(axis=0))
        drawn = np.abs(rng.normal(size=(100_000, n)) @ (r / np.sqrt((r**2).sum(axis=0)))).max(axis=1)
        c = stats.t.ppf(stats.norm.cdf(np.quantile(drawn, 0.95)), degrees)
        ranks.append((low + int((mean < -c * s).sum()), high - int((mean > c * s).sum())))
    return ranks


@pytest.mark.parametrize("weights", [False, True])
def test_ranks_follow_from_the_differences_to_all_others(weights: bool) -> None:
    rng = np.random.default_rng(3)
    values = rng.random((20, 5)).round(1)
    values[:, 3] = values[:, 1]  # two equal models
    values[:, 2] -= 0.5
    values[:, 4] = values[:, 0] + 0.3  # always better by as much, which does not show how queries vary
    weight = np.tile([1.0, 2, 1, 3, 1], 4) if weights else np.ones(20)
    options = {"query_weight": weight} if weights else {}
    board = compared(dict(zip("abcde", values.T, strict=True)), **options).leaderboard
    found = [(board["v", model].rank_low, board["v", model].rank_high) for model in "abcde"]
    assert found == slow_ranks(values, weight)
    assert len(set(found)) > 2
    assert board["v", "b"].rank == board["v", "d"].rank


def test_lower_is_better_reverses_the_ranks_and_keeps_the_means() -> None:
    values = dict(zip("abc", np.random.default_rng(0).random((3, 30)), strict=True))
    up = compared({name: -of for name, of in values.items()}).leaderboard
    down = compared(values, lower_is_better=True).leaderboard
    for row in down.rows:
        mirrored = up["v", row.model]
        assert row.mean == -mirrored.mean
        assert [row.rank, row.rank_low, row.rank_high] == [mirrored.rank, mirrored.rank_low, mirrored.rank_high]
    assert [row.rank for row in down.rows] == [1, 2, 3]


def test_only_queries_with_values_of_all_models_count() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((40, 3))
    gaps = values.copy()
    gaps[0, 0] = gaps[1, 1] = gaps[2, 1] = np.nan
    board = compared(dict(zip("abc", gaps.T, strict=True))).leaderboard
    assert {(row.n_queries, row.n_undefined) for row in board.rows} == {(37, 3)}
    whole = compared(dict(zip("abc", values[3:].T, strict=True))).leaderboard
    for row, one in zip(board.rows, whole.rows, strict=True):
        assert row.to_dict() == pytest.approx(one.to_dict() | {"n_undefined": 3})


def test_a_cluster_is_one_unit() -> None:
    rng = np.random.default_rng(2)
    values = rng.random((25, 3))
    of_clusters = compared(dict(zip("abc", values.T, strict=True))).leaderboard
    repeated = dict(zip("abc", np.repeat(values, 4, axis=0).T, strict=True))
    board = compared(repeated, cluster=np.repeat(np.arange(25), 4)).leaderboard
    fields = ("rank", "rank_low", "rank_high")
    for row, one in zip(board.rows, of_clusters.rows, strict=True):
        assert [getattr(row, name) for name in fields] == [getattr(one, name) for name in fields]
        assert [row.ci_low, row.ci_high] == pytest.approx([one.ci_low, one.ci_high])


def test_the_interval_of_a_mean_is_that_of_intervals() -> None:
    X, y, qid = ltr.make_ranking(n_queries=80, random_state=0)
    scores = {"a": X[:, 0], "b": [X[:, 1], X[:, 2]], "c": X[:, 0] + X[:, 1]}  # b has two seeds
    weight = np.random.default_rng(0).random(80)
    comparison = ltr.compare(scores, y, qid=qid, metrics=["map", "mrr"], query_weight=weight, by=np.arange(80) % 2)
    for part in (comparison, comparison.by[1], comparison.subset(comparison.qid[:30])):
        for row in part.leaderboard.rows:
            one = ltr.intervals(part.evaluations[row.model])[row.metric]
            assert (row.mean, row.ci_low, row.ci_high) == pytest.approx((one.mean, one.ci_low, one.ci_high))


def test_ranks_of_too_few_queries_are_open() -> None:
    comparison = compared({"a": [0.1, 0.5], "b": [0.2, np.nan], "c": [np.nan, 0.3]})
    assert [(row.rank, row.rank_low, row.rank_high) for row in comparison.leaderboard.rows] == [(None, 1, 3)] * 3
    assert all(np.isnan(row.mean) for row in comparison.leaderboard.rows)
    assert comparison.leaderboard.to_dict()["rows"][0]["ci_low"] is None


def test_all_pairs_are_those_of_each_baseline_and_corrected_together() -> None:
    X, y, qid = ltr.make_ranking(n_queries=60, random_state=1)
    scores = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] + X[:, 1]}
    options: dict[str, Any] = {"qid": qid, "metrics": ["map", "ndcg@5"]}
    pairs = ltr.compare(scores, y, baseline=None, **options)
    assert pairs.pairs == [("b", "a"), ("c", "a"), ("c", "b")]
    for baseline in "ab":
        against = ltr.compare(scores, y, baseline=baseline, **options)
        for row in pairs.rows:
            if row.baseline == baseline:
                other = against[row.metric, row.model]
                assert row.to_dict() | {"p_adjusted": 0} == other.to_dict() | {"p_adjusted": 0}
                assert pairs[row.metric, row.model, baseline] == row
    p = [row.p_value for row in pairs.rows if row.metric == "map"]
    assert [row.p_adjusted for row in pairs.rows if row.metric == "map"] == pytest.approx(correct(p, "holm"))
    assert pairs.changes("map", "c", "b").improved.size == pairs["map", "c", "b"].wins
    for key, asked in (("map", "no model"), (("map", "c"), "'c'")):
        with pytest.raises(ltr.LtrKeyError, match=rf"Which pair of models\? Got {asked}\. Pass the model"):
            pairs[key]
    with pytest.raises(ltr.LtrValueError, match="needs a baseline"):
        ltr.gate(pairs, "map > 0")


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_columns_change_no_digit(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, qid = ltr.make_ranking(n_queries=60, random_state=1)
    scores = {f"model {j}": X[:, j % 5] + X[:, j % 3] for j in range(4)}
    options: dict[str, Any] = {"qid": qid, "metrics": ["map", "ndcg@5", "mrr"], "baseline": None, "n_resamples": 500}
    options |= {"query_weight": np.arange(60) + 1.0} if weighted else {}
    together = ltr.compare(scores, y, **options)
    assert together.leaderboard.rows
    for n in (1, 4, 5):
        monkeypatch.setattr(resampling, "MOST_COLUMNS", n)
        monkeypatch.setattr(resampling, "LEAST_COLUMNS", n)
        groups = ltr.compare(scores, y, **options)
        assert groups.rows == together.rows
        assert groups.leaderboard.rows == together.leaderboard.rows


@pytest.mark.slow
def test_memory_hardly_grows_with_the_pairs() -> None:
    """As tests/evaluation/test_memory.py: NumPy tells tracemalloc."""
    rng = np.random.default_rng(0)

    def peak(n_models: int) -> int:
        values = {f"model {j}": rng.random(300) for j in range(n_models)}
        tracemalloc.start()
        try:
            assert compared(values, n_resamples=10_000).leaderboard.rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(24), peak(48)  # 276 and 1,128 pairs
    assert few < 200e6
    assert many < few + 50e6
