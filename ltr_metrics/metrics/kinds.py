"""The kinds of sums over ranks, and what a metric declares as tables for the compiled core, which adds them up.

===========  =======================================================  ===========================
kind         what a rank adds (g is the grade there)                  metrics
===========  =======================================================  ===========================
gains        by_grade[g] x by_rank[rank]                              CG, DCG, NDCG, precision, ...
precisions   (sum of by_grade so far if by_grade[g] > 0) / by_rank    MAP, Q-measure
cascade      P(the user stops here) x by_rank[rank], where by_grade   ERR, PFound, MRR, hit
             has P(the user stops at a document that is reached)
===========  =======================================================  ===========================

What ties do to each of them is said by the three functions of these names in ``_engine/core.cpp``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.queries import LabelledQueries

Kind = Literal["gains", "precisions", "cascade"]


def by_rank_of_queries(by_rank: AnyArray, queries: LabelledQueries, depth: int) -> tuple[FloatArray, AnyArray | None]:
    """Return the values by rank as a flat array, and where those of each query begin; None if all share them."""
    if by_rank.ndim == 2:
        return by_rank.ravel(), np.arange(queries.n_queries) * depth
    if by_rank.ndim and len(by_rank) != depth:  # query after query
        return by_rank, queries.starts
    return np.array(np.broadcast_to(by_rank, depth)), None
