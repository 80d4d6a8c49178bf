"""Differences between values of a metric: without the effects of rounding, and as gains and losses of queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray

SAME = 1e-12  # largest difference by rounding, relative to the larger of two values: of sums in another order


class Change(NamedTuple):
    """The query ids by the sign of their change, without queries that the metric leaves out."""

    improved: AnyArray  # ids of the queries that get better, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one value per query


def difference_of(one: Any, other: Any) -> Any:
    """Return one - other: exactly 0 where they differ only by rounding, NaN where one is NaN."""
    difference = np.asarray(one, dtype=np.float64) - other
    return np.where(np.abs(difference) <= SAME * np.maximum(np.abs(one), np.abs(other)), 0.0, difference)


def gain_of(difference: FloatArray, *, higher_is_better: bool) -> FloatArray:
    """Return differences with the sign that is positive where the value has become better."""
    return difference if higher_is_better else -difference


def change_of(difference: FloatArray, qid: AnyArray, *, higher_is_better: bool) -> Change:
    """Group the query ids into gains and losses, and sort them by size."""
    gain = gain_of(difference, higher_is_better=higher_is_better)
    by_gain = np.argsort(-gain, kind="stable")
    return Change(
        improved=qid[by_gain[gain[by_gain] > 0]],
        worsened=qid[by_gain[::-1][gain[by_gain[::-1]] < 0]],
        unchanged=qid[difference == 0],
        difference=difference,
    )
