"""Keras RS, in float32, on the torch backend. It shuffles ties, so they are left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version

from conformance.queries import Query
from conformance.system import DIGITS_OF_FLOAT32, System, Values, at_cutoffs, every_draw, split

NAMES = {
    "NDCG": "ndcg",
    "DCG": "dcg",
    "MeanAveragePrecision": "map",
    "MeanReciprocalRank": "mrr",
    "PrecisionAtK": "precision",
    "RecallAtK": "recall",
}


def system() -> System:
    """Return Keras RS and its convention."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras_rs

    def value(query: Query, name: str) -> float:
        metric, k = split(name)
        return float(getattr(keras_rs.metrics, metric)(k=k or None)(query.grades[None], query.scores[None]))

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        return {name: [value(query, name) for query in queries] for name in names}

    return System(
        name="keras_rs",
        version=version("keras-rs"),
        convention="keras_rs",
        metrics=NAMES | at_cutoffs(NAMES, (1, 2, 10)),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False], unretrieved=[False]),
        tolerance=DIGITS_OF_FLOAT32,
    )
