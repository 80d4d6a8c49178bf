"""The queries that improve and that worsen between two values of a metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray


class Change(NamedTuple):
    """The query ids by the sign of their change, without queries that the metric leaves out."""

    improved: AnyArray  # ids, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one value a query


def change_of(difference: FloatArray, qid: AnyArray) -> Change:
    """Group the query ids by the sign of their difference, and sort them by its size."""
    by_gain = np.argsort(-difference, kind="stable")
    return Change(
        improved=qid[by_gain[difference[by_gain] > 0]],
        worsened=qid[by_gain[::-1][difference[by_gain[::-1]] < 0]],
        unchanged=qid[difference == 0],
        difference=difference,
    )
