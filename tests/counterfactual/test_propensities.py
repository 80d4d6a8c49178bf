"""Propensities estimated from simulated clicks, and those that cannot be estimated."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.counterfactual import Propensities, estimate_propensities

THETA = 1 / np.arange(1.0, 6) ** 0.8


def log_of_rankers(n: int, n_queries: int, seed: int, rankers: int = 3) -> dict[str, Any]:
    """Lists of 5 of 8 documents by several rankers, with clicks of the position-based model."""
    made, rng = np.random.default_rng(0), np.random.default_rng(seed)
    attraction = made.uniform(0.05, 0.9, (n_queries, 8))
    noisy = 2 * attraction + made.normal(size=(rankers, n_queries, 8))
    lists = np.argsort(-noisy, axis=2)[:, :, :5]
    query, ranker = rng.integers(0, n_queries, n), rng.integers(0, rankers, n)
    document = lists[ranker, query]
    clicks = rng.random((n, 5)) < THETA * attraction[query[:, None], document]
    position = np.tile(np.arange(1, 6), n)
    return {"clicks": clicks.ravel(), "position": position, "qid": np.repeat(query, 5), "document": document.ravel()}


def z_values(table: Propensities) -> np.ndarray:
    """Errors of the logarithms, in standard errors."""
    errors: np.ndarray = table.standard_error[1:] / table.propensity[1:]
    z: np.ndarray = np.log(table.propensity[1:] / THETA[1:]) / errors
    return z


def test_the_propensities_are_recovered() -> None:
    log = log_of_rankers(60_000, 50, seed=1)
    table = estimate_propensities(**log, method="harvesting")
    assert table.propensity[0] == 1
    assert table.standard_error[0] == 0
    assert (np.abs(z_values(table)) < 2).all()
    assert (table.standard_error < 0.03).all()


@pytest.mark.slow
def test_memory_does_not_grow_with_pairs_of_positions_times_clusters() -> None:
    """As tests/evaluation/test_memory.py: NumPy tells tracemalloc."""
    n, n_positions = 20_000, 40
    rng, position = np.random.default_rng(0), np.tile(np.arange(1, n_positions + 1), n)
    clicks, qid = rng.random(len(position)) < 0.3 / position, np.repeat(np.arange(n), n_positions)
    tracemalloc.start()
    try:
        estimate_propensities(clicks, position, qid=qid, method="randomized")
        assert tracemalloc.get_traced_memory()[1] < 150e6  # all 780 pairs would take 125e6 more
    finally:
        tracemalloc.stop()


def test_swaps_of_positions() -> None:
    """A propensity is the ratio of click rates within each experiment, which swaps the positions 1 and k."""
    rng = np.random.default_rng(0)
    swapped = [1 + rng.integers(1, 5, 9_000), np.ones(9_000, dtype=int)]
    experiment = [f"1-{k}" for k in swapped[0]] * 2
    position = np.concatenate(swapped)
    attraction = np.array([np.nan, 0.9, 0.7, 0.5, 0.3])[swapped[0] - 1]  # another one in each experiment
    clicks = rng.random(18_000) < THETA[position - 1] * np.tile(attraction, 2)
    table = estimate_propensities(
        clicks, position, qid=np.tile(np.arange(9_000), 2), method="randomized", experiment=experiment
    )
    for k in range(2, 6):
        rows = np.array(experiment) == f"1-{k}"
        ratio = clicks[rows & (position == k)].mean() / clicks[rows & (position == 1)].mean()
        assert table.propensity[k - 1] == pytest.approx(ratio, rel=1e-12)
    assert (np.abs(z_values(table)) < 2.5).all()


def test_the_standard_error_of_a_ratio_of_two_rates_is_the_usual_one() -> None:
    """Of independent rows: the variance of log(p2 / p1) is (1 - p1) / c1 + (1 - p2) / c2, but for n / (n - 1)."""
    clicks, position = [1] * 40 + [0] * 60 + [1] * 10 + [0] * 190, [1] * 100 + [2] * 200
    table = estimate_propensities(clicks, position, qid=range(300), method="randomized")
    assert table.propensity == pytest.approx([1, 0.125], rel=1e-12)
    expected = 0.125 * np.sqrt((0.6 / 40 + 0.95 / 10) * 300 / 299)
    assert table.standard_error[1] == pytest.approx(expected, rel=1e-12)


def test_positions_that_are_not_compared_are_named() -> None:
    log = log_of_rankers(5_000, 20, seed=0, rankers=1)  # one ranker: each document at one position
    with pytest.raises(ltr.LtrValueError, match="cannot be compared with position 1: 2, 3, 4, 5"):
        estimate_propensities(**log, method="harvesting")
    log = log_of_rankers(5_000, 20, seed=0)
    apart = np.where(log["position"] > 3, log["document"] + 100, log["document"])
    with pytest.raises(ltr.LtrValueError, match="cannot be compared with position 1: 4, 5"):
        estimate_propensities(**log | {"document": apart}, method="harvesting")  # type: ignore[arg-type]


def test_positions_are_compared_through_others() -> None:
    rng = np.random.default_rng(0)
    position, document = [1, 2] * 4_000 + [2, 3] * 4_000, ["a"] * 8_000 + ["b"] * 8_000
    clicks = rng.random(16_000) < 0.9 * THETA[np.array(position) - 1]
    table = estimate_propensities(
        clicks, position, qid=[1] * 16_000, document=document, method="harvesting", cluster=np.arange(16_000) // 2
    )
    assert table.propensity == pytest.approx(THETA[:3], abs=0.03)


ROWS: dict[str, Any] = {"clicks": [1, 0, 1, 1], "position": [1, 2, 1, 2], "qid": [1, 1, 2, 2], "method": "randomized"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an experiment": (
        {"method": "harvesting", "document": [1, 2, 3, 4], "experiment": [1] * 4},
        "does not use experiment",
    ),
    "grades": ({"clicks": [2, 0, 1, 1]}, "clicks must be True or False for each row: got .*2.* at row 0"),
    "positions from 0": (
        {"position": [0, 1, 0, 1]},
        "position must be whole numbers from 1 to 1,000,000: got 0 at row 0",
    ),
    "one position": ({"position": [1, 1, 1, 1]}, "two positions to compare. All 4 rows are at one"),
    "one cluster": ({"qid": [1, 1, 1, 1]}, "in one cluster"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_log(name: str) -> None:
    options, message = REFUSED[name]
    with pytest.raises(ltr.LtrError, match=message):
        estimate_propensities(**ROWS | options)


def test_few_clusters_are_reported() -> None:
    with pytest.warns(ltr.LtrWarning, match="in 2 clusters"):
        estimate_propensities(**ROWS)


def test_a_table_with_gaps() -> None:
    with pytest.raises(ltr.LtrValueError, match="position must ascend"):
        Propensities([1, 0.5], position=[2, 1])
    table = Propensities([1, 0.5], position=[1, 4])
    assert table.of_rows([4, 0, 1]).tolist() == [0.5, 0, 1]
    for row, message in ((2, "no propensity for position 2, first at row 0"), (1e19, "from 0 to 1,000,000: got 1e")):
        with pytest.raises(ltr.LtrValueError, match=message):
            table.of_rows([row])
    assert table.to_dict() == {"propensity": [1, 0.5], "position": [1, 4], "standard_error": None, "method": "given"}


@pytest.mark.integration
def test_those_of_xgboost_are_read() -> None:
    import xgboost

    rng = np.random.default_rng(0)
    X, clicks = rng.normal(size=(400, 2)), rng.random(400) < np.tile(THETA, 80)
    data = xgboost.DMatrix(X, clicks, qid=np.repeat(np.arange(80), 5))
    params = {"objective": "rank:ndcg", "nthread": 1, "lambdarank_num_pair_per_sample": 5}
    table = Propensities.from_xgboost(xgboost.train(params | {"lambdarank_unbiased": True}, data, 2))
    assert (len(table), table.propensity[0], table.method) == (5, 1, "xgboost")
    assert (table.propensity > 0).all()
    with pytest.raises(ltr.LtrValueError, match=r"no ti\+.*rank:ndcg.*lambdarank_unbiased=True"):
        Propensities.from_xgboost(xgboost.train(params, data, 1))
