"""The examples run, on embedded data and on a user's own files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = EXAMPLES / "lightgbm_early_stopping.py"
WRITTEN = {"early_stopping.txt", "grid_search.txt", "per_query.csv", "report.html", "report.json"}


def run(*arguments: object, example: Path = EXAMPLE, folder: Path | None = None) -> str:
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(example), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def letor(path: Path, seed: int) -> Path:
    X, y, qid = ltr.make_ranking(60, n_features=5, documents=12, random_state=seed)
    lines = [
        f"{g} qid:{seed}{q} " + " ".join(f"{j}:{v:.6f}" for j, v in enumerate(row, 1))
        for row, g, q in zip(X, y, qid, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow
def test_on_embedded_data(tmp_path: Path) -> None:
    shown = run("--out", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == WRITTEN
    assert f"The report: {(tmp_path / 'report.html').as_uri()}\n" in shown  # a terminal opens it
    assert "Early stopping, best iteration is" in shown
    assert "Evaluated only: err@10" in shown
    summary = json.loads((tmp_path / "report.json").read_text())
    means = {(row["model"], row["metric"]): row["mean"] for row in summary["means"]}
    assert list(dict.fromkeys(model for model, _ in means)) == ["today", "early stopping", "grid search"]
    assert means["grid search", "ndcg_exp@10"] > 0.7
    assert summary["comparison"]["baseline"] == "today"
    verdicts = {(row["metric"], row["model"]): row["ci_low"] > 0 for row in summary["comparison"]["rows"]}
    assert verdicts["ndcg_exp@10", "grid search"]  # what the demo is to show: a clear win,
    assert not verdicts["err@10", "early stopping"]  # and a difference that is not clear
    assert re.search(r"grid search, ndcg_exp@10: .*\n    This is a clear win: the whole interval is above 0\.", shown)
    assert re.search(r"early stopping, err@10: .*\n    This is not clear: the interval contains 0\.", shown)


@pytest.mark.slow
def test_on_a_users_files(tmp_path: Path) -> None:
    train, valid, test = (letor(tmp_path / f"{seed}.txt", seed) for seed in (1, 2, 3))
    run("--letor", train, "--out", tmp_path / "split")
    assert {p.name for p in (tmp_path / "split").iterdir()} == WRITTEN
    run("--letor", train, "--valid", valid, "--test", test, "--out", tmp_path / "given")
    summary = json.loads((tmp_path / "given" / "report.json").read_text())
    assert summary["data"]["n_queries"] == 60
    command = [
        sys.executable,
        "-m",
        "ltr_metrics",
        "report",
        str(test),
        "--format",
        "json",
        "--metrics",
        "err@10,ndcg@10",
    ]
    command += ["--model", f"stopped={tmp_path / 'given' / 'early_stopping.txt'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (again,) = [row for row in json.loads(done.stdout)["means"] if row["metric"] == "err@10"]
    (before,) = [row for row in summary["means"] if (row["model"], row["metric"]) == ("early stopping", "err@10")]
    assert (before | {"model": "stopped"}).items() <= again.items()  # with an interval


FURTHER = {
    "xgboost_early_stopping": ("xgboost", [], r"XGBRanker: best round (\d+), err@10 = 0\.\d{6}"),
    "catboost_early_stopping": ("catboost", [], r"CatBoostRanker: best round (\d+), err@10 = 0\.\d{6}"),
    "sklearn_grid_search": ("sklearn", [], r"Best: {.*}, stopped after (\d+) rounds"),
    "optuna_search": ("optuna", ["--trials", "2"], r"Best of 2 trials: ndcg@10 = 0\.\d{6}"),
    "wandb_tracking": ("wandb", [], r"XGBoost, run \w+:"),
    "dask_xgboost": ("distributed", [], r"Best round (\d+), err@10 = 0\.\d{6}"),
    "spark_grid_search": ("pyspark", [], r"max_depth=6: ndcg@10 = 0\.\d{4}"),
    "mlflow_tracking": ("mlflow", ["--tracking-uri", "sqlite:///{folder}/runs.db"], r"XGBoost, run \w{32} in sqlite"),
}


ALONE = {"example_data", "report", "which_metric_should_stop", "published_on_mq2008"}


def test_each_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {EXAMPLE.stem, *ALONE, *FURTHER}


@pytest.mark.slow
def test_from_data_to_the_report(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="xgboost is not installed")
    train, test = letor(tmp_path / "train.txt", 1), letor(tmp_path / "test.txt", 2)
    shown = run(
        "--letor", train, "--test", test, "--today", 2, "--out", tmp_path / "out", example=EXAMPLES / "report.py"
    )
    written = {"lightgbm.parquet", "lightgbm.txt", "report.html", "report.json", "xgboost.json"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == written
    assert re.search(r"(PASS|FAIL)  XGBoost: ndcg@10 > -0.005", shown)
    summary = json.loads((tmp_path / "out" / "report.json").read_text())
    assert summary["comparison"]["baseline"] == "today"
    assert [curve["model"] for curve in summary["learning"]] == ["LightGBM", "XGBoost"]
    saved = ltr.load_result(tmp_path / "out" / "lightgbm.parquet")
    assert {"metric": "map", "model": "LightGBM", "mean": saved["map"]}.items() <= next(
        row for row in summary["means"] if (row["metric"], row["model"]) == ("map", "LightGBM")
    ).items()


@pytest.mark.slow
def test_rules_of_stopping_are_compared(tmp_path: Path) -> None:
    parts = [letor(tmp_path / f"{seed}.txt", seed) for seed in range(5)]
    options = ["--letor", *parts, "--report", "map", "--rounds", 5, "--seeds", 2]
    shown = run(*options, example=EXAMPLES / "which_metric_should_stop.py")
    assert shown.startswith("map on 300 test queries, 5 folds, 2 seeds\n")
    means = {line[:26].strip(): float(line[34:44]) for line in shown.splitlines()[3:]}
    assert len(means) == 8
    assert means["best on test (not a rule)"] == max(means.values())


@pytest.mark.slow
def test_published_findings_are_tried(data: Path) -> None:
    for module in ("catboost", "xgboost"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    files = [data / "mq2008" / f"S{part}.txt.xz" for part in range(1, 6)]
    shown = run(*files, example=EXAMPLES / "published_on_mq2008.py")
    differences = re.findall(r"^(?:ndcg_exp@10|map) +\w.*\[.*\] +\S+ +([01]\.\d+)", shown, flags=re.MULTILINE)
    assert len(differences) == 12
    assert all(float(adjusted) > 0.05 for adjusted in differences)  # as Gomes et al. found
    rows = [[float(value) for value in line[34:].split()] for line in shown.splitlines()[-4:]]
    published, _, _, large = np.array(rows)
    np.testing.assert_allclose(large, published, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own_files"),
    # All of them read files in example_data.py, and Spark's takes half a minute.
    [(name, own_files) for name in FURTHER for own_files in (False, True) if not (own_files and "spark" in name)],
)
def test_further_examples(name: str, own_files: bool, tmp_path: Path) -> None:
    module, options, expected = FURTHER[name]
    pytest.importorskip(module, reason=f"{module} is not installed")
    if module == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark wants Java, and there is none")
    arguments = [option.format(folder=tmp_path) for option in options]
    if own_files:
        arguments += ["--letor", str(letor(tmp_path / "train.txt", 1)), "--test", str(letor(tmp_path / "test.txt", 2))]
    shown = run(*arguments, example=EXAMPLES / f"{name}.py", folder=tmp_path)
    assert re.search(expected, shown)
    table = shown[shown.index("metric  ") :].splitlines()
    means = {line.split()[0]: float(line.split()[1]) for line in table[1:] if re.match(r"\S+ +[01]\.\d{6} ", line)}
    assert len(means) == 4
    if not own_files:
        assert next(value for name, value in means.items() if name.startswith("ndcg")) > 0.7
