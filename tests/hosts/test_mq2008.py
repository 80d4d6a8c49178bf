"""On real data: the four "NDCG@10" of one ranking, and one number in log, search and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.io import read_letor
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import summarize
from ltr_metrics.sklearn import QueryRanker, make_scorer

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


def load(data: Path, dataset: str) -> tuple[Any, Any, Any]:
    if dataset == "mq2008":
        parts = [[data / "mq2008" / f"S{i}.txt.xz" for i in part] for part in ((1, 2, 3), (4,), (5,))]
        train, valid, test = (tuple(read_letor(part)) for part in parts)
        return train, valid, test
    folder = data / "lightgbm_lambdarank"
    train, test = (tuple(read_letor(folder / f"rank.{part}.xz", n_features=300)) for part in ("train", "test"))
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(*train, random_state=0)
    return (X, y, qid), (Xv, yv, qidv), test


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["mq2008", "lightgbm_lambdarank"])
def test_the_whole_path(data: Path, dataset: str) -> None:
    train, valid, test = load(data, dataset)
    train_set = lgb.Dataset(train[0], train[1], group=ltr.qid_to_group(train[2]))
    valid_set = lgb.Dataset(valid[0], valid[1], group=ltr.qid_to_group(valid[2]), reference=train_set)
    history: dict = {}
    booster = lgb.train(
        {
            "objective": "lambdarank",
            "metric": "None",
            "learning_rate": 0.05,
            "verbose": -1,
            "seed": 0,
            "num_threads": 2,
        },
        train_set,
        300,
        [valid_set],
        feval=feval(METRICS),
        callbacks=[lgb.early_stopping(30, first_metric_only=True, verbose=False), lgb.record_evaluation(history)],
    )
    best = booster.best_iteration
    assert best == int(np.argmax(history["valid_0"]["err@10"])) + 1 < 300

    # The same model, data and metric: one number in the log, by the scorer, and in the report.
    logged = {name: values[best - 1] for name, values in history["valid_0"].items()}
    report = summarize(ltr.Queries(valid[1], qid=valid[2]), {"stopped": booster.predict(valid[0])}, METRICS)
    assert dict(report.evaluations["stopped"]) == logged
    scored = make_scorer(METRICS)(_Fitted(booster), valid[0], valid[1], qid=valid[2])
    assert scored == logged
    on_test = summarize(ltr.Queries(test[1], qid=test[2]), {"stopped": booster.predict(test[0])}, METRICS)
    assert dict(on_test.evaluations["stopped"]) == (
        make_scorer(METRICS)(_Fitted(booster), test[0], test[1], qid=test[2])
    )

    # Every fold of the grid search: the scorer's number is an evaluation of that fold.
    frame = pd.DataFrame(train[0]).add_prefix("f").assign(qid=train[2])
    grid = {"estimator__num_leaves": [7, 31], "estimator__learning_rate": [0.05, 0.2]}
    model = lgb.LGBMRanker(n_estimators=30, verbose=-1, n_jobs=1, random_state=0)
    search = GridSearchCV(QueryRanker(model), grid, scoring=make_scorer("ndcg@10"), cv=GroupKFold(3), n_jobs=2)
    search.fit(frame, train[1], groups=train[2])
    setting = QueryRanker(model).set_params(**search.best_params_)
    for fold, (inside, outside) in enumerate(GroupKFold(3).split(frame, groups=train[2])):
        made = setting.fit(frame.iloc[inside], train[1][inside])
        by_hand = ltr.evaluate(
            train[1][outside], made.predict(frame.iloc[outside]), qid=train[2][outside], metrics="ndcg@10"
        )
        assert search.cv_results_[f"split{fold}_test_score"][search.best_index_] == by_hand["ndcg@10"]


class _Fitted:
    """A fitted booster with the one method that a scorer asks for."""

    def __init__(self, booster: lgb.Booster) -> None:
        self.booster = booster

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.booster.predict(X)
