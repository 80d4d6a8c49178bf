"""Numbers that float64 cannot keep apart: every reader and every array refuses them where they would be tied."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics._rows.checks import may_merge
from ltr_metrics.io import files as compressed
from ltr_metrics.io import (
    letor_batches,
    read_letor,
    read_scores,
    read_table,
    read_trec,
    table_batches,
)

QID, LABELS = ["1", "1", "2", "2"], [1, 0, 1, 0]
Read = Callable[[Path, list[str]], ltr.Evaluation]


def write(path: Path, form: str, scores: list[str], header: str = "") -> Path:
    rows = enumerate(zip(QID, LABELS, scores, strict=True))
    path.write_text(header + "".join(form.format(i=i, q=q, y=y, s=s) for i, (q, y, s) in rows))
    return path


def of_trec(form: str) -> Read:
    def use(folder: Path, scores: list[str]) -> ltr.Evaluation:
        qrels, run = write(folder / "qrels", "{q} 0 {i} {y}\n", scores), write(folder / "run", form, scores)
        return ltr.evaluate(**read_trec(qrels, run, rank_by="score"), metrics="mrr")

    return use


def of_scores(folder: Path, scores: list[str]) -> ltr.Evaluation:
    return ltr.evaluate(LABELS, read_scores(write(folder / "s.txt", "{s}\n", scores)), qid=QID, metrics="mrr")


def of_ranklib(folder: Path, scores: list[str]) -> ltr.Evaluation:
    path = folder / "s.txt"
    path.write_text("".join(f"{q} {i % 2} {s}\n" for i, (q, s) in enumerate(zip(QID, scores, strict=True))))
    return ltr.evaluate(LABELS, read_scores(path), qid=QID, metrics="mrr")


def of_letor(folder: Path, scores: list[str]) -> ltr.Evaluation:
    rows = read_letor(write(folder / "a.txt", "{y} qid:{q} 1:1 3:{s}\n", scores))
    return ltr.evaluate(rows.y, rows["3"], qid=rows.qid, metrics="mrr")


def of_letor_batches(folder: Path, scores: list[str]) -> ltr.Evaluation:
    path = write(folder / "a.txt", "{y} qid:{q} 1:1 3:{s}\n", scores)
    return ltr.evaluate_batches(letor_batches(path), scores={"a": "3"}, metrics="mrr")["a"]


def of_table(name: str, form: str, header: str = "") -> Read:
    def use(folder: Path, scores: list[str]) -> ltr.Evaluation:
        path = write(folder / name, form, scores, header)
        rows = read_table(path, columns=["s"])
        batches = table_batches(path, numbers=["label", "s"])
        result = ltr.evaluate(rows["label"], rows["s"], qid=rows["qid"], metrics="mrr")
        assert ltr.evaluate_batches(batches, scores={"a": "s"}, metrics="mrr")["a"]["mrr"] == result["mrr"]
        return result

    return use


def of_join(folder: Path, scores: list[str]) -> ltr.Evaluation:
    path = write(folder / "s.csv", "{i},{s}\n", scores, "id,s\n")
    return ltr.evaluate(LABELS, read_scores(path, on={"id": range(4)}), qid=QID, metrics="mrr")


def of_decimals(_: Path, scores: list[str]) -> ltr.Evaluation:
    return ltr.evaluate(LABELS, list(map(Decimal, scores)), qid=QID, metrics="mrr")


READERS: dict[str, Read] = {
    "TREC": of_trec("{q} Q0 {i} 1 {s} t\n"),
    "three columns": of_trec("{q} {i} {s}\n"),
    "scores": of_scores,
    "RankLib": of_ranklib,
    "LETOR": of_letor,
    "LETOR in batches": of_letor_batches,
    "CSV": of_table("a.csv", "{q},{y},{s}\n", "qid,label,s\n"),
    "JSON": of_table("a.jsonl", '{{"qid":{q},"label":{y},"s":{s}}}\n'),
    "join": of_join,
    "Decimal": of_decimals,
}
MERGED = [  # two numbers that are one float64
    ("1700000000000000100", "1700000000000000000"),
    ("9007199254740993", "9007199254740992"),
    ("0.1000000000000000002", "0.1000000000000000001"),
    ("0.30000000000000004", "0.30000000000000003"),
    ("0.1000000000000000002", "0.1"),
    ("2e-400", "1e-400"),
    ("1e-400", "0"),
    ("2e400", "1e400"),
]
KEPT = [  # and two that are different floats, or two spellings of one
    ("0.25", "0.125", 1.0),
    ("2e-310", "1e-310", 1.0),
    ("1.0000000000000002", "1", 1.0),
    ("0.10000000000000001", "0.1", 0.75),
    ("0.1000000000000000055511151231257827", "0.1", 0.75),
    ("0.50000000000000000", "0.5", 0.75),
    ("0.12345678901234567", "0.12345678901234567", 0.75),
]


@pytest.mark.parametrize("reader", READERS)
def test_numbers_that_float64_cannot_keep_apart_are_refused(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for high, low in MERGED:
        for scores in ([high, low, "2", "1"], ["2", "1", low, high]):
            with pytest.raises(ltr.LtrError, match=r"cannot keep apart.* Pass their ranks instead"):
                READERS[reader](tmp_path, scores)
    for high, low, expected in KEPT:
        assert READERS[reader](tmp_path, ["2", "1", high, low])["mrr"] == pytest.approx((1 + expected) / 2)
    if reader not in ("LETOR", "LETOR in batches", "JSON", "Decimal", "CSV", "join"):
        monkeypatch.setattr(compressed, "BYTES_AT_ONCE", 1)
        with pytest.raises(ltr.LtrValueError, match="cannot keep apart"):
            READERS[reader](tmp_path, ["2", "1", "2e-400", "1e-400"])


@pytest.mark.parametrize("reader", ["TREC", "three columns", "RankLib", "LETOR", "LETOR in batches"])
def test_numbers_of_two_queries_may_be_one_float(tmp_path: Path, reader: str) -> None:
    scores = ["0.1000000000000000002", "0.05", "0.1000000000000000001", "0.05"]
    assert READERS[reader](tmp_path, scores)["mrr"] == 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="longdouble is float64 here")
def test_long_doubles_and_fractions(tmp_path: Path) -> None:
    near = np.array([np.longdouble(1) + np.longdouble(2) ** -60, 1, 0, 2])
    np.save(tmp_path / "a.npy", near)
    exact = [Fraction(2**60 + 1, 2**60), Fraction(1), Fraction(0), Fraction(2)]
    for scores in (near, exact, read_scores):
        with pytest.raises(ltr.LtrValueError, match="cannot keep apart.* .row 0 and row 1.. Pass their ranks instead"):
            ltr.evaluate(LABELS, scores(tmp_path / "a.npy") if callable(scores) else scores, qid=QID)
    same = np.array([1, 1, 3, 2], dtype=np.longdouble) / 3
    assert ltr.evaluate(LABELS, same, qid=QID, metrics="mrr")["mrr"] == 0.875


@pytest.mark.parametrize(("text", "expected"), [(b"1:0.1234567890123 7", False), (b"a 1e-99 2.5E+5", False),
    (b"x 0.123456789012345", True), (b"1e-100", True), (b"2E+300", True), (b"9007199254740993", True)])  # fmt: skip
def test_which_texts_are_compared(text: bytes, expected: bool) -> None:
    assert may_merge(text) == expected
