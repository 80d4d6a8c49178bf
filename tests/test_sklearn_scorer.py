"""`make_scorer`: what it asks for, what it refuses, and that it is the number of `ltr.evaluate`."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from folds import frame, ranker, scattered
from sklearn.linear_model import LinearRegression, LogisticRegression

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, QueryScorer, make_scorer
from ltr_metrics.sklearn.guard import part_of

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()


@pytest.fixture(scope="module")
def fitted() -> QueryRanker:
    return ranker().fit(X, y, qid=qid)


def test_it_is_the_number_of_evaluate(fitted: QueryRanker) -> None:
    scorer = pickle.loads(pickle.dumps(make_scorer("ndcg_lin@5", ties="worst")))
    expected = ltr.evaluate(y, fitted.predict(X), qid=qid, metrics="ndcg_lin@5", ties="worst")["ndcg_lin@5"]
    assert scorer(fitted, X, y, qid=qid) == expected
    assert repr(scorer) == "make_scorer('ndcg_lin@5', qid='qid', ties='worst')"
    assert isinstance(scorer, QueryScorer)


def test_one_metric_gives_a_number_several_a_dict(fitted: QueryRanker) -> None:
    assert isinstance(make_scorer("mrr")(fitted, X, y, qid=qid), float)
    several = make_scorer(["mrr", ltr.NDCG(k=5)], no_relevant=0)
    result = ltr.evaluate(y, fitted.predict(X), qid=qid, metrics=["mrr", ltr.NDCG(k=5)], no_relevant=0)
    assert several(fitted, X, y, qid=qid) == dict(result.mean)
    assert repr(several) == "make_scorer(['mrr', 'ndcg_exp@5'], qid='qid', no_relevant=0)"


def test_row_weights_are_means_by_query(fitted: QueryRanker) -> None:
    weight = np.random.default_rng(0).random(len(y))
    got = make_scorer("mrr")(fitted, X, y, qid=qid, sample_weight=weight)
    assert got == ltr.evaluate(y, fitted.predict(X), qid=qid, metrics="mrr", sample_weight=weight)["mrr"]


def test_estimators_of_any_kind() -> None:
    plain = LinearRegression().fit(X, y)
    expected = ltr.evaluate(y, plain.predict(X), qid=qid, metrics="mrr")["mrr"]
    assert make_scorer("mrr")(plain, X, y, qid=qid) == expected


def test_a_label_column_is_one_column(fitted: QueryRanker) -> None:
    with pytest.warns(UserWarning, match="column-vector y"):
        got = make_scorer("mrr")(fitted, X, y[:, None], qid=qid)
    assert got == make_scorer("mrr")(fitted, X, y, qid=qid)


class TestErrors:
    def test_two_different_sets_of_queries(self) -> None:
        with pytest.raises(ltr.LtrValueError, match="two different sets of queries"):
            ranker().fit(frame(X, qid), y, qid=qid[::-1])
        fitted = ranker().fit(frame(X, qid), y, qid=qid)
        with pytest.raises(ltr.LtrValueError, match="two different sets of queries"):
            make_scorer("mrr")(fitted, frame(X, qid), y, qid=qid + 1)
        assert make_scorer("mrr")(fitted, frame(X, qid), y, qid=qid) == make_scorer("mrr")(fitted, frame(X, qid), y)

    def test_a_classifier(self) -> None:
        with pytest.raises(ltr.LtrTypeError, match="classifier LogisticRegression gives classes"):
            make_scorer("mrr")(LogisticRegression().fit(X, y > 0), X, y, qid=qid)

    def test_no_query_with_a_relevant_document(self, fitted: QueryRanker) -> None:
        with pytest.raises(ltr.LtrValueError, match="undefined for all 45 queries"):
            make_scorer("mrr")(fitted, X, y * 0, qid=qid + 1000)

    def test_indexes_that_differ(self, fitted: QueryRanker) -> None:
        shuffled = pd.Series(y).sample(frac=1, random_state=0)
        with pytest.raises(ltr.LtrValueError, match="X and y have different pandas indexes"):
            make_scorer("mrr")(fitted, frame(X, qid), shuffled)

    def test_another_host(self) -> None:
        with pytest.raises(
            ltr.LtrTypeError, match=r"A scorer is for scikit-learn.* Got .*lightgbm Dataset.*lightgbm.feval"
        ):
            make_scorer("mrr")(np.zeros(3), lgb.Dataset(np.zeros((3, 1))))

    def test_what_cannot_be_requested(self) -> None:
        with pytest.raises(ltr.LtrTypeError, match="not group"):
            make_scorer("mrr").set_score_request(group=True)

    def test_no_labels(self, fitted: QueryRanker) -> None:
        with pytest.raises(ltr.LtrValueError, match="target y is None"):
            make_scorer("mrr")(fitted, X, qid=qid)


def test_which_side_of_a_split_is_scored(fitted: QueryRanker) -> None:
    """Known from what the ranker was fitted on; queries of both sides are neither."""
    labels, names = y.astype(float), np.unique(qid)
    part = np.isin(qid, names[:20])
    made = ranker().fit(X[part], y[part], qid=qid[part])
    sides = {"train": part, "test": ~part, None: np.isin(qid, names[10:30])}
    for expected, chosen in sides.items():
        queries = ltr.Queries(y[chosen], qid=qid[chosen])
        assert part_of(made, X[chosen], queries, labels[chosen]) == expected
    assert part_of(LinearRegression(), X, ltr.Queries(y, qid=qid), labels) is None
