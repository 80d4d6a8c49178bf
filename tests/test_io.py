"""File formats: what is read, and the errors that name file, line and column."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr
from ltr_metrics.io import compressed, read_letor, read_table, write_whole

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
    "empty id": ("0 qid: 1:1\n", r"qid: must be followed by the query's id"),
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
        with pytest.raises(ltr.LtrValueError, match=r"latin.txt must be UTF-8 text"):
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
    with pytest.raises(ltr.LtrValueError, match=r"must end in .parquet, .csv or .tsv"):
        read_table(write(tmp_path, "x", "a.xlsx"))
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        read_table([])


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_whole(path, "first\n")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "second \udcff")
    assert path.read_text() == "first\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "absent" / "out.txt", "text")


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
