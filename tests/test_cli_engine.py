"""``evaluate --engine``: the numbers of the plain command, from tables that Dask and Spark read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Done, as_process, in_process

import ltr_metrics as ltr

pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'ltr_metrics[dask]'")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*inplace:DeprecationWarning"),  # of pandas 3.1, by Dask's reader of Parquet
]

Run = Callable[..., Done]
SCORES = ("--scores", "new=s1", "--scores", "old=s0")
OPTIONS = ("--weight", "w", "--segment", "device", "--docid", "doc", "--metrics", "ndcg@5,map,mean_of(margin)@2")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: in_process(capsys, *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine")
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=3, random_state=0)
    frame = pd.DataFrame({"qid": [f"{q:03d}" for q in qid], "label": y, "s0": X[:, 0].round(1), "s1": X[:, 1]})
    frame["w"], frame["margin"] = 1.0 + qid % 2, X[:, 2]
    frame["doc"], frame["device"] = [f"d{i}" for i in range(len(y))], np.where(qid % 3 == 0, "ph|one", "NA")
    half = len(frame) // 2
    for name, rows in (("a", frame.iloc[:half]), ("b", frame.iloc[half:]), ("whole", frame)):
        rows.to_parquet(path / f"{name}.parquet")
        rows.to_csv(path / f"{name}.csv", index=False)
        rows.to_csv(path / f"{name}.tsv.gz", index=False, sep="\t")
    cut = frame.sample(frac=1, random_state=0)
    cut.iloc[:100].to_parquet(path / "cut_a.parquet")
    cut.iloc[100:].to_parquet(path / "cut_b.parquet")
    (path / "bad.parquet").write_bytes((path / "a.parquet").read_bytes()[:500])
    (path / "words.csv").write_text("qid,label,s1,s0\n7,1,high,1\n7,0,low,2\n")
    (path / "missing.csv").write_text("qid,label,s1,s0\n7,1,1,1\n,0,2,2\n")
    (path / "data.txt").write_text("1 qid:7 1:1\n")
    return path


def parts(folder: Path, ending: str) -> list[Path]:
    return [folder / f"a{ending}", folder / f"b{ending}"]


def agree(found: str, expected: str) -> None:
    """JSON of the engine and of ``--sorted``."""
    one, other = json.loads(found)["models"], json.loads(expected)["models"]
    assert list(one) == list(other)
    for name, model in other.items():
        assert one[name]["n_queries"] == model["n_queries"]
        assert one[name]["n_undefined"] == model["n_undefined"]
        assert one[name]["mean"] == pytest.approx(model["mean"], rel=0, abs=1e-12)
        by = [{part["segment"]: part["mean"] for part in of["segments"]} for of in (one[name], model)]
        assert by[0].keys() == by[1].keys()
        for segment, mean in by[1].items():
            assert by[0][segment] == pytest.approx(mean, rel=0, abs=1e-12)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv.gz"])
def test_dask_gives_the_same_numbers(run: Run, folder: Path, tmp_path: Path, ending: str) -> None:
    expected = run("evaluate", folder / f"whole{ending}", *SCORES, *OPTIONS, "--sorted", "--format", "json")
    command = ("evaluate", *parts(folder, ending), *SCORES, *OPTIONS, "--engine", "dask")
    found = run(*command, "--format", "json")
    assert (found.status, found.err) == (0, "")
    agree(found.out, expected.out)
    text = run(*command, "--ties", "docid")
    assert text.out == run("evaluate", folder / f"whole{ending}", *SCORES, *OPTIONS, "--sorted", "--ties", "docid").out
    done = run(*command, "--output", tmp_path / "x.csv", "--save", f"new={tmp_path / 'new.parquet'}")
    assert done.status == 0
    table = pd.read_csv(tmp_path / "x.csv")
    saved = ltr.load_result(tmp_path / "new.parquet")
    assert len(table) % saved.n_queries == 0
    assert saved.mean["map"] == pytest.approx(
        json.loads(expected.out)["models"]["new"]["mean"]["map"], rel=0, abs=1e-12
    )
    assert min(saved.qid.tolist()) == "001"


def test_queries_that_files_cut(run: Run, folder: Path) -> None:
    command = ("evaluate", *(folder / f"cut_{name}.parquet" for name in "ab"), *SCORES, *OPTIONS, "--engine", "dask")
    refused = run(*command)
    assert refused.status == 2
    assert "has rows in the partitions 0 and 1" in refused.err
    assert "--shuffle" in refused.err
    expected = run("evaluate", folder / "whole.parquet", *SCORES, *OPTIONS, "--sorted", "--format", "json")
    agree(run(*command, "--shuffle", "--format", "json").out, expected.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["whole.parquet", "--model", "m=whole.csv"], "evaluates scores, not models. Score the rows with Dask first"),
        (["data.txt", "--scores", "a=1"], "data.txt: --engine dask reads .parquet, .csv and .tsv"),
        (["a.parquet", "b.csv", *SCORES], "files of one kind"),
        (["whole.parquet"], "at least one column of scores"),
        ([*SCORES], "Name the DATA"),
        (["whole.parquet", *SCORES, "--sorted"], "cannot be combined. Use one of them"),
        (["whole.parquet", *SCORES, "--segment", "n_documents"], "from columns alone"),
        (["whole.parquet", *SCORES, "--n-features", "3"], "are for LETOR files"),
        (["whole.parquet", "--qrels", "data.txt", "--run", "a=data.txt"], "TREC files are read whole"),
        (["whole.parquet", "--scores", "a=s7"], "no column 's7'. It has qid"),
        (["whole.csv", *SCORES, "--qid", "quid"], "no column 'quid'. Did you mean 'qid'"),
        (["whole.parquet", *SCORES, "--metrics", "ndgc"], "Did you mean 'ndcg'"),
        (["bad.parquet", *SCORES], "Dask cannot evaluate bad.parquet"),
        (["words.csv", *SCORES], "Dask cannot evaluate words.csv"),
        (["missing.csv", *SCORES], "In partition 0: qid must have an id in every row: it is missing at row 1"),
        (["whole.parquet", *SCORES, "--format", "latex"], "--format latex is not available here"),
    ],
)
def test_what_dask_is_refused(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    done = run("evaluate", *arguments, "--engine", "dask")
    assert done.status == 2
    assert done.out == ""
    assert message in done.err
    assert "Traceback" not in done.err


def test_shuffle_is_for_an_engine(run: Run, folder: Path) -> None:
    done = run("evaluate", folder / "whole.parquet", *SCORES, "--shuffle")
    assert (done.status, "--shuffle needs --engine" in done.err) == (2, True)


@pytest.mark.slow
def test_no_progress_where_nobody_sees_it(folder: Path) -> None:
    done = as_process("evaluate", *parts(folder, ".parquet"), *SCORES, "--engine", "dask")
    assert (done.returncode, done.stderr) == (0, "")


SEVERAL = """
import json, sys
from ltr_metrics.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as left:
        print(left.code)
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark_gives_the_same_numbers(run: Run, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'ltr_metrics[spark]'")
    saved, endings = tmp_path / "new.parquet", [".parquet", ".csv"]
    commands = [
        [
            "evaluate",
            *parts(folder, ending),
            *SCORES,
            *OPTIONS,
            "--engine",
            "spark",
            "--output",
            tmp_path / f"{ending}.json",
        ]
        for ending in endings
    ]
    commands[0] += ["--save", f"new={saved}"]
    commands += [["evaluate", folder / "words.csv", "--scores", "a=s1", "--engine", "spark"]]
    given = json.dumps([list(map(str, command)) for command in commands])  # in one process, which starts Java once
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, given], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.split() == ["0", "0", "2"], done.stderr
    assert "ltr-metrics: error: Spark cannot evaluate" in done.stderr
    assert "Traceback" not in done.stderr
    for ending in endings:
        expected = run("evaluate", folder / f"whole{ending}", *SCORES, *OPTIONS, "--sorted", "--format", "json")
        agree((tmp_path / f"{ending}.json").read_text(), expected.out)
    assert ltr.load_result(saved).n_queries == 40
