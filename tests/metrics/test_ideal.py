"""Ideals of NDCG: values that a system publishes, and what has none; `test_metrics.py` has the formulas."""

from __future__ import annotations

import math

import pytest

import ltr_metrics as ltr

LABELS = [3, 2, 3, 0, 1, 2]  # of Elasticsearch's tests, in the order of the hits
FIRST_TWO = 7 + 3 / math.log2(3)
BEST_TWO = 7 + 7 / math.log2(3)
BEST_SIX = 14.595390756454922  # as these tests state it


def ndcg(y: list[float], name: str) -> float:
    scores = list(range(len(y), 0, -1))
    return ltr.evaluate(y, scores, group=[len(y)], metrics=name)[name]


def test_slots_have_the_values_in_the_documentation_of_rectools() -> None:
    assert ndcg([1], "ndcg(ideal=slots)@3") == pytest.approx(0.46927873, abs=5e-9)
    assert ndcg([1, 0, 1, 1], "ndcg(ideal=slots)@3") == pytest.approx(0.70391809, abs=5e-9)
    assert ndcg([1, 1, 1], "ndcg(ideal=slots)@3") == 1
    assert ndcg([1, 1, 1], "ndcg_lin(ideal=slots)@1000000") < 1e-3


def test_slots_need_gains_of_at_most_1() -> None:
    message = r"ndcg_exp\(ideal=slots\)@3 must be at most 1.*grade 2, first at row 1.*ndcg\(gain=\[0,1,1\],ideal=slots"
    with pytest.raises(ltr.LtrValueError, match=message):
        ndcg([1, 2, 3], "ndcg(ideal=slots)@3")
    assert ndcg([1, 2, 3], "ndcg(gain=[0,1,1,1],ideal=slots)@3") == 1
    with pytest.raises(ltr.LtrValueError, match="grade 1.5, first at row 1"):
        ndcg([1, 1.5], "ndcg_lin(ideal=slots)@3")


@pytest.mark.parametrize("ideal", ["cutoff", "shown", "all", "slots"])
def test_a_query_of_which_nothing_was_retrieved_is_0(ideal: str) -> None:
    data = {"group": [2, 2], "retrieved": [False, False, True, True]}
    result = ltr.evaluate([1, 0, 1, 0], [2, 1, 2, 1], **data, metrics=f"ndcg(ideal={ideal})@2")
    (values,) = result.per_query.values()
    assert values[0] == 0 < values[1]


def test_the_ideal_is_a_choice_of_conventions_and_of_explanations() -> None:
    hits = ltr.CONVENTIONS["default"].with_settings("hits", ndcg={"ideal": "shown"})
    data = {"group": [6], "retrieved": [True, True, False, False, False, False]}
    explanation = ltr.explain_difference(LABELS, [6, 5, 4, 3, 2, 1], **data, metric="ndcg@10", a="default", b=hits)
    assert explanation.fields == {"ideal": ("cutoff", "shown")}
    assert explanation.toggles["ideal"] == pytest.approx(FIRST_TWO / BEST_TWO - FIRST_TWO / BEST_SIX, rel=1e-12)
