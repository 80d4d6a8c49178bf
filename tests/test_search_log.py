"""PerQueryLog with a folder: scores from many processes, numbered, merged and compared."""

from __future__ import annotations

import dataclasses
import errno
import functools
import itertools
import json
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import ltr_metrics as ltr
from ltr_metrics._engine.plain import plain_ids
from ltr_metrics.evaluation.log.parameters import as_text, plain
from ltr_metrics.evaluation.means import standard_error
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.integration

X, Y, QID = ltr.make_ranking(n_queries=30, documents=6, random_state=0)
QID = np.unique(QID, return_inverse=True)[1]
WEIGHT = np.linspace(1, 3, 30)
METRICS = ["ndcg@3", "mrr"]


def score(
    log: ltr.PerQueryLog,
    column: int,
    fold: int,
    *,
    part: str | None = "test",
    metrics: Any = METRICS,
    ids: Any = QID,
    parameters: dict[str, Any] | None = None,
    weight: Any = None,
    labels: Any = Y,
    rows: Any = slice(None),
    side: str | None = None,
    fitted: Any = "the rest of ids",
    **options: Any,
) -> ltr.Evaluation:
    """Score one of three folds by a model, which is one column of X.

    With part None, the queries that it was fitted on are unknown.
    """
    in_fold = fold == QID % 3
    chosen = np.flatnonzero(in_fold == ((side or part) != "train"))[rows]
    if isinstance(fitted, str):
        fitted = None if part is None else [ids[i] for i in np.flatnonzero(~in_fold)]
    ids = [ids[i] for i in chosen] if isinstance(ids, list) else ids[chosen]
    weights = None if weight is None else weight[QID[chosen]]
    request = resolve(metrics, **options)
    result = ltr.Queries(labels[chosen], qid=ids, sample_weight=weights).evaluate_request(X[chosen, column], request)
    log.record_score({"column": column, "seed": 7} if parameters is None else parameters, result, part, fitted)
    return result


@pytest.fixture
def log(tmp_path: Path) -> ltr.PerQueryLog:
    return ltr.PerQueryLog(folder=tmp_path / "of" / "search")


def search(log: ltr.PerQueryLog, columns: Any = (0, 1, 2), **options: Any) -> dict[tuple[int, int], ltr.Evaluation]:
    """Score each candidate on each fold, in an arbitrary order."""
    pairs = list(itertools.product(columns, range(3)))[::-1]
    return {(column, fold): score(log, column, fold, **options) for column, fold in pairs}


def test_scores_are_read_as_written(log: ltr.PerQueryLog) -> None:
    assert not log.folder.exists()
    results = search(log, weight=WEIGHT, convention="catboost", ties="mean", metrics=["ndcg@3", "mrr"])
    scores = log.scores()
    assert [(s.candidate, s.fold) for s in scores] == sorted(results)
    for s in scores:
        expected = results[s.candidate, s.fold]
        assert s.part == "test"
        assert s.parameters == {"column": s.candidate, "seed": 7}
        assert s.evaluation.to_dict() == expected.to_dict()
        assert s.evaluation.policy == expected.policy
        assert s.evaluation["ndcg@3"] == s.evaluation["ndcg_lin@3"] == expected["ndcg@3"]
        assert s.evaluation.qid.dtype == QID.dtype
        assert s.evaluation.weight.dtype == s.evaluation.per_query["mrr"].dtype == np.float64
    assert {path.suffixes[-2:] == [".scores", ".npz"] for path in log.folder.iterdir()} == {True}


