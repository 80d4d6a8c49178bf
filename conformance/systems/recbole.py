"""RecBole: its metrics' metric_info, before it rounds to four decimals. It ignores users without a positive item."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from conformance.queries import CUTOFFS, Query
from conformance.system import System, Values, at_cutoffs, every_draw, split

NAMES = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Recall": "recall", "Precision": "precision", "Hit": "hit"}
NEEDS_LENGTHS = {"NDCG", "MAP", "Recall"}


def system() -> System:
    """Return RecBole and its convention."""
    vars(np).setdefault("float", float)  # a name that NumPy no longer has, and RecBole 1.2.1 still uses
    from recbole.evaluator import metrics

    config = {"topk": list(CUTOFFS), "metric_decimal_place": 4}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        counted = [number for number, query in enumerate(queries) if query.relevant]
        hits = np.zeros((len(counted), max(CUTOFFS)), dtype=bool)
        for row, number in enumerate(counted):
            relevant = queries[number].relevant
            flags = [docid in relevant for docid in queries[number].ranking[: max(CUTOFFS)]]
            hits[row, : len(flags)] = flags
        lengths = np.array([len(queries[number].relevant) for number in counted])
        found = {}
        for name in names:
            metric, k = split(name)
            arguments = (hits, lengths) if metric in NEEDS_LENGTHS else (hits,)
            of_query = np.full(len(queries), np.nan)
            of_query[counted] = getattr(metrics, metric)(config).metric_info(*arguments)[:, k - 1]
            found[name] = of_query.tolist()
        return found

    return System(
        name="recbole",
        version=version("recbole"),
        convention="recbole",
        metrics=at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False], ties=[False], unretrieved=[False, True]),
    )
