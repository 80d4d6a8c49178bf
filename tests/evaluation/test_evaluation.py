"""Results: keys, means over what is defined, policies, subsets, standard errors, tables."""

from __future__ import annotations

import json
import pickle
import platform
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import sem

import ltr_metrics as ltr

Y = [1, 0, 0, 0, 0, 2]
S = [0.1, 0.9, 0.5, 0.4, 0.2, 0.3]
GROUP = [2, 2, 2]


# -- a mapping of names to means -------------------------------------------------------------------


def test_an_evaluation_is_a_mapping_of_canonical_names_to_means() -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@2", "p@5", ltr.MRR(k=3), "ndcg_exp@2"])
    assert isinstance(result, Mapping)
    assert list(result) == list(result.keys()) == ["ndcg_exp@2", "precision@5", "mrr@3"]
    assert dict(result) == {**result} == result.mean
    assert result["ndcg@2"] == result["ndcg_exp@2"] == result[ltr.NDCG(k=2)] == result.mean[ltr.NDCG(k=2)]
    np.testing.assert_array_equal(result.per_query["p@5"], result.per_query["precision@5"])
    assert result.n_undefined["ndcg@2"] == 1
    assert (result.get("p@5"), result.get("err@2"), result.get("err@2", 0.5)) == (result["p@5"], None, 0.5)
    with pytest.raises(ltr.LtrKeyError, match="'mrr@4' was not evaluated. Did you mean 'mrr@3'"):
        result["mrr@4"]


def test_names_are_read_in_any_case_and_columns_in_theirs() -> None:
    columns = {"Margin": S, "margin": Y}
    own = [ltr.as_metric(lambda *_: 1.0, name="GMV"), ltr.as_metric(lambda *_: 2.0, name="gmv")]
    asked = ["NDCG@2", "ndcg@2", "mean_of(margin)@1", "Mean_Of(Margin)@1", *own]
    result = ltr.evaluate(Y, S, group=GROUP, metrics=asked, columns=columns)
    assert list(result) == ["ndcg_exp@2", "mean_of(margin)@1", "mean_of(Margin)@1", "GMV", "gmv"]
    assert result["NDCG@2"] == result["nDCG@2"] == result["ndcg@2"] == result.mean["NDCG_EXP@2"] == result.get("Ndcg@2")
    assert "NDCG@2" in result
    assert "NDCG@3" not in result
    assert (result["GMV"], result["gmv"], result["Gmv"]) == (1, 2, 2)
    assert result["MEAN_OF(Margin)@1"] != result["MEAN_OF(margin)@1"]
    given = ltr.Evaluation.from_per_query({"qid": [1, 2], "MAP": [0, 1]}, convention="default")
    assert given["MAP"] == given["map"] == 0.5
    comparison = ltr.compare({"a": S, "b": Y}, Y, group=GROUP, metrics="MRR@2")
    assert comparison["Mrr@2"] == comparison["mrr@2"]
    assert comparison.leaderboard["Mrr@2", "b"] == comparison.leaderboard["mrr@2", "b"]
    assert len(ltr.gate(comparison, "MRR@2 > -2").checks) == 1


@pytest.mark.parametrize(
    ("key", "is_there"),
    [
        ("map@2", True),
        ("map(denominator=relevant)@2", True),
        (ltr.MAP(denominator="relevant", k=2), True),
        (ltr.MAP(k=2), False),  # complete, and another metric
        ("map", False),
        (0, False),
        (None, False),
    ],
)
def test_in_agrees_with_the_brackets(key: Any, is_there: bool) -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@2", "map@2"], convention="trec_eval", ties="mean")
    assert (key in result) == (key in result.mean) == is_there
    if is_there:
        assert result[key] == result.mean["map@2"] == result.mean.get(key)
    else:
        with pytest.raises(ltr.LtrKeyError, match=r"was not evaluated.*Evaluated: ndcg_lin@2, map"):
            _ = result[key]


