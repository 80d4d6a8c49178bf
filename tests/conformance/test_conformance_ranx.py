"""ranx's metrics, query by query, on scores without ties (ranx's sort leaves the order of equal scores open).

ranx has no convention here. What it means: queries without a relevant document count 0, and so do
documents without a judgement; ``ndcg`` has linear gain and ``ndcg_burges`` the exponential one;
``map@k`` divides by R, as trec_eval, not by min(R, k); ``precision@k`` divides by k also where
fewer documents are retrieved; and where a cutoff is left out it is the number of retrieved
documents. Its RBP is ``rbp(graded=label)``, which can exceed 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies import random_data

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

numba = pytest.importorskip("numba", reason="ranx, and numba with it, is not installed")

OURS = {
    "ndcg": "ndcg_lin",
    "ndcg_burges": "ndcg_exp",
    "map": "map(denominator=relevant)",
    "mrr": "mrr",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "hit_rate": "hit",
}
AT_CUTOFFS = {theirs + at: ours + at for theirs, ours in OURS.items() for at in ("", "@1", "@3", "@5", "@10")}
WITHOUT_CUTOFF = {"r-precision": "rprec"}
RBP = {f"rbp.{p}": f"rbp(p=0.{p})" for p in (50, 95)}
GRADED_RBP = {"rbp.80": "rbp(graded=label)"}


@pytest.fixture
def ranx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions of ranx as plain Python: numba takes a minute to compile them."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    return pytest.importorskip("ranx", reason="ranx is not installed")


@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 1, 2, 3]], ids=["binary", "graded"])
def test_values(ranx: Any, grades: list[int]) -> None:
    names = AT_CUTOFFS | WITHOUT_CUTOFF | GRADED_RBP | (RBP if len(grades) == 2 else {})
    data = random_data(0, grades)
    rng = np.random.default_rng(0)
    score = rng.permutation(len(data.y))
    first = np.isin(np.arange(len(data.y)), np.cumsum(data.group) - data.group)
    retrieved = first | (rng.random(len(data.y)) < 0.8)

    qrels: dict = {f"q{query}": {} for query in data.qid}
    ranked: dict = {f"q{query}": {} for query in data.qid}
    for row, query in enumerate(data.qid):
        if data.y[row] or first[row]:  # the others are not judged
            qrels[f"q{query}"][f"d{row}"] = int(data.y[row])
        if retrieved[row]:
            ranked[f"q{query}"][f"d{row}"] = float(score[row])
    run = ranx.Run(ranked)
    ranx.evaluate(ranx.Qrels(qrels), run, list(names))

    result = ltr.evaluate(data.y, score, qid=data.qid, retrieved=retrieved, metrics=names.values(), no_relevant=0)
    for theirs, ours in names.items():
        each = [run.scores[theirs][f"q{query}"] for query in result.qid]
        np.testing.assert_allclose(result.per_query[str(ltr.metric(ours))], each, rtol=0, atol=1e-12, err_msg=theirs)


def test_rbp_of_graded_labels_is_not_divided_by_the_highest_grade(ranx: Any) -> None:
    theirs = ranx.evaluate(
        ranx.Qrels({"q": {"a": 3, "b": 2}}), ranx.Run({"q": {"a": 2.0, "x": 1.5, "b": 1.0}}), "rbp.50"
    )
    assert theirs == 0.5 * 3 + 0.125 * 2
    ours = ltr.evaluate([3, 0, 2], [2.0, 1.5, 1.0], group=[3], metrics="rbp(p=0.5,graded=max,max_grade=3)")
    assert next(iter(ours.mean.values())) == pytest.approx(theirs / 3, abs=1e-12)
