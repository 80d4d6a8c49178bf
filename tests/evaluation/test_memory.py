"""How many bytes per row evaluations take beyond the caller's arrays; NumPy tells tracemalloc, and no clock is asked."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.slow

FIVE = [f"ndcg_{gain}@{k}" for gain in ("exp", "lin") for k in (1, 3, 5, 10)] + ["map", "mrr", "err@10"]


def peak_and_rest(n_queries: int, metrics: list[str], levels: int | None, dtype: type) -> tuple[float, float]:
    """Bytes a row at the highest point of preparing and one evaluation, and those that stay."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(np.log(108), 0.5, n_queries), 1, 1200).astype(np.int64)
    y = rng.choice(5, sizes.sum(), p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(dtype)
    score = rng.normal(size=len(y)).astype(dtype) if levels is None else rng.integers(0, levels, len(y)).astype(dtype)
    tracemalloc.start()
    try:
        queries = ltr.Queries(y, group=sizes)
        result = queries.evaluate(score, metrics)
        stays, peak = tracemalloc.get_traced_memory()
        assert queries.n_queries == result.n_queries
    finally:
        tracemalloc.stop()
    return peak / len(y), stays / len(y)


@pytest.mark.parametrize("levels", [None, 31])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_at_most_20_bytes_a_row(levels: int | None, dtype: type) -> None:
    peak_and_rest(10, FIVE, None, np.float64)  # what is made once for all is no memory of these rows
    peak, stays = peak_and_rest(4_000, FIVE, levels, dtype)
    assert peak <= 20
    assert stays <= 8


def test_what_is_not_asked_for_takes_none() -> None:
    _, all_five = peak_and_rest(2_000, FIVE, None, np.float64)
    _, top = peak_and_rest(2_000, ["ndcg@10"], None, np.float64)
    assert top < all_five - 1  # what the others declare


def test_segments_take_no_mask_each() -> None:
    n = 10_000
    result = ltr.evaluate(np.ones(2 * n), np.zeros(2 * n), group=[1] * 2 * n, by=np.arange(2 * n) // 2, metrics="map")
    tracemalloc.start()
    try:
        assert len(result.by) == n
        assert tracemalloc.get_traced_memory()[1] < 8_000 * n
    finally:
        tracemalloc.stop()
