"""RePlay: its metrics on pandas tables, which order equal ratings by descending item ids."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from conformance.queries import CUTOFFS, Query
from conformance.system import System, Values, at_cutoffs, every_draw, split

NAMES = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall", "HitRate": "hit"}


def system() -> System:
    """Return RePlay and its convention."""
    import pandas as pd
    from replay import metrics

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        rated = [(query.qid, *pair) for query in queries for pair in query.score_of.items()]
        recommendations = pd.DataFrame(rated, columns=["query_id", "item_id", "rating"])
        liked = [(query.qid, docid) for query in queries for docid in query.relevant]
        truth = pd.DataFrame(liked, columns=["query_id", "item_id"])
        found = {}
        for metric in dict.fromkeys(split(name)[0] for name in names):
            results = getattr(metrics, metric)(list(CUTOFFS), mode=metrics.PerUser())(recommendations, truth)
            for k in CUTOFFS:
                of_user = results[f"{metric}-PerUser@{k}"]
                found[f"{metric}@{k}"] = [of_user.get(query.qid, np.nan) for query in queries]
        return found

    return System(
        name="RePlay",
        version=version("replay-rec"),
        convention="replay",
        metrics=at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False], ties=[False, True], unretrieved=[False, True]),
    )
