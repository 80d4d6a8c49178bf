"""TorchMetrics where scores are 0 or less: such a document is not relevant there, except for NDCG and hit rate.

The scores are those of the other comparison, less their median. The remedy is a rising function of
the scores with positive values, such as numpy.exp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conformance.queries import Query
from conformance.system import System, Values, at_cutoffs
from conformance.systems import torchmetrics

NAMES = {"average_precision": "map", "reciprocal_rank": "mrr", "precision": "precision"}


def system() -> System:
    """Return TorchMetrics as it would be if it did what its formulas say, which the run must refute."""
    original = torchmetrics.system()

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        lower = [replace(query, scores=query.scores - np.median(query.scores)) for query in queries]
        ours_if_not_relevant = [
            replace(query, grades=np.where(query.scores - np.median(query.scores) > 0, query.grades, 0))
            for query in queries
        ]
        theirs, expected = original.values(lower, names), original.values(ours_if_not_relevant, names)
        if theirs != expected:
            raise ValueError("TorchMetrics no longer takes documents with a score of 0 or less for non-relevant.")
        return original.values([replace(query, scores=np.exp(query.scores)) for query in lower], names)

    return replace(original, metrics=at_cutoffs(NAMES), values=values)
