"""The table of docs/conventions.md, "Who agrees with what": computed here, by us and by the systems themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.metrics import dcg_score, ndcg_score

import ltr_metrics as ltr
from ltr_metrics.metrics.requests import resolve

catboost_utils = pytest.importorskip("catboost.utils", reason="catboost is not installed")
pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:pfound takes the labels")]

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
CONVENTIONS = ["default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor"]

X, GRADE, QID = ltr.make_ranking(n_queries=60, documents=20, no_relevant=0.2, random_state=5)
SCORE = np.round(X[:, 0], 1).astype(np.float32)  # ties; and the same numbers in systems that keep scores as float32
GROUP = ltr.qid_to_group(QID)
DOCID = np.random.default_rng(0).permutation(len(GRADE)).astype(str)
BINARY = (GRADE > 0).astype(float)
OF_QUERY = np.split(np.arange(len(GRADE)), np.cumsum(GROUP)[:-1])

GRADES, RELEVANCE = "0 to 4", "0, 1"
ROWS = {  # metric, labels
    ("ndcg@10", GRADES): GRADE,
    ("dcg@10", GRADES): GRADE,
    ("err@10", GRADES): GRADE,
    ("map", RELEVANCE): BINARY,
    ("map@10", RELEVANCE): BINARY,
    ("precision@10", RELEVANCE): BINARY,
    ("recall@10", RELEVANCE): BINARY,
    ("mrr", RELEVANCE): BINARY,
    ("err@10", RELEVANCE): BINARY,
    ("pfound@10", RELEVANCE): BINARY,
}


def of_lightgbm(y: np.ndarray, names: list[str]) -> list[float]:
    """Scores are handed over as init_score, and the one tree adds nothing that float64 could hold."""
    train = lgb.Dataset(X, y, group=GROUP)
    valid = lgb.Dataset(X, y, group=GROUP, reference=train, init_score=SCORE.astype(np.float64))
    found = []
    for name in names:
        metric, _, k = name.partition("@")
        params = {"objective": "lambdarank", "learning_rate": 1e-300, "verbose": -1, "metric": metric}
        history: dict = {}
        params["eval_at"] = [int(k or 10_000)]
        lgb.train(params, train, 1, [valid], callbacks=[lgb.record_evaluation(history)])
        found += next(iter(history["valid_0"].values()))
    return found


def of_xgboost(y: np.ndarray, names: list[str]) -> list[float]:
    data = xgb.DMatrix(SCORE[:, None], y, group=GROUP, base_margin=SCORE)
    theirs = [name.replace("precision", "pre") for name in names]
    line = xgb.train({"objective": "rank:ndcg", "eval_metric": theirs, "learning_rate": 0.0}, data, 1).eval(data)
    shown = {m[1]: float(m[2]) for m in re.finditer(r"eval-([\w@]+):([\d.e+-]+)", line)}
    return [shown[name] for name in theirs]


def of_catboost(y: np.ndarray, names: list[str]) -> list[float]:
    called = {"precision": "PrecisionAt", "recall": "RecallAt", "pfound": "PFound"}
    found = []
    for name in names:
        metric, _, k = name.partition("@")
        theirs = called.get(metric, metric.upper()) + (f":top={k}" if k else "")
        found += catboost_utils.eval_metric(y, SCORE, theirs, group_id=QID)
    return found


def of_sklearn(y: np.ndarray, names: list[str]) -> list[float]:
    functions = {"ndcg@10": ndcg_score, "dcg@10": dcg_score}
    return [np.mean([functions[name]([y[rows]], [SCORE[rows]], k=10) for rows in OF_QUERY]) for name in names]


def of_trec_eval(y: np.ndarray, names: list[str]) -> list[float]:
    called = {"ndcg@10": "ndcg_cut_10", "map@10": "map_cut_10", "precision@10": "P_10", "recall@10": "recall_10"}
    measures = [called.get(name, {"mrr": "recip_rank"}.get(name, name)) for name in names]
    qrels = {
        str(q): dict(zip(DOCID[rows], y[rows].astype(int).tolist(), strict=True)) for q, rows in enumerate(OF_QUERY)
    }
    run = {
        str(q): dict(zip(DOCID[rows], SCORE[rows].astype(float).tolist(), strict=True))
        for q, rows in enumerate(OF_QUERY)
    }
    asked = {re.sub(r"_(\d+)$", r".\1", measure) for measure in measures}
    of_query = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    return [np.mean([values[measure] for values in of_query.values()]) for measure in measures]


SYSTEMS: dict[str, Callable[[np.ndarray, list[str]], list[float]]] = {
    "lightgbm": of_lightgbm,
    "xgboost": of_xgboost,
    "catboost": of_catboost,
    "sklearn": of_sklearn,
    "trec_eval": of_trec_eval,
}


def ours(name: str, y: np.ndarray, convention: str) -> float | None:
    if name == "err@10" and (convention == "catboost") != (y is BINARY):
        return None  # CatBoost takes labels for probabilities, the others take them for grades
    try:
        resolve(name, convention=convention)
    except ltr.LtrValueError:
        return None
    return ltr.evaluate(y, SCORE, qid=QID, docid=DOCID, metrics=name, convention=convention)[name]


def table() -> str:
    values = {
        (name, labels): {convention: ours(name, y, convention) for convention in CONVENTIONS}
        for (name, labels), y in ROWS.items()
    }
    for system, theirs in SYSTEMS.items():
        for row, y in ROWS.items():
            value = values[row][system]
            if value is not None:
                tolerance = 1e-7 if system == "catboost" and row[0] == "err@10" else 1e-12
                assert value == pytest.approx(theirs(y, [row[0]])[0], rel=tolerance), (system, row)
    lines = ["| metric | labels | " + " | ".join(CONVENTIONS) + " |", "|---" * (len(CONVENTIONS) + 2) + "|"]
    for (name, labels), of_convention in values.items():
        cells = [
            "-" if value is None else f"**{value:.4f}**" if convention in SYSTEMS else f"{value:.4f}"
            for convention, value in of_convention.items()
        ]
        lines.append(f"| `{name}` | {labels} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_table_in_the_documentation_is_what_is_computed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin, end = re.search(r"<!-- agreement.*-->\n", text).end(), text.index("<!-- end of agreement -->")
    computed = table() + "\n"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(text[:begin] + computed + text[end:], encoding="utf-8")
        return
    assert text[begin:end] == computed, "run this test with UPDATE_DOCS=1"