@pytest.mark.parametrize("metrics", [[ltr.MAP(k=2), "map@2"], ["map@2", ltr.MAP(k=2)]])
def test_a_name_never_stands_for_two_metrics(metrics: list[Any]) -> None:
    rows: dict[str, Any] = {"y_true": [1, 1, 1, 0], "y_score": [4, 3, 2, 1], "group": [4], "docid": list("abcd")}
    both = ltr.evaluate(**rows, metrics=metrics, convention="trec_eval")
    assert dict(both) == {"map@2": 1.0, "map(denominator=relevant)@2": pytest.approx(2 / 3)}
    assert both["map@2"] == both.mean.get("map@2") == both[ltr.MAP(k=2)] == 1.0
    alone = ltr.evaluate(**rows, metrics="map@2", convention="trec_eval")
    assert alone["map@2"] == alone.mean.get("map@2") == pytest.approx(2 / 3)


def test_results_are_equal_only_to_themselves_and_survive_a_copy() -> None:
    def local(grades: np.ndarray) -> np.ndarray:
        return grades

    queries = ltr.Queries(Y, group=GROUP, by=["a", "b", "a"])
    queries.evaluate(S, [ltr.DCG(gain=local)])  # which cannot be pickled
    one, other = (queries.evaluate(S, "ndcg@10") for _ in range(2))
    assert one != other
    assert len({one, other, one}) == 2
    back, again = pickle.loads(pickle.dumps((one, queries)))
    assert dict(back) == dict(one) == dict(again.evaluate(S, "ndcg@10"))
    assert back.by["a"]["ndcg@10"] == one.by["a"]["ndcg@10"]
    assert str(back) == str(one) == repr(one)


def test_result_as_table_dict_and_text() -> None:
    result = ltr.evaluate(Y, S, qid=[4, 4, 5, 5, 6, 6], metrics=["mrr", "p@2"], query_weight=[1, 1, 2])
    frame = result.to_pandas()
    assert frame.columns.tolist() == ["qid", "documents", "relevant", "mrr", "precision@2"]
    assert frame["relevant"].tolist() == [1, 0, 1]
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["per_query"]["mrr"] == [0.5, None, 1.0]
    assert plain["qid"] == [4, 5, 6]
    assert str(result).splitlines()[1].split() == ["mrr", "0.833333", "2", "1"]
    assert "weighted mean" in str(result)


def tables() -> dict[str, Any]:
    """Return a result of each kind that is a table, by the name of its class."""
    y, scores, other, qid = [1, 0, 0, 1, 0, 0], [2, 1, 1, 1, 3, 2], [1, 2, 2, 1, 3, 1], ["a", "a", "b", "b", "c", "c"]
    options: dict[str, Any] = {"qid": qid, "metrics": "mrr"}
    result = ltr.evaluate(y, scores, **options)
    comparison = ltr.compare({"old": scores, "new": other}, y, n_resamples=100, **options)
    click = {"y_true": y, "qid": qid, "metric": "ndcg@2"}
    results = [
        *(result, ltr.intervals(result), comparison, comparison.leaderboard, comparison.query("b")),
        ltr.churn(scores, other, qid=qid, k=1),
        *(ltr.tie_audit(y, scores, **options), ltr.audit(y, {"old": scores}, **options)),
        ltr.explain_difference(y_score=scores, a="lightgbm", b="sklearn", **click),
        ltr.identify_convention(y_score=scores, value=0.5, **click),
    ]
    return {type(one).__name__: one for one in results}


def test_tables_of_polars_are_those_of_pandas() -> None:
    for name, one in tables().items():
        expected, found = one.to_pandas(), one.to_polars()
        assert found.columns == list(expected), name
        assert found.rows() == [
            tuple(row) for row in expected.astype(object).where(expected.notna(), None).values.tolist()
        ]


def test_ids_of_several_types_are_text_in_polars() -> None:
    frame = ltr.evaluate([1, 0, 0, 0], [1, 2, 3, 4], qid=[7, 7, "a", "a"], metrics="mrr").to_polars()
    assert frame.rows() == [("7", 2, 1, 0.5), ("a", 2, 0, None)]


