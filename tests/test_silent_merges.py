"""What float64, NumPy or Python would take for one is kept apart or refused: scores, ids, weights, text."""

from __future__ import annotations

import codecs
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ltr_metrics as ltr
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.evaluation.totals import Totals
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec

# -- scores -----------------------------------------------------------------------------------------------------------

TENTH = Decimal("0.1000000000000000000001")
TOO_NEAR: dict[str, Any] = {
    "decimals": [Decimal("0.1"), TENTH],
    "decimals beyond integers": [Decimal(2**53), Decimal(2**53 + 1)],
    "decimals that underflow": [Decimal("1e-400"), Decimal(0)],
    "a decimal beyond float64": [Decimal("1e400"), Decimal(1)],
    "fractions": [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)],
    "a decimal beside a float": [0.5, Decimal("0.50000000000000000001")],
    "a list of floats and integers": [2.0**60, 2**53 + 1],
    "a tuple of integers and floats": (1.5, -(2**53) - 1),
    "integers of NumPy in a list": [np.uint64(2**53 + 1), -1],
    "integers of NumPy as objects": np.array([np.int64(2**53 + 1), np.int64(2**53)], dtype=object),
    "integers as objects": np.array([2**53 + 1, 0.5], dtype=object),
    "decimals of Arrow": pa.array([Decimal("0.1"), TENTH]),
    "decimals of pandas": pd.Series([Decimal("0.1"), TENTH]),
    "floats of higher precision": np.array(
        [np.longdouble(1), np.nextafter(np.longdouble(1), np.longdouble(2))], dtype=object
    ),
}


@pytest.mark.parametrize("case", TOO_NEAR)
def test_scores_that_float64_cannot_tell_apart_are_refused(case: str) -> None:
    if case.startswith("floats") and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("NumPy has no float of higher precision on this machine")
    with pytest.raises(ltr.LtrValueError, match=r"y_score must not hold .*(float64).* at row \d.*ranks instead"):
        ltr.evaluate([1, 0], TOO_NEAR[case], qid=[1, 1], metrics="mrr")


@pytest.mark.parametrize(
    "scores",
    [
        [Decimal("0.1"), Decimal("0.2"), Decimal("0.10")],
        [Fraction(1, 3), Fraction(2, 3), Fraction(2, 6)],
        [Decimal(1) / 3, Decimal(2) / 3, Decimal(1) / 3],
        [1, 2.0, True],
        [2.0**60, np.inf, 2.0**60],
        [Decimal("-Infinity"), Decimal(7), Decimal("-Infinity")],
        np.array([2**53, np.float32(2**60), np.int8(1)], dtype=object),
    ],
    ids=str,
)
def test_scores_that_float64_tells_apart_are_taken(scores: Any) -> None:
    assert ltr.evaluate([0, 1, 0], scores, qid=[1, 1, 1], metrics="mrr")["mrr"] == 1.0


def test_decimals_of_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [1, 0], "s": [Decimal("0.1"), TENTH]})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ltr.LtrValueError, match="float64 cannot keep apart"):
        ltr.evaluate_sorted(tmp_path / "a.parquet", scores={"a": "s"}, metrics="mrr")


# -- ids --------------------------------------------------------------------------------------------------------------


def objects(*values: Any) -> Any:
    return np.array([*values, None], dtype=object)[:-1]


NUL: dict[str, Any] = {
    "a list": ["a\0", "a"],
    "a list, second": ["a", "a\0"],
    "nothing else": ("\0", ""),
    "bytes": [b"a\0", b"a"],
    "beside a number": ["a\0", 7],
    "objects": objects("a\0", "a"),
    "pandas": pd.Series(["a\0", "a"]),
    "Arrow": pa.array(["a\0", "a"]),
}


@pytest.mark.parametrize("ids", NUL.values(), ids=NUL)
def test_ids_that_end_with_a_nul_are_refused(ids: Any) -> None:
    message = r"must not end with a NUL character, which NumPy drops from text: got b?'a?\\x00'"
    for name, options in {"qid": {"qid": ids}, "docid": {"docid": ids, "qid": [1, 1]}}.items():
        with pytest.raises(ltr.LtrValueError, match=f"{name} {message}"):
            ltr.evaluate([1, 0], [0.2, 0.8], metrics="mrr", **options)
    with pytest.raises(ltr.LtrValueError, match=f"by {message}"):
        ltr.evaluate([1, 0], [0.2, 0.8], qid=[1, 2], metrics="mrr", by=ids)


def test_a_nul_within_an_id_is_kept() -> None:
    result = ltr.evaluate([1, 0, 1], [1, 2, 3], qid=["a\0b", "a", "a\0c"], metrics="mrr")
    assert result.qid.tolist() == ["a\0b", "a", "a\0c"]


