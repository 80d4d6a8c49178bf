"""``ltr-metrics curve``: the rounds of model files, and learning curves in the report."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Done, in_process, made_rows, write_files

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

Run = Callable[..., Done]
METRICS = ["ndcg@5", "map"]
MODEL = ("--model", "new=model.txt")
FAST = (*MODEL, "-m", ",".join(METRICS))


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
    return partial(in_process, capsys, "curve")


def log_of(rows: dict[str, Any], **options: Any) -> ltr.PerQueryLog:
    return ltr.learning_curve("model.txt", rows["X"], rows["y"], qid=rows["qid"], metrics=METRICS, **options)


def as_text(curve: dict[str, Any]) -> dict[str, Any]:
    """Make text of the query ids of a curve, as a table may."""
    for query in curve["overfit"]:
        query["qid"] = str(query["qid"])
    return curve


def as_read(curve: Any) -> dict[str, Any]:
    return as_text(curve.to_dict())


@pytest.mark.parametrize("data", ["data.txt", "data.csv", "data.parquet"])
def test_the_curves_are_those_of_the_library(run: Run, rows: dict[str, Any], data: str) -> None:
    done = run(data, *FAST, "--every", 2, "--confidence", "0.9", "--format", "json")
    assert (done.status, done.err) == (0, "")
    written = json.loads(done.out)
    assert written["data"] == {"source": data, "rows": len(rows["y"]), "queries": 40}
    log = log_of(rows, every=2, name="new")
    for metric, curve in zip(METRICS, written["curves"], strict=True):
        expected = as_read(log.learning_curve("new", metric, 0.9))
        as_text(curve)
        chosen = log.best_round("new", metric, confidence=0.9)
        assert curve == {"model": "new"} | expected | {"keep_n_rounds": chosen.n_rounds}
        assert curve["rounds"] == [1, 3, 4]  # counted from 0, and the last one
    assert written["origins"] == {"new": "model.txt"}


def test_the_last_round_is_what_evaluate_finds(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    curve = pd.read_csv(io.StringIO(run("data.csv", *FAST, "--format", "csv").out))
    done = in_process(capsys, "evaluate", "data.csv", *FAST, "--format", "json")
    means = json.loads(done.out)["models"]["new"]
    last = curve[curve["n_rounds"] == 5].set_index("metric")["mean"]
    assert dict(last) == {metric: one["mean"] for metric, one in means.items()}
    assert list(curve["n_rounds"]) == [1, 2, 3, 4, 5] * 2
    assert (curve["low"] < curve["mean"]).all()
    assert (curve["mean"] < curve["high"]).all()
    assert list(curve.groupby("metric")["is_best"].sum()) == [1, 1]
    assert curve[curve["is_best"]]["is_in_plateau"].all()


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_tables_mark_the_best_round_and_say_how_many_to_keep(run: Run, rows: dict[str, Any], form: str) -> None:
    done = run("data.csv", *FAST, "--model", "again=model.txt", "--format", form)
    assert (done.status, done.err) == (0, "")
    log, plain = log_of(rows), " ".join(done.out.replace("\\", "").split())
    for metric in METRICS:
        chosen = log.best_round("data", metric)
        best = f"*{chosen.curve[chosen.best]:.4f}"
        assert plain.count(best) == 2
        assert plain.count(" ".join(str(chosen).split())) == 2
    assert re.findall(r"(\w+): model\.txt", done.out) == ["new", "again"]


def test_options_are_those_of_evaluate(run: Run, rows: dict[str, Any]) -> None:
    options = ["--weight", "traffic", "--convention", "letor", "--no-relevant", "1", "--ties", "worst"]
    done = run("data.csv", *MODEL, "-m", "map", *options, "--format", "csv")
    assert (done.status, done.err) == (0, "")
    expected = ltr.learning_curve(
        "model.txt",
        rows["X"],
        rows["y"],
        qid=rows["qid"],
        metrics="map",
        sample_weight=1.0 + rows["qid"] % 2,
        convention="letor",
        no_relevant=1,
        ties="worst",
    ).best_round("data", "map")
    assert list(pd.read_csv(io.StringIO(done.out))["mean"]) == pytest.approx(list(expected.curve), rel=1e-14)


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_figure(run: Run, tmp_path: Path, ending: str, begins: bytes) -> None:
    figures = [tmp_path / f"{i}.{ending}" for i in range(1 + (ending == "svg"))]
    for figure in figures:
        done = run("data.csv", *FAST, "--model", "again=model.txt", "--plot", figure, "-o", tmp_path / "curve.md")
        assert (done.status, done.out) == (0, "")
        assert done.err == f"Wrote {figure}.\nWrote {tmp_path / 'curve.md'}.\n"
    drawn = [figure.read_bytes() for figure in figures]
    assert drawn[0].startswith(begins)
    if ending == "svg":
        assert drawn[0] == drawn[1]
        assert drawn[0].count(b'id="axes_') == 2


BAD = {
    "no data": ([], "Name the DATA: LETOR files or tables."),
    "no model": (["data.csv"], "Name at least one model file: --model NAME=FILE."),
    "no file": (["data.csv", "--model", "absent.txt"], "There is no model file absent.txt"),
    "not a model": (["data.csv", "--model", "a=data.txt"], "a: data.txt is not a LightGBM or XGBoost model file"),
    "both kinds": (["data.csv", "data.txt", *MODEL], "must be tables or LETOR files, not both"),
    "no feature": (["nan.csv", *MODEL], "new: The data lack the model's feature 'Column_0'"),
    "features": (["narrow.txt", *MODEL], "new: The model model.txt has 6 features, the data have 1"),
    "every": (["data.csv", *MODEL, "--every", "0"], "0 is not in the range x>=1"),
    "confidence": (["data.csv", *MODEL, "--confidence", "1"], "confidence must be a number between 0 and 1"),
    "metric": (["data.csv", *MODEL, "-m", "ndgc"], "Did you mean 'ndcg'"),
    "scores": (["data.csv", *MODEL, "--scores", "flat"], "No such option"),
    "figure": (["data.csv", *MODEL, "--plot", "a.bmp"], "--plot a.bmp must end in one of .svg, .png, .pdf"),
    "figure without folder": (["data.csv", *MODEL, "--plot", "no/a.svg"], "There is no folder no"),
    "two files in one": (["data.csv", *MODEL, "--plot", "a.svg", "-o", "a.svg", "--format", "csv"], "written twice"),
    "an input": (
        ["data.csv", *MODEL, "--format", "csv", "-o", "data.csv"], "must not be a file that the command reads"
    ),
    "one query": (["one.csv", *MODEL, "-m", "map"], "needs at least two queries"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_exits_with_2(run: Run, made: Path, rows: dict[str, Any], case: str) -> None:
    frame = pd.DataFrame(rows["X"], columns=[f"Column_{j}" for j in range(6)])
    frame.assign(qid=1, label=rows["y"]).to_csv(made / "one.csv", index=False)
    (made / "narrow.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:2\n")
    arguments, message = BAD[case]
    before = sorted(made.iterdir())
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert sorted(made.iterdir()) == before


# -- in the report ----------------------------------------------------------------------------------------------------


def test_the_report_has_learning_curves(
    run: Run, capsys: pytest.CaptureFixture[str], rows: dict[str, Any], tmp_path: Path
) -> None:
    arguments = ["report", "data.csv", *FAST, "--scores", "flat", "--learning-curve", "2", "--confidence", "0.9"]
    done = in_process(capsys, *arguments, "--format", "json")
    assert (done.status, done.err) == (0, "")
    log = log_of(rows, every=2)
    expected = [{"model": "new"} | as_read(log.learning_curve("data", metric, 0.9)) for metric in METRICS]
    assert list(map(as_text, json.loads(done.out)["learning"])) == expected
    assert in_process(capsys, *arguments, "--output", tmp_path / "report.html").status == 0
    assert "Training of new: map by round" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_without_a_model_file_has_no_rounds(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(
        capsys, "report", "data.csv", "--scores", "flat", "--learning-curve", "2", "--output", "report.html"
    )
    assert (done.status, done.out) == (2, "")
    assert "--learning-curve needs a model file: --model NAME=FILE." in done.err
