"""Digits: within 4e-15 of exact arithmetic for each metric, in long lists and ties of any size."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from exact import ORDER_METRICS
from hypothesis import given
from profiles import every_third, examples
from strategies import Data, data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.evaluation.means import standard_error
from ltr_metrics.metrics import DCG, ERR, MAP, MRR, NDCG, RBP, Hit, MeanOf, PFound, QMeasure, SumOf

pytestmark = pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")

MOST = 4e-15
TINIEST = 1e-300  # smaller numbers have fewer digits
UNBOUNDED = ("cg", "dcg", "sum_of", "arp", "mean_of")
HARD = (  # gains and probabilities of very different size, and factors close to 1
    Entry(DCG, "dcg", {"gain": (0.1, 0.37, 2.123, 2.7, 9.01)}),
    Entry(NDCG, "ndcg", scale=0.01),
    Entry(NDCG, "ndcg", scale=9.7),
    Entry(QMeasure, "q", {"gain": (0.1, 0.37, 2.123, 2.7, 9.01), "beta": 100.3}),
    Entry(QMeasure, "q", {"gain": (0.0, 0.001, 1.0, 1e6, 1e12)}),
    Entry(ERR, "err", {"max_grade": 60}),
    Entry(ERR, "err", {"p": "label"}, scale=0.001),
    Entry(RBP, "rbp", {"p": 0.9999}),
    Entry(PFound, "pfound", {"p_break": 0.0}, scale=0.001),
    Entry(PFound, "pfound", {"p_break": 1e-5, "p_rel": (0.0, 1e-4, 1e-4, 1e-3, 1e-4)}),
    Entry(PFound, "pfound", {"p_break": 0.0, "p_rel": (0.3, 0.2, 0.0, 0.01, 1.0)}),
    Entry(SumOf, "sum_of", {"column": "wide"}, column="wide"),
    Entry(MeanOf, "mean_of", {"column": "wide"}, column="wide"),
)
IN_LARGE_TIES = (
    Entry(Hit, "hit"),
    Entry(MRR, "mrr"),
    Entry(MAP, "map", {"denominator": "hits"}),
    Entry(QMeasure, "q", {"gain": "exp", "beta": 0.3}),
    Entry(ERR, "err"),
    Entry(ERR, "err", {"p": "label"}, scale=0.01),
    Entry(PFound, "pfound", {"p_break": 0.0}, scale=0.001),
    Entry(PFound, "pfound", {"p_break": 0.0, "p_rel": (0.0, 1e-4, 1e-4, 1e-4, 1e-4)}),
    Entry(PFound, "pfound", {"p_break": 0.1, "p_rel": (0.3, 0.1, 0.0, 1.0, 0.2)}),
)
SHAPES = ("distinct", "levels", "tied", "few", "one", "two", "head", "near")


def rows(shape: str, n: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the grades, the scores and the further columns of one query."""
    rng = np.random.default_rng(n)
    y = rng.choice(5, n, p=[0.5, 0.2, 0.15, 0.1, 0.05]).astype(float)
    score = {
        "distinct": rng.permutation(n),
        "levels": rng.integers(0, 3, n),
        "tied": np.zeros(n),
        "few": np.zeros(n),  # relevant documents
        "one": np.zeros(n),  # grade
        "two": np.zeros(n),
        "head": np.maximum(5.0 - np.arange(n), 0.0),
        "near": 1 + 2.0**-52 * rng.integers(0, max(n // 3, 2), n),
    }[shape].astype(float)
    if shape in ("one", "two"):
        y = np.where(np.arange(n) % 2 == 0 if shape == "two" else y >= 0, 1.0, 3.0)
    if shape == "few":
        y *= np.arange(n) % (n // 3 + 1) == 0
    wide = rng.lognormal(0, 9, n)
    columns = {"judged": ((rng.random(n) < 0.8) | (y > 0)).astype(float), "margin": wide + 1, "wide": wide}
    return y, score, columns


def refuse_lost_digits(entry: Entry, shape: str, n: int, cutoffs: list[int], ties: str) -> None:
    y, score, columns = rows(shape, n)
    labels, retrieved = entry.labels(y), np.arange(n) % 7 != 5
    if entry.cutoffs == ():
        metrics = [entry.cls(**entry.parameters)]
    else:
        metrics = [entry.cls(k=k, **entry.parameters) for k in (None, *cutoffs) if k or None in entry.cutoffs]
    result = ltr.evaluate(
        labels,
        score,
        group=[n],
        metrics=metrics,
        ties=ties,
        retrieved=retrieved,
        judged=columns["judged"] > 0,
        columns={"margin": columns["margin"], "wide": columns["wide"]},
    )
    for metric in metrics:
        expected = entry.value(y, score, columns, retrieved, k=metric.cutoff, ties=ties)
        refuse_other(result.per_query[metric][0], expected, entry, f"{metric} {shape} {ties}")
        if ties == "mean" and not score.any() and entry.name not in ORDER_METRICS:
            refuse_other(result.chance_per_query[metric][0], expected, entry, f"chance of {metric} {shape}")


def refuse_other(value: float, expected: Decimal, entry: Entry, what: str) -> None:
    assert np.isnan(value) == expected.is_nan(), what
    if not np.isnan(value):
        is_unbounded = entry.name in UNBOUNDED or entry.parameters.get("graded") == "label"
        size = abs(expected) if is_unbounded else max(abs(expected), min(Decimal(1), abs(expected) * 10**6))
        assert abs(Decimal(float(value)) - expected) <= Decimal(MOST) * size + Decimal(TINIEST), (what, value, expected)


@pytest.mark.parametrize("entry", TABLE, ids=str)
@given(d=data(max_queries=1))
@examples(10)
def test_the_closed_form_of_a_tie_is_the_mean_over_its_orders(entry: Entry, d: Data) -> None:
    """Of `exact.py` itself. Every tie policy but this one leaves a single order."""
    retrieved = np.arange(len(d.y)) % 5 != 3
    for k in entry.cutoffs or (None,):
        closed, mean = (
            entry.value(d.y, d.score, d.columns, retrieved, k=k, by_enumeration=way) for way in (False, True)
        )
        assert closed.is_nan() == mean.is_nan()
        assert closed.is_nan() or abs(closed - mean) < Decimal("1e-25"), k


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("entry", [*TABLE, *HARD], ids=str)
def test_no_digit_is_lost(entry: Entry, shape: str) -> None:
    for n in (1, 2, 9, 40, 1_000):  # the last has no other query beside it, see lanes.hpp
        if entry.name == "iprec" and n > 40 and shape != "distinct":
            n = 60  # whose orders can be counted
        cutoffs = sorted({k for k in (1, 3, n // 3, n - 1, n + 2) if k})
        refuse_lost_digits(entry, shape, n, cutoffs, "mean")
        refuse_lost_digits(entry, shape, n, cutoffs[-1:], ("stable", "worst", "best")[n % 3])


@pytest.mark.parametrize(("shape", "entry"), every_third(product(["tied", "few", "one"], IN_LARGE_TIES)))
def test_no_digit_is_lost_in_a_tie_of_ten_thousand(entry: Entry, shape: str) -> None:
    refuse_lost_digits(entry, shape, 10_000, [1, 10, 40, 8_000], "mean")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["distinct", "levels", "tied", "few", "one", "two", "head"])
@pytest.mark.parametrize("entry", [entry for entry in (*TABLE, *HARD) if entry.name != "iprec"], ids=str)
def test_no_digit_is_lost_in_a_list_of_thirty_thousand(entry: Entry, shape: str) -> None:
    refuse_lost_digits(entry, shape, 30_000, [10, 9_999], "mean")


def test_a_standard_error_keeps_its_digits_where_values_hardly_differ() -> None:
    values = 1 - 1e-9 * np.random.default_rng(0).random(50)
    weight = np.random.default_rng(1).lognormal(0, 5, 50)
    x, w = ([Decimal(number) for number in numbers.tolist()] for numbers in (values, weight))
    mean = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
    squares = sum((a * (b - mean)) ** 2 for a, b in zip(w, x, strict=True))
    expected = (squares * 50 / 49).sqrt() / sum(w)
    assert standard_error(values, weight) == pytest.approx(float(expected), rel=1e-14, abs=0)
    assert standard_error(values, weight * 2.0**1008) == standard_error(values, weight)  # whose sum is beyond float64


@pytest.mark.parametrize("metric", ["sum_of(c)", "mean_of(c)@2"])
@pytest.mark.parametrize("ties", ["mean", "stable"])
def test_a_column_whose_sum_may_overflow_is_refused(metric: str, ties: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"The sum may overflow for -1e\+308 at row 1"):
        ltr.evaluate([1, 0], [1, 1], group=[2], metrics=metric, columns={"c": [1, -1e308]}, ties=ties)


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: f"{entry.name}-{entry.parameters}")
def test_a_query_has_the_same_digits_among_many(entry: Entry) -> None:
    rng, n = np.random.default_rng(0), 1800
    y, score = entry.labels(rng.integers(0, 5, n).astype(float)), rng.integers(0, 9, n)
    columns = {} if entry.column is None else {entry.column: rng.random(n)}
    judged = rng.random(n) < 0.8 if entry.reads_judged else np.ones(n, dtype=bool)

    def values(rows: slice) -> dict[str, np.ndarray]:
        of_rows = {name: column[rows] for name, column in columns.items()}
        y_true, size = np.where(judged, y, 0)[rows], 3
        options = {"group": [size] * (len(y_true) // size), "columns": of_rows, "judged": judged[rows]}
        return ltr.evaluate(y_true, score[rows], metrics=entry.metrics(), **options).per_query

    parts = [values(slice(start, start + 90)) for start in range(0, n, 90)]
    for name, whole in values(slice(n)).items():
        np.testing.assert_array_equal(whole, np.concatenate([part[name] for part in parts]), err_msg=name)
