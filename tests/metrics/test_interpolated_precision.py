"""Interpolated precision: its levels, the rounding of trec_eval 10, and large ties."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ltr_metrics as ltr


@pytest.mark.parametrize("recall", [-0.1, 1.1, float("nan"), "half", [], [0.5, 2], [[0.5]], [0.1, "a"], True, None])
def test_levels_that_cannot_be_are_refused(recall: object) -> None:
    with pytest.raises(ltr.LtrValueError, match=re.escape(f"from 0 to 1, or several of them. Got {recall!r}.")):
        ltr.InterpolatedPrecision(recall=recall)


def test_equal_levels_are_equal_metrics() -> None:
    assert ltr.metric("iprec(recall=1)") == ltr.InterpolatedPrecision(recall=np.float64(1))
    assert ltr.metric("iprec(recall=[0,0.5])") == ltr.InterpolatedPrecision(recall=np.array([0, 0.5]))
    assert str(ltr.metric("11pt_avg")) == "iprec"


def test_a_level_is_reached_exactly_where_decimals_say_so() -> None:
    """0.7 x 3 is below 2.1 in float64, and 0.1 x 3 above 0.3; here each relevant document has another precision."""
    for n_relevant in range(1, 60):
        ranks = np.arange(1, n_relevant + 1) * np.arange(2, n_relevant + 2) // 2
        y = np.isin(np.arange(1, ranks[-1] + 1), ranks).astype(float)
        metrics = [f"iprec(recall={level / 10:g})" for level in range(11)]
        result = ltr.evaluate(y, -np.arange(len(y)), group=[len(y)], metrics=metrics)
        counts = [max(1, -(-level * n_relevant // 10)) for level in range(11)]  # in whole numbers
        assert list(result.mean.values()) == [count / ranks[count - 1] for count in counts]


def test_a_tie_that_is_too_large_is_an_error_with_a_remedy() -> None:
    y = (np.arange(1002) < 400).astype(float)
    rows = {"y_true": y, "y_score": np.zeros(1002), "qid": ["big"] * 1001 + ["other"], "metrics": ["iprec"]}
    with pytest.raises(ltr.LtrValueError, match="query big has 1,001 documents of equal score, 400 of them relevant"):
        ltr.evaluate(**rows)
    assert ltr.evaluate(**rows, ties="best").per_query["iprec"][0] == 1
