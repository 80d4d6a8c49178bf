"""Values that systems gave which the tests do not install, so that their conventions cannot drift.

Most systems computed them from the four queries below. `test_peers.py` compares many more with the systems themselves,
where they are installed. A row of `KNOWN` says who computed the values, the convention, and the values by metric.
"""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

import ltr_metrics as ltr

GRADES = [2, 0, 1, 0, 1, 0, 0, 1, 0, 3, 0]
SCORES = [0.25, 0.875, 0.5, 0.125, 0.75, 0.75, 0.25, 0.5, 0.875, 0.5, 0.25]
GROUP = [5, 2, 1, 3]
BINARY = {  # the values of several systems with labels 0 and 1
    "ndcg@2": [0.3868528072345, nan, 1, 0.6309297535715],
    "map@2": [0.25, nan, 1, 0.5],
    "mrr@2": [0.5, nan, 1, 0.5],
    "precision@2": [0.5, nan, 0.5, 0.5],
    "recall@2": [0.3333333333333, nan, 1, 1],
    "hit@2": [1, nan, 1, 1],
}
KNOWN = {  # system: convention, whether labels are grades, name -> a value for each query, or the mean
    "ranx 0.3.21": ("ranx", True, {
        "dcg": [1.992282869718, 0, 1, 1.892789260714],
        "dcg_exp": [2.422959427792, 0, 1, 4.416508275],
        "ndcg": [0.6363230818084, 0, 1, 0.6309297535715],
        "ndcg_exp": [0.5865409417085, 0, 1, 0.6309297535715],
        "map": [0.6388888888889, 0, 1, 0.5],
        "mrr": [0.5, 0, 1, 0.5],
        "precision": [0.6, 0, 1, 0.3333333333333],
        "recall": [1, 0, 1, 1],
        "f1": [0.75, 0, 1, 0.5],
        "hit": [1, 0, 1, 1],
        "dcg@2": [0.6309297535715, 0, 1, 1.892789260714],
        "dcg_exp@2": [0.6309297535715, 0, 1, 4.416508275],
        "ndcg@2": [0.2398124665681, 0, 1, 0.6309297535715],
        "ndcg_exp@2": [0.1737653428714, 0, 1, 0.6309297535715],
        "map@2": [0.1666666666667, 0, 1, 0.5],
        "mrr@2": [0.5, 0, 1, 0.5],
        "precision@2": [0.5, 0, 0.5, 0.5],
        "recall@2": [0.3333333333333, 0, 1, 1],
        "f1@2": [0.4, 0, 0.6666666666667, 0.6666666666667],
        "hit@2": [1, 0, 1, 1],
        "rprec": [0.6666666666667, 0, 1, 0],
        "rbp(p=0.5)": [0.5, 0, 0.5, 0.75],
    }),
    "ml_metrics 0.1.4": ("kaggle", False, {
        "map": [0.6388888888889, 0, 1, 0.5],
        "map@2": [0.25, 0, 1, 0.5],
    }),
    "pyvespa 1.2.9": ("vespa", False, BINARY),
    "RecTools 0.19.0": ("rectools", False, BINARY | {
        "ndcg@2": [0.3868528072345, nan, 0.6131471927655, 0.3868528072345],
        "ndcg(ideal=cutoff)@2": [0.3868528072345, nan, 1, 0.6309297535715],
        "map@2": [0.1666666666667, nan, 1, 0.5],
        "map(denominator=cutoff)@2": [0.25, nan, 0.5, 0.25],
        "f1@2": [0.4, nan, 0.6666666666667, 0.6666666666667],
    }),
    "Quepid f80322f3": ("quepid", True, {
        "ndcg@2": [0.1527331112387, 0, 1, 0.6309297535715],
        "ndcg(ideal=cutoff)@2": [0.1737653428714, 0, 1, 0.6309297535715],
        "dcg@2": [0.6309297535715, 0, 1, 4.416508275],
        "cg@2": [1, 0, 1, 3],
        "map@2": [0.1666666666667, 0, 1, 0.5],
        "precision@2": [0.5, 0, 1, 0.5],
        "mrr@2": [0.5, 0, 1, 0.5],
        "err@2": [0.0625, 0, 0.125, 0.4375],
    }),
    "RankLib e43f605f": ("ranklib", True, {
        "map": [0.6388888888889, 0, 1, 0.5],
        "ndcg@2": [0.1737653428714, 0, 1, 0.6309297535715],
        "dcg@2": [0.6309297535715, 0, 1, 4.416508275],
        "precision@2": [0.5, 0, 1, 0.5],
        "mrr@2": [0.5, 0, 1, 0.5],
        "err@2": [0.03125, 0, 0.0625, 0.21875],
    }),
    "torchmetrics 1.9.0": ("torchmetrics", False, {
        "map": [0.6388888955116, 0, 1, 0.5],
        "mrr": [0.5, 0, 1, 0.5],
        "precision": [0.6000000238419, 0, 1, 0.3333333432674],
        "recall": [1, 0, 1, 1],
        "hit": [1, 0, 1, 1],
        "ndcg": [0.7328286767006, 0, 1, 0.6309297084808],
        "map@2": [0.5, 0, 1, 0.5],
        "mrr@2": [0.5, 0, 1, 0.5],
        "precision@2": [0.5, 0, 0.5, 0.5],
        "recall@2": [0.3333333432674, 0, 1, 1],
        "hit@2": [1, 0, 1, 1],
        "ndcg@2": [0.3868528008461, 0, 1, 0.6309297084808],
        "rprec": [0.6666666865349, 0, 1, 0],
    }),
    "recbole 1.2.1": ("recbole", False, BINARY),
    "Spark MLlib 4.0.1": ("spark_mllib", False, {
        "map": [0.5347222222222],
        "ndcg@2": [0.5044456402015],
        "map@2": [0.4375],
        "precision@2": [0.375],
        "recall@2": [0.5833333333333],
    }),
    "RePlay 0.22.0": ("replay", False, BINARY),
    "TF-Ranking 0.5.5": ("tf_ranking", True, {
        "ndcg": [0.5865408778191, 0, 1, 0.6309297680855],
        "dcg": [2.422959327698, 0, 1, 4.416508197784],
        "map": [0.6388888955116, 0, 1, 0.5],
        "mrr": [0.5, 0, 1, 0.5],
        "precision": [0.6000000238419, 0, 1, 0.3333333432674],
        "recall": [1, 0, 1, 1],
        "ndcg@2": [0.1737653464079, 0, 1, 0.6309297680855],
        "dcg@2": [0.6309297680855, 0, 1, 4.416508197784],
        "map@2": [0.1666666716337, 0, 1, 0.5],
        "mrr@2": [0.5, 0, 1, 0.5],
        "precision@2": [0.5, 0, 1, 0.5],
        "recall@2": [0.3333333432674, 0, 1, 1],
        "hit@2": [1, 0, 1, 1],
    }),
    "OPAMetric of TF-Ranking 0.5.5": ("tf_ranking", True, {
        "pair_accuracy": [0.4],
    }),
}  # fmt: skip
IN_FLOAT32 = ("torchmetrics", "tf_ranking")


