"""TREC's qrels and runs: what is read, how the two are joined, and the errors that name file and line."""

from __future__ import annotations

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


def write(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(folder: Path, qrels: str | bytes = QRELS, run: str | bytes = RUN, **options: str) -> TrecData:
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
    with pytest.raises(ltr.LtrValueError, match=r"rank_by must be one of 'score', 'rank'; got 'ranks'"):
        read(tmp_path, rank_by="ranks")


def test_what_real_files_hold(tmp_path: Path) -> None:
    qrels = "\ufeff# a heading\r\n\r\n7\t0\tA  1\r\n  7 0 B#1 +2 \r\n # 7 0 A 5\n"
    qrels += "\n\t\n#7 0 A\n7 Q0 C -2\n7 0 D -0\n7 0 E 1e0"
    run = "\ufeff7 Q0 B#1 7 inf\tSTANDARD\n7 Q0 C x -Infinity t\n7 Q0 A - 1E-5 t\n#\n7 Q0 D 9 +.5 #\r\n"
    data = read(tmp_path, qrels, run)
    assert data.qid.tolist() == ["7"] * 5
    assert data.docid.tolist() == ["B#1", "C", "A", "D", "E"]
    assert data.y_true.tolist() == [2, 0, 1, 0, 1]
    assert not np.signbit(data.y_true).any()
    np.testing.assert_array_equal(data.y_score, [np.inf, -np.inf, 1e-5, 0.5, np.nan])
    assert data.judged.all()  # a negative grade is a judgement too


FORMS = {  # of judgments and of a run: TREC, MS MARCO, BEIR without and with a header
    "{0} 0 {1} {2}\n": "{0} Q0 {1} {3} -{3} t\n",
    "{0}\t0\t{1}\t{2}\n": "{0}\t{1}\t{3}\n",
    "{0} {1} {2}\n": "{0} {1} -{3}\n",
    "query-id corpus-id score\n{0}\t{1}\t{2}\n": "query-id corpus-id score\n{0}\t{1}\t-{3}\n",
}


@pytest.mark.filterwarnings("ignore:.*three columns")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("others", ["7", "#7"])
def test_a_topic_can_begin_with_the_sign_of_a_comment(tmp_path: Path, form: str, others: str) -> None:
    documents = [("#metoo", "a", 1, 1), ("#metoo", "b", 0, 2), (others, "a", 0, 1), (others, "b", 1, 2)]
    files = []
    for text in (form, FORMS[form]):
        *header, line = text.splitlines(keepends=True)
        files.append(
            "".join(["# of 2024, by hand\n#\n#topic name\n", *header, *(line.format(*one) for one in documents)])
        )
    result = ltr.evaluate(**read(tmp_path, *files), metrics=["map"])
    assert dict(zip(result.qid.tolist(), result.per_query["map"].tolist(), strict=True)) == {"#metoo": 1.0, others: 0.5}


def test_scattered_topics_are_put_together(tmp_path: Path) -> None:
    # Ids are UTF-8. Neither the no-break space nor the line separator ends a word, for trec_eval looks at bytes.
    qrels = "b 0 1 1\ncafé 0 na\u2028ïve 1\nb 0 2 2\ncafé 0 a\u00a0b\u0085 2\n"
    data = read(tmp_path, qrels, "café Q0 3 1 1 t\nb Q0 2 1 1 t\ncafé Q0 na\u2028ïve 1 1 t\n")
    assert data.qid.tolist() == ["café", "café", "b", "b", "café"]
    assert data.docid.tolist() == ["3", "na\u2028ïve", "2", "1", "a\u00a0b\u0085"]
    assert data.y_true.tolist() == [0, 1, 2, 1, 2]


def test_many_small_reads_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comments = "# nothing but comments for a while\n" * 9
    run = "".join(f"{i % 7} Q0 D{i * i} {i} {-i / 8} t\n{comments}" for i in range(300))
    qrels = "".join(f"{i % 7} 0 D{i * i} {i % 3}\n" for i in range(0, 400, 3))
    whole = read(tmp_path, qrels, run)
    assert len(whole.qid) == 300 + 34
    monkeypatch.setattr(compressed, "BYTES_AT_ONCE", 100)
    assert_same(read(tmp_path, qrels, run), whole)
    with pytest.raises(ltr.LtrValueError, match=rf"a.run:3001: {FORM_OF_RUN}.*oops"):
        read(tmp_path, qrels, run + "8 Q0 A 1 oops t\n")
    with pytest.raises(ltr.LtrValueError, match=r"a.run has the document 'D49' twice in topic '0'"):
        read(tmp_path, qrels, run + "\n0 Q0 D49 1 1 t\n")


FORM_OF_QRELS = "a line must have the form 'topic iteration docno grade', in UTF-8 without NUL. Got"
FORM_OF_RUN = "a line must have the form 'topic Q0 docno rank score tag', in UTF-8 without NUL. Got"
BAD_QRELS: dict[str, tuple[str | bytes, str]] = {
    "too few fields": ("7 0 A 1\n7 0 A\n", rf"a.qrels:2: {FORM_OF_QRELS} '7 0 A'"),
    "commas": ("7,0,A,1\n", rf"a.qrels:1: {FORM_OF_QRELS} .*, with 1 fields instead of 4. Separate the fields by spaces"),
    "a run": ("7 Q0 A 1 2.5 tag\n", rf"a.qrels:1: {FORM_OF_QRELS} '7 Q0 A 1 2.5 tag', with 6 fields instead of 4"),
    "a space in an id": ("7 0 A 1\n7 0 annual report.pdf 1\n", rf"a.qrels:2: {FORM_OF_QRELS} .*, with 5 fields"),
    "text": ("\n7 0 A 1\n7 0 B x\n", rf"a.qrels:3: {FORM_OF_QRELS} '7 0 B x'"),
    "underscore": ("7 0 A 1_0\n", rf"a.qrels:1: {FORM_OF_QRELS}"),
    "NUL": ("7 0 A 1\n7 0 B\x00 1\n", rf"a.qrels:2: {FORM_OF_QRELS} '7 0 B"),
    "nan": ("7 0 A nan\n", r"a.qrels, topic '7', document 'A': a grade must be finite. Got nan"),
    "twice": ("7 0 A 1\n8 0 A 1\n7 0 B 1\n7 0 A 1\n", r"a.qrels has the document 'A' twice in topic '7'. Remove"),
    "empty": ("", r"a.qrels has no document"),
    "comments alone": ("# nothing\n\n", r"a.qrels has no document"),
    "Latin 1": ("7 0 A 1\n\n7 0 é 1\n".encode("latin-1"), rf"a.qrels:3: {FORM_OF_QRELS}"),
    "no topic in common": ("007 0 A 1\n08 0 A 1\n", r"have no topic in common.* qrels begin with '007', the run with '7'. Topics are .* as text"),
}  # fmt: skip
BAD_RUN: dict[str, tuple[str | bytes, str]] = {
    "no tag": ("7 Q0 A 1 2.5\n", rf"a.run:1: {FORM_OF_RUN} '7 Q0 A 1 2.5', with 5 fields instead of 6"),
    "a space in an id": ("7 Q0 A 1 1 t\n7 Q0 annual report.pdf 3 0.7 t\n", rf"a.run:2: {FORM_OF_RUN} '7 Q0 annual report.pdf 3 0.7 t', with 7 fields.* contains spaces, replace them in both"),
    "a space in a topic": ("7 a Q0 A 1 1 t\n", rf"a.run:1: {FORM_OF_RUN} .*, with 7 fields"),
    "a space in a tag": ("7 Q0 A 1 1 my run\n", rf"a.run:1: {FORM_OF_RUN} .*, with 7 fields"),
    "a comment at the end": ("7 Q0 A 1 1 t # good\n", rf"a.run:1: {FORM_OF_RUN} .*, with 8 fields"),
    "qrels": ("# run\n7 0 A 1\n", rf"a.run:2: {FORM_OF_RUN}"),
    "text": ("7 Q0 A 1 1 t\n7 Q0 B 2 high t\n", rf"a.run:2: {FORM_OF_RUN}"),
    "nan": ("7 Q0 A 1 1 t\n7 Q0 B 2 NaN t\n", r"topic '7', document 'B': a score must not be NaN"),
    "twice": ("7 Q0 A 1 1 t\n8 Q0 A 1 1 t\n7 Q0 A 2 1 t\n", r"a.run has the document 'A' twice in topic '7'"),
    "empty": ("", r"a.run has no document"),
}  # fmt: skip


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


# -- trec_eval's own test --------------------------------------------------------------------------


def printed_by_trec_eval(path: Path) -> dict[str, dict[str, str]]:
    """Value as it is printed, by measure and topic ("all" is the mean)."""
    values: dict[str, dict[str, str]] = {}
    for line in path.read_text().splitlines():
        measure, topic, value = line.split()
        values.setdefault(measure, {})[topic] = value
    return values


CUT = {"map_cut": "map(denominator=relevant)", "P": "precision", "recall": "recall", "ndcg_cut": "ndcg_lin"}
OURS = {
    "map": "map(denominator=relevant)", "recip_rank": "mrr", "ndcg": "ndcg_lin", "set_P": "precision",
    "set_recall": "recall", "set_F": "f1", "Rprec": "rprec", "rbp": "rbp(p=0.9)",
    **{f"success_{k}": f"hit@{k}" for k in (1, 5, 10)},
    # Version 10 printed the file. The convention rounds as version 9 and pytrec_eval do, which gives other values here.
    **{f"iprec_at_recall_{i / 10:.2f}": f"iprec(recall={i / 10:g},rounding=nearest)" for i in range(11)},
    "11pt_avg": "iprec(rounding=nearest)",
    **{f"{theirs}_{k}": f"{ours}@{k}" for theirs, ours in CUT.items() for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
}  # fmt: skip


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
    assert f"{by_convention.geometric_mean('map'):.4f}" == printed["gm_map"]["all"]
    for k in (5, 10, 20):
        judged = ltr.evaluate(**of_nist, metrics=f"judged@{k}", convention="trec_eval")
        expected = [1 - float(printed[f"unj_{k}"][topic]) for topic in judged.qid]
        np.testing.assert_allclose(judged.per_query[f"judged@{k}"], expected, rtol=0, atol=5e-5)
