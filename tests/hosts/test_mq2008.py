"""On real data: the four "NDCG@10" of one ranking, and one number in log, search and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ltr_metrics as ltr
from ltr_metrics.io import read_letor

METRICS = ["err@10", "ndcg_exp@10", "ndcg_lin@10", "map", "mrr"]
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:err counts grades")]


def test_four_ndcg_at_10_of_one_ranking(data: Path) -> None:
    """BM25 (feature 25) on all of MQ2008, ties in file order; 220 of the 784 queries have no relevant document."""
    X, y, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])

    def ndcg(name: str, **options: Any) -> float:
        return ltr.evaluate(y, X[:, 24], qid=qid, metrics=name, **options)[name]

    four = {"lightgbm": 0.6791, "xgboost": 0.6791, "gdeval": 0.5540, "trec_eval": 0.4052, "letor": 0.1623}
    for convention, expected in four.items():
        assert ndcg("ndcg@10", convention=convention, ties="stable") == pytest.approx(expected, abs=5e-5)
    assert ndcg("ndcg@10", no_relevant=1) - ndcg("ndcg@10", no_relevant=0) == pytest.approx(220 / 784)
    assert ltr.evaluate(y, X[:, 24], qid=qid, metrics="mrr").n_undefined["mrr"] == 220
