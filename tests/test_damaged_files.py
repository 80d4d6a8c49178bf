"""Damaged and forged files: each is read as what it holds, or refused by an error of this package."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

import ltr_metrics as ltr
from ltr_metrics.evaluation import saved
from ltr_metrics.io import read_letor, read_scores, read_table

# -- saved results ----------------------------------------------------------------------------------------------------

Header = dict[str, Any]


def saved_result(path: Path, ids: Any = ("a", "b", "c")) -> Path:
    result = ltr.evaluate(
        [1, 0, 2, 0, 0, 1],
        [0.1, 0.2, 0.4, 0.3, 0.9, 0.8],
        qid=np.repeat(np.array(ids), 2),
        metrics=["mrr", "map"],
        query_weight=[1, 2, 3],
        by=["x", "y", "x"],
    )
    result.save(path)
    return path


def forge(path: Path, change: Callable[[Header], object], columns: dict[str, Any] | None = None) -> None:
    """Change the header and columns of a saved result, and compute its checksum again."""
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[saved.KEY])
    for name, values in (columns or {}).items():
        table = table.drop_columns([name]) if values is None else _with_column(table, name, values)
    change(header)
    header.pop("checksum", None)
    header["checksum"] = saved._checksum(table, header)
    pq.write_table(table.replace_schema_metadata({saved.KEY: json.dumps(header).encode()}), path)


def _with_column(table: Any, name: str, values: Any) -> Any:
    return table.set_column(table.column_names.index(name), name, pa.chunked_array([pa.array(values)]))


def unchanged(header: Header) -> None:
    pass


FORGED: dict[str, tuple[Callable[[Header], object], dict[str, Any]]] = {
    "metric without a column": (lambda header: header.update(metrics=["mrr", "err"], asked={}), {}),
    "metrics that are no names": (lambda header: header.update(metrics=[["mrr"]], asked={}), {}),
    "no metrics": (lambda header: header.update(metrics=[], asked={}), {}),
    "metric of text": (unchanged, {"mrr": ["a", "b", "c"]}),
    "metric with a missing value": (unchanged, {"mrr": [0.5, None, 1.0]}),
    "name asked for another metric": (lambda header: header.update(asked={"x": "err"}), {}),
    "names asked for are a list": (lambda header: header.update(asked=["mrr"]), {}),
    "no policy": (lambda header: header.pop("policy"), {}),
    "unknown field of the policy": (lambda header: header["policy"].update(more=1), {}),
    "unknown ties": (lambda header: header["policy"].update(ties="random"), {}),
    "unknown no_relevant": (lambda header: header["policy"].update(no_relevant="zero"), {}),
    "no_relevant_of is a list": (lambda header: header["policy"].update(no_relevant_of=[1]), {}),
    "convention is a number": (lambda header: header["policy"].update(convention=7), {}),
    "unknown unjudged": (lambda header: header.update(unjudged="maybe"), {}),
    "weight that is negative": (unchanged, {"weight": [1.0, -1.0, 1.0]}),
    "weight that is not finite": (unchanged, {"weight": [1.0, np.inf, 1.0]}),
    "count of text": (unchanged, {"documents": ["a", "b", "c"]}),
    "counts are missing": (unchanged, {"relevant": None}),
    "ids are missing": (unchanged, {"qid": None}),
    "an id is null": (unchanged, {"qid": ["a", None, "c"]}),
    "an id twice": (unchanged, {"qid": ["a", "a", "c"]}),
    "ids are no JSON": (lambda header: header.update(qid_as_json=True), {}),
    "ids of JSON are lists": (lambda header: header.update(qid_as_json=True), {"qid": ["[1]", "[2]", "3"]}),
    "ids of JSON are deep": (lambda header: header.update(qid_as_json=True), {"qid": ["[" * 10**5, "2", "3"]}),
    "ids of JSON are numbers": (lambda header: header.update(qid_as_json=True), {"qid": [1, 2, 3]}),
    "unknown segment": (unchanged, {"by:0": [0, 1, 2]}),
    "negative segment": (unchanged, {"by:0": [0, -1, 0]}),
    "segments without a column": (unchanged, {"by:0": None}),
    "segments are no list": (lambda header: header.update(segments=7), {}),
    "labels are lists": (lambda header: header.update(segments=[[None, [["x"], "y"]]]), {}),
    "segmentation is a list": (lambda header: header.update(segments=[[["a"], ["x", "y"]]]), {}),
    "fingerprint of text": (unchanged, {"fingerprint": ["a", "b", "c"]}),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_result_is_refused_although_its_checksum_is_right(tmp_path: Path, case: str) -> None:
    path = saved_result(tmp_path / "r.parquet")
    forge(path, *FORGED[case])
    with pytest.raises(
        ltr.LtrValueError, match=r"r.parquet cannot be read as a saved result: .*\. Save the result again\."
    ):
        ltr.load_result(path)


def test_a_result_is_forged_by_the_test_as_it_is_saved(tmp_path: Path) -> None:
    """Otherwise the test above would pass for another reason."""
    path = saved_result(tmp_path / "r.parquet")
    forge(path, unchanged)
    assert ltr.load_result(path).by["x"].qid.tolist() == ["a", "c"]


DAMAGED_HEADERS = [
    *(b"", b"{", b"\xff\xfe", b"7", b"[]", b"null", b"[" * 10**5),
    *(b'{"format": 1}', b'{"format": 1' + b"9" * 5000 + b"}"),
]


@pytest.mark.parametrize("header", DAMAGED_HEADERS, ids=lambda header: repr(header[:12]))
def test_a_damaged_header_of_a_result_is_refused(tmp_path: Path, header: bytes) -> None:
    path = saved_result(tmp_path / "r.parquet")
    pq.write_table(pq.read_table(path).replace_schema_metadata({saved.KEY: header}), path)
    with pytest.raises(ltr.LtrValueError, match="r.parquet cannot be read as a saved result"):
        ltr.load_result(path)


def test_an_id_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = saved_result(tmp_path / "r.parquet", ["first", "second", "third"])
    content = path.read_bytes()
    assert content.count(b"second")
    path.write_bytes(content.replace(b"second", b"s\xffcond"))
    with pytest.raises(ltr.LtrValueError, match="r.parquet cannot be read as a saved result"):
        ltr.load_result(path)


def test_the_name_of_the_folder_is_no_column_of_a_result(tmp_path: Path) -> None:
    folder = tmp_path / "a=1"
    folder.mkdir()
    assert ltr.load_result(saved_result(folder / "r.parquet")).qid.tolist() == ["a", "b", "c"]


# -- files of NumPy ---------------------------------------------------------------------------------------------------


def npy(header: bytes, data: bytes = bytes(24)) -> bytes:
    """Return a file of NumPy with any header."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


