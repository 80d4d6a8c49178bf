"""scikit-learn: rankers and scorers in searches and cross-validation, with a qid column and with metadata routing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RandomizedSearchCV, ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

GRID = {"estimator__num_leaves": [4, 15], "estimator__learning_rate": [0.05, 0.3]}


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of all queries, scattered."""
    X, y, qid = ltr.make_ranking(n_queries=60, documents=10, n_features=6, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], qid[order]


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def ranker(**options: Any) -> QueryRanker:
    return QueryRanker(lgb.LGBMRanker(n_estimators=8, verbose=-1, n_jobs=1, random_state=0), **options)


def frame(X: np.ndarray, qid: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X).add_prefix("f").assign(qid=qid)


def by_hand(settings: dict[str, Any], X: np.ndarray, y: np.ndarray, qid: np.ndarray, metrics: list[str]) -> np.ndarray:
    """The value of each fold and metric, with LGBMRanker alone and rows sorted by us."""
    folds = []
    for train, test in GroupKFold(3).split(X, y, qid):
        train = train[np.argsort(_appearance(qid[train]), kind="stable")]
        model = lgb.LGBMRanker(n_estimators=8, verbose=-1, n_jobs=1, random_state=0, **settings)
        model.fit(X[train], y[train], group=ltr.qid_to_group(qid[train]))
        result = ltr.evaluate(y[test], model.predict(X[test]), qid=qid[test], metrics=metrics)
        folds.append(list(result.mean.values()))
    return np.array(folds)


def _appearance(qid: np.ndarray) -> np.ndarray:
    """Position of each row's query in the order in which the queries appear."""
    first = {q: i for i, q in enumerate(dict.fromkeys(qid.tolist()))}
    return np.array([first[q] for q in qid.tolist()])


