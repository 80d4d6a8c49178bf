"""Evaluation sets through `QueryRanker.fit`: the host's history is that of sets that are sorted by
hand, without the ids.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from folds import CV, Rows, appearance, frame, lgbm_ranker, scattered
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

RANKERS = ["LGBMRanker", "XGBRanker", "CatBoostRanker"]
HOSTS = [*RANKERS, "LGBMRegressor", "XGBRegressor", "CatBoostRegressor"]
KINDS = ["pandas", "polars", "array", "sparse", "routed"]


@pytest.fixture(scope="module")
def parts() -> list[Rows]:
    """A training set and two evaluation sets, rows of all queries mixed."""
    X, y, qid = scattered()
    chosen = (qid % 3 == 0, qid % 3 == 1, qid % 3 == 2)
    return [(X[part], y[part], qid[part]) for part in chosen]


def of_host(host: str, **settings: Any) -> Any:
    if host.startswith("LGBM"):
        return getattr(lgb, host)(**{"n_estimators": 5, "verbose": -1, "n_jobs": 1, "min_child_samples": 5} | settings)
    if host.startswith("XGB"):
        xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
        return getattr(xgboost, host)(**{"n_estimators": 5, "n_jobs": 1, "max_depth": 3} | settings)
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return getattr(catboost, host)(**{"iterations": 5} | quiet | settings)


def quiet(host: str) -> dict[str, Any]:
    return {"verbose": False} if host == "XGBRegressor" else {}


def as_kind(kind: str, X: np.ndarray, qid: np.ndarray) -> Any:
    tables = {
        "pandas": lambda: frame(X, qid),
        "polars": lambda: pl.from_pandas(frame(X, qid)),
        "array": lambda: np.column_stack([X, qid]),
        "sparse": lambda: sparse.csr_matrix(np.column_stack([X, qid])),
        "routed": lambda: X,
    }
    return tables[kind]()


def in_order(rows: Rows, **per_row: Any) -> tuple[np.ndarray, ...]:
    """X, y, the number of each row's query, and more columns, rows of each query together."""
    X, y, qid = rows
    number = appearance(qid)
    order = np.argsort(number, kind="stable")
    return tuple(column[order] for column in (X, y, number, *per_row.values()))


def history_by_hand(estimator: Any, parts: list[Rows], **settings: Any) -> Any:
    """Fit a host alone, in the form that its fit takes; return it."""
    (X, y, number), *sets = [in_order(part) for part in parts]
    accepted = inspect.signature(estimator.fit).parameters
    given: dict[str, Any] = {"eval_set": [(one[0], one[1]) for one in sets]}
    if "eval_X" in accepted:
        given = {"eval_X": tuple(one[0] for one in sets), "eval_y": tuple(one[1] for one in sets)}
    if "qid" in accepted:
        given |= {"qid": number, "eval_qid": [one[2] for one in sets]}
    elif "eval_group" in accepted:
        given |= {"group": np.bincount(number), "eval_group": [np.bincount(one[2]) for one in sets]}
    elif "group_id" in accepted:
        from catboost import Pool

        given = {"group_id": number, "eval_set": [Pool(one[0], one[1], group_id=one[2]) for one in sets]}
    return clone(estimator).fit(X, y, **given | settings)


