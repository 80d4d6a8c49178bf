"""Slow, obvious metrics, written from the formulas in `docs/definitions.md`, to hold the package against.

Nothing here is shared with the package: plain lists, plain loops, one query at a time, ties by enumerating every order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

Ranked = Sequence[float]  # grades in ranked order


def gain_of(grade: float, gain: str = "exp") -> float:
    return 2.0**grade - 1 if gain == "exp" else grade


def discount_at(rank: int, discount: str = "log2") -> float:
    if discount == "jarvelin":
        return 1.0 if rank < 2 else 1 / math.log2(rank)
    return 1 / math.log2(rank + 1)


def dcg(ranked: Ranked, labels: Ranked, k: int | None, gain: str = "exp", discount: str = "log2") -> float:
    return math.fsum(gain_of(y, gain) * discount_at(i, discount) for i, y in enumerate(ranked[:k], start=1))


def ndcg(
    ranked: Ranked, labels: Ranked, k: int | None, gain: str = "exp", discount: str = "log2", short: str = "pad"
) -> float:
    ideal = dcg(sorted(labels, reverse=True), labels, k, gain, discount)
    if ideal == 0:
        return math.nan
    if short == "zero" and k is not None and len(ranked) < k:
        return 0.0
    return dcg(ranked, labels, k, gain, discount) / ideal


def precision(ranked: Ranked, labels: Ranked, k: int | None, rel: float = 1, short: str = "pad") -> float:
    found = sum(y >= rel for y in ranked[:k])
    divisor = len(ranked) if k is None else k if short == "pad" else min(k, len(ranked))
    return found / divisor if divisor else 0.0


def recall(ranked: Ranked, labels: Ranked, k: int | None, rel: float = 1) -> float:
    relevant = sum(y >= rel for y in labels)
    return sum(y >= rel for y in ranked[:k]) / relevant if relevant else math.nan


def average_precision(ranked: Ranked, labels: Ranked, k: int | None, rel: float = 1, denominator: str = "min") -> float:
    relevant = sum(y >= rel for y in labels)
    if not relevant:
        return math.nan
    shown = list(ranked[:k])
    total = math.fsum(precision(shown[:i], labels, i, rel) for i, y in enumerate(shown, start=1) if y >= rel)
    if denominator == "cutoff":
        assert k is not None
        return total / k
    return total / (relevant if k is None or denominator == "relevant" else min(relevant, k))


def reciprocal_rank(ranked: Ranked, labels: Ranked, k: int | None, rel: float = 1) -> float:
    if not any(y >= rel for y in labels):
        return math.nan
    return next((1 / i for i, y in enumerate(ranked[:k], start=1) if y >= rel), 0.0)


def err(ranked: Ranked, labels: Ranked, k: int | None, max_grade: float = 4, p: str = "exp") -> float:
    total, arrives = 0.0, 1.0
    for i, y in enumerate(ranked[:k], start=1):
        stops = y if p == "label" else (2.0**y - 1) / 2.0**max_grade
        total += arrives * stops / i
        arrives *= 1 - stops
    return total


METRICS = {
    "dcg": dcg,
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "err": err,
}


def orders(labels: Sequence[float], scores: Sequence[float], ties: str) -> Iterator[list[float]]:
    """Yield the grades in ranked order, for every order that the tie policy allows."""
    by_score = sorted(range(len(labels)), key=lambda i: -scores[i])  # stable: input order among equals
    runs = [list(run) for _, run in itertools.groupby(by_score, key=lambda i: scores[i])]
    if ties == "worst":
        runs = [sorted(run, key=lambda i: labels[i]) for run in runs]
    elif ties == "best":
        runs = [sorted(run, key=lambda i: -labels[i]) for run in runs]
    choices = [itertools.permutations(run) for run in runs] if ties == "mean" else [[run] for run in runs]
    for chosen in itertools.product(*choices):
        yield [labels[i] for run in chosen for i in run]


def value(
    name: str,
    labels: Sequence[float],
    scores: Sequence[float],
    *,
    k: int | None = None,
    ties: str = "mean",
    retrieved: Sequence[bool] | None = None,
    **parameters: object,
) -> float:
    """The metric of one query under a tie policy."""
    kept = [i for i in range(len(labels)) if retrieved is None or retrieved[i]]
    ranked = orders([labels[i] for i in kept], [scores[i] for i in kept], ties)
    values = [METRICS[name](order, labels, k, **parameters) for order in ranked]
    return math.fsum(values) / len(values)