def test_candidates_over_folds_and_over_queries(log: ltr.PerQueryLog) -> None:
    results = search(log, weight=WEIGHT)
    candidates = log.candidates("ndcg@3")
    assert [c.mean_over_folds for c in candidates] == sorted((c.mean_over_folds for c in candidates), reverse=True)
    for c in candidates:
        of_folds = [results[c.number, fold] for fold in range(3)]
        assert c.metric == "ndcg_exp@3"
        assert c.parameters == {"column": c.number}
        assert c.all_parameters == {"column": c.number, "seed": 7}
        assert c.folds.tolist() == [result["ndcg@3"] for result in of_folds]
        assert c.mean_over_folds == np.mean(c.folds)
        value = {q: v for r in of_folds for q, v in zip(r.qid.tolist(), r.per_query["ndcg@3"].tolist(), strict=True)}
        assert c.qid == sorted(value)
        np.testing.assert_array_equal(c.values, [value[q] for q in c.qid])
        whole = ltr.evaluate(
            Y, X[:, c.number], qid=QID, metrics="ndcg@3", query_weight=dict(zip(range(30), WEIGHT, strict=True))
        )
        assert c.mean_over_queries == pytest.approx(whole["ndcg@3"], rel=1e-12)
        assert c.standard_error == pytest.approx(
            standard_error(whole.per_query["ndcg@3"], np.asarray(whole.weight)), rel=1e-12
        )
        assert c.n_queries == 30 - whole.n_undefined["ndcg@3"] < 30
        assert str(c) == repr(c)
        assert str(c).startswith(f"ndcg_exp@3 of {{'column': {c.number}}}: {c.mean_over_folds:.4f} over 3 folds, ")
    unweighted = ltr.PerQueryLog(folder=log.folder.parent / "unweighted")
    search(unweighted, columns=[1])
    (alone,) = unweighted.candidates(ltr.MRR())
    assert alone.parameters == {}
    assert str(alone).startswith("mrr: 0.")
    assert alone.weight is None
    assert alone.mean_over_queries == pytest.approx(ltr.evaluate(Y, X[:, 1], qid=QID, metrics="mrr")["mrr"], rel=1e-12)


def test_candidates_in_the_order_of_the_search(log: ltr.PerQueryLog) -> None:
    search(log)
    params = [{"column": np.int64(2)}, {"column": 0}, {"column": 1, "seed": 7}]
    assert [c.number for c in log.candidates("mrr", params=params)] == [2, 0, 1]
    with pytest.raises(ltr.LtrKeyError, match=r"No candidate has the parameters {'column': 3}.*'column': 0"):
        log.candidates("mrr", params=[{"column": 3}])
    with pytest.raises(ltr.LtrKeyError, match="3 candidates have the parameters {'seed': 7}, and exactly one"):
        log.candidates("mrr", params=[{"seed": 7}])
    with pytest.raises(ltr.LtrKeyError, match=r"No candidate.*'column': 1\.0"):
        log.candidates("mrr", params=[{"column": 1.0}])
    with pytest.raises(ltr.LtrTypeError, match=r'cv_results_\["params"\]'):
        log.candidates("mrr", params={"column": 1})  # type: ignore[arg-type]


def test_estimators_among_the_parameters_differ_by_their_parameters(log: ltr.PerQueryLog) -> None:
    models = [Ridge(alpha=2.0), Ridge(alpha=10.0), LinearRegression()]
    for column, model in enumerate(models):
        parameters = make_pipeline(StandardScaler(), "passthrough").set_params(passthrough=model).get_params(deep=True)
        assert parameters["passthrough"] is model
        score(log, column, 0, parameters=parameters)
    candidates = log.candidates("mrr", params=[{"passthrough": model} for model in models])
    assert [c.parameters["passthrough"] for c in candidates] == ["Ridge", "Ridge", "LinearRegression"]
    assert [c.parameters.get("passthrough__alpha") for c in candidates] == [2.0, 10.0, None]
    assert "passthrough__alpha" not in candidates[2].parameters
    first = candidates[0]
    assert len(str(first.parameters)) > 100
    assert str(first).startswith(f"mrr of {str(first.parameters)[:100]}...: {first.mean_over_folds:.4f} over")
    with pytest.raises(ltr.LtrKeyError, match="2 candidates"):
        log.candidates("mrr", params=[{"passthrough": Ridge}])


def test_grids_of_different_estimators(log: ltr.PerQueryLog) -> None:
    """A grid that leaves out the parameters of another grid's estimator leaves no default open."""
    params = [
        *({"model": Ridge(), "model__alpha": alpha} for alpha in (1.0, 2.0)),
        *({"model": LinearRegression(), "model__n_jobs": n_jobs} for n_jobs in (1, 2)),
    ]
    for column, entry in enumerate(params):
        score(log, column % 3, 0, parameters=Pipeline([("model", None)]).set_params(**entry).get_params())
    candidates = log.candidates("mrr", params=params)
    assert [c.parameters["model"] for c in candidates] == ["Ridge", "Ridge", "LinearRegression", "LinearRegression"]
    assert [c.parameters.get("model__alpha") for c in candidates] == [1.0, 2.0, None, None]
    assert [c.parameters.get("model__n_jobs") for c in candidates] == [None, None, 1, 2]


