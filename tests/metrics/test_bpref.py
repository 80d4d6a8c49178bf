"""Bpref and the judgments: what is not judged does not count."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from profiles import examples
from strategies import Data, data

import ltr_metrics as ltr


@given(d=data(max_documents=12))
@examples(20)
def test_documents_that_are_not_judged_can_be_dropped(d: Data) -> None:
    judged = d.columns["judged"]
    rows = {"y_true": d.y, "y_score": d.score, "group": d.group, "metrics": ["bpref"]}
    for ties in ("mean", "stable"):
        kept = ltr.evaluate(**rows, ties=ties, judged=judged).per_query["bpref"]
        if judged.any():
            dropped = ltr.evaluate(**rows, ties=ties, judged=judged, unjudged="drop").per_query["bpref"]
            np.testing.assert_array_equal(dropped, kept)


def test_without_the_option_all_documents_are_judged() -> None:
    rows = {"y_true": [0, 1, 0, 1], "y_score": [4, 3, 2, 1], "group": [4], "metrics": ["bpref"]}
    assert ltr.evaluate(**rows)["bpref"] == ltr.evaluate(**rows, judged=[True] * 4)["bpref"] == 0.25
    assert ltr.evaluate(**rows, judged=[False, True, True, True])["bpref"] == 0.5


def test_the_cases_that_the_formula_leaves_to_a_rule() -> None:
    """No judged nonrelevant document (1 for each relevant one), no relevant one (undefined), none retrieved (0)."""
    result = ltr.evaluate(
        [1, 0, 0, 0, 1, 0, 1],
        [1, 2, 2, 1, 9, 1, 5],
        group=[2, 2, 2, 1],
        metrics=["bpref"],
        judged=[True, False, True, True, True, True, True],
        retrieved=[True, True, True, True, False, True, False],
    )
    np.testing.assert_array_equal(result.per_query["bpref"], [1, np.nan, 0, 0])
