"""The command: what it computes is what the library computes."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import FAST, Done, as_process, in_process, made_rows, write_files
from systems import needs_posix

import ltr_metrics as ltr
from ltr_metrics.analysis.bins import bins
from ltr_metrics.analysis.gate import gate
from ltr_metrics.io import read_trec
from ltr_metrics.io.models import predict

pytestmark = pytest.mark.integration

Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(in_process, capsys)


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return made_rows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any]) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_files(path, rows)
    return path


# -- evaluate --------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["data.txt", "data.parquet", "data.csv"])
@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_the_numbers_are_those_of_the_library(
    run: Run, folder: Path, rows: dict[str, Any], data: str, command: str
) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    arguments = [command, folder / data, "--model", f"new={folder / 'model.txt'}", "--scores", f"base={column}"]
    metrics = ["ndcg@10", "map(rel=2,denominator=relevant)@5", "ndcg(gain=[0,1,2,3,4])"]
    done = run(*arguments, "--metrics", ",".join(metrics), "--format", "json")
    assert done.status == 0, done.err
    models = json.loads(done.out)["models"]
    for name, scores in (("base", rows["X"][:, 0]), ("new", predict(folder / "model.txt", rows["X"]))):
        expected = ltr.evaluate(rows["y"], scores, qid=rows["qid"], metrics=metrics)
        assert {metric: line["mean"] for metric, line in models[name].items()} == expected.mean


def test_what_is_evaluated_is_named_after_its_column_or_file_where_no_name_is_given(
    run: Run, folder: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    np.save(tmp_path / "tuned.v2.npy", rows["X"][:, 1])
    items = ["--scores", "Column_0", "--scores", tmp_path / "tuned.v2.npy", "--model", folder / "model.txt"]
    named = ["--scores", "Column_0=Column_0", "--scores", f"tuned.v2={tmp_path / 'tuned.v2.npy'}"]
    named += ["--model", f"model={folder / 'model.txt'}"]
    short, long = (
        json.loads(run("evaluate", folder / "data.csv", *these, "--metrics", "map", "--format", "json").out)
        for these in (items, named)
    )
    assert list(short["models"]) == ["Column_0", "tuned.v2", "model"]
    assert short == long
    letor = run("evaluate", folder / "data.txt", "--scores", "2", "--metrics", "map", "--format", "json")
    assert list(json.loads(letor.out)["models"]) == ["2"]
    (tmp_path / "bm25.run.gz").write_bytes(gzip.compress((folder / "b.run").read_bytes()))
    runs = ["--run", folder / "a.run", "--run", tmp_path / "bm25.run.gz"]
    trec = run("evaluate", "--qrels", folder / "qrels", *runs, "--metrics", "map", "--format", "json")
    assert list(json.loads(trec.out)["models"]) == ["a", "bm25"]


def test_two_things_of_one_name_are_refused_with_the_remedy(run: Run, folder: Path) -> None:
    done = run("evaluate", folder / "data.csv", "--scores", "flat", "--scores", "flat")
    assert done.status == 2
    assert "--scores uses the name 'flat' twice. Write NAME=flat to choose another name." in done.err
    done = run("evaluate", folder / "data.csv", "--scores", "=flat")
    assert done.status == 2
    assert "must have the form NAME=VALUE or VALUE. Got '=flat'." in done.err


def test_a_convention_brings_its_own_default_metrics(run: Run, folder: Path) -> None:
    done = run(
        "evaluate", folder / "data.csv", "--scores", "a=Column_0", "--convention", "lightgbm", "--format", "json"
    )
    summary = json.loads(done.out)
    assert list(summary["models"]["a"]) == ["ndcg_exp@10", "map(rel=>0.5)"]
    assert summary["options"] == {
        "ties": "stable",
        "no_relevant": 1.0,
        "convention": "lightgbm",
        "weighted": False,
        "no_relevant_of": {},
    }


def test_a_warning_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_text("qid,label,s\n1,1,0.5\n1,0,0.7\n")
    for _ in range(2):  # not only the first time
        done = run("evaluate", tmp_path / "binary.csv", "--scores", "s=s")
        assert done.status == 0
        assert done.err.startswith("warning: err counts grades")
        assert done.err.count("\n") == 1


def test_segments_and_weights_in_every_format(run: Run, folder: Path, rows: dict[str, Any]) -> None:
    command = ["evaluate", folder / "data.parquet", "--scores", "a=Column_0", "--scores", "b=flat"]
    command += ["--metrics", "mrr,p@2", "--segment", "device", "--weight", "traffic"]
    frame = pd.read_parquet(folder / "data.parquet")
    by = {"device": frame["device"]}
    options = {"qid": rows["qid"], "metrics": "mrr", "sample_weight": frame["traffic"], "by": by}
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], **options)
    plain = json.loads(run(*command, "--format", "json").out)
    assert plain["models"]["a"]["mrr"]["mean"] == expected["mrr"]
    (phone,) = [part for part in plain["segments"] if (part["model"], part["segment"]) == ("a", "ph|one")]
    assert phone["mean"]["mrr"] == expected.by["device"]["ph|one"]["mrr"]
    text = run(*command).out
    assert "weighted mean" in text
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("device=ph|one")] == [
        ["device=ph|one", "a"],
        ["device=ph|one", "b"],
    ]
    markdown = run(*command, "--format", "markdown").out
    assert "- Data: " in markdown
    assert r"device=ph\|one" in markdown
    latex = run(*command, "--format", "latex").out
    assert latex.count(r"\toprule") == 2
    assert latex.startswith("% Data: ")
    lines = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").out)))
    assert [line["device"] for line in lines] == ["desk" if int(line["qid"]) % 3 else "ph|one" for line in lines]


def test_columns_of_a_table_serve_mean_of(run: Run, folder: Path, rows: dict[str, Any]) -> None:
    command = ["evaluate", folder / "data.parquet", "--scores", "a=Column_0", "--metrics", "mean_of(Column_1)@2"]
    plain = json.loads(run(*command, "--format", "json").out)
    options = {"metrics": "mean_of(x)@2", "columns": {"x": rows["X"][:, 1]}}
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], **options)
    assert plain["models"]["a"]["mean_of(Column_1)@2"]["mean"] == pytest.approx(expected["mean_of(x)@2"], rel=1e-12)


@pytest.mark.parametrize("data", ["data.txt", "data.csv"])
@pytest.mark.parametrize("file", ["scores.npy", "scores.txt"])
def test_scores_may_be_a_file(run: Run, folder: Path, data: str, file: str) -> None:
    column = "2" if data == "data.txt" else "Column_1"
    done = run(
        "evaluate",
        folder / data,
        "--scores",
        f"file={folder / file}",
        "--scores",
        f"column={column}",
        "--format",
        "json",
    )
    summary = json.loads(done.out)
    assert summary["models"]["file"] == summary["models"]["column"]
    assert summary["origins"] == {"file": f"file {folder / file}", "column": f"column {column}"}


def test_a_name_that_is_both_column_and_file_is_refused(
    run: Run, folder: Path, rows: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("s.npy", rows["X"][:, 0])
    pd.DataFrame({"qid": rows["qid"], "label": rows["y"], "s.npy": 0.0, "bm25": 1.0}).to_csv("t.csv", index=False)
    Path("bm25").write_text("a run, say")  # no file of scores, by its name
    done = run("evaluate", "t.csv", "--scores", "a=s.npy")
    assert done.status == 2
    assert "is ambiguous: there is a column and a file of this name. Write ./s.npy" in done.err
    assert run("evaluate", "t.csv", "--scores", "a=./s.npy").status == 0
    assert run("evaluate", "t.csv", "--scores", "a=bm25").status == 0


@pytest.mark.parametrize("data", ["data.txt", "data.csv"])
def test_segments_by_counts_need_no_column(run: Run, folder: Path, rows: dict[str, Any], data: str) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    command = ["evaluate", folder / data, "--scores", f"a={column}", "--metrics", "mrr", "--format", "json"]
    done = run(*command, "--segment", "n_relevant", "--segment", "n_documents")
    assert done.status == 0, done.err
    _, first, sizes = np.unique(rows["qid"], return_index=True, return_counts=True)
    sizes = sizes[np.argsort(first)]
    relevant = np.array([(rows["y"][rows["qid"] == query] >= 1).sum() for query in rows["qid"][np.sort(first)]])
    expected = ltr.evaluate(
        rows["y"],
        rows["X"][:, 0],
        qid=rows["qid"],
        metrics="mrr",
        by={"n_relevant": bins(relevant), "n_documents": bins(sizes)},
    )
    found = [{k: v for k, v in part.items() if k != "model"} for part in json.loads(done.out)["segments"]]
    assert found == expected.segments_to_dicts()
    names = [part["segment"] for part in found if part["name"] == "n_documents"]
    assert names == sorted(names, key=lambda label: int(label.strip("+").partition("-")[0]))


def test_what_is_saved_is_the_result(run: Run, folder: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    command = ["evaluate", folder / "data.txt", "--scores", "a=1", "--metrics", "map"]
    done = run(*command, "--save", tmp_path / "one.parquet")
    assert done.status == 0, done.err
    assert done.err == f"Wrote {tmp_path / 'one.parquet'}.\n"
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="map")
    assert ltr.load_result(tmp_path / "one.parquet").to_dict() == expected.to_dict()
    files = ["--save", f"b={tmp_path / 'b.parquet'}", "--save", f"a={tmp_path / 'a.parquet'}"]
    assert run(*command, "--scores", "b=2", *files).status == 0
    assert ltr.load_result(tmp_path / "a.parquet").mean == expected.mean
    assert ltr.load_result(tmp_path / "b.parquet").mean != expected.mean


@pytest.mark.parametrize("data", ["data.txt", "data.parquet"])
def test_sorted_gives_the_same_numbers(run: Run, folder: Path, tmp_path: Path, data: str) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    command = ["evaluate", folder / data, "--model", f"new={folder / 'model.txt'}", "--scores", f"a={column}"]
    whole, parts = (json.loads(run(*command, *flags, "--format", "json").out) for flags in ([], ["--sorted"]))
    for name, of_model in whole["models"].items():
        assert parts["models"][name]["mean"] == {metric: line["mean"] for metric, line in of_model.items()}
    assert "ndcg_exp@10" in run(*command, "--sorted").out
    lines = run(*command, "--sorted", "--output", tmp_path / "x.csv", "--save", f"a={tmp_path / 'a.parquet'}")
    assert lines.status == 0, lines.err
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 2 * 40 + 1
    assert (
        run("compare", "--result", f"a={tmp_path / 'a.parquet'}", "--result", f"b={folder / 'saved.parquet'}").status
        == 2
    )
    assert run(*command, "--sorted", "--format", "markdown").status == 2


# -- compare ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["data.txt", "data.parquet"])
def test_a_comparison_is_that_of_the_library(run: Run, folder: Path, rows: dict[str, Any], data: str) -> None:
    names = ["1", "2"] if data == "data.txt" else ["Column_0", "Column_1"]
    command = ["compare", folder / data, "--scores", f"base={names[0]}", "--scores", f"new={names[1]}", *FAST]
    options = {
        "confidence": 0.9,
        "power": 0.7,
        "test": "t",
        "correction": "bh",
        "correction_over": "all",
        "interval": "percentile",
    }
    options_by_name = {"ci_method" if name == "interval" else name: value for name, value in options.items()}
    given = [text for name, value in options_by_name.items() for text in (f"--{name.replace('_', '-')}", value)]
    done = run(*command, *given, "--seed", 3, "--format", "json", "--segment", "n_documents")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    expected = ltr.compare(
        {"base": rows["X"][:, 0], "new": rows["X"][:, 1]}, rows["y"], qid=rows["qid"], metrics=["ndcg@5", "map"],
        n_resamples=200, random_state=3, **options,
    ).to_dict()  # fmt: skip
    assert found["rows"] == expected["rows"]
    assert found["settings"] == expected["settings"]
    assert found["gate"] is None
    assert found["origins"] == {"base": f"column {names[0]}", "new": f"column {names[1]}"}
    assert {part["name"] for part in found["segments"]} == {"n_documents"}


def test_weights_clusters_and_segments_of_columns(run: Run, folder: Path, rows: dict[str, Any]) -> None:
    frame = pd.read_parquet(folder / "data.parquet")
    command = ["compare", folder / "data.parquet", "--scores", "a=Column_0", "--scores", "b=Column_1", *FAST]
    done = run(*command, "--weight", "traffic", "--cluster", "user", "--segment", "device", "--format", "json")
    expected = ltr.compare(
        {"a": rows["X"][:, 0], "b": rows["X"][:, 1]}, rows["y"], qid=rows["qid"], metrics=["ndcg@5", "map"],
        n_resamples=200,
        sample_weight=frame["traffic"], cluster=frame["user"], by={"device": frame["device"]},
    ).to_dict()  # fmt: skip
    found = json.loads(done.out)
    assert found["n_clusters"] == 13
    assert {name: found[name] for name in expected} == expected


def test_the_first_model_on_the_command_line_is_the_baseline(run: Run, folder: Path) -> None:
    model, scores = ["--model", f"m={folder / 'model.txt'}"], ["--scores", "s=1"]
    saved = ["--result", f"r={folder / 'saved.parquet'}"]
    for first, *others in ([model, scores, saved], [scores, model, saved], [saved, scores, model]):
        given = [text for one in (first, *others) for text in one]
        plain = json.loads(run("compare", folder / "data.txt", *given, *FAST, "--format", "json").out)
        assert plain["baseline"] == first[1].partition("=")[0]
        assert run("compare", folder / "data.txt", *given, *FAST, "--baseline", "m").status == 0


def test_saved_results_stand_beside_models_and_alone(
    run: Run, folder: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    saved = ["--result", f"base={folder / 'saved.parquet'}"]
    expected = ltr.compare(
        {"base": rows["X"][:, 0], "new": rows["X"][:, 1]},
        rows["y"],
        qid=rows["qid"],
        metrics=["ndcg@5", "map"],
        n_resamples=200,
    ).to_dict()
    beside = run("compare", folder / "data.txt", *saved, "--scores", "new=2", "--n-resamples", 200, "--format", "json")
    assert beside.status == 0, beside.err
    assert json.loads(beside.out)["rows"] == expected["rows"]
    new = tmp_path / "new.parquet"
    assert (
        run("evaluate", folder / "data.txt", "--scores", "new=2", "--metrics", "ndcg@5,map", "--save", new).status == 0
    )
    alone = run(
        "compare", *saved, "--result", f"new={new}", "--n-resamples", 200, "--format", "json", "--gate", "ndcg@5 > -1"
    )
    assert alone.status == 0, alone.err
    assert json.loads(alone.out)["rows"] == expected["rows"]
    split = run(
        "compare", *saved, "--result", f"new={new}", "--n-resamples", 200, "--segment", "n_documents", "--format", "csv"
    )
    lines = list(csv.DictReader(io.StringIO(split.out)))
    assert {line["segmentation"] for line in lines} == {"", "n_documents"}
    assert [line["segment"] for line in lines[:2]] == ["", ""]
    assert [float(line["difference"]) for line in lines[:2]] == [row["difference"] for row in expected["rows"]]


def test_a_gate_gives_the_status(run: Run, folder: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    command = ["compare", folder / "data.txt", "--scores", "base=1", "--scores", "new=2", *FAST]
    opened, shut = ["--gate", "ndcg@5 > -0.9"], ["--gate", "share(map < -0.05) < 1%"]
    done = run(*command, *opened)
    assert done.status == 0
    assert done.err.startswith("PASS  new: ndcg@5 > -0.9: ")
    out = tmp_path / "x.json"
    done = run(*command, *opened, *shut, "--output", out)
    assert done.status == 1
    assert [line[:4] for line in done.err.splitlines()] == ["Wrot", "PASS", "FAIL"]
    plain = json.loads(out.read_text())  # the output is written all the same
    expected = ltr.compare(
        {"base": rows["X"][:, 0], "new": rows["X"][:, 1]},
        rows["y"],
        qid=rows["qid"],
        metrics=["ndcg@5", "map"],
        n_resamples=200,
    )
    assert plain["gate"] == gate(expected, ["ndcg@5 > -0.9", "share(map < -0.05) < 1%"]).to_dict()
    each = run(*command, "--gate", "ndcg@5 > -0.9", "--gate-each-segment", "--segment", "n_documents")
    assert len(each.err.splitlines()) > 2
    report = run("report", *command[1:], *shut, "--format", "json")
    assert report.status == 1
    assert json.loads(report.out)["gate"]["passed"] is False


def test_names_are_escaped_in_every_format(run: Run, folder: Path) -> None:
    name = r"a|b_$x$<i>\#%&"
    command = [
        "compare",
        folder / "data.txt",
        "--scores",
        "base=1",
        "--scores",
        f"{name}=2",
        *FAST,
        "--segment",
        "n_documents",
    ]
    assert name in run(*command).out
    markdown = run(*command, "--format", "markdown").out
    assert r"a\|b\_\$x\$&lt;i&gt;\\\#%&amp;" in markdown
    assert name not in markdown
    assert "## n\\_documents=" in markdown
    latex = run(*command, "--format", "latex").out
    tables = [line for line in latex.splitlines() if not line.startswith("%")]
    assert name not in "\n".join(tables)
    assert sum(r"a|b\_\$x\$" in line for line in tables) == latex.count(r"\toprule") * 2
    assert json.loads(run(*command, "--format", "json").out)["models"] == [name]


# -- report ----------------------------------------------------------------------------------------


def test_a_report_is_html_by_its_name(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = run("report", folder / "data.txt", "--scores", "base=1", "--scores", "<b>new</b>=2", *FAST, "--output", out)
    assert (done.status, done.out) == (0, ""), done.err
    page = out.read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<b>new</b>" not in page
    assert "&lt;b&gt;new&lt;/b&gt;" in page
    plain = json.loads(
        run("report", folder / "data.txt", "--scores", "a=1", "--scores", "b=2", *FAST, "--format", "json").out
    )
    assert plain["comparison"]["baseline"] == "a"
    assert (
        json.loads(run("report", folder / "data.txt", "--scores", "a=1", "--format", "json").out)["comparison"] is None
    )


@pytest.mark.parametrize(
    ("name", "begins"),
    [("x.json", "{"), ("x.md", "- Data"), ("x.tex", "% Data"), ("x.csv", "model,qid"), ("x.txt", "Data ")],
)
def test_the_name_says_the_format(run: Run, folder: Path, tmp_path: Path, name: str, begins: str) -> None:
    done = run("evaluate", folder / "data.txt", "--scores", "a=1", "--output", tmp_path / name)
    assert (done.status, done.out, done.err) == (0, "", f"Wrote {tmp_path / name}.\n")
    assert (tmp_path / name).read_text().startswith(begins)
    run("evaluate", folder / "data.txt", "--scores", "a=1", "--output", tmp_path / name, "--format", "json")
    assert json.loads((tmp_path / name).read_text())["models"]["a"]


# -- TREC ------------------------------------------------------------------------------------------


def test_trec_files(run: Run, data: Path) -> None:
    trec = data / "trec_eval"
    command = ["evaluate", "--qrels", trec / "qrels.test", "--run", f"x={trec / 'results.test'}", "--format", "json"]
    done = run(*command, "--convention", "trec_eval", "--metrics", "map,p@10,rprec,mrr,success@10")
    assert done.status == 0, done.err
    means = {metric: line["mean"] for metric, line in json.loads(done.out)["models"]["x"].items()}
    assert list(means) == ["map(denominator=relevant)", "precision@10", "rprec", "mrr", "hit@10"]
    assert [round(value, 4) for value in means.values()] == [0.1785, 0.3, 0.2174, 0.4064, 0.6667]  # its own out.test


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (["lacks"], "The run 'lacks' lacks topics of the qrels: 1, 2. Choose the topics"),
        (["has"], "The run 'has' has topics without judgments: 11, 12. Choose the topics"),
        (
            ["a", "lacks", "has"],
            "'lacks' lacks topics of the qrels: 1, 2. The run 'has' has topics without judgments: 11, 12.",
        ),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "report", "compare"])
def test_other_topics_are_refused_by_name(run: Run, folder: Path, runs: list[str], message: str, command: str) -> None:
    given = [text for name in runs for text in ("--run", f"{name}={folder / name}.run")]
    given += ["--run", f"b={folder / 'b.run'}"] if command == "compare" else []
    done = run(command, "--qrels", folder / "qrels", *given)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "--topics both leaves out" in done.err
    assert "--topics qrels keeps all" in done.err


def test_topics_say_what_becomes_of_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 9 x\n3 Q0 b 1 9 x\n")
    command = ["evaluate", "--qrels", tmp_path / "qrels", "--run", f"x={tmp_path / 'run'}", "--metrics", "map"]
    command += ["--convention", "trec_eval", "--format", "json"]
    done = run(*command, "--topics", "both")
    assert (
        "lacks topics of the qrels: 2. With --topics both, topics that the qrels or a run lacks are left out of all runs."
        in done.err
    )
    assert json.loads(done.out)["models"]["x"]["map(denominator=relevant)"]["mean"] == 1
    done = run(*command, "--topics", "qrels")
    assert "are queries without retrieved documents" in done.err
    assert json.loads(done.out)["models"]["x"]["map(denominator=relevant)"]["mean"] == 0.5


def test_runs_are_compared_over_the_same_topics(run: Run, folder: Path) -> None:
    command = ["compare", "--qrels", folder / "qrels", "--convention", "trec_eval", *FAST, "--format", "json"]
    a, b, lacks = (["--run", f"{name}={folder / name}.run"] for name in ("a", "b", "lacks"))
    done = run(*command, *a, *b, "--segment", "n_relevant")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    values = {}
    for name in "ab":
        read = read_trec(folder / "qrels", folder / f"{name}.run")
        values[name] = ltr.evaluate(**read, metrics=["ndcg@5", "map"], convention="trec_eval")  # type: ignore[arg-type]
    assert found["rows"] == ltr.compare(values, n_resamples=200).to_dict()["rows"]
    assert {part["name"] for part in found["segments"]} == {"n_relevant"}
    done = run(*command, *a, *lacks, "--topics", "both")
    assert done.status == 0
    assert json.loads(done.out)["n_queries"] == 8
    alone = run("evaluate", *command[1:3], *a, *lacks, "--topics", "both", "--format", "json", "--metrics", "map")
    assert [
        model["map"]["n_queries"] + model["map"]["n_undefined"] for model in json.loads(alone.out)["models"].values()
    ] == [8, 8]
    assert json.loads(run(*command, *a, *lacks, "--topics", "qrels").out)["n_queries"] == 10


# -- explain ---------------------------------------------------------------------------------------


def test_explain(run: Run, folder: Path, rows: dict[str, Any]) -> None:
    command = ["explain", folder / "data.csv", "--scores", "x=Column_0", "--metric", "ndcg@5", "--from", "lightgbm"]
    command += ["--to", "sklearn", "--ties", "stable"]
    expected = ltr.explain_difference(
        rows["y"], rows["X"][:, 0], qid=rows["qid"], metric="ndcg@5", a="lightgbm", b="sklearn", ties="stable"
    )
    assert json.loads(run(*command, "--format", "json").out) == {"x": expected.to_dict()}
    assert run(*command).out == f"x: {expected}\n"
    lines = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").out)))
    assert [line["field"] for line in lines] == list(expected.fields)
    assert {line["model"] for line in lines} == {"x"}


def test_explain_a_value(run: Run, folder: Path, rows: dict[str, Any]) -> None:
    command = ["explain", folder / "data.csv", "--scores", "x=Column_0", "--metric", "ndcg@5", "--value", "0.4100"]
    expected = ltr.identify_convention(rows["y"], rows["X"][:, 0], qid=rows["qid"], metric="ndcg@5", value="0.4100")
    assert json.loads(run(*command, "--format", "json").out) == {"x": expected.to_dict()}
    assert run(*command).out == f"x: {expected}\n"
    lines = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").out)))
    assert [float(line["value"]) for line in lines] == [one.value for one in expected.candidates]


@pytest.mark.slow
def test_a_hyphen_is_a_csv_from_standard_input(folder: Path) -> None:
    content = (folder / "data.csv").read_text()
    piped = as_process("evaluate", "-", "--scores", "Column_0", "--format", "json", input=content)
    named = as_process("evaluate", "data.csv", "--scores", "Column_0", "--format", "json", cwd=folder)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert json.loads(piped.stdout)["models"] == json.loads(named.stdout)["models"]
    assert json.loads(piped.stdout)["data"]["source"] == "standard input"
    compared = as_process("compare", "-", "--scores", "Column_0", "--scores", "Column_1", *FAST, input=content)
    assert (compared.returncode, compared.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["-"], "", "- cannot be read as csv: Empty CSV file"),
        (["-", "--sorted"], "qid,label,s\n7,1,2\n", "Standard input (-) cannot be read in batches"),
        (["-", "--engine", "dask"], "qid,label,s\n7,1,2\n", "--engine dask reads files, not standard input (-)"),
        pytest.param(
            ["/dev/stdin"],
            "qid,label,s\n7,1,2\n",
            "name a CSV from standard input - (a hyphen)",
            marks=needs_posix("/dev/stdin"),
        ),
    ],
)
def test_standard_input_that_cannot_be_read(arguments: list[str], content: str, message: str) -> None:
    done = as_process("evaluate", *arguments, "--scores", "s", input=content)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
