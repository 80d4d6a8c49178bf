"""Files in every form, and the command, run in a folder that has a copy of them."""

from __future__ import annotations

import gzip
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from command import Done, in_process

import ltr_metrics as ltr


@pytest.fixture(scope="session")
def rows() -> dict[str, Any]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=6, random_state=0)
    return {"X": X, "y": y, "qid": np.asarray(qid)}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any]) -> Path:
    """The same rows as LETOR and as tables, TREC files, models, scores, saved results, and files that are damaged."""
    path = tmp_path_factory.mktemp("made")
    X, y, qid = rows["X"], rows["y"], rows["qid"]
    lines = [
        f"{label} qid:{query} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), start=1))
        for label, query, row in zip(y, qid, X, strict=True)
    ]
    text = "\n".join(lines) + "\n"
    (path / "data.txt").write_text(text)
    (path / "part.txt.gz").write_bytes(gzip.compress(text.encode())[:-500])
    frame = pd.DataFrame(X, columns=[f"Column_{j}" for j in range(6)]).assign(
        qid=qid, label=y, flat=0.0, words="x", user=qid % 13, device=np.where(qid % 3 == 0, "ph|one", "desk"),
        traffic=1.0 + qid % 2
    )  # fmt: skip
    frame = frame.assign(doc=[f"d{i}" for i in range(len(y))], twice=[f"d{i % 7}" for i in range(len(y))])
    frame.to_parquet(path / "data.parquet")
    frame.to_csv(path / "data.csv", index=False)
    frame.assign(n_documents=1).to_csv(path / "counted.csv", index=False)
    (path / "part.parquet").write_bytes((path / "data.parquet").read_bytes()[:-300])
    (path / "empty.csv").write_text("")
    (path / "empty.txt").write_text("")
    (path / "no_rows.csv").write_text("qid,label,s\n")
    (path / "nan.csv").write_text("qid,label,s\n1,1,0.5\n1,0,nan\n")
    (path / "bad.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:x\n")
    (path / "again.txt").write_text("1 qid:1 1:0.5 # docid = A\n0 qid:2 1:1 # docid = A\n0 qid:1 1:2 # docid = A\n")
    np.save(path / "scores.npy", X[:, 1])
    np.savetxt(path / "scores.txt", X[:, 1], fmt="%.17g")
    np.save(path / "short.npy", X[:-1, 1])
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    lgb.train({"objective": "lambdarank", "verbose": -1, "seed": 0}, train, 5).save_model(path / "model.txt")
    features = xgb.DMatrix(X, y, group=ltr.qid_to_group(qid), feature_names=[f"Column_{j}" for j in range(6)])
    xgb.train({"objective": "rank:ndcg", "seed": 0}, features, 4).save_model(path / "model.json")
    pool = catboost.Pool(X, y, group_id=qid, feature_names=[f"Column_{j}" for j in range(6)])
    settings = {"iterations": 4, "verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    catboost.CatBoostRanker(**settings).fit(pool).save_model(path / "model.cbm")
    ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@5", "map"]).save(path / "saved.parquet")
    ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@5", "map"], ties="worst").save(path / "worst.parquet")
    ltr.evaluate(y[qid > 3], X[qid > 3, 0], qid=qid[qid > 3], metrics=["ndcg@5", "map"]).save(path / "fewer.parquet")
    _write_trec(path)
    return path


def _write_trec(path: Path) -> None:
    rng = np.random.default_rng(0)
    judged = [(topic, f"D{d}", int(grade)) for topic in range(1, 11) for d, grade in enumerate(rng.integers(0, 3, 6))]
    (path / "qrels").write_text("".join(f"{topic} 0 {docno} {grade}\n" for topic, docno, grade in judged))
    for name, topics in {"a": range(1, 11), "b": range(1, 11), "lacks": range(3, 11), "has": range(1, 13)}.items():
        lines = [
            f"{topic} Q0 D{d} 0 {rng.normal():.4f} {name}\n" for topic in topics for d in range(0, 8, 1 + (name == "b"))
        ]
        (path / f"{name}.run").write_text("".join(lines))


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a copy of the files."""
    path = tmp_path / "data"
    shutil.copytree(made, path)
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], folder: Path) -> Callable[..., Done]:
    """A function that runs a command line, given as text, in the folder of the files."""
    return lambda line, *more: in_process(capsys, *shlex.split(line), *more)
