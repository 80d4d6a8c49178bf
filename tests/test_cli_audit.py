"""``ltr-metrics audit``: ties, queries without a relevant document, and unjudged documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, in_process, made_rows, write_files

import ltr_metrics as ltr
from ltr_metrics.io import read_trec

pytestmark = pytest.mark.integration

Run = Callable[..., Done]
JSON = ("--format", "json")
METRICS = ["ndcg@5", "map"]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return made_rows()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any]) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_files(path, rows)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], made: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(made)
    return partial(in_process, capsys, "audit")


@pytest.mark.parametrize("data", ["data.txt", "data.csv", "data.parquet"])
def test_the_audit_is_that_of_the_library(run: Run, rows: dict[str, Any], data: str) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    rounded = rows["X"][:, 1].round()
    np.save("rounded.npy", rounded)
    scores = ["--scores", f"new={column}", "--scores", "rounded.npy"]
    done = run(data, *scores, "-m", ",".join(METRICS), "-k", 5, *JSON)
    expected = ltr.audit(rows["y"], {"new": rows["X"][:, 0], "rounded": rounded}, qid=rows["qid"], metrics=METRICS, k=5)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out) == expected.to_dict()
    assert expected.models["rounded"].n_tied_queries > 0
    assert expected.data.n_no_relevant > 0


def test_the_text_has_the_facts_of_data_and_models(run: Run) -> None:
    done = run("data.csv", "--scores", "Column_0", "--scores", "flat", "-m", "map")
    assert (done.status, done.err) == (0, "")
    assert re.search(r"^  no relevant document .* 5 +queries +12\.5%$", done.out, re.MULTILINE)
    assert "Column_0: ties in 0.0% of the queries" in done.out
    assert "flat: ties in 100.0% of the queries" in done.out
    assert done.out.endswith("In 40 queries all documents have the same score.\n")


def test_repeated_documents_are_counted_and_not_refused(run: Run) -> None:
    for data, scores, options in (("data.csv", "flat", ["--docid", "twice"]), ("again.txt", "1", [])):
        done = run(data, "--scores", scores, "-m", "map", *options, *JSON)
        assert done.status == 0, done.err
        assert json.loads(done.out)["data"]["repeated"]["n_rows"] > 0
    assert "1 rows repeat a document of their query" in run("again.txt", "--scores", "1", "-m", "map").out


def test_a_run_has_unjudged_documents(run: Run) -> None:
    done = run("--qrels", "qrels", "--run", "a.run", "-m", "map", *JSON)
    data = read_trec("qrels", "a.run")
    named = {key: data[key] for key in ("qid", "docid", "retrieved", "judged")}
    expected = ltr.audit(data.y_true, {"a": data.y_score}, metrics=["map"], **named)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out) == expected.to_dict()
    assert expected.data.n_unjudged == 20
    text = run("--qrels", "qrels", "--run", "a.run", "-m", "map").out
    assert text == f"{expected}\n"
    assert "not judged" in text


def test_each_run_has_the_facts_of_its_own_documents(run: Run) -> None:
    arguments = ["--qrels", "qrels", "--run", "a.run", "--run", "b.run", "-m", "map"]
    both = json.loads(run(*arguments, *JSON).out)
    assert both["data"] is None
    for name in "ab":
        alone = json.loads(run("--qrels", "qrels", "--run", f"{name}.run", "-m", "map", *JSON).out)
        assert both["models"][name] == {"data": alone["data"]} | alone["models"][name]
    assert [both["models"][name]["data"]["n_unjudged"] for name in "ab"] == [20, 10]
    text = run(*arguments).out
    assert re.findall(r"^(\w): 10 queries", text, re.MULTILINE) == ["a", "b"]


def test_options_choose_the_metrics(run: Run) -> None:
    command = ["--qrels", "qrels", "--run", "a.run", "--run", "lacks.run", *JSON]
    assert "The run 'lacks' lacks topics of the qrels: 1, 2." in run(*command).err
    done = run(*command, "--topics", "qrels", "--convention", "trec_eval", "--no-relevant", "0")
    assert done.status == 0
    models = json.loads(done.out)["models"]
    assert list(models["lacks"]["ties"]) == ["ndcg_lin@10", "map(denominator=relevant)", "mrr"]
    assert models["lacks"]["data"]["n_queries"] == 10


def test_the_result_is_written_to_a_file(run: Run, tmp_path: Path) -> None:
    printed = {ending: run("data.csv", "--scores", "flat", "--format", form).out for ending, form in FORMATS.items()}
    for ending, text in printed.items():
        for option in ("-o", "--output"):
            done = run("data.csv", "--scores", "flat", option, tmp_path / f"audit{ending}")
            assert (done.status, done.out) == (0, "")
            assert done.err == f"Wrote {tmp_path / f'audit{ending}'}.\n"
            assert (tmp_path / f"audit{ending}").read_text() == text


FORMATS = {".txt": "text", ".json": "json"}
BAD = {
    "no data": ([], "Name the DATA"),
    "no model": (["data.csv"], "at least one model, column of scores or run"),
    "no file": (["absent.csv", "--scores", "s"], "does not exist"),
    "no column": (["data.csv", "--scores", "flaat"], "Did you mean 'flat'"),
    "no column of ids": (["data.csv", "--scores", "flat", "--docid", "dok"], "no column 'dok'"),
    "NaN": (["nan.csv", "--scores", "s"], "s: y_score must not be NaN"),
    "text": (["data.csv", "--scores", "words"], "words: y_score must be numbers"),
    "no metric": (["data.csv", "--scores", "flat", "-m", "ndgc"], "Did you mean 'ndcg'"),
    "no convention": (["data.csv", "--scores", "flat", "--convention", "lgihtgbm"], "Did you mean 'lightgbm'"),
    "no cutoff": (["data.csv", "--scores", "flat", "-k", "0"], "0 is not in the range x>=1"),
    "ties": (["data.csv", "--scores", "flat", "--ties", "worst"], "No such option"),
    "no format": (["data.csv", "--scores", "flat", "--format", "csv"], "'csv' is not one of"),
    "no ending": (["data.csv", "--scores", "flat", "--output", "audit.csv"], "must end in one of .txt, .json"),
    "an input": (["data.csv", "--scores", "flat", "--format", "json", "--output", "data.csv"], "must not be a file that"),
    "run alone": (["--run", "a.run"], "--qrels FILE and --run NAME=FILE"),
    "qrels alone": (["--qrels", "qrels"], "--qrels FILE and --run NAME=FILE"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_exits_with_2(run: Run, made: Path, case: str) -> None:
    arguments, message = BAD[case]
    before = sorted(made.iterdir())
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert sorted(made.iterdir()) == before