def test_the_table(log: ltr.PerQueryLog) -> None:
    results = search(log)
    table = log.to_pandas()
    assert list(table) == [
        *("candidate", "search", "fold", "part", "qid", "documents", "relevant", "ndcg_exp@3", "mrr", "param_column")
    ]
    assert len(table) == 90
    means = table.groupby(["candidate", "fold"])["mrr"].mean()
    assert {key: pytest.approx(result["mrr"], rel=1e-12) for key, result in results.items()} == means.to_dict()
    assert (table["param_column"] == table["candidate"]).all()
    assert (table["part"] == "test").all()
    assert (table["search"] == 0).all()
    assert table["documents"].sum() == 3 * len(Y)


def test_a_table_of_lists_and_missing_values(log: ltr.PerQueryLog) -> None:
    score(log, 0, 0, parameters={"layers": (4, 2), "p": 1})
    score(log, 1, 0, parameters={"layers": None})
    score(log, 1, 1, parameters={"layers": None}, part=None, metrics="map")
    table = log.to_pandas()
    assert table["param_layers"].dropna().unique().tolist() == ["[4, 2]"]
    assert table["param_p"].isna().sum() == 20
    assert (
        table["map"].notna().sum()
        == table["param_layers"].isna().sum() - 10 - table[table.part.isna()]["map"].isna().sum()
    )


def test_parts_are_separate(log: ltr.PerQueryLog) -> None:
    results = {part: search(log, part=part, weight=WEIGHT) for part in ("test", "train")}
    assert [len(log.candidates("mrr", part)[0].values) for part in ("test", "train")] == [30, 30]
    train = {c.number: c for c in log.candidates("mrr", part="train")}
    assert sorted(train[1].folds.tolist()) == sorted(results["train"][1, fold]["mrr"] for fold in range(3))
    # A query is in two of three training parts, with one value here: it counts once, not twice.
    np.testing.assert_allclose(train[1].weight, WEIGHT, rtol=1e-12)
    assert train[1].n_queries == log.candidates("mrr")[0].n_queries
    assert train[1].standard_error == pytest.approx(log.candidates("mrr", params=[{"column": 1}])[0].standard_error)
    with pytest.raises(ltr.LtrKeyError, match="no scores of part None in this log: pass part='test' or part='train'"):
        log.candidates("mrr", part=None)
    with pytest.raises(ltr.LtrKeyError, match="'map' was not evaluated.*Evaluated: ndcg_exp@3, mrr"):
        log.candidates("map")
    with pytest.raises(ltr.LtrValueError, match="part must be one of 'test', 'train', None. Got 'valid'"):
        score(log, 0, 0, part="valid")


def test_numbers_do_not_depend_on_the_order_of_writing(tmp_path: Path) -> None:
    sizes = [100, 9, 2.5]
    tables = []
    for i, order in enumerate(itertools.permutations(range(3))):
        log = ltr.PerQueryLog(folder=tmp_path / str(i))
        for column in order:
            for fold in order:
                score(log, column, fold, parameters={"z": sizes[column], "a": None})
        tables.append(log.to_pandas())
        assert tables[-1].equals(tables[0])
    assert tables[0].groupby("candidate")["param_z"].first().tolist() == [2.5, 9, 100]
    assert tables[0].groupby("fold")["qid"].min().tolist() == [0, 1, 2]


def test_folds_are_numbered_by_their_smallest_ids(log: ltr.PerQueryLog) -> None:
    request = resolve("dcg")
    for fold in ([9, 4], [10, 2], [8, 3], [7, 5], [2, 9], [6, 11]):
        log.record_score({}, ltr.Queries([1, 1], qid=fold).evaluate_request([1, 1], request), None)
    assert [sorted(s.evaluation.qid.tolist()) for s in log.scores()] == [
        [2, 9],
        [2, 10],
        [3, 8],
        [4, 9],
        [5, 7],
        [6, 11],
    ]
    (alone,) = log.candidates("dcg", part=None)
    assert alone.qid == list(range(2, 12))


