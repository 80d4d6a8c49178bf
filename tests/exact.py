"""The formula of each metric, in numbers of 60 digits: what the package is compared with.

It is written from `docs/definitions.md` and shares nothing with the package: one query at a time, plain lists and
loops. The formula is the first line of each docstring. In it, y_i is the grade at rank i, rel_i is 1 for a relevant
document and otherwise 0, R is the number of relevant documents of the query, and sums run over the ranks down to k.

A ranking is a list of runs, from the highest score to the lowest: the grades of documents of equal score, whose order
is open. Each function returns the mean over all orders, by a closed form that reaches ties of 30,000 documents. Where
every run has one document, it is the formula itself, so `value(..., by_enumeration=True)`, the mean of the formula over
every order, checks each closed form (`test_exact.py`).
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

DIGITS = Context(prec=60)
NOTHING = Decimal("1e-30")  # no float64 shows it beside 1
Run = Sequence[float]  # documents of equal score, whose order is open; one document where it is not
Runs = Sequence[Run]
Labels = Sequence[float]  # the grades of all documents of the query, ranked or not; NaN: not judged
Rel = float | str | None
Gain = str | tuple[float, ...]  # also of probabilities
Cutoff = int | None
Recall = float | tuple[float, ...]
ELEVEN_LEVELS = tuple(i / 10 for i in range(11))


def exact(number: float | Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator if isinstance(number, Fraction) else Decimal(number)


def is_relevant(grade: float, rel: Rel = None) -> bool:
    if isinstance(rel, str) and rel.startswith(">"):
        return grade > float(rel[1:])
    return grade >= (1 if rel in (None, "binary") else rel)


@functools.cache
def gain_of(grade: float, gain: Gain = "exp") -> Decimal:
    if isinstance(gain, tuple):
        return Decimal(gain[int(grade)])
    return DIGITS.subtract(DIGITS.power(2, Decimal(grade)), 1) if gain == "exp" else Decimal(grade)


@functools.cache
def _log2(n: int) -> Decimal:
    return DIGITS.divide(DIGITS.ln(n), DIGITS.ln(2))


def discount_at(rank: int, discount: str = "log2") -> Decimal:
    if discount == "jarvelin":
        return Decimal(1) if rank < 2 else 1 / _log2(rank)
    return 1 / Decimal(rank) if discount == "position" else 1 / _log2(rank + 1)


def count(grades: Iterable[float], rel: Rel) -> int:
    return sum(is_relevant(y, rel) for y in grades)


def placed(runs: Runs, k: Cutoff) -> Iterator[tuple[int, Run, int]]:
    """Yield the documents above each tie, the tie, and how many of its ranks are within the cutoff, if any is."""
    above = 0
    for run in runs:
        if k is not None and above >= k:
            return
        yield above, run, len(run) if k is None else min(len(run), k - above)
        above += len(run)


# -- sums of gains: each rank of a tie has the mean of its documents ---------------------------------------------------


def gains(runs: Runs, k: Cutoff, gain: Callable[[float], Decimal], weight: Callable[[int], Decimal]) -> Decimal:
    """Return the sum of the gains down to rank k, each times the weight of its rank."""
    gain, total = functools.cache(gain), Decimal(0)
    for above, run, n_within in placed(runs, k):
        weights = sum((weight(above + j) for j in range(1, n_within + 1)), Decimal(0))
        total += sum(map(gain, run), Decimal(0)) * weights / len(run)
    return total


def one(rank: int) -> Decimal:
    return Decimal(1)


def cg(runs: Runs, labels: Labels, k: Cutoff) -> Decimal:
    """sum of y_i."""
    return gains(runs, k, Decimal, one)


def dcg(runs: Runs, labels: Labels, k: Cutoff, gain: Gain = "exp", discount: str = "log2") -> Decimal:
    """sum of gain(y_i) x discount(i), by default of (2^y_i - 1) / log2(i + 1)."""
    return gains(runs, k, lambda y: gain_of(y, gain), lambda rank: discount_at(rank, discount))


def ndcg(
    runs: Runs,
    labels: Labels,
    k: Cutoff,
    gain: Gain = "exp",
    discount: str = "log2",
    ideal: str = "cutoff",
    short: str = "pad",
) -> Decimal:
    """DCG / DCG of all documents by descending grade; undefined where no document has a gain."""
    n = sum(map(len, runs))
    if all(gain_of(y, gain) == 0 for y in labels):
        return Decimal("nan")
    if (short == "zero" and k is not None and n < k) or not n:
        return Decimal(0)
    if ideal == "slots":
        assert k is not None
        best = sum((discount_at(i, discount) for i in range(1, k + 1)), Decimal(0))
    else:
        depth = {"cutoff": k, "all": None, "shown": n if k is None else min(k, n)}[ideal]
        best = dcg([[y] for y in sorted(labels, reverse=True)], labels, depth, gain, discount)
    return dcg(runs, labels, k, gain, discount) / best


def hits(runs: Runs, k: Cutoff, rel: Rel) -> Decimal:
    return gains(runs, k, lambda y: Decimal(is_relevant(y, rel)), one)


def precision(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None, short: str = "pad") -> Decimal:
    """sum of rel_i / k; without a cutoff, and with short=cut if it is shorter, the length of the list takes the place of k."""
    n = sum(map(len, runs))
    divisor = n if k is None else k if short == "pad" else min(k, n)
    return hits(runs, k, rel) / divisor if divisor else Decimal(0)


def recall(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None) -> Decimal:
    """sum of rel_i / R."""
    return share(hits(runs, k, rel), count(labels, rel))


def f1(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None) -> Decimal:
    """2 P R / (P + R), the harmonic mean of precision P and recall R."""
    relevant = count(labels, rel)
    return 2 * share(hits(runs, k, rel), relevant) * relevant / (relevant + (sum(map(len, runs)) if k is None else k))


def share(part: Decimal, whole: Decimal | int) -> Decimal:
    return part / whole if whole else Decimal("nan")


def r_precision(runs: Runs, labels: Labels, k: None, rel: Rel = None) -> Decimal:
    """The precision of the first R documents."""
    relevant = count(labels, rel)
    return share(hits(runs, relevant, rel), relevant)


def rbp(
    runs: Runs,
    labels: Labels,
    k: Cutoff,
    rel: Rel = None,
    p: float = 0.8,
    graded: str | None = None,
    max_grade: float = 4,
) -> Decimal:
    """(1 - p) x sum of rel_i p^(i-1), or of grades, or of grades as a share of max_grade, in the place of rel_i."""

    def gain(y: float) -> Decimal:
        return Decimal(y) / (Decimal(max_grade) if graded == "max" else 1) if graded else Decimal(is_relevant(y, rel))

    return (1 - Decimal(p)) * gains(runs, k, gain, lambda rank: Decimal(p) ** (rank - 1))


def arp(runs: Runs, labels: Labels, k: None) -> Decimal:
    """sum of i y_i / sum of y_i."""
    return share(gains(runs, None, Decimal, Decimal), cg(runs, labels, None))


def mean_of(runs: Runs, labels: Labels, k: Cutoff) -> Decimal:
    """sum of the column's values / the number of documents down to k."""
    n = sum(map(len, runs))
    return share(cg(runs, labels, k), n if k is None else min(k, n))


