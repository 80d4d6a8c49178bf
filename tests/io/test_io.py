"""File formats: what is read from LETOR files, tables and files of scores, what is refused, and how files are written."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather, ipc
from systems import needs_posix

import ltr_metrics as ltr
from ltr_metrics.io import (
    files,
    letor_batches,
    read_letor,
    read_scores,
    read_table,
    read_trec,
    table_batches,
    tables,
    write_whole,
)
from ltr_metrics.io.tables import table_kind

GOOD = "2 qid:7 1:0.5 3:-1e-3 # docid = GX1 inc = 1\n0 qid:7 2:.25 #docid = GX2\n1.5 qid:10 1:1 2:2 3:3 # docid = GX3\n"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    ".zip": lambda content: zipped(content),
}


def zipped(content: bytes, *others: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("data", "__MACOSX/._data", *others):
            file.writestr(name, content)
    return archive.getvalue()


def write(folder: Path, content: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- LETOR -------------------------------------------------------------------------------------------------------------


def assert_good(path: Path) -> None:
    X, y, qid = data = read_letor(path)
    np.testing.assert_array_equal(X, [[0.5, 0, -1e-3], [0, 0.25, 0], [1, 2, 3]])
    assert (y.tolist(), qid.tolist()) == ([2, 0, 1.5], [7, 7, 10])
    assert data.docid is not None
    assert data.docid.tolist() == ["GX1", "GX2", "GX3"]


@pytest.mark.parametrize("ending", ["", *COMPRESS])
def test_letor(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, COMPRESS.get(ending, bytes)(GOOD.encode()), f"data.txt{ending}")
    assert_good(path)
    assert read_letor(path, n_features=5).X.shape == (3, 5)
    other = write(tmp_path, path.read_bytes(), f"other.txt{ending}")
    assert read_letor([path, other]).qid.tolist() == [7, 7, 10] * 2


def test_what_real_files_hold(tmp_path: Path) -> None:
    text = "\ufeff# a heading\r\n\r\n2 qid:1  3:7\t1:5 \r\n-1 qid:1\r\n1 qid:02 2:1e2"
    X, y, qid = data = read_letor(write(tmp_path, text))
    np.testing.assert_array_equal(X, [[5, 0, 7], [0, 0, 0], [0, 100, 0]])
    assert (y.tolist(), qid.tolist(), data.docid) == ([2, -1, 1], ["1", "1", "02"], None)  # text, for 02 is not 2
    X, y, _ = read_letor(write(tmp_path, "1 qid:1\n0 qid:1\n"))
    assert (X.shape, y.tolist()) == ((2, 0), [1, 0])
    zero = read_letor(write(tmp_path, "1 qid:café 0:1 2:3 # docid = naïve\n"), zero_based=True)
    np.testing.assert_array_equal(zero.X, [[1, 0, 3]])
    assert zero.docid is not None
    assert (zero.qid.tolist(), zero.docid.tolist()) == (["café"], ["naïve"])


@pytest.mark.parametrize(
    "ids", [["7", "07", "7"], ["9" * 18, "9" * 19], ["²", "3"], ["٣", "3"], ["-1", "1"], ["+1", "1"]]
)
def test_ids_of_letor_are_numbers_only_if_all_are_written_as_such(tmp_path: Path, ids: list[str]) -> None:
    path = write(tmp_path, "".join(f"1 qid:{one} 1:1\n" for one in ids))
    assert read_letor(path).qid.tolist() == ids
    assert read_letor(write(tmp_path, f"1 qid:{'9' * 18} 1:1\n")).qid.tolist() == [int("9" * 18)]


def test_columns_by_name(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path, GOOD))
    columns = {"qid": [7, 7, 10], "label": [2, 0, 1.5], "docid": ["GX1", "GX2", "GX3"], "3": [-1e-3, 0, 3]}
    assert {name: data[name].tolist() for name in columns} == columns
    assert read_letor(write(tmp_path, "1 qid:a 0:1 2:3\n"), zero_based=True)["2"].tolist() == [3]
    for name in ("0", "4", "-1", "bm25"):
        with pytest.raises(ltr.LtrKeyError, match=rf"no feature '{name}'.* the features 1 to 3.*n_features"):
            data[name]


def test_scores_join_by_ids(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    on: Any = {"qid": np.array([7, 8, 7]), "docid": ["A", "A", "B"]}
    path.write_text("qid,s,docid\n8,0.5,A\n7,1.5,B\n7,-2,A\n")
    assert read_scores(path, on=on).tolist() == read_scores(path, on=on, column="s").tolist() == [-2, 0.5, 1.5]
    with pytest.warns(ltr.LtrWarning, match="2 of 3 scores in .*old.csv are ignored, because the data lack"):
        assert read_scores(path, on={"docid": ["B"], "qid": ["7"]}).tolist() == [1.5]
    semicolons = write(tmp_path, "qid;s;docid\n7;1.5;B\n", "semicolons.csv")
    with pytest.warns(ltr.LtrWarning, match="is read as a table with ';'") as warned:
        assert read_scores(semicolons, on={"docid": ["B"], "qid": ["7"]}).tolist() == [1.5]
    assert [Path(one.filename) for one in warned] == [Path(__file__)]  # once, and of this line
    wrong = {
        "no score for 2 of 3 rows of the data, the first for qid '7', docid 'A' at row 0": "qid,s,docid\n8,0.5,A\n",
        "two scores for qid '8', docid 'A', at .*old.csv:2 and .*old.csv:4. Remove": "qid,s,docid\n8,0.5,A\n\n8,1,A\n",
        "old.csv has no column 'docid'": "qid,s\n8,0.5\n",
        "It has none. Name the one to read: column=": "qid,docid\n8,A\n",
        "old.csv:2: every row must have a value of qid": "qid,s,docid\n,0.5,A\n",
        "old.csv:2: s must be a number. Got 'x'": "qid,s,docid\n8,x,A\n7,1,A\n7,2,B\n",
    }
    for message, text in wrong.items():
        path.write_text(text)
        with pytest.raises(ltr.LtrError, match=message):
            read_scores(path, on=on)


def test_blocks_of_lines_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i % 3} qid:{i // 4} {1 + i % 5}:{i} # docid = D{i}" for i in range(500)]
    path = write(tmp_path, "\n".join([*lines, "1 qid:x 1:1"]))
    bad = write(tmp_path, "\n".join([*lines, "0 qid:1 oops"]), "bad")
    whole = read_letor(path)
    monkeypatch.setattr(files, "BYTES_AT_ONCE", 100)
    pieces = read_letor(path)
    for field in ("X", "y", "qid", "docid"):
        np.testing.assert_array_equal(getattr(pieces, field), getattr(whole, field))
    assert whole.qid.tolist()[-2:] == ["124", "x"]  # numbers of earlier blocks are text too
    assert len(list(letor_batches(path))) > 100
    with pytest.raises(ltr.LtrValueError, match=r"bad:501: a line must have the form .*Got 0 qid:1 oops"):
        read_letor(bad)


def test_sizes_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "2 1:1\n0 1:2\n1 1:3\n"
    a, b = write(tmp_path, text, "a.txt"), write(tmp_path, text, "b.txt")
    write(tmp_path, "\ufeff2\r\n1\r\n", "a.txt.query")
    write(tmp_path, "1\n2\n", "b.txt.group")
    c = write(tmp_path, lzma.compress(text.encode()), "c.xz")
    write(tmp_path, "3\n", "c.query")
    for n_bytes in (files.BYTES_AT_ONCE, 1):
        monkeypatch.setattr(files, "BYTES_AT_ONCE", n_bytes)
        assert read_letor(a).qid.tolist() == [0, 0, 1]
        assert read_letor([a, b, c]).qid.tolist() == [0, 0, 1, 2, 3, 3, 4, 4, 4]
    write(tmp_path, "2\n1", "a.txt.group")
    assert read_letor(a).qid.tolist() == [0, 0, 1]
    write(tmp_path, "1\n2\n", "a.txt.group")
    with pytest.raises(ltr.LtrValueError, match=r"a.txt.query and .*a.txt.group give .*a.txt different query sizes"):
        read_letor(a)
    (tmp_path / "a.txt.group").unlink()
    with pytest.raises(ltr.LtrValueError, match="either every line of all files has a qid: or none"):
        read_letor([a, write(tmp_path, "1 qid:0 1:1\n")])  # whose queries would be those of the first file
    rule = "a line must have the size of one query, a whole number of at least 1. Got"
    for sizes, message in (
        ("1\n\nx\n", f"a.txt.query:3: {rule} x"),
        ("3\n0", f"a.txt.query:2: {rule} 0"),
        ("2 1\n", f"a.txt.query:1: {rule} 2 1"),
        ("\n", "a.txt.query has no size of a query"),
        ("1\n1\n", r"a.txt add up to 2, but it has 3 documents"),
        ("999999999999999999\n" * 10, r"a.txt add up to 10{19}, but it has 3 documents"),
    ):
        write(tmp_path, sizes, "a.txt.query")
        for read in (read_letor, lambda path: list(letor_batches(path))):
            with pytest.raises(ltr.LtrValueError, match=message):
                read(a)


def test_weights_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = write(tmp_path, GOOD, "a.txt"), write(tmp_path, gzip.compress(GOOD.encode()), "b.txt.gz")
    write(tmp_path, "\ufeff1\r\n.5\r\n2", "a.txt.weight")
    with pytest.raises(
        ltr.LtrValueError, match="b.txt.gz: either all files have a file of weights beside them or none"
    ):
        read_letor([a, b])
    write(tmp_path, "3\n4\n5\n", "b.txt.weight")
    for n_bytes in (files.BYTES_AT_ONCE, 1):
        monkeypatch.setattr(files, "BYTES_AT_ONCE", n_bytes)
        data = read_letor([a, b])
        assert data.weight is not None
        assert data.weight.tolist() == data["weight"].tolist() == [1, 0.5, 2, 3, 4, 5]
        for weights, message in (
            ("1\n2\n", "a.txt.weight must have one weight per document of .*a.txt: it has 2, for 3 documents or more"),
            ("1\n2\n3\n4\n", "it has 4, for 3 documents or more. Repeat a weight of a query for each of its documents"),
            ("1\nx\n3\n", "a.txt.weight:2: a line must have one number, the weight of a document. Got 'x'"),
        ):
            write(tmp_path, weights, "a.txt.weight")
            with pytest.raises(ltr.LtrValueError, match=message):
                list(letor_batches(a))
        write(tmp_path, "1 .5 2", "a.txt.weight")


FORM = "a line must have the form 'grade qid:7 1:0.25 2:0.5'"
BAD_LETOR: dict[str, tuple[str | bytes, str]] = {
    "label": ("0 qid:1 1:1\nx qid:1 1:1\n", f"data.txt:2: {FORM}.* Got x qid"),
    "no value": ("0 qid:1 1:1 2: 3:1\n", f"data.txt:1: {FORM}"),
    "no colon": ("0 qid:1 1:1\n1 qid:1 1:0.5 2\n", f"data.txt:2: {FORM}"),
    "two colons": ("0 qid:1 1 2:3:4\n", f"data.txt:1: {FORM}"),
    "binary": ("\x00\x01 \x02\n", f"data.txt:1: {FORM}"),
    "repeated feature": ("0 qid:1 2:1 1:1\n0 qid:1 1:0.5 2:1 1:0.6\n", f"data.txt:2: {FORM}, with different feature .* Got 0 qid:1 1:0.5"),
    "zero": ("0 qid:1 1:1\n0 qid:1 0:1\n", f"data.txt:2: {FORM}, with different feature numbers from 1 .* zero_based .* Got 0 qid:1 0:1"),
    "fraction": ("0 qid:1 1:1\n0 qid:1 1.5:0.5\n", f"data.txt:2: {FORM}, with different feature .* Got 0 qid:1 1.5:0.5"),
    "huge number": ("0 qid:1 99999999999:1\n", f"data.txt:1: {FORM}, with different feature numbers from 1 to 1000000"),
    "mixed": ("0 qid:1 1:1\n0 1:1\n", r"data.txt:2: either every line has a qid: or none"),
    "empty id": ("0 qid:1 1:1\n0 qid: 1:1\n", r"data.txt:2: qid: must be followed by the id"),
    "id that is not UTF-8": (b"0 qid:1 1:1\n0 qid:\xe9 1:1\n", r"data.txt: ids must be UTF-8 .* Got b'\\xe9'"),
    "id with a no-break space": ("0 qid:1 1:1\n0 qid:1\u00a01:1\n", r"data.txt:2: an id must end with a blank or a tab"),
    "second value": ("0 qid:1 1:1\n0 qid:1 2:1 3:1 2:4\n", "data.txt:2: .*'2:4' is the second value of feature 2"),
    "no number": ("0 qid:1 1:1\n0 qid:1 2:1 3:x\n", "data.txt:2: .*'3:x' is no pair of a feature and a number"),
    "id with NUL": (b"0 qid:a 1:1\n0 qid:a\0 1:1\n", r"data.txt: ids must be UTF-8 text without NUL"),
    "docid with NUL": (b"0 qid:1 1:1 # docid = A\n0 qid:1 1:1 # docid = A\0\n", r"data.txt: ids must be UTF-8"),
    "no id": ("0 1:1\n", r"data.txt: the lines have no qid:.*data.txt.query or data.txt.group"),
    "empty": ("", r"data.txt has no document"),
    "second mark": ("1 qid:7 1:1\n\ufeff0 qid:7 1:2\n", f"data.txt:2: {FORM}"),
    "second id": ("0 qid:1 1:1\n1 qid:1 1:0.5 qid:8\n", f"data.txt:2: {FORM}.* Got 1 qid:1 1:0.5 qid:8"),
    "id with a space": ("0 qid:1 1:1\n1 qid:new york 1:0.5\n", f"data.txt:2: {FORM}"),
    "two labels": ("1 2 qid:1 1:0.5\n", f"data.txt:1: {FORM}"),
    "underscores": ("0 qid:1 1:1\n1_0 qid:1 1:0.5\n", f"data.txt:2: {FORM}"),
    "docid with a space": ("0 qid:1 1:1 # docid = A\n0 qid:1 1:1 # docid = annual report.pdf inc = 1\n",
        r"data.txt:2: a document id must be one word.* Got 'docid = annual report.pdf inc = 1'. Replace spaces in ids"),
}  # fmt: skip


@pytest.mark.parametrize("n_bytes", [1, files.BYTES_AT_ONCE])
@pytest.mark.parametrize("case", BAD_LETOR)
def test_what_is_no_letor_is_refused(tmp_path: Path, case: str, n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, message = BAD_LETOR[case]
    monkeypatch.setattr(files, "BYTES_AT_ONCE", n_bytes)
    if case.startswith("mixed") and n_bytes == 1:
        message = "either every line of all files has a qid: or none|no file of query sizes"
    with pytest.raises(ltr.LtrValueError, match=message):
        read_letor(write(tmp_path, text))


def test_other_errors_of_letor(tmp_path: Path) -> None:
    message = f"data.txt:1: {FORM}, with different feature numbers from 1 to 2, unless n_features"
    with pytest.raises(ltr.LtrValueError, match=message):
        read_letor(write(tmp_path, GOOD), n_features=2)
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        read_letor([])
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent.txt")


# -- tables ------------------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {"qid": ["007", "7", "7"], "label": [1, 0, 2], "score": [0.5, 0.1, 1], "flag": [True, False, True]}
)
TABLES: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "a.csv": lambda frame, path: frame.to_csv(path, index=False),
    "a.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "a.parquet": lambda frame, path: frame.to_parquet(path),
    "lz4.feather": lambda frame, path: feather.write_feather(frame, path, compression="lz4"),
    "polars.arrow": lambda frame, path: pl.from_pandas(frame).write_ipc(path, compat_level=pl.CompatLevel.oldest()),
}


@pytest.mark.parametrize("ending", ["", *COMPRESS])
@pytest.mark.parametrize("name", [*TABLES, "a.jsonl", "a.json"])
def test_tables(tmp_path: Path, name: str, ending: str) -> None:
    """Under their own name, and under one that says nothing: .dat, or that of another compression."""
    if name not in TABLES:
        FRAME.to_json(tmp_path / name, orient="records", lines=name == "a.jsonl")
    else:
        TABLES[name](FRAME, tmp_path / name)
    content = COMPRESS.get(ending, bytes)((tmp_path / name).read_bytes())
    for path in (write(tmp_path, content, name + ending), write(tmp_path, content, f"{name}.dat")):
        assert table_kind(path) == tables.KINDS[Path(name).suffix]
        assert read_table(path, columns=["score"]).to_dict("list") == FRAME.to_dict("list")
        rows = pd.concat(table_batches(path, numbers=["label", "score"]))
        assert rows.to_dict("list") == FRAME[["qid", "label", "score"]].to_dict("list")
    assert len(read_table([path, write(tmp_path, content, f"other.{name}{ending}")])) == 6


@pytest.mark.parametrize("flag", ["whole", "batches"])
@pytest.mark.parametrize(("name", "separator", "decimal"), [
    ("a.csv", ";", ","), ("a.csv", ";", "."), ("a.tsv", ";", ","), ("a.csv", "\t", ","), ("a.tab", ",", "."), ("a.dat", "|", "."),
    ("a.csv.gz", ";", ","), ("a.dat", "\t", "."), ("a.txt", ",", "."),
])  # fmt: skip
def test_text_tables_of_other_countries(tmp_path: Path, name: str, separator: str, decimal: str, flag: str) -> None:
    frame = FRAME.assign(score=[0.5, 1234.25, -1e-7], user=["0,5", "a.b", "x"]).drop(columns="flag")
    text = frame.to_csv(index=False, sep=separator, decimal=decimal)
    path = write(tmp_path, (gzip.compress if name.endswith("gz") else bytes)(text.encode()), name)
    is_usual = name in ("a.dat", "a.txt") and separator in ",\t"
    says = f"is read as a table with {separator!r} between its columns{' and decimal commas' * (decimal == ',')}."
    with contextlib.nullcontext() if is_usual else pytest.warns(ltr.LtrWarning, match=re.escape(says)):
        text_columns = ["qid", "user"]
        if flag == "batches":
            rows = pd.concat(table_batches(path, numbers=["label", "score"], text=text_columns))
        else:
            rows = read_table(path, text=["user"])
    assert rows[list(frame)].to_dict("list") == frame.to_dict("list")


def test_three_digits_after_a_comma_are_decimals_where_no_thousand_begins_so(tmp_path: Path) -> None:
    for cells, expected in (("0,125", 0.125), (",125", 0.125), ("1234,125", 1234.125)):
        path = write(tmp_path, f"qid;label;s\n1;0;{cells}\n", "a.csv")
        with pytest.warns(ltr.LtrWarning, match="and decimal commas.$"):
            assert read_table(path)["s"].tolist() == [expected]


@pytest.mark.parametrize("score", ["1,234", "12,345", "0,5 and 2.5"])
def test_numbers_that_are_not_surely_decimal_are_refused(tmp_path: Path, score: str) -> None:
    rows = "".join(f"1;0;{one}\n" for one in score.split(" and "))
    path = write(tmp_path, f"qid;label;s\n{rows}", "a.csv")
    with pytest.warns(ltr.LtrWarning, match="between its columns.$"):
        frame = read_table(path)
    with pytest.raises(ltr.LtrTypeError, match=f"got '{score.split()[0]}' at row 0. Write numbers with a point"):
        ltr.evaluate(frame["label"], frame["s"], qid=frame["qid"])
    with (
        pytest.warns(ltr.LtrWarning, match="between its columns.$"),
        pytest.raises(ltr.LtrValueError, match=rf"a.csv:2: s must be a number. Got '{score.split()[0]}'"),
    ):
        list(table_batches(path, numbers=["label", "s"]))


def test_json_lines_keep_ids_and_may_lack_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        '{"qid": 9007199254740993, "label": 1, "s": 0.5}',
        "",
        '{"s": 1, "label": 0, "qid": 9007199254740992, "x": [1]}',
    ]
    lines += ['{"qid": "007", "label": 0.5, "s": null}', '{"qid": "2012-01-01", "label": 2, "s": 1e-3}']
    path = write(tmp_path, "\n".join(lines), "a.jsonl")
    for n_bytes in (files.BYTES_AT_ONCE, 1):
        monkeypatch.setattr(files, "BYTES_AT_ONCE", n_bytes)
        for rows in (
            read_table(path),
            pd.concat(one.astype({"s": float}) for one in table_batches(path, numbers=["label", "s"])),
        ):
            assert rows["qid"].tolist() == [2**53 + 1, 2**53, "007", "2012-01-01"]
            np.testing.assert_array_equal(rows["s"].astype(float), [0.5, 1, np.nan, 1e-3])
    message = r"a.jsonl:3: a line must be one JSON object.* Got '(\[1\]|\{\"qid\": 7)'"
    for bad in ("[1]", '{"qid": 7'):
        with pytest.raises(ltr.LtrValueError, match=message):
            read_table(write(tmp_path, f"{lines[0]}\n\n{bad}\n", "a.jsonl"))
    with pytest.raises(ltr.LtrKeyError, match="a.jsonl has no column 'label'"):
        read_table(write(tmp_path, '{"qid": 7}\n', "a.jsonl"))
    with pytest.raises(ltr.LtrValueError, match="a.jsonl:3: every row must have a value of qid. It is empty"):
        read_table(write(tmp_path, '{"qid": 7, "label": 1}\n\n{"label": 1}\n', "a.jsonl"))


@pytest.mark.parametrize("index", [["qid"], ["score"], ["qid", "label", "score"]])
@pytest.mark.parametrize("metadata", [None, b"", b'{"columns": 7}'])
def test_the_index_of_a_data_frame_is_a_column_of_its_file(
    tmp_path: Path, index: list[str], metadata: bytes | None
) -> None:
    path = tmp_path / "a.parquet"
    FRAME.set_index(index).to_parquet(path)
    if metadata is not None:  # damaged ones of pandas do no harm
        pq.write_table(pq.read_table(path).replace_schema_metadata({b"pandas": metadata}), path)
    for read in (read_table(path), pd.concat(table_batches(path, numbers=["label", "score"]))):
        assert read["qid"].tolist() == ["007", "7", "7"]
        assert read["score"].tolist() == [0.5, 0.1, 1]
        assert read.index.tolist() == [0, 1, 2]


def test_csv_as_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffqid,label,docid,score\r\nNA,0,007,1\r\nnull,1,7,\r\n", "a.csv")
    assert read_table(path)["docid"].tolist() == [7, 7]
    read = read_table(path, text=["docid"])
    assert (read["docid"].tolist(), read["qid"].tolist()) == (["007", "7"], ["NA", "null"])
    batch = next(table_batches(path, numbers=["label", "score"], text=["qid", "docid"]))
    for rows in (read, batch):
        np.testing.assert_array_equal(rows["score"], [1, np.nan])
    renamed = write(tmp_path, "query,grade\n007,1\n", "b.csv")
    assert read_table(renamed, qid="query", label="grade")["query"].tolist() == ["007"]


BAD_TABLES: dict[str, tuple[str, str | bytes, str]] = {
    "column": ("a.csv", "qid,lable,s\n1,0,1\n", r"a.csv has no column 'label'. Did you mean 'lable'\? It has qid, lable"),
    "no bytes": ("a.csv", "", r"a.csv is damaged, cut off or not what its name says"),
    "empty id": ("a.csv", "qid,label\n1,0\n\n,1\n", r"a.csv:4: every row must have a value of qid. It is empty"),
    "two columns": ("a.csv", "qid,label,label\n1,0,1\n", r"a.csv has 2 columns named 'label'"),
    "integers": ("a.csv", f"qid,label\n1,0.5\n1,{2**53 + 1}\n", r"a.csv:3: label must not hold integers beyond 2\*\*53"),
    "merged": ("a.csv", f"qid,label\n1,0.{'3' * 17}1\n\n1,0.{'3' * 17}2\n", r"a.csv: label .* cannot keep apart.* \(.*a.csv:2 and .*a.csv:4\)"),
    "long line": ("a.csv", "qid,label\n1,0\n\n1,0,5\n", r"a.csv:4: a line must have as many fields as the header, 2. It has 3: '1, 0, 5'"),
    "open quote": ("a.csv", 'qid,label,t\n1,0,"a\n1,0,b\n', "a.csv:2: a quote begins a field of several lines"),
    "open quote, old lines": ("a.csv", 'qid,label,t\r1,0,a\r1,0,"a\r1,0,b\r', "a.csv:3: a quote begins a field"),
    "two open quotes": ("a.tsv", 'qid\tt\tlabel\n1\tx\t0\n1\t"a\t0\n1\tb\t1\n1\t"c" d\t0\n', "a.tsv:3: a quote begins"),
    "open quote in a short line": ("a.csv", '\ufeff"t",qid,label\n"a,1,0\nb,1,0\n', "a.csv:2: a quote begins a field"),
    "array of numbers": ("a.json", '[{"qid": 1, "label": 1}, 3]', "a.json: each row of an array must be .* Row 1 is 3"),
    "half an array": ("a.json", '[{"qid": 1,', "a.json is damaged, cut off"),
    "pandas' default": ("a.json", '{"qid": {"0": 1}, "label": {"0": 1}}', "a.json:1: a line must be one JSON object.*orient="),
    "no rows": ("a.json", "[]", "a.json has no column 'qid'. It has none"),
    "short line": ("a.tsv", "qid\tlabel\n1\t0\n1\n", r"a.tsv:3: a line must have as many fields as the header, 2. It has 1"),
    "no separator": ("a.csv", "qid\n1\n", r"a.csv has no column 'label'. It has qid"),
    "no Parquet": ("a.parquet", "qid,label\n1,0,5\n", r"a.parquet is damaged"),
    "no Arrow": ("a.feather", "qid,label\n1,0,5\n", r"a.feather is damaged"),
    "no gzip": ("a.csv.gz", "qid,label\n1,0\n", r"a.csv.gz is damaged"),
    "name": ("a.xls", "x", r"a.xls cannot be read as a table. Tables are .parquet, .arrow"),
    "two files": ("a.zip", zipped(b"qid,label\n1,0\n", "b.csv"), r"a.zip has 2 files. Unpack it, or save a sheet of .xlsx"),
    "spreadsheet": ("a.xlsx", zipped(b"x", "[Content_Types].xml"), r"a.xlsx has 2 files. Unpack it, or save a sheet of .xlsx as .csv"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_that_are_refused(tmp_path: Path, case: str) -> None:
    name, text, message = BAD_TABLES[case]
    path = write(tmp_path, text, name)
    with pytest.raises(ltr.LtrError, match=message):
        read_table(path)
    with pytest.raises(ltr.LtrError, match=message):
        list(table_batches(path, numbers=["label"]))


@pytest.mark.parametrize("name", ["{}", "../{0.parent.name}/{0.name}", "link", "hard link"])
@pytest.mark.parametrize("read", [read_letor, read_table])
def test_a_file_under_two_names_is_one_file(tmp_path: Path, read: Callable[[Any], Any], name: str) -> None:
    path = write(tmp_path, GOOD) if read is read_letor else write(tmp_path, "qid,label\n1,0\n", "data.csv")
    other = tmp_path / name.format(path)
    if name == "link":
        other.symlink_to(path)
    elif name == "hard link":
        os.link(path, other)
    with pytest.raises(ltr.LtrValueError, match="are the same file, whose rows would count twice"):
        read([path, other])


@needs_posix("named pipes")
@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("read", [read_table, lambda path: next(table_batches(path, numbers=["label"]))])
def test_a_table_in_a_pipe_is_refused(tmp_path: Path, read: Callable[[Path], Any], name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR)
    try:
        os.write(pipe, b"qid,label\n1,0\n")
        with pytest.raises(ltr.LtrValueError, match="is a pipe"):
            read(path)
    finally:
        os.close(pipe)


@needs_posix("pipes by number")
def test_a_table_in_a_pipe_of_the_shell_is_named_as_such() -> None:
    source, target = os.pipe()
    os.write(target, b"qid,label\n1,0\n")
    os.close(target)
    with pytest.raises(ltr.LtrValueError, match=r"is a pipe, which only LETOR can be read from.* none: qid,label"):
        read_letor(f"/dev/fd/{source}")
    os.close(source)


def test_other_errors_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
    FRAME.assign(qid=["7", "7", ""]).to_parquet(tmp_path / "blank.parquet")
    with pytest.raises(
        ltr.LtrValueError, match="blank.parquet, row 2: every row must have a value of qid. It is empty"
    ):
        list(table_batches(tmp_path / "blank.parquet", numbers=["label"]))
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    monkeypatch.setattr(tables, "LONGEST_LINE", 1 << 10)
    for text in ("x" * 4000, "\n" * 4000):
        long = write(tmp_path, f'qid,label,text\n1,0,"{text}"\n1,1,x\n', "long.csv")
        for read in (read_table, lambda path: list(table_batches(path, numbers=["label"]))):
            with pytest.raises(ltr.LtrValueError, match=r"long.csv has a row of more than 0.000976562 MB. Shorten"):
                read(long)
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        read_table([])
    for name, write_table in TABLES.items():
        write_table(FRAME, tmp_path / name)
        if not name.endswith("sv"):
            cut = write(tmp_path, (tmp_path / name).read_bytes()[:-8], f"cut {name}")
            with pytest.raises(ltr.LtrValueError, match=f"cut {name} is damaged"):
                read_table(cut)
    table = pa.Table.from_pandas(FRAME)
    with ipc.new_stream(tmp_path / "stream.arrow", table.schema) as file:
        file.write_table(table)
    cut = write(tmp_path, (tmp_path / "stream.arrow").read_bytes()[:-100], "cut.arrow")
    with pytest.raises(ltr.LtrValueError, match=r"cut.arrow is damaged, cut off or not what"):
        read_table(cut)
    latin = pa.array([b"caf\xe9", b"b", b"b"]).view(pa.string())  # text is UTF-8
    feather.write_feather(table.set_column(0, "qid", latin), tmp_path / "latin.feather")
    for read in (read_table, lambda path: next(table_batches(path, numbers=["label"]))):
        with pytest.raises(ltr.LtrValueError, match=r"latin.feather is damaged.*UTF8"):
            read(tmp_path / "latin.feather")


IDS_OF_FILES: dict[str, list[Any]] = {
    "integers": [7, 2**53, 2**53 + 1, 2**63 - 1],
    "unsigned": list(np.array([7, 2**63, 2**64 - 1], dtype=np.uint64)),
    "text": ["007", "7", "7.0", " 7"],
    "nanoseconds": list(pd.to_datetime([0, 1, 1_000], unit="ns")),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", IDS_OF_FILES)
def test_ids_stay_exact_in_every_table(tmp_path: Path, name: str, kind: str) -> None:
    ids = IDS_OF_FILES[kind]
    TABLES[name](pd.DataFrame({"qid": ids, "label": 1, "s": 1.0}), tmp_path / name)
    for rows in (read_table(tmp_path / name), pd.concat(table_batches(tmp_path / name, numbers=["label", "s"]))):
        found = rows["qid"].tolist()
        assert found == (list(map(str, ids)) if name.endswith("sv") and kind != "nanoseconds" else found)
        assert name.endswith("sv") or found == ids
        result = ltr.evaluate(rows["label"], rows["s"], qid=rows["qid"], metrics="mrr")
        assert result.n_queries == len(set(result.json_qid)) == len(ids)
        result.save(tmp_path / "saved")
        assert ltr.load_result(tmp_path / "saved").json_qid == result.json_qid


@pytest.mark.parametrize(
    "ids", [(FRAME["qid"], [7, 7, 8]), ([7, 7, 8], [7.0, 8, 9]), (np.array([7, 7, 8], np.uint64), [7, 8, 9])]
)
def test_an_id_is_the_same_in_files_with_other_types(tmp_path: Path, ids: tuple[Any, Any]) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c.csv"]
    for path, of_file in zip(paths, ids, strict=False):
        FRAME.assign(qid=of_file, user=of_file).to_parquet(path)
    FRAME.assign(qid=[7, 8, 9], user=[7, 8, 9]).to_csv(paths[2], index=False)
    for some in (paths[:2], paths):
        rows = read_table(some, text=["user"])
        files_of_ids = (*ids, [7, 8, 9])[: len(some)]
        expected = [one if isinstance(one, str) else str(int(one)) for of_file in files_of_ids for one in of_file]
        assert rows["qid"].tolist() == rows["user"].tolist() == expected


def test_the_line_and_the_cell_that_is_no_number_are_named(tmp_path: Path) -> None:
    """One such cell makes a column text, and the numbers above it are not at fault."""
    for cell, hint in (("high", ""), ("0,5", " Write numbers with a point"), ("1_0", "")):
        path = write(tmp_path, f'qid,label,s\n7,1,0.5\n7,0,NA\n\n8,1,"{cell}"\n8,0,2\n', "a.csv")
        with pytest.raises(ltr.LtrValueError, match=rf"a.csv:5: s must be a number. Got '{cell}'.{hint}"):
            list(table_batches(path, numbers=["label", "s"]))
        rows = read_table(path)
        for scores in (rows["s"], np.array(rows["s"].tolist(), np.str_), rows["s"].tolist()):
            with pytest.raises(ltr.LtrTypeError, match=rf"y_score must be numbers .* got '(NA|{cell})' at row [12]"):
                ltr.evaluate(rows["label"], scores, qid=rows["qid"])
        with pytest.raises(ltr.LtrValueError, match=rf"a.csv:2: s must be a number. Got '{cell}'.{hint}"):
            read_scores(write(tmp_path, f'qid,s\n7,"{cell}"\n', "a.csv"), on={"qid": ["7"]})
    with pytest.raises(ltr.LtrTypeError, match=r"y_true must be numbers .* got '1' at row 0\. Convert the column"):
        ltr.evaluate(["1", "0"], [1, 2], group=[2])


def test_text_with_line_breaks_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    rows = pd.DataFrame({"qid": range(200), "label": 1, "s": 0.5, "text": 'one, of "many"\n\nlines, ' * 20})
    rows.to_csv(tmp_path / "a.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.csv").assign(qid=range(200)), rows, check_dtype=False)
    parts = list(table_batches(tmp_path / "a.csv", numbers=["label", "s"]))
    assert len(parts) > 10
    assert pd.concat(parts)["qid"].tolist() == list(map(str, range(200)))
    for end in ("\n", "", "\r\n"):
        assert len(read_table(write(tmp_path, f'qid,label,t\n1,0,"a"b\n1,1,"c\nd\n"{end}', "b.csv"))) == 2


@pytest.mark.parametrize("flags", [("True", "False"), ("true", "false"), ("1", "0")])
def test_flags_of_csv_are_grades(tmp_path: Path, flags: tuple[str, str]) -> None:
    path = write(tmp_path, "qid,label\n7,{}\n7,{}\n".format(*flags), "a.csv")
    for rows in (read_table(path), next(table_batches(path, numbers=["label"]))):
        assert rows["label"].tolist() == [1, 0]


OTHER_CONTENTS: dict[str, tuple[bytes, str]] = {
    "a.pred": (b"PAR1\x15\x04", r"a.pred is a Parquet file, a table, which read_table and DATA of the command line read"),
    "a.txt": (b"ARROW1\0\0", r"a.txt is an Arrow file, a table, which read_table and DATA of the command line read"),
    "b.txt": (gzip.compress(gzip.compress(b"1\n")), r"b.txt is compressed by gzip, so its name must end in .gz"),
    "a.gz": (COMPRESS[".zst"](b"1\n"), r"a.gz is compressed by Zstandard, so its name must end in .zst"),
    "a.xlsx": (zipped(b"x", "[Content_Types].xml"), r"a.xlsx has 2 files. Unpack it, or save a sheet of .xlsx as .csv"),
    "utf16.txt": ("1 qid:1 1:1\n".encode("utf-16"), r"utf16.txt is text in UTF-16. Save it in UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_CONTENTS)
def test_a_file_that_is_something_else_than_text_is_named_as_such(tmp_path: Path, name: str) -> None:
    content, message = OTHER_CONTENTS[name]
    path, good = write(tmp_path, content, name), write(tmp_path, "1 0 A 1\n", "good")
    for read in (read_letor, read_scores, lambda path: read_trec(path, good), lambda path: read_trec(good, path)):
        with pytest.raises(ltr.LtrValueError, match=f"{message}|good:1: a line"):
            read(path)


@pytest.mark.parametrize("text", ["qid,label,s\n7,1,0.5\n", "qid\tlabel\n7\t1\n", '{"qid": 7, "label": 1}\n'])
def test_read_letor_says_what_reads_tables(tmp_path: Path, text: str) -> None:
    message = rf"data.txt:1: {FORM}.* Tables are .parquet, .arrow.* They are read by read_table"
    with pytest.raises(ltr.LtrValueError, match=message):
        read_letor(write(tmp_path, text))
    with pytest.raises(
        ltr.LtrValueError, match=r"data.txt:1: .* Got 1 qid:1 1:x. '1:x' is no pair of a feature and a number.$"
    ):
        read_letor(write(tmp_path, "1 qid:1 1:x\n"))


@pytest.mark.parametrize("name", [*TABLES, "scores.npy"])
def test_out_of_memory_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError("malloc of 7 bytes failed")

    for module, function in ((csv, "read_csv"), (pq, "ParquetFile"), (ipc, "open_file"), (np, "load"), (json, "loads")):
        monkeypatch.setattr(module, function, fails)
    text = FRAME.to_csv(index=False, sep="\t" if name.endswith("tsv") else ",")
    message = f"{name} needs more memory than there is, unless it is damaged: malloc of 7 bytes failed.*letor_batches"
    with pytest.raises(ltr.LtrValueError, match=message):
        (read_scores if name.endswith("npy") else read_table)(write(tmp_path, text, name))


@needs_posix("names that are not text")
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses names that are not UTF-8")
def test_a_name_that_cannot_be_spelled_is_no_damage(tmp_path: Path) -> None:
    readers = {
        read_table: "csv",
        lambda path: list(table_batches(path, numbers=["label"])): "csv",
        ltr.load_result: "pq",
    }
    for read, ending in readers.items():
        path = write(tmp_path, "qid,label\n1,1\n", f"caf\udce9.{ending}")  # a byte that is not UTF-8
        with pytest.raises(ltr.LtrValueError, match=r"name of .*caf\\udce9\..* has characters that utf-8 cannot spell"):
            read(path)


# -- scores alone ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", *COMPRESS])
def test_scores(tmp_path: Path, ending: str) -> None:
    scores = np.random.default_rng(0).normal(size=300) * 10.0 ** np.arange(-150, 150)
    text = "".join(f"{score!r}\n" for score in scores.tolist()).encode()
    for name in ("a.txt", "a.csv"):
        path = write(tmp_path, COMPRESS.get(ending, bytes)(text), name + ending)
        np.testing.assert_array_equal(read_scores(path), scores)
    for dtype in ("float64", "float32", ">f8", "int8", "bool"):
        array = np.array([0.1, -3, 7]).astype(dtype)
        np.save(tmp_path / "a.npy", array)
        path = write(tmp_path, COMPRESS.get(ending, bytes)((tmp_path / "a.npy").read_bytes()), f"a.npy{ending}")
        found = read_scores(path)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, array.astype(np.float64))


def test_scores_of_other_editors(tmp_path: Path) -> None:
    found = read_scores(write(tmp_path, "\ufeff 1\r\n-inf\r\n\tnan \r\n+.5\r\n\r\n \r\n"))
    np.testing.assert_array_equal(found, [1, -np.inf, np.nan, 0.5])


def test_scores_of_ranklib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "q1\t0\t0.5\nq1\t1\t-1e-3\n\n7\t0\t2\nq1\t0\tnan\n")
    for n_bytes in (files.BYTES_AT_ONCE, 1):
        monkeypatch.setattr(files, "BYTES_AT_ONCE", n_bytes)
        np.testing.assert_array_equal(read_scores(path), [0.5, -1e-3, 2, np.nan])


BAD_SCORES = {
    "score\n1\n": "data.txt:1: a line must be one number. Got 'score'",
    "1\n\n2\nx\n": "data.txt:4: a line must be one number. Got 'x'",
    "1\n1,2\n": "data.txt:2: .* Got '1,2'. Write numbers with a point",
    "1\n1 2\n": "data.txt:2: .* Got '1 2'",
    "1 2\n3 4\n": "data.txt:1: .* Got '1 2'",
    "1 2 3\n": "data.txt:1: .* Got '1 2 3'",  # not three scores
    "q1\t0\t0.5\nq1\t2\t0.7\n": "data.txt:2: .* In RankLib's 'query index score', each query counts 0, 1, 2",
    "1 0 0.5\n1 1 0.7\n0.9\n": "data.txt:3: .* Got '0.9'",
    "0.9\n1 0 0.5\n": "data.txt:2: .* Got '1 0 0.5'",
    "1 1 0.5\n1 2 0.7\n": "data.txt:1: .* Got '1 1 0.5'",
    "1 0 0.5\n2 1 0.7\n": "data.txt:2: .* Got '2 1 0.7'",
    "1 0 x\n": "data.txt:1: .* Got '1 0 x'",
    "1\n1_0\n": "data.txt:2: .* Got '1_0'",
    "": "data.txt has no score",
    "\n\n": "data.txt has no score",
}


@pytest.mark.parametrize("text", BAD_SCORES)
def test_what_is_no_scores_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=BAD_SCORES[text]):
        read_scores(write(tmp_path, text))


def test_npy_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array, message in (
        (np.zeros((3, 1)), r"scores of .*a.npy must be one-dimensional.* Save one column: numpy.save\(file, scores\[:"),
        (np.array(["a"]), r"The scores of .*a.npy must be numbers"),
        (np.array([2**53 + 1]), r"a.npy must not hold integers beyond 2\*\*53"),
        (np.zeros(0), r"a.npy has no score"),
        (np.array([1, None], object), r"a.npy is damaged.*pickle"),
    ):
        np.save(path, array)
        with pytest.raises(ltr.LtrError, match=message):
            read_scores(path)
    np.save(path, np.arange(1000.0))
    for content in (b"", path.read_bytes()[:-1], b"1\n2\n"):
        with pytest.raises(ltr.LtrValueError, match=r"b.npy is damaged"):
            read_scores(write(tmp_path, content, "b.npy"))
    with pytest.raises(FileNotFoundError):
        read_scores(tmp_path / "absent.txt")


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("read", [read_letor, read_scores, read_table])
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path, read: Callable[[Path], Any], ending: str) -> None:
    line = {read_letor: GOOD, read_scores: "0.5\n", read_table: "qid,label\n"}[read]
    name = f"cut.{'csv' if read is read_table else 'txt'}{ending}"
    content = COMPRESS[ending](line.encode() * 1000)
    end = -1 if ending != ".zip" else -30  # its last bytes are needed only if there is a comment
    for one in (content[: len(content) // 2], content[:end], content[:12] + b"\xff" * 20 + content[32:], b"text"):
        with pytest.raises(ltr.LtrValueError, match=f"{name} is damaged, cut off or not what its name says"):
            read(write(tmp_path, one, name))


# -- writing -----------------------------------------------------------------------------------------------------------


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    write_whole(path, "first\n")
    with pytest.raises(TypeError):
        write_whole(path, 7)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        with pytest.raises(OSError, match=re.escape(f"No space: '{path}'")):
            write_whole(path, "second\n")
    assert path.read_text() == "first\n"
    write_whole(path, "caf\udce9")  # the name of a file that is not UTF-8
    assert path.read_text() == "caf\\udce9"
    assert [one.name for one in tmp_path.iterdir()] == ["out.txt"]
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_whole(tmp_path / "absent" / "out.txt", "text")


@needs_posix("permissions of a group")
def test_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new.txt").stat().st_mode & 0o777 == 0o640
    write_bytes, while_written = Path.write_bytes, []

    def noted(path: Path, content: bytes) -> int:
        while_written.append(path.stat().st_mode & 0o777)
        return write_bytes(path, content)

    for mode in (0o600, 0o640, 0o664, 0o777):
        path = write(tmp_path, "before")
        path.chmod(mode)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_bytes", noted)
            write_whole(path, "after")
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", mode)
    assert while_written == [0o600] * 4


@needs_posix("links and named pipes")
def test_links_are_followed_and_what_cannot_be_replaced_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    link, real, loop, pipe = tmp_path / "link", tmp_path / "folder" / "real", tmp_path / "loop", tmp_path / "pipe"
    link.symlink_to(real)
    for text in ("first", "second"):
        write_whole(link, text)
        assert (link.is_symlink(), real.read_text()) == (True, text)
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for path in (loop, pipe, tmp_path):
        with pytest.raises(ltr.LtrValueError, match="is not a regular file"):
            write_whole(path, "text")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="exists and is read-only"):
        write_whole(real, "third")
    assert (real.read_text(), pipe.is_fifo()) == ("second", True)
