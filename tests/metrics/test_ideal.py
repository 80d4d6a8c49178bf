"""The four ideals of NDCG, by arithmetic and by the values that systems publish; `test_metrics.py` has the formula."""

from __future__ import annotations

import math

import pytest

import ltr_metrics as ltr

IDEALS = ("cutoff", "shown", "all", "slots")
LABELS = [3, 2, 3, 0, 1, 2]  # of Elasticsearch's tests, in the order of the hits
FIRST_TWO = 7 + 3 / math.log2(3)
BEST_TWO = 7 + 7 / math.log2(3)
BEST_SIX = 14.595390756454922  # as these tests state it


def ndcg(y: list[float], name: str, retrieved: list[bool] | None = None) -> float:
    scores = list(range(len(y), 0, -1))
    return ltr.evaluate(y, scores, group=[len(y)], metrics=name, retrieved=retrieved)[name]


def test_shown_is_cut_at_the_number_of_retrieved_documents_and_at_the_cutoff() -> None:
    two_hits = [True, True, False, False, False, False]
    assert ndcg(LABELS, "ndcg@10", two_hits) == pytest.approx(FIRST_TWO / BEST_SIX, rel=1e-14)
    assert ndcg(LABELS, "ndcg(ideal=shown)@10", two_hits) == pytest.approx(FIRST_TWO / BEST_TWO, rel=1e-14)
    assert ndcg(LABELS, "ndcg(ideal=shown)@2") == pytest.approx(FIRST_TWO / BEST_TWO, rel=1e-14)
    assert ndcg(LABELS, "ndcg(ideal=shown)", two_hits) == ndcg(LABELS, "ndcg(ideal=shown)@10", two_hits)


def test_all_is_not_cut() -> None:
    assert ndcg(LABELS, "ndcg(ideal=all)@2") == pytest.approx(FIRST_TWO / BEST_SIX, rel=1e-14)
    assert ndcg(LABELS, "ndcg(ideal=all)") == ndcg(LABELS, "ndcg")


def test_slots_have_the_values_in_the_documentation_of_rectools() -> None:
    assert ndcg([1], "ndcg(ideal=slots)@3") == pytest.approx(0.46927873, abs=5e-9)
    assert ndcg([1, 0, 1, 1], "ndcg(ideal=slots)@3") == pytest.approx(0.70391809, abs=5e-9)
    assert ndcg([1, 1, 1], "ndcg(ideal=slots)@3") == 1
    assert ndcg([1, 1, 1], "ndcg_lin(ideal=slots)@1000000") < 1e-3


@pytest.mark.parametrize("ideal", IDEALS)
def test_a_query_without_retrieved_documents_has_0_and_one_without_relevant_ones_is_undefined(ideal: str) -> None:
    y, retrieved = [1, 0, 1, 0, 0, 0], [True, True, False, False, True, True]
    name = f"ndcg(ideal={ideal})@5"
    result = ltr.evaluate(y, [6, 5, 4, 3, 2, 1], group=[2, 2, 2], metrics=name, retrieved=retrieved)
    first, without_rank, without_gain = result.per_query[name]
    assert first > 0
    assert without_rank == 0
    assert math.isnan(without_gain)


def test_slots_need_gains_of_at_most_1() -> None:
    message = r"ndcg_exp\(ideal=slots\)@3 must be at most 1.*grade 2, first at row 1.*ndcg\(gain=\[0,1,1\],ideal=slots"
    with pytest.raises(ltr.LtrValueError, match=message):
        ndcg([1, 2, 3], "ndcg(ideal=slots)@3")
    assert ndcg([1, 2, 3], "ndcg(gain=[0,1,1,1],ideal=slots)@3") == 1


def test_the_ideal_is_a_choice_of_conventions_and_of_explanations() -> None:
    hits = ltr.CONVENTIONS["default"].with_settings("hits", ndcg={"ideal": "shown"})
    data = {"group": [6], "retrieved": [True, True, False, False, False, False]}
    explanation = ltr.explain_difference(LABELS, [6, 5, 4, 3, 2, 1], **data, metric="ndcg@10", a="default", b=hits)
    assert explanation.fields == {"ideal": ("cutoff", "shown")}
    assert explanation.toggles["ideal"] == pytest.approx(FIRST_TWO / BEST_TWO - FIRST_TWO / BEST_SIX, rel=1e-12)
