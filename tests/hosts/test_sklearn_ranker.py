"""`QueryRanker` and the scorer: rows in any order and of any kind, every host's estimators, and scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from folds import fit_by_hand, frame, lgbm_ranker, ranker, scattered
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.linear_model import LinearRegression

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, QueryScorer, make_scorer

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()


@pytest.fixture(scope="module")
def weight() -> np.ndarray:
    return np.random.default_rng(0).random(len(y))


TABLES = {  # X with or without the queries, and where they are
    "array": (X, {}),
    "list": (X.tolist(), {}),
    "csr": (sparse.csr_matrix(X), {}),
    "coo": (sparse.coo_matrix(X), {}),
    "frame": (frame(X, qid), {"qid": "qid"}),
    "numbered frame": (pd.DataFrame(X).assign(qid=qid).set_axis(range(7), axis=1), {"qid": 6}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_any_kind_are_those_sorted_by_hand(kind: str, weight: np.ndarray) -> None:
    table, column = TABLES[kind]
    expected = fit_by_hand(lgbm_ranker(), X, y, qid, sample_weight=weight).predict(X)
    made = ranker(**column)
    if column:
        made.fit(table, pd.Series(y), sample_weight=weight.tolist())
    else:
        made.fit(table, y.tolist(), qid=qid.tolist(), sample_weight=weight)
    np.testing.assert_array_equal(made.predict(table), expected)
    assert made.n_features_in_ == 6
    assert len(made.queries_) == 45
    assert made.queries_[qid[0]] == ((qid == qid[0]).sum(), y[qid == qid[0]].sum())


def test_the_score_is_the_mean_of_the_metric(weight: np.ndarray) -> None:
    fitted = ranker(metric=ltr.ERR(k=5)).fit(frame(X, qid), y)
    predicted = fitted.predict(frame(X, qid))
    assert fitted.score(frame(X, qid), y) == ltr.evaluate(y, predicted, qid=qid, metrics="err@5")["err@5"]
    weighted = ltr.evaluate(y, predicted, qid=qid, metrics="err@5", sample_weight=weight)["err@5"]
    assert fitted.score(frame(X, qid), y, qid, weight) == weighted


def test_tags_are_those_of_the_estimator() -> None:
    utils = pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn before 1.6 has other tags").utils
    boosted, linear = utils.get_tags(ranker()), utils.get_tags(QueryRanker(LinearRegression()))
    assert (boosted.input_tags.allow_nan, linear.input_tags.allow_nan) == (True, False)
    assert (boosted.input_tags.sparse, boosted.target_tags.required) == (True, True)
    assert is_regressor(QueryRanker(LinearRegression()))
    assert not is_regressor(ranker())
    utils.get_tags(QueryRanker())  # of nothing yet


@pytest.fixture(scope="module")
def fitted() -> QueryRanker:
    return ranker().fit(X, y, qid=qid)


def test_one_metric_gives_a_number_several_a_dict(fitted: QueryRanker) -> None:
    assert isinstance(make_scorer("mrr")(fitted, X, y, qid=qid), float)
    assert list(QueryScorer(["ndcg@5"])(fitted, X, y, qid=qid)) == ["ndcg@5"]
    several = make_scorer(["mrr", ltr.NDCG(k=5)], no_relevant=0)
    result = ltr.evaluate(y, fitted.predict(X), qid=qid, metrics=["mrr", ltr.NDCG(k=5)], no_relevant=0)
    assert several(fitted, X, y, qid=qid) == dict(result.mean)


def test_a_label_column_is_one_column(fitted: QueryRanker) -> None:
    with pytest.warns(UserWarning, match="column-vector y"):
        got = make_scorer("mrr")(fitted, X, y[:, None], qid=qid)
    assert got == make_scorer("mrr")(fitted, X, y, qid=qid)
