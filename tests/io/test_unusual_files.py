"""Files that are not what they seem: each is read as what it is, or refused with a sentence that says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import in_process

import ltr_metrics as ltr
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import read_letor, read_scores, read_table, table_batches

ROWS = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [1, 0, 0, 1], "s": [0.1, 0.2, 0.3, 0.4]})


def write_stream(path: Path) -> None:
    table = pa.Table.from_pandas(ROWS)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


READ: dict[str, Callable[[Path], object]] = {
    "parquet.csv": ROWS.to_parquet,
    "parquet.data": ROWS.to_parquet,
    "feather.txt": lambda path: ROWS.to_feather(path, compression="uncompressed"),
    "hugging_face.arrow": write_stream,
    "hugging_face": write_stream,
    "flags.csv": lambda path: path.write_text("qid,label,s\n1,TRUE,.1\n1,FALSE,.2\n2,FALSE,.3\n2,TRUE,.4\n"),
}


@pytest.mark.parametrize("name", READ)
def test_a_table_is_what_its_content_says(tmp_path: Path, name: str) -> None:
    READ[name](tmp_path / name)
    rows = read_table(tmp_path / name, columns=["s"])
    assert rows[["label", "s"]].astype(float).to_numpy().tolist() == ROWS[["label", "s"]].to_numpy().tolist()
    batches = table_batches(tmp_path / name, numbers=["label", "s"])
    assert ltr.evaluate_batches(batches, scores={"a": "s"}, metrics="mrr")["a"]["mrr"] == 0.75


REFUSED = {
    "half.jsonl": (b'{"qid":"\\ud800","label":1}\n', "half.jsonl:1: a line must be one JSON object.*surrogates not allowed"),
    "half.json": (b'[{"qid":"\\uDFFF","label":1}]', "half.json is .*surrogates not allowed"),
    "deep.jsonl": (b'{"a":' * 100_000, "deep.jsonl:1: .*nested too deeply"),
    "deep.json": (b"[" * 100_000, "deep.json is .*nested too deeply"),
    "latin.csv": ("qid,label\né,1\n".encode("latin-1"), "latin.csv:2: a line must be text in UTF-8. Got '.+xe9,1'"),
    "header.csv": ("qid,label,é\n1,1,2\n".encode("latin-1"), "header.csv:1: a line must be text in UTF-8"),
    "unused.csv": ("qid,label,b\n1,1,a\n1,1,é\n".encode("latin-1"), "unused.csv:3: .* in Latin-1 or Windows-1252"),
    "no_mark.csv": ("qid,label\n1,1\n".encode("utf-16-be"), "no_mark.csv is text in UTF-16. Save it in UTF-8"),
    "little.tsv": ("qid\tlabel\n1\t1\n".encode("utf-16-le"), "little.tsv is text in UTF-16. Save it in UTF-8"),
    "big.csv": ("\ufeffqid,label\n1,1\n".encode("utf-16-be"), "big.csv is text in UTF-16. Save it in UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_refused_says_why(tmp_path: Path, name: str) -> None:
    content, message = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    for read in (read_table, lambda path: list(table_batches(path, numbers=["label"]))):
        with pytest.raises(ltr.LtrValueError, match=message):
            read(tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a.parquet"
    (folder / "device=phone").mkdir(parents=True)
    for read in (read_table, read_letor, read_scores):
        with pytest.raises(ltr.LtrValueError, match="is a folder. Name its files, such as .*write this column into"):
            read(folder)
    assert "is a directory. Name its files, such as " in in_process(capsys, "evaluate", folder, "--scores", "s").err


def test_a_log_of_brackets_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n" + "[" * 200_000)
    with pytest.raises(ltr.LtrValueError, match=r"log.jsonl:2: A line must be a complete JSON object"):
        list(read_impressions(tmp_path / "log.jsonl"))


def test_a_saved_result_is_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = ltr.evaluate(ROWS["label"], ROWS["s"], qid=ROWS["qid"], metrics="mrr")
    for name in ("x.csv", "x.parquet.gz", "x.json"):
        with pytest.raises(
            ltr.LtrValueError, match=f"its name must end in .parquet. Got .*{name}. Values per query as CSV"
        ):
            result.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    result.save(tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    for header in ([1], 1, "a", True):
        damaged = table.replace_schema_metadata({b"ltr_metrics": json.dumps(header).encode()})
        pq.write_table(damaged, tmp_path / "y.parquet")
        with pytest.raises(ltr.LtrValueError, match="y.parquet has a damaged header"):
            ltr.load_result(tmp_path / "y.parquet")
    done = in_process(capsys, "report", "--result", tmp_path / "x.parquet")
    assert "Only 'ltr-metrics compare' has --result" in done.err


def test_ids_of_two_types_are_one_query_in_batches() -> None:
    batches = [{"qid": [7, 8], "label": [1, 0], "s": [1, 2]}, {"qid": ["8", "x"], "label": [1, 1], "s": [3, 4]}]
    result = ltr.evaluate_batches(batches, scores={"a": "s"}, metrics="mrr")["a"]
    assert (result.qid.tolist(), result.per_query["mrr"].tolist()) == (["7", "8", "x"], [1, 1, 1])
