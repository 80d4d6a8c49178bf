"""How many relevant documents the ties hold, and how many stand above them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.ranking import Ranking


class CountsInTies(NamedTuple):
    """Numbers of relevant documents, for each tie of a ranking."""

    within: IntArray  # of the tie
    before: IntArray  # before the tie in `Ranking.tied_grades`


@cached
def count_in_ties(ranking: Ranking, lowest: int) -> CountsInTies:
    """Count the documents whose grade index is at least ``lowest``."""
    assert ranking.ties is not None
    start = ranking.ties.offset
    is_relevant = ranking.tied_grades >= lowest
    counted = np.cumsum(is_relevant, dtype=np.int32)
    before: IntArray = counted[start] - is_relevant[start]
    within: IntArray = counted[start + ranking.ties.size - 1] - before
    return CountsInTies(within, before)
