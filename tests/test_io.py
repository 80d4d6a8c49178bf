"""File formats: what is read, and the errors that name file, line and column."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather, ipc
from systems import needs_posix

import ltr_metrics as ltr
from ltr_metrics.io import files as compressed
from ltr_metrics.io import read_letor, read_scores, read_table, write_whole
from ltr_metrics.io import tables
from ltr_metrics.io import write as writing
from ltr_metrics.io.tables import is_table

GOOD = "2 qid:7 1:0.5 3:-1e-3 # docid = GX1 inc = 1\n0 qid:7 2:.25 #docid = GX2\n1.5 qid:10 1:1 2:2 3:3 # docid = GX3\n"


def write(folder: Path, text: str, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_letor(tmp_path: Path) -> None:
    X, y, qid = data = read_letor(write(tmp_path, GOOD))
    np.testing.assert_array_equal(X, [[0.5, 0, -1e-3], [0, 0.25, 0], [1, 2, 3]])
    assert y.tolist() == [2, 0, 1.5]
    assert qid.tolist() == [7, 7, 10]
    assert data.docid is not None
    assert data.docid.tolist() == ["GX1", "GX2", "GX3"]
    assert read_letor(tmp_path / "data.txt", n_features=5).X.shape == (3, 5)


@pytest.mark.parametrize("opened", [gzip.open, lzma.open, bz2.open])
def test_compressed(tmp_path: Path, opened: object) -> None:
    path = tmp_path / f"data.txt.{ {gzip.open: 'gz', lzma.open: 'xz', bz2.open: 'bz2'}[opened] }"
    with opened(path, "wb") as file:  # type: ignore[operator]
        file.write(GOOD.encode())
    np.testing.assert_array_equal(read_letor(path).X, read_letor(write(tmp_path, GOOD)).X)


def test_what_real_files_hold(tmp_path: Path) -> None:
    text = "# a heading\r\n\r\n2 qid:1  3:1\t1:5 3:7 \r\n0 qid:1\r\n1 qid:02 2:1e2"
    X, y, qid = data = read_letor(write(tmp_path, text))
    np.testing.assert_array_equal(X, [[5, 0, 7], [0, 0, 0], [0, 100, 0]])  # the last of a repeated feature counts
    assert y.tolist() == [2, 0, 1]
    assert qid.tolist() == ["1", "1", "02"]  # text, for 02 is not 2
    assert data.docid is None
    zero = read_letor(write(tmp_path, "1 qid:a 0:1 2:3\n"), zero_based=True)
    np.testing.assert_array_equal(zero.X, [[1, 0, 3]])
    assert zero.qid.tolist() == ["a"]


def test_many_small_reads_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i % 3} qid:{i // 4} {1 + i % 5}:{i} # docid = D{i}" for i in range(500)]
    path = write(tmp_path, "\n".join(lines))
    whole = read_letor(path)
    monkeypatch.setattr(compressed, "BYTES_AT_ONCE", 100)
    pieces = read_letor(path)
    for field in ("X", "y", "qid", "docid"):
        np.testing.assert_array_equal(getattr(pieces, field), getattr(whole, field))
    write(tmp_path, "\n".join([*lines, "0 qid:1 oops"]))
    with pytest.raises(ltr.LtrValueError, match=r"data.txt:501:9: a feature must.*Got 'oops'"):
        read_letor(path)


def test_sizes_beside_the_file(tmp_path: Path) -> None:
    text = "2 1:1\n0 1:2\n1 1:3\n"
    write(tmp_path, "2\n1\n", "a.txt.query")
    write(tmp_path, "1\n2\n", "b.txt.group")
    a, b = write(tmp_path, text, "a.txt"), write(tmp_path, text, "b.txt")
    assert read_letor(a).qid.tolist() == [0, 0, 1]
    assert read_letor([a, b]).qid.tolist() == [0, 0, 1, 2, 3, 3]
    with lzma.open(tmp_path / "c.xz", "wb") as file:
        file.write(text.encode())
    write(tmp_path, "3\n", "c.query")
    assert read_letor(tmp_path / "c.xz").qid.tolist() == [0, 0, 0]


BAD = {
    "label": ("0 qid:1 1:1\nx qid:1 1:1\n", r"data.txt:2:1: a line must begin with a grade, a number. Got 'x'"),
    "no value": ("0 qid:1 1:1 2: 3:1\n", r"data.txt:1:13: a feature must have the form number:value. Got '2:'"),
    "no colon": ("0 qid:1 1:1\n1 qid:1 1:0.5 2\n", r"data.txt:2:15: .* Got '2'"),
    "two colons": ("0 qid:1 1 2:3:4\n", r"data.txt:1:9: .* Got '1'"),
    "text value": ("0 qid:1 1:one\n", r"data.txt:1:9: .* Got '1:one'"),
    "fractional number": ("0 qid:1 1.5:1\n", r"data.txt:1:9: .* Got '1.5:1'"),
    "underscore": ("0 qid:1 1:1_0\n", r"data.txt:1:9: .* Got '1:1_0'"),
    "negative number": ("0 qid:1 -1:1\n", r"data.txt:1:9: "),
    "zero": ("0 qid:1 1:1\n0 qid:1 0:1\n", r"data.txt:2:9: feature numbers start at 1.*zero_based=True"),
    "mixed": ("0 qid:1 1:1\n0 1:1\n", r"data.txt:2: either every line has a qid: or none. This one lacks it"),
    "mixed the other way": ("0 1:1\n0 qid:1 1:1\n", r"data.txt:2: .*This one has it"),
    "empty id": ("0 qid:1 1:1\n0 qid: 1:1\n", r"data.txt:2: qid: must be followed by the query's id"),
    "no id": ("0 1:1\n", r"data.txt:1: the lines have no qid:.*data.txt.query or data.txt.group"),
    "empty": ("", r"data.txt has no document"),
    "comments alone": ("# nothing\n\n", r"data.txt has no document"),
    "huge number": ("0 qid:1 99999999999:1\n", r"data.txt:1:9: feature numbers go up to 1,000,000"),
    "digits of another script": ("0 qid:1 ²:1\n", r"data.txt:1:9: "),
    "binary": ("\x00\x01 \x02\n", r"data.txt:1:1: a line must begin with a grade"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_letor_is_refused(tmp_path: Path, case: str) -> None:
    text, message = BAD[case]
    with pytest.raises(ltr.LtrValueError, match=message):
        read_letor(write(tmp_path, text))


def test_other_errors_of_letor(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1:1\n1 1:1\n")
    write(tmp_path, "1\nx\n", "data.txt.query")
    with pytest.raises(ltr.LtrValueError, match=r"data.txt.query:2: a query's size must be a whole number"):
        read_letor(path)
    write(tmp_path, "1\n2\n", "data.txt.query")
    with pytest.raises(ltr.LtrValueError, match=r"sizes add up to 3, but .*data.txt has 2 documents"):
        read_letor(path)
    with pytest.raises(ltr.LtrValueError, match=r"up to number 3, beyond n_features=2"):
        read_letor(write(tmp_path, GOOD), n_features=2)
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        read_letor([])
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent.txt")
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(GOOD.encode() * 1000)[:-20])
    with pytest.raises(ltr.LtrValueError, match=r"cut.txt.gz is damaged or cut off"):
        read_letor(cut)


def test_ids_beyond_ascii_are_text_in_utf_8(tmp_path: Path) -> None:
    read = read_letor(write(tmp_path, "1 qid:café 1:2 # docid = naïve\n"))
    assert read.qid.tolist() == ["café"]
    assert read.docid is not None
    assert read.docid.tolist() == ["naïve"]
    for text in ("1 qid:café 1:2\n", "1 qid:a 1:2 # docid = café\n"):
        (tmp_path / "latin.txt").write_bytes(text.encode("latin-1"))
        with pytest.raises(ltr.LtrValueError, match=r"latin.txt:1: ids must be UTF-8 text"):
            read_letor(tmp_path / "latin.txt")


def test_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": ["007", "7", "7"], "label": [1, 0, 2], "score": [0.5, 0.25, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.tsv.gz", "a.parquet"):
        read = read_table(tmp_path / name, columns=["score"])
        assert read["qid"].tolist() == ["007", "7", "7"]
        assert read["score"].tolist() == [0.5, 0.25, 1]
    assert len(read_table([tmp_path / "a.csv", tmp_path / "a.parquet"])) == 6
    frame.assign(qid=[7, 7, 8]).to_parquet(tmp_path / "numbers.parquet")
    with pytest.raises(ltr.LtrValueError, match=r"'qid' must be of one type in all files"):
        read_table([tmp_path / "a.csv", tmp_path / "numbers.parquet"])
    renamed = frame.rename(columns={"qid": "query", "label": "grade"})
    renamed.to_csv(tmp_path / "b.csv", index=False)
    assert read_table(tmp_path / "b.csv", qid="query", label="grade")["query"].tolist()[0] == "007"


def parquet_of_pandas(folder: Path, index: list[str]) -> Path:
    """Write a Parquet file of a data frame that has these columns as its index."""
    frame = pd.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 2, 0], "score": [0.1, 0.2, 0.4, 0.3]})
    frame.set_index(index).to_parquet(folder / "indexed.parquet")
    return folder / "indexed.parquet"


@pytest.mark.parametrize("index", [["qid"], ["score"], ["label"], ["qid", "score"], ["qid", "label", "score"]])
def test_the_index_of_a_data_frame_is_a_column_of_its_parquet_file(tmp_path: Path, index: list[str]) -> None:
    path = parquet_of_pandas(tmp_path, index)
    read = read_table(path, columns=["score"])
    assert read["qid"].tolist() == [7, 7, 9, 9]
    assert read["score"].tolist() == [0.1, 0.2, 0.4, 0.3]
    assert read.index.tolist() == [0, 1, 2, 3]
    by_batches = ltr.evaluate_sorted(path, scores={"a": "score"}, metrics="mrr", rows_at_once=1)["a"]
    whole = ltr.evaluate(read["label"], read["score"], qid=read["qid"], metrics="mrr")
    assert by_batches.qid.tolist() == whole.qid.tolist()
    assert by_batches["mrr"] == whole["mrr"] == 0.75


@pytest.mark.parametrize(
    "metadata", [b"", b"{", b"\xff", b"[]", b'{"columns": 7}', b'{"index_columns": [{"kind": "range"}], "columns": []}']
)
def test_damaged_metadata_of_pandas_do_no_harm(tmp_path: Path, metadata: bytes) -> None:
    path = parquet_of_pandas(tmp_path, ["qid"])
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(table.replace_schema_metadata({b"pandas": metadata}), path)
    assert read_table(path, columns=["score"])["qid"].tolist() == [7, 7, 9, 9]
    assert ltr.evaluate_sorted(path, scores={"a": "score"}, metrics="mrr")["a"]["mrr"] == 0.75


class CountedName(str):
    """The name of a column, which counts how often it is compared."""

    __slots__ = ()
    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]


def test_a_table_of_many_columns_is_looked_at_once_a_column() -> None:
    names = [CountedName(f"column {i}") for i in range(3_000)]
    CountedName.comparisons = 0
    require_columns(Path("wide.csv"), names, ["column 0", "column 2999"])
    assert CountedName.comparisons < 2 * len(names)
    with pytest.raises(ltr.LtrValueError, match=r"wide.csv has 2 columns named 'column 7'; keep one of each name"):
        require_columns(Path("wide.csv"), [*names, "column 7"], ["column 0"])
    with pytest.raises(ltr.LtrKeyError, match=r"It has column 0, .*, column 99 and 2,900 more\."):
        require_columns(Path("wide.csv"), names, ["label"])


def test_tables_that_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "qid,lable,score\n1,0,1\n", "a.csv")
    with pytest.raises(
        ltr.LtrError, match=r"a.csv has no column 'label'. Did you mean 'lable'\? It has qid, lable, score"
    ):
        read_table(path)
    with pytest.raises(ltr.LtrValueError, match=r"a.csv has no row"):
        read_table(write(tmp_path, "qid,label\n", "a.csv"))
    with pytest.raises(ltr.LtrValueError, match=r"a.csv cannot be read as csv"):
        read_table(write(tmp_path, "", "a.csv"))
    with pytest.raises(ltr.LtrValueError, match=r"qid is empty at row 1"):
        read_table(write(tmp_path, "qid,label\n1,0\n,1\n", "a.csv"))
    with pytest.raises(ltr.LtrValueError, match=r"2 columns named 'label'"):
        read_table(write(tmp_path, "qid,label,label\n1,0,1\n", "a.csv"))
    with pytest.raises(ltr.LtrValueError, match=r"a.csv cannot be read as csv"):
        read_table(write(tmp_path, "qid,label\n1,0,5\n", "a.csv"))  # a line longer than the header
    with pytest.raises(ltr.LtrValueError, match=r"a.parquet cannot be read as parquet"):
        read_table(write(tmp_path, "no parquet", "a.parquet"))
    with pytest.raises(ltr.LtrValueError, match=r"must end in .parquet, .arrow, .feather, .npz, .csv or .tsv"):
        read_table(write(tmp_path, "x", "a.xlsx"))
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        read_table([])


FRAME = pd.DataFrame(
    {"qid": ["007", "7", "7"], "label": [1, 0, 2], "score": [0.5, 0.1, 1], "flag": [True, False, True]}
)


def arrow_files(folder: Path) -> dict[str, Path]:
    """Every form that Arrow and polars write."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    for name, new in (("file.arrow", ipc.new_file), ("stream.arrow", ipc.new_stream)):
        with new(folder / name, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    feather.write_feather(table, folder / "lz4.feather", compression="lz4")
    known_by_pyarrow_14 = {"compat_level": pl.CompatLevel.oldest()}  # text that is no view into other text
    pl.from_arrow(table).write_ipc(folder / "polars.arrow", **known_by_pyarrow_14)
    pl.from_arrow(table).write_ipc_stream(folder / "polars_stream.arrow", **known_by_pyarrow_14)
    (folder / "file.arrow.gz").write_bytes(gzip.compress((folder / "file.arrow").read_bytes()))
    (folder / "stream.arrow.xz").write_bytes(lzma.compress((folder / "stream.arrow").read_bytes()))
    return {path.name: path for path in folder.iterdir()}


def test_arrow(tmp_path: Path) -> None:
    for name, path in arrow_files(tmp_path).items():
        assert is_table(path)
        read = read_table(path, columns=["score"])
        assert read.to_dict("list") == FRAME.to_dict("list"), name
    assert len(read_table([tmp_path / "file.arrow", tmp_path / "lz4.feather"])) == 6
    assert is_table("A.ARROW.GZ")
    assert not is_table("a.npy")


def test_arrow_that_is_cut_off_or_empty(tmp_path: Path) -> None:
    for name, path in arrow_files(tmp_path).items():
        content = path.read_bytes()
        for end in (0, 3, len(content) // 2, len(content) - 8, len(content) - 1):
            path.write_bytes(content[:end])
            message = r"cannot be read as (arrow|feather).*" + ("The file is empty" if end == 0 else "")
            with pytest.raises(ltr.LtrValueError, match=rf"{name} {message}"):
                read_table(path)
    with ipc.new_file(path, pa.schema({"qid": pa.int64(), "label": pa.int64()})):
        pass
    path.rename(tmp_path / "none.arrow")
    with pytest.raises(ltr.LtrValueError, match=r"none.arrow has no row"):
        read_table(tmp_path / "none.arrow")
    (tmp_path / "old.feather").write_bytes(b"FEA1 and more")
    with pytest.raises(ltr.LtrValueError, match=r"old.feather cannot be read as feather: .*version 1"):
        read_table(tmp_path / "old.feather")


def test_npz(tmp_path: Path) -> None:
    columns = {name: FRAME[name].to_numpy() for name in ("label", "score", "flag")}
    columns |= {"qid": np.array(["007", "7", "7"]), "big_endian": np.arange(3, dtype=">i4")}
    for name, save in (("a.npz", np.savez), ("b.npz", np.savez_compressed)):
        save(tmp_path / name, **columns)
        read = read_table(tmp_path / name, columns=["score"])
        assert read[list(FRAME)].to_dict("list") == FRAME.to_dict("list")
        assert read["big_endian"].tolist() == [0, 1, 2]
    (tmp_path / "a.npz.xz").write_bytes(lzma.compress((tmp_path / "a.npz").read_bytes()))
    assert len(read_table([tmp_path / "a.npz.xz", tmp_path / "b.npz"])) == 6


NPZ: dict[str, tuple[dict[str, object], str]] = {
    "lengths": ({"label": [1, 2]}, r"must have the same length, with one entry a row: got .*2 in label"),
    "matrix": ({"X": np.zeros((3, 2))}, r"the array 'X' must be a column, with one dimension. Got shape \(3, 2\)"),
    "number": ({"X": 1.0}, r"the array 'X' must be a column.*\(\)"),
    "complex": ({"X": np.zeros(3, complex)}, r"'X' must hold numbers, text or times. Got dtype complex128"),
    "objects": ({"X": np.array([None, 1, "a"], object)}, r"cannot be read as npz: .*pickle"),
}


@pytest.mark.parametrize("case", NPZ)
def test_npz_that_is_refused(tmp_path: Path, case: str) -> None:
    changed, message = NPZ[case]
    np.savez(tmp_path / "a.npz", **({"qid": [1, 1, 2], "label": [0, 1, 0]} | changed))  # type: ignore[arg-type]
    with pytest.raises(ltr.LtrError, match=rf"a.npz.*{message}"):
        read_table(tmp_path / "a.npz")


def test_npz_that_is_cut_off_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, qid=np.arange(1000) // 9, label=np.arange(1000) % 3)
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[100:400] = bytes(300)
    for one in (b"", content[:100], content[: len(content) // 2], content[:-1], bytes(damaged), b"qid,label\n1,0\n"):
        path.write_bytes(one)
        with pytest.raises(ltr.LtrValueError, match=r"a.npz cannot be read as npz"):
            read_table(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(ltr.LtrValueError, match=r"a.npz cannot be read as npz: it holds one array without a name"):
        read_table(path)
    np.savez(path, qid=[1], grade=[0])
    with pytest.raises(ltr.LtrKeyError, match=r"a.npz has no column 'label'. It has qid, grade"):
        read_table(path)
    np.savez(path, qid=[], label=[])
    with pytest.raises(ltr.LtrValueError, match=r"a.npz has no row"):
        read_table(path)


def test_columns_of_csv_that_stay_text(tmp_path: Path) -> None:
    path = write(tmp_path, "qid,label,docid,score\n1,0,007,1\n1,1,7,2\n", "a.csv")
    assert read_table(path)["docid"].tolist() == [7, 7]
    assert read_table(path, text=["docid"])["docid"].tolist() == ["007", "7"]
    assert read_table(path, text=["docid"])["score"].tolist() == [1, 2]


# -- scores alone ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", ">f8", "int8", "bool"])
def test_scores_of_npy(tmp_path: Path, dtype: str) -> None:
    scores = np.array([0.1, -3, 7]).astype(dtype)
    np.save(tmp_path / "a.npy", scores)
    found = read_scores(tmp_path / "a.npy")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, scores.astype(np.float64))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    np.testing.assert_array_equal(read_scores(tmp_path / "a.npy.gz"), found)


def test_scores_of_text_keep_every_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(0).normal(size=300) * 10.0 ** np.arange(-150, 150)
    text = "".join(f"{score!r}\n" for score in scores.tolist())
    for name in ("a.txt", "a.csv"):
        np.testing.assert_array_equal(read_scores(write(tmp_path, text, name)), scores)
    for name, opened in (("a.txt.gz", gzip.open), ("a.csv.xz", lzma.open)):
        with opened(tmp_path / name, "wb") as file:
            file.write(text.encode())
        np.testing.assert_array_equal(read_scores(tmp_path / name), scores)
    monkeypatch.setattr(compressed, "BYTES_AT_ONCE", 50)
    np.testing.assert_array_equal(read_scores(tmp_path / "a.txt"), scores)
    special = read_scores(write(tmp_path, " 1\r\n-inf\r\n\tnan \r\n9007199254740992\r\n+.5\r\n\r\n \r\n"))
    np.testing.assert_array_equal(special, [1, -np.inf, np.nan, 2.0**53, 0.5])


SCORES: dict[str, tuple[str, str]] = {
    "header": ("score\n1\n", r"data.txt:1: a line must hold one number. Got 'score'. Drop the header"),
    "text": ("1\n2\nx\n", r"data.txt:3: a line must hold one number. Got 'x'"),
    "two": ("1\n1,2\n", r"data.txt:2: .* Got '1,2'"),
    "two by space": ("1\n1 2\n", r"data.txt:2: .* Got '1 2'"),
    "underscore": ("1\n1_0\n", r"data.txt:2: .* Got '1_0'"),
    "blank": ("1\n\n2\n", r"data.txt:2: every line must have a score. This one is blank"),
    "blank at first": ("\n2\n", r"data.txt:1: every line must have a score"),
    "inexact": (
        "1\n9007199254740993\n",
        r"data.txt:2: scores must not be integers beyond 2\*\*53.*Got 9007199254740993",
    ),
    "inexact below": ("1\n-9007199254740993\n", r"data.txt:2: scores must not be integers beyond"),
    "empty": ("", r"data.txt has no score"),
    "blank lines": ("\n\n", r"data.txt has no score"),
    "binary": ("1\n\x00\x01\n", r"data.txt:2: a line must hold one number"),
}


@pytest.mark.parametrize("bytes_at_once", [1, 1 << 22])
@pytest.mark.parametrize("case", SCORES)
def test_what_is_no_scores_is_refused(
    tmp_path: Path, case: str, bytes_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "BYTES_AT_ONCE", bytes_at_once)
    text, message = SCORES[case]
    with pytest.raises(ltr.LtrValueError, match=message):
        read_scores(write(tmp_path, text))


def test_npy_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(1000.0))
    content = path.read_bytes()
    for one in (b"", content[:50], content[:-1], b"1\n2\n"):
        path.write_bytes(one)
        with pytest.raises(ltr.LtrValueError, match=r"a.npy cannot be read as npy"):
            read_scores(path)
    for array, message in (
        (np.zeros((3, 1)), r"The scores of .*a.npy must be one-dimensional"),
        (np.array(["a"]), r"The scores of .*a.npy must be numbers"),
        (np.array([2**53 + 1]), r"a.npy must not hold integers beyond 2\*\*53"),
        (np.zeros(0), r"a.npy has no score"),
    ):
        np.save(path, array)
        with pytest.raises(ltr.LtrError, match=message):
            read_scores(path)
    np.save(path, np.array([1, None], object))
    with pytest.raises(ltr.LtrValueError, match=r"a.npy cannot be read as npy: .*pickle"):
        read_scores(path)
    with path.open("wb") as file:
        np.savez(file, a=[1.0])
    with pytest.raises(ltr.LtrValueError, match=r"a.npy cannot be read as npy: it holds named arrays"):
        read_scores(path)
    with pytest.raises(ltr.LtrValueError, match=r"must end in .npy, .txt or .csv"):
        read_scores(tmp_path / "a.parquet")
    for name in ("absent.npy", "absent.txt"):
        with pytest.raises(FileNotFoundError):
            read_scores(tmp_path / name)
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"0.123456789\n" * 1000)[:-10])
    with pytest.raises(ltr.LtrValueError, match=r"cut.txt.gz is damaged or cut off"):
        read_scores(tmp_path / "cut.txt.gz")


# -- labels of LETOR -------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["-1", "nan", "inf"])
def test_labels_that_are_no_grades(tmp_path: Path, label: str) -> None:
    path = write(tmp_path, f"# heading\n1 qid:1 1:1\n{label} qid:1 1:2\n")
    np.testing.assert_array_equal(read_letor(path).y, [1, float(label)])  # -1 marks what nobody judged
    with pytest.raises(ltr.LtrValueError, match=rf"data.txt:3:1: a grade must be finite and not negative. Got {label}"):
        read_letor(path, graded=True)


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2"])
def test_letor_that_is_cut_off_in_the_middle(tmp_path: Path, ending: str) -> None:
    content = {"gz": gzip, "xz": lzma, "bz2": bz2}[ending].compress(GOOD.encode() * 1000)
    path = tmp_path / f"cut.txt.{ending}"
    for end in (0, 5, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(
            ltr.LtrValueError, match=rf"cut.txt.{ending} (is damaged or cut off after line|has no document)"
        ):
            read_letor(path)
    plain = write(tmp_path, GOOD[: GOOD.index(" 1:1 2:2") + 6])
    with pytest.raises(ltr.LtrValueError, match=r"data.txt:3:16: a feature must have the form number:value. Got '2'"):
        read_letor(plain)


def test_digits_of_other_scripts_are_text(tmp_path: Path) -> None:
    path = write(tmp_path, "1 qid:\u00b2 1:1\n0 qid:\u0663 1:2\n1 qid:3 1:1\n")
    assert read_letor(path).qid.tolist() == ["\u00b2", "\u0663", "3"]


@pytest.mark.parametrize(("sizes", "message"), [("\n", "has no size"), ("9" * 20, "whole number of at least 1")])
def test_files_of_sizes_that_hold_none(sizes: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:1\n0 1:2\n")
    path.with_name(path.name + ".query").write_text(sizes)
    for read in (read_letor, lambda file: ltr.evaluate_sorted(file, scores={"a": "1"}, metrics="mrr")):
        with pytest.raises(ltr.LtrValueError, match=message):
            read(path)


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_whole(path, "first\n")
    with pytest.raises(TypeError):
        write_whole(path, 7)  # type: ignore[arg-type]
    assert path.read_text() == "first\n"
    write_whole(path, "caf\udce9")  # the name of a file that is not UTF-8
    assert path.read_text() == "caf\\udce9"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "absent" / "out.txt", "text")
    write_whole(tmp_path / ("\N{SNOWMAN}" * 80), "a name of 240 bytes")


@needs_posix("handles of folders")
def test_a_file_is_on_the_disk_before_it_replaces_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, done, sync, rename = tmp_path / "out.txt", [], os.fsync, Path.replace

    def synced(handle: int) -> None:
        is_folder = os.path.samestat(os.fstat(handle), tmp_path.stat())
        done.append("the folder" if is_folder else os.fstat(handle).st_size)
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        done.append("renamed")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_whole(path, "content")
    assert done == [len("content"), "renamed", "the folder"]


@needs_posix("handles of folders")
@pytest.mark.parametrize("error", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_flushed_is_an_error_if_its_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Some network file systems flush no folders, which is no fault of the file that was written."""
    path, sync = tmp_path / "out.txt", os.fsync

    def fails(handle: int) -> None:
        if os.path.samestat(os.fstat(handle), tmp_path.stat()):
            raise OSError(error, os.strerror(error))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    if error == errno.EINVAL:
        write_whole(path, "content")
    else:
        with pytest.raises(OSError, match=rf"{os.strerror(error)}: '{path}'"):
            write_whole(path, "content")
    assert path.read_text() == "content"


@needs_posix("umask for groups")
def test_a_new_file_has_the_permissions_of_the_umask_which_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the umask changes it for a moment, in which another thread would make a file that anybody may write."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", None)
            write_whole(tmp_path / "new.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new.txt").stat().st_mode & 0o777 == 0o640


@needs_posix("permissions of a group")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o777])
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")
    path.chmod(mode)
    write_whole(path, "after")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", mode)


@needs_posix("permissions of a group")
@pytest.mark.parametrize("may_change_group", [True, False])
def test_a_replaced_file_keeps_its_group_or_gives_another_one_no_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_change_group: bool
) -> None:
    path, asked = tmp_path / "out.txt", []
    path.write_text("before")
    path.chmod(0o664)
    real = path.stat()
    other = os.stat_result((*real[:4], real.st_uid + 1, real.st_gid + 1, *real[6:]))

    def chown(_path: Any, owner: int, group: int) -> None:
        asked.append((owner, group))
        if owner != -1 or not may_change_group:
            raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    writing._copy_access(other, path)
    assert asked == [(-1, other.st_gid), (other.st_uid, -1)]
    assert path.stat().st_mode & 0o777 == (0o664 if may_change_group else 0o644)


@needs_posix("links that everybody may make")
def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link, real = tmp_path / "link", tmp_path / "folder" / "real"
    link.symlink_to(real)
    for text in ("first", "second"):
        write_whole(link, text)
        assert link.is_symlink()
        assert real.read_text() == text
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "folder", real, link]


@needs_posix("named pipes")
def test_what_cannot_be_replaced_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, pipe, kept = tmp_path / "loop", tmp_path / "pipe", tmp_path / "kept"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    kept.write_text("before")
    for path, message in (
        (loop, "leads back to itself"),
        (pipe, "is not a regular file"),
        (tmp_path, "is not a regular file"),
    ):
        with pytest.raises(ltr.LtrValueError, match=message):
            write_whole(path, "text")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, _mode: Path(path) != kept)
        with pytest.raises(PermissionError, match="exists and is read-only"):
            write_whole(kept, "text")
        patch.setattr(os, "access", lambda path, _mode: Path(path) != tmp_path)
        with pytest.raises(PermissionError, match=r"The folder .* cannot be written to\."):
            write_whole(kept, "text")
    assert kept.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [kept, loop, pipe]


def test_mq2008(data: Path) -> None:
    X, y, qid = read = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    assert X.shape == (15211, 46)
    assert len(np.unique(qid)) == 784
    assert set(y) == {0, 1, 2}
    assert read.docid is not None
    assert re.fullmatch(r"GX\d{3}-\d\d-\d+", read.docid[0])
    assert read.docid[0] == "GX008-86-4444840"
    assert X[0, 45] == 0.007042
    assert not X[:, 5:10].any()


def test_the_lambdarank_example(data: Path) -> None:
    X, y, qid = read_letor(data / "lightgbm_lambdarank" / "rank.train.xz")
    assert X.shape == (3005, 300)
    assert ltr.qid_to_group(qid)[:3].tolist() == [1, 13, 5]
    assert len(np.unique(qid)) == 201
    assert y.max() == 4


def test_tensorflow_rankings_examples(data: Path) -> None:
    X, _, qid = read_letor(data / "tfr_small" / "tfr_train.txt")
    assert X[0, 16] == 0.369905  # 17:-0.763873 17:0.369905
    assert len(qid) == 119


LEAVES_EARLY = """
import sys, time
from ltr_metrics import evaluate_sorted
from ltr_metrics.io import compressed, table

class Slow:  # a file whose second half takes a while
    def __init__(self):
        self.n_reads = 0
    def read(self, n=-1):
        self.n_reads += 1
        if self.n_reads > 1:
            time.sleep(0.3)
        return (b"" if self.n_reads > 1 else b"qid,label,s\\n") + b"1,0,2\\n" * 200_000
    def readable(self): return True
    closed = False
    def close(self): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass

class Keeps:  # the interpreter busy while it shuts down
    def __del__(self, sleep=time.sleep):
        sleep(1)

compressed._OPEN[".gz"] = lambda *_: Slow()
sys.keeps = Keeps()
from pathlib import Path
from ltr_metrics.io.sorted_tables import TableColumns, _open_table
with _open_table(Path("a.csv.gz"), TableColumns("qid", (), ("label", "s")), 1) as (_, batches):
    assert next(batches).num_rows > 1_000
"""


def test_leaving_in_the_middle_of_a_file_does_not_abort_the_process() -> None:
    """Threads of pyarrow that read a Python file while the interpreter shuts down made it abort, now and then."""
    done = subprocess.run([sys.executable, "-c", LEAVES_EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.tsv", "a.csv.gz", "a.parquet.bz2", "a.arrow.xz"])
def test_pyarrow_gets_no_python_object_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    read, opened = tables._read_by_pyarrow, []
    monkeypatch.setattr(tables, "_read_by_pyarrow", lambda file, *rest: opened.append(file) or read(file, *rest))
    kind, *compression = Path(name).suffixes
    plain, frame = tmp_path / f"a{kind}", pd.DataFrame({"qid": ["1", "1"], "label": [1, 0], "s": [0.5, 0.25]})
    if kind == ".parquet":
        frame.to_parquet(plain)
    elif kind == ".arrow":
        feather.write_feather(frame, plain)
    else:
        frame.to_csv(plain, index=False, sep="\t" if kind == ".tsv" else ",")
    for ending in compression:
        with compressed._OPEN[ending](tmp_path / name, "wb") as file:
            file.write(plain.read_bytes())
    assert read_table(tmp_path / name)["s"].tolist() == [0.5, 0.25]
    assert [type(file) for file in opened] == [pa.BufferReader if compression else pa.OSFile]
