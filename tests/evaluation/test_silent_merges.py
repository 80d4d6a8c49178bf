"""What float64, NumPy or Python would take for one is kept apart or refused: scores, ids, weights, text."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ltr_metrics as ltr
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import letor_batches, read_letor, read_scores, read_table, read_trec, table_batches
from ltr_metrics.sklearn.columns import names_of_columns

# -- scores -----------------------------------------------------------------------------------------------------------


def objects(*values: Any) -> Any:
    return np.array([*values, None], dtype=object)[:-1]


@pytest.mark.parametrize(
    "scores",
    [
        [2**53 + 1, 2**53],
        np.array([2**53 + 1, 2**53]),
        np.array([2**63 + 1, 2**63], dtype=np.uint64),
        pd.Series([-(2**53) - 1, 0]),
        pa.array([2**53 + 1, 2**53]),
        objects(np.int64(2**53 + 1), np.int64(2**53)),
        objects(2**70, 0.5),
    ],
)
def test_integers_that_float64_would_merge_are_refused(scores: Any) -> None:
    message = r"y_score must not hold integers beyond 2\*\*53.*float64.* at row 0.*ranks instead"
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.evaluate([1, 0], scores, qid=[1, 1], metrics="mrr")


@pytest.mark.parametrize(
    "scores",
    [
        [Decimal("0.1"), Decimal("0.2"), Decimal("0.10")],
        [Fraction(1, 3), Fraction(2, 3), Fraction(2, 6)],
        [1, 2.0, True],
        [2.0**60, np.inf, 2.0**60],
        [2**53 - 1, 2**53, 0],
    ],
)
def test_scores_that_float64_tells_apart_are_taken(scores: Any) -> None:
    assert ltr.evaluate([0, 1, 0], scores, qid=[1, 1, 1], metrics="mrr")["mrr"] == 1.0


# -- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
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
        np.array([0, 1, 1_000], dtype="M8[ns]"),
        pd.Series(pd.to_datetime([0, 1, 1_000], unit="ns")),
        list(pd.to_datetime([0, 1, 1_000], unit="ns")),
    ],
    ids=str,
)
def test_ids_stay_apart(ids: Any, tmp_path: Path) -> None:
    result = ltr.evaluate([1, 0, 1, 0, 1, 0], range(6), qid=[*ids, *ids], metrics="mrr")
    assert result.n_queries == len(set(result.plain_qid)) == 3
    assert ltr.evaluate([1, 0, 1], range(3), qid=ids, metrics="mrr").n_queries == 3
    result.save(tmp_path / "saved")
    assert list(map(str, ltr.load_result(tmp_path / "saved").plain_qid)) == list(map(str, result.plain_qid))
    assert ltr.from_qrels({one: {"d": 1} for one in ids}, {one: {"d": 1} for one in ids}).qid.tolist() == list(
        map(str, result.plain_qid)
    )


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1, 2**24, 2**24 + 1], dtype=np.float32), "must not hold float32 ids as large as 16777216 at row 1"),
        (np.array([1, 2**53, 2**53 + 1], dtype=np.float64), "must not hold float64 ids as large as 9007199254740992"),
        ([1.0, 2.0**53, 3.0], "must not hold float64 ids"),
        ([1, True, 7], "must not mix True and False with numbers"),
        ([0.5, False, "a"], "must not mix True and False with numbers"),
        (objects(np.True_, 1, 7), "must not mix True and False with numbers"),
        (["a\0", "a", "b"], r"must not end with a NUL character.* got 'a\\x00'"),
        ([b"a", b"a\0", b"b"], r"must not end with a NUL character.* got b'a\\x00'"),
        (pd.Series(["a\0", "a", "b"]), "must not end with a NUL character"),
        (pa.array(["a\0", "a", "b"]), "must not end with a NUL character"),
    ],
)
def test_ids_that_would_be_merged_are_refused(ids: Any, message: str) -> None:
    for name, options in {"qid": {"qid": ids}, "docid": {"docid": ids, "qid": [1, 1, 1]}, "by": {"by": ids}}.items():
        with pytest.raises(ltr.LtrValueError, match=f"{name} {message}"):
            ltr.evaluate([1, 0, 1], [1, 2, 3], metrics="mrr", **{"qid": [1, 2, 3]} | options)


@pytest.mark.parametrize("ids", [[True, False], [True, "1"], [1, 0.0]], ids=repr)
def test_truth_values_without_numbers_are_ids(ids: Any) -> None:
    assert ltr.evaluate([1, 1], [1, 1], qid=ids, metrics="mrr").qid.tolist() == ids


def test_a_nul_in_tables(tmp_path: Path) -> None:
    pd.DataFrame({"qid": ["a", "a\0"], "label": [1, 0], "s": [0.2, 0.8]}).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_bytes(b"qid,label,s\na,1,0.2\na\0,0,0.8\n")
    for name in ("a.parquet", "a.csv"):
        for read in (read_table, lambda path: next(table_batches(path, numbers=["label", "s"]))):
            rows = read(tmp_path / name)
            with pytest.raises(ltr.LtrValueError, match="must not end with a NUL character"):
                ltr.evaluate(rows["label"], rows["s"], qid=rows["qid"], metrics="mrr")


# -- names of columns -------------------------------------------------------------------------------------------------

VALUES = [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]]
REPEATED: dict[str, Any] = {
    "mapping": dict(zip([1, "1", "new"], VALUES, strict=True)),
    "pandas": pd.DataFrame(np.transpose(VALUES), columns=["1", "1", "new"]),
    "pandas of two types": pd.DataFrame(np.transpose(VALUES), columns=[1, "1", "new"]),
    "arrow": pa.table(VALUES, names=["1", "1", "new"]),
    "arrow batch": pa.record_batch(VALUES, names=["1", "1", "new"]),
}


@pytest.mark.parametrize("form", REPEATED)
def test_two_columns_of_one_name_are_refused(form: str) -> None:
    columns, y, data = REPEATED[form], [1, 0, 0, 2], {"group": [2, 2], "metrics": "mrr"}
    calls: dict[str, Callable[[], Any]] = {
        "models": lambda: ltr.compare(columns, y, **data),
        "scores": lambda: ltr.audit(y, columns, **data),
        "columns": lambda: ltr.evaluate(y, VALUES[0], columns=columns, **data),
        "by": lambda: ltr.evaluate(y, VALUES[0], by=columns, **data | {"group": [1] * 4}),
    }
    for name, call in calls.items():
        with pytest.raises(ltr.LtrValueError, match=f"{name} must have one column for each name.*'1' names 2 columns"):
            call()


@pytest.mark.parametrize("table", [pd.DataFrame, lambda row, columns: pa.table([[one] for one in row[0]], columns)])
def test_two_columns_of_one_name_in_judgments_and_features_are_refused(table: Any) -> None:
    qrels = table([[1, "a", 1, 0]], columns=["query_id", "doc_id", "relevance", "relevance"])
    with pytest.raises(ltr.LtrValueError, match="qrels must have one column for each name.*'relevance'"):
        ltr.from_qrels(qrels, {1: {"a": 1.0}})
    with pytest.raises(ltr.LtrValueError, match="X must have one column for each name.*'x'"):
        names_of_columns(table([[1, 0]], columns=["x", "x"]))


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("ratio", [(1, 2, 3), (3, 1, 0)])
def test_weights_of_any_size_give_the_exact_mean(scale: float, ratio: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    y, score, qid = rng.integers(0, 2, 30), rng.normal(size=30), np.repeat(["a", "b", "c"], 10)
    weight = np.array(ratio) * scale
    result = ltr.evaluate(y, score, qid=qid, metrics=["mrr", "map"], query_weight=weight)
    by_row = ltr.evaluate(y, score, qid=qid, metrics=["mrr", "map"], sample_weight=np.repeat(weight, 10))
    for name, values in result.per_query.items():
        exact = sum(Fraction(w) * Fraction(v) for w, v in zip(weight, values, strict=True)) / sum(map(Fraction, weight))
        assert result[name] == pytest.approx(float(exact), rel=1e-15)
        assert by_row[name] == pytest.approx(float(exact), rel=1e-15)


# -- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, line_break: str) -> None:
    def write(name: str, *lines: str) -> Path:
        """Write text behind a byte order mark, as editors on Windows do."""
        path = tmp_path / name
        path.write_bytes(codecs.BOM_UTF8 + (line_break.join(lines) + line_break).encode())
        return path

    letor = write("a.txt", "1 qid:7 1:1", "0 qid:7 1:2")
    assert read_letor(letor).y.tolist() == next(letor_batches(letor)).y.tolist() == [1, 0]
    sized = write("b.txt", "1 1:1", "0 1:2")
    write("b.txt.query", "2")
    assert read_letor(sized).qid.tolist() == [0, 0]
    assert read_scores(write("scores.txt", "0.5", "2")).tolist() == [0.5, 2]
    table = write("a.csv", "qid,label,s", "7,1,0.5", "7,0,2")
    assert list(read_table(table).columns) == ["qid", "label", "s"]
    assert read_trec(write("qrels", "1 0 A 1"), write("run", "1 Q0 A 1 2.5 me")).qid.tolist() == ["1"]
    log = write(
        "log.jsonl", '{"rankings": {"x": ["a"], "y": ["b"]}, "shown": ["a", "b"], "teams": ["x", "y"], "clicks": [0]}'
    )
    assert [one.clicks for one in read_impressions(log)] == [[0]]
