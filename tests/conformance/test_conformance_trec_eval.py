"""trec_eval's measures, by pytrec_eval, under convention="trec_eval", query by query.

pytrec_eval gives no value to a query of which nothing is judged or nothing is retrieved; each query
here has one document that is both. It keeps scores as float32; the scores here are of that
precision, but for the test that is about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from strategies import random_data

import ltr_metrics as ltr

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")

CUTOFFS = [1, 3, 5, 10]
WHOLE_LIST = {
    "map": "map",
    "ndcg": "ndcg",
    "recip_rank": "mrr",
    "Rprec": "rprec",
    "bpref": "bpref",
    "11pt_avg": "iprec",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1",
}
AT_CUTOFFS = {"map_cut": "map", "ndcg_cut": "ndcg", "P": "precision", "recall": "recall", "success": "hit"}
LEVELS = {f"iprec_at_recall_{level / 10:.2f}": f"iprec(recall={level / 10:g})" for level in range(11)}
OURS = WHOLE_LIST | LEVELS | {f"{theirs}_{k}": f"{ours}@{k}" for theirs, ours in AT_CUTOFFS.items() for k in CUTOFFS}
MEASURES = {"iprec_at_recall", *WHOLE_LIST, *(f"{theirs}.{','.join(map(str, CUTOFFS))}" for theirs in AT_CUTOFFS)}


@dataclass(frozen=True)
class Run:
    y: np.ndarray
    score: np.ndarray
    qid: np.ndarray  # text
    docid: np.ndarray
    retrieved: np.ndarray
    judged: np.ndarray

    def theirs(self, relevance_level: int = 1) -> dict[str, dict[str, float]]:
        qrels: dict = {query: {} for query in self.qid}
        run: dict = {query: {} for query in self.qid}
        rows = zip(self.qid, self.docid, self.y, self.score, self.retrieved, self.judged, strict=True)
        for query, document, y, score, retrieved, judged in rows:
            if judged:
                qrels[query][document] = int(y)
            if retrieved:
                run[query][document] = float(score)
        return pytrec_eval.RelevanceEvaluator(qrels, MEASURES, relevance_level=relevance_level).evaluate(run)

    def ours(self, metrics: list[str]) -> ltr.Evaluation:
        rows = {"qid": self.qid, "docid": self.docid, "retrieved": self.retrieved, "judged": self.judged}
        return ltr.evaluate(self.y, self.score, metrics=metrics, convention="trec_eval", **rows)


def random_run(seed: int, levels: int) -> Run:
    """Document ids whose order as text is neither that of the rows nor that of the numbers in them;
    rows of all queries mixed.
    """
    data = random_data(seed, [0, 0, 1, 2, 3], levels=levels)
    rng = np.random.default_rng(seed)
    first = np.isin(np.arange(len(data.y)), np.cumsum(data.group) - data.group)
    retrieved = first | (rng.random(len(data.y)) < 0.7)
    judged = first | ~retrieved | (rng.random(len(data.y)) < 0.7)
    names = rng.choice(["a", "B", "é", "-", ""], len(data.y)) + rng.permutation(len(data.y)).astype(str)
    columns = (np.where(judged, data.y, 0), data.score, data.qid.astype(str), names, retrieved, judged)
    order = rng.permutation(len(data.y))
    return Run(*(column[order] for column in columns))


@pytest.mark.parametrize("relevance_level", [1, 2])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_values(levels: int, relevance_level: int) -> None:
    run = random_run(levels, levels)
    theirs = run.theirs(relevance_level)
    binary = {
        ours for ours in OURS.values() if not ours.startswith("ndcg")
    }  # trec_eval's ndcg knows no relevance level

    def name(ours: str) -> str:
        if relevance_level == 1 or ours not in binary:
            return ours
        metric, at, k = ours.partition("@")
        return f"{metric[:-1]},rel=2)" if metric.endswith(")") else f"{metric}(rel=2){at}{k}"

    result = run.ours([name(ours) for ours in OURS.values()])
    for measure, ours in OURS.items():
        each = [theirs[query][measure] for query in result.qid]
        np.testing.assert_allclose(result.per_query[name(ours)], each, rtol=0, atol=1e-12, err_msg=measure)
        assert result[name(ours)] == pytest.approx(np.mean(each), abs=1e-12)


def test_scores_that_differ_below_float32_tie_there_and_not_here() -> None:
    """The relevant "a" is ahead by 1e-9. As float32 both are 1, and the descending ids put "b" ahead."""
    both = np.array([True, True])
    run = Run(np.array([1, 0]), np.array([1 + 1e-9, 1.0]), np.array(["q", "q"]), np.array(["a", "b"]), both, both)
    assert run.theirs()["q"]["recip_rank"] == 0.5
    assert run.ours(["mrr"])["mrr"] == 1
    rounded = Run(run.y, run.score.astype(np.float32), run.qid, run.docid, both, both)
    assert rounded.ours(["mrr"])["mrr"] == 0.5
