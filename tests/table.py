"""The one table of all metrics that every property test runs over; a metric that is not here does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_metrics.metrics import (
    ARP,
    CG,
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    NDCG,
    RBP,
    Bpref,
    Hit,
    InterpolatedPrecision,
    Judged,
    Kendall,
    MeanOf,
    Metric,
    PairAccuracy,
    PFound,
    Precision,
    QMeasure,
    Recall,
    RPrec,
    Spearman,
    SumOf,
)

CUTOFFS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Entry:
    """A metric without its cutoff, its name in `reference.py`, and which properties hold for it."""

    cls: type[Metric]
    reference: str
    parameters: dict[str, Any] = field(default_factory=dict)
    perfect_is_one: bool = False
    padding_is_harmless: bool = True  # a document of grade 0 at the end changes nothing
    better_above_never_harms: bool = True  # so that worst <= mean <= best, too
    cutoffs: tuple[int | None, ...] = (None, *CUTOFFS)
    scale: float = 1  # of the labels 0 to 4, to what the metric is defined on
    highest: float = np.inf  # of the labels
    column: str | None = None  # what it looks at instead of the grades
    reads_judged: bool = False  # a document that is not judged has no grade

    def metrics(self) -> list[Metric]:
        if self.cutoffs == ():
            return [self.cls(**self.parameters)]
        return [self.cls(k=k, **self.parameters) for k in self.cutoffs]

    def labels(self, grades: np.ndarray) -> np.ndarray:
        return np.minimum(grades * self.scale, self.highest)

    def formula(self) -> dict[str, Any]:
        """Parameters of the function in `reference.py`."""
        return {name: value for name, value in self.parameters.items() if name != "column"}

    def __str__(self) -> str:
        return f"{self.cls.__name__}{self.parameters or ''}{'' if None in self.cutoffs else '@'}"


ONE = {"perfect_is_one": True}
GRADED_Q = {"perfect_is_one": True, "better_above_never_harms": False}  # 0, 3, 1 scores more than 1, 3, 0
LONGER_IS_OTHER = {"padding_is_harmless": False}
# Grade 0 may be unjudged, and then it does no harm above a relevant document, but grade 1 does.
BPREF_OF_GRADES = {"perfect_is_one": True, "padding_is_harmless": False, "better_above_never_harms": False}
NOT_BY_GRADE = {"padding_is_harmless": False, "better_above_never_harms": False}

TABLE = (
    Entry(CG, "cg"),
    Entry(DCG, "dcg"),
    Entry(DCG, "dcg", {"discount": "jarvelin"}),
    Entry(DCG, "dcg", {"gain": "linear", "discount": "position"}),
    Entry(NDCG, "ndcg", **ONE),
    Entry(NDCG, "ndcg", {"gain": "linear"}, scale=0.3, **ONE),
    Entry(NDCG, "ndcg", {"gain": (0.0, 0.5, 2.0, 2.0, 9.0)}, **ONE),
    Entry(NDCG, "ndcg", {"gain": "linear", "discount": "jarvelin"}, **ONE),
    Entry(NDCG, "ndcg", {"short": "zero"}, **LONGER_IS_OTHER),
    Entry(NDCG, "ndcg", {"discount": "position", "ideal": "all"}),
    Entry(NDCG, "ndcg", {"ideal": "shown"}, **ONE),
    Entry(NDCG, "ndcg", {"ideal": "slots", "gain": (0.0, 0.0, 0.5, 1.0, 1.0)}, cutoffs=CUTOFFS),
    Entry(Precision, "precision", **LONGER_IS_OTHER),
    Entry(Precision, "precision", {"short": "cut"}, **LONGER_IS_OTHER),
    Entry(Precision, "precision", {"rel": 3}, **LONGER_IS_OTHER),
    Entry(Recall, "recall"),
    Entry(Recall, "recall", {"rel": 2}),
    Entry(Recall, "recall", {"rel": ">0.5"}, scale=0.25),
    Entry(F1, "f1", cutoffs=CUTOFFS),
    Entry(F1, "f1", cutoffs=(None,), **LONGER_IS_OTHER),
    Entry(F1, "f1", {"rel": 2}, cutoffs=CUTOFFS),
    Entry(Hit, "hit"),
    Entry(Hit, "hit", {"rel": 2}),
    Entry(RPrec, "rprec", cutoffs=(), **ONE),
    Entry(RPrec, "rprec", {"rel": 2}, cutoffs=(), **ONE),
    Entry(MAP, "map", **ONE),
    Entry(MAP, "map", {"denominator": "relevant"}),
    Entry(MAP, "map", {"denominator": "cutoff"}, cutoffs=CUTOFFS),
    Entry(MAP, "map", {"denominator": "hits"}, better_above_never_harms=False, **ONE),
    Entry(MAP, "map", {"rel": 2}, **ONE),
    Entry(MAP, "map", {"rel": "binary"}, highest=1, **ONE),
    Entry(InterpolatedPrecision, "iprec", cutoffs=(), **ONE),
    Entry(InterpolatedPrecision, "iprec", {"recall": 0.7, "rel": 2, "rounding": "nearest"}, cutoffs=(), **ONE),
    Entry(InterpolatedPrecision, "iprec", {"recall": (0.0, 0.3, 0.5), "rounding": "truncated"}, cutoffs=(), **ONE),
    Entry(Bpref, "bpref", cutoffs=(), reads_judged=True, perfect_is_one=True, padding_is_harmless=False),
    Entry(Bpref, "bpref", {"rel": 2}, cutoffs=(), reads_judged=True, **BPREF_OF_GRADES),
    Entry(QMeasure, "q", **GRADED_Q),
    Entry(QMeasure, "q", {"rel": 2, "beta": 10}, **GRADED_Q),
    Entry(QMeasure, "q", {"gain": "exp", "beta": 0.3}, **GRADED_Q),
    Entry(QMeasure, "q", {"gain": (0.0, 0.5, 2.0, 2.0, 9.0)}, **GRADED_Q),
    Entry(QMeasure, "q", {"rel": "binary"}, highest=1, **ONE),
    Entry(QMeasure, "q", {"beta": 0}, **ONE),
    Entry(MRR, "mrr", **ONE),
    Entry(MRR, "mrr", {"rel": 3}, **ONE),
    Entry(ERR, "err"),
    Entry(ERR, "err", {"max_grade": "query"}),
    Entry(ERR, "err", {"p": "label"}, scale=0.25),
    Entry(RBP, "rbp"),
    Entry(RBP, "rbp", {"p": 0.95, "rel": 2}),
    Entry(RBP, "rbp", {"graded": "max"}),
    Entry(RBP, "rbp", {"graded": "max", "max_grade": 7}, scale=1.5),
    Entry(RBP, "rbp", {"graded": "label", "p": 0.5}, scale=1.5),
    Entry(PFound, "pfound", scale=0.25),
    Entry(PFound, "pfound", {"p_rel": "yandex", "p_break": 0.4}),
    Entry(PFound, "pfound", {"p_rel": "exp"}),
    Entry(PFound, "pfound", {"p_rel": "exp", "max_grade": "query"}),
    Entry(PFound, "pfound", {"p_rel": (0.0, 0.1, 0.2, 0.2, 1.0)}),
    Entry(ARP, "arp", cutoffs=()),
    Entry(ARP, "arp", cutoffs=(), scale=0.3),
    Entry(Judged, "mean_of", column="judged", **NOT_BY_GRADE),
    Entry(MeanOf, "mean_of", {"column": "margin"}, column="margin", **NOT_BY_GRADE),
    Entry(SumOf, "sum_of", {"column": "margin"}, column="margin", **NOT_BY_GRADE),
    Entry(PairAccuracy, "pair_accuracy", cutoffs=(), perfect_is_one=True, **LONGER_IS_OTHER),
    Entry(PairAccuracy, "pair_accuracy", {"tied": 0, "average": "micro"}, cutoffs=(), **LONGER_IS_OTHER),
    Entry(Kendall, "kendall", cutoffs=(), **LONGER_IS_OTHER),
    Entry(Spearman, "spearman", cutoffs=(), **LONGER_IS_OTHER),
)
