"""The examples run, on embedded data and on a user's own files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ltr_metrics as ltr

EXAMPLE = Path(__file__).parent.parent / "examples" / "lightgbm_early_stopping.py"
WRITTEN = {"early_stopping.txt", "grid_search.txt", "per_query.csv", "report.json", "report.txt"}


def run(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *map(str, arguments)], capture_output=True, text=True, check=False
    )
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


def test_on_embedded_data(tmp_path: Path) -> None:
    shown = run("--out", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == WRITTEN
    assert str(tmp_path) in shown
    assert "Early stopping, best iteration is" in shown
    assert "Evaluated only: err@10" in shown
    summary = json.loads((tmp_path / "report.json").read_text())
    assert list(summary["models"]) == ["early stopping", "grid search"]
    assert summary["models"]["grid search"]["ndcg_exp@10"]["mean"] > 0.7


def test_on_a_users_files(tmp_path: Path) -> None:
    train, valid, test = (letor(tmp_path / f"{seed}.txt", seed) for seed in (1, 2, 3))
    run("--letor", train, "--out", tmp_path / "split")
    assert {p.name for p in (tmp_path / "split").iterdir()} == WRITTEN
    run("--letor", train, "--valid", valid, "--test", test, "--out", tmp_path / "given")
    summary = json.loads((tmp_path / "given" / "report.json").read_text())
    assert summary["data"]["queries"] == 60
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
    again = json.loads(done.stdout)["models"]["stopped"]
    assert again["err@10"] == summary["models"]["early stopping"]["err@10"]


def test_the_wrong_use_is_explained() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--test", "x.txt"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--valid and --test need --letor" in done.stderr
