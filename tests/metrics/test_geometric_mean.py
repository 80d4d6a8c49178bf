"""The geometric mean over queries, against trec_eval and by the formula."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import random_data

import ltr_metrics as ltr


def test_it_is_that_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    data = random_data(0, [0, 0, 1, 2])
    docid, qid = np.char.add("d", np.arange(len(data.y)).astype(str)), data.qid.astype(str)
    qrels: dict[str, dict[str, int]] = {query: {} for query in qid}
    run: dict[str, dict[str, float]] = {query: {} for query in qid}
    for query, document, y, score in zip(qid, docid, data.y, data.score, strict=True):
        qrels[query][document], run[query][document] = int(y), float(score)
    measures = {"gm_map": "map", "gm_bpref": "bpref"}
    logs = pytrec_eval.RelevanceEvaluator(qrels, set(measures)).evaluate(run)  # of one query: the logarithm
    result = ltr.evaluate(
        data.y, data.score, qid=qid, docid=docid, metrics=list(measures.values()), convention="trec_eval"
    )
    for theirs, ours in measures.items():
        expected = pytrec_eval.compute_aggregated_measure(theirs, [values[theirs] for values in logs.values()])
        assert result.geometric_mean(ours) == pytest.approx(expected, rel=1e-12)
        assert (result.per_query[ours] == 0).any()


def test_weights_and_undefined_values() -> None:
    rows = {"y_true": [1, 0, 0, 1, 0, 0], "y_score": [2, 1] * 3, "group": [2, 2, 2], "metrics": ["mrr"]}
    weighted = ltr.evaluate(**rows, query_weight=[1, 3, 100])
    assert weighted.geometric_mean("mrr") == pytest.approx((1 * 0.5**3) ** (1 / 4), rel=1e-15)
    counted = ltr.evaluate(**rows, no_relevant=0)
    assert counted.geometric_mean(ltr.MRR(), floor=0.1) == pytest.approx((1 * 0.5 * 0.1) ** (1 / 3), rel=1e-15)
    assert np.isnan(ltr.evaluate([0], [1], group=[1], metrics="mrr").geometric_mean("mrr"))


def test_what_cannot_be_is_refused() -> None:
    result = ltr.evaluate([0, 1], [2, 1], qid=["a", "a"], metrics=["kendall", "mrr"])
    with pytest.raises(ltr.LtrValueError, match="kendall is -1 for query a. Use the arithmetic mean"):
        result.geometric_mean("kendall")
    with pytest.raises(ltr.LtrKeyError, match="map"):
        result.geometric_mean("map")
    for floor in (0, -1, float("nan"), "small", True):
        with pytest.raises(ltr.LtrValueError, match="floor must be a number above 0"):
            result.geometric_mean("mrr", floor=floor)