@pytest.mark.parametrize(
    ("how", "n_jobs"),
    [("pandas", None), ("pandas", 2), ("polars", None), ("array", None), ("array", 2), ("routed", None), ("routed", 2)],
)
def test_grid_search(how: str, n_jobs: int | None, rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    options: dict[str, Any] = {"groups": qid}
    inputs: Any = frame(X, qid)
    column: str | int = "qid"
    if how == "polars":
        inputs = pl.from_pandas(inputs)
    elif how == "array":
        inputs, column = np.column_stack([X, qid]), 6
    elif how == "routed":
        inputs, options = X, {"groups": qid, "qid": qid}
    with sklearn.config_context(enable_metadata_routing=how == "routed"):
        search = GridSearchCV(
            ranker(qid=column),
            GRID,
            scoring=make_scorer("ndcg@10", column),
            cv=GroupKFold(3),
            n_jobs=n_jobs,
            error_score="raise",
        ).fit(inputs, y, **options)
    for i, settings in enumerate(search.cv_results_["params"]):
        plain = {name.removeprefix("estimator__"): value for name, value in settings.items()}
        expected = by_hand(plain, X, y, qid, ["ndcg@10"])[:, 0]
        got = [search.cv_results_[f"split{fold}_test_score"][i] for fold in range(3)]
        np.testing.assert_array_equal(got, expected)
    assert search.best_estimator_.estimator_.num_leaves == search.best_params_["estimator__num_leaves"]
    np.testing.assert_array_equal(search.predict(inputs), search.best_estimator_.predict(inputs))


def test_several_metrics_from_one_prediction(rows: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, qid = rows
    predicted = []
    plain = QueryRanker.predict
    monkeypatch.setattr(QueryRanker, "predict", lambda self, X: predicted.append(1) or plain(self, X))
    metrics = ["ndcg@10", "map", "err@10"]
    search = GridSearchCV(
        ranker(), {"estimator__num_leaves": [4, 15]}, scoring=make_scorer(metrics), refit="map", cv=GroupKFold(3)
    )
    search.fit(frame(X, qid), y, groups=qid)
    assert len(predicted) == 6
    expected = by_hand({"num_leaves": 15}, X, y, qid, metrics)
    for i, name in enumerate(("ndcg_exp@10", "map", "err@10")):
        got = [search.cv_results_[f"split{fold}_test_{name}"][1] for fold in range(3)]
        np.testing.assert_array_equal(got, expected[:, i])


def test_randomized_search_and_cross_validate(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    search = RandomizedSearchCV(ranker(), GRID, n_iter=2, scoring=make_scorer("mrr"), cv=GroupKFold(3), random_state=0)
    assert 0 < search.fit(frame(X, qid), y, groups=qid).best_score_ < 1
    scores = cross_validate(
        ranker(), frame(X, qid), y, groups=qid, scoring=make_scorer(["mrr", "p@5"]), cv=GroupKFold(3)
    )
    np.testing.assert_array_equal(scores["test_mrr"], by_hand({}, X, y, qid, ["mrr"])[:, 0])
    assert scores["test_precision@5"].shape == (3,)


@pytest.mark.usefixtures("routing")
def test_nested_and_piped_with_routing(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    piped = make_pipeline(StandardScaler(), ranker())
    grid = {"queryranker__estimator__num_leaves": [4, 15]}
    search = GridSearchCV(piped, grid, scoring=make_scorer("ndcg@10"), cv=GroupKFold(2))
    scores = cross_validate(
        search,
        X,
        y,
        params={"qid": qid, "groups": qid},
        scoring=make_scorer("ndcg@10"),
        cv=GroupKFold(3),
        error_score="raise",
    )
    assert ((scores["test_score"] > 0.3) & (scores["test_score"] < 1)).all()


@pytest.mark.usefixtures("routing")
def test_routed_row_weights(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    weight = np.where(qid % 2, 1.0, 3.0)
    model = ranker().set_fit_request(sample_weight=True)
    scorer = make_scorer("mrr").set_score_request(sample_weight=True)
    params = {"qid": qid, "groups": qid, "sample_weight": weight}
    scores = cross_validate(
        model, X, y, params=params, scoring=scorer, cv=GroupKFold(3), return_estimator=True, error_score="raise"
    )
    for (_, test), fitted, got in zip(
        GroupKFold(3).split(X, y, qid), scores["estimator"], scores["test_score"], strict=True
    ):
        expected = ltr.evaluate(
            y[test], fitted.predict(X[test]), qid=qid[test], metrics="mrr", sample_weight=weight[test]
        )
        assert got == expected["mrr"]
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        cross_validate(model, X, y, params=params, scoring=make_scorer("mrr"), cv=GroupKFold(3), error_score="raise")
    unrouted = make_scorer("mrr").set_score_request(qid=False, sample_weight=False)
    with pytest.raises(ltr.LtrTypeError, match="the scorer has no queries"):
        cross_validate(model, X, y, params=params, scoring=unrouted, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(ltr.LtrTypeError, match="not group"):
        scorer.set_score_request(group=True)


def test_fit_brings_scattered_rows_together(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    weight = np.random.default_rng(0).random(len(y))
    together = np.argsort(_appearance(qid), kind="stable")
    plain = lgb.LGBMRanker(n_estimators=8, verbose=-1, n_jobs=1, random_state=0)
    plain.fit(X[together], y[together], group=ltr.qid_to_group(qid[together]), sample_weight=weight[together])
    made = ranker().fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(made.predict(X), plain.predict(X))
    assert made.n_features_in_ == 6
    scattered = ranker().fit(frame(X, qid), pd.Series(y), sample_weight=weight.tolist())
    np.testing.assert_array_equal(scattered.predict(frame(X, qid)), plain.predict(X))
    np.testing.assert_array_equal(scattered.predict(frame(X, qid).drop(columns="qid")), plain.predict(X))
    numbered = pd.DataFrame(X).assign(qid=qid).set_axis(range(7), axis=1)
    positional = ranker(qid=6).fit(numbered, y, sample_weight=weight)
    np.testing.assert_array_equal(positional.predict(numbered), plain.predict(X))
    listed = ranker().fit(X.tolist(), y.tolist(), qid=qid.tolist(), sample_weight=weight.tolist())
    np.testing.assert_array_equal(listed.predict(X.tolist()), plain.predict(X))
    score = np.random.default_rng(1).random(len(y))
    plain.fit(X[together], y[together], group=ltr.qid_to_group(qid[together]), init_score=score[together], callbacks=[])
    started = ranker().fit(X, y, qid=qid, init_score=score, callbacks=[])
    np.testing.assert_array_equal(started.predict(X), plain.predict(X))
    coo = ranker().fit(sparse.coo_matrix(X), y, qid=qid)
    np.testing.assert_array_equal(coo.predict(sparse.coo_matrix(X)), ranker().fit(X, y, qid=qid).predict(X))
    plain.fit(X[together], y[together], group=ltr.qid_to_group(qid[together]), sample_weight=weight[together])
    csr = ranker().fit(sparse.csr_matrix(X), y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(csr.predict(sparse.csr_matrix(X)), plain.predict(X))


def test_other_estimators(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    pointwise = QueryRanker(LinearRegression()).fit(X, y, qid=qid)
    np.testing.assert_allclose(pointwise.predict(X), LinearRegression().fit(X, y).predict(X))
    xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
    boosted = QueryRanker(xgb.XGBRanker(n_estimators=3)).fit(X, y, qid=qid)
    assert boosted.predict(X).shape == y.shape
    weight = np.where(qid % 2, 1.0, 3.0)
    together = np.argsort(_appearance(qid), kind="stable")
    ids = _appearance(qid)[together]
    plain = xgb.XGBRanker(n_estimators=3).fit(
        X[together], y[together], qid=ids, sample_weight=weight[together][np.unique(ids, return_index=True)[1]]
    )
    weighted = QueryRanker(xgb.XGBRanker(n_estimators=3)).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))


def test_it_is_an_estimator() -> None:
    made = ranker(qid="query")
    assert clone(made).get_params()["estimator__n_estimators"] == 8
    assert made.set_params(estimator__num_leaves=7, qid="q").estimator.num_leaves == 7
    assert clone(made).qid == "q"


def test_pickling(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    fitted = pickle.loads(pickle.dumps(ranker().fit(X, y, qid=qid)))
    scorer = pickle.loads(pickle.dumps(make_scorer("ndcg_lin@5", ties="worst")))
    assert (
        scorer(fitted, X, y, qid=qid)
        == ltr.evaluate(y, fitted.predict(X), qid=qid, metrics="ndcg_lin@5", ties="worst")["ndcg_lin@5"]
    )
    assert repr(scorer) == "make_scorer('ndcg_lin@5', qid='qid', ties='worst')"


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), KFold(2), ShuffleSplit(2, random_state=0)])
def test_folds_that_cut_queries_are_refused(cv: Any, rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    message = r"Query \d+ stands on both sides, with \d+ documents.*GroupKFold\(\) with groups=qid"
    inner = {"scoring": make_scorer("mrr"), "cv": cv, "error_score": "raise"}
    for estimator in (ranker(), GridSearchCV(ranker(), {"estimator__num_leaves": [4]}, **inner)):
        with pytest.raises(ltr.LtrValueError, match=message):
            cross_validate(estimator, frame(X, qid), y, **inner)
    piped = make_pipeline(StandardScaler().set_output(transform="pandas"), ranker())
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises(ltr.LtrValueError, match=message):
        cross_validate(piped, X, y, params={"qid": qid}, **inner)


def test_queries_of_two_documents_cut_in_the_middle_are_noticed() -> None:
    X, qid = np.random.default_rng(0).random((40, 2)), np.tile(np.arange(20), 2)
    y = np.repeat([0, 1], 20)
    with pytest.raises(ltr.LtrValueError, match="stands on both sides, with 1 documents"):
        cross_validate(ranker(), frame(X, qid), y, scoring=make_scorer("p@1"), cv=KFold(2), error_score="raise")


def test_whole_training_queries_may_be_scored(rows: tuple[np.ndarray, ...]) -> None:
    X, y, qid = rows
    scores = cross_validate(
        ranker(),
        frame(X, qid),
        y,
        groups=qid,
        scoring=make_scorer("mrr"),
        cv=GroupKFold(3),
        return_train_score=True,
        error_score="raise",
    )
    assert (scores["train_score"] > scores["test_score"]).all()


class TestErrors:
    def test_no_queries(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(
            ltr.LtrTypeError, match=r"QueryRanker.fit has no queries: X has no column 'qid'.*enable_metadata_routing"
        ):
            ranker().fit(X, y)
        search = GridSearchCV(
            ranker(), {"estimator__num_leaves": [4]}, scoring=make_scorer("mrr"), cv=GroupKFold(3), error_score="raise"
        )
        with pytest.raises(ltr.LtrTypeError, match=r"the scorer has no queries.*enable_metadata_routing"):
            search.fit(X, y, qid=qid, groups=qid)  # fit gets qid, but without routing no scorer can

    def test_two_different_sets_of_queries(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrValueError, match="two different sets of queries"):
            ranker().fit(frame(X, qid), y, qid=qid[::-1])
        fitted = ranker().fit(frame(X, qid), y, qid=qid)
        with pytest.raises(ltr.LtrValueError, match="two different sets of queries"):
            make_scorer("mrr")(fitted, frame(X, qid), y, qid=qid + 1)
        assert make_scorer("mrr")(fitted, frame(X, qid), y, qid=qid) == make_scorer("mrr")(fitted, frame(X, qid), y)

    def test_a_classifier(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrTypeError, match="classifier LogisticRegression gives classes"):
            make_scorer("mrr")(LogisticRegression().fit(X, y > 0), X, y, qid=qid)
        with pytest.raises(ltr.LtrTypeError, match="classifier LGBMClassifier gives classes"):
            QueryRanker(lgb.LGBMClassifier()).fit(X, y, qid=qid)

    def test_no_query_with_a_relevant_document(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrValueError, match="undefined for all 60 queries"):
            make_scorer("mrr")(ranker().fit(X, y, qid=qid), X, y * 0, qid=qid + 1000)

    def test_lengths(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrValueError, match="one entry a row"):
            ranker().fit(X, y[:-1], qid=qid)
        with pytest.raises(ltr.LtrValueError, match="of sample_weight for"):
            ranker().fit(X, y, qid=qid, sample_weight=[1.0])
        with pytest.raises(ltr.LtrTypeError, match="makes group for the estimator"):
            ranker().fit(X, y, qid=qid, group=[1, 2])
        fitted = ranker().fit(X, y, qid=qid)
        with pytest.raises(ltr.LtrValueError, match=r"must have the 6 features.*Got 5"):
            fitted.predict(X[:, :5])

    def test_what_is_no_ranker(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrTypeError, match=r"Put QueryRanker inside"):
            QueryRanker(make_pipeline(StandardScaler(), lgb.LGBMRanker())).fit(X, y, qid=qid)
        for wrong in (None, lgb.LGBMRanker):
            with pytest.raises(ltr.LtrTypeError, match=r"needs an estimator such as LGBMRanker\(\)"):
                QueryRanker(wrong).fit(X, y, qid=qid)

    def test_indexes_that_differ(self, rows: tuple[np.ndarray, ...]) -> None:
        X, y, qid = rows
        shuffled = pd.Series(y).sample(frac=1, random_state=0)
        with pytest.raises(ltr.LtrValueError, match="X and y have different pandas indexes"):
            ranker().fit(frame(X, qid), shuffled)
        with pytest.raises(ltr.LtrValueError, match="X and y have different pandas indexes"):
            make_scorer("mrr")(ranker().fit(X, y, qid=qid), frame(X, qid), shuffled)

    @pytest.mark.parametrize("column", [7, -1, 1.5, True])
    def test_a_position_that_is_none(self, rows: tuple[np.ndarray, ...], column: object) -> None:
        X, y, qid = rows
        with pytest.raises(ltr.LtrValueError, match=r"or its position, 0 to 6"):
            ranker(qid=column).fit(np.column_stack([X, qid]), y)

    def test_predict_before_fit(self, rows: tuple[np.ndarray, ...]) -> None:
        with pytest.raises(sklearn.exceptions.NotFittedError):
            ranker().predict(rows[0])
