"""TorchMetrics: the functional interface of its retrieval metrics, in float32."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from conformance.queries import Query
from conformance.system import DIGITS_OF_FLOAT32, System, Values, at_cutoffs, every_draw, split

NAMES = {
    "average_precision": "map",
    "reciprocal_rank": "mrr",
    "precision": "precision",
    "recall": "recall",
    "hit_rate": "hit",
    "normalized_dcg": "ndcg",
}


def system() -> System:
    """Return TorchMetrics and its convention."""
    import torch
    from torchmetrics.functional import retrieval

    def value(query: Query, name: str) -> float:
        metric, k = split(name)
        function = getattr(retrieval, f"retrieval_{metric}")
        scores, grades = torch.tensor(query.scores), torch.tensor(query.grades)
        return float(function(scores, grades, top_k=k) if k else function(scores, grades))

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        return {name: [value(query, name) for query in queries] for name in names}

    return System(
        name="torchmetrics",
        version=version("torchmetrics"),
        convention="torchmetrics",
        metrics=NAMES | at_cutoffs(NAMES) | {"r_precision": "rprec"},
        values=values,
        draws=every_draw(graded=[False], ties=[False], unretrieved=[False]),
        tolerance=DIGITS_OF_FLOAT32,
    )
