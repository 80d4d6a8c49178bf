"""scikit-learn's ndcg_score and dcg_score: averaged ties, linear gain."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import dcg_score, ndcg_score

import ltr_metrics as ltr


@pytest.mark.parametrize("k", [None, 1, 3, 5, 10, 100])
@pytest.mark.parametrize("gain", ["linear", "exp"])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_averaged_ties(k: int | None, gain: str, levels: int) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(2, 60, 50)
    y, s = rng.choice(5, group.sum(), p=[0.6, 0.2, 0.1, 0.06, 0.04]), rng.integers(0, levels, group.sum())
    result = ltr.evaluate(y, s, group=group, metrics=[ltr.NDCG(k=k, gain=gain), ltr.DCG(k=k, gain=gain)], no_relevant=0)
    gains = y if gain == "linear" else 2.0**y - 1
    for query, rows in enumerate(np.split(np.arange(len(y)), np.cumsum(group)[:-1])):
        theirs = [f([gains[rows]], [s[rows]], k=k) for f in (ndcg_score, dcg_score)]
        ours = [values[query] for values in result.per_query.values()]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