@pytest.mark.parametrize("system", KNOWN)
def test_values_of_a_system(system: str) -> None:
    """A query without a relevant document is 0 here, where ml_metrics gives 1, and 0/0 in Quepid's AP."""
    convention, has_grades, expected = KNOWN[system]
    y = GRADES if has_grades else np.minimum(GRADES, 1)
    docid = np.arange(len(GRADES))
    result = ltr.evaluate(y, SCORES, group=GROUP, docid=docid, metrics=list(expected), convention=convention)
    tolerance = 2e-6 if convention in IN_FLOAT32 else 1e-12
    for name, values in expected.items():
        ours = [result[name]] if len(values) == 1 else result.per_query[name]
        np.testing.assert_allclose(ours, values, rtol=tolerance, atol=tolerance, err_msg=name)


# Of the tests of Elasticsearch in modules/rank-eval: the ratings, which documents are returned, and their values.
RATED = {
    "testDCGAt of DiscountedCumulativeGainTests.java at 0066a272": ([3, 2, 3, 0, 1], [1, 1, 1, 1, 0], {
        "dcg": 12.392789260714371, "ndcg": 12.392789260714371 / 13.347184833073591,
    }),
    "the same with six documents": ([3, 2, 3, 0, 1, 2], [1] * 6, {"ndcg": 13.84826362927298 / 14.595390756454922}),
    # The ideal is as long as the list that is returned.
    "the same with two of five": ([3, 2, 3, 0, 1], [0, 1, 0, 1, 0], {"ndcg": 3 / (7 + 7 / np.log2(3))}),
    "testIgnoreOneResult of PrecisionAtKTests.java at 00203b9a": ([1, 1, 1, 1, 0], [1] * 5, {"precision": 4 / 5}),
    "testCorrectIndex of RecallAtKTests.java at 13ae1548, and the same of PrecisionAtKTests.java": (
        [1, 1, 0, 1, 1], [1, 1, 1, 0, 0], {"recall": 2 / 4, "precision": 2 / 3},
    ),
    "testRelevanceThreshold of RecallAtKTests.java": ([0, 1, 2, 3, 4], [1, 1, 1, 0, 0], {"recall(rel=2)": 1 / 3}),
    "testPrecisionAtFiveRelevanceThreshold of MeanReciprocalRankTests.java at 0b21011a": (
        [0, 1, 2, 3, 4], [1] * 5, {"mrr(rel=2)": 1 / 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize("test", RATED)
def test_values_of_elasticsearch(test: str) -> None:
    ratings, is_returned, expected = RATED[test]
    n = len(ratings)
    options = {"group": [n], "retrieved": is_returned, "metrics": list(expected), "convention": "elasticsearch"}
    result = ltr.evaluate(ratings, np.arange(n, 0, -1), **options)
    for name, value in expected.items():
        assert result[name] == pytest.approx(value, abs=1e-12)
