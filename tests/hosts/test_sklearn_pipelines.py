"""Pipelines inside `QueryRanker`: the model is that of steps and estimator fitted by hand on X without the ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from folds import estimator_of, fit_by_hand, frame, lgbm_ranker, scattered
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

X, y, qid = scattered()

ROUTES_TO_SELECTIONS = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="a Pipeline of scikit-learn before 1.9 routes nothing through SelectFromModel",
)


@pytest.fixture(scope="module")
def weight() -> np.ndarray:
    return np.random.default_rng(0).random(len(y))


def by_hand(estimator: Any, **per_row: np.ndarray) -> np.ndarray:
    """Predictions of an estimator behind a scaler, both fitted without `QueryRanker`."""
    scaled = StandardScaler().fit_transform(X)
    return fit_by_hand(estimator, scaled, y, qid, **per_row).predict(scaled)


class TestTheModel:
    def test_fit_parameters_are_those_of_the_last_step(self) -> None:
        start = np.random.default_rng(1).random(len(y))
        expected = by_hand(lgbm_ranker(), init_score=start)
        for name in ("init_score", "lgbmranker__init_score"):
            made = QueryRanker(make_pipeline(StandardScaler(), lgbm_ranker())).fit(X, y, qid=qid, **{name: start})
            np.testing.assert_allclose(made.predict(X), expected, rtol=1e-6)

    @pytest.mark.parametrize("selecting", [False, pytest.param(True, marks=ROUTES_TO_SELECTIONS)])
    def test_with_routing_the_other_steps_get_what_they_request(self, selecting: bool, weight: np.ndarray) -> None:
        select: Any = "passthrough"
        with sklearn.config_context(enable_metadata_routing=True):
            if selecting:
                select = SelectFromModel(QueryRanker(Ridge()).set_fit_request(sample_weight=False), threshold="mean")
            scaler = StandardScaler().set_fit_request(sample_weight=True)
            made = QueryRanker(make_pipeline(scaler, select, Ridge()))
            made.fit(frame(X, qid), y, sample_weight=weight)
        scaled = StandardScaler().fit(X, sample_weight=weight).transform(X)
        if selecting:
            scaled = SelectFromModel(Ridge(), threshold="mean").fit_transform(scaled, y)
            assert 0 < scaled.shape[1] < 6
        plain = Ridge().fit(scaled, y, sample_weight=weight)
        np.testing.assert_allclose(made.predict(frame(X, qid)), plain.predict(scaled))


class TestAttributesOfTheFittedEstimator:
    def test_they_are_there_where_the_estimator_has_them(self) -> None:
        linear, boosted = QueryRanker(Ridge()), QueryRanker(lgbm_ranker())
        for made in (linear, boosted):
            assert not hasattr(made, "coef_")
            assert not hasattr(made, "feature_importances_")
            with pytest.raises(sklearn.exceptions.NotFittedError):
                made.feature_importances_  # noqa: B018
            made.fit(frame(X, qid), y)
        np.testing.assert_allclose(linear.coef_, Ridge().fit(X, y).coef_)
        assert linear.intercept_ == linear.estimator_.intercept_
        np.testing.assert_array_equal(boosted.feature_importances_, boosted.estimator_.feature_importances_)
        assert len(linear.coef_) == len(boosted.feature_importances_) == 6

    def test_of_a_last_step_that_sees_the_columns_of_X(self) -> None:  # noqa: N802
        scaled = make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), Ridge()))
        for inputs, ids in ((X, qid), (frame(X, qid), None)):
            made = QueryRanker(scaled).fit(inputs, y, qid=ids)
            np.testing.assert_array_equal(made.coef_, made.estimator_[-1][-1].coef_)
        others = (PCA(), SelectKBest(f_regression, k=3), FunctionTransformer(lambda X: X[:, ::-1]))
        for step in others:
            made = QueryRanker(make_pipeline(step, Ridge())).fit(X, y, qid=qid)
            assert not hasattr(made, "coef_")
            assert hasattr(made, "intercept_")
            with pytest.raises(AttributeError, match=r"belongs to the columns that the steps before it return"):
                made.coef_  # noqa: B018

    @pytest.mark.parametrize("routing", [False, pytest.param(True, marks=ROUTES_TO_SELECTIONS)])
    def test_selection_before_a_ranker(self, routing: bool) -> None:
        select = SelectFromModel(QueryRanker(Ridge()), threshold="mean")
        piped = make_pipeline(select, QueryRanker(lgbm_ranker()))
        with sklearn.config_context(enable_metadata_routing=routing):
            named = {"qid": qid} if routing else {"selectfrommodel__qid": qid, "queryranker__qid": qid}
            piped.fit(X, y, **named)
        chosen = SelectFromModel(Ridge(), threshold="mean").fit(X, y).get_support()
        expected = fit_by_hand(lgbm_ranker(), X[:, chosen], y, qid).predict(X[:, chosen])
        np.testing.assert_array_equal(piped.predict(X), expected)


class TestEstimatorsTrainedOnTheIds:
    """A scorer sees that an estimator outside of `QueryRanker` was fitted on the column of queries."""

    MESSAGE = r"was trained on column ('qid'|6) of X, the ids of the queries.*QueryRanker\("

    @pytest.mark.parametrize("host", ["Ridge", "LGBMRegressor", "XGBRegressor"])
    @pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
    def test_a_plain_regressor(self, host: str, kind: str) -> None:
        inputs = {"pandas": frame(X, qid), "polars": pl.from_pandas(frame(X, qid)), "array": np.column_stack([X, qid])}
        column: str | int = 6 if kind == "array" else "qid"
        scorer, estimator = make_scorer("mrr", column), estimator_of(host)
        with pytest.warns(ltr.LtrWarning, match=f"{host} {self.MESSAGE}{host}"):
            scorer(estimator.fit(inputs[kind], y), inputs[kind], y)
        scorer(QueryRanker(estimator, qid=column).fit(inputs[kind], y), inputs[kind], y)

    def test_in_a_pipeline_unless_a_step_drops_them(self) -> None:
        inputs, scorer = frame(X, qid), make_scorer("mrr")
        keeping = ColumnTransformer([("scaled", StandardScaler(), ["f0"])], remainder="passthrough")
        for step in (StandardScaler(), keeping):
            with pytest.warns(ltr.LtrWarning, match=r"with all steps before it.*QueryRanker\(\.\.\.\)"):
                scorer(make_pipeline(step, Ridge()).fit(inputs, y), inputs, y)
        dropping = ColumnTransformer([("ids", "drop", ["qid"])], remainder="passthrough")
        for step in (dropping, FunctionTransformer(lambda X: X.drop(columns="qid")), PCA()):
            scorer(make_pipeline(step, Ridge()).fit(inputs, y), inputs, y)