def test_the_same_score_twice_counts_once(log: ltr.PerQueryLog) -> None:
    search(log)
    before = log.to_pandas()
    search(log)
    score(log, 1, 2, rows=slice(None, None, -1))  # the same, its queries in another order
    assert len(list(log.folder.iterdir())) == 19
    by = ["candidate", "fold", "qid"]
    after = log.to_pandas().sort_values(by, ignore_index=True)
    assert after.equals(before.sort_values(by, ignore_index=True))


def test_two_scorers_of_one_search_complete_each_other(log: ltr.PerQueryLog) -> None:
    score(log, 0, 0, metrics="ndcg@3")
    score(log, 0, 0, metrics="mrr", rows=slice(None, None, -1))
    (one,) = log.scores()
    assert list(one.evaluation.per_query) == ["mrr", "ndcg_exp@3"]
    both = ltr.PerQueryLog(folder=log.folder.parent / "both")
    expected = score(both, 0, 0)
    for metric in METRICS:
        value = dict(zip(one.evaluation.qid.tolist(), one.evaluation.per_query[metric].tolist(), strict=True))
        again = dict(zip(expected.qid.tolist(), expected.per_query[metric].tolist(), strict=True))
        np.testing.assert_equal(value, again)


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"column": 0, "seed": 7}},
        {"parameters": {"column": 0, "seed": 7}, "metrics": "mrr"},
        {"weight": WEIGHT, "parameters": {"column": 0, "seed": 7}},
    ],
)
def test_two_searches_in_one_folder_are_refused(log: ltr.PerQueryLog, change: dict[str, Any]) -> None:
    score(log, 0, 0)
    column = 0 if "weight" in change else 1
    score(log, column, 0, **change)
    with pytest.raises(ltr.LtrValueError, match=r'two different scores of one candidate.*new folder.*"column": 0'):
        log.scores()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "worst"}, "A score means ties='mean'.* and ties='worst'"),
        ({"no_relevant": 0}, "A score means .*no_relevant='skip'.* and .*no_relevant=0.0"),
        (
            {"convention": "trec_eval", "ties": "mean", "no_relevant": "skip"},
            "means .*convention='default'.* and .*'trec_eval'",
        ),
    ],
)
def test_different_policies_are_refused(log: ltr.PerQueryLog, options: dict[str, Any], message: str) -> None:
    score(log, 0, 0)
    score(log, 1, 0, **options)
    with pytest.raises(ltr.LtrValueError, match=f"{message}.* in .*folder of its own"):
        log.scores()


def test_a_name_with_two_meanings_is_refused(log: ltr.PerQueryLog) -> None:
    score(
        log, 0, 0, metrics="map@3", convention=dataclasses.replace(ltr.CONVENTIONS["default"], map_denominator="hits")
    )
    score(log, 1, 0, metrics="map@3")
    with pytest.raises(ltr.LtrValueError, match=r"'map@3' means map.*@3 and map.*@3 in .*folder of its own"):
        log.scores()


def test_a_query_that_was_cut_is_refused(log: ltr.PerQueryLog) -> None:
    score(log, 0, 0)
    score(log, 1, 0, rows=slice(1, None))  # as HalvingGridSearchCV does by n_samples
    with pytest.raises(
        ltr.LtrValueError,
        match=r'Query 0 was scored with .*cuts queries.*resource=.*"estimator__n_estimators"\. learning_curve always',
    ):
        log.candidates("mrr")


def test_a_score_on_other_data_is_not_a_fold(log: ltr.PerQueryLog) -> None:
    results = search(log, columns=[0, 1])
    held_out = QID + 1000
    score(log, 1, 0, ids=held_out, fitted=QID)  # search.score(X_test, y_test)
    score(log, 3, 0, ids=held_out, fitted=QID)  # a baseline
    score(log, 0, 0, ids=held_out, fitted=QID)  # and what takes part in the search, refitted by hand
    assert len(log.scores()) == 9
    for c in log.candidates("mrr"):
        assert c.folds.tolist() == [results[c.number, fold]["mrr"] for fold in range(3)]
        assert max(c.qid) < 1000


