"""The table of docs/conventions.md, "Who agrees with what", computed here."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.filterwarnings("ignore:pfound takes the labels")

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
CONVENTIONS = ["default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor"]

X, GRADE, QID = ltr.make_ranking(n_queries=60, documents=20, no_relevant=0.2, random_state=5)
SCORE = np.round(X[:, 0], 1).astype(np.float32)  # ties; and the same numbers in systems that keep scores as float32
DOCID = np.random.default_rng(0).permutation(len(GRADE)).astype(str)
BINARY = (GRADE > 0).astype(float)

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


COMPARED = ("lightgbm", "xgboost", "catboost", "sklearn", "trec_eval")  # in tests/conformance


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
    lines = ["| metric | labels | " + " | ".join(CONVENTIONS) + " |", "|---" * (len(CONVENTIONS) + 2) + "|"]
    for (name, labels), of_convention in values.items():
        cells = [
            "-" if value is None else f"**{value:.4f}**" if convention in COMPARED else f"{value:.4f}"
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
