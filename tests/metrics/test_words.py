"""Options with fixed words: every one raises an error that names the words, whatever it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import pytest

import ltr_metrics as ltr
from ltr_metrics._rows import words
from ltr_metrics.counterfactual import ClickMetric, estimate_propensities, evaluate
from ltr_metrics.interleaving import ClickModel, Impression, simulate
from ltr_metrics.io import read_trec
from ltr_metrics.lightgbm import feval
from ltr_metrics.metrics import average_precision, cascade, dcg

Y, S, QID = [1, 0, 2, 0], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]
TWO = {"a": S, "b": S[::-1]}
P = [0.5] * 4
CLICKS = ClickModel.perfect(grades=3)


def compare(**options: object) -> object:
    return ltr.compare(TWO, Y, qid=QID, metrics="mrr", **options)


CASES: list[tuple[object, Callable[[str], object]]] = [  # the words, and a call with a word of one's own
    (words.TiePolicy, lambda word: ltr.evaluate(Y, S, qid=QID, metrics="mrr", ties=word)),
    (words.NoRelevant, lambda word: ltr.evaluate(Y, S, qid=QID, metrics="mrr", no_relevant=word)),
    (words.Unjudged, lambda word: ltr.Queries(Y, qid=QID, unjudged=word)),
    (words.ConventionName, lambda word: ltr.evaluate(Y, S, qid=QID, metrics="ndcg", convention=word)),
    (words.NameStyle, lambda word: feval("mrr", names=word)),
    (words.Topics, lambda word: read_trec("absent", "absent", topics=word)),
    (words.NamedGain, lambda word: ltr.NDCG(gain=word)),
    (dcg.NamedDiscount, lambda word: ltr.NDCG(discount=word)),
    (average_precision.Denominator, lambda word: ltr.MAP(denominator=word)),
    (cascade.NamedMaxGrade, lambda word: ltr.ERR(max_grade=word)),
    (cascade.StopOfPFound, lambda word: ltr.PFound(p_rel=word)),
    (words.Test, lambda word: compare(test=word)),
    (words.Correction, lambda word: compare(correction=word)),
    (words.QueriesOfComparison, lambda word: compare(queries=word)),
    (words.InterleavingMethod, lambda word: Impression(method=word, rankings=None, shown=["x"], clicks=[])),
    (
        words.TiesOfRankings,
        lambda word: simulate(Y, TWO, qid=QID, method="ppm", clicks=CLICKS, impressions=2, ties=word),
    ),
    (words.EstimatorOfMetric, lambda word: ClickMetric(metric="dcg", estimator=word)),
    (words.EstimatorOfClicks, lambda word: evaluate(Y, S, qid=QID, propensity=P, estimator=word)),
    (words.TiesOfClicks, lambda word: evaluate(Y, S, qid=QID, propensity=P, ties=word)),
    (words.MethodOfPropensities, lambda word: estimate_propensities(Y, Y, qid=QID, method=word)),
]


@pytest.mark.parametrize(("known", "call"), CASES)
def test_an_unknown_word_is_an_error_that_names_the_known_ones(known: object, call: Callable[[str], object]) -> None:
    with pytest.raises(ltr.LtrError) as refused:
        call("no such word")
    for word in get_args(known):
        assert re.search(rf"\b{word}\b", str(refused.value)), (word, str(refused.value))
