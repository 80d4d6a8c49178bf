"""The one table of all metrics that every property test runs over; a metric that is not here does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import exact
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
    """A metric without its cutoff, the name of its formula in `exact.py`, and which properties hold for it."""

    cls: type[Metric]
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    perfect_is_one: bool = False
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
        """Parameters of the formula."""
        return {name: value for name, value in self.parameters.items() if name != "column"}

    def value(
        self,
        y: np.ndarray,
        score: np.ndarray,
        columns: dict[str, np.ndarray],
        retrieved: np.ndarray,
        **options: Any,
    ) -> Decimal:
        """Return the value of one query by the formula; the options are those of `exact.value`."""
        return exact.value(
            self.name,
            self.labels(y).tolist(),
            score.tolist(),
            retrieved=retrieved.tolist(),
            column=None if self.column is None else columns[self.column].astype(float).tolist(),
            judged=columns["judged"].tolist() if self.reads_judged else None,
            **self.formula(),
            **options,
        )

    def __str__(self) -> str:
        return f"{self.cls.__name__}{self.parameters or ''}{'' if None in self.cutoffs else '@'}"


ONE = {"perfect_is_one": True}

TABLE = (
    Entry(CG, "cg"),
    Entry(DCG, "dcg"),
    Entry(DCG, "dcg", {"discount": "jarvelin"}),
    Entry(DCG, "dcg", {"gain": "linear", "discount": "position"}),
    Entry(NDCG, "ndcg", **ONE),
    Entry(NDCG, "ndcg", {"gain": "linear"}, scale=0.3, **ONE),
    Entry(NDCG, "ndcg", {"gain": (0.0, 0.5, 2.0, 2.0, 9.0)}, **ONE),
    Entry(NDCG, "ndcg", {"gain": "linear", "discount": "jarvelin"}, **ONE),
    Entry(NDCG, "ndcg", {"short": "zero"}),
    Entry(NDCG, "ndcg", {"discount": "position", "ideal": "all"}),
    Entry(NDCG, "ndcg", {"ideal": "shown"}, **ONE),
    Entry(NDCG, "ndcg", {"ideal": "slots", "gain": (0.0, 0.0, 0.5, 1.0, 1.0)}, cutoffs=CUTOFFS),
    Entry(Precision, "precision"),
    Entry(Precision, "precision", {"short": "cut"}),
    Entry(Precision, "precision", {"rel": 3}),
    Entry(Recall, "recall"),
    Entry(Recall, "recall", {"rel": 2}),
    Entry(Recall, "recall", {"rel": ">0.5"}, scale=0.25),
    Entry(F1, "f1", cutoffs=CUTOFFS),
    Entry(F1, "f1", cutoffs=(None,)),
    Entry(F1, "f1", {"rel": 2}, cutoffs=CUTOFFS),
    Entry(Hit, "hit"),
    Entry(Hit, "hit", {"rel": 2}),
    Entry(RPrec, "rprec", cutoffs=(), **ONE),
    Entry(RPrec, "rprec", {"rel": 2}, cutoffs=(), **ONE),
    Entry(MAP, "map", **ONE),
    Entry(MAP, "map", {"denominator": "relevant"}),
    Entry(MAP, "map", {"denominator": "cutoff"}, cutoffs=CUTOFFS),
    Entry(MAP, "map", {"denominator": "hits"}, **ONE),
    Entry(MAP, "map", {"rel": 2}, **ONE),
    Entry(MAP, "map", {"rel": "binary"}, highest=1, **ONE),
    Entry(InterpolatedPrecision, "iprec", cutoffs=(), **ONE),
    Entry(InterpolatedPrecision, "iprec", {"recall": 0.5, "rel": 2, "rounding": "nearest"}, cutoffs=(), **ONE),
    Entry(InterpolatedPrecision, "iprec", {"recall": (0.0, 0.3, 0.5), "rounding": "truncated"}, cutoffs=(), **ONE),
    Entry(Bpref, "bpref", cutoffs=(), reads_judged=True, **ONE),
    Entry(Bpref, "bpref", {"rel": 2}, cutoffs=(), reads_judged=True, **ONE),
    Entry(QMeasure, "q", **ONE),
    Entry(QMeasure, "q", {"rel": 2, "beta": 10}, **ONE),
    Entry(QMeasure, "q", {"gain": "exp", "beta": 0.3}, **ONE),
    Entry(QMeasure, "q", {"gain": (0.0, 0.5, 2.0, 2.0, 9.0)}, **ONE),
    Entry(QMeasure, "q", {"rel": "binary"}, highest=1, **ONE),
    Entry(QMeasure, "q", {"beta": 0}, **ONE),
    Entry(MRR, "mrr", **ONE),
    Entry(MRR, "mrr", {"rel": 3}, **ONE),
    Entry(ERR, "err"),
    Entry(ERR, "err", {"max_grade": "query"}),
    Entry(ERR, "err", {"p": "label"}, scale=0.25),
    Entry(ERR, "err", {"p": "label", "max_grade": "query"}, scale=0.25),
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
    Entry(Judged, "mean_of", column="judged"),
    Entry(MeanOf, "mean_of", {"column": "margin"}, column="margin"),
    Entry(SumOf, "sum_of", {"column": "margin"}, column="margin"),
    Entry(PairAccuracy, "pair_accuracy", cutoffs=(), **ONE),
    Entry(PairAccuracy, "pair_accuracy", {"tied": 0, "average": "micro"}, cutoffs=()),
    Entry(Kendall, "kendall", cutoffs=(), **ONE),
    Entry(Spearman, "spearman", cutoffs=(), **ONE),
)
