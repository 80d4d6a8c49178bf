"""Seeds of one configuration against each other pass the gate as often as the confidence says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import ltr_metrics as ltr

N_SEEDS = 20


def passes(results: list[ltr.Evaluation], baseline: int, rule: str, n_resamples: int) -> list[bool]:
    models = {f"seed {i}": result for i, result in enumerate(results)}
    comparison = ltr.compare(models, baseline=f"seed {baseline}", n_resamples=n_resamples)
    return [check.passed for check in ltr.gate(comparison, rule).checks]


@pytest.mark.slow
def test_seeds_that_differ_by_noise_alone_pass_a_margin_of_0_in_one_of_forty_cases() -> None:
    """20 seeds that are equally good for the population of queries; 80 samples of 120 queries of it."""
    shares, far = [], []
    for sample in range(80):
        rng = np.random.default_rng(sample)
        y = (rng.random((120, 8)) < 0.4) * rng.integers(1, 4, (120, 8))
        signal, group = y + rng.normal(size=y.shape), np.full(120, 8)
        queries = ltr.Queries(y.ravel(), group=group)
        seeds = [
            queries.evaluate((signal + rng.normal(scale=0.7, size=y.shape)).ravel(), "ndcg@5") for _ in range(N_SEEDS)
        ]
        shares.append(np.mean(passes(seeds, 0, "ndcg@5 > 0", 1_000)))
        far.append(np.mean(passes(seeds, 0, "ndcg@5 > -0.2", 1_000)))
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))  # those of one sample share its queries and its baseline
    assert abs(np.mean(shares) - 0.025) < 3 * error + 0.005
    assert 0.01 < np.mean(shares) < 0.05
    assert np.mean(far) == 1


def test_the_mean_of_seeds_is_compared_more_sharply_than_each() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = ltr.make_ranking(200, random_state=0)
    base = [X[:, 0] + rng.normal(scale=1.5, size=len(y)) for _ in range(8)]
    new = [X[:, 0] + 0.2 * X[:, 1] + rng.normal(scale=1.5, size=len(y)) for _ in range(8)]
    together = ltr.compare({"base": base, "new": new}, y, qid=qid, metrics="ndcg@10", test="t")["ndcg@10"]
    apart = ltr.compare({"base": base[0], "new": new[0]}, y, qid=qid, metrics="ndcg@10", test="t")["ndcg@10"]
    assert together.mde < 0.7 * apart.mde
    means = [ltr.evaluate(y, one, qid=qid, metrics="ndcg@10").per_query["ndcg@10"] for one in (*base, *new)]
    difference = np.mean(means[8:], axis=0) - np.mean(means[:8], axis=0)
    by_scipy = stats.ttest_1samp(difference[~np.isnan(difference)], 0).pvalue
    assert together.p_value == pytest.approx(by_scipy, rel=1e-9)
