"""What scikit-learn's tools for explaining, combining and selecting do with a `QueryRanker`: docs/hosts/sklearn.md."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import StackingRegressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker

pytestmark = pytest.mark.integration
since_1_6 = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6),
    reason="before scikit-learn 1.6, RFECV routes no qid, and a kind of an estimator is its own attribute",
)

X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
FRAME = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
SETTINGS: dict[str, Any] = {"n_estimators": 3, "verbose": -1, "n_jobs": 1, "random_state": 0}


def ranker() -> QueryRanker:
    return QueryRanker(lgb.LGBMRanker(**SETTINGS))


@since_1_6
def test_selection_by_elimination_without_the_column_of_ids() -> None:
    selected = RFE(ranker(), n_features_to_select=3).fit(FRAME.drop(columns="qid"), y, qid=qid)
    assert selected.n_features_in_ == X.shape[1]
    is_feature = "of X holds the ids that are passed as qid, and the estimator is trained on it as on a feature"
    with pytest.warns(ltr.LtrWarning, match=f"A column {is_feature}"):
        RFE(ranker(), n_features_to_select=3).fit(FRAME, y, qid=qid)
    for ids in (qid, qid.astype(float)):
        with pytest.warns(ltr.LtrWarning, match=f"Column 'ids' {is_feature}"):
            ranker().fit(FRAME.rename(columns={"qid": "ids"}), y, qid=ids)
    by_position = QueryRanker(lgb.LGBMRanker(**SETTINGS), qid=0)
    with pytest.raises(ValueError, match="should have `coef_` or `feature_importances_`"):  # which would not fit X
        RFE(by_position, n_features_to_select=3).fit(np.column_stack([qid, X]), y)
    with pytest.raises(AttributeError, match="takes from X by its position, so selections such as RFE would remove"):
        by_position.fit(np.column_stack([qid, X]), y).feature_importances_  # noqa: B018
    with sklearn.config_context(enable_metadata_routing=True):
        assert RFECV(ranker(), cv=GroupKFold(3), step=10).fit(X, y, qid=qid, groups=qid).n_features_in_ == X.shape[1]


@since_1_6
def test_explanations() -> None:
    model = ranker().fit(FRAME, y)
    shares = model.estimator_.predict(model.features_of(FRAME), pred_contrib=True)
    np.testing.assert_allclose(shares.sum(axis=1), model.predict(FRAME))
    with pytest.raises(ValueError, match="must be a fitted regressor or classifier"):
        partial_dependence(model, FRAME, ["f0"])
    pointwise = QueryRanker(LinearRegression()).fit(FRAME, y)
    found = partial_dependence(pointwise, FRAME, ["f0"], kind="average", grid_resolution=3)
    expected = [pointwise.predict(FRAME.assign(f0=value)).mean() for value in found["grid_values"][0]]
    np.testing.assert_allclose(found["average"][0], expected)


def test_stacking() -> None:
    with pytest.raises(ValueError, match="should be a regressor"):
        StackingRegressor([("a", ranker())], Ridge()).fit(FRAME, y)
    parts = [("a", LinearRegression()), ("b", Ridge())]
    model = QueryRanker(StackingRegressor(parts, Ridge())).fit(FRAME, y)
    expected = StackingRegressor(parts, Ridge()).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(FRAME), expected)