def test_a_score_after_a_cross_validation_is_not_a_fold(log: ltr.PerQueryLog) -> None:
    """After cross_validate, the final model and those of the folds are scored on other data."""
    results = search(log, columns=[1])
    trained = search(log, columns=[1], part="train")

    def assert_folds() -> None:
        (tested,), (fit,) = log.candidates("mrr"), log.candidates("mrr", part="train")
        assert tested.folds.tolist() == [results[1, fold]["mrr"] for fold in range(3)]
        assert sorted(fit.folds) == sorted(trained[1, fold]["mrr"] for fold in range(3))

    final = ltr.Queries(Y, qid=QID).evaluate_request(X[:, 1], resolve(METRICS))
    log.record_score({"column": 1, "seed": 7}, final, "train", fitted=QID)
    assert_folds()
    score(log, 1, 0, ids=QID + 1000, fitted=QID)
    assert_folds()
    assert [(s.search, s.part, s.fold) for s in log.scores()] == [
        *((0, "test", fold) for fold in range(3)),
        *((0, "train", fold) for fold in range(3)),
        (1, "test", 0),
        (1, "train", 0),
    ]
    for fold in range(3):  # cross_validate(return_estimator=True)
        for other in (1000, 2000, 3000):
            score(log, 1, 0, ids=QID + other, fitted=QID[fold != QID % 3])
    assert_folds()


def record(
    log: ltr.PerQueryLog, queries: Any, fitted: Any, part: str | None = "test", column: int = 0, metrics: Any = "dcg"
) -> ltr.Evaluation:
    """Score some queries of a ranker that was fitted on others."""
    rows = np.isin(QID, queries)
    result = ltr.Queries(Y[rows], qid=QID[rows]).evaluate_request(X[rows, column], resolve(metrics))
    log.record_score({"column": column}, result, part, fitted)
    return result


def test_several_searches_are_not_mixed(log: ltr.PerQueryLog, tmp_path: Path) -> None:
    """A nested cross-validation: two inner searches of three folds each, and the outer folds."""
    outer = [(np.arange(15, 30), np.arange(15)), (np.arange(15), np.arange(15, 30))]
    inner = [(np.setdiff1d(train, train[i::3]), train[i::3]) for train, _ in outer for i in range(3)]
    for fitted, scored in [*inner, *outer]:
        record(log, scored, fitted)
        record(log, fitted, fitted, "train")
    for part in ("test", "train"):
        with pytest.raises(ltr.LtrValueError, match=r"3 searches on .*nested.*a folder of its own.* 0 and 1 and 2\.$"):
            log.candidates("dcg", part)
    table = log.to_pandas()
    assert table[table.part == "test"].groupby("search")["qid"].agg(["min", "max", "count"]).to_numpy().tolist() == [
        [0, 14, 15],
        [15, 29, 15],
        [0, 29, 30],
    ]
    assert table.groupby(["search", "part"])["fold"].nunique().tolist() == [3, 3, 3, 3, 2, 2]
    again = ltr.PerQueryLog(folder=tmp_path / "again")
    for fitted, scored in [*outer, *inner][::-1]:
        record(again, fitted, fitted, "train")
        record(again, scored, fitted)
    assert again.to_pandas().equals(table)


def test_one_test_set_of_two_fits_is_two_folds_and_one_split_twice_is_one(log: ltr.PerQueryLog) -> None:
    """ShuffleSplit: the union is the same only if train_size + test_size = 1."""
    splits = [(range(10), range(10, 15)), (range(15, 25), range(10, 15)), (range(5, 15), range(15, 20))]
    results = [record(log, scored, fitted) for fitted, scored in [*splits, splits[0]]]
    (one,) = log.candidates("dcg")
    assert len(log.scores()) == 3
    assert len(one.folds) == 3
    assert one.mean_over_folds == pytest.approx(np.mean([r["dcg"] for r in results[:3]]), rel=1e-14)
    assert one.qid == list(range(10, 20))


def test_splits_that_coincide_by_chance_are_refused(log: ltr.PerQueryLog) -> None:
    """Each leaves some queries out, and two leave out the same: these look like a whole search."""
    record(log, range(5), range(5, 25))
    record(log, range(5, 10), [*range(5), *range(10, 25)])
    record(log, range(3, 8), range(10, 30))
    with pytest.raises(
        ltr.LtrValueError, match=r"Query 3 was scored in search 0.*in search 1.*train_size \+ test_size be 1"
    ):
        log.candidates("dcg")


