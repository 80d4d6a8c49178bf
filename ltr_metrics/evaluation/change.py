"""Which queries gain and which lose between two values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray


class Change(NamedTuple):
    """How the queries fared; a query that a metric leaves out is in none of the three."""

    improved: AnyArray  # ids, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one a query


def change_of(difference: FloatArray, qid: AnyArray) -> Change:
    """Sort the queries by what they gain or lose."""
    by_gain = np.argsort(-difference, kind="stable")
    return Change(
        improved=qid[by_gain[difference[by_gain] > 0]],
        worsened=qid[by_gain[::-1][difference[by_gain[::-1]] < 0]],
        unchanged=qid[difference == 0],
        difference=difference,
    )
