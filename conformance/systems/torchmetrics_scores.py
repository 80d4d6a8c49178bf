"""TorchMetrics where scores are 0 or less: there such a document is not relevant in these metrics.

The scores are those of the other comparison, less their median. The remedy is to add a number that
makes all of them positive.
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
    """Return TorchMetrics with the remedy, after a check that its rule still holds."""
    original = torchmetrics.system()

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        lower = [replace(query, scores=query.scores - np.median(query.scores)) for query in queries]
        without = [replace(query, grades=np.where(query.scores > 0, query.grades, 0)) for query in lower]
        if original.values(lower, names) != original.values(without, names):
            raise ValueError("TorchMetrics no longer takes documents with a score of 0 or less for non-relevant.")
        positive = [replace(query, scores=query.scores - query.scores.min() + 1) for query in lower]
        return original.values(positive, names)

    return replace(original, metrics=at_cutoffs(NAMES), values=values)