@pytest.mark.parametrize("ids", [QID.astype("datetime64[s]"), QID.astype("datetime64[ns]"), QID.astype(object)])
def test_fitted_and_scored_ids_are_compared_as_python_objects(log: ltr.PerQueryLog, ids: Any) -> None:
    for fold in range(3):
        score(log, 0, fold, ids=ids, fitted=dict.fromkeys(ids[fold != QID % 3].tolist()))  # as QueryRanker has them
    assert {s.search for s in log.scores()} == {0}


def unknown(log: ltr.PerQueryLog, columns: Any = (0, 1), **options: Any) -> dict[tuple[int, int], ltr.Evaluation]:
    return search(log, columns, part=None, **options)


def test_without_memory_test_and_training_parts_are_not_mixed(log: ltr.PerQueryLog) -> None:
    results = unknown(log)
    assert [c.folds.tolist() for c in log.candidates("mrr", part=None, params=[{"column": 0}, {"column": 1}])] == [
        [results[column, fold]["mrr"] for fold in range(3)] for column in range(2)
    ]
    assert {s.search for s in log.scores()} == {None}
    unknown(log, side="train")  # return_train_score=True
    with pytest.raises(
        ltr.LtrValueError,
        match=r"all queries of fold \d \(.*, \.\.\.\) are in fold \d too.*QueryRanker.*return_train_score=False",
    ):
        log.candidates("mrr", part=None)


def test_without_memory_the_training_part_may_be_the_other_test_part(log: ltr.PerQueryLog) -> None:
    record(log, range(15), None, None)
    rows = QID < 15
    trained = ltr.Queries(Y[rows], qid=QID[rows]).evaluate_request(X[rows, 1], resolve("dcg"))
    log.record_score({"column": 0}, trained, None)
    with pytest.raises(ltr.LtrValueError, match=r"two different scores.*training part.*return_train_score=False"):
        log.candidates("dcg", part=None)


def test_without_memory_a_missing_fold_is_refused(log: ltr.PerQueryLog) -> None:
    unknown(log)
    score(log, 1, 0, part=None, ids=QID + 1000)  # search.score(X_test, y_test), or a fold that candidate 0 failed on
    with pytest.raises(
        ltr.LtrValueError, match=r'Candidate 0 was not scored on fold 3 \(1000, .*failed.*QueryRanker.*"column": 0'
    ):
        log.candidates("mrr", part=None)


def test_without_memory_folds_may_overlap(log: ltr.PerQueryLog) -> None:
    """ShuffleSplit: test parts share queries, and none contains another."""
    results = [record(log, queries, None, None) for queries in (range(10), range(5, 15), range(10, 20))]
    (one,) = log.candidates("dcg", part=None)
    assert one.folds.tolist() == [result["dcg"] for result in results]
    with pytest.raises(ltr.LtrKeyError, match="no scores of part 'test' in this log: pass part=None"):
        log.candidates("dcg")


def test_a_query_in_several_folds_has_the_mean_of_its_defined_values(log: ltr.PerQueryLog) -> None:
    def top(ranking: ltr.Ranking) -> Any:
        first = ranking.by_rank(ranking.queries.grades, 1)[:, 0]
        return np.where(first == 1, np.nan, first)

    request = resolve(top)
    for fitted, scores in ([2, 3], [2, 1, 1, 2]), ([2, 4], [1, 2, 1, 2]):  # query 0: undefined, then defined
        result = ltr.Queries([1, 3, 0, 2], qid=[0, 0, 1, 1]).evaluate_request(scores, request)
        log.record_score({}, result, "test", fitted)
    (one,) = log.candidates("top")
    assert one.values.tolist() == [3, 2]
    assert one.n_queries == 2


def test_a_candidate_that_failed_on_a_fold_has_no_mean_over_folds(log: ltr.PerQueryLog) -> None:
    search(log, columns=[0, 1])
    for fold in (0, 2):
        score(log, 2, fold)
    *_, last = log.candidates("mrr")
    assert last.number == 2
    assert np.isnan(last.folds).tolist() == [False, True, False]
    assert np.isnan(last.mean_over_folds)
    assert np.isnan(last.values[[q % 3 == 1 for q in last.qid]]).all()
    assert 0 < last.mean_over_queries < 1


