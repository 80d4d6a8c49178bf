"""What may be passed, and what is refused with which words: nothing wrong becomes a number."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ltr_metrics as ltr

Y, S, GROUP = [0, 1, 2, 0], [0.1, 0.4, 0.3, 0.2], [2, 2]
NAN, INF = float("nan"), float("inf")

BAD = {
    "NaN score": (
        {"y_score": [0.1, NAN, 0.3, NAN]},
        r"y_score must not be NaN: got nan at row 1 \(query 0\), 2 in all",
    ),
    "NaN label": ({"y_true": [0, 1, NAN, 0]}, r"y_true must be finite: got nan at row 2 \(query 1\).*Drop the rows"),
    "infinite label": ({"y_true": [0, 1, INF, 0]}, r"must be finite: got inf at row 2 \(query 1\)"),
    "negative label": ({"y_true": [0, -1, 2, 0]}, r"must not be negative: got -1.0 at row 1 \(query 0\).*Shift"),
    "score too short": ({"y_score": [0.1, 0.2, 0.3]}, r"y_score must have one entry per row.*3 entries for 4 rows"),
    "qid too long": ({"group": None, "qid": [1, 1, 2, 2, 2]}, r"qid must have one entry per row.*5 entries for 4"),
    "sizes": ({"group": [2, 3]}, r"group must hold the sizes.*2 sizes add up to 5, but there are 4 rows"),
    "ids as sizes": ({"group": [7, 7, 9, 9]}, r"4 sizes add up to 32.*Pass an id a row as qid"),
    "empty query": ({"group": [2, 0, 2]}, r"at least 1: got 0 for query 1. Leave empty queries out"),
    "fractional size": ({"group": [2.5, 1.5]}, r"whole sizes.*got 2.5 for query 0"),
    "both": ({"qid": [1, 1, 2, 2]}, r"exactly one of qid.*and group.*got both"),
    "neither": ({"group": None}, r"exactly one of qid.*got neither"),
    "empty": ({"y_true": [], "y_score": [], "group": []}, r"y_true is empty"),
    "unknown metric": ({"metrics": ["ndgc@10"]}, r"no metric 'ndgc' \(in 'ndgc@10'\). Did you mean 'ndcg'"),
    "unknown parameter": ({"metrics": ["map(rle=2)"]}, r"map has no parameter 'rle'.*Did you mean 'rel'"),
    "bad cutoff": ({"metrics": ["map@0"]}, r"cutoff k of map must be a whole number of at least 1. Got 0"),
    "bad form": ({"metrics": ["map@ten"]}, r"must have the form name, name@10"),
    "no metric": ({"metrics": []}, r"at least one metric"),
    "grade above max_grade": (
        {"y_true": [0, 1, 5, 0], "metrics": ["err@10"]},
        r"no label above max_grade=4: got 5 at row 2 \(query 1\)",
    ),
    "no grade of any scale": (
        {"y_true": [0, 1, 5000, 0], "metrics": ["err@10"]},
        r"no label above max_grade=4: got 5000 at row 2 \(query 1\). Such a label is not a grade",
    ),
    "fractional grade": (
        {"y_true": [0, 1.5, 4, 0], "metrics": ["err"]},
        r"whole grades: got 1.5 at row 1 \(query 0\).*p=label",
    ),
    "no probability": ({"metrics": ["err(p=label)"]}, r"between 0 and 1.*got 2 at row 2"),
    "no rel": (
        {"y_true": [0, 0.5, 2, 0], "metrics": ["map"]},
        r"which labels are relevant.*got 0.5 at row 1.*map\(rel=0.5\)",
    ),
    "overflow": (
        {"y_true": [0, 1, 1024, 0], "metrics": ["ndcg_exp"]},
        r"finite in float64.*grade 1024 at row 2.*ndcg_lin",
    ),
    "overflowing sum": ({"y_true": [0, 1, 1023, 1023], "metrics": ["dcg_exp"]}, r"finite in float64.*grade 1023"),
    "short gain table": ({"metrics": ["ndcg(gain=[0,1])"]}, r"whole grades 0 to 1: got 2 at row 2"),
    "score matrix": (
        {"y_score": [[0.1, 0.2], [0.3, 0.4], [0, 0], [1, 1]]},
        r"y_score must be one-dimensional.*shape \(4, 2\)",
    ),
    "column vector": ({"y_true": [[0], [1], [2], [0]]}, r"y_true must be one-dimensional.*\.ravel\(\)"),
    "text score": ({"y_score": ["a", "b", "c", "d"]}, r"y_score must be numbers, got dtype <U1"),
    "complex score": ({"y_score": [1j, 2, 3, 4]}, r"must be numbers, got dtype complex"),
    "None label": ({"y_true": [0, None, 2, 0]}, r"y_true must be numbers without missing values|must be finite"),
    "no score": ({"y_score": None}, r"y_score must be a sequence with one entry per row, got None"),
    "ragged": ({"y_score": [[1], [2, 3], [4], [5]]}, r"flat sequence"),
    "huge integers": ({"y_score": [2**60, 2**60 + 1, 0, 1]}, r"beyond 2\*\*53"),
    "missing id": ({"group": None, "qid": [1, NAN, 2, 2]}, r"id in every row: it is missing at row 1"),
    "missing text id": ({"group": None, "qid": ["a", None, "b", "b"]}, r"id in every row: it is missing at row 1"),
    "ties": ({"ties": "random"}, r"ties must be one of 'mean', 'stable'.*got 'random'"),
    "no_relevant": ({"no_relevant": "ignore"}, r"no_relevant must be one of"),
    "no_relevant NaN": ({"no_relevant": NAN}, r"finite number"),
    "convention": ({"convention": "lightbgm"}, r"no convention 'lightbgm'. Did you mean 'lightgbm'"),
    "not in convention": ({"convention": "lightgbm", "metrics": ["err@10"]}, r"'err@10' is not a metric of lightgbm"),
    "weights": ({"query_weight": [1, 2, 3]}, r"one entry per query.*got 3 for 2 queries.*sample_weight"),
    "negative weight": ({"query_weight": [1, -2]}, r"not negative: got -2.0 at query 1"),
    "NaN weight": ({"sample_weight": [1, 1, NAN, 1]}, r"sample_weight must be finite.*row 2 \(query 1\)"),
    "missing weight": ({"query_weight": {0: 1.0}}, r"no entry for query 1"),
    "two weights": ({"query_weight": [1, 1], "sample_weight": [1] * 4}, r"not both"),
    "nothing retrieved": ({"retrieved": [False] * 4}, r"False in every row"),
    "object integers": ({"y_score": [2**70, 2**70 + 1, 0, 1]}, r"beyond 2\*\*53.*got 1180591620717411303424 at row 0"),
    "text in objects": ({"y_score": np.array(["1", "2", "3", "4"], dtype=object)}, r"got '1' at row 0"),
    "blurred ids": (
        {"group": None, "qid": np.array([1, 1, 2**24, 2**24 + 1], dtype=np.float32)},
        r"16777216 at row 2.*integers or text",
    ),
    "huge sizes": ({"group": [1e300, 3]}, r"got 1e\+300 for query 0"),
    "negative gain": ({"metrics": ["ndcg(gain=[-1,0,1])"]}, r"must not be negative nor fall.*grade 0"),
    "falling gain": (
        {"metrics": ["ndcg(gain=[0,3,1])"]},
        r"nor fall as the grade rises.*grade 2, first at row 2.*Use dcg",
    ),
    "empty gain table": ({"metrics": ["dcg(gain=[])"]}, r"one finite number per grade"),
    "gain table of words": ({"metrics": ["dcg(gain=[0,x])"]}, r"one finite number per grade"),
    "contradicting name": ({"metrics": ["ndcg_exp(gain=linear)"]}, r"gives gain twice"),
    "metrics": ({"metrics": 5}, r"metrics must be a name, a metric, or several"),
    "no_relevant list": ({"no_relevant": [0]}, r"finite number"),
    "docid": ({"docid": ["a", None, "b", "c"]}, r"docid must have an id in every row: it is missing at row 1"),
    "bytes that are no text": (
        {"docid": np.array([b"a", b"\xff", b"c", b"d"])},
        r"docid must be text, or bytes in UTF-8",
    ),
    "retrieved scores": ({"retrieved": [0.1, 0.2, 1, 0]}, r"retrieved must be True or False"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_error(case: str) -> None:
    options, message = BAD[case]
    call = {"y_true": Y, "y_score": S, "group": GROUP, "metrics": ["ndcg@10", "mrr"]} | options
    with pytest.raises(ltr.LtrError, match=message) as error:
        ltr.evaluate(call.pop("y_true"), call.pop("y_score"), **call)
    assert isinstance(error.value, (ValueError, TypeError))


def test_masked_entries_are_refused() -> None:
    with pytest.raises(ltr.LtrValueError, match="no masked entries"):
        ltr.evaluate(np.ma.masked_equal(Y, 2), S, group=GROUP)


def test_pandas_objects_with_different_indexes_are_refused() -> None:
    y, s = pd.Series(Y), pd.Series(S, index=[3, 2, 1, 0])
    with pytest.raises(ltr.LtrValueError, match="y_true and y_score have different pandas indexes"):
        ltr.evaluate(y, s, group=GROUP, metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match="y_true and qid have different"):
        ltr.evaluate(y, S, qid=pd.Series([1, 1, 2, 2], index=[9, 8, 7, 6]), metrics="mrr")
    ltr.evaluate(y, s.to_numpy(), group=GROUP, metrics="mrr")
    other = pd.Series([1, 1, 1, 1], index=[3, 2, 1, 0])
    for option in ("sample_weight", "docid", "retrieved"):
        with pytest.raises(ltr.LtrValueError, match=f"y_true and {option} have different"):
            ltr.evaluate(y, S, group=GROUP, metrics="mrr", **{option: other})
    with pytest.raises(ltr.LtrValueError, match="qid and y_score have different"):
        ltr.evaluate(np.array(Y), s, qid=pd.Series([1, 1, 2, 2]), metrics="mrr")


@pytest.mark.parametrize(
    "made", [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v[:1], v[1:]])]
)
def test_kinds_of_columns(made: object) -> None:
    expected = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg", "mrr"])
    for ids in (["b", "b", "a", "a"], [2, 2, 1, 1]):
        result = ltr.evaluate(made(Y), made(S), qid=made(ids), metrics=["ndcg", "mrr"])  # type: ignore[operator]
        assert result.mean == expected.mean
        assert result.qid.tolist() == ids[::2]


def test_query_ids_of_any_kind_in_any_order() -> None:
    y, s = np.array([0, 1, 2, 0, 1]), np.array([0.1, 0.4, 0.3, 0.2, 0.9])
    for ids in (
        [7, 3, 7, 3, 7],
        ["b", "a", "b", "a", "b"],
        [("b", 1), ("a", 2), ("b", 1), ("a", 2), ("b", 1)],
        [1, "one", 1, "one", 1],
    ):
        result = ltr.evaluate(y, s, qid=ids, metrics=["mrr", "dcg_lin"])
        assert result.qid.tolist() == [ids[0], ids[1]]
        np.testing.assert_allclose(result.per_query["mrr"], [1.0, 1.0])
        assert result.n_documents.tolist() == [3, 2]
    dates = np.array(["2026-01-02", "2026-01-01", "2026-01-02", "2026-01-01", "2026-01-02"], dtype="M8[D]")
    assert ltr.evaluate(y, s, qid=dates, metrics="mrr").n_queries == 2


def test_weights() -> None:
    values = ltr.evaluate(Y, S, group=GROUP, metrics="mrr").per_query["mrr"]
    np.testing.assert_array_equal(values, [1, 1])
    s = [0.4, 0.1, 0.3, 0.2]
    by_query = ltr.evaluate(Y, s, qid=["x", "x", "y", "y"], metrics="mrr", query_weight=[3, 1])
    assert by_query["mrr"] == pytest.approx((3 * 0.5 + 1) / 4)
    assert (
        ltr.evaluate(Y, s, qid=["x", "x", "y", "y"], metrics="mrr", query_weight={"y": 1, "x": 3})["mrr"]
        == by_query["mrr"]
    )
    assert ltr.evaluate(Y, s, group=GROUP, metrics="mrr", sample_weight=[2, 4, 1, 1])["mrr"] == by_query["mrr"]
    assert np.isnan(ltr.evaluate(Y, s, group=GROUP, metrics="mrr", query_weight=[0, 0])["mrr"])


def test_a_series_of_query_weights_goes_by_its_index() -> None:
    qid, y, s = ["b", "b", "a", "a"], [1, 0, 0, 1], [1, 2, 1, 2]
    weight = pd.Series({"a": 1.0, "b": 9.0})
    by_index = ltr.evaluate(y, s, qid=qid, metrics="mrr", query_weight=weight)["mrr"]
    assert (
        by_index
        == ltr.evaluate(y, s, qid=qid, metrics="mrr", query_weight=weight.to_dict())["mrr"]
        == (9 * 0.5 + 1) / 10
    )
    assert (
        ltr.evaluate(y, s, qid=qid, metrics="mrr", query_weight=pd.Series([9.0, 1.0]))["mrr"] == by_index
    )  # no index of its own


def test_results_cannot_change_what_they_came_from() -> None:
    queries = ltr.Queries(Y, group=GROUP, query_weight=[1, 2])
    result = queries.evaluate(S, "mrr")
    assert repr(queries) == "Queries(2 queries, 4 rows)"
    for array in (result.qid, result.n_documents, result.n_relevant, result.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7

    def squared_in_place(grades: np.ndarray) -> np.ndarray:
        grades *= grades
        return grades

    before = queries.evaluate(S, "dcg_lin")["dcg_lin"]
    both = queries.evaluate(S, [ltr.DCG(gain=squared_in_place), "dcg_lin"])
    assert both["dcg_lin"] == before != both["dcg(gain=squared_in_place)"]


def test_a_discount_is_checked() -> None:
    def infinite(ranks: np.ndarray) -> np.ndarray:
        return np.where(ranks == 1, np.inf, 1.0)

    def one(ranks: np.ndarray) -> list[float]:
        return [1.0]

    for wrong in (infinite, one):
        with pytest.raises(ltr.LtrValueError, match="one finite number of at least 0 for each of the ranks 1 to 2"):
            ltr.evaluate(Y, S, group=GROUP, metrics=[ltr.DCG(discount=wrong)])


def test_few_retrieved_of_many_judged_cost_no_more() -> None:
    """Blocks are cut by ranked documents; a query with far more judged ones must not widen what is
    kept of the others.
    """
    group = np.concatenate((np.full(20_000, 2), [100_000]))
    retrieved = np.zeros(group.sum(), dtype=bool)
    retrieved[np.cumsum(group) - 1] = True
    y = np.arange(group.sum()) % 3
    result = ltr.evaluate(y, np.zeros(len(y)), group=group, metrics=["recall", "ndcg@10"], retrieved=retrieved)
    assert result.per_query["recall"][-1] == pytest.approx((y[-1] > 0) / (y[-100_000:] > 0).sum())


def test_labels_are_copied_so_that_later_changes_do_no_harm() -> None:
    y = np.array(Y, dtype=float)
    queries = ltr.Queries(y, group=GROUP)
    before = queries.evaluate(S, "ndcg")["ndcg"]
    y[:] = 0
    assert queries.evaluate(S, "ndcg")["ndcg"] == before


def test_memory_is_freed_with_the_last_reference() -> None:
    queries = ltr.Queries(Y, group=GROUP)
    queries.evaluate([0.0] * 4, ["ndcg@10", "map", "mrr", "err(max_grade=2)"])
    alive = weakref.ref(queries)
    gc.disable()
    try:
        del queries
        assert alive() is None  # no circle that would wait for the collector
    finally:
        gc.enable()


def test_inputs_are_not_changed() -> None:
    y, s = np.array([1.0, 0, 2]), np.array([-0.0, np.inf, 0.0])
    before = y.copy(), s.copy()
    ltr.evaluate(y, s, group=[3], metrics=["ndcg"])
    np.testing.assert_array_equal(y, before[0])
    assert np.signbit(s[0])


def test_err_warns_once_a_queries_that_the_scale_is_too_long() -> None:
    queries = ltr.Queries([0, 1, 1, 0], group=GROUP)
    with pytest.warns(ltr.LtrWarning, match=r"scale to max_grade=4 and the highest label is 1.*err\(max_grade=1\)"):
        queries.evaluate(S, "err@10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        queries.evaluate(S, ["err@10", "err@5"])
        ltr.evaluate([0, 3, 1, 0], S, group=GROUP, metrics="err")
        ltr.evaluate([0, 1, 1, 0], S, group=GROUP, metrics="err(max_grade=1)")


# -- ids that name no queries -----------------------------------------------------------------------------------------

ONE_DOCUMENT = [*range(19), 19, 19]  # 19 of 20 queries
NO_QUERIES = {
    "row numbers": (np.arange(20), "20 of 20 queries have one document"),
    "nearly each row": (ONE_DOCUMENT, "19 of 20 queries have one document"),
    "one id": (["a"] * 200, "All 200 rows are of 1 query, a"),
}


@pytest.mark.parametrize("case", NO_QUERIES)
def test_ids_that_name_no_queries_are_a_warning(case: str) -> None:
    qid, message = NO_QUERIES[case]
    y, s = np.arange(len(qid)) % 2, np.arange(len(qid))
    for call in (
        lambda: ltr.evaluate(y, s, qid=qid, metrics="mrr"),
        lambda: ltr.Queries(y, qid=qid).evaluate(s, "mrr"),
        lambda: ltr.tie_audit(y, s, qid=qid, metrics="mrr"),
    ):
        with pytest.warns(ltr.LtrWarning, match=f"{message}.*group instead of qid.*filterwarnings"):
            call()
    ltr.evaluate(y, s, group=ltr.qid_to_group(qid), metrics="mrr")  # whoever passes sizes has said what they are


@pytest.mark.parametrize("qid", [np.arange(19), [*range(18), 18, 18, 19, 19], ["a"] * 199, [*["a"] * 199, "b"]])
def test_other_ids_are_no_warning(qid: list[object]) -> None:
    ltr.evaluate(np.ones(len(qid)), np.arange(len(qid)), qid=qid, metrics="mrr")