# -- sums of precisions ------------------------------------------------------------------------------------------------


def precisions(
    runs: Runs, k: Cutoff, value: Callable[[float], Decimal], divisor: Callable[[int], Decimal | int]
) -> Decimal:
    """Return the sum of (value of the documents so far) / divisor(rank) at the ranks with a value.

    In a tie of m documents, r of them with a value, V in all, each of these is at the j-th rank with probability 1/m.
    Each of the others is above it then with probability (j - 1) / (m - 1).
    """
    value, total, so_far = functools.cache(value), Decimal(0), Decimal(0)
    for above, run, n_within in placed(runs, k):
        values = [value(y) for y in run]
        of_tie, m, r = sum(values, Decimal(0)), len(run), sum(v > 0 for v in values)
        for j in range(1, n_within + 1):
            others = of_tie * (r - 1) * (j - 1) / (m - 1) if m > 1 else 0
            total += (r * so_far + of_tie + others) / m / divisor(above + j)
        so_far += of_tie
    return total


def average_precision(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None, denominator: str = "min") -> Decimal:
    """sum of rel_i (rel_1 + ... + rel_i) / i, divided by min(R, k), R, k, or the hits down to k."""
    relevant = count(labels, rel)
    if not relevant:
        return Decimal("nan")
    if denominator == "hits":
        return _precisions_per_hit(runs, k, rel)
    divisor = k if denominator == "cutoff" else relevant if k is None or denominator == "relevant" else min(relevant, k)
    assert divisor is not None
    return precisions(runs, k, lambda y: Decimal(is_relevant(y, rel)), int) / divisor