@pytest.mark.parametrize(
    "ids",
    [
        np.array([f"q{i}" * (1 + i % 3) for i in range(30)])[QID],
        QID.astype("datetime64[D]"),
        QID / 2,
        [int(q) if q % 2 else f"{q - 1}" for q in QID],  # 1 and "1" are two queries
        [(int(q), "de") for q in QID],
        [np.int64(q) if q % 2 else f"q{q}" for q in QID],
        [[int(q // 3), str(q // 3), f"q{q}"][q % 3] for q in QID],  # folds of one kind each
    ],
    ids=["text", "dates", "floats", "mixed", "tuples", "scalars", "kinds"],
)
def test_ids_of_every_kind(log: ltr.PerQueryLog, ids: Any) -> None:
    results = search(log, columns=[0, 1], ids=ids)
    for s in log.scores():
        here = plain_ids(s.evaluation.qid)
        result = next(r for (c, _), r in results.items() if c == s.candidate and here == plain_ids(r.qid))
        np.testing.assert_array_equal(s.evaluation.per_query["mrr"], result.per_query["mrr"])
        if result.qid.dtype != object:
            np.testing.assert_array_equal(s.evaluation.qid, result.qid)
    assert (
        log.candidates("mrr")[0].n_queries == 30 - ltr.evaluate(Y, X[:, 0], qid=QID, metrics="mrr").n_undefined["mrr"]
    )
    assert log.to_pandas()["qid"].nunique() == 30


def test_plain_ids() -> None:
    ids = np.array([np.int64(3), 3, "3", (3, 4), b"3", np.datetime64("2020-01-01"), None], dtype=object)[:-1]
    assert plain_ids(ids) == [3, 3, "3", "(3, 4)", "3", "2020-01-01"]
    assert [type(i) for i in plain_ids(ids)] == [int, int, str, str, str, str]


class Colour(Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (ltr.NDCG(k=5), ltr.NDCG(k=10), "ndcg_exp@5"),
        (Colour.RED, Colour.BLUE, "Colour.RED"),
        (Decimal("0.10"), Decimal("0.1"), "0.10"),
        (date(2020, 1, 2), date(2020, 1, 3), "2020-01-02"),
        (datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 4), "2020-01-02 03:00:00"),
        (PurePosixPath("a/b"), PurePosixPath("a/c"), "a/b"),
    ],
)
def test_values_that_are_kept_as_text_differ(one: Any, other: Any, text: str, log: ltr.PerQueryLog) -> None:
    assert plain(one) == text
    for column, value in enumerate([one, other]):
        score(log, column, 0, parameters={"nested": [value]})
    assert len(log.candidates("mrr", params=[{"nested": [one]}, {"nested": [other]}])) == 2


def test_parameters_are_plain_and_the_same_everywhere() -> None:
    given = {
        "none": None,
        "flag": np.bool_(True),
        "int": np.int32(3),
        "float": np.float32(0.5),
        "nan": float("nan"),
        "text": np.str_("a"),
        "list": [1, (2, np.float64(3))],
        "array": np.arange(3),
        "dict": {1: {"a": np.int8(1)}},
        "set": {"b", "a", "c"},
        "estimator": Ridge(alpha=3),
        "class": Ridge,
        "function": as_text,
        "lambda": lambda: 0,
        "partial": functools.partial(as_text, 1),
        "callback": object(),
    }
    read = json.loads(json.dumps(plain(given)))
    assert np.isnan(read.pop("nan"))
    assert read == {
        "none": None,
        "flag": True,
        "int": 3,
        "float": 0.5,
        "text": "a",
        "list": [1, [2, 3.0]],
        "array": [0, 1, 2],
        "dict": {"1": {"a": 1}},
        "set": ["a", "b", "c"],
        "estimator": "Ridge",
        "class": "Ridge",
        "function": "as_text",
        "lambda": "test_parameters_are_plain_and_the_same_everywhere.<locals>.<lambda>",
        "partial": "partial",
        "callback": "object",
    }
    assert as_text(given) == as_text(plain(given))
    assert len({as_text(1), as_text(1.0), as_text(True), as_text("1")}) == 4


def in_a_worker(log: ltr.PerQueryLog, column: int) -> None:
    for fold in range(3):
        score(log, column, fold)


@pytest.mark.slow
def test_nothing_is_lost_between_processes(log: ltr.PerQueryLog, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(in_a_worker, itertools.repeat(log), range(4)))
    here = ltr.PerQueryLog(folder=tmp_path / "here")
    search(here, columns=range(4))
    assert log.to_pandas().equals(here.to_pandas())
    assert len(log.scores()) == 12


def test_the_log_finds_its_folder_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = ltr.PerQueryLog(folder="scores")
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(log))
    score(again, 0, 0)
    assert log.folder == tmp_path / "scores"
    assert len(ltr.PerQueryLog(folder=tmp_path / "scores").scores()) == 1
    assert repr(log) == f"PerQueryLog(folder={str(tmp_path / 'scores')!r})"


