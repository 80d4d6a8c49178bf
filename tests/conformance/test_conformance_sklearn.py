"""scikit-learn's ndcg_score and dcg_score: averaged ties, linear gain."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import dcg_score, ndcg_score
from strategies import random_data

import ltr_metrics as ltr

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("k", [None, 1, 10, 100])
@pytest.mark.parametrize("levels", [1, 6, 10_000])
@pytest.mark.parametrize("grades", [[0, 0, 1, 2, 3, 4], [0, 0, 0.1, 0.25, 0.5, 2.7]], ids=["graded", "fractional"])
def test_names_under_the_convention(k: int | None, levels: int, grades: list[float]) -> None:
    """Queries of one document are left out: scikit-learn refuses them."""
    data = random_data(0, grades, levels=levels, max_documents=60)
    names = [name if k is None else f"{name}@{k}" for name in ("ndcg", "dcg")]
    result = ltr.evaluate(data.y, data.score, group=data.group, metrics=names, convention="sklearn")
    for query, (y, score) in enumerate(data.queries()):
        if len(y) > 1:
            theirs = [f([y], [score], k=k) for f in (ndcg_score, dcg_score)]
            ours = [result.per_query[name][query] for name in names]
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        else:
            with pytest.raises(ValueError, match="Got 1 instead"):
                ndcg_score([y], [score], k=k)
