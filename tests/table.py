"""The one table of all metrics that every property test runs over; a metric that is not here does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ltr_metrics.metrics import DCG, ERR, MAP, MRR, NDCG, Metric, Precision, Recall


@dataclass(frozen=True)
class Entry:
    """A metric without its cutoff, its name in `reference.py`, and which properties hold for it."""

    cls: type[Metric]
    reference: str
    parameters: dict[str, Any] = field(default_factory=dict)
    perfect_is_one: bool = False
    padding_is_harmless: bool = True  # a document of grade 0 at the end changes nothing
    cutoffs: tuple[int | None, ...] = (None, 1, 2, 3, 5, 10)

    def metrics(self) -> list[Metric]:
        return [self.cls(k=k, **self.parameters) for k in self.cutoffs]

    def __str__(self) -> str:
        return f"{self.cls.__name__}{self.parameters or ''}"


TABLE = (
    Entry(DCG, "dcg"),
    Entry(DCG, "dcg", {"gain": "linear"}),
    Entry(DCG, "dcg", {"discount": "jarvelin"}),
    Entry(NDCG, "ndcg", perfect_is_one=True),
    Entry(NDCG, "ndcg", {"gain": "linear"}, perfect_is_one=True),
    Entry(NDCG, "ndcg", {"gain": "linear", "discount": "jarvelin"}, perfect_is_one=True),
    Entry(NDCG, "ndcg", {"short": "zero"}, padding_is_harmless=False),
    Entry(Precision, "precision", padding_is_harmless=False),
    Entry(Precision, "precision", {"short": "cut"}, padding_is_harmless=False),
    Entry(Precision, "precision", {"rel": 3}, padding_is_harmless=False),
    Entry(Recall, "recall"),
    Entry(Recall, "recall", {"rel": 2}),
    Entry(MAP, "map", perfect_is_one=True),
    Entry(MAP, "map", {"denominator": "relevant"}),
    Entry(MAP, "map", {"denominator": "cutoff"}, cutoffs=(1, 2, 3, 5, 10)),
    Entry(MAP, "map", {"rel": 2}, perfect_is_one=True),
    Entry(MRR, "mrr", perfect_is_one=True),
    Entry(MRR, "mrr", {"rel": 3}, perfect_is_one=True),
    Entry(ERR, "err"),
    Entry(ERR, "err", {"max_grade": 5}),
)