def _precisions_per_hit(runs: Runs, k: Cutoff, rel: Rel) -> Decimal:
    """Return the mean of the precisions at the hits, by their number in the tie at the cutoff, which alone is random."""
    total, n_hits = Decimal(0), 0
    for above, run, t in placed(runs, k):
        found = drawings(len(run), count(run, rel), t)
        first = sum((1 / Decimal(above + j) for j in range(1, t + 1)), Decimal(0))
        second = sum((Decimal(j - 1) / (above + j) for j in range(1, t + 1)), Decimal(0))
        sums = {h: total + Decimal(h) / t * ((n_hits + 1) * first + second * (h - 1) / max(t - 1, 1)) for h in found}
        if t < len(run):
            return sum((p * sums[h] / max(n_hits + h, 1) for h, p in found.items()), Decimal(0))
        ((h, _),) = found.items()
        total, n_hits = sums[h], n_hits + h
    return total / max(n_hits, 1)


def drawings(m: int, r: int, t: int) -> dict[int, Decimal]:
    """Return P(h relevant among t documents drawn from m, r of them relevant) for each h."""
    lowest, highest = max(0, t - m + r), min(r, t)
    likely = min(max((t + 1) * (r + 1) // (m + 2), lowest), highest)
    ways = math.comb(r, likely) * math.comb(m - r, t - likely)
    found = {likely: Decimal(ways) / Decimal(math.comb(m, t))}
    for h in range(likely, highest):
        found[h + 1] = found[h] * (r - h) * (t - h) / ((h + 1) * (m - r - t + h + 1))
    for h in range(likely, lowest, -1):
        found[h - 1] = found[h] * h * (m - r - t + h) / ((r - h + 1) * (t - h + 1))
    return found


def q_measure(
    runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None, gain: Gain = "linear", beta: float = 1
) -> Decimal:
    """sum of rel_i (C(i) + beta cg(i)) / (i + beta cg*(i)), divided by min(R, k).

    C is the number of relevant documents so far, cg the sum of their gains, and cg* that sum in the ideal ranking.
    """

    def value(y: float) -> Decimal:
        return 1 + Decimal(beta) * gain_of(y, gain) if is_relevant(y, rel) else Decimal(0)

    relevant = count(labels, rel)
    if not relevant:
        return Decimal("nan")
    of_ideal = (value(y) if is_relevant(y, rel) else Decimal(1) for y in sorted(labels, reverse=True))
    ideal = list(itertools.accumulate(of_ideal))  # i + beta cg*(i)
    return precisions(runs, k, value, lambda rank: ideal[rank - 1]) / (relevant if k is None else min(relevant, k))


# -- cascades ----------------------------------------------------------------------------------------------------------


def cascade(runs: Runs, k: Cutoff, stop: Callable[[float], Decimal], weight: Callable[[int], Decimal]) -> Decimal:
    """Return the sum of P(the user stops at a rank) x weight(rank)."""
    total, reach = Decimal(0), Decimal(1)
    for above, run, n_within in placed(runs, k):
        p = Counter(stop(y) for y in run)
        past = [Decimal(1), 1 - stop(run[0])] if len(run) == 1 else goes_on(p, n_within)
        for j, (before, after) in enumerate(itertools.pairwise(past), start=1):
            total += reach * (before - after) * weight(above + j)
        for of_run, n in p.items():
            reach *= (1 - of_run) ** n
        if reach < NOTHING:
            break
    return total


def goes_on(p: Counter[Decimal], depth: int) -> list[Decimal]:
    """Return P(the user goes on past the first j documents of a tie), for j = 0 ... depth, or until it is nothing.

    It is e_j / C(m, j), where e_j is the coefficient of z^j in the product of 1 + x z over the documents, x = 1 - p.
    """
    found, digits = _goes_on(p, depth, 2 * DIGITS.prec), 2 * DIGITS.prec
    while True:
        digits *= 2  # until they do not matter, as the recurrence loses some
        before, found = found, _goes_on(p, depth, digits)
        if len(before) == len(found) and all(abs(a - b) < NOTHING for a, b in zip(before, found, strict=True)):
            return [+one for one in found]


def _goes_on(p: Counter[Decimal], depth: int, digits: int) -> list[Decimal]:
    with localcontext(Context(prec=digits)):
        x = {1 - one: n for one, n in p.items() if one != 1}
        m, degree = p.total(), sum(x.values())
        ways = list(itertools.accumulate(range(depth), lambda c, j: c * (m - j) / (j + 1), initial=Decimal(1)))
        middle = degree * 3 // 5
        found = [e / c for e, c in zip(_coefficients(x, min(depth, middle)), ways, strict=False)]
        if found[-1] < NOTHING:
            return [one for one in found if one > NOTHING] + [Decimal(0)]
        if degree > middle < depth:  # from the other end: the product is that of x, times z^degree, times 1 + 1 / (x z)
            scale = math.prod((one**n for one, n in x.items()), start=Decimal(1))
            reverse = _coefficients({1 / one: n for one, n in x.items()}, degree - middle - 1)
            found += [scale * e / c for e, c in zip(reversed(reverse), ways[middle + 1 :], strict=False)]
        return found + [Decimal(0)] * (depth + 1 - len(found))


def _coefficients(x: dict[Decimal, int], depth: int) -> list[Decimal]:
    """Return the first coefficients of the product P(z) of (1 + x z)^n, by P'(z) / P(z) = sum of n x / (1 + x z)."""
    product = [Decimal(1)]  # of 1 + x z over the distinct x
    for one in x:
        product = [a + one * b for a, b in zip([*product, Decimal(0)], [Decimal(0), *product], strict=True)]
    slope = [Decimal(0)] * len(x)  # the sum of n x times the product of the others
    for one, n in x.items():
        others = itertools.accumulate(product[1:-1], lambda b, a, one=one: a - one * b, initial=Decimal(1))
        slope = [a + n * one * b for a, b in zip(slope, others, strict=True)]
    e = [Decimal(1)]
    for j in range(depth):
        total = sum((slope[i] * e[j - i] for i in range(min(len(x), j + 1))), Decimal(0))
        total -= sum((product[i] * (j + 1 - i) * e[j + 1 - i] for i in range(1, min(len(x), j) + 1)), Decimal(0))
        e.append(total / (j + 1))
    return e


def probability(y: float, highest: Decimal, p: Gain) -> Decimal:
    if isinstance(p, tuple):
        return Decimal(p[int(y)])
    return Decimal(y) if p == "label" else (2 ** Decimal(y) - 1) / 2**highest


def err(runs: Runs, labels: Labels, k: Cutoff, max_grade: float | str = 4, p: str = "exp") -> Decimal:
    """sum of 1/i x p_i x (1 - p_1) ... (1 - p_(i-1)), where p_i = (2^y_i - 1) / 2^max_grade, or y_i itself."""
    highest = Decimal(max(labels) if max_grade == "query" else max_grade)
    return cascade(runs, k, lambda y: probability(y, highest, p), lambda rank: 1 / Decimal(rank))


def pfound(
    runs: Runs, labels: Labels, k: Cutoff, p_break: float = 0.15, p_rel: Gain = "label", max_grade: float | str = 4
) -> Decimal:
    """sum of (1 - p_break)^(i-1) x p_i x (1 - p_1) ... (1 - p_(i-1)), where p_rel gives p_i for y_i."""
    highest = Decimal(max(labels) if max_grade == "query" else max_grade)
    table = (0, 0.07, 0.14, 0.41, 0.61) if p_rel == "yandex" else p_rel
    looks = 1 - Decimal(p_break)
    return cascade(
        runs, k, lambda y: probability(y, highest, table), lambda rank: looks ** (rank - 1) if rank > 1 else 1
    )


def reciprocal_rank(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None) -> Decimal:
    """1 / (rank of the first relevant document), and 0 if it is below k; undefined where R = 0.

    In a tie of m documents, the first of r relevant ones is at the j-th rank with probability C(m-j, r-1) / C(m, r).
    """
    if not count(labels, rel):
        return Decimal("nan")
    for above, run, n_within in placed(runs, k):
        m, r = len(run), count(run, rel)
        if not r:
            continue
        total, p = Decimal(0), Decimal(r) / m
        for j in range(1, min(n_within, m - r + 1) + 1):
            total += p / (above + j)
            p = p * (m - j - r + 1) / (m - j) if j < m else Decimal(0)
        return total
    return Decimal(0)


def hit(runs: Runs, labels: Labels, k: Cutoff, rel: Rel = None) -> Decimal:
    """1 if a document down to k is relevant, and otherwise 0."""
    for _, run, t in placed(runs, k):
        m, r = len(run), count(run, rel)
        if r:
            return 1 - exact(Fraction(math.comb(m - r, t), math.comb(m, t)))
    return Decimal(0)


# -- functions of the whole ranking ------------------------------------------------------------------------------------


def bpref(runs: Runs, labels: Labels, k: None, rel: Rel = None) -> Decimal:
    """1/R x sum over ranked relevant documents of 1 - min(N above it, R) / min(N, R).

    N are judged documents that are not relevant. In a tie with q of them, 0, 1, ..., or q are above a relevant one,
    equally likely.
    """

    def nonrelevant(grades: Iterable[float]) -> int:
        return sum(not is_relevant(y, rel) for y in grades if not math.isnan(y))

    relevant, above, total = count(labels, rel), 0, Decimal(0)
    most = min(nonrelevant(labels), relevant)
    for run in runs:
        q, r = nonrelevant(run), count(run, rel)
        if r:
            lost = sum(min(above + x, most) for x in range(q + 1))
            total += r * (1 - Decimal(lost) / (q + 1) / max(most, 1))
        above += q
    return share(total, relevant)


def iprec(
    runs: Runs, labels: Labels, k: None, rel: Rel = None, recall: Recall = ELEVEN_LEVELS, rounding: str = "up"
) -> Decimal:
    """Mean over recall levels of the highest precision at ranks from which on so many relevant documents are found."""
    relevant = count(labels, rel)
    if not relevant:
        return Decimal("nan")
    levels = recall if isinstance(recall, tuple) else (recall,)
    total = Decimal(0)
    for level in levels:
        wanted = Fraction(str(level)) * relevant
        least = {
            "up": math.ceil(wanted),
            "nearest": math.floor(wanted + Fraction(1, 2)),
            "truncated": int(level * relevant + 0.9),
        }[rounding]
        total += exact(highest_precision(runs, rel, max(least, 1)))
    return total / len(levels)


def highest_precision(runs: Runs, rel: Rel, least: int) -> Fraction:
    """Return the expected highest precision at or below the relevant document of this number."""
    ties, above, relevant_above, lowest = [], 0, 0, Fraction(0)
    for run in runs:
        m, r = len(run), count(run, rel)
        for j in range(1, r + 1):  # the others first
            if relevant_above + j >= least:
                lowest = max(lowest, Fraction(relevant_above + j, above + m - r + j))
        if 0 < r < m and relevant_above + r >= least:
            ties.append((above, relevant_above, m, r))
        above, relevant_above = above + m, relevant_above + r
    cells = {
        Fraction(b + j, a + p)
        for a, b, m, r in ties
        for j in range(max(1, least - b), r + 1)
        for p in range(j, m - r + j + 1)
    }
    values = sorted({lowest} | {cell for cell in cells if cell > lowest})
    expected = values[-1]
    for value, following in itertools.pairwise(values):
        at_most = Fraction(1)
        for tie in ties:
            at_most *= Fraction(_orders_up_to(value, *tie, least), math.comb(tie[2], tie[3]))
        expected -= (following - value) * at_most
    return expected


def _orders_up_to(value: Fraction, above: int, relevant_above: int, m: int, r: int, least: int) -> int:
    """Return in how many orders of a tie no precision that counts is above a value."""
    orders = [1] + [0] * r  # by the number of relevant documents so far
    highest = [value.numerator * (above + p) // value.denominator - relevant_above for p in range(m + 1)]
    for p in range(1, m + 1):
        allowed = max(highest[p], least - 1 - relevant_above)
        for j in range(min(r, p), 0, -1):
            orders[j] = (orders[j] if p - j <= m - r else 0) + (orders[j - 1] if j <= allowed else 0)
        orders[0] = orders[0] if p <= m - r else 0
    return orders[r]


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
    "sum_of": cg,  # the values of a column instead of grades
}


# -- metrics of order --------------------------------------------------------------------------------------------------


def _groups(values: Sequence[float]) -> list[list[int]]:
    """Return the documents of each distinct value, ascending."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    return [list(group) for _, group in itertools.groupby(order, key=lambda i: values[i])]


def _pairs_within(values: Iterable[object]) -> int:
    return sum(n * (n - 1) // 2 for n in Counter(values).values())


def _right_and_wrong(grades: Sequence[float], scores: Sequence[float]) -> tuple[int, int]:
    right, wrong, lower = 0, 0, list[float]()  # the grades of the documents with lower scores, ascending
    for group in _groups(scores):
        right += sum(bisect.bisect_left(lower, grades[i]) for i in group)
        wrong += sum(len(lower) - bisect.bisect_right(lower, grades[i]) for i in group)
        for i in group:
            bisect.insort(lower, grades[i])
    return right, wrong


def pair_accuracy(
    grades: Sequence[float], scores: Sequence[float], tied: float = 0.5, average: str = "macro"
) -> Decimal:  # of one query, for which the average makes no difference
    """(right pairs + tied x pairs of equal score) / pairs of different grade."""
    (right, wrong), n = _right_and_wrong(grades, scores), len(grades)
    pairs = n * (n - 1) // 2 - _pairs_within(grades)
    return share(right + Decimal(tied) * (pairs - right - wrong), pairs)


def kendall(grades: Sequence[float], scores: Sequence[float]) -> Decimal:
    """tau-b: (right - wrong pairs) / sqrt(pairs of different grade x pairs of different score), and 0 if that is 0 for scores."""
    (right, wrong), n = _right_and_wrong(grades, scores), len(grades)
    y, s = (n * (n - 1) // 2 - _pairs_within(values) for values in (grades, scores))
    return share(Decimal(right - wrong), Decimal(y * max(s, 1)).sqrt())


def spearman(grades: Sequence[float], scores: Sequence[float]) -> Decimal:
    """The correlation of the ranks by grade and by score, where equal values share the mean of their ranks."""

    def ranks(values: Sequence[float]) -> list[int]:  # twice the deviation from the mean rank
        found, above = [0] * len(values), 0
        for group in _groups(values):
            for i in group:
                found[i] = 2 * above + len(group) - len(values)
            above += len(group)
        return found

    y, s = ranks(grades), ranks(scores)
    product, yy, ss = (sum(a * b for a, b in zip(u, v, strict=True)) for u, v in ((y, s), (y, y), (s, s)))
    return share(Decimal(product), Decimal(yy * max(ss, 1)).sqrt())


ORDER_METRICS = {"pair_accuracy": pair_accuracy, "kendall": kendall, "spearman": spearman}


# -- the value of a query ----------------------------------------------------------------------------------------------


def runs_of(labels: Sequence[float], scores: Sequence[float], ties: str) -> list[list[int]]:
    """Return the documents from the highest score to the lowest; several in one list are in open order."""
    runs = _groups([-score for score in scores])
    if ties == "mean":
        return runs
    if ties in ("worst", "best"):
        runs = [sorted(run, key=lambda i: labels[i], reverse=ties == "best") for run in runs]
    return [[i] for run in runs for i in run]


def orders(labels: Sequence[float], scores: Sequence[float], ties: str = "mean") -> Iterator[list[int]]:
    """Yield the documents in ranked order, for every order that the tie policy allows."""
    for chosen in itertools.product(*map(itertools.permutations, runs_of(labels, scores, ties))):
        yield list(itertools.chain.from_iterable(chosen))


def in_order(name: str, ranked: Sequence[float], labels: Labels, k: Cutoff = None, **parameters: object) -> Decimal:
    """Return a metric of one query, whose grades are given in ranked order."""
    with localcontext(DIGITS):
        return METRICS[name]([[y] for y in ranked], labels, k, **parameters)


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
    by_enumeration: bool = False,
    **parameters: object,
) -> Decimal:
    """Return a metric of one query under a tie policy, by the closed form or by enumeration.

    ``column`` has what the metric looks at instead of the grades. With ``judged``, the metric sees NaN instead of the
    grade of a document that is not judged.
    """
    kept = [i for i in range(len(labels)) if retrieved is None or retrieved[i]]
    y, s = [labels[i] for i in kept], [scores[i] for i in kept]
    with localcontext(DIGITS):
        if name in ORDER_METRICS:
            return ORDER_METRICS[name](y, s, **parameters)
        known = [y if judged is None or judged[i] else math.nan for i, y in enumerate(labels)]
        seen = [(known if column is None else column)[i] for i in kept]
        if by_enumeration:
            values = [in_order(name, [seen[i] for i in order], known, k, **parameters) for order in orders(y, s, ties)]
            return sum(values, Decimal(0)) / len(values)
        runs = [[seen[i] for i in run] for run in runs_of(y, s, ties)]
        return METRICS[name](runs, known, k, **parameters)