def test_a_score_is_written_whole_or_not_at_all(log: ltr.PerQueryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    score(log, 0, 0)

    def breaks_off(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    def is_full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", breaks_off)
        with pytest.raises(OSError, match="disk full"):
            score(log, 1, 0)
    monkeypatch.setattr(os, "fsync", is_full)
    with pytest.raises(OSError, match=rf"No space left on device: '{log.folder}/\w+\.scores\.npz'"):
        score(log, 1, 0)
    assert len(list(log.folder.iterdir())) == 1


def test_other_files_are_left_alone_and_damaged_ones_are_named(log: ltr.PerQueryLog) -> None:
    score(log, 0, 0)
    for name in ("notes.txt", "other.npz", "abc.tmp"):
        (log.folder / name).write_text("something else")
    assert len(log.scores()) == 1
    (whole,) = log.folder.glob("*.scores.npz")
    content = whole.read_bytes()
    damaged = log.folder / "damaged.scores.npz"
    for wrong in (b"", b"text", content[:200], content[:-200], content[:300] + b"\0" * 50 + content[350:]):
        damaged.write_bytes(wrong)
        with pytest.raises(ltr.LtrValueError, match=r"damaged\.scores\.npz is not a readable file of scores: .*Remove"):
            log.scores()
    np.savez(damaged, header=np.array([object()], dtype=object))
    with pytest.raises(ltr.LtrValueError, match="not a readable file of scores: ValueError.*allow_pickle=False"):
        log.scores()
    np.savez(damaged, header=np.array('{"format": 99}'))
    with pytest.raises(ltr.LtrValueError, match="the format of the file is 99, and this version reads format 1"):
        log.scores()
    with np.load(whole) as arrays:
        header = {key: value for key, value in json.loads(str(arrays["header"])).items() if key != "lower_is_better"}
        np.savez(damaged, **{**arrays, "header": np.array(json.dumps(header))})
    with pytest.raises(ltr.LtrValueError, match=r"damaged\.scores\.npz is not .*: KeyError: 'lower_is_better'"):
        log.scores()


def test_each_use_has_a_log_of_its_own(log: ltr.PerQueryLog, tmp_path: Path) -> None:
    request = resolve("mrr")
    result = ltr.Queries(Y, qid=QID).evaluate_request(Y, request)
    with pytest.raises(
        ltr.LtrTypeError, match=r"for the scores of a search\. Give a training a log of its own, without folder"
    ):
        log.record(log, result, request)
    with pytest.raises(ltr.LtrTypeError, match=r"would be lost.*log=PerQueryLog\(folder=PATH\)"):
        ltr.PerQueryLog().record_score({}, result, "test")
    for ask in (log.values, log.changes, log.best_round):
        with pytest.raises(ltr.LtrTypeError, match="no rounds: use scores, candidates or to_pandas"):
            ask("valid_0", "mrr")
    training = ltr.PerQueryLog()
    for ask in (training.scores, training.to_pandas, lambda: training.candidates("mrr")):
        with pytest.raises(ltr.LtrTypeError, match=r"no scores of a search.*from PerQueryLog\(folder=PATH\)"):
            ask()
    with pytest.raises(ltr.LtrKeyError, match="no scores in .*search .*no scorer has written"):
        log.scores()
    with pytest.raises(ltr.LtrTypeError, match="pass one of them"):
        ltr.PerQueryLog(["a"], folder=tmp_path)
    with pytest.raises(ltr.LtrTypeError, match="folder must be a path. Got 3"):
        ltr.PerQueryLog(folder=3)  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(ltr.LtrValueError, match="file is a file"):
        ltr.PerQueryLog(folder=tmp_path / "file")
