"""Clusters of queries: those that results carry, and how many an estimate needs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ltr_metrics._engine.checks import IntArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.result import Evaluation


def require_clusters(codes: IntArray, what: str) -> None:
    """Refuse queries of a single cluster, which says nothing about how clusters vary."""
    if len(codes) and (codes == codes[0]).all():
        raise LtrValueError(
            f"All {len(codes):,} queries are of one cluster, and {what} needs two or more to estimate how they vary. "
            "Pass other labels as cluster=, or evaluate more clusters."
        )


def common_clusters(results: Iterable[Evaluation]) -> IntArray | None:
    """Return the clusters of results of the same queries in the same order; None if none has clusters."""
    clusters = [result.cluster for result in results if result.cluster is not None]
    if not clusters:
        return None
    if not all(_is_same_partition(clusters[0], other) for other in clusters[1:]):
        raise LtrValueError(
            "The results have different clusters: two queries are of one cluster in one result, and of two in "
            "another. Evaluate all models with the same clusters, or pass labels to the comparison: cluster=."
        )
    return clusters[0]


def _is_same_partition(a: IntArray, b: IntArray) -> bool:
    n_pairs = len(np.unique(np.column_stack([a, b]), axis=0))
    return n_pairs == len(np.unique(a)) == len(np.unique(b))
