"""SciPy's kendalltau (tau-b) and spearmanr, and scikit-learn's roc_auc_score."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from strategies import Data, random_data

import ltr_metrics as ltr

stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")

CORRELATIONS = {"kendall": stats.kendalltau, "spearman": stats.spearmanr}
GRADES = {
    "graded": [0, 1, 2, 3, 4],
    "fractional": [0, 0.1, 0.25, 0.5, 0.7, 1.3],
    "distinct": np.random.default_rng(0).uniform(size=10_000),
}


def correlation(metric: str, y: list[float], score: list[float]) -> float:
    """SciPy's value; undefined where grades are equal, and 0 where only the scores are (SciPy: NaN)."""
    if len(set(y)) == 1:
        return np.nan
    if len(set(score)) == 1:
        return 0.0
    return CORRELATIONS[metric](y, score).statistic


def per_query(metric: str, data: Data) -> np.ndarray:
    return ltr.evaluate(data.y, data.score, group=data.group, metrics=metric).per_query[metric]


@pytest.mark.parametrize("metric", CORRELATIONS)
@pytest.mark.parametrize("grades", GRADES)
@pytest.mark.parametrize("levels", [2, 6, 10_000])
def test_correlations(metric: str, grades: str, levels: int) -> None:
    data = random_data(levels, GRADES[grades], levels=levels)
    expected = [correlation(metric, y, score) for y, score in data.queries()]
    assert {np.isnan(value) for value in expected} == {True, False}
    np.testing.assert_allclose(per_query(metric, data), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", CORRELATIONS)
@pytest.mark.parametrize("grades", GRADES)
def test_correlations_of_long_lists(metric: str, grades: str) -> None:
    data = random_data(0, GRADES[grades], levels=500, n_queries=4, max_documents=5000)
    expected = [correlation(metric, y, score) for y, score in data.queries()]
    np.testing.assert_allclose(per_query(metric, data), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("levels", [1, 6, 10_000])
def test_pair_accuracy_of_two_grades_is_the_area_under_the_roc_curve(levels: int) -> None:
    data = random_data(levels, [0, 1], levels=levels)
    expected = [roc_auc_score(y, score) if len(set(y)) == 2 else np.nan for y, score in data.queries()]
    np.testing.assert_allclose(per_query("pair_accuracy", data), expected, rtol=0, atol=1e-12)
    gauc = np.ma.average(np.ma.masked_invalid(expected), weights=data.group)  # of impressions
    result = ltr.evaluate(data.y, data.score, group=data.group, query_weight=data.group, metrics="pair_accuracy")
    assert result["pair_accuracy"] == pytest.approx(gauc, rel=1e-12)
