"""The report: the dict first, then its renderings, then the command."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr
from ltr_metrics.models import predict
from ltr_metrics.report import as_json, as_per_query_csv, as_text, summarize

METRICS = ["ndcg@10", "mrr", "map(rel=2)", "p@5"]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=6, random_state=0)
    return {"X": X, "y": y, "qid": qid, "scores": {"good": X[:, 0], "flat": np.zeros(len(y))}}


@pytest.fixture
def folder(tmp_path: Path, rows: dict[str, Any]) -> Path:
    """The same rows as LETOR and as tables, and a model."""
    X, y, qid = rows["X"], rows["y"], rows["qid"]
    lines = [
        f"{label} qid:{query} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), start=1))
        for label, query, row in zip(y, qid, X, strict=True)
    ]
    (tmp_path / "data.txt").write_text("\n".join(lines) + "\n")
    frame = pd.DataFrame(X, columns=[f"Column_{j}" for j in range(6)]).assign(qid=qid, label=y, flat=0.0, words="x")
    frame.to_parquet(tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv", index=False)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    lgb.train({"objective": "lambdarank", "verbose": -1, "seed": 0}, train, 5).save_model(tmp_path / "model.txt")
    return tmp_path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ltr_metrics", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_dict_says_what_evaluate_says(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    report = summarize(queries, rows["scores"], METRICS, source="here", ties="worst")
    assert json.loads(as_json(report)) == report.summary
    for name, score in rows["scores"].items():
        expected = ltr.evaluate(rows["y"], score, qid=rows["qid"], metrics=METRICS, ties="worst")
        for metric, line in report.summary["models"][name].items():
            values = expected.per_query[metric]
            assert line["mean"] == expected[metric]
            assert line["n_undefined"] == expected.n_undefined[metric] == 40 - line["n_queries"]
            assert line["quantiles"]["0.25"] == np.nanquantile(values, 0.25)
    described = report.summary["data"]
    assert described["rows"] == len(rows["y"])
    assert sum(described["grades"].values()) == len(rows["y"])
    assert described["queries_without_relevant"] == expected.n_undefined["mrr"]
    assert report.summary["options"] == {
        "ties": "worst",
        "no_relevant": "skip",
        "convention": "default",
        "weighted": False,
        "no_relevant_of": {},
    }


def test_a_metric_that_no_query_defines() -> None:
    report = summarize(ltr.Queries([0, 0], group=[2]), {"a": [1, 2]}, ["mrr"])
    assert report.summary["models"]["a"]["mrr"]["mean"] is None
    assert json.loads(as_json(report))["models"]["a"]["mrr"]["quantiles"]["0.5"] is None
    assert ["mrr", "a", *["-"] * 6, "0", "1"] in [line.split() for line in as_text(report).splitlines()]


def test_text_has_a_line_for_each_metric_and_model(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"], sample_weight=np.ones(len(rows["y"])))
    origins = {"good": "column 1", "flat": "flat.txt"}
    text = as_text(summarize(queries, rows["scores"], METRICS, source="here", origins=origins))
    heading, table, _ = text.split("\n\n")
    shown = dict(line.split(maxsplit=1) for line in heading.splitlines())
    assert shown["Data"] == "here"
    assert shown["Models"] == "good: column 1; flat: flat.txt"
    assert shown["Queries"] == "40, with nothing above grade 0: 5"
    assert shown["Options"] == "ties=mean, no_relevant=skip, convention=default, means weighted by query"
    lines = table.splitlines()
    assert lines[0].split()[:6] == ["metric", "model", "weighted", "mean", "q5", "q25"]
    assert [line.split()[:2] for line in lines[2:6:2]] == [["ndcg_exp@10", "good"], ["mrr", "good"]]
    assert [line.split()[0] for line in lines[3:7:2]] == ["flat", "flat"]
    assert len(lines) == 2 * len(METRICS) + 2
    assert {len(line) for line in lines} == {len(lines[0])}  # columns are aligned


def test_csv_has_a_line_for_each_model_and_query(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    text = as_per_query_csv(summarize(queries, rows["scores"], METRICS))
    read = list(csv.DictReader(io.StringIO(text)))
    assert list(read[0]) == ["model", "qid", "documents", "relevant", *map(str, map(ltr.metric, METRICS))]
    assert len(read) == 80
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="ndcg@10").per_query["ndcg@10"]
    got = [float(line["ndcg_exp@10"] or "nan") for line in read[:40]]
    np.testing.assert_array_equal(got, expected)  # to the last digit


@pytest.mark.parametrize("data", ["data.txt", "data.parquet", "data.csv"])
def test_the_command(folder: Path, rows: dict[str, Any], data: str) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    arguments = ["report", folder / data, "--model", f"new={folder / 'model.txt'}", "--scores", f"base={column}"]
    arguments += ["--metrics", "ndcg@10,map(rel=2,denominator=relevant)@5,ndcg(gain=[0,1,2,3,4])"]
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    models = json.loads(done.stdout)["models"]
    score = predict(folder / "model.txt", rows["X"])
    metrics = ["ndcg@10", "map(rel=2,denominator=relevant)@5", "ndcg(gain=[0,1,2,3,4])"]
    for name, column_of_scores in (("base", rows["X"][:, 0]), ("new", score)):
        expected = ltr.evaluate(rows["y"], column_of_scores, qid=rows["qid"], metrics=metrics)
        assert {metric: line["mean"] for metric, line in models[name].items()} == expected.mean


def test_the_command_writes_files(folder: Path) -> None:
    out = folder / "per_query.csv"
    done = run(
        "report",
        folder / "data.csv",
        "--scores",
        "flat=flat",
        "--format",
        "csv",
        "--out",
        out,
        "--ties",
        "best",
        "--no-relevant",
        "0",
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == f"Wrote {out}.\n"
    with out.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 40
    assert lines[0]["model"] == "flat"


def test_a_convention_brings_its_own_default_metrics(folder: Path) -> None:
    done = run("report", folder / "data.csv", "--scores", "a=Column_0", "--convention", "lightgbm", "--format", "json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert list(summary["models"]["a"]) == ["ndcg_exp@10", "map(rel=>0.5)"]
    assert summary["options"] == {
        "ties": "stable",
        "no_relevant": 1.0,
        "convention": "lightgbm",
        "weighted": False,
        "no_relevant_of": {},
    }


def test_a_model_of_pandas_categories_is_refused(folder: Path, rows: dict[str, Any]) -> None:
    X, y, qid = rows["X"], rows["y"], rows["qid"]
    frame = pd.DataFrame(X).add_prefix("Column_").assign(Column_5=pd.Categorical((X[:, 5] > 0).astype(int)))
    train = lgb.Dataset(frame, y, group=ltr.qid_to_group(qid))
    lgb.train({"objective": "lambdarank", "verbose": -1}, train, 2).save_model(folder / "categories.txt")
    with pytest.raises(ltr.LtrValueError, match=r"trained on pandas categories.*pass the scores as a column"):
        predict(folder / "categories.txt", frame)


def test_a_warning_is_one_line(folder: Path) -> None:
    path = folder / "binary.csv"
    path.write_text("qid,label,s\n1,1,0.5\n1,0,0.7\n")
    done = run("report", path, "--scores", "s=s")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: err counts grades")
    assert done.stderr.count("\n") == 1


BAD = {
    "nothing to score": (["data.txt"], "at least one model, column of scores or run"),
    "no such file": (["absent.txt", "--scores", "a=1"], "does not exist"),
    "no such model": (["data.txt", "--model", "a=absent.txt"], "no model file absent.txt"),
    "not a model": (["data.txt", "--model", "a={folder}/data.csv"], "not a LightGBM model file"),
    "no such feature": (["data.txt", "--scores", "a=9"], "by number, 1 to 6. Got '9'"),
    "no such column": (["data.csv", "--scores", "a=flaat"], "no column 'flaat'. Did you mean 'flat'"),
    "no such metric": (["data.csv", "--scores", "a=flat", "--metrics", "ndgc"], "Did you mean 'ndcg'"),
    "no such tie policy": (["data.csv", "--scores", "a=flat", "--ties", "random"], "ties must be one of"),
    "form": (["data.csv", "--scores", "flat"], "form NAME=VALUE. Got 'flat'"),
    "a name twice": (["data.csv", "--scores", "a=flat", "--scores", "a=Column_0"], "given twice for the name 'a'"),
    "a name for both": (["data.txt", "--scores", "a=1", "--model", "a={folder}/model.txt"], "names must differ"),
    "mixed files": (["data.txt", "data.csv", "--scores", "a=1"], "tables or LETOR files, not both"),
    "features": (["data.txt", "--n-features", "7", "--model", "a={folder}/model.txt"], "has 6 features, the data have 7"),
    "no folder": (["data.csv", "--scores", "a=flat", "--out", "absent/x.txt"], "no folder absent to write x.txt into"),
    "text scores": (["data.csv", "--scores", "a=flat", "--scores", "b=words"], "b: y_score must be numbers"),
    "options of LETOR": (["data.csv", "--scores", "a=flat", "--zero-based"], "are for LETOR files"),
    "a digit that is none": (["data.txt", "--scores", "a=²"], "by number, 1 to 6. Got '²'"),
    "gain table": (["data.txt", "--scores", "a=1", "--metrics", "ndcg(gain=[0,x])"], "one finite number a grade"),
    "in convention": (["data.txt", "--scores", "a=1", "--metrics", "mrr", "--convention", "lightgbm"], "not a metric of lightgbm"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_run_exits_with_2_and_one_message(folder: Path, case: str) -> None:
    arguments, message = BAD[case]
    data = [str(folder / a) if a.startswith("data.") else a.format(folder=folder) for a in arguments]
    done = run("report", *data)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_help_and_version() -> None:
    assert "Evaluate models: means" in run("evaluate", "--help").stdout
    assert "same as evaluate" in run("report", "--help").stdout
    assert ltr.__version__ in run("--version").stdout
    assert run("report").returncode == 2


def test_evaluate_by_segment_with_weights_in_every_format(folder: Path, rows: dict[str, Any]) -> None:
    frame = pd.read_parquet(folder / "data.parquet")
    frame = frame.assign(device=np.where(frame["qid"] % 3 == 0, "phone", "desk"), weight=1.0 + frame["qid"] % 2)
    frame.to_parquet(folder / "segments.parquet")
    command = [
        "evaluate",
        folder / "segments.parquet",
        "--scores",
        "a=Column_0",
        "--scores",
        "b=flat",
        "--metrics",
        "mrr,p@2",
    ]
    command += ["--by", "device", "--weight", "weight"]
    expected = ltr.evaluate(
        rows["y"],
        rows["X"][:, 0],
        qid=rows["qid"],
        metrics="mrr",
        sample_weight=frame["weight"],
        by={"device": frame["device"]},
    )
    plain = json.loads(run(*command, "--format", "json").stdout)
    assert plain["models"]["a"]["mrr"]["mean"] == expected["mrr"]
    (phone,) = [part for part in plain["segments"] if (part["model"], part["segment"]) == ("a", "phone")]
    assert phone["mean"]["mrr"] == expected.by["device"]["phone"]["mrr"]
    text = run(*command).stdout
    assert "weighted mean" in text
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("device=phone")] == [
        ["device=phone", "a"],
        ["device=phone", "b"],
    ]
    markdown = run(*command, "--format", "markdown").stdout
    assert "| metric" in markdown
    assert "- Data: " in markdown
    latex = run(*command, "--format", "latex").stdout
    assert latex.count(r"\toprule") == 2
    assert latex.startswith("% Data: ")


def test_trec_files(data: Path) -> None:
    folder = data / "trec_eval"
    command = [
        "evaluate",
        "--qrels",
        folder / "qrels.test",
        "--run",
        f"x={folder / 'results.test'}",
        "--format",
        "json",
    ]
    done = run(*command, "--convention", "trec_eval", "--metrics", "map,p@10,rprec,mrr,success@10")
    assert done.returncode == 0, done.stderr
    means = {metric: line["mean"] for metric, line in json.loads(done.stdout)["models"]["x"].items()}
    assert list(means) == ["map(denominator=relevant)", "precision@10", "rprec", "mrr", "hit@10"]
    assert [round(value, 4) for value in means.values()] == [0.1785, 0.3, 0.2174, 0.4064, 0.6667]  # its own out.test


def test_explain(folder: Path, rows: dict[str, Any]) -> None:
    command = [
        "explain",
        folder / "data.csv",
        "--scores",
        "x=Column_0",
        "--metric",
        "ndcg@5",
        "--a",
        "lightgbm",
        "--b",
        "sklearn",
    ]
    expected = ltr.explain_difference(
        rows["y"], rows["X"][:, 0], qid=rows["qid"], metric="ndcg@5", a="lightgbm", b="sklearn", ties="stable"
    )
    done = run(*command, "--ties", "stable", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"x": expected.to_dict()}
    assert run(*command, "--ties", "stable").stdout == f"x: {expected}\n"
    lines = list(csv.DictReader(io.StringIO(run(*command, "--ties", "stable", "--format", "csv").stdout)))
    assert [line["field"] for line in lines] == list(expected.fields)
    assert {line["model"] for line in lines} == {"x"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", "data.csv", "--scores", "x=flat", "--metric", "ndcg", "--a", "lightgbm", "--b", "trec_eval"],
            "needs docid",
        ),
        (
            ["explain", "data.csv", "--scores", "x=flat", "--metric", "err", "--a", "lightgbm", "--b", "gdeval"],
            "not a metric of",
        ),
        (["explain", "data.csv", "--scores", "x=flat", "--metric", "ndcg", "--a", "lightgbm"], "Missing option '--b'"),
        (["evaluate", "--qrels", "data.csv"], "--qrels FILE and --run NAME=FILE"),
        (["evaluate", "data.csv", "--scores", "x=flat", "--run", "x=data.csv"], "without DATA, --model and --scores"),
        (["evaluate", "--qrels", "data.csv", "--run", "x=data.csv", "--by", "device"], "--qrels have none"),
        (["evaluate", "data.txt", "--scores", "x=1", "--docid", "id"], "LETOR files have none"),
        (["evaluate"], "Name the DATA"),
        (["evaluate", "data.csv", "--scores", "x=flat", "--topics", "qrels"], "--topics is for TREC files"),
        (["evaluate", "data.csv", "--scores", "x=flat", "--by", "devic"], "no column 'devic'"),
    ],
)
def test_what_the_new_options_refuse(folder: Path, arguments: list[str], message: str) -> None:
    done = run(*(str(folder / a) if (folder / a).exists() else a for a in arguments))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_columns_of_a_table_serve_mean_of_and_segments_stand_in_the_csv(folder: Path, rows: dict[str, Any]) -> None:
    frame = pd.read_parquet(folder / "data.parquet")
    frame.assign(device=np.where(frame["qid"] % 2 == 0, "ph|one", "desk")).to_parquet(folder / "s.parquet")
    command = [
        "evaluate",
        folder / "s.parquet",
        "--scores",
        "a|b=Column_0",
        "--by",
        "device",
        "--metrics",
        "mean_of(Column_1)@2",
    ]
    plain = json.loads(run(*command, "--format", "json").stdout)
    expected = ltr.evaluate(
        rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="mean_of(x)@2", columns={"x": rows["X"][:, 1]}
    )
    assert plain["models"]["a|b"]["mean_of(Column_1)@2"]["mean"] == pytest.approx(expected["mean_of(x)@2"], rel=1e-12)
    lines = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").stdout)))
    assert [line["device"] for line in lines] == ["desk" if int(line["qid"]) % 2 else "ph|one" for line in lines]
    assert r"device=ph\|one" in run(*command, "--format", "markdown").stdout


def test_topics_that_a_run_lacks_or_has_alone_are_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 9 x\n3 Q0 b 1 9 x\n")
    command = ["evaluate", "--qrels", tmp_path / "qrels", "--run", f"x={tmp_path / 'run'}", "--metrics", "map"]
    done = run(*command, "--convention", "trec_eval", "--format", "json")
    assert "lacks topics of the qrels, which are left out of its means: 2." in done.stderr
    assert "topics without judgements, which are left out: 3." in done.stderr
    assert json.loads(done.stdout)["models"]["x"]["map(denominator=relevant)"]["mean"] == 1
    done = run(*command, "--convention", "trec_eval", "--format", "json", "--topics", "qrels")
    assert "count as queries for which nothing was retrieved: 2." in done.stderr
    assert json.loads(done.stdout)["models"]["x"]["map(denominator=relevant)"]["mean"] == 0.5
