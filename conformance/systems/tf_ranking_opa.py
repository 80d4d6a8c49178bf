"""Ordered pair accuracy of TensorFlow Ranking: its mean is over pairs, and tied pairs count 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from conformance.queries import Query
from conformance.system import System, Values, every_draw
from conformance.systems import tf_ranking


def system() -> System:
    """Return TensorFlow Ranking with ordered pair accuracy alone."""
    original = tf_ranking.system()
    from tensorflow_ranking.python import metrics_impl as metrics

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        accuracy, n_pairs = metrics.OPAMetric("OPA").compute(*tf_ranking.padded(queries))
        mean = (accuracy.numpy() * n_pairs.numpy()).sum() / n_pairs.numpy().sum()
        return {name: [float(mean)] for name in names}

    return dataclasses.replace(
        original,
        metrics={"OPA": "pair_accuracy"},
        values=values,
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False]),
        gives_means=True,
    )
