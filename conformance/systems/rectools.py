"""RecTools: metrics of tables of recommendations, which have ranks, and of interactions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from conformance.queries import CUTOFFS, Query
from conformance.system import System, Values, every_draw, split

NAMES = {
    "NDCG": "ndcg",
    "NDCG_achievable": "ndcg(ideal=cutoff)",
    "MAP": "map",
    "MAP_by_k": "map(denominator=cutoff)",
    "MRR": "mrr",
    "Precision": "precision",
    "Recall": "recall",
    "F1Beta": "f1",
    "HitRate": "hit",
}


def system() -> System:
    """Return RecTools and its convention."""
    import pandas as pd
    from rectools import metrics

    classes = {
        "NDCG": lambda k: metrics.NDCG(k=k),
        "NDCG_achievable": lambda k: metrics.NDCG(k=k, divide_by_achievable=True),
        "MAP": lambda k: metrics.MAP(k=k),
        "MAP_by_k": lambda k: metrics.MAP(k=k, divide_by_k=True),
        "MRR": lambda k: metrics.MRR(k=k),
        "Precision": lambda k: metrics.Precision(k=k),
        "Recall": lambda k: metrics.Recall(k=k),
        "F1Beta": lambda k: metrics.F1Beta(k=k),
        "HitRate": lambda k: metrics.HitRate(k=k),
    }

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        ranked = [(query.qid, docid, rank) for query in queries for rank, docid in enumerate(query.ranking, 1)]
        reco = pd.DataFrame(ranked, columns=["user_id", "item_id", "rank"])
        liked = [(query.qid, docid) for query in queries for docid in query.relevant]
        interactions = pd.DataFrame(liked, columns=["user_id", "item_id"])
        found: dict[str, Any] = {}
        for name in names:
            metric, k = split(name)
            of_user = classes[metric](k).calc_per_user(reco, interactions)
            found[name] = [of_user.get(query.qid, np.nan) for query in queries]
        return found

    return System(
        name="RecTools",
        version=version("rectools"),
        convention="rectools",
        metrics={f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in NAMES.items() for k in CUTOFFS},
        values=values,
        draws=every_draw(graded=[False], ties=[False, True], unretrieved=[False, True]),
    )