def test_the_versions_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ltr.show_versions()
    shown = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.replace("compiled core", "core").splitlines()
    )
    assert shown["ltr_metrics"] == ltr.__version__
    assert (shown["numpy"], shown["pandas"], shown["polars"]) == (np.__version__, pd.__version__, pl.__version__)
    assert (shown["python"], shown["platform"]) == (platform.python_version(), platform.platform())
    assert re.fullmatch(rf"{re.escape(platform.machine())}(-v[34])?", shown["core"])


# -- rankings by position ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [[2, 1, 1, 2, 4, 3], [np.nan, 1, 1, 2, np.nan, 1]])
@pytest.mark.parametrize(
    "options", [{}, {"judged": [1, 1, 0, 1, 1, 1], "unjudged": "drop"}, {"retrieved": [1, 1, 0, 1, 1, 1]}]
)
def test_a_ranking_by_places_is_evaluated_as_its_scores_are(places: list[float], options: dict[str, Any]) -> None:
    """A document without a place is not retrieved."""
    common: dict[str, Any] = {"group": GROUP, "query_weight": [1, 2, 3], "by": ["a", "b", "a"]} | options
    queries = ltr.Queries(Y, **common)
    before = queries.evaluate(S, ["recall@2", "mrr"]).to_dict()
    common["retrieved"] = np.isfinite(places) & np.array(options.get("retrieved", True), dtype=bool)
    expected = ltr.evaluate(Y, -np.nan_to_num(places), metrics=["recall@2", "mrr"], **common).to_dict()
    assert queries.evaluate(ltr.Positions(places), ["recall@2", "mrr"]).to_dict() == expected
    assert queries.evaluate(S, ["recall@2", "mrr"]).to_dict() == before  # the labels were not changed


# -- policies ---------------------------------------------------------------------------------------------------------


def test_undefined_queries() -> None:
    def mrr(no_relevant: object) -> ltr.Evaluation:
        return ltr.evaluate(Y, S, group=GROUP, metrics=["mrr", "p@2", "map(rel=2)"], no_relevant=no_relevant)

    skipped = mrr("skip")
    np.testing.assert_array_equal(skipped.per_query["mrr"], [0.5, np.nan, 1])
    np.testing.assert_array_equal(skipped.per_query["p@2"], [0.5, 0, 0.5])
    assert skipped.n_undefined == {"mrr": 1, "precision@2": 0, "map(rel=2)": 2}
    assert skipped["mrr"] == 0.75
    assert mrr(None).mean == skipped.mean
    assert mrr(0)["mrr"] == 0.5
    assert mrr(1)["mrr"] == pytest.approx(2.5 / 3)
    assert mrr(1).n_undefined["mrr"] == 0
    dropped = mrr("drop")
    np.testing.assert_array_equal(dropped.per_query["p@2"], [0.5, np.nan, 0.5])
    assert dropped.n_undefined == {"mrr": 1, "precision@2": 1, "map(rel=2)": 2}
    fractional = ltr.evaluate([0.5, 0, 0, 0], [1, 2, 3, 4], group=[2, 2], metrics="dcg_lin", no_relevant="drop")
    assert np.isnan(fractional.per_query["dcg_lin"]).tolist() == [False, True]  # drop looks at grades above 0


def test_a_mean_over_no_query_is_nan() -> None:
    result = ltr.evaluate([0, 0], [1, 2], group=[2], metrics=["mrr", "p@1"])
    assert np.isnan(result["mrr"])
    assert result["p@1"] == 0
    assert result.to_dict()["mean"] == {"mrr": None, "precision@1": 0.0}


def test_options_win_over_those_of_a_convention() -> None:
    def evaluate(**options: Any) -> ltr.Evaluation:
        return ltr.evaluate(Y, [0.0] * 6, group=GROUP, metrics="ndcg", **options)

    stable = evaluate(convention="lightgbm")
    assert (stable.policy.ties, stable.n_undefined["ndcg"]) == ("stable", 0)
    assert evaluate(convention="lightgbm", ties="mean", no_relevant="skip").mean == evaluate().mean != stable.mean