@pytest.mark.parametrize("line", [b"1 qid:7\0 1:1\n", b"1 qid:7 1:1 # docid = A\0\n"])
def test_letor_with_a_nul_in_an_id(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0 qid:7 1:2 # docid = A\n" + line)
    for read in (read_letor, lambda file: ltr.evaluate_sorted(file, scores={"a": "1"}, metrics="mrr")):
        with pytest.raises(ltr.LtrValueError, match=r"a.txt:2: ids must be UTF-8 text without NUL characters"):
            read(path)


def test_tables_with_a_nul_in_an_id(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": ["a", "a\0"], "label": [1, 0], "s": [0.2, 0.8]})
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_bytes(b"qid,label,s\na,1,0.2\na\0,0,0.8\n")
    for name in ("a.parquet", "a.csv"):
        read = read_table(tmp_path / name)
        with pytest.raises(ltr.LtrValueError, match="must not end with a NUL character"):
            ltr.evaluate(read["label"], read["s"], qid=read["qid"], metrics="mrr")
        with pytest.raises(ltr.LtrValueError, match="must not end with a NUL character"):
            ltr.evaluate_sorted(tmp_path / name, scores={"a": "s"}, metrics="mrr")


@pytest.mark.parametrize("ids", [[1, True], [True, 1], [0, False, 7], ["a", 1.0, True], objects(np.True_, 1)], ids=repr)
def test_true_beside_1_is_refused(ids: Any) -> None:
    n = len(ids)
    message = r"must not hold both (True|False) and [01](\.0)?, which are equal in Python: got them at row"
    with pytest.raises(ltr.LtrValueError, match=f"qid {message}"):
        ltr.evaluate(np.ones(n), np.ones(n), qid=ids, metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match=f"by {message}"):
        ltr.evaluate(np.ones(n), np.ones(n), qid=np.arange(n), metrics="mrr", by=ids)


@pytest.mark.parametrize("ids", [[True, False], [True, 7], [False, "0"], [1, 0.0]], ids=repr)
def test_truth_values_that_equal_no_number_are_ids(ids: Any) -> None:
    assert ltr.evaluate([1, 1], [1, 1], qid=ids, metrics="mrr").qid.tolist() == ids


# -- weights ----------------------------------------------------------------------------------------------------------

LEAST = 5e-324  # all smaller weights are 0
VALUES = ([1, 0, 0, 0, 1, 0], [1, 0, 1, 0, 1, 0], np.repeat(["a", "b", "c"], 2))


def as_fraction(values: Any, weight: Any) -> float:
    """Return the weighted mean, computed exactly."""
    exact = [(Fraction(w), Fraction(v)) for v, w in zip(values, weight, strict=True)]
    return float(sum(w * v for w, v in exact) / sum(w for w, _ in exact))


@pytest.mark.parametrize("scale", [LEAST, 3 * LEAST, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-170, 1.0, 1e300])
@pytest.mark.parametrize("ratio", [(1, 1, 1), (1, 2, 3), (3, 1, 0), (7, 5, 11)])
def test_weights_of_any_size_give_the_exact_mean(scale: float, ratio: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    y, q = rng.integers(0, 2, 30), np.repeat(["a", "b", "c"], 10)
    weight = np.array(ratio) * scale
    scores = {"old": rng.normal(size=30), "new": rng.normal(size=30)}
    options: dict[str, Any] = {"qid": q, "metrics": ["mrr", "map"], "query_weight": weight}
    for y_score in scores.values():
        result = ltr.evaluate(y, y_score, **options)
        plain = ltr.evaluate(y, y_score, **options | {"query_weight": ratio})
        for name, values in result.per_query.items():
            assert result[name] == pytest.approx(as_fraction(values, weight), rel=1e-15)
            parts = [Totals.of({name: values[[i]]}, weight[[i]]) for i in range(3)]
            together = sum(parts, start=Totals.nothing([name]))
            assert together.mean[name] == pytest.approx(result[name], rel=1e-15)
            assert result[name] == pytest.approx(plain[name], rel=1e-15)
    small, usual = (
        ltr.compare(scores, y, n_resamples=200, **options | {"query_weight": one}) for one in (weight, ratio)
    )
    small_table, usual_table = small.to_pandas(), usual.to_pandas()
    pd.testing.assert_frame_equal(small_table, usual_table, rtol=1e-12)


def test_clusters_of_queries_with_the_smallest_weights() -> None:
    differences = [[0.5], [0.25], [1.0]]
    sample = Sample.of(differences, weight=[LEAST, 2 * LEAST, LEAST], cluster=[0, 0, 1])
    usual = Sample.of(differences, weight=[1, 2, 1], cluster=[0, 0, 1])
    assert sample.value.tolist() == usual.value.tolist()
    assert sample.mean == pytest.approx(usual.mean)


def test_parts_of_totals_with_other_scales_add_up() -> None:
    values = {"mrr": np.array([1.0])}
    huge, small, none = (Totals.of(values, np.array([one])) for one in (1e308, LEAST, 0.0))
    assert (huge + small + none).mean == {"mrr": 1.0}
    assert (none + small).mean == {"mrr": 1.0}
    assert np.isnan((none + none).mean["mrr"])
    with pytest.raises(ltr.LtrValueError, match="beyond float64. Scale the weights down"):
        _ = (huge + huge).mean


def test_segments_and_row_weights_of_the_smallest_size() -> None:
    y, s, q = VALUES
    result = ltr.evaluate(y, s, qid=q, metrics="p@1", query_weight=[3 * LEAST, LEAST, 2 * LEAST], by=["x", "x", "y"])
    assert result["p@1"] == pytest.approx(5 / 6)
    assert result.by["x"]["p@1"] == 0.75
    exact = ltr.evaluate(y, s, qid=q, metrics="p@1", sample_weight=np.repeat([3, 1, 2], 2) * LEAST)
    assert exact["p@1"] == pytest.approx(5 / 6)
    with pytest.raises(ltr.LtrValueError, match=r"rounds its mean: the rows of query b .*Scale the weights up"):
        ltr.evaluate(y, s, qid=q, metrics="p@1", sample_weight=np.array([1, 1, 1, 2, 1, 1]) * LEAST)


def test_weights_of_the_smallest_size_by_batches(tmp_path: Path) -> None:
    y, s, q = VALUES
    frame = pd.DataFrame({"qid": q, "label": y, "s": s, "w": np.repeat([3, 1, 2], 2) * LEAST})
    frame.to_parquet(tmp_path / "a.parquet")
    result = ltr.evaluate_sorted(tmp_path / "a.parquet", scores={"a": "s"}, metrics="p@1", weight="w", rows_at_once=1)[
        "a"
    ]
    assert result["p@1"] == pytest.approx(5 / 6)


# -- text -------------------------------------------------------------------------------------------------------------


def marked(path: Path, text: str) -> Path:
    """Write text behind a byte order mark, as editors on Windows do."""
    path.write_bytes(codecs.BOM_UTF8 + text.encode())
    return path


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, line_break: str) -> None:
    def write(name: str, *lines: str) -> Path:
        return marked(tmp_path / name, line_break.join(lines) + line_break)

    letor = write("a.txt", "1 qid:7 1:1", "0 qid:7 1:2")
    assert read_letor(letor).y.tolist() == [1, 0]
    assert ltr.evaluate_sorted(letor, scores={"a": "1"}, metrics="mrr")["a"]["mrr"] == 0.5
    sized = write("b.txt", "1 1:1", "0 1:2")
    write("b.txt.query", "2")
    assert read_letor(sized).qid.tolist() == [0, 0]
    commented = write("c.txt", "# heading", "1 qid:7 1:1")
    assert read_letor(commented).y.tolist() == [1]
    assert read_scores(write("scores.txt", "0.5", "2")).tolist() == [0.5, 2]
    table = write("a.csv", "qid,label,s", "7,1,0.5", "7,0,2")
    assert list(read_table(table).columns) == ["qid", "label", "s"]
    assert ltr.evaluate_sorted(table, scores={"a": "s"}, metrics="mrr")["a"]["mrr"] == 0.5
    trec = read_trec(write("qrels", "1 0 A 1"), write("run", "1 Q0 A 1 2.5 me"))
    assert trec.qid.tolist() == ["1"]
    log = write("log.jsonl", '{"shown": ["a", "b"], "teams": [0, 1], "clicks": [0]}')
    assert [one.clicks for one in read_impressions(log)] == [[0]]


def test_only_the_first_line_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 qid:7 1:1\n" + codecs.BOM_UTF8 + b"0 qid:7 1:2\n")
    with pytest.raises(ltr.LtrValueError, match=r"a.txt:2:1: a line must begin with a grade"):
        read_letor(path)


@pytest.mark.parametrize("number", ["0x10", "0X1f", "-0x1"])
def test_hexadecimal_text_is_no_number_in_memory_nor_by_batches(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"qid,label,s,device\n7,1,2,{number}\n7,0,{number},{number}\n")
    read = read_table(path)
    assert read["s"].tolist() == ["2", number]
    assert read["label"].tolist() == [1, 0]
    with pytest.raises(ltr.LtrTypeError, match="y_score must be numbers without missing values: got '2' at row 0"):
        ltr.evaluate(read["label"], read["s"], qid=read["qid"], metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match=f"a.csv cannot be read as csv: .*{number}"):
        ltr.evaluate_sorted(path, scores={"a": "s"}, metrics="mrr")
    by_batches = ltr.evaluate_sorted(path, scores={"a": "label"}, metrics="mrr", by="device")["a"]
    whole = ltr.evaluate(read["label"], read["label"], qid=read["qid"], metrics="mrr", by=read["device"])
    assert list(by_batches.by["device"]) == list(whole.by) == [number]


def test_the_letters_0x_elsewhere_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid,label,s,0xtra\n0x7,1,2,a0x\n0x7,0,1,\n")
    read = read_table(path)
    assert read["s"].tolist() == [2, 1]
    assert read["qid"].tolist() == ["0x7", "0x7"]
