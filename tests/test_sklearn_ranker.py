"""`QueryRanker`: rows in any order and of any kind, every host's estimators, and scikit-learn's conventions."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from folds import fit_by_hand, frame, lgbm_ranker, ranker, scattered
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import _get_feature_names

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()

QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}


@pytest.fixture(scope="module")
def weight() -> np.ndarray:
    return np.random.default_rng(0).random(len(y))


class TestRows:
    """Whatever holds them, the model is that of rows sorted by hand."""

    def test_scattered(self, weight: np.ndarray) -> None:
        plain = fit_by_hand(lgbm_ranker(), X, y, qid, sample_weight=weight)
        made = ranker().fit(X, y, qid=qid, sample_weight=weight)
        np.testing.assert_array_equal(made.predict(X), plain.predict(X))
        assert made.n_features_in_ == 6
        assert len(made.queries_) == 45
        assert made.queries_[qid[0]] == ((qid == qid[0]).sum(), y[qid == qid[0]].sum())

    def test_in_frames(self, weight: np.ndarray) -> None:
        expected = fit_by_hand(lgbm_ranker(), X, y, qid, sample_weight=weight).predict(X)
        pandas = ranker().fit(frame(X, qid), pd.Series(y), sample_weight=weight.tolist())
        np.testing.assert_array_equal(pandas.predict(frame(X, qid)), expected)
        np.testing.assert_array_equal(pandas.predict(frame(X, qid).drop(columns="qid")), expected)
        numbered = pd.DataFrame(X).assign(qid=qid).set_axis(range(7), axis=1)
        positional = ranker(qid=6).fit(numbered, y, sample_weight=weight)
        np.testing.assert_array_equal(positional.predict(numbered), expected)

    def test_as_lists(self, weight: np.ndarray) -> None:
        expected = fit_by_hand(lgbm_ranker(), X, y, qid, sample_weight=weight).predict(X)
        listed = ranker().fit(X.tolist(), y.tolist(), qid=qid.tolist(), sample_weight=weight.tolist())
        np.testing.assert_array_equal(listed.predict(X.tolist()), expected)

    @pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_matrix])
    def test_sparse(self, kind: Any, weight: np.ndarray) -> None:
        expected = fit_by_hand(lgbm_ranker(), X, y, qid, sample_weight=weight).predict(X)
        made = ranker().fit(kind(X), y, qid=qid, sample_weight=weight)
        np.testing.assert_array_equal(made.predict(kind(X)), expected)

    def test_fit_parameters_with_an_entry_a_row(self) -> None:
        start = np.random.default_rng(1).random(len(y))
        plain = fit_by_hand(lgbm_ranker(), X, y, qid, init_score=start)
        started = ranker().fit(X, y, qid=qid, init_score=start, callbacks=[])
        np.testing.assert_array_equal(started.predict(X), plain.predict(X))


class TestOtherEstimators:
    def test_pointwise(self) -> None:
        pointwise = QueryRanker(LinearRegression()).fit(X, y, qid=qid)
        np.testing.assert_allclose(pointwise.predict(X), LinearRegression().fit(X, y).predict(X))

    def test_xgboost_takes_one_weight_a_query(self) -> None:
        xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
        weight = np.where(qid % 2, 1.0, 3.0)
        order = np.argsort(qid, kind="stable")
        first = np.unique(qid, return_index=True)[1]
        plain = xgb.XGBRanker(n_estimators=3, n_jobs=1)
        plain.fit(X[order], y[order], qid=qid[order], sample_weight=weight[first])
        weighted = QueryRanker(xgb.XGBRanker(n_estimators=3, n_jobs=1))
        weighted.fit(X[order], y[order], qid=qid[order], sample_weight=weight[order])
        np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))

    @pytest.mark.parametrize("loss", ["YetiRank", "QueryRMSE"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_catboost(self, loss: str, weighted: bool, weight: np.ndarray) -> None:
        catboost = pytest.importorskip("catboost", reason="catboost is not installed")
        plain = catboost.CatBoostRanker(iterations=4, loss_function=loss, **QUIET)
        made = clone(QueryRanker(plain)).set_params(estimator__depth=3)
        given = {"sample_weight": weight} if weighted else {}
        expected = fit_by_hand(plain.copy().set_params(depth=3), X, y, qid, **given).predict(X)
        fitted = pickle.loads(pickle.dumps(made.fit(frame(X, qid), y, **given)))
        np.testing.assert_array_equal(fitted.predict(frame(X, qid)), expected)
        assert make_scorer("mrr")(fitted, frame(X, qid), y) == ltr.evaluate(y, expected, qid=qid, metrics="mrr")["mrr"]

    def test_in_a_pipeline(self) -> None:
        piped = make_pipeline(StandardScaler(), ranker()).fit(X, y, queryranker__qid=qid)
        scaled = StandardScaler().fit_transform(X)
        np.testing.assert_array_equal(piped.predict(X), ranker().fit(scaled, y, qid=qid).predict(scaled))


class TestScore:
    def test_it_is_the_mean_of_the_metric(self, weight: np.ndarray) -> None:
        fitted = ranker(metric=ltr.ERR(k=5)).fit(frame(X, qid), y)
        predicted = fitted.predict(frame(X, qid))
        assert fitted.score(frame(X, qid), y) == ltr.evaluate(y, predicted, qid=qid, metrics="err@5")["err@5"]
        weighted = ltr.evaluate(y, predicted, qid=qid, metrics="err@5", sample_weight=weight)["err@5"]
        assert fitted.score(frame(X, qid), y, qid, weight) == weighted
        assert ranker().fit(X, y, qid=qid).score(X, y, qid) == make_scorer("ndcg@10")(
            ranker().fit(X, y, qid), X, y, qid=qid
        )

    def test_errors_are_those_of_the_scorer(self) -> None:
        fitted = ranker().fit(X[:200], y[:200], qid=qid[:200])
        with pytest.raises(ltr.LtrTypeError, match="the scorer has no queries"):
            fitted.score(X, y)
        with pytest.raises(ltr.LtrValueError, match="is on both sides of the split"):
            fitted.score(X[200:], y[200:], qid[200:])
        several = ranker(metric=["mrr", "map"]).fit(
            X, y, qid=qid
        )  # parameters that fit does not need are not looked at
        with pytest.raises(ltr.LtrTypeError, match=r"metric must be one metric.*scoring=make_scorer"):
            several.score(X, y, qid)


class TestConventions:
    def test_clone_and_parameters(self) -> None:
        made = ranker(qid="query", early_stopping_rounds=3)
        assert clone(made).get_params()["estimator__n_estimators"] == 6
        assert made.set_params(estimator__num_leaves=7, qid="q").estimator.num_leaves == 7
        assert (clone(made).qid, clone(made).early_stopping_rounds) == ("q", 3)
        assert (
            repr(QueryRanker(LinearRegression(), metric="mrr"))
            == "QueryRanker(estimator=LinearRegression(), metric='mrr')"
        )

    def test_feature_names(self) -> None:
        inputs = frame(X, qid)
        for table in (pl.from_pandas(inputs), inputs):
            made = ranker().fit(table, y)
            if _get_feature_names(table) is None:  # scikit-learn 1.4 does not see those of today's polars
                continue
            assert made.feature_names_in_.tolist() == ["f0", "f1", "f2", "f3", "f4", "f5"]
            assert made.feature_names_in_.dtype == object
        with pytest.raises(ltr.LtrValueError, match=r"feature names should match(.|\n)*same order"):
            made.predict(inputs[["f1", "f0", "f2", "f3", "f4", "f5"]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            made.predict(X)
        assert not hasattr(made.fit(X, y, qid=qid), "feature_names_in_")

    def test_tags_are_those_of_the_estimator(self) -> None:
        utils = pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn before 1.6 has other tags").utils
        boosted, linear = utils.get_tags(ranker()), utils.get_tags(QueryRanker(LinearRegression()))
        assert (boosted.input_tags.allow_nan, linear.input_tags.allow_nan) == (True, False)
        assert (boosted.input_tags.sparse, boosted.target_tags.required) == (True, True)
        assert is_regressor(QueryRanker(LinearRegression()))
        assert not is_regressor(ranker())
        utils.get_tags(QueryRanker())  # of nothing yet

    def test_parameters_are_looked_at_by_fit_alone(self) -> None:
        QueryRanker("nothing", early_stopping_rounds=-1, validation_fraction=7, metric=None)

    def test_predict_before_fit(self) -> None:
        for method in (ranker().predict, lambda X: ranker().score(X, y, qid)):
            with pytest.raises(sklearn.exceptions.NotFittedError):
                method(X)


class TestErrors:
    def test_lengths(self) -> None:
        with pytest.raises(ltr.LtrValueError, match=f"one entry a row: got {len(y) - 1} of y for {len(y)} of qid"):
            ranker().fit(X, y[:-1], qid=qid)
        with pytest.raises(ltr.LtrValueError, match="of sample_weight for"):
            ranker().fit(X, y, qid=qid, sample_weight=[1.0])
        with pytest.raises(ltr.LtrValueError, match=r"6 features as input\. \(The column 'qid'"):
            ranker().fit(X, y, qid=qid).predict(X[:, :5])
        with pytest.raises(ltr.LtrValueError, match=r"0 feature\(s\)"):
            ranker().fit(frame(X, qid)[["qid"]], y)
        with pytest.raises(ltr.LtrValueError, match=r"two-dimensional.*Reshape your data"):
            ranker().fit(X[:, 0], y, qid=qid)

    @pytest.mark.parametrize("name", ["group", "qid", "group_id"])
    def test_queries_in_the_form_of_the_host(self, name: str) -> None:
        if name != "qid":
            with pytest.raises(ltr.LtrTypeError, match=f"makes {name} for the estimator"):
                ranker().fit(X, y, qid=qid, **{name: [1, 2]})

    def test_labels_and_weights(self) -> None:
        with pytest.raises(ltr.LtrValueError, match="y must be finite: got nan at row 2"):
            ranker().fit(X, np.where(np.arange(len(y)) == 2, np.nan, y), qid=qid)
        with pytest.raises(ltr.LtrValueError, match="target y is None"):
            ranker().fit(X, None, qid=qid)
        with pytest.raises(ltr.LtrValueError, match="sample_weight must not be zero in every row"):
            ranker().fit(X, y, qid=qid, sample_weight=y * 0)

    def test_what_is_no_ranker(self) -> None:
        for wrong in (None, lgb.LGBMRanker):
            with pytest.raises(ltr.LtrTypeError, match=r"needs an estimator such as LGBMRanker\(\)"):
                QueryRanker(wrong).fit(X, y, qid=qid)
        with pytest.raises(ltr.LtrTypeError, match="classifier LGBMClassifier gives classes"):
            QueryRanker(lgb.LGBMClassifier()).fit(X, y, qid=qid)

    def test_indexes_that_differ(self) -> None:
        with pytest.raises(ltr.LtrValueError, match="X and y have different pandas indexes"):
            ranker().fit(frame(X, qid), pd.Series(y).sample(frac=1, random_state=0))

    @pytest.mark.parametrize("column", [7, -1, 1.5, True])
    def test_a_position_that_is_none(self, column: object) -> None:
        with pytest.raises(ltr.LtrValueError, match=r"or its position, 0 to 6"):
            ranker(qid=column).fit(np.column_stack([X, qid]), y)
