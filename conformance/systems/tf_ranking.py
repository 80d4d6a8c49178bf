"""TensorFlow Ranking: tfr.metrics, in float32. It shuffles ties, so they are left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from conformance.queries import MOST_DOCUMENTS, Query
from conformance.system import DIGITS_OF_FLOAT32, System, Values, at_cutoffs, every_draw, split

NAMES = {"NDCG": "ndcg", "DCG": "dcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall"}


def system() -> System:
    """Return TensorFlow Ranking and its convention."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from tensorflow_ranking.python import metrics_impl as metrics

    classes = {
        "NDCG": metrics.NDCGMetric,
        "DCG": metrics.DCGMetric,
        "MAP": metrics.MeanAveragePrecisionMetric,
        "MRR": metrics.MRRMetric,
        "Precision": metrics.PrecisionMetric,
        "Recall": metrics.RecallMetric,
        "Hits": metrics.HitsMetric,
        "BPref": metrics.BPrefMetric,
    }

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        labels, scores = padded(queries)
        found = {}
        for name in names:
            metric, k = split(name)
            of_query, _ = classes[metric](name, k or None).compute(labels, scores)
            found[name] = of_query.numpy()[:, 0].tolist()
        return found

    return System(
        name="TF-Ranking",
        version=version("tensorflow-ranking"),
        convention="tf_ranking",
        metrics=NAMES | {"BPref": "bpref"} | at_cutoffs(NAMES | {"Hits": "hit"}),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False], unretrieved=[False]),
        tolerance=DIGITS_OF_FLOAT32,
    )


def padded(queries: Sequence[Query]) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as matrices; a label of -1 is padding."""
    labels = np.full((len(queries), MOST_DOCUMENTS), -1, dtype=np.float32)
    scores = np.zeros_like(labels)
    for row, query in enumerate(queries):
        labels[row, : len(query.grades)] = query.grades
        scores[row, : len(query.grades)] = query.scores
    return labels, scores
