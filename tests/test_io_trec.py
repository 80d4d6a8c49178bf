"""TREC's qrels and runs: what is read, how the two are joined, and the errors that name file and line."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.io import TrecData, read_trec
from ltr_metrics.io import files as compressed

QRELS = "7 0 A 1\n7 0 B 2\n7 0 C 0\n007 0 A 3\n9 0 A 1\n9 0 D 0.5\n"
RUN = "007 Q0 Z 1 3.5 tag\n7 Q0 C 1 -1e-3 tag\n8 Q0 A 1 1 tag\n7 Q0 D 2 2 tag\n7 Q0 A 3 .5 tag\n"
FIELDS = ("y_true", "y_score", "qid", "docid", "retrieved", "judged", "only_in_qrels", "only_in_run")
OPTIONS = {"ties": "docid", "no_relevant": 0}


def write(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def read(folder: Path, qrels: str = QRELS, run: str = RUN, **options: str) -> TrecData:
    return read_trec(write(folder, qrels, "a.qrels"), str(write(folder, run, "a.run")), **options)


def assert_same(a: TrecData, b: TrecData) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


def columns(data: TrecData) -> dict[str, object]:
    """What evaluate takes besides ``judged``."""
    return {key: data[key] for key in data.keys() if key != "judged"}  # noqa: SIM118 -- it is no mapping


def test_topics_of_both_files(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert data.qid.tolist() == ["007", "7", "7", "7", "7", "007"]  # the run's lines, then what it missed
    assert data.docid.tolist() == ["Z", "C", "D", "A", "B", "A"]
    assert data.y_true.tolist() == [0, 0, 0, 1, 2, 3]
    np.testing.assert_array_equal(data.y_score, [3.5, -1e-3, 2, 0.5, np.nan, np.nan])
    assert data.retrieved.tolist() == [True, True, True, True, False, False]
    assert data.judged.tolist() == [False, True, False, True, True, True]
    assert data.only_in_qrels == ("9",)
    assert data.only_in_run == ("8",)
    kinds = [data[key].dtype.kind for key in data.keys()]  # noqa: SIM118
    assert kinds == ["f", "f", "U", "U", "b", "b"]


def test_topics_of_the_qrels(tmp_path: Path) -> None:
    data = read(tmp_path, topics="qrels")
    assert data.qid.tolist() == ["007", "7", "7", "7", "7", "007", "9", "9"]
    assert data.docid.tolist() == ["Z", "C", "D", "A", "B", "A", "A", "D"]
    assert data.y_true.tolist() == [0, 0, 0, 1, 2, 3, 1, 0.5]
    assert data.retrieved.tolist() == [True] * 4 + [False] * 4
    assert data.judged.tolist() == [False, True, False, True, True, True, True, True]
    assert np.isnan(data.y_score[4:]).all()
    assert (data.only_in_qrels, data.only_in_run) == (("9",), ("8",))  # listed, kept or not
    result = ltr.evaluate(**columns(data), metrics=["mrr(rel=1)", "recall(rel=1)@2", "ndcg_lin"], **OPTIONS)
    assert result.qid.tolist() == ["007", "7", "9"]
    np.testing.assert_allclose(result.per_query["mrr(rel=1)"], [0, 1 / 2, 0])  # D, A, C: the file's ranks do not count
    np.testing.assert_allclose(result.per_query["recall(rel=1)@2"], [0, 1 / 2, 0])
    assert result["mrr(rel=1)"] == pytest.approx(1 / 6)
    assert result.per_query["ndcg_lin"][2] == 0
    with pytest.raises(ltr.LtrValueError, match=r"topics must be one of 'both', 'qrels'; got 'run'"):
        read(tmp_path, topics="run")


def test_topics_of_qrels_that_the_run_knows_nothing_of(tmp_path: Path) -> None:
    data = read(tmp_path, "1 0 A 1\n1 0 B -1\n", "2 Q0 A 1 1 t\n", topics="qrels")
    assert (data.qid.tolist(), data.docid.tolist()) == (["1", "1"], ["A", "B"])
    assert (data.y_true.tolist(), data.retrieved.tolist()) == ([1, 0], [False, False])


def test_as_keywords(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert tuple(dict(data)) == FIELDS[:6]
    assert data["qid"] is data.qid
    with pytest.raises(ltr.LtrKeyError, match=r"no column 'docno'.* It has y_true, y_score, qid, docid, "):
        data["docno"]
    with pytest.raises(ltr.LtrKeyError, match=r"no column 'score'.* Did you mean 'y_score'"):
        data["score"]
    with pytest.raises(ltr.LtrKeyError, match=r"no column 'only_in_run'"):
        data["only_in_run"]


def test_what_real_files_hold(tmp_path: Path) -> None:
    qrels = "\ufeff# a heading\r\n\r\n7\t0\tA  1\r\n  7 0 B#1 +2 \r\n # 7 0 A 5\n"
    qrels += "\n\t\n#7 0 A 5\n7 Q0 C -2\n7 0 D -0\n7 0 E 1e0"
    run = "\ufeff7 Q0 B#1 7 inf\tSTANDARD more fields\n7 Q0 C x -Infinity t\n7 Q0 A - 1E-5 t\n#\n7 Q0 D 9 +.5 # # #\r\n"
    data = read(tmp_path, qrels, run)
    assert data.qid.tolist() == ["7"] * 5
    assert data.docid.tolist() == ["B#1", "C", "A", "D", "E"]
    assert data.y_true.tolist() == [2, 0, 1, 0, 1]
    assert not np.signbit(data.y_true).any()
    np.testing.assert_array_equal(data.y_score, [np.inf, -np.inf, 1e-5, 0.5, np.nan])
    assert data.judged.all()  # a negative grade is a judgement too


def test_scattered_topics_keep_the_order_of_the_lines(tmp_path: Path) -> None:
    data = read(tmp_path, "b 0 1 1\na 0 1 1\nb 0 2 2\na 0 2 2\n", "a Q0 3 1 1 t\nb Q0 2 1 1 t\na Q0 1 1 1 t\n")
    assert data.qid.tolist() == ["a", "b", "a", "b", "a"]
    assert data.docid.tolist() == ["3", "2", "1", "1", "2"]
    assert data.y_true.tolist() == [0, 2, 1, 1, 2]


def test_ids_are_text_in_utf_8(tmp_path: Path) -> None:
    # Neither the no-break space nor the line separator ends a word, for trec_eval looks at bytes.
    data = read(tmp_path, "café 0 na\u2028ïve 1\n", "café Q0 na\u2028ïve 1 1 t\ncafé Q0 a\u00a0b\u0085 2 0.5 t\n")
    assert data.qid.tolist() == ["café", "café"]
    assert data.docid.tolist() == ["na\u2028ïve", "a\u00a0b\u0085"]
    assert data.y_true.tolist() == [1, 0]


@pytest.mark.parametrize("opened", [gzip.open, lzma.open, bz2.open])
def test_compressed(tmp_path: Path, opened: object) -> None:
    ending = {gzip.open: "gz", lzma.open: "xz", bz2.open: "bz2"}[opened]
    for text, name in ((QRELS, "qrels"), (RUN, "run")):
        with opened(tmp_path / f"{name}.{ending}", "wb") as file:  # type: ignore[operator]
            file.write(text.encode())
    assert_same(read_trec(tmp_path / f"qrels.{ending}", tmp_path / f"run.{ending}"), read(tmp_path))


def test_many_small_reads_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = "".join(
        f"{i % 7} Q0 D{i * i} {i} {i / 8} t\n" + "# nothing but comments for a while\n" * 9 for i in range(300)
    )
    qrels = "".join(f"{i % 7} 0 D{i * i} {i % 3}\n" for i in range(0, 400, 3))
    whole = read(tmp_path, qrels, run)
    assert len(whole.qid) == 300 + 34
    monkeypatch.setattr(compressed, "BYTES_AT_ONCE", 100)
    assert_same(read(tmp_path, qrels, run), whole)
    with pytest.raises(ltr.LtrValueError, match=r"a.run:3001: a score must be a number.*Got 'oops'"):
        read(tmp_path, qrels, run + "8 Q0 A 1 oops t\n")
    with pytest.raises(
        ltr.LtrValueError, match=r"a.run:3002: a docno must .*'D49' again in topic '0', first in line 71\."
    ):
        read(tmp_path, qrels, run + "\n0 Q0 D49 1 1 t\n")


BAD_QRELS = {
    "too few fields": (
        "7 0 A 1\n7 0 A\n",
        r"a.qrels:2: a line must have 4 fields, 'topic iteration docno grade'. Got 3: ",
    ),
    "a run": (
        "7 Q0 A 1 2.5 tag\n",
        r"a.qrels:1: a line must have 4 fields.* Got 6: '7 Q0 A 1 2.5 tag'. A run is the second",
    ),
    "text": ("\n7 0 A 1\n7 0 B x\n", r"a.qrels:3: a grade must be a finite number. Got 'x'. Correct or drop"),
    "nan": ("7 0 A nan\n", r"a.qrels:1: a grade must be .* Got 'nan'"),
    "infinite": ("7 0 A 1\n7 0 B -inf\n", r"a.qrels:2: a grade must be .* Got '-inf'"),
    "beyond float64": ("7 0 A 1e999\n", r"a.qrels:1: a grade must be .* Got '1e999'"),
    "underscore": ("7 0 A 1_0\n", r"a.qrels:1: a grade must be .* Got '1_0'"),
    "hexadecimal": ("7 0 A 0x1\n", r"a.qrels:1: a grade must be .* Got '0x1'"),
    "digits of another script": ("7 0 A ١\n", r"a.qrels:1: a grade must be .* Got '١'"),
    "twice": (
        "7 0 A 1\n8 0 A 1\n\n7 0 B 1\n7 0 A 1\n7 0 B 1\n",
        r"a.qrels:5: a docno must not be repeated in a topic. Got 'A' again in topic '7', first in line 1. Remove one",
    ),
    "twice in a topic that the run lacks": ("7 0 A 1\n8 0 A 1\n8 0 A 0\n", r"a.qrels:3: .* topic '8', first in line 2"),
    "empty": ("", r"a.qrels has no document: .* 'topic iteration docno grade'"),
    "comments alone": ("# nothing\n\n", r"a.qrels has no document"),
    "NUL": ("7 0 A 1\n7 0 B\x00 1\n", r"a.qrels:2: topics and docnos must be UTF-8 text without NUL .* Got b'B\\x00'"),
    "UTF-16": ("7\x00 \x000\x00 \x00A\x00 \x001\x00", r"a.qrels:1: a grade must be .* Got '\\x001\\x00'"),
    "no topic in common": (
        "007 0 A 1\n08 0 A 1\n",
        r"must have topics in common.* qrels begin with '007', the run with '7'. Topics are .* as text",
    ),
}
BAD_RUN = {
    "no tag": (
        "7 Q0 A 1 2.5\n",
        r"a.run:1: a line must have 6 fields, 'topic Q0 docno rank score tag'. Got 5: '7 Q0 A 1 2.5'",
    ),
    "qrels": ("# run\n7 0 A 1\n", r"a.run:2: a line must have 6 fields.* Got 4: .* qrels are the first argument"),
    "binary": ("\x00\x01 \x02\n", r"a.run:1: a line must have 6 fields"),
    "text": (
        "7 Q0 A 1 1 t\n7 Q0 B 2 high t\n",
        r"a.run:2: a score must be a number and not NaN.* Got 'high'. Correct or",
    ),
    "nan": ("7 Q0 A 1 1 t\n7 Q0 B 2 NaN t\n", r"a.run:2: a score must be .* Got 'NaN'"),
    "underscore": ("7 Q0 B 2 1_0 t\n", r"a.run:1: a score must be .* Got '1_0'"),
    "comma": ("7 Q0 B 2 1,5 t\n", r"a.run:1: a score must be .* Got '1,5'"),
    "twice": (
        "7 Q0 A 1 1 t\n8 Q0 A 1 1 t\n#\n7 Q0 A 2 1 t\n",
        r"a.run:4: .* Got 'A' again in topic '7', first in line 1",
    ),
    "twice in a topic that is left out": (
        "7 Q0 A 1 1 t\n8 Q0 A 1 1 t\n8 Q0 A 2 2 t\n",
        r"a.run:3: .*'8', first in line 2",
    ),
    "empty": ("", r"a.run has no document: .* 'topic Q0 docno rank score tag'"),
}


@pytest.mark.parametrize("case", BAD_QRELS)
def test_what_are_no_qrels_is_refused(tmp_path: Path, case: str) -> None:
    text, message = BAD_QRELS[case]
    with pytest.raises(ltr.LtrValueError, match=message):
        read(tmp_path, qrels=text, run="7 Q0 A 1 1 t\n")


@pytest.mark.parametrize("case", BAD_RUN)
def test_what_is_no_run_is_refused(tmp_path: Path, case: str) -> None:
    text, message = BAD_RUN[case]
    with pytest.raises(ltr.LtrValueError, match=message):
        read(tmp_path, qrels="7 0 A 1\n", run=text)


def test_other_errors(tmp_path: Path) -> None:
    read(tmp_path)
    for text in ("7 0 A 1\n\n7 0 é 1\n7 0 E 1\n", "7 0 A 1\n7 0 A 1\né 0 A 1\n"):
        (tmp_path / "latin").write_bytes(text.encode("latin-1"))
        with pytest.raises(ltr.LtrValueError, match=r"latin:3: topics and docnos must be UTF-8 text.* Got b'\\xe9'"):
            read_trec(tmp_path / "latin", tmp_path / "a.run")
    for pair in (("absent", "a.run"), ("a.qrels", "absent")):
        with pytest.raises(FileNotFoundError):
            read_trec(*(tmp_path / name for name in pair))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(RUN.encode() * 1000)[:-20])
    with pytest.raises(ltr.LtrValueError, match=r"cut.gz is damaged or cut off after line \d+: "):
        read_trec(tmp_path / "a.qrels", cut)


def test_equal_scores_stand_in_descending_order_of_docno(tmp_path: Path) -> None:
    qrels = "1 0 a9 1\n1 0 a10 0\n1 0 é 0\n"
    run = "".join(f"1 Q0 {docno} {rank} 0.5 t\n" for rank, docno in enumerate(("a9", "a10", "z", "é", "B"), start=1))
    data = read(tmp_path, qrels, run)
    mrr = ltr.evaluate(**columns(data), metrics="mrr", **OPTIONS)["mrr"]
    assert mrr == 1 / 3  # é, z, a9, a10, B
    assert ltr.evaluate(**columns(data), metrics="mrr", ties="stable")["mrr"] == 1


def test_data_are_keywords_of_evaluate(tmp_path: Path) -> None:
    data = read(tmp_path, "1 0 A 1\n1 0 B 1\n", "1 Q0 A 1 1 t\n1 Q0 C 2 2 t\n")
    result = ltr.evaluate(**data, metrics=["map", "ndcg@10"], convention="trec_eval")
    assert result["map"] == 0.25
    assert result["ndcg@10"] == pytest.approx(np.log2(3) ** -1 / (1 + np.log2(3) ** -1))


# -- trec_eval's own test --------------------------------------------------------------------------


def printed_by_trec_eval(path: Path) -> dict[str, dict[str, str]]:
    """Value as it is printed, by measure and topic ("all" is the mean)."""
    values: dict[str, dict[str, str]] = {}
    for line in path.read_text().splitlines():
        measure, topic, value = line.split()
        values.setdefault(measure, {})[topic] = value
    return values


OURS = {
    "map": "map(denominator=relevant)",
    "recip_rank": "mrr",
    "ndcg": "ndcg_lin",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1",
    "Rprec": "rprec",
    "rbp": "rbp(p=0.9)",
    **{f"success_{k}": f"hit@{k}" for k in (1, 5, 10)},
    **{
        f"{theirs}_{k}": f"{ours}@{k}"
        for theirs, ours in {
            "map_cut": "map(denominator=relevant)",
            "P": "precision",
            "recall": "recall",
            "ndcg_cut": "ndcg_lin",
        }.items()
        for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    },
}


@pytest.fixture(scope="module")
def of_nist(data: Path) -> TrecData:
    return read_trec(data / "trec_eval" / "qrels.test", data / "trec_eval" / "results.test")


def test_counts_of_trec_evals_own_test(data: Path, of_nist: TrecData) -> None:
    printed = printed_by_trec_eval(data / "trec_eval" / "out.test.aq")
    read = of_nist
    assert (read.only_in_qrels, read.only_in_run) == ((), ())
    relevant = read.y_true >= 1
    counted = {
        "num_ret": read.retrieved,
        "num_rel": relevant,
        "num_rel_ret": relevant & read.retrieved,
        "num_nonrel_judged_ret": ~relevant & read.retrieved & read.judged,
    }
    for measure, rows in counted.items():
        by_topic = {topic: str(rows[read.qid == topic].sum()) for topic in ("301", "302", "303")}
        assert {**by_topic, "all": str(rows.sum())} == printed[measure]
    assert int(read.retrieved.sum()) == 1500
    assert int((relevant & ~read.retrieved).sum()) == 430
    assert int(read.judged.sum()) == 3681  # every line of the qrels
    assert (read.docid[0], read.y_score[0], read.qid[0]) == ("FR940202-2-00150", 2.129133, "301")


def test_metrics_of_trec_evals_own_test(data: Path, of_nist: TrecData) -> None:
    printed = printed_by_trec_eval(data / "trec_eval" / "out.test.aq")
    assert printed["map"]["all"] == "0.1785"
    result = ltr.evaluate(**columns(of_nist), metrics=list(OURS.values()), **OPTIONS)
    assert result.qid.tolist() == ["301", "302", "303"]
    for theirs, ours in OURS.items():
        expected = [float(printed[theirs][topic]) for topic in (*result.qid, "all")]
        values = [*result.per_query[ours], result[ours]]
        np.testing.assert_allclose(values, expected, rtol=0, atol=5e-5 + 1e-9, err_msg=theirs)

    asked = ["map", "p@10", "recall@100", "ndcg@20", "ndcg", "map@30", "mrr", "rprec", "success@5", "f1"]
    by_convention = ltr.evaluate(**of_nist, metrics=asked, convention="trec_eval")
    for name in by_convention.mean.keys() & result.mean.keys():
        np.testing.assert_array_equal(by_convention.per_query[name], result.per_query[name])
    assert by_convention.mean.keys() <= result.mean.keys()
    for k in (5, 10, 20):
        judged = ltr.evaluate(**of_nist, metrics=f"judged@{k}", convention="trec_eval")
        expected = [1 - float(printed[f"unj_{k}"][topic]) for topic in judged.qid]
        np.testing.assert_allclose(judged.per_query[f"judged@{k}"], expected, rtol=0, atol=5e-5)


def test_trec_evals_own_test_compressed(data: Path, of_nist: TrecData, tmp_path: Path) -> None:
    folder = data / "trec_eval"
    (tmp_path / "qrels.xz").write_bytes(lzma.compress((folder / "qrels.test").read_bytes()))
    (tmp_path / "run.gz").write_bytes(gzip.compress((folder / "results.test").read_bytes()))
    assert_same(read_trec(tmp_path / "qrels.xz", tmp_path / "run.gz"), of_nist)
