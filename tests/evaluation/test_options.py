"""What is not judged, further columns, and segments of queries."""

from __future__ import annotations

import datetime
import json
import pickle
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ltr_metrics as ltr

NAN = float("nan")
ALL = [
    "cg@2",
    "ndcg_exp@3",
    "p@2",
    "p",
    "recall@2",
    "f1@2",
    "rprec",
    "map",
    "map(denominator=hits)@2",
    "mrr",
    "hit@1",
    "rbp",
    "judged@2",
]


def random_rows(seed: int = 0, n: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    judged = rng.random(n) < 0.6
    return {
        "y_true": np.where(judged, rng.integers(0, 4, n), 0).astype(float),
        "y_score": rng.integers(0, 12, n).astype(float),
        "qid": rng.integers(0, 25, n),
        "judged": judged,
        "retrieved": rng.random(n) < 0.8,
    }


def test_unjudged_documents_have_grade_0_whatever_their_label() -> None:
    rows = random_rows()
    missing = np.where(rows["judged"], rows["y_true"], NAN)
    result = ltr.evaluate(**rows | {"y_true": missing}, metrics=ALL)
    plain = ltr.evaluate(**rows, metrics=ALL)
    assert result.mean == plain.mean
    without = {key: value for key, value in rows.items() if key != "judged"}
    assert ltr.evaluate(**without, metrics=ALL[:-1]).mean == {name: plain.mean[name] for name in list(plain.mean)[:-1]}
    assert ltr.evaluate(**without, metrics="judged@2")["judged@2"] == 1.0


@pytest.mark.parametrize("ties", ["mean", "stable", "worst", "best"])
def test_the_condensed_list_is_the_list_without_the_rows(ties: str) -> None:
    rows = random_rows()
    kept = {key: value[rows["judged"]] for key, value in rows.items()}
    condensed = ltr.evaluate(**rows, unjudged="drop", metrics=[*ALL, "ndcg(gain=[1,2,4,8])@5"], ties=ties)
    expected = ltr.evaluate(**kept, metrics=[*ALL, "ndcg(gain=[1,2,4,8])@5"], ties=ties)
    assert set(expected.qid) == set(condensed.qid)
    position = {qid: i for i, qid in enumerate(expected.qid.tolist())}
    order = [position[qid] for qid in condensed.qid.tolist()]
    for name, values in condensed.per_query.items():
        np.testing.assert_allclose(values, expected.per_query[name][order], rtol=1e-14)
    np.testing.assert_array_equal(condensed.n_documents, expected.n_documents[order])


def test_judged_by_hand() -> None:
    judged = [True, False, True, False]
    result = ltr.evaluate(
        [1, 0, 0, 0], [4, 3, 2, 2], group=[4], metrics=["judged@2", "judged@3", "judged"], judged=judged
    )
    assert result.mean == {"judged@2": 0.5, "judged@3": 0.5, "judged": 0.5}  # rank 3 is one of two tied ones: 1/2
    nothing_shown = ltr.evaluate([1, 0], [NAN, 2], group=[1, 1], metrics="judged@5", retrieved=[False, True])
    np.testing.assert_array_equal(nothing_shown.per_query["judged@5"], [NAN, 1])


def test_columns() -> None:
    frame = pd.DataFrame({"margin": [0.5, 2.0, 1.0, 8.0], "fresh": [1, 0, 0, 1]})
    names = ["mean_of(margin)@2", "mean_of(fresh)@1", "mean_of(margin)"]
    for columns in (frame, frame.to_dict("list")):
        result = ltr.evaluate([1, 0, 0, 1], [3, 2, 2, 1], group=[3, 1], metrics=names, columns=columns)
        np.testing.assert_allclose(result.per_query[names[0]], [1.0, 8.0])  # 0.5, then 2 or 1
        np.testing.assert_allclose(result.per_query[names[1]], [1.0, 1.0])
        np.testing.assert_allclose(result.per_query[names[2]], [3.5 / 3, 8.0])
    not_shown = ltr.evaluate(
        [1, 0], [NAN, 2], group=[2], metrics=["mean_of(margin)"], columns={"margin": [NAN, 3]}, retrieved=[False, True]
    )
    assert not_shown["mean_of(margin)"] == 3


BAD = {
    "grade of an unjudged document": (
        {"judged": [True, False, True, True]},
        r"must not be above 0 where judged is False: got 1.0 at row 1 \(query 0\)",
    ),
    "missing label of a judged one": ({"y_true": [0, NAN, 2, 0], "judged": [1, 1, 1, 1]}, "must be finite"),
    "unjudged": ({"unjudged": "ignore"}, "unjudged must be one of 'zero', 'drop'; got 'ignore'"),
    "nothing left": ({"y_true": [0] * 4, "judged": [False] * 4, "unjudged": "drop"}, "leaves no document"),
    "no such column": ({"metrics": "mean_of(margin)@2"}, "needs the column 'margin'.*Given: none"),
    "misspelt column": (
        {"metrics": "mean_of(margn)@2", "columns": {"margin": [1] * 4}},
        "Did you mean 'margin'.*Given: margin",
    ),
    "column of NaN": (
        {"metrics": "mean_of(margin)", "columns": {"margin": [1, NAN, 2, 3]}},
        r"columns\['margin'\] must be finite.*got nan at row 1",
    ),
    "short column": (
        {"metrics": "mean_of(margin)", "columns": {"margin": [1]}},
        r"columns\['margin'\] must have one entry per row",
    ),
    "columns": ({"columns": [1, 2, 3, 4]}, "columns must map names"),
    "by too long": ({"by": ["a"] * 3}, r"one label per query \(2, .*or a row \(4\). Got 3"),
    "by within a query": (
        {"by": ["a", "a", "a", "b"]},
        r"by must be one label per query: row 3 \(query 1\) has 'b', another.*'a'",
    ),
    "by missing": ({"by": ["a", None]}, "by must have a label in every entry: it is missing at entry 1"),
    "by as a mapping of ids": ({"by": {0: "a", 1: "b"}}, "names segmentations.*pandas Series with the ids"),
    "by of another query": ({"by": pd.Series(["a", "b"], index=[5, 7])}, "by has no entry for query 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused(case: str) -> None:
    options, message = BAD[case]
    call = {"y_true": [0, 1, 2, 0], "y_score": [0.1, 0.4, 0.3, 0.2], "group": [2, 2], "metrics": ["mrr"]} | options
    with pytest.raises(ltr.LtrError, match=message):
        ltr.evaluate(**call)


Y, S, QID = [1, 0, 0, 1, 0, 0, 1, 0], [4, 3, 2, 1, 4, 3, 2, 1], [7, 7, 8, 8, 9, 9, 5, 5]
DEVICE = ["phone", "desk", "phone", "desk"]


@pytest.mark.parametrize(
    "by",
    [
        DEVICE,
        np.array(DEVICE),
        pd.Series(DEVICE),
        pl.Series(DEVICE),
        pd.Series(DEVICE[::-1], index=[5, 9, 8, 7]),  # by qid
        np.repeat(DEVICE, 2),  # a label per row
    ],
    ids=["list", "numpy", "pandas", "polars", "by qid", "a row"],
)
def test_segments(by: object) -> None:
    result = ltr.evaluate(Y, S, qid=QID, metrics=["mrr", "p@1"], by=by, query_weight=[1, 2, 3, 4])
    assert list(result.by) == ["phone", "desk"]
    phone, desk = result.by["phone"], result.by["desk"]
    assert (phone["mrr"], phone["p@1"]) == (
        1.0,
        0.25,
    )  # queries 7 and 9, of which 9 has nothing relevant; weights 1 and 3
    assert desk["mrr"] == pytest.approx((2 * 0.5 + 4 * 1) / 6)
    assert (phone.n_queries, phone.n_undefined["mrr"], phone.qid.tolist()) == (2, 1, [7, 9])
    np.testing.assert_array_equal(phone.per_query["mrr"], [1, NAN])
    assert phone.by == {}
    assert pickle.loads(pickle.dumps(result)).by["desk"]["mrr"] == desk["mrr"]


def test_rows_of_a_query_may_be_scattered() -> None:
    order = np.random.default_rng(0).permutation(8)
    scattered = [np.array(column)[order] for column in (Y, S, QID, np.repeat(DEVICE, 2))]
    result = ltr.evaluate(scattered[0], scattered[1], qid=scattered[2], metrics="mrr", by=scattered[3])
    whole = ltr.evaluate(Y, S, qid=QID, metrics="mrr", by=DEVICE)
    assert {label: part["mrr"] for label, part in result.by.items()} == {
        label: part["mrr"] for label, part in whole.by.items()
    }


def test_several_segmentations_by_name() -> None:
    by = {"device": DEVICE, "length": [1, 2, 2, 2]}
    for given in (by, pd.DataFrame(by)):
        result = ltr.evaluate(Y, S, qid=QID, metrics=["mrr"], by=given)
        assert list(result.by) == ["device", "length"]
        assert list(result.by["length"]) == [1, 2]
        assert result.by["length"][1]["mrr"] == 1.0
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [(part["name"], part["segment"], part["n_queries"]) for part in plain["by"]] == [
        ("device", "phone", 2),
        ("device", "desk", 2),
        ("length", 1, 1),
        ("length", 2, 3),
    ]
    assert str(result).splitlines()[-1].split() == ["length=2", "3", "0.750000"]
    assert ltr.evaluate(Y, S, qid=QID, metrics=["mrr"]).by == {}


def test_segments_add_up_to_the_whole() -> None:
    rng = np.random.default_rng(1)
    y, s, qid = rng.integers(0, 3, 900), rng.random(900), rng.integers(0, 100, 900)
    weight, by = rng.random(100), rng.integers(0, 4, 100)
    result = ltr.evaluate(y, s, qid=qid, metrics=["ndcg@5", "cg", "kendall"], by=by, query_weight=weight, no_relevant=0)
    for metric, mean in result.mean.items():
        parts = [(part.weight.sum(), part[metric]) for part in result.by.values()]
        assert sum(w * value for w, value in parts) / sum(w for w, _ in parts) == pytest.approx(mean, rel=1e-12)


def test_a_pandas_index_says_which_query_a_weight_is_for() -> None:
    def weights(weight: object, qid: list[int], y: object = (1, 0, 1)) -> list[float]:
        return ltr.evaluate(list(y), [1, 2, 3], qid=qid, metrics="mrr", query_weight=weight).weight.tolist()

    assert weights(pd.Series([1.0, 2, 3], index=range(1, 4)), [3, 1, 2]) == [3, 1, 2]
    assert weights(pd.Series({7: 1.0, 5: 2.0, 3: 3.0}), [3, 5, 7]) == [3, 2, 1]
    assert weights(pd.Series([1.0, 2, 3]), [7, 8, 9]) == weights(pd.Series([1.0, 2, 3]), [0, 1, 2]) == [1, 2, 3]
    with pytest.raises(ltr.LtrValueError, match=r"same ids in another order.*dict.*to_numpy"):
        weights(pd.Series([1.0, 2, 3]), [2, 1, 0])
    with pytest.raises(ltr.LtrValueError, match="holds an id twice"):
        weights(pd.Series([1.0, 5, 0, 0], index=[1, 1, 2, 3]), [1, 2, 3])
    frame = pd.DataFrame({"q": [3, 3, 3, 0, 0, 5], "w": [9.0, 9, 9, 1, 1, 5]})
    by_id = frame.groupby("q")["w"].first()
    result = ltr.evaluate([1, 0, 0, 1, 0, 1], [1, 2, 3, 1, 2, 3], qid=frame["q"], metrics="mrr", query_weight=by_id)
    assert result.weight.tolist() == [9, 1, 5]


def test_columns_and_segments_of_rows_follow_the_pandas_index() -> None:
    rows = {"y_true": pd.Series([1, 0, 0]), "y_score": [1, 2, 3], "group": [2, 1], "metrics": "mrr"}
    shuffled = pd.Series([1.0, 1.0, 0.0], index=[2, 1, 0])
    with pytest.raises(ltr.LtrValueError, match=r"columns\['m'\] have different pandas indexes"):
        ltr.evaluate(**rows | {"metrics": "mean_of(m)"}, columns={"m": shuffled})
    with pytest.raises(ltr.LtrValueError, match="by have different pandas indexes"):
        ltr.evaluate(**rows, by=shuffled)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_columns_and_of_segments(table: Any) -> None:
    result = ltr.evaluate(
        [1, 0, 0],
        [3, 2, 1],
        group=[2, 1],
        metrics=["mean_of(m)@1", "mean_of(5)@1"],
        columns=table({"m": [1.0, 2.0, 3.0], "5": [4, 5, 6], "unused": ["a", "b", None]}),
        by=table({"device": ["phone", "desk"]}),
    )
    assert result.mean == {"mean_of(m)@1": 2.0, "mean_of(5)@1": 5.0}
    assert list(result.by["device"]) == ["phone", "desk"]


def test_ids_of_any_kind_are_ready_for_json() -> None:
    ids = [datetime.date(2026, 1, 2), uuid.UUID(int=3), b"x", (1, 2)]
    result = ltr.evaluate([1] * 4, [1] * 4, qid=ids, metrics="mrr", by=[1.0, np.inf, 2.0, 1.0])
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["qid"] == ["2026-01-02", "00000000-0000-0000-0000-000000000003", "x", "(1, 2)"]
    assert [part["segment"] for part in plain["by"]] == [1.0, "inf", 2.0]


def test_a_name_never_stands_for_two_metrics() -> None:
    rows = {
        "y_true": [1, 1, 1, 0],
        "y_score": [4, 3, 2, 1],
        "group": [4],
        "docid": list("abcd"),
        "convention": "trec_eval",
    }
    for metrics in ([ltr.MAP(k=2), "map@2"], ["map@2", ltr.MAP(k=2)]):
        both = ltr.evaluate(**rows, metrics=metrics)
        assert set(both.mean) == {"map@2", "map(denominator=relevant)@2"}
        assert both["map@2"] == both.mean.get("map@2") == both[ltr.MAP(k=2)] == 1.0
    result = ltr.evaluate(**rows, metrics="map@2")
    assert result["map@2"] == result.mean.get("map@2") == pytest.approx(2 / 3)
    with pytest.raises(ltr.LtrKeyError, match="was not evaluated"):
        result[ltr.MAP(k=2)]  # complete, and another metric
    assert ltr.MAP(k=2) not in result.mean


def test_extreme_numbers() -> None:
    tiny = ltr.evaluate([1e-308, 0], [1, 1], group=[2], metrics="err(p=label)")
    assert tiny["err(p=label)"] == pytest.approx(0.75e-308)
    rates, linear = (
        ltr.evaluate([1e-9, 3e-9, 1e-17, 3e-17], [2, 1, 2, 1], group=[2, 2], metrics=name).per_query[name]
        for name in ("ndcg_exp", "ndcg_lin")
    )
    np.testing.assert_allclose(rates, linear, rtol=3e-9)
    for options, message in (
        ({"y_true": [1.7e308] * 2, "metrics": "cg"}, "finite in float64, also summed"),
        ({"metrics": "mean_of(m)", "columns": {"m": [1e308] * 2}}, r"columns\['m'\] must be finite, also summed"),
        ({"query_weight": [1e308, 1e308], "group": [1, 1]}, "must have a finite sum"),
        ({"metrics": "precision@" + "9" * 17}, r"at most 2\*\*53"),
        ({"metrics": "precision@" + "9" * 400}, "must have the form"),
        ({"metrics": f"map(rel={10**350})"}, "rel of map must be a number"),
        ({"metrics": f"map(rel={10**400})"}, "must have at most 400 characters"),
        ({"no_relevant": 10**400}, "finite number"),
        ({"no_relevant": True}, "finite number"),
    ):
        with pytest.raises(ltr.LtrError, match=message):
            ltr.evaluate(**{"y_true": [1, 0], "y_score": [2, 1], "group": [2], "metrics": "mrr"} | options)


def test_a_segment_that_is_not_there() -> None:
    result = ltr.evaluate(Y, S, qid=QID, metrics="mrr", by={"device": DEVICE})
    with pytest.raises(ltr.LtrKeyError, match="no segment 'phone'.*There are 'device'"):
        result.by["phone"]
    with pytest.raises(ltr.LtrKeyError, match="no segment 'phon'. Did you mean 'phone'"):
        result.by["device"]["phon"]
    with pytest.raises(ltr.LtrKeyError, match="none: evaluate with by="):
        ltr.evaluate(Y, S, qid=QID, metrics="mrr").by["phone"]


def test_judged_goes_with_every_convention_and_stays_undefined_where_nothing_is_shown() -> None:
    rows = {
        "y_true": [1, 0, 1],
        "y_score": [1, 2, NAN],
        "group": [2, 1],
        "retrieved": [True, True, False],
        "docid": list("abc"),
    }
    result = ltr.evaluate(**rows, metrics=["map", "judged@2"], convention="trec_eval")
    np.testing.assert_array_equal(result.per_query["judged@2"], [1, NAN])
    np.testing.assert_array_equal(result.per_query["map"], [0.5, 0])


def test_default_metrics_say_that_they_are() -> None:
    with pytest.raises(
        ltr.LtrValueError, match="map must know.*one of the default metrics: pass metrics= with the ones you need"
    ):
        ltr.evaluate([0.1, 0.5], [1, 2], group=[2])


@pytest.mark.parametrize("function", [ltr.tie_audit, ltr.explain_difference])
def test_unknown_options_are_refused_by_name(function: Any) -> None:
    given = (
        {"metric": "mrr", "a": "default", "b": "trec_eval"}
        if function is ltr.explain_difference
        else {"metrics": "mrr"}
    )
    with pytest.raises(ltr.LtrTypeError, match=rf"{function.__name__} has no option 'qids'. Did you mean 'qid'"):
        function([1, 0], [1, 2], qids=[1, 1], **given)
