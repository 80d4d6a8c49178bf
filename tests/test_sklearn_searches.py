"""Searches and cross-validation: every fold's score is that of `ltr.evaluate` on a model that was fitted by hand."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from folds import CV, fit_by_hand, fold_scores, folds_by_hand, frame, lgbm_ranker, ranker, scattered
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()

LEAVES = {"estimator__num_leaves": [4, 15]}


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def of_host(host: str) -> tuple[Any, dict[str, list[Any]]]:
    """An estimator and a grid for it."""
    if host == "lightgbm":
        return lgbm_ranker(), LEAVES
    if host == "pointwise":
        return LinearRegression(), {"estimator__fit_intercept": [True, False]}
    if host == "xgboost":
        xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
        return xgboost.XGBRanker(n_estimators=5, n_jobs=1, random_state=0), {"estimator__max_depth": [2, 4]}
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return catboost.CatBoostRanker(iterations=5, **quiet), {"estimator__depth": [2, 4]}


def refuse_unequal(search: Any, estimator: Any, metric: str = "ndcg@10") -> None:
    for i, settings in enumerate(search.cv_results_["params"]):
        plain = {name.removeprefix("estimator__"): value for name, value in settings.items()}
        expected = folds_by_hand(clone(estimator).set_params(**plain), ROWS, [metric])[:, 0]
        np.testing.assert_array_equal(fold_scores(search, i), expected)


@pytest.mark.parametrize("host", ["lightgbm", "xgboost", "catboost", "pointwise"])
@pytest.mark.parametrize(("how", "n_jobs"), [("column", None), ("column", 2), ("routed", None), ("routed", 2)])
def test_every_fold_of_a_grid_search(host: str, how: str, n_jobs: int | None) -> None:
    estimator, grid = of_host(host)
    with sklearn.config_context(enable_metadata_routing=how == "routed"):
        scorer = make_scorer("ndcg@10")
        search = GridSearchCV(QueryRanker(estimator), grid, scoring=scorer, cv=CV, n_jobs=n_jobs, error_score="raise")
        if how == "routed":
            search.fit(X, y, qid=qid, groups=qid)
        else:
            search.fit(frame(X, qid), y, groups=qid)
    refuse_unequal(search, estimator)
    name, best = next(iter(search.best_params_.items()))
    assert search.best_estimator_.estimator_.get_params()[name.removeprefix("estimator__")] == best
    inputs = X if how == "routed" else frame(X, qid)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(inputs), search.predict(inputs))


@pytest.mark.parametrize("kind", ["polars", "array", "list"])
def test_other_tables(kind: str) -> None:
    column: str | int = "qid" if kind == "polars" else 6
    inputs: Any = np.column_stack([X, qid])
    inputs = pl.from_pandas(frame(X, qid)) if kind == "polars" else inputs.tolist() if kind == "list" else inputs
    search = GridSearchCV(
        ranker(qid=column), LEAVES, scoring=make_scorer("ndcg@10", column), cv=CV, error_score="raise"
    )
    refuse_unequal(search.fit(inputs, y, groups=qid), lgbm_ranker())


def test_several_metrics_from_one_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted = []
    plain = QueryRanker.predict
    monkeypatch.setattr(QueryRanker, "predict", lambda self, X: predicted.append(1) or plain(self, X))
    metrics = ["ndcg@10", "map", "err@10"]
    search = GridSearchCV(ranker(), LEAVES, scoring=make_scorer(metrics), refit="ndcg@10", cv=CV, error_score="raise")
    search.fit(frame(X, qid), y, groups=qid)
    assert len(predicted) == 6
    expected = folds_by_hand(lgbm_ranker(num_leaves=15), ROWS, metrics)
    for i, name in enumerate(metrics):
        np.testing.assert_array_equal(fold_scores(search, 1, name), expected[:, i])


def test_randomized_search_and_cross_validate() -> None:
    inputs = frame(X, qid)
    search = RandomizedSearchCV(
        ranker(), LEAVES, n_iter=2, scoring=make_scorer("mrr"), cv=CV, random_state=0, error_score="raise"
    )
    refuse_unequal(search.fit(inputs, y, groups=qid), lgbm_ranker(), "mrr")
    scores = cross_validate(ranker(), inputs, y, groups=qid, scoring=make_scorer(["mrr", "p@5"]), cv=CV)
    expected = folds_by_hand(lgbm_ranker(), ROWS, ["mrr", "p@5"])
    np.testing.assert_array_equal(np.stack([scores["test_mrr"], scores["test_p@5"]], axis=1), expected)


@pytest.mark.parametrize("how", ["column", "routed"])
def test_halving_by_rounds(how: str) -> None:
    with sklearn.config_context(enable_metadata_routing=how == "routed"):
        search = HalvingGridSearchCV(
            ranker(),
            LEAVES,
            resource="estimator__n_estimators",
            min_resources=3,
            max_resources=6,
            factor=2,
            scoring=make_scorer("mrr"),
            cv=CV,
            error_score="raise",
        )
        if how == "routed":
            search.fit(X, y, qid=qid, groups=qid)
        else:
            search.fit(frame(X, qid), y, groups=qid)
    assert search.cv_results_["n_resources"].tolist() == [3, 3, 6]
    refuse_unequal(search, lgbm_ranker(), "mrr")


@pytest.mark.parametrize("how", ["column", "routed"])
def test_without_scoring_the_metric_of_the_ranker_is_the_score(how: str) -> None:
    expected = folds_by_hand(lgbm_ranker(), ROWS, ["err@10"])[:, 0]
    with sklearn.config_context(enable_metadata_routing=how == "routed"):
        inputs, groups = (
            (X, {"params": {"qid": qid, "groups": qid}}) if how == "routed" else (frame(X, qid), {"groups": qid})
        )
        made = ranker(metric="err@10")
        scores = cross_val_score(made, inputs, y, cv=CV, error_score="raise", **groups)
        search = GridSearchCV(made, {"estimator__num_leaves": [31]}, cv=CV, error_score="raise")
        search.fit(inputs, y, **groups.get("params", groups))
        np.testing.assert_array_equal(scores, expected)
        np.testing.assert_array_equal(fold_scores(search, 0), expected)
        given = {"qid": qid} if how == "routed" else {}
        assert (
            search.score(inputs, y, **given)
            == ltr.evaluate(y, search.predict(inputs), qid=qid, metrics="err@10")["err@10"]
        )


@pytest.mark.usefixtures("routing")
def test_nested_and_piped_with_routing() -> None:
    grid = {"queryranker__estimator__num_leaves": [4]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ranker()), grid, scoring=make_scorer("mrr"), cv=CV, error_score="raise"
    )
    options = {"params": {"qid": qid, "groups": qid}, "cv": CV, "error_score": "raise"}
    scores = cross_validate(search, X, y, scoring=make_scorer("mrr"), return_estimator=True, **options)
    for (train, test), fitted, got in zip(CV.split(X, y, qid), scores["estimator"], scores["test_score"], strict=True):
        scaled = StandardScaler().fit(X[train]).transform
        by_hand = fit_by_hand(lgbm_ranker(num_leaves=4), scaled(X[train]), y[train], qid[train])
        assert got == ltr.evaluate(y[test], by_hand.predict(scaled(X[test])), qid=qid[test], metrics="mrr")["mrr"]
        np.testing.assert_array_equal(fitted.predict(X[test]), by_hand.predict(scaled(X[test])))


@pytest.mark.usefixtures("routing")
def test_routed_row_weights() -> None:
    weight = np.where(qid % 2, 1.0, 3.0)
    model = ranker().set_fit_request(sample_weight=True)
    scorer = make_scorer("mrr").set_score_request(sample_weight=True)
    params = {"qid": qid, "groups": qid, "sample_weight": weight}
    scores = cross_validate(
        model, X, y, params=params, scoring=scorer, cv=CV, return_estimator=True, error_score="raise"
    )
    for (train, test), fitted, got in zip(CV.split(X, y, qid), scores["estimator"], scores["test_score"], strict=True):
        alone = ranker().fit(X[train], y[train], qid=qid[train], sample_weight=weight[train])
        np.testing.assert_array_equal(fitted.predict(X[test]), alone.predict(X[test]))
        expected = ltr.evaluate(
            y[test], fitted.predict(X[test]), qid=qid[test], metrics="mrr", sample_weight=weight[test]
        )
        assert got == expected["mrr"]
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        cross_validate(model, X, y, params=params, scoring=make_scorer("mrr"), cv=CV, error_score="raise")


@pytest.mark.usefixtures("routing")
def test_routed_scores_to_start_from() -> None:
    start = np.random.default_rng(0).random(len(y))
    model = ranker().set_fit_request(init_score=True)
    params = {"qid": qid, "groups": qid, "init_score": start}
    scores = cross_validate(model, X, y, params=params, scoring=make_scorer("mrr"), cv=CV, return_estimator=True)
    for (train, test), fitted in zip(CV.split(X, y, qid), scores["estimator"], strict=True):
        alone = ranker().fit(X[train], y[train], qid=qid[train], init_score=start[train])
        np.testing.assert_array_equal(fitted.predict(X[test]), alone.predict(X[test]))


class TestFoldsThatCutQueries:
    MESSAGE = r"Query \S+ is on both sides of the split, with \d+ documents.*GroupKFold\(\) and groups=qid"

    @pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), KFold(2), ShuffleSplit(2, random_state=0)])
    def test_they_are_refused(self, cv: Any) -> None:
        inner = {"scoring": make_scorer("mrr"), "cv": cv, "error_score": "raise"}
        for estimator in (ranker(), GridSearchCV(ranker(), {"estimator__num_leaves": [4]}, **inner)):
            with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
                cross_validate(estimator, frame(X, qid), y, **inner)
        with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
            cross_validate(ranker(), frame(X, qid), y, cv=cv, error_score="raise")
        with sklearn.config_context(enable_metadata_routing=True), pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
            cross_validate(make_pipeline(StandardScaler(), ranker()), X, y, params={"qid": qid}, **inner)

    def test_behind_a_scaler_that_scales_the_ids(self) -> None:
        scaler = StandardScaler().set_output(transform="pandas")
        piped = make_pipeline(scaler, make_pipeline(StandardScaler().set_output(transform="pandas"), ranker()))
        cut, whole = KFold(3, shuffle=True, random_state=0), CV
        options = {"scoring": make_scorer("mrr"), "error_score": "raise", "return_train_score": True}
        for estimator in (make_pipeline(scaler, ranker()), piped):
            with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
                cross_validate(estimator, frame(X, qid), y, cv=cut, **options)
            with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):  # by Pipeline.score
                cross_validate(estimator, frame(X, qid), y, cv=cut, error_score="raise")
            cross_validate(estimator, frame(X, qid), y, groups=qid, cv=whole, **options)
        by_position = make_pipeline(StandardScaler(), ranker(qid=6))
        options["scoring"] = make_scorer("mrr", qid=6)
        with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
            cross_validate(by_position, np.column_stack([X, qid]), y, cv=cut, **options)

    def test_steps_that_merge_queries(self) -> None:
        from sklearn.preprocessing import FunctionTransformer

        halved = FunctionTransformer(lambda X: X.assign(qid=X["qid"] // 2))
        fitted = make_pipeline(halved, ranker()).fit(frame(X, qid), y)
        with pytest.raises(ltr.LtrValueError, match="make 23 queries of 45, since they change the column 'qid'"):
            make_scorer("mrr")(fitted, frame(X, qid), y)

    def test_sums_of_labels_are_compared_with_tolerance(self) -> None:
        """Fractional labels sum up differently in another order, and as float32."""
        fractional = y * 0.3 + 0.1
        scorer = make_scorer("ndcg@5")
        fitted = QueryRanker(LinearRegression()).fit(X, fractional.astype(np.float32), qid=qid)
        back = np.arange(len(y))[::-1]
        assert scorer(fitted, X[back], fractional[back], qid=qid[back]) == pytest.approx(
            scorer(fitted, X, fractional, qid=qid), rel=1e-12
        )

    def test_queries_of_two_documents_cut_in_the_middle(self) -> None:
        X, qid = np.random.default_rng(0).random((40, 2)), np.tile(np.arange(20), 2)
        y = np.repeat([0, 1], 20)
        with pytest.raises(ltr.LtrValueError, match="is on both sides of the split, with 1 documents"):
            cross_validate(ranker(), frame(X, qid), y, scoring=make_scorer("p@1"), cv=KFold(2), error_score="raise")


class TestQueriesThatDoNotArrive:
    """What scikit-learn cannot pass on is refused with the way out."""

    def test_no_routing(self) -> None:
        search = GridSearchCV(ranker(), LEAVES, scoring=make_scorer("mrr"), cv=CV, error_score="raise")
        message = (
            "the scorer has no queries: no qid was passed, and X has no column 'qid': it is a ndarray"
            ".*enable_metadata_routing=True"
        )
        with pytest.raises(ltr.LtrTypeError, match=message):
            search.fit(X, y, qid=qid, groups=qid)  # fit gets qid, but without routing no scorer can
        with pytest.raises(ltr.LtrTypeError, match=message):
            cross_validate(
                ranker(), X, y, params={"qid": qid}, groups=qid, scoring=make_scorer("mrr"), cv=CV, error_score="raise"
            )

    def test_nested_without_routing(self) -> None:
        search = GridSearchCV(ranker(), LEAVES, scoring=make_scorer("mrr"), cv=2, error_score="raise")
        options = {"scoring": make_scorer("mrr"), "cv": CV, "groups": qid, "error_score": "raise"}
        with pytest.raises(ltr.LtrTypeError, match=r"the scorer has no queries.*enable_metadata_routing=True"):
            cross_validate(search, X, y, params={"qid": qid}, **options)
        with pytest.raises(ltr.LtrTypeError, match=r"QueryRanker.fit has no queries.*enable_metadata_routing=True"):
            cross_validate(search, X, y, **options)

    def test_a_scaler_that_drops_names(self) -> None:
        piped = make_pipeline(StandardScaler(), ranker())
        with pytest.raises(
            ltr.LtrTypeError, match=r"no column 'qid': it is a ndarray.*set_output\(transform='pandas'\)"
        ):
            cross_validate(piped, frame(X, qid), y, groups=qid, scoring=make_scorer("mrr"), cv=CV, error_score="raise")

    def test_a_column_of_another_name(self) -> None:
        with pytest.raises(ltr.LtrTypeError, match=r"X has no column 'qid'. Did you mean 'Qid'\? Keep"):
            ranker().fit(frame(X, qid).rename(columns={"qid": "Qid"}), y)

    @pytest.mark.usefixtures("routing")
    def test_not_requested(self) -> None:
        unrouted = make_scorer("mrr").set_score_request(qid=False)
        params = {"qid": qid, "groups": qid}
        with pytest.raises(ltr.LtrTypeError, match="the scorer has no queries"):
            cross_validate(ranker(), X, y, params=params, scoring=unrouted, cv=CV, error_score="raise")
