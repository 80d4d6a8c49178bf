"""Two ids are the same query if they have the same text, whichever file or type each of them comes from."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics._rows.ids import id_text, id_texts, order_of_ids, order_of_text
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import letor_batches, read_letor, read_scores, read_table, read_trec

METRICS = ["ndcg@5", "map"]
FEW = {"n_resamples": 300}


def objects(*values: Any) -> Any:
    return np.array([*values, None], dtype=object)[:-1]


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([7, np.int8(7), np.uint64(7), 7.0, np.float32(7), Decimal(7), Decimal("7.00"), Fraction(7), "7", b"7"], "7"),
        ([-7, "-7", -7.0, np.int16(-7)], "-7"),
        ([0, -0.0, "0"], "0"),
        ([10**30, str(10**30), Decimal(10**30)], str(10**30)),
        (["007"], "007"),
        (["7.0"], "7.0"),
        ([0.1, np.float32(0.1), np.float16(0.1), Decimal("0.1")], "0.1"),
        ([True, np.True_, "True"], "True"),
        ([np.str_("a"), "a", b"a", np.bytes_(b"a")], "a"),
        ([date(2026, 1, 2), datetime(2026, 1, 2), np.datetime64("2026-01-02", "ns"), "2026-01-02"], "2026-01-02"),
        ([datetime(2026, 1, 2, 5), np.datetime64("2026-01-02T05", "h"), np.datetime64("2026-01-02T05", "ns")], "2026-01-02T05:00:00"),
        ([datetime(2026, 1, 2, 5, 0, 7, 250_000), pd.Timestamp("2026-01-02T05:00:07.25")], "2026-01-02T05:00:07.250"),
        ([("a", 7)], "('a', 7)"),
        ([float("inf"), np.float32("inf")], "inf"),
    ],
)  # fmt: skip
def test_ids_of_one_text(ids: list[Any], text: str) -> None:
    for one in ids:
        alone = np.array([one]) if not isinstance(one, tuple) else objects(one)
        assert [id_text(one)] == id_texts(alone) == [text], repr(one)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=1))
def test_the_order_of_ids_does_not_depend_on_their_type(ids: list[int]) -> None:
    in_order = sorted(range(len(ids)), key=ids.__getitem__)
    for same in (np.array(ids), np.array(ids, dtype=object), np.array(list(map(str, ids)))):
        assert order_of_ids(same).tolist() == in_order


def test_whole_numbers_come_first_and_other_ids_as_text() -> None:
    ids = np.array(["q2", "10", "9", "007", "-3", "q10", "7.5", ""])
    assert ids[order_of_ids(ids)].tolist() == ["-3", "9", "10", "", "007", "7.5", "q10", "q2"]
    assert order_of_text("9") < order_of_text("10") < order_of_text("007")
    assert order_of_text("9" * 600) < order_of_text("1" + "0" * 5000) < order_of_text("2a")  # too long for int()


# -- within one data set ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        ["x", "y", "ä<"],
        [7, 3, -1],
        [1.5, 2.5, 3.5],
        [2**63, 2**63 + 1, -1],
        [2**64, 2**64 + 1, 0],
        np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64),
        [2**53, 2**53 + 1, 2**53 - 1],
        objects(2**53, 2**53 + 1, np.int64(7)),
        pd.Series([2**53, 2**53 + 1, 7], dtype="Int64"),
        pa.array([2**53, 2**53 + 1, 7]),
        ["007", "7", "7.0"],
        ["a\0b", "a", "a\0c"],
        [("a", 1), ("a", 2), "a"],
        [True, False, "1"],
        np.array([0, 1, 1_000], dtype="M8[ns]"),
        pd.Series(pd.to_datetime([0, 1, 1_000], unit="ns")),
        list(pd.to_datetime([0, 1, 1_000], unit="ns")),
    ],
    ids=str,
)
def test_ids_stay_apart(ids: Any, tmp_path: Path) -> None:
    result = ltr.evaluate([1, 0, 1, 0, 1, 0], range(6), qid=[*ids, *ids], metrics="mrr")
    assert result.n_queries == len(set(result.json_qid)) == 3
    assert result.n_documents.tolist() == [2, 2, 2]
    assert ltr.evaluate([1, 0, 1], range(3), qid=ids, metrics="mrr").n_queries == 3
    result.save(tmp_path / "saved")
    back = ltr.load_result(tmp_path / "saved").json_qid
    as_text = list(map(str, result.json_qid))
    assert list(map(str, back)) == as_text
    assert result.qid.dtype == object or list(map(type, back)) == list(map(type, result.json_qid))
    qrels = {one: {"d": 1} for one in ids}
    assert ltr.from_qrels(qrels, qrels).qid.tolist() == as_text


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1, 2**24, 2**24 + 1], dtype=np.float32), "must not hold float32 ids as large as 16777216 at row 1"),
        ([1.0, 2.0**53, 3.0], "must not hold float64 ids as large as 9007199254740992"),
    ],
)
def test_ids_that_would_be_merged_are_refused(ids: Any, message: str) -> None:
    for name, options in {"qid": {"qid": ids}, "docid": {"docid": ids, "qid": [1, 1, 1]}, "by": {"by": ids}}.items():
        with pytest.raises(ltr.LtrValueError, match=f"{name} {message}"):
            ltr.evaluate([1, 0, 1], [1, 2, 3], metrics="mrr", **{"qid": [1, 2, 3]} | options)


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        ([7, "7"], "7 and '7'"),
        ([7.0, "7", 8.5], "7.0 and '7'"),
        ([b"a", "a"], "b'a' and 'a'"),
        ([("x", 1), "('x', 1)"], r"\('x', 1\) and \"\('x', 1\)\""),
        ([date(2026, 1, 2), "2026-01-02"], r"datetime.date\(2026, 1, 2\) and '2026-01-02'"),
    ],
)
def test_ids_that_only_a_conversion_would_make_one_are_refused_by_name(ids: list[Any], named: str) -> None:
    n, qid = len(ids), objects(*ids)
    with pytest.raises(
        ltr.LtrValueError, match=f"qid has the ids {named}, which cannot be told apart .* Give all ids the same type"
    ):
        ltr.Queries(np.ones(n), qid=qid)
    with pytest.raises(ltr.LtrValueError, match=f"query_weight has the ids {named}"):
        ltr.Queries([1, 1], qid=["k", "7"], query_weight=dict.fromkeys(["k", *ids], 1.0))
    result = ltr.evaluate(np.ones(n), np.ones(n), qid=np.arange(n), metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match=f"The result of 'b' has the ids {named}"):
        ltr.compare({"a": result, "b": result.with_fields(qid=qid)})


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    def write(name: str, *lines: str) -> Path:
        """Write text behind a byte order mark, as editors on Windows do."""
        path = tmp_path / name
        path.write_bytes(codecs.BOM_UTF8 + ("\r\n".join(lines) + "\r\n").encode())
        return path

    letor = write("a.txt", "1 qid:7 1:1", "0 qid:7 1:2")
    assert read_letor(letor).y.tolist() == next(letor_batches(letor)).y.tolist() == [1, 0]
    sized = write("b.txt", "1 1:1", "0 1:2")
    write("b.txt.query", "2")
    assert read_letor(sized).qid.tolist() == [0, 0]
    assert read_scores(write("scores.txt", "0.5", "2")).tolist() == [0.5, 2]
    assert list(read_table(write("a.csv", "qid,label,s", "7,1,0.5"))) == ["qid", "label", "s"]
    assert read_trec(write("qrels", "1 0 A 1"), write("run", "1 Q0 A 1 2.5 me")).qid.tolist() == ["1"]
    impression = {"rankings": {"x": ["a"], "y": ["b"]}, "shown": ["a", "b"], "teams": ["x", "y"], "clicks": [0]}
    assert [one.clicks for one in read_impressions(write("log.jsonl", json.dumps(impression)))] == [[0]]


# -- between data sets -----------------------------------------------------------------------------

X, Y, QID = ltr.make_ranking(n_queries=26, documents=8, random_state=0)
QID = QID + 7  # from 8 to 33, whose order as text is another
FRAME = pd.DataFrame({"qid": QID, "label": Y, "old": X[:, 0], "new": X[:, 0] + 0.5 * X[:, 1]})
IN_MEMORY: dict[str, Callable[[Any], Any]] = {
    "Python integers": lambda ids: ids.tolist(),
    "Python text": lambda ids: list(map(str, ids.tolist())),
    "NumPy integers": lambda ids: ids.astype(np.uint16),
    "NumPy scalars": list,
    "mixed": lambda ids: [str(one) if one % 2 else one for one in ids.tolist()],
    "float64": lambda ids: ids.astype(np.float64),
    "nullable": lambda ids: pd.array(ids, dtype="Int32"),
    "Decimal": lambda ids: list(map(Decimal, ids.tolist())),
    "category": lambda ids: pd.Series(ids.astype(str), dtype="category"),
}


def evaluate(kind: str, name: str) -> ltr.Evaluation:
    return ltr.evaluate(Y, FRAME[name].to_numpy(), qid=IN_MEMORY[kind](QID), metrics=METRICS)


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_results_of_every_kind_are_compared_to_the_last_digit(kind: str, tmp_path: Path) -> None:
    """As the baseline that was saved, as the new result, and beside scores in memory with ids of another type."""
    models = {"old": FRAME["old"].to_numpy(), "new": FRAME["new"].to_numpy()}
    expected = ltr.compare(models, Y, qid=QID, metrics=METRICS, **FEW).rows
    evaluate(kind, "old").save(tmp_path / "saved result.parquet")
    saved, new = ltr.load_result(tmp_path / "saved result.parquet"), evaluate(kind, "new")
    for other in ("Python text", "Python integers", "mixed"):
        assert ltr.compare({"old": saved, "new": evaluate(other, "new")}, **FEW).rows == expected
        comparison = ltr.compare({"new": new, "old": evaluate(other, "old")}, baseline="old", **FEW)
        assert comparison.rows == expected
        assert comparison.qid.tolist() == new.qid.tolist()  # which keeps what its data had
    text, order = QID.astype(str), np.random.default_rng(0).permutation(len(Y))
    expected = ltr.compare(models, Y, qid=text, metrics=METRICS, **FEW).rows
    assert ltr.compare(models | {"old": saved}, Y, qid=text, metrics=METRICS, **FEW).rows == expected
    shuffled = {"old": saved, "new": models["new"][order]}
    found = ltr.compare(shuffled, Y[order], qid=text[order], metrics=METRICS, **FEW).rows
    assert [row.p_value for row in found] == [row.p_value for row in expected]


@pytest.mark.parametrize("kind", ["Python text", "mixed", "float64"])
def test_weights_segments_and_clusters_by_id(kind: str) -> None:
    weight = {one: 1.0 + one % 3 for one in QID.tolist()}
    options: dict[str, Any] = {"by": {one: "ab"[one % 2] for one in weight}, "cluster": {i: i // 2 for i in weight}}
    options = {name: pd.Series(values) for name, values in options.items()}
    models = {"old": FRAME["old"].to_numpy(), "new": FRAME["new"].to_numpy()}

    def compare(qid: Any, query_weight: Any = weight) -> list[Any]:
        found = ltr.compare(models, Y, qid=qid, metrics=METRICS, query_weight=query_weight, **options, **FEW)
        return [found.rows, *(found.by[label].rows for label in "ab")]

    ids, expected = IN_MEMORY[kind](QID), compare(QID)
    assert compare(ids) == expected
    assert compare(ids, {str(one): value for one, value in weight.items()}) == expected
    results = {name: ltr.evaluate(Y, scores, qid=ids, metrics=METRICS) for name, scores in models.items()}
    assert ltr.compare(results, query_weight=weight, **options, **FEW).rows == expected[0]


# -- ids that really differ ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.char.zfill(QID.astype(str), 4), "'0008' is not 8: write them the same way in both"),
        (np.char.add(" ", QID.astype(str)), "' 8' is not 8: write them"),
        (QID + 1, r"lacks query 8 and has query 34 in addition\. Evaluate all .*queries=.common."),
        (
            QID + 100,
            r"of 26 it lacks 26 queries: 8, 9, 10, .* in addition\. Evaluate all models on the same queries\.$",
        ),
    ],
)
def test_ids_that_differ_are_named_with_a_remedy(ids: Any, message: str) -> None:
    new, other = (ltr.evaluate(Y, FRAME["old"], qid=qid, metrics=METRICS) for qid in (QID, ids))
    with pytest.raises(ltr.LtrValueError, match=f"The result of 'live' has different queries from .*{message}"):
        ltr.compare({"new": new, "live": other})


def test_a_missing_weight_is_named_with_a_remedy() -> None:
    with pytest.raises(ltr.LtrValueError, match=r"no entry for query 'A '\. .* and 'A ' is not 'a': write them"):
        ltr.evaluate([1, 0], [1, 2], qid=["A ", "A "], query_weight={"a": 1.0})


def test_times_that_others_write_in_another_form_are_named() -> None:
    times = pd.to_datetime(["2026-01-02 00:00", "2026-01-02 05:00"]).to_numpy()
    result = ltr.evaluate([1, 0, 1, 0], range(4), qid=[*times, *times], metrics="mrr")
    assert result.subset(["2026-01-02", "2026-01-02T05:00:00"]).n_queries == 2
    for other in ("2026-01-02 05:00:00", "2026-01-02T05:00", "2026-01-02 05:00:00.000"):
        with pytest.raises(ltr.LtrKeyError, match=f"compared as text, and '{other}' is not '2026-01-02T05:00:00'"):
            result.subset([other])
    with pytest.raises(ltr.LtrKeyError, match="'2026-01-02 00:00:00' is not '2026-01-02'"):
        result.subset(["2026-01-02 00:00:00"])
