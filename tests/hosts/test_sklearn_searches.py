"""Searches and cross-validation: every fold's score is that of `ltr.evaluate` on a model that was fitted by hand."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from folds import CV, estimator_of, fit_by_hand, fold_scores, frame, lgbm_ranker, ranker, scattered
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
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
WEIGHT = np.random.default_rng(0).random(len(y))
METRICS = ["ndcg@10", "map", "arp"]  # of arp lower is better
STRICT: dict[str, Any] = {"cv": CV, "error_score": "raise"}
HALVING = {"resource": "estimator__n_estimators", "min_resources": 3, "max_resources": 6, "factor": 2}
ARRAY = np.column_stack([X, qid])
TABLES = {"qid": (frame(X, qid), "qid"), "polars": (pl.from_pandas(frame(X, qid)), "qid"), "list": (ARRAY.tolist(), 6)}


GRIDS = {
    "LGBMRanker": {"num_leaves": [4, 15]},
    "XGBRanker": {"max_depth": [2, 4]},
    "CatBoostRanker": {"depth": [2, 4]},
    "Ridge": {"alpha": [1.0, 99.0]},
}


def by_hand(estimator: Any, weights: dict[str, np.ndarray], piped: bool) -> np.ndarray:
    """The value of each fold and metric."""
    folds = []
    for train, test in CV.split(X, y, qid):
        scaler = StandardScaler().fit(X[train]) if piped else None
        scaled = scaler.transform(X) if scaler else X
        given = {name: values[train] for name, values in weights.items()}
        model = fit_by_hand(estimator, scaled[train], y[train], qid[train], **given)
        given = {name: values[test] for name, values in weights.items()}
        result = ltr.evaluate(y[test], model.predict(scaled[test]), qid=qid[test], metrics=METRICS, **given)
        folds.append([result["ndcg@10"], result["map"], -result["arp"]])
    return np.array(folds)


@pytest.mark.parametrize(
    ("kind", "host", "queries", "n_jobs", "piped", "weighted"),
    [
        ("grid", "LGBMRanker", "routed", 2, True, True),
        ("grid", "LGBMRanker", "qid", 2, True, False),
        ("grid", "XGBRanker", "routed", 1, True, True),
        ("grid", "XGBRanker", "list", 2, False, False),
        ("grid", "CatBoostRanker", "qid", 1, True, False),
        ("grid", "Ridge", "routed", 2, True, True),
        ("randomized", "LGBMRanker", "polars", 1, True, False),
        ("halving", "LGBMRanker", "routed", 1, False, False),
        ("halving", "LGBMRanker", "qid", 2, False, False),
    ],
)
def test_every_fold_of_a_search(kind: str, host: str, queries: str, n_jobs: int, piped: bool, weighted: bool) -> None:
    estimator = estimator_of(host)
    table, column = TABLES.get(queries, (X, "qid"))
    weights = {"sample_weight": WEIGHT} if weighted else {}
    prefix = f"estimator__{type(estimator).__name__.lower()}__" if piped else "estimator__"
    grid = {prefix + name: values for name, values in GRIDS[host].items()}
    with sklearn.config_context(enable_metadata_routing=queries == "routed"):
        model = QueryRanker(make_pipeline(StandardScaler(), estimator) if piped else estimator, qid=column)
        # Searches have the names in lower case, and each metric once.
        scorer = make_scorer("ndcg@10" if kind == "halving" else [*map(str.upper, METRICS), "ndcg_exp@10"], column)
        if weighted:
            model.set_fit_request(sample_weight=True)
            scorer.set_score_request(sample_weight=True)
        options = {"scoring": scorer, "n_jobs": n_jobs} | STRICT
        search = {
            "grid": lambda: GridSearchCV(model, grid, refit="ndcg@10", **options),
            "randomized": lambda: RandomizedSearchCV(model, grid, n_iter=2, refit="map", random_state=0, **options),
            "halving": lambda: HalvingGridSearchCV(model, grid, **options, **HALVING),
        }[kind]()
        search.fit(table, y, groups=qid, **({"qid": qid} | weights if queries == "routed" else {}))
    for i, settings in enumerate(search.cv_results_["params"]):
        plain = {name.removeprefix(prefix): value for name, value in settings.items()}
        expected = by_hand(clone(estimator).set_params(**plain), weights, piped)
        for j, name in enumerate(["score"] if kind == "halving" else METRICS):
            # A scaler sums rows in another order before QueryRanker brings those of a query together.
            tolerance = 1e-6 if piped else 0
            np.testing.assert_allclose(fold_scores(search, i, name), expected[:, j], rtol=tolerance)
    if kind == "halving":
        assert search.cv_results_["n_resources"].tolist() == [3, 3, 6]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(table), search.predict(table))


@pytest.mark.parametrize("routed", [False, True])
def test_without_scoring_the_metric_of_the_ranker_is_the_score(routed: bool) -> None:
    with sklearn.config_context(enable_metadata_routing=routed):
        table, groups = (X, {"params": {"qid": qid, "groups": qid}}) if routed else (frame(X, qid), {"groups": qid})
        scores = cross_val_score(ranker(metric="map"), table, y, **groups, **STRICT)
        np.testing.assert_array_equal(scores, by_hand(lgbm_ranker(), {}, False)[:, 1])
        search = GridSearchCV(ranker(metric="arp"), {"estimator__num_leaves": [31]}, **STRICT)
        search.fit(table, y, **groups.get("params", groups))
        np.testing.assert_array_equal(fold_scores(search, 0), by_hand(lgbm_ranker(), {}, False)[:, 2])


def test_nested_with_steps_before_the_ranker_and_scores_to_start_from() -> None:
    """With routing, which passes all of them to the inner search."""
    start = np.random.default_rng(1).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        piped = make_pipeline(StandardScaler(), ranker().set_fit_request(init_score=True))
        search = GridSearchCV(piped, {"queryranker__estimator__num_leaves": [4]}, scoring=make_scorer("mrr"), **STRICT)
        params = {"qid": qid, "groups": qid, "init_score": start}
        options = {"params": params, "return_estimator": True} | STRICT
        scores = cross_validate(search, X, y, scoring=make_scorer("mrr"), **options)
    for (train, test), got in zip(CV.split(X, y, qid), scores["test_score"], strict=True):
        scaled = StandardScaler().fit(X[train]).transform(X)
        model = fit_by_hand(lgbm_ranker(num_leaves=4), scaled[train], y[train], qid[train], init_score=start[train])
        assert got == ltr.evaluate(y[test], model.predict(scaled[test]), qid=qid[test], metrics="mrr")["mrr"]


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LGBMRanker", "init_score"),
        ("XGBRanker", "base_margin"),
        *(("CatBoostRanker", name) for name in ("baseline", "group_weight", "subgroup_id")),
    ],
)
def test_parameters_with_an_entry_for_each_row(host: str, name: str, routed: bool) -> None:
    values = np.random.default_rng(1).random(qid.max() + 1)[qid] if name == "group_weight" else np.arange(len(y)) % 9.0
    values = values.astype(int) if name == "subgroup_id" else values
    with sklearn.config_context(enable_metadata_routing=routed):
        model = QueryRanker(estimator_of(host))
        model = model.set_fit_request(**{name: True}) if routed else model
        params = {name: values} | ({"qid": qid, "groups": qid} if routed else {})
        table, groups = (X, None) if routed else (frame(X, qid), qid)
        options = {"groups": groups, "params": params, "scoring": make_scorer("mrr"), "return_estimator": True}
        fitted = cross_validate(model, table, y, **options | STRICT)["estimator"]
    for (train, _), made in zip(CV.split(X, y, qid), fitted, strict=True):
        expected = fit_by_hand(estimator_of(host), X[train], y[train], qid[train], **{name: values[train]})
        np.testing.assert_array_equal(made.predict(table), expected.predict(X))


class TestFoldsThatCutQueries:
    MESSAGE = r"Query \S+ is on both sides of the split, with \d+ documents.*GroupKFold\(\) and groups=qid"

    @pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)])
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
        piped = make_pipeline(scaler, make_pipeline(clone(scaler), ranker()))
        options = {"scoring": make_scorer("mrr"), "error_score": "raise", "return_train_score": True}
        with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
            cross_validate(piped, frame(X, qid), y, cv=KFold(3, shuffle=True, random_state=0), **options)
        cross_validate(piped, frame(X, qid), y, groups=qid, cv=CV, **options)

    def test_parts_that_lack_only_documents_of_grade_0(self) -> None:
        search = GridSearchCV(ranker(), {"estimator__num_leaves": [4]}, scoring=make_scorer("mrr"), **STRICT)
        for fitted in (ranker().fit(frame(X, qid), y), search.fit(frame(X, qid), y, groups=qid)):
            with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
                make_scorer("mrr")(fitted, frame(X, qid)[y > 0], y[y > 0])
            is_kept = np.arange(len(y)) != np.flatnonzero(y == 0)[0]  # one document less
            with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
                make_scorer("mrr")(fitted, frame(X, qid)[is_kept], y[is_kept])

    def test_sums_of_labels_are_compared_with_tolerance(self) -> None:
        """Fractional labels sum up differently in another order, and as float32."""
        fractional = y * 0.3 + 0.1
        fitted = QueryRanker(Ridge()).fit(X, fractional.astype(np.float32), qid=qid)
        make_scorer("ndcg@5")(fitted, X[::-1], fractional[::-1], qid=qid[::-1])
        fractional[0] += 0.01  # as many documents, but others
        with pytest.raises(ltr.LtrValueError, match=self.MESSAGE):
            make_scorer("ndcg@5")(fitted, X, fractional, qid=qid)


@pytest.mark.parametrize("by", ["HalvingGridSearchCV", "OptunaSearchCV"])
@pytest.mark.filterwarnings("ignore:.*(experimental|optuna.terminator)")  # what optuna says of its own modules
def test_searches_that_draw_rows_cut_queries(by: str) -> None:
    """Nothing can see it: what remains of a query looks like a whole one."""
    table, shares = frame(X, qid), []
    sizes = table.groupby("qid").size()

    def scoring(_: Any, rows: Any, y: Any) -> float:
        scored = rows.groupby("qid").size()
        shares.extend(scored / sizes[scored.index])
        return 0.0

    options = {"scoring": scoring, "refit": False} | STRICT
    if by == "OptunaSearchCV":
        optuna = pytest.importorskip("optuna", reason="optuna is not installed")
        integration = pytest.importorskip("optuna_integration.sklearn", reason="optuna-integration is not installed")
        leaves = {"estimator__num_leaves": optuna.distributions.CategoricalDistribution([4])}
        search = integration.OptunaSearchCV(ranker(), leaves, n_trials=1, subsample=0.5, random_state=0, **options)
    else:
        search = HalvingGridSearchCV(ranker(), {"estimator__num_leaves": [4, 8, 15]}, random_state=0, **options)
    search.fit(table, y, groups=qid)
    assert min(shares) < 1


def test_queries_that_do_not_arrive() -> None:
    scoring = make_scorer("mrr")
    search = GridSearchCV(ranker(), {"estimator__num_leaves": [4]}, scoring=scoring, **STRICT)
    message = "the scorer has no queries: no qid was passed, and X has no column 'qid': it is a ndarray.*metadata_rout"
    with pytest.raises(ltr.LtrTypeError, match=message):
        search.fit(X, y, qid=qid, groups=qid)  # fit gets qid, but without routing no scorer can
    with pytest.raises(ltr.LtrTypeError, match=r"QueryRanker.fit has no queries.*enable_metadata_routing=True"):
        cross_validate(ranker(), X, y, groups=qid, scoring=scoring, **STRICT)
    piped = make_pipeline(StandardScaler(), ranker())
    with pytest.raises(ltr.LtrTypeError, match=r"no column 'qid': it is a ndarray.*set_output\(transform='pandas'\)"):
        cross_validate(piped, frame(X, qid), y, groups=qid, scoring=scoring, **STRICT)


class TestTheColumnOfTheQueries:
    """A scorer without a column of its own reads that of the `QueryRanker`."""

    SESSIONS = frame(X, qid).rename(columns={"qid": "session"})
    FIRST = np.column_stack([qid, X])

    @pytest.mark.parametrize(
        ("column", "table"), [("session", SESSIONS), (0, FIRST), (6, ARRAY)], ids=["name", "first", "last"]
    )
    @pytest.mark.parametrize("searched", [False, True])
    def test_it_is_that_of_the_ranker(self, column: Any, table: Any, searched: bool) -> None:
        model: Any = ranker(qid=column)
        if searched:
            model = GridSearchCV(model, {"estimator__num_leaves": [4]}, scoring=make_scorer("mrr"), **STRICT)
            got = fold_scores(model.fit(table, y, groups=qid), 0)
            assert make_scorer("mrr")(model, table, y) == make_scorer("mrr", column)(model, table, y)
        else:
            got = cross_val_score(model, table, y, groups=qid, scoring=make_scorer("mrr"), **STRICT)
        expected = []
        for train, test in CV.split(X, y, qid):
            fitted = fit_by_hand(lgbm_ranker(**{"num_leaves": 4} if searched else {}), X[train], y[train], qid[train])
            result = ltr.evaluate(y[test], fitted.predict(X[test]), qid=qid[test], metrics="mrr")
            expected.append(result["mrr"])
        np.testing.assert_array_equal(got, expected)

    def test_behind_other_steps_only_a_name_is_known(self) -> None:
        scaler = StandardScaler().set_output(transform="pandas")
        options = {"groups": qid, "scoring": make_scorer("mrr")} | STRICT
        cross_val_score(make_pipeline(scaler, ranker(qid="session")), self.SESSIONS, y, **options)
        moves = ColumnTransformer([("ids", "passthrough", [6])], remainder="passthrough")
        piped = make_pipeline(moves, ranker(qid=0))
        with pytest.raises(ltr.LtrTypeError, match="the scorer has no queries.*no column 'qid'"):
            cross_val_score(piped, ARRAY, y, **options)
        expected = cross_val_score(ranker(qid=0), self.FIRST, y, **options)
        found = cross_val_score(piped, ARRAY, y, **options | {"scoring": make_scorer("mrr", 6)})
        np.testing.assert_array_equal(found, expected)

    def test_two_columns_and_a_routed_one_must_agree(self) -> None:
        table = self.SESSIONS.assign(user=qid // 2, same=qid)
        fitted, expected = ranker(qid="session").fit(table, y), make_scorer("mrr", "session")
        for scorer, routed in ((make_scorer("mrr", "same"), None), (make_scorer("mrr"), qid)):
            assert scorer(fitted, table, y, qid=routed) == expected(fitted, table, y)
        for scorer, routed in ((make_scorer("mrr", "user"), None), (make_scorer("mrr"), qid // 2)):
            with pytest.raises(ltr.LtrValueError, match="two different sets of queries.*column 'session' of X"):
                scorer(fitted, table, y, qid=routed)