HEADERS_OF_NPY = [
    b"",
    b"\xff\xfe\xfd",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 30 + b",)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2**40,)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776000,)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
    b"{'descr': 'x', 'fortran_order': False, 'shape': (3,)}",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
    b"{'descr': [('a', '<f8', 3, 4)], 'fortran_order': False, 'shape': (3,)}",
    b"{'descr': ('<f8',), 'fortran_order': False, 'shape': (3,)}",
    b"{" + b"(" * 5000 + b"}",
    b"(" * 300 + b")" * 300,
    b"{'descr': ''" + b"'",
    b"{0xL: 1",
]


@pytest.mark.parametrize("header", HEADERS_OF_NPY, ids=lambda header: repr(header[-20:]))
def test_damaged_headers_of_numpy(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        for name in ("qid", "label"):
            file.writestr(f"{name}.npy", npy(header))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of NumPy, that Python 2 wrote the file
        with pytest.raises(ltr.LtrValueError, match="a.npy cannot be read as npy"):
            read_scores(tmp_path / "a.npy")
        with pytest.raises(ltr.LtrValueError, match="a.npz cannot be read as npz"):
            read_table(tmp_path / "a.npz")


def test_an_encrypted_npz_and_one_with_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, qid=[1, 1], label=[0, 1])
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1  # encrypted
    path.write_bytes(content)
    with pytest.raises(ltr.LtrValueError, match="a.npz cannot be read as npz: RuntimeError: .*encrypted"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("qid.npy", b"no array")
    with pytest.raises(ltr.LtrValueError, match="the array 'qid' is damaged, or not a NumPy array"):
        read_table(path)


# -- tables, text ----------------------------------------------------------------------------------


def damaged_columns() -> dict[str, Any]:
    """Return columns that pyarrow makes without a look at them, and that would end or break a program."""
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 10**8], pa.int32()), pa.array(["a", "b"]), safe=False)
    offsets, text = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")
    far = pa.py_buffer(np.array([0, 10**9, 2], dtype=np.int32))
    return {
        "index beyond the dictionary": outside,
        "text that is not UTF-8": pa.StringArray.from_buffers(2, offsets, text),
        "text beyond the file": pa.StringArray.from_buffers(2, far, text),
    }


@pytest.mark.parametrize("case", damaged_columns())
def test_columns_of_arrow_are_checked_before_anything_looks_at_them(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.arrow"
    table = pa.table({"qid": pa.array([1, 1]), "label": pa.array([1, 0]), "s": [0.5, 1], "x": damaged_columns()[case]})
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(ltr.LtrValueError, match="a.arrow cannot be read as arrow"):
        read_table(path)
    with pytest.raises(ltr.LtrValueError, match="a.arrow cannot be read as arrow"):
        ltr.evaluate_sorted(path, scores={"a": "s"}, by="x")


NINES = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"1 qid:7 {NINES}:1\n", r"a.txt:1:9: feature numbers go up to 1,000,000"),
        (f"{NINES} qid:7 1:1\n", r"a.txt:1:1: a grade must be finite"),
    ],
)
def test_numbers_of_thousands_of_digits_in_letor(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(ltr.LtrValueError, match=message):
        read_letor(path, graded=True)


def test_numbers_of_thousands_of_digits_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 1:1\n0 1:2\n")
    (tmp_path / "a.txt.query").write_text(NINES)
    with pytest.raises(ltr.LtrValueError, match=r"a.txt.query:1: a query's size must be a whole number"):
        read_letor(tmp_path / "a.txt")
    (tmp_path / "a.txt.query").write_text("2")
    with pytest.raises(ltr.LtrValueError, match="scores must name a feature of the LETOR data by number"):
        ltr.evaluate_sorted(tmp_path / "a.txt", scores={"a": NINES})
    (tmp_path / "scores.txt").write_text(f"1\n{NINES}\n")
    with pytest.raises(ltr.LtrValueError, match=r"scores.txt:2: scores must not be integers beyond 2\*\*53"):
        read_scores(tmp_path / "scores.txt")
