"""What is not judged, further columns, and segments of queries."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ltr_metrics as ltr
from ltr_metrics.sklearn.columns import names_of_columns

NAN = float("nan")
ALL = ["cg@2", "ndcg_exp@3", "p@2", "p", "recall@2", "f1@2", "rprec", "map", "map(denominator=hits)@2", "mrr", "hit@1"]
ALL += ["rbp", "judged@2"]


# -- judged documents -------------------------------------------------------------------------------------------------


def random_rows(n: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
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
    plain = ltr.evaluate(**rows, metrics=ALL)
    missing = np.where(rows["judged"], rows["y_true"], NAN)
    assert ltr.evaluate(**rows | {"y_true": missing}, metrics=ALL).mean == plain.mean
    all_judged = ltr.evaluate(**rows | {"judged": None}, metrics=ALL)
    assert all_judged.mean == plain.mean | {"judged@2": 1.0}


@pytest.mark.parametrize("ties", ["mean", "stable", "worst", "best"])
def test_the_condensed_list_is_the_list_without_the_rows(ties: Any) -> None:
    rows, metrics = random_rows(), [*ALL, "bpref", "ndcg(gain=[1,2,4,8])@5"]
    condensed = ltr.evaluate(**rows, unjudged="drop", metrics=metrics, ties=ties)
    expected = ltr.evaluate(**{key: value[rows["judged"]] for key, value in rows.items()}, metrics=metrics, ties=ties)
    expected = expected.subset(condensed.qid)
    assert condensed.n_queries == len(set(rows["qid"][rows["judged"]]))
    for name, values in condensed.per_query.items():
        np.testing.assert_allclose(values, expected.per_query[name], rtol=1e-14)
    np.testing.assert_array_equal(condensed.n_documents, expected.n_documents)


def test_judged_by_hand() -> None:
    judged, metrics = [True, False, True, False], ["judged@2", "judged@3", "judged"]
    result = ltr.evaluate([1, 0, 0, 0], [4, 3, 2, 2], group=[4], metrics=metrics, judged=judged)
    assert result.mean == {"judged@2": 0.5, "judged@3": 0.5, "judged": 0.5}  # rank 3 is one of two tied ones: 1/2
    rows: dict[str, Any] = {"y_true": [1, 0, 1], "y_score": [1, 2, NAN], "group": [2, 1], "retrieved": [1, 1, 0]}
    nothing_shown = ltr.evaluate(**rows, docid=list("abc"), metrics=["map", "judged@2"], convention="trec_eval")
    np.testing.assert_array_equal(nothing_shown.per_query["judged@2"], [1, NAN])
    np.testing.assert_array_equal(nothing_shown.per_query["map"], [0.5, 0])


# -- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_columns_and_of_segments(table: Any) -> None:
    columns = {"margin": [0.5, 2.0, 1.0, 8.0], "5": [1, 0, 0, 1], "unused": ["a", "b", "c", None]}
    names = ["mean_of(margin)@2", "mean_of(5)@1", "mean_of(margin)"]
    by = table({"device": ["phone", "desk"]})
    result = ltr.evaluate([1, 0, 0, 1], [3, 2, 2, 1], group=[3, 1], metrics=names, columns=table(columns), by=by)
    np.testing.assert_allclose(result.per_query[names[0]], [1.0, 8.0])  # 0.5, then 2 or 1
    np.testing.assert_allclose(result.per_query[names[1]], [1.0, 1.0])
    np.testing.assert_allclose(result.per_query[names[2]], [3.5 / 3, 8.0])
    assert list(result.by["device"]) == ["phone", "desk"]


def test_a_value_of_a_document_that_is_not_shown_may_be_missing() -> None:
    options: dict[str, Any] = {"columns": {"margin": [NAN, 3]}, "retrieved": [False, True]}
    assert ltr.evaluate([1, 0], [NAN, 2], group=[2], metrics="mean_of(margin)", **options)["mean_of(margin)"] == 3


VALUES = [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]]
REPEATED: dict[str, Any] = {
    "mapping": dict(zip([1, "1", "new"], VALUES, strict=True)),
    "pandas": pd.DataFrame(np.transpose(VALUES), columns=["1", "1", "new"]),
    "pandas of two types": pd.DataFrame(np.transpose(VALUES), columns=[1, "1", "new"]),
    "arrow": pa.table(VALUES, names=["1", "1", "new"]),
}


@pytest.mark.parametrize("form", REPEATED)
def test_two_columns_of_one_name_are_refused(form: str) -> None:
    columns, y, data = REPEATED[form], [1, 0, 0, 2], {"group": [2, 2], "metrics": "mrr"}
    calls: dict[str, Callable[[], Any]] = {
        "models": lambda: ltr.compare(columns, y, **data),
        "scores": lambda: ltr.audit(y, columns, **data),
        "columns": lambda: ltr.evaluate(y, VALUES[0], columns=columns, **data),
        "by": lambda: ltr.evaluate(y, VALUES[0], by=columns, **data | {"group": [1] * 4}),
        "qrels": lambda: ltr.from_qrels(columns, {"1": {"a": 1.0}}),
        "X": lambda: names_of_columns(columns),
    }
    if form == "mapping":  # of which qrels are ids, and features are none
        del calls["qrels"], calls["X"]
    for name, call in calls.items():
        with pytest.raises(ltr.LtrValueError, match=f"{name} must have one column for each name.*'1' names 2 columns"):
            call()


# -- segments ---------------------------------------------------------------------------------------------------------

Y, S, QID = [1, 0, 0, 1, 0, 0, 1, 0], [4, 3, 2, 1, 4, 3, 2, 1], [7, 7, 8, 8, 9, 9, 5, 5]
DEVICE = ["phone", "desk", "phone", "desk"]
SCATTERED = np.random.default_rng(0).permutation(8)


@pytest.mark.parametrize(
    ("by", "order"),
    [
        (DEVICE, slice(None)),
        (pd.Series(DEVICE), slice(None)),
        (pl.Series(DEVICE), slice(None)),
        (pd.Series(DEVICE[::-1], index=[5, 9, 8, 7]), SCATTERED),  # by qid
        (np.repeat(DEVICE, 2), slice(None)),  # a label per row
        (np.repeat(DEVICE, 2)[SCATTERED], SCATTERED),
    ],
)
def test_segments(by: Any, order: Any) -> None:
    rows = {"y_true": np.array(Y)[order], "y_score": np.array(S)[order], "qid": np.array(QID)[order]}
    weight = dict(zip([7, 8, 9, 5], [1, 2, 3, 4], strict=True))
    result = ltr.evaluate(**rows, metrics=["mrr", "p@1"], by=by, query_weight=weight)
    phone, desk = result.by["phone"], result.by["desk"]
    assert set(result.by) == {"phone", "desk"}
    assert (phone["mrr"], phone["p@1"]) == (1.0, 0.25)  # of queries 7 and 9, where 9 has nothing relevant
    assert desk["mrr"] == pytest.approx((2 * 0.5 + 4 * 1) / 6)
    assert (phone.n_queries, phone.n_undefined["mrr"], sorted(phone.qid)) == (2, 1, [7, 9])
    assert phone.by == {}


def test_bins_of_pandas_are_segments_in_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(1, 12, 60)
    y, score = rng.integers(0, 2, group.sum()), rng.normal(size=group.sum())
    edges: dict[str, Any] = {"bins": [0, 2, 7, np.inf], "labels": ["1-2", "3-7", "8+"]}
    of_query, of_row = pd.cut(group, **edges), pd.cut(pd.Series(np.repeat(group, group)), **edges)
    by_query, by_row, named = (
        ltr.evaluate(y, score, group=group, metrics=["mrr"], by=by) for by in (of_query, of_row, {"size": of_query})
    )
    by_query.save(tmp_path / "saved.parquet")
    saved = ltr.load_result(tmp_path / "saved.parquet")
    for by in (by_query.by, by_row.by, named.by["size"], saved.by):
        assert list(by) == ["1-2", "3-7", "8+"]
        for label, (low, high) in {"1-2": (1, 2), "3-7": (3, 7), "8+": (8, 99)}.items():
            np.testing.assert_array_equal(by[label].n_documents, group[(group >= low) & (group <= high)])
    sizes = pd.Series(["z", "z", "z", "a", "m", "m"]).groupby(["z", "z", "z", "a", "m", "m"]).size()  # sorted by id
    made = pd.cut(sizes, [0, 1, 2, 3], labels=["1", "2", "3"])
    result = ltr.evaluate([1] * 6, range(6), qid=list("zzzamm"), metrics="precision@1", by=made)
    assert {label: part.qid.tolist() for label, part in result.by.items()} == {"1": ["a"], "2": ["m"], "3": ["z"]}


def test_several_segmentations_by_name() -> None:
    by = {"device": DEVICE, "length": [1, 2, 2, 2]}
    result = ltr.evaluate(Y, S, qid=QID, metrics=["mrr"], by=by)
    assert list(result.by) == ["device", "length"]
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    found = [(part["name"], part["segment"], part["n_queries"]) for part in plain["by"]]
    assert found == [("device", "phone", 2), ("device", "desk", 2), ("length", 1, 1), ("length", 2, 3)]
    assert str(result).splitlines()[-1].split() == ["length=2", "3", "0.750000"]
    part = result.subset([8, 9])
    assert {label: one.qid.tolist() for label, one in part.by["length"].items()} == {2: [8, 9]}
    with pytest.raises(ltr.LtrKeyError, match="no segment 'phone'.*There are 'device', 'length'"):
        result.by["phone"]
    with pytest.raises(ltr.LtrKeyError, match="no segment 'phon'. Did you mean 'phone'"):
        result.by["device"]["phon"]
    with pytest.raises(ltr.LtrKeyError, match="none: evaluate with by="):
        ltr.evaluate(Y, S, qid=QID, metrics="mrr").by["phone"]


def test_ids_and_labels_of_any_kind_are_ready_for_json() -> None:
    ids = [datetime.date(2026, 1, 2), uuid.UUID(int=3), b"x", (1, 2)]
    result = ltr.evaluate([1] * 4, [1] * 4, qid=ids, metrics="mrr", by=[1.0, np.inf, 2.0, 1.0])
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["qid"] == ["2026-01-02", "00000000-0000-0000-0000-000000000003", "x", "(1, 2)"]
    assert [part["segment"] for part in plain["by"]] == [1.0, "inf", 2.0]
    days = np.array(["2026-01-02", "2026-01-02", "2026-01-01"], dtype="M8[ns]")  # which NumPy lists as integers
    plain = ltr.evaluate([1, 0, 1], [1, 2, 3], qid=days, metrics="mrr").to_dict()
    assert [day[:10] for day in plain["qid"]] == ["2026-01-02", "2026-01-01"]


# -- extreme numbers --------------------------------------------------------------------------------------------------


def test_tiny_labels() -> None:
    tiny = ltr.evaluate([1e-308, 0], [1, 1], group=[2], metrics="err(p=label)")
    assert tiny["err(p=label)"] == pytest.approx(0.75e-308)
    rates = ltr.evaluate([1e-9, 3e-9, 1e-17, 3e-17], [2, 1, 2, 1], group=[2, 2], metrics=["ndcg_exp", "ndcg_lin"])
    np.testing.assert_allclose(rates.per_query["ndcg_exp"], rates.per_query["ndcg_lin"], rtol=3e-9)