class TestHistories:
    @pytest.mark.parametrize("host", HOSTS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_of_several_sets(self, host: str, kind: str, parts: list[Rows]) -> None:
        estimator = of_host(host)
        if kind == "polars" and host.startswith("CatBoost") and not hasattr(sys.modules["catboost.core"], "pl"):
            pytest.skip("this version of CatBoost does not read polars")
        expected = history_by_hand(estimator, parts, **quiet(host))
        (X, y, qid), *_ = parts
        sets = [(as_kind(kind, one[0], one[2]), one[1]) for one in parts[1:]]
        routed = {"qid": qid, "eval_qid": [one[2] for one in parts[1:]]} if kind == "routed" else {}
        made = QueryRanker(estimator, qid=6 if kind in ("array", "sparse") else "qid")
        if kind == "sparse" and host.startswith("CatBoost"):  # a sparse matrix has no missing values there
            expected = history_by_hand(estimator, [(sparse.csr_matrix(one[0]), *one[1:]) for one in parts])
        made.fit(as_kind(kind, X, qid), y, eval_set=sets, **routed, **quiet(host))
        assert made.evals_result_ == expected.evals_result_
        assert sum(map(bool, made.evals_result_.values())) >= 2

    @pytest.mark.parametrize("host", HOSTS)
    @pytest.mark.parametrize("how", ["pair", "list", "tuple", "eval_X", "eval_X in a tuple"])
    def test_every_form_of_one_set(self, host: str, how: str, parts: list[Rows]) -> None:
        train, (X, y, qid), _ = parts
        forms: dict[str, dict[str, Any]] = {
            "pair": {"eval_set": (frame(X, qid), y)},
            "list": {"eval_set": [(frame(X, qid), y)]},
            "tuple": {"eval_set": ((frame(X, qid), y),)},
            "eval_X": {"eval_X": frame(X, qid), "eval_y": y},
            "eval_X in a tuple": {"eval_X": (frame(X, qid),), "eval_y": (y,)},
        }
        made = QueryRanker(of_host(host)).fit(frame(train[0], train[2]), train[1], **forms[how], **quiet(host))
        assert made.evals_result_ == history_by_hand(of_host(host), parts[:2], **quiet(host)).evals_result_

    @pytest.mark.parametrize("host", HOSTS)
    def test_behind_the_steps_of_a_pipeline(self, host: str, parts: list[Rows]) -> None:
        scaler = StandardScaler().fit(in_order(parts[0])[0])
        scaled = [(scaler.transform(X), y, qid) for X, y, qid in parts]
        expected = history_by_hand(of_host(host), scaled, **quiet(host))
        (X, y, qid), *_ = parts
        sets = [(frame(one[0], one[2]), one[1]) for one in parts[1:]]
        name = type(of_host(host)).__name__.lower()
        for prefix in ("", f"{name}__"):
            made = QueryRanker(make_pipeline(StandardScaler(), of_host(host)))
            made.fit(frame(X, qid), y, **{f"{prefix}eval_set": sets}, **quiet(host))
            assert made.evals_result_ == expected.evals_result_

    def test_the_training_set_is_known_to_lightgbm(self, parts: list[Rows]) -> None:
        """LightGBM calls it "training", and its early stopping ignores it."""
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        inputs = frame(X, qid)
        sets = [(inputs, y), (frame(X_val, qid_val), y_val)]
        made = QueryRanker(lgbm_ranker()).fit(inputs, y, eval_set=sets)
        assert list(made.evals_result_) == ["training", "valid_1"]
        routed = QueryRanker(lgbm_ranker()).fit(X, y, qid, eval_set=[(X, y), (X_val, y_val)], eval_qid=[None, qid_val])
        assert routed.evals_result_ == made.evals_result_

    @pytest.mark.parametrize("host", HOSTS)
    def test_a_set_as_long_as_x(self, host: str, parts: list[Rows]) -> None:
        """Its rows are its own: they are not brought into the order of the rows of X."""
        train, (X, y, qid), _ = parts
        n = min(len(train[1]), len(y))
        short = [tuple(column[:n] for column in one) for one in (train, (X, y, qid))]
        made = QueryRanker(of_host(host))
        (X, y, qid), (X_val, y_val, qid_val) = short
        made.fit(frame(X, qid), y, eval_X=frame(X_val, qid_val), eval_y=y_val, **quiet(host))
        assert made.evals_result_ == history_by_hand(of_host(host), short, **quiet(host)).evals_result_

    def test_our_metrics_on_them(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        made = QueryRanker(lgbm_ranker(metric="None"))
        made.fit(frame(X, qid), y, eval_set=[(frame(X_val, qid_val), y_val)], eval_metric=eval_metric("err@5"))
        last = ltr.evaluate(y_val, made.predict(frame(X_val, qid_val)), qid=qid_val, metrics="err@5")["err@5"]
        assert made.evals_result_["valid_0"]["err@5"][-1] == pytest.approx(last, rel=1e-12)


class TestWhatComesWithThem:
    @pytest.mark.parametrize("host", ["LGBMRanker", "LGBMRegressor"])
    def test_weights_and_scores_of_lightgbm(self, host: str, parts: list[Rows]) -> None:
        (X, y, qid), val, _ = parts
        rng = np.random.default_rng(0)
        weight, start = rng.random(len(val[1])), rng.random(len(val[1]))
        *_, sorted_weight, sorted_start = in_order(val, weight=weight, start=start)
        expected = history_by_hand(
            of_host(host), parts[:2], eval_sample_weight=[sorted_weight], eval_init_score=[sorted_start]
        )
        for in_dict in (False, True):
            given = {"eval_sample_weight": weight, "eval_init_score": start}
            made = QueryRanker(of_host(host)).fit(
                frame(X, qid), y, eval_set=[(frame(val[0], val[2]), val[1])],
                **{name: {0: column} if in_dict else [column] for name, column in given.items()},
            )  # fmt: skip
            assert made.evals_result_ == expected.evals_result_

    @pytest.mark.parametrize("host", ["XGBRanker", "XGBRegressor"])
    def test_weights_and_margins_of_xgboost(self, host: str, parts: list[Rows]) -> None:
        """Weights are one a row; rankers of XGBoost get their mean by query. One a query is passed on."""
        (X, y, qid), val, _ = parts
        rng = np.random.default_rng(0)
        weight, start = rng.random(len(val[1])), rng.random(len(val[1]))
        _, _, number, sorted_weight, sorted_start = in_order(val, weight=weight, start=start)
        by_query = np.bincount(number, sorted_weight) / np.bincount(number)
        by_hand = by_query if host == "XGBRanker" else sorted_weight
        given = {"base_margin_eval_set": [sorted_start], "sample_weight_eval_set": [by_hand]}
        expected = history_by_hand(of_host(host), parts[:2], **given, **quiet(host))
        for passed in (weight, by_query) if host == "XGBRanker" else (weight,):
            made = QueryRanker(of_host(host)).fit(
                frame(X, qid), y, eval_set=[(frame(val[0], val[2]), val[1])], sample_weight_eval_set=[passed],
                base_margin_eval_set=[start], **quiet(host),
            )  # fmt: skip
            assert made.evals_result_ == expected.evals_result_

    @pytest.mark.parametrize("host", RANKERS)
    def test_the_own_early_stopping_of_a_host(self, host: str, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        rounds = "iterations" if host == "CatBoostRanker" else "n_estimators"
        made = QueryRanker(of_host(host, **{rounds: 40, "early_stopping_rounds": 2}))
        expected = history_by_hand(made.estimator, parts[:2])
        made.fit(frame(X, qid), y, eval_set=[(frame(X_val, qid_val), y_val)])
        np.testing.assert_array_equal(made.predict(frame(X_val, qid_val)), expected.predict(X_val))
        if host == "XGBRanker":
            assert made.estimator_.best_iteration == expected.best_iteration
        else:
            assert made.best_iteration_ == expected.best_iteration_

    def test_sizes_by_hand(self, parts: list[Rows]) -> None:
        (X, y, qid), val, _ = parts
        X_val, y_val, number = in_order(val)
        expected = history_by_hand(lgbm_ranker(), parts[:2]).evals_result_
        sizes = np.bincount(number)
        for inputs, ids, X_eval in (
            (frame(X, qid), None, frame(X_val, number)),
            (frame(X, qid), None, frame(X_val, number).drop(columns="qid")),
            (X, qid, X_val),
        ):
            made = QueryRanker(lgbm_ranker()).fit(inputs, y, ids, eval_set=[(X_eval, y_val)], eval_group=[sizes])
            assert made.evals_result_ == expected

    def test_pools_of_catboost(self, parts: list[Rows]) -> None:
        catboost = pytest.importorskip("catboost", reason="catboost is not installed")
        (X, y, qid), val, _ = parts
        X_val, y_val, number = in_order(val)
        pool = catboost.Pool(X_val, y_val, group_id=number)
        made = QueryRanker(of_host("CatBoostRanker")).fit(X, y, qid=qid, eval_set=pool)
        assert made.evals_result_ == history_by_hand(of_host("CatBoostRanker"), parts[:2]).evals_result_
        for ranker, wrong in (
            (QueryRanker(make_pipeline(StandardScaler(), of_host("CatBoostRanker"))), pool),
            (QueryRanker(lgbm_ranker()), [pool]),
        ):
            with pytest.raises(ltr.LtrTypeError, match=r"eval_set(\[0\])? must be a pair \(X, y\)\. Got (a )?Pool"):
                ranker.fit(X, y, qid=qid, eval_set=wrong)

    def test_categories_of_catboost(self, parts: list[Rows]) -> None:
        pytest.importorskip("catboost", reason="catboost is not installed")
        train, val, _ = parts
        tables = [frame(one[0], one[2]).assign(f0=np.where(one[0][:, 0] > 0, "high", "low")) for one in (train, val)]
        for settings, given in (({"cat_features": ("f0",)}, {}), ({}, {"cat_features": ["f0"]})):
            made = QueryRanker(of_host("CatBoostRanker", **settings))
            made.fit(tables[0], train[1], eval_set=[(tables[1], val[1])], **given)
            assert len(made.evals_result_["validation"]) == 1


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("routing", [False, True])
def test_in_a_search(n_jobs: int | None, routing: bool, parts: list[Rows]) -> None:
    """Every fold is evaluated on the same sets."""
    (X, y, qid), (X_val, y_val, qid_val), _ = parts
    grid = {"estimator__num_leaves": [4, 15]}
    with sklearn.config_context(enable_metadata_routing=routing):
        made = QueryRanker(lgbm_ranker(n_estimators=40, early_stopping_rounds=2))
        if routing:
            made.set_fit_request(eval_set=True)
        search = GridSearchCV(made, grid, scoring=make_scorer("mrr"), cv=CV, n_jobs=n_jobs, error_score="raise")
        search.fit(frame(X, qid), y, groups=qid, eval_set=[(frame(X_val, qid_val), y_val)])
    expected = history_by_hand(search.best_estimator_.estimator, parts[:2])
    assert search.best_estimator_.best_iteration_ == expected.best_iteration_
    assert search.best_estimator_.evals_result_ == expected.evals_result_


class TestErrors:
    @pytest.mark.parametrize("host", RANKERS)
    def test_sets_without_queries(self, host: str, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        inputs = frame(X_val, qid_val)
        sets = [(inputs, y_val), (inputs.drop(columns="qid"), y_val)]
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[1\] has no queries.*same column.*eval_qid"):
            QueryRanker(of_host(host)).fit(frame(X, qid), y, eval_set=sets)
        with pytest.raises(ltr.LtrValueError, match=r"^eval_X has no queries"):
            QueryRanker(of_host(host)).fit(X, y, qid, eval_X=X_val, eval_y=y_val)

    def test_a_regressor_needs_no_queries(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        inputs = frame(X_val, qid_val)
        sets = [(inputs, y_val), (inputs.drop(columns="qid"), y_val)]
        history = QueryRanker(of_host("LGBMRegressor")).fit(frame(X, qid), y, eval_set=sets).evals_result_
        assert history["valid_0"]["l2"] == pytest.approx(history["valid_1"]["l2"])

    def test_other_features(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: (.|\n)*feature names"):
            QueryRanker(lgbm_ranker()).fit(
                frame(X, qid), y, eval_set=[(frame(X_val, qid_val).rename(columns={"f1": "g1"}), y_val)]
            )
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: qid must be .* position, 0 to 5\. Got 6"):
            QueryRanker(lgbm_ranker(), qid=6).fit(np.column_stack([X, qid]), y, eval_set=[(X_val, y_val)])
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: X has 5 features"):
            QueryRanker(lgbm_ranker(), qid=0).fit(np.column_stack([qid, X]), y, eval_set=[(X_val, y_val)])

    def test_lengths(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        inputs, n = frame(X_val, qid_val), len(y_val)
        for wrong, message in (
            ({"eval_set": [(inputs, y_val[1:])]}, rf"^eval_set\[0\]: .*got {n - 1} labels for {n} rows"),
            ({"eval_set": [(inputs, y_val)], "eval_group": [[1, 2]]}, r"^eval_set\[0\]: eval_group does not match"),
            ({"eval_set": [(inputs, y_val)], "eval_qid": [qid_val[::-1]]}, r"^eval_set\[0\]: .*two different sets of"),
            ({"eval_set": [(inputs, y_val)], "eval_qid": [qid_val] * 2}, "eval_qid must be a list.* 2 entries for 1"),
            ({"eval_X": (inputs,), "eval_y": (y_val, y_val)}, "eval_X is a tuple of 1 sets"),
        ):
            with pytest.raises(ltr.LtrValueError, match=message):
                QueryRanker(lgbm_ranker()).fit(frame(X, qid), y, **wrong)
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: eval_qid must have one id a row"):
            QueryRanker(lgbm_ranker()).fit(X, y, qid, eval_set=[(X_val, y_val)], eval_qid=[qid_val[1:]])
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: This is the training set"):
            QueryRanker(lgbm_ranker()).fit(X, y, qid, eval_set=[(X, y)], eval_group=[[len(y)]])
        series = pd.Series(y_val).sample(frac=1, random_state=0)
        with pytest.raises(ltr.LtrValueError, match=r"^eval_set\[0\]: X and y have different pandas indexes"):
            QueryRanker(lgbm_ranker()).fit(frame(X, qid), y, eval_set=[(inputs, series)])

    def test_forms(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        inputs = frame(X_val, qid_val)
        for wrong, message in (
            ({"eval_set": [(inputs, y_val)], "eval_X": inputs, "eval_y": y_val}, "Got eval_set, eval_X, eval_y"),
            ({"eval_X": inputs}, r"eval_set, or as eval_X and eval_y\. Got eval_X"),
            ({"eval_set": [inputs, y_val]}, r"^eval_set\[0\] must be a pair"),
            ({"eval_set": [(inputs, y_val, qid_val)]}, r"^eval_set\[0\] must be a pair"),
        ):
            with pytest.raises(ltr.LtrTypeError, match=message):
                QueryRanker(lgbm_ranker()).fit(frame(X, qid), y, **wrong)

    def test_an_estimator_without_evaluation_sets(self, parts: list[Rows]) -> None:
        (X, y, qid), (X_val, y_val, qid_val), _ = parts
        with pytest.raises(TypeError, match="eval_set"):
            QueryRanker(Ridge()).fit(frame(X, qid), y, eval_set=[(frame(X_val, qid_val), y_val)])
