"""Slow, obvious metrics, written from the formulas in `docs/definitions.md`, to hold the package against.

Nothing here is shared with the package: plain lists, plain loops, one query at a time, ties by enumerating every order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

Ranked = Sequence[float]  # grades in ranked order
Rel = float | str | None
Gain = str | tuple[float, ...]  # also of probabilities
Cutoff = int | None
Recall = float | tuple[float, ...]
ELEVEN_LEVELS = tuple(i / 10 for i in range(11))


def gain_of(grade: float, gain: Gain = "exp") -> float:
    if isinstance(gain, tuple):
        return gain[int(grade)]
    return 2.0**grade - 1 if gain == "exp" else grade


def is_relevant(grade: float, rel: Rel = None) -> bool:
    if isinstance(rel, str) and rel.startswith(">"):
        return grade > float(rel[1:])
    return grade >= (1 if rel in (None, "binary") else rel)


def count(grades: Ranked, rel: Rel) -> int:
    return sum(is_relevant(y, rel) for y in grades)


def cg(ranked: Ranked, labels: Ranked, k: Cutoff) -> float:
    return math.fsum(ranked[:k])


def discount_at(rank: int, discount: str = "log2") -> float:
    if discount == "jarvelin":
        return 1.0 if rank < 2 else 1 / math.log2(rank)
    return 1 / rank if discount == "position" else 1 / math.log2(rank + 1)


def dcg(ranked: Ranked, labels: Ranked, k: Cutoff, gain: Gain = "exp", discount: str = "log2") -> float:
    return math.fsum(gain_of(y, gain) * discount_at(i, discount) for i, y in enumerate(ranked[:k], start=1))


def ndcg(
    ranked: Ranked,
    labels: Ranked,
    k: Cutoff,
    gain: Gain = "exp",
    discount: str = "log2",
    ideal: str = "cutoff",
    short: str = "pad",
) -> float:
    best = sorted(labels, reverse=True)
    if all(gain_of(y, gain) == 0 for y in best):
        return math.nan
    if (short == "zero" and k is not None and len(ranked) < k) or not ranked:
        return 0.0
    if ideal == "slots":
        assert k is not None
        best_dcg = math.fsum(discount_at(i, discount) for i in range(1, k + 1))
    else:
        shown = len(ranked) if k is None else min(k, len(ranked))
        best_dcg = dcg(best, labels, {"cutoff": k, "all": None, "shown": shown}[ideal], gain, discount)
    return dcg(ranked, labels, k, gain, discount) / best_dcg


def precision(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None, short: str = "pad") -> float:
    divisor = len(ranked) if k is None else k if short == "pad" else min(k, len(ranked))
    return count(ranked[:k], rel) / divisor if divisor else 0.0


def recall(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None) -> float:
    relevant = count(labels, rel)
    return count(ranked[:k], rel) / relevant if relevant else math.nan


def f1(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None) -> float:
    p, r = precision(ranked, labels, k, rel), recall(ranked, labels, k, rel)
    return 0.0 if p == r == 0 else 2 * p * r / (p + r)


def hit(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None) -> float:
    return float(count(ranked[:k], rel) > 0)


def r_precision(ranked: Ranked, labels: Ranked, k: None, rel: Rel = None) -> float:
    relevant = count(labels, rel)
    return count(ranked[:relevant], rel) / relevant if relevant else math.nan


def average_precision(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None, denominator: str = "min") -> float:
    relevant = count(labels, rel)
    if not relevant:
        return math.nan
    shown = list(ranked[:k])
    total = math.fsum(precision(shown, labels, i, rel) for i, y in enumerate(shown, start=1) if is_relevant(y, rel))
    divisor = {
        "min": relevant if k is None else min(relevant, k),
        "relevant": relevant,
        "cutoff": k,
        "hits": count(shown, rel) or 1,
    }[denominator]
    assert divisor is not None
    return total / divisor


def bpref(ranked: Ranked, labels: Ranked, k: None, rel: Rel = None) -> float:
    """The grade of a document that is not judged is NaN."""

    def nonrelevant(grades: Ranked) -> int:
        return sum(not is_relevant(y, rel) for y in grades if not math.isnan(y))

    relevant = count(labels, rel)
    if not relevant:
        return math.nan
    most = min(nonrelevant(labels), relevant)
    total = 0.0
    for i, y in enumerate(ranked):
        above = nonrelevant(ranked[:i])
        if is_relevant(y, rel):
            total += 1 - min(above, relevant) / most if above else 1
    return total / relevant


def iprec(
    ranked: Ranked, labels: Ranked, k: None, rel: Rel = None, recall: Recall = ELEVEN_LEVELS, rounding: str = "up"
) -> float:
    relevant = count(labels, rel)
    if not relevant:
        return math.nan
    levels = recall if isinstance(recall, tuple) else (recall,)
    highest = []
    for level in levels:
        exact = Fraction(str(level)) * relevant
        wanted = {
            "up": math.ceil(exact),
            "nearest": math.floor(exact + Fraction(1, 2)),
            "truncated": int(level * relevant + 0.9),
        }[rounding]
        found = [count(ranked[:i], rel) for i in range(1, len(ranked) + 1)]
        highest.append(max((c / i for i, c in enumerate(found, start=1) if c >= max(wanted, 1)), default=0.0))
    return math.fsum(highest) / len(levels)


def q_measure(
    ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None, gain: Gain = "linear", beta: float = 1
) -> float:
    def cumulative_gain(shown: Ranked) -> float:
        return math.fsum(gain_of(y, gain) for y in shown if is_relevant(y, rel))

    relevant = count(labels, rel)
    if not relevant:
        return math.nan
    ideal = sorted(labels, reverse=True)
    total = math.fsum(
        (count(ranked[:i], rel) + beta * cumulative_gain(ranked[:i])) / (i + beta * cumulative_gain(ideal[:i]))
        for i, y in enumerate(ranked[:k], start=1)
        if is_relevant(y, rel)
    )
    return total / (relevant if k is None else min(relevant, k))


def reciprocal_rank(ranked: Ranked, labels: Ranked, k: Cutoff, rel: Rel = None) -> float:
    if not count(labels, rel):
        return math.nan
    return next((1 / i for i, y in enumerate(ranked[:k], start=1) if is_relevant(y, rel)), 0.0)


def err(ranked: Ranked, labels: Ranked, k: Cutoff, max_grade: float | str = 4, p: str = "exp") -> float:
    max_grade = max(labels) if max_grade == "query" else float(max_grade)
    total, arrives = 0.0, 1.0
    for i, y in enumerate(ranked[:k], start=1):
        stops = y if p == "label" else (2.0**y - 1) / 2.0**max_grade
        total += arrives * stops / i
        arrives *= 1 - stops
    return total


def rbp(
    ranked: Ranked,
    labels: Ranked,
    k: Cutoff,
    rel: Rel = None,
    p: float = 0.8,
    graded: str | None = None,
    max_grade: float = 4,
) -> float:
    if graded == "label":
        gains = list(ranked[:k])
    else:
        gains = [y / max_grade if graded == "max" else float(is_relevant(y, rel)) for y in ranked[:k]]
    return (1 - p) * math.fsum(gain * p**i for i, gain in enumerate(gains))


def pfound(
    ranked: Ranked, labels: Ranked, k: Cutoff, p_break: float = 0.15, p_rel: Gain = "label", max_grade: float | str = 4
) -> float:
    max_grade = max(labels) if max_grade == "query" else float(max_grade)
    total, looks = 0.0, 1.0
    for y in ranked[:k]:
        if p_rel == "label":
            found = y
        elif p_rel == "exp":
            found = (2.0**y - 1) / 2.0**max_grade
        else:
            found = ((0, 0.07, 0.14, 0.41, 0.61) if p_rel == "yandex" else p_rel)[int(y)]
        total += looks * found
        looks *= (1 - found) * (1 - p_break)
    return total


def arp(ranked: Ranked, labels: Ranked, k: None) -> float:
    total = math.fsum(ranked)
    return math.fsum(i * y for i, y in enumerate(ranked, start=1)) / total if total else math.nan


def mean_of(ranked: Ranked, labels: Ranked, k: Cutoff) -> float:
    shown = ranked[:k]
    return math.fsum(shown) / len(shown) if shown else math.nan


def sum_of(ranked: Ranked, labels: Ranked, k: Cutoff) -> float:
    return math.fsum(ranked[:k])


METRICS = {
    "cg": cg,
    "dcg": dcg,
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "hit": hit,
    "rprec": r_precision,
    "map": average_precision,
    "iprec": iprec,
    "bpref": bpref,
    "q": q_measure,
    "mrr": reciprocal_rank,
    "err": err,
    "rbp": rbp,
    "pfound": pfound,
    "arp": arp,
    "mean_of": mean_of,
    "sum_of": sum_of,
}


def pairs_of_different_grade(grades: Sequence[float]) -> list[tuple[int, int]]:
    return [(a, b) for a, b in itertools.permutations(range(len(grades)), 2) if grades[a] > grades[b]]


def pair_accuracy(
    grades: Sequence[float], scores: Sequence[float], tied: float = 0.5, average: str = "macro"
) -> float:  # of one query, for which the average makes no difference
    pairs = pairs_of_different_grade(grades)
    right = sum(1.0 if scores[a] > scores[b] else tied if scores[a] == scores[b] else 0.0 for a, b in pairs)
    return right / len(pairs) if pairs else math.nan


def kendall(grades: Sequence[float], scores: Sequence[float]) -> float:
    def sign(a: float, b: float) -> int:
        return (a > b) - (a < b)

    pairs = list(itertools.combinations(range(len(grades)), 2))
    y = [sign(grades[a], grades[b]) for a, b in pairs]
    s = [sign(scores[a], scores[b]) for a, b in pairs]
    if not any(y):
        return math.nan
    if not any(s):
        return 0.0
    return sum(a * b for a, b in zip(y, s, strict=True)) / math.sqrt(sum(map(abs, y)) * sum(map(abs, s)))


def spearman(grades: Sequence[float], scores: Sequence[float]) -> float:
    def ranks(values: Sequence[float]) -> list[float]:
        middle = [sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2 for v in values]
        mean = math.fsum(middle) / len(middle)
        return [rank - mean for rank in middle]

    if len(set(grades)) < 2:
        return math.nan
    if len(set(scores)) < 2:
        return 0.0
    y, s = ranks(grades), ranks(scores)
    product = math.fsum(a * b for a, b in zip(y, s, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in y) * math.fsum(b * b for b in s))


ORDER_METRICS = {"pair_accuracy": pair_accuracy, "kendall": kendall, "spearman": spearman}


def orders(labels: Sequence[float], scores: Sequence[float], ties: str) -> Iterator[list[int]]:
    """Yield the documents in ranked order, for every order that the tie policy allows."""
    by_score = sorted(range(len(labels)), key=lambda i: -scores[i])  # stable: input order among equals
    runs = [list(run) for _, run in itertools.groupby(by_score, key=lambda i: scores[i])]
    if ties == "worst":
        runs = [sorted(run, key=lambda i: labels[i]) for run in runs]
    elif ties == "best":
        runs = [sorted(run, key=lambda i: -labels[i]) for run in runs]
    choices = [itertools.permutations(run) for run in runs] if ties == "mean" else [[run] for run in runs]
    for chosen in itertools.product(*choices):
        yield [i for run in chosen for i in run]


def value(
    name: str,
    labels: Sequence[float],
    scores: Sequence[float],
    *,
    k: Cutoff = None,
    ties: str = "mean",
    retrieved: Sequence[bool] | None = None,
    column: Sequence[float] | None = None,
    judged: Sequence[bool] | None = None,
    **parameters: object,
) -> float:
    """The metric of one query under a tie policy; ``column`` holds what a metric looks at instead of the grades.

    With ``judged``, the metric sees NaN instead of the grade of a document that is not judged.
    """
    kept = [i for i in range(len(labels)) if retrieved is None or retrieved[i]]
    y, s = [labels[i] for i in kept], [scores[i] for i in kept]
    if name in ORDER_METRICS:
        return ORDER_METRICS[name](y, s, **parameters)
    known = [y if judged is None or judged[i] else math.nan for i, y in enumerate(labels)]
    seen = [(known if column is None else column)[i] for i in kept]
    values = [METRICS[name]([seen[i] for i in order], known, k, **parameters) for order in orders(y, s, ties)]
    return math.fsum(values) / len(values)
