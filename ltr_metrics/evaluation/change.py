"""The queries that improve and that worsen between two values of a metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray


class Change(NamedTuple):
    """The query ids by the sign of their change, without queries that the metric leaves out."""

    improved: AnyArray  # ids of the queries that get better, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one value per query


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
