"""How many relevant documents the ties hold, and how many stand above them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.ranking import Ranking


class CountsInTies(NamedTuple):
    """Numbers of relevant documents, for each tie of a ranking."""

    within: AnyArray  # of the tie
    before: AnyArray  # before the tie in `Ranking.tied_grades`


@cached
def count_in_ties(ranking: Ranking, lowest: int) -> CountsInTies:
    """Count the documents whose grade index is at least ``lowest``."""
    assert ranking.ties is not None
    start = ranking.ties.offset
    is_relevant = ranking.tied_grades >= lowest
    counted = np.cumsum(is_relevant, dtype=np.int32)
    before = counted[start] - is_relevant[start]
    return CountsInTies(counted[start + ranking.ties.size - 1] - before, before)
