"""Results: keys, means over what is defined, policies, tables."""

from __future__ import annotations

import dataclasses
import json
import pickle
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

import ltr_metrics as ltr

Y = [1, 0, 0, 0, 0, 2]
S = [0.1, 0.9, 0.5, 0.4, 0.2, 0.3]
GROUP = [2, 2, 2]


def test_keys_are_canonical_names_names_as_asked_and_metrics() -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@10", "p@5", ltr.MRR(k=3), "ndcg_exp@10"])
    assert list(result.mean) == ["ndcg_exp@10", "precision@5", "mrr@3"]
    assert result["ndcg@10"] == result["ndcg_exp@10"] == result[ltr.NDCG(k=10)] == result.mean[ltr.NDCG(k=10)]
    np.testing.assert_array_equal(result.per_query["p@5"], result.per_query["precision@5"])
    assert result.n_undefined["ndcg@10"] == 1
    with pytest.raises(ltr.LtrError, match="'mrr@4' was not evaluated. Did you mean 'mrr@3'"):
        result["mrr@4"]


def test_several_names_in_one_string_are_a_list_that_was_meant() -> None:
    remedy = r"holds the names of several metrics. Pass them as a list: \['ndcg@10', 'map'\]"
    with pytest.raises(ltr.LtrValueError, match=remedy):
        ltr.evaluate(Y, S, group=GROUP, metrics="ndcg@10,map")
    results = {name: ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@10", "map"]) for name in "ab"}
    with pytest.raises(ltr.LtrValueError, match=remedy):
        ltr.compare(results, metrics="ndcg@10, map")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"convention": "LightGBM"}, r"no convention 'LightGBM'\. Did you mean 'lightgbm'\? Known"),
        ({"ties": "Mean"}, r"got 'Mean'\. Did you mean 'mean'\?"),
    ],
)
def test_a_word_that_is_nearly_right_gets_a_hint(option: dict[str, str], message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.evaluate(Y, S, group=GROUP, metrics="mrr", **option)


def test_a_ranking_by_places_is_evaluated_as_its_scores_are() -> None:
    places = [2, 1, 1, 2, 4, 3]
    expected = ltr.evaluate(Y, [-place for place in places], group=GROUP, metrics=["mrr", "ndcg@10"])
    result = ltr.evaluate(Y, ltr.Positions(places), group=GROUP, metrics=["mrr", "ndcg@10"])
    assert result.to_dict() == expected.to_dict()
    assert ltr.Queries(Y, group=GROUP).evaluate(ltr.Positions(places), "mrr")["mrr"] == expected["mrr"]


@pytest.mark.parametrize(
    "options", [{}, {"judged": [1, 1, 0, 1, 1, 1], "unjudged": "drop"}, {"retrieved": [1, 1, 0, 1, 1, 1]}]
)
def test_a_document_without_a_place_is_not_retrieved(options: dict[str, object]) -> None:
    places = np.array([np.nan, 1, 1, 2, np.nan, 1])
    queries = ltr.Queries(Y, group=GROUP, query_weight=[1, 2, 3], by=["a", "b", "a"], **options)
    before = queries.evaluate(S, ["recall@2", "mrr"]).to_dict()
    shown = np.isfinite(places) & np.array(options.get("retrieved", True), dtype=bool)
    expected = ltr.evaluate(
        Y,
        np.nan_to_num(-places),
        group=GROUP,
        metrics=["recall@2", "mrr"],
        query_weight=[1, 2, 3],
        by=["a", "b", "a"],
        **(options | {"retrieved": shown}),
    )
    assert queries.evaluate(ltr.Positions(places), ["recall@2", "mrr"]).to_dict() == expected.to_dict()
    assert queries.evaluate(S, ["recall@2", "mrr"]).to_dict() == before  # the labels were not changed


def test_places_that_cannot_be_ranked_are_refused() -> None:
    with pytest.raises(ltr.LtrValueError, match="all places are NaN"):
        ltr.evaluate(Y, ltr.Positions([np.nan] * 6), group=GROUP, metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match="places must differ within a query: got 1 again at row 1"):
        ltr.evaluate(Y, ltr.Positions([1, 1, 1, 2, 1, 2]), group=GROUP, metrics="mrr")
    for place in (-2, 1.5):
        with pytest.raises(ltr.LtrValueError, match=f"whole numbers, 0 or more.*{place}"):
            ltr.evaluate(Y, ltr.Positions([1, place, 1, 2, 1, 2]), group=GROUP, metrics="mrr")
    only_shown = ltr.Queries(Y, group=GROUP, retrieved=[1, 0, 0, 0, 0, 0])
    with pytest.raises(ltr.LtrValueError, match="No retrieved document has a position"):
        only_shown.evaluate(ltr.Positions([np.nan, 1, 1, 2, 1, 2]), "mrr")
    with pytest.raises(ltr.LtrTypeError, match=r"not Positions, which evaluate and compare take.*sign changed"):
        ltr.tie_audit(Y, ltr.Positions([1, 2, 1, 2, 1, 2]), group=GROUP, metrics="mrr")


def swapped_warnings(y_true: object, *scores: object, **options: object) -> list[str]:
    """Warnings of one `Queries` that is evaluated once for each of the scores."""
    queries = ltr.Queries(y_true, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for of_model in scores:
            queries.evaluate(of_model, "ndcg_lin@10")
    assert all(issubclass(one.category, ltr.LtrWarning) for one in caught)
    assert all("did you swap y_true and y_score" in str(one.message) for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("grades", [2, 3, 5])
def test_swapped_labels_and_scores_are_told_once_for_each_queries(kind: type, grades: int) -> None:
    rng = np.random.default_rng(grades)
    y, qid = rng.integers(0, grades, 60), np.repeat(np.arange(6), 10)
    scores = rng.random(60).astype(kind)
    (message,) = swapped_warnings(scores, y, y, qid=qid)
    assert f"whole numbers from 0 to {grades - 1}" in message
    assert "60 different labels in 60 rows" in message
    assert swapped_warnings(scores.round(3), y.astype(np.float32), qid=qid)
    assert swapped_warnings(y, scores, qid=qid) == []


def test_swapped_arguments_are_told_before_a_metric_refuses_the_labels() -> None:
    y, scores = [0, 1, 0, 2, 1, 0, 0, 1], np.linspace(0.1, 0.9, 8)
    with pytest.raises(ltr.LtrError, match="whole grades"), pytest.warns(ltr.LtrWarning, match="did you swap"):
        ltr.evaluate(scores, y, group=[8], metrics="err@10")
    with pytest.raises(
        ltr.LtrValueError, match=r"must not be negative.*did you swap y_true and y_score\? Labels come first"
    ):
        ltr.evaluate(scores - 0.5, y, group=[8])
    with pytest.raises(ltr.LtrValueError, match=r"must not be negative.*Shift the grades"):
        ltr.evaluate([-1, 0, 1, 2, 1, 0, 0, 1], scores, group=[8])


@pytest.mark.parametrize("scores", ["a model's", "a count", "stars", "constant", "ranks"])
@pytest.mark.parametrize("labels", ["click rates", "means of raters", "dwell times"])
def test_fractional_labels_that_are_meant_give_no_warning(labels: str, scores: str) -> None:
    rng = np.random.default_rng(0)
    shown = rng.integers(1, 5_000, 200)
    y = {
        "click rates": rng.binomial(shown, 0.05) / shown,
        "means of raters": rng.integers(0, 5, (200, 3)).mean(axis=1),
        "dwell times": rng.gamma(2, 30, 200),
    }[labels]
    y_score = {
        "a model's": rng.normal(size=200),
        "a count": rng.poisson(40, 200) * (rng.random(200) < 0.9),
        "stars": rng.integers(1, 6, 200),
        "constant": np.zeros(200),
        "ranks": np.tile(np.arange(20), 10),
    }[scores]
    assert swapped_warnings(y, y_score, group=[20] * 10) == []


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
    with pytest.raises(ltr.LtrValueError, match="mrr is undefined for query 1.*1 such queries"):
        mrr("error")


def test_drop_looks_at_grades_above_zero_not_at_relevance() -> None:
    result = ltr.evaluate([0.5, 0, 0, 0], [1, 2, 3, 4], group=[2, 2], metrics=["dcg_lin"], no_relevant="drop")
    assert np.isnan(result.per_query["dcg_lin"]).tolist() == [False, True]


def test_ids_of_dates_are_ready_for_json() -> None:
    days = np.array(["2026-01-02", "2026-01-02", "2026-01-01"], dtype="M8[ns]")
    plain = ltr.evaluate([1, 0, 1], [1, 2, 3], qid=days, metrics="mrr").to_dict()
    assert [day[:10] for day in json.loads(json.dumps(plain))["qid"]] == ["2026-01-02", "2026-01-01"]


def test_queries_with_a_local_function_can_be_pickled() -> None:
    def local(grades: np.ndarray) -> np.ndarray:
        return grades

    queries = ltr.Queries(Y, group=GROUP)
    queries.evaluate(S, [ltr.DCG(gain=local)])
    assert pickle.loads(pickle.dumps(queries)).evaluate(S, "mrr").mean == queries.evaluate(S, "mrr").mean


def test_a_mean_over_no_query_is_nan() -> None:
    result = ltr.evaluate([0, 0], [1, 2], group=[2], metrics=["mrr", "p@1"])
    assert np.isnan(result["mrr"])
    assert result["p@1"] == 0
    assert result.to_dict()["mean"] == {"mrr": None, "precision@1": 0.0}


def test_conventions_complete_names_and_explicit_values_win() -> None:
    binary = np.minimum(Y, 1)
    assert list(ltr.evaluate(binary, S, group=GROUP, metrics=["ndcg", "p@5", "map@3"], convention="xgboost").mean) == [
        "ndcg_exp@32",
        "precision(rel=binary,short=cut)@5",
        "map(rel=binary)@3",
    ]
    tied = [0.0] * 6
    stable = ltr.evaluate(Y, tied, group=GROUP, metrics="ndcg", convention="lightgbm")
    assert stable.policy.ties == "stable"
    assert stable.n_undefined["ndcg"] == 0
    assert ltr.evaluate(
        Y, tied, group=GROUP, metrics="ndcg", convention="lightgbm", ties="mean", no_relevant="skip"
    ).mean == (ltr.evaluate(Y, tied, group=GROUP, metrics="ndcg").mean)
    linear = ltr.CONVENTIONS["default"].with_settings("mine", ndcg={"gain": "linear"})
    mine = dataclasses.replace(linear, cutoff=5)
    assert list(ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg", "ndcg_exp", ltr.NDCG()], convention=mine).mean) == [
        "ndcg_lin@5",
        "ndcg_exp@5",
        "ndcg_exp",
    ]


def test_two_metrics_with_one_name_are_refused() -> None:
    def gain_of(factor: float) -> object:
        def scaled(grades: np.ndarray) -> np.ndarray:
            return factor * grades

        return scaled

    metrics = [ltr.DCG(gain=gain_of(1)), ltr.DCG(gain=gain_of(2))]
    with pytest.raises(ltr.LtrValueError, match=r"both named 'dcg\(gain=scaled\)'"):
        ltr.evaluate(Y, S, group=GROUP, metrics=metrics)


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


def test_one_long_query_and_a_hundred_thousand_short_ones() -> None:
    rng = np.random.default_rng(0)
    group = np.concatenate(([200_000], rng.integers(1, 5, 100_000)))
    y, s = rng.integers(0, 5, group.sum()), rng.random(group.sum())
    result = ltr.evaluate(y, s, group=group, metrics=["mrr", "dcg_lin"])
    ends = np.cumsum(group)
    for query in (0, 1, 77, 100_000):
        rows = slice(ends[query] - group[query], ends[query])
        ranked = y[rows][np.argsort(-s[rows])]
        assert result.per_query["dcg_lin"][query] == pytest.approx((ranked / np.log2(np.arange(len(ranked)) + 2)).sum())


# -- a mapping of names to means -------------------------------------------------------------------


def test_an_evaluation_is_a_mapping_of_canonical_names_to_means() -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@2", "mrr", "map@2"], convention="trec_eval", ties="mean")
    names = ["ndcg_lin@2", "mrr", "map(denominator=relevant)@2"]
    assert isinstance(result, Mapping)
    assert list(result) == list(result.keys()) == names
    assert len(result) == 3
    assert dict(result) == {**result} == result.mean
    assert list(result.values()) == [result[name] for name in names]
    assert list(result.items()) == list(result.mean.items())
    assert result.get("mrr") == result["mrr"]
    assert result.get("err@2") is None
    assert result.get("err@2", 0.5) == 0.5
    match result:
        case {"mrr": found}:
            assert found == result["mrr"]
        case _:
            pytest.fail("a mapping's pattern must match")


@pytest.mark.parametrize(
    ("key", "is_there"),
    [
        ("map@2", True),
        ("map(denominator=relevant)@2", True),
        (ltr.MAP(denominator="relevant", k=2), True),
        (ltr.MAP(k=2), False),
        ("map", False),
        ("0", False),
        (0, False),
        (None, False),
    ],
)
def test_in_agrees_with_the_brackets(key: Any, is_there: bool) -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg@2", "map@2"], convention="trec_eval", ties="mean")
    assert (key in result) == is_there
    if is_there:
        assert result[key] == result.mean["map@2"]
    else:
        with pytest.raises(ltr.LtrKeyError, match=r"was not evaluated.*Evaluated: ndcg_lin@2, map"):
            _ = result[key]


def test_evaluations_are_equal_only_to_themselves_and_have_a_hash() -> None:
    one, other = (ltr.evaluate(Y, S, group=GROUP, metrics="ndcg@10") for _ in range(2))
    assert one == one
    assert one != other
    assert one != dict(one)
    assert len({one, other, one}) == 2
    back = pickle.loads(pickle.dumps(one))
    assert dict(back) == dict(one)
    assert back["ndcg@10"] == one["ndcg@10"]
    assert str(back) == str(one) == repr(one)


def test_an_evaluation_is_no_sequence_of_scores_and_no_mapping_of_models() -> None:
    result = ltr.evaluate(Y, S, group=GROUP, metrics=["mrr", "map"])
    with pytest.raises(ltr.LtrTypeError, match="y_score must be a sequence.*got a Evaluation"):
        ltr.evaluate(Y, result, group=GROUP, metrics="mrr")
    with pytest.raises(ltr.LtrTypeError, match="two models or more by name.*Got a Evaluation"):
        ltr.compare(result)  # type: ignore[arg-type]


# -- some of the queries ----------------------------------------------------------------------------------------------


def of_four_queries(ids: Any = (10, 11, 12, 13), **options: Any) -> ltr.Evaluation:
    qid = [one for one in ids for _ in range(2)]
    return ltr.evaluate(
        [1, 0, 0, 0, 1, 0, 0, 2], [2, 1, 2, 1, 1, 2, 2, 1], qid=qid, metrics=["mrr", "ndcg_lin"], **options
    )


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
        (
            [0, 1],
            ltr.LtrKeyError,
            r"no query 0\. It lacks 2 of 2 ids \(0, 1\)\. It has 4 queries \(10, 11, 12, \.\.\.\)\.$",
        ),
        ([10, "010"], ltr.LtrKeyError, r"no query '010'\. It has 4 queries.* '010' is not 10: write them the same way"),
        ([10, 11, 10], ltr.LtrValueError, "each query once: got '10' at 0 and at 2"),
        ([True, False, True, False], ltr.LtrTypeError, r"not one flag per query.*result.qid\[flags\]"),
        (np.ones(4, dtype=bool), ltr.LtrTypeError, r"not one flag per query"),
        ("10", ltr.LtrTypeError, "qids must be a sequence"),
        ({10, 11}, ltr.LtrTypeError, "qids must be a sequence.*got a set"),
        (np.array([[10, 11]]), ltr.LtrValueError, "one-dimensional"),
        ([None], ltr.LtrKeyError, "no query .None"),
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
