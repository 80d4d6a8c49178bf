"""The example report of the documentation: three rankings of synthetic queries, and a gate.

python docs/example_report.py report.html          # writes the page
python docs/example_report.py docs/_static/report.png   # writes its first screen, light and dark, with Chromium
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas

import ltr_metrics as ltr
from ltr_metrics.io import write_whole
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import as_html, summarize

METRICS = ["ndcg@10", "err@10"]
RULES = ["ndcg@10 > -0.005"]
WIDTH, HEIGHT = 1280, 900  # of the screenshot, in pixels


def train(parts: list[np.ndarray], log: ltr.PerQueryLog) -> lgb.Booster:
    """Train LightGBM with early stopping on NDCG@10."""
    X, X_valid, y, y_valid, qid, qid_valid = parts
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid_set = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train_set)
    return lgb.train(
        {"objective": "lambdarank", "metric": "None", "num_threads": 1, "deterministic": True, "verbose": -1},
        train_set,
        num_boost_round=200,
        valid_sets=[valid_set],
        feval=feval(METRICS, log=log),
        callbacks=[lgb.early_stopping(20, first_metric_only=True, verbose=False)],
    )


def example_report() -> str:
    """Return the page: today's ranking, LightGBM, and today's ranking with a feature of noise."""
    data = ltr.make_ranking(n_queries=600, random_state=0)
    X, X_test, y, y_test, qid, qid_test = ltr.train_test_split(*data, test_size=0.5, random_state=0)
    log = ltr.PerQueryLog()
    booster = train(ltr.train_test_split(X, y, qid, test_size=0.25, random_state=0), log)
    documents = ltr.Queries(y_test, qid=qid_test).n_documents
    report = summarize(
        ltr.Queries(y_test, qid=qid_test, by={"documents": pandas.qcut(documents, 4, precision=0).astype(str)}),
        {
            "today": X_test[:, 0],
            "LightGBM": booster.predict(X_test, num_threads=1),
            "one more feature": X_test[:, 0] + 0.1 * X_test[:, 15],  # which says nothing about the grade
        },
        METRICS,
        baseline="today",
        rules=RULES,
        complete=True,
        learning={"LightGBM": [log.learning_curve("valid_0", METRICS[0])]},
        source="300 synthetic test queries",
        origins={"today": "feature 1", "LightGBM": "20 features", "one more feature": "feature 1 + 0.1 x feature 16"},
    )
    return as_html(report)


def screenshot(page: str, path: Path, *more_flags: str) -> None:
    """Write the first screen of a page as a PNG file of 256 colours."""
    from PIL import Image  # comes with Matplotlib

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "report.html")
        source.write_text(page, encoding="utf-8")
        shot = Path(folder, "report.png")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}"]
        flags += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", *more_flags]
        subprocess.run(["chromium", *flags, source.as_uri()], check=True)
        Image.open(shot).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if target.suffix == ".png":
        page = example_report()
        screenshot(page, target)
        screenshot(page, target.with_stem(f"{target.stem}-dark"), "--force-dark-mode")
    else:
        write_whole(target, example_report())