# -- some of the queries ----------------------------------------------------------------------------------------------


def of_four_queries(ids: Any = (10, 11, 12, 13), **options: Any) -> ltr.Evaluation:
    y, s = [1, 0, 0, 0, 1, 0, 0, 2], [2, 1, 2, 1, 1, 2, 2, 1]
    return ltr.evaluate(y, s, qid=np.repeat(ids, 2), metrics=["mrr", "ndcg_lin"], **options)


def test_a_subset_is_given_by_ids_and_in_their_order() -> None:
    result = of_four_queries(query_weight=[1, 2, 3, 4], by=["a", "b", "a", "c"])
    part = result.subset([13, 11, 10])
    assert part.qid.tolist() == [13, 11, 10]
    np.testing.assert_array_equal(part.per_query["mrr"], [0.5, np.nan, 1.0])
    assert part["mrr"] == (4 * 0.5 + 1) / 5
    assert part.n_undefined == {"mrr": 1, "ndcg_lin": 1}
    assert part.weight is not None
    assert part.weight.tolist() == [4, 2, 1]
    assert part.n_documents.tolist() == [2, 2, 2]
    assert part.n_relevant.tolist() == [1, 0, 1]
    assert {label: one.qid.tolist() for label, one in part.by.items()} == {"a": [10], "b": [11], "c": [13]}
    assert list(result.subset([12]).by) == ["a"]
    assert part.policy == result.policy
    assert ltr.compare({"whole": result.subset([10, 11, 13]), "part": part}, n_resamples=100)["mrr"].ties == 2


def test_a_subset_of_ids_of_another_type() -> None:
    result = of_four_queries()
    for ids in (["12", "10"], np.array([12, 10], dtype=np.uint8), pd.Series([12.0, 10.0]), (12, "10")):
        assert result.subset(ids).qid.tolist() == [12, 10]
    assert of_four_queries(["10", "11", "12", "x"]).subset([12, "x"]).qid.tolist() == ["12", "x"]
    nothing = result.subset([])
    assert nothing.n_queries == 0
    assert np.isnan(nothing["mrr"])


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        ([0, 1], ltr.LtrKeyError, r"no query 0\. It lacks 2 of 2 ids \(0, 1\)\. It has 4 queries \(10, 11, 12, "),
        ([10, "010"], ltr.LtrKeyError, "no query '010'.* '010' is not 10: write them the same way"),
        ([10, 11, 10], ltr.LtrValueError, "each query once: got '10' at 0 and at 2"),
        ([True, False, True, False], ltr.LtrTypeError, r"not one flag per query.*result.qid\[flags\]"),
        (np.ones(4, dtype=bool), ltr.LtrTypeError, r"not one flag per query"),
        ("10", ltr.LtrTypeError, "qids must be an array or a list"),
    ],
)
def test_a_subset_of_what_is_no_id_is_refused(ids: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        of_four_queries().subset(ids)


# -- the uncertainty of a mean -----------------------------------------------------------------------


def test_the_standard_error_is_that_of_scipy() -> None:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=3)
    plain = ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@10", "err@10"])
    assert plain.n_undefined["ndcg@10"] > 0
    for name in plain:
        assert plain.standard_error[name] == pytest.approx(sem(plain.per_query[name], nan_policy="omit"), rel=1e-12)
    assert plain.standard_error["ndcg@10"] == plain.standard_error[ltr.NDCG(k=10)]


def test_the_standard_error_of_part_of_the_queries() -> None:
    y, s, group = [1, 0, 0, 1, 1, 0, 0, 0], [2, 1, 2, 1, 2, 1, 2, 1], [2, 2, 2, 2]
    result = ltr.evaluate(y, s, group=group, metrics="mrr", by=["a", "a", "b", "b"], query_weight=[1, 1, 1, 0])
    assert result.by["a"].standard_error["mrr"] == pytest.approx(0.25)  # of 1 and .5
    assert np.isnan(result.by["b"].standard_error["mrr"])  # one query counts
    assert result.subset([0, 1]).standard_error["mrr"] == pytest.approx(0.25)
