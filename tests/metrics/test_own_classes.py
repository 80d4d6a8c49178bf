"""Subclasses of every metric, with each method that a class can declare: right, or refused when first used.

Each override is compared with a formula in plain Python, over all orders of tied documents. The built-in metric is
evaluated before it and beside it, and must not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest
from exact import in_order, orders
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from strategies import Data, data

import ltr_metrics as ltr
from ltr_metrics.counterfactual import ClickMetric
from ltr_metrics.metrics import METRICS, LabelledQueries, ideal_sums
from ltr_metrics.metrics.kinds import Kind, MethodName

# -- the formulas, piece by piece ------------------------------------------------------------------

Pieces = dict[str, Any]


class Formula:
    """The pieces of one query's formula; those of a user's class take the places of the built-in ones."""

    def __init__(self, pieces: Pieces, labels: list[float], n: int, k: int | None) -> None:
        self.pieces, self.labels, self.n, self.k = pieces, labels, n, k

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self.pieces[name](self, *arguments)

    def ideal(self) -> list[float]:
        return sorted(self.labels, reverse=True)

    def value(self, ranked: list[float]) -> float:
        total, so_far, reach = 0.0, 0.0, 1.0
        for rank, grade in enumerate(ranked[: self.k], start=1):
            value, of_rank = self.by_grade(grade), self.by_rank(rank)
            so_far += value
            if self.pieces["KIND"] == "gains":
                total += value * of_rank
            elif self.pieces["KIND"] == "precisions":
                total += so_far / of_rank if value > 0 else 0.0
            else:
                total += reach * value * self.by_query() * of_rank
                reach *= 1 - value * self.by_query()
        return total / self.divisor() if self.divisor() else math.nan


SUM: Pieces = {"KIND": "gains", "by_rank": lambda f, i: 1.0, "divisor": lambda f: 1.0}
BINARY: Pieces = {
    "relevant": lambda f, g: g >= 1,
    "by_grade": lambda f, g: float(f.relevant(g)),
    "n_relevant": lambda f: sum(map(f.relevant, f.labels)) or math.nan,
}
WITHOUT_R = {name: piece for name, piece in BINARY.items() if name != "n_relevant"}
DCG = SUM | {
    "gains": lambda f, g: 2.0**g - 1,
    "discounts": lambda f, i: 1 / math.log2(i + 1),
    "by_grade": lambda f, g: f.gains(g),
    "by_rank": lambda f, i: f.discounts(i),
}
IDEAL_DCG = lambda f: math.fsum(f.by_grade(g) * f.by_rank(i) for i, g in enumerate(f.ideal()[: f.k], start=1))  # noqa: E731
CASCADE: Pieces = {"KIND": "cascade", "by_query": lambda f: 1.0}
FORMULAS: dict[type[ltr.Metric], Pieces] = {
    ltr.CG: SUM | {"by_grade": lambda f, g: g},
    ltr.DCG: DCG,
    ltr.NDCG: DCG | {"divisor": IDEAL_DCG},
    ltr.Precision: SUM | WITHOUT_R | {"divisor": lambda f: f.k or f.n},
    ltr.Recall: SUM | BINARY | {"divisor": lambda f: f.n_relevant()},
    ltr.F1: SUM | BINARY | {"divisor": lambda f: ((f.k or f.n) + f.n_relevant()) / 2},
    ltr.RBP: SUM | WITHOUT_R | {"by_rank": lambda f, i: 0.2 * 0.8 ** (i - 1)},
    ltr.MAP: SUM
    | BINARY
    | {"KIND": "precisions", "by_rank": lambda f, i: i, "divisor": lambda f: min(f.n_relevant(), f.k or math.inf)},
    ltr.QMeasure: SUM
    | BINARY
    | {
        "KIND": "precisions",
        "gains": lambda f, g: g,
        "by_grade": lambda f, g: 1 + f.gains(g) if f.relevant(g) else 0.0,
        "by_rank": lambda f, i: math.fsum(f.by_grade(g) or 1.0 for g in (f.ideal() + [-1.0] * 20)[:i]),
        "divisor": lambda f: min(f.n_relevant(), f.k or math.inf),
    },
    ltr.ERR: SUM | CASCADE | {"by_grade": lambda f, g: (2.0**g - 1) / 16, "by_rank": lambda f, i: 1 / i},
    ltr.MRR: SUM | BINARY | CASCADE | {"by_rank": lambda f, i: 1 / i, "divisor": lambda f: f.n_relevant() * 0 + 1},
    ltr.Hit: SUM | WITHOUT_R | CASCADE,
    ltr.PFound: SUM | CASCADE | {"by_grade": lambda f, g: g / 4, "by_rank": lambda f, i: 0.85 ** (i - 1)},
}
# Metrics that are functions of relevance: their formula is that of binary labels in `exact.py`.
OF_RELEVANCE = {
    ltr.RPrec: "rprec",
    ltr.Bpref: "bpref",
    ltr.InterpolatedPrecision: "iprec",
}
READ_OF_RELEVANCE = {  # what else their values depend on
    ltr.RPrec: {"values", "by_grade", "relevant", "n_relevant"},
    ltr.Bpref: {"values", "relevant", "n_relevant"},
    ltr.InterpolatedPrecision: {"values", "relevant", "n_relevant"},
}
OF_ROWS = (ltr.Judged, ltr.MeanOf, ltr.SumOf)
PARAMETERS: dict[type[ltr.Metric], dict[str, Any]] = {
    ltr.PFound: {"p_rel": (0.0, 0.25, 0.5, 0.75, 1.0)},
    ltr.MeanOf: {"column": "margin"},
    ltr.SumOf: {"column": "margin"},
}
pytestmark = pytest.mark.filterwarnings("ignore:.* counts grades")
NAMES = ("KIND", "values", *get_args(MethodName))

# -- the overrides ---------------------------------------------------------------------------------

BY_RANK = [0.9, 0.8, 0.8, 0.5, 0.25, 0.125]


def overrides(by_grade: list[float], relevant: list[bool]) -> dict[str, tuple[Any, Any]]:
    """Return each override as what a user writes, and as a piece of the formula."""
    table, flags, of_ranks = np.array(by_grade), np.array(relevant), np.array(BY_RANK)
    return {
        "by_grade": (lambda self, q: table[q.grades.astype(int)], lambda f, g: by_grade[int(g)] if g >= 0 else 0.0),
        "by_row": (
            lambda self, q: table[q.grades[q.grade_index - 1].astype(int)],
            lambda f, g: by_grade[int(g)],
        ),
        "gains": (
            lambda self, q: 3 * table[q.grades.astype(int)],
            lambda f, g: 3 * by_grade[int(g)] if g >= 0 else 0.0,
        ),
        "relevant": (lambda self, q: flags[q.grades.astype(int)], lambda f, g: g >= 0 and relevant[int(g)]),
        "n_relevant": (lambda self, q: np.full(q.n_queries, 3.0), lambda f: 3.0),
        "by_rank": (
            lambda self, q, depth: of_ranks[:depth] / (self.k or 1),
            lambda f, i: BY_RANK[i - 1] / (f.k or 1),
        ),
        "discounts": (
            lambda self, q, depth: np.maximum(0, 1 - np.arange(depth) / (self.k or 10)),
            lambda f, i: max(0, 1 - (i - 1) / (f.k or 10)),
        ),
        "divisor": (lambda self, q, k: q.n_ranked + (self.k or 0.5), lambda f: f.n + (f.k or 0.5)),
        "by_query": (lambda self, q: 1 / (1 + q.n_ranked), lambda f: 1 / (1 + f.n)),
    }


def subclass(base: type[ltr.Metric], **declared: Any) -> type[ltr.Metric]:
    body = {"NAME": "own", "__module__": __name__, "__annotations__": {}, **declared}
    return dataclass(frozen=True, kw_only=True)(type(f"Own{base.__name__}", (base,), body))


def cutoffs_of(cls: type[ltr.Metric]) -> list[ltr.Metric]:
    parameters = PARAMETERS.get(cls.__mro__[1] if cls not in METRICS else cls, {})
    return [cls(k=k, **parameters) for k in (2, None, 1, 5)] if issubclass(cls, ltr.RankMetric) else [cls(**parameters)]


def check_values(
    own: type[ltr.Metric], expected: Callable[[list[float], int, int | None, list[float]], float], case: Data
) -> None:
    """Compare a user's class with its formula: alone, after the built-in metric, and beside it."""
    base = own.__mro__[1]
    metrics, built_in = cutoffs_of(own), cutoffs_of(base)
    options: dict[str, Any] = {"group": case.group, "columns": {"margin": case.y}}
    before = ltr.Queries(case.y, **options).evaluate(case.score, built_in).per_query
    queries = ltr.Queries(case.y, **options)
    alone = [next(iter(queries.evaluate(case.score, metric).per_query.values())) for metric in metrics]
    beside = queries.evaluate(case.score, [*metrics, *built_in]).per_query
    for metric in built_in:
        np.testing.assert_array_equal(beside[str(metric)], before[str(metric)], str(metric))
    for metric, values in zip(metrics, alone, strict=True):
        np.testing.assert_array_equal(beside[str(metric)], values, str(metric))
        for got, (labels, scores) in zip(values, case.queries(), strict=True):
            ranked = ([labels[i] for i in order] for order in orders(labels, scores))
            of_orders = [expected(labels, len(labels), metric.cutoff, grades) for grades in ranked]
            np.testing.assert_allclose(got, math.fsum(of_orders) / len(of_orders), rtol=1e-11, atol=1e-15)


CASES = data(max_documents=5, scores=st.sampled_from([0.0, 1.0, 2.0]))
TABLES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=5, max_size=5).map(sorted)
FLAGS = st.lists(st.booleans(), min_size=5, max_size=5)


@pytest.mark.hypothesis
@pytest.mark.parametrize("cls", FORMULAS, ids=lambda cls: cls.__name__)
@given(case=CASES, by_grade=TABLES, relevant=FLAGS)
@examples(15)
def test_each_declaration_of_a_sum_counts(
    cls: type[ltr.RankMetric], case: Data, by_grade: list[float], relevant: list[bool]
) -> None:
    if cls is ltr.QMeasure:
        relevant = sorted(relevant)  # its ideal ranking is by grade
    pieces = FORMULAS[cls]
    for name, (method, piece) in overrides(by_grade, relevant).items():
        if name == "by_row" and cls in (ltr.CG, ltr.DCG, ltr.Precision, ltr.Recall, ltr.F1, ltr.RBP):
            own = pieces | {"by_grade": piece}  # a value for each row takes the place of those of grades
        elif name in pieces:
            own = pieces | {name: piece}
        else:
            continue

        def expected(labels: list[float], n: int, k: int | None, ranked: list[float], own: Pieces = own) -> float:
            return Formula(own, labels, n, k).value(ranked)

        check_values(subclass(cls, **{name: method}), expected, case)


@pytest.mark.hypothesis
@pytest.mark.parametrize("cls", OF_RELEVANCE, ids=lambda cls: cls.__name__)
@given(case=CASES, relevant=FLAGS)
@examples(15)
def test_relevance_of_a_class_of_the_users_counts(cls: type[ltr.Metric], case: Data, relevant: list[bool]) -> None:
    if cls is ltr.InterpolatedPrecision:
        relevant = sorted(relevant)  # others are refused
    method, _ = overrides([0.0] * 5, relevant)["relevant"]

    def expected(labels: list[float], n: int, k: int | None, ranked: list[float]) -> float:
        of_ranked, of_labels = ([float(relevant[int(g)]) for g in grades] for grades in (ranked, labels))
        return float(in_order(OF_RELEVANCE[cls], of_ranked, of_labels, k))

    check_values(subclass(cls, relevant=method), expected, case)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_kind_of_the_users_counts(kind: Kind) -> None:
    case = Data(np.array([3.0, 0, 1, 1, 2, 0]), np.array([1.0, 1, 1, 0, 0, 2]), np.array([4, 2]))
    pieces = SUM | CASCADE | {"KIND": kind, "by_grade": lambda f, g: float(g >= 1)}

    def expected(labels: list[float], n: int, k: int | None, ranked: list[float]) -> float:
        return Formula(pieces, labels, n, k).value(ranked)

    for base in (ltr.CG, ltr.Precision):
        binary = {"by_grade": lambda self, q: (q.grades >= 1).astype(float), "divisor": lambda self, q, k: 1.0}
        check_values(subclass(base, KIND=kind, **binary), expected, case)


# -- what is refused -------------------------------------------------------------------------------


def reads(cls: type[ltr.Metric], name: str) -> bool:
    """Whether the values of a subclass depend on what it declares."""
    if cls in FORMULAS:
        by_row = {"by_row"} if cls in (ltr.CG, ltr.DCG, ltr.Precision, ltr.Recall, ltr.F1, ltr.RBP) else set()
        return name in FORMULAS[cls].keys() | by_row and not (cls is ltr.NDCG and name == "KIND")
    if cls in OF_ROWS:
        return name in {"KIND", "by_row", "by_rank", "divisor"}
    return name in READ_OF_RELEVANCE.get(cls, {"values"})


@pytest.mark.parametrize("cls", METRICS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_what_nothing_reads_is_refused_and_named(cls: type[ltr.Metric], name: str) -> None:
    declared = {"KIND": "gains"}.get(
        name, overrides([0.0, 0.1, 0.2, 0.3, 0.4], [False] + [True] * 4).get(name, (None,))[0]
    )
    if declared is None:
        declared = {"values": lambda self, ranking: np.ones(len(ranking.n_ranked))}[name]
    metric = cutoffs_of(subclass(cls, **{name: declared}))[0]
    case: dict[str, Any] = {"group": [3], "metrics": metric, "columns": {"margin": [1, 2, 3]}}
    if reads(cls, name):
        assert np.isfinite(ltr.evaluate([1, 0, 1], [3, 2, 1], **case)[metric])
    else:
        with pytest.raises(ltr.LtrTypeError, match=rf"Nothing reads {name} of Own{cls.__name__}\. \w+"):
            ltr.evaluate([1, 0, 1], [3, 2, 1], **case)


def test_parts_that_only_some_parameters_read() -> None:
    relevant = {"relevant": lambda self, q: q.grades >= 2}
    by_grade = {"by_grade": lambda self, q: q.grades}
    for metric in (subclass(ltr.RBP, **relevant)(graded="max"), subclass(ltr.MAP, **by_grade)(denominator="hits")):
        with pytest.raises(ltr.LtrError, match=r"(Nothing reads relevant|by_grade must be 0 or 1)"):
            ltr.evaluate([2, 0, 1], [3, 2, 1], group=[3], metrics=metric)


GRADES = {"by_grade": lambda self, q: q.grades}


@pytest.mark.parametrize(
    ("base", "declared", "message"),
    [
        (ltr.RankMetric, {"KIND": "gain", **GRADES}, r"OwnRankMetric\.KIND must be one of .*Did you mean 'gains'"),
        (
            ltr.RankMetric,
            {"by_row": lambda self, q: q.grades, "KIND": "cascade"},
            "Nothing reads by_row .* KIND = 'gains'",
        ),
        (
            ltr.RankMetric,
            {"KIND": "precisions", "by_grade": lambda self, q: q.grades - 1},
            r"OwnRankMetric\.by_grade must be at least 0 .* Got -1 for grade 0, first at row 1 \(query 0\)",
        ),
        (
            ltr.RankMetric,
            {"KIND": "precisions", "by_rank": lambda self, q, depth: np.arange(depth), **GRADES},
            "by_rank must be above 0 for KIND='precisions', which divides by it. Got 0",
        ),
        (ltr.RankMetric, {"KIND": "cascade", **GRADES}, "by_grade must hold probabilities.* Got 3 for grade 3"),
        (
            ltr.RankMetric,
            {"KIND": "cascade", "by_grade": lambda self, q: -q.grades / 9},
            r"by_grade must hold probabilities.*Got -0\.333333 for grade 3",
        ),
        (
            ltr.ERR,
            {"by_grade": lambda self, q: q.grades / 4, "by_query": lambda self, q: 2.0},
            r"by_grade must hold probabilities.* Got 1\.5 for grade 3",
        ),
        (ltr.Recall, {"by_grade": lambda self, q: q.grades * np.nan}, "by_grade must return finite numbers. Got nan"),
        (
            ltr.Recall,
            {"by_grade": lambda self, q: np.ones(q.n_rows + 5)},
            r"by_grade must return one value for each dist",
        ),
        (ltr.Recall, {"divisor": lambda self, q, k: np.ones(9)}, r"divisor must return one number, .* shape \(9,\)"),
        (
            ltr.Recall,
            {"by_rank": lambda self, q, depth: "x"},
            "by_rank must return one number, or .* Got 'x', which is not an array of numbers",
        ),
        (ltr.Recall, {"by_rank": lambda self, q, depth: np.ones(depth + 9)}, r"by_rank must return .*\(12,\)"),
        (ltr.Recall, {"relevant": lambda self, q: q.grades}, "relevant must return True or False"),
        (ltr.InterpolatedPrecision, {"relevant": lambda self, q: q.grades < 2}, "must not count a grade as relevant"),
        (ltr.NDCG, {"gains": lambda self, q: 3 - q.grades}, "must not fall as the grade rises"),
        (ltr.NDCG, {"discounts": lambda self, q, depth: -np.ones(depth)}, r"OwnNDCG\.by_rank must be at least 0"),
        (ltr.NDCG, {"by_rank": lambda self, q, depth: np.ones(q.n_rows)}, r"OwnNDCG\.by_rank must .* each rank"),
    ],
)
def test_values_that_have_no_meaning_are_refused(
    base: type[ltr.Metric], declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.evaluate([3, 0, 1, 1], [1, 1, 1, 1], group=[3, 1], metrics=subclass(base, **declared)())


# -- shapes, cutoffs, and what may be negative -----------------------------------------------------


def test_utilities_below_zero_have_their_expectation_under_ties() -> None:
    case = Data(np.array([3.0, 0, 1, 1, 2, 0]), np.array([1.0, 1, 1, 1, 0, 2]), np.array([4, 2]))
    pieces = SUM | CASCADE | {"by_grade": lambda f, g: g / 4, "by_rank": lambda f, i: 1.0 - i}
    by_rank = {"by_rank": lambda self, q, depth: -np.arange(depth)}

    def expected(labels: list[float], n: int, k: int | None, ranked: list[float]) -> float:
        return Formula(pieces, labels, n, k).value(ranked)

    check_values(subclass(ltr.PFound, **by_rank), expected, case)


@pytest.mark.parametrize("shape", ["ranks", "queries and ranks", "ranks of each query"])
@pytest.mark.parametrize("base", [ltr.CG, ltr.MAP, ltr.ERR])
def test_shapes_of_values_by_rank(base: type[ltr.RankMetric], shape: str) -> None:
    rng = np.random.default_rng(0)
    group = np.array([1, 40, 3, 700, 2])
    y, score = rng.integers(0, 2, 746), rng.integers(0, 50, 746)

    def by_rank(self: ltr.RankMetric, q: LabelledQueries, depth: int) -> np.ndarray:
        if shape == "ranks of each query":
            return np.concatenate([1 / np.arange(1.0, n + 1) for n in q.sizes])
        of_ranks = 1 / np.arange(1.0, depth + 1)
        return of_ranks if shape == "ranks" else np.tile(of_ranks, (q.n_queries, 1))

    own, plain = subclass(base, by_rank=by_rank), subclass(base, by_rank=lambda self, q, d: 1 / np.arange(1.0, d + 1))
    for k in (None, 1, 33):
        got, expected = (
            ltr.evaluate(y, score, group=group, metrics=cls(k=k)).per_query["own" if k is None else f"own@{k}"]
            for cls in (own, plain)
        )
        np.testing.assert_array_equal(got, expected)


def test_values_may_be_a_part_of_a_larger_array() -> None:
    table = np.arange(12.0).reshape(4, 3)[::-1]
    own = subclass(ltr.RankMetric, by_row=lambda self, q: table[:, 1], by_rank=lambda self, q, d: np.ones((d, 2))[:, 0])
    result = ltr.evaluate([1, 0, 4, 2], [3, 2, 1, 0], group=[4], metrics=[own(k=1), own()])
    assert list(result.values()) == [10, 10 + 7 + 4 + 1]


def test_a_binary_class_may_declare_values_by_rank() -> None:
    bases = (ltr.BinaryMetric, ltr.RankMetric)
    body = {"NAME": "own", "__module__": __name__, "by_rank": lambda self, q, depth: 1 / np.arange(1.0, depth + 1)}
    cls = dataclass(frozen=True, kw_only=True)(type("Own", bases, body))
    assert ltr.evaluate([0, 2, 1], [3, 2, 1], group=[3], metrics=cls(rel=2))["own(rel=2)"] == 1 / 2


def test_a_class_may_be_a_share_of_its_ideal() -> None:
    class_ = subclass(
        ltr.CG,
        divisor=lambda self, q, k: ideal_sums(q, q.grades, [k], np.full((q.n_queries, int(q.sizes.max())), 2.0))[0],
    )
    result = ltr.evaluate([1, 0, 4, 2], [3, 2, 1, 0], group=[3, 1], metrics=[class_(k=1), class_()])
    np.testing.assert_array_equal(result.per_query["own@1"], [1 / 8, 0.5])
    np.testing.assert_array_equal(result.per_query["own"], [0.5, 0.5])


@pytest.mark.parametrize(
    ("by_grade", "by_rank"), [(1.0, 1.0), ([1.0, 2.0], 1.0), (np.ones((3, 1)), 1.0), ([1.0, 2.0, 3.0], [1.0])]
)
def test_sums_of_the_ideal_ranking_need_a_value_for_each_grade_and_rank(by_grade: Any, by_rank: Any) -> None:
    queries = ltr.Queries([1, 0, 4], group=[3])
    with pytest.raises(
        ltr.LtrValueError, match="a value for each of the 3 grades, and a factor for each of the first 2"
    ):
        ideal_sums(queries, by_grade, [2], by_rank)


def test_what_a_function_has_returned_may_change_later() -> None:
    discounts = np.array([1.0, 0.5, 0.25])
    queries = ltr.Queries([1, 0, 4], group=[3])

    def of_array(ranks: np.ndarray) -> np.ndarray:
        return discounts[: len(ranks)]

    metric = ltr.DCG(k=3, gain="linear", discount=of_array)
    first = queries.evaluate([3, 2, 1], metric)[metric]
    discounts[:] = 0
    assert queries.evaluate([3, 2, 1], metric)[metric] == first == 2


class Reused:
    """A method that fills the same array again for each data set."""

    def __init__(self) -> None:
        self.array = np.empty(0)

    def method(self) -> Callable[..., np.ndarray]:
        def fill(metric: ltr.RankMetric, queries: Any, *further: Any) -> np.ndarray:
            self.array = self.array if len(self.array) else np.empty(queries.n_rows)
            self.array[:] = queries.grades[-1]
            return self.array

        return fill


@pytest.mark.parametrize("name", ["by_row", "by_rank", "by_grade", "divisor", "gains", "discounts"])
def test_what_a_method_has_returned_may_be_filled_again(name: str) -> None:
    base = ltr.DCG if name in ("gains", "discounts") else ltr.RankMetric
    usual = {} if name in ("by_row", "by_grade", "gains", "discounts") else {"by_grade": lambda self, q: 1.0 + q.grades}
    own = subclass(base, **usual, **{name: Reused().method()})()
    first, second = ltr.Queries([1, 4], group=[1, 1]), ltr.Queries([2, 8], group=[1, 1])
    before = first.evaluate([1, 1], own)[own]
    assert second.evaluate([1, 1], own)[own] != before
    assert first.evaluate([1, 1], own)[own] == first.evaluate([2, 1], [own, "mrr"])[own] == before


@pytest.mark.parametrize(
    ("name", "returned", "message"),
    [
        (
            "values",
            None,
            r"values must return one number for each query, an array of shape: \(2,\). Got None, which is",
        ),
        ("values", "1", r"\(2,\)\. Got '1', which is not an array"),
        ("values", ["1", "2"], r"\(2,\)\. Got \['1', '2'\], which is not an array of numbers"),
        ("values", np.array([1j, 2]), r"which is not an array of numbers"),
        ("values", [[1.0], [1.0, 2.0]], r"which is not an array of"),
        ("values", 0.5, r"\(2,\)\. Got the shape \(\)\."),
        ("values", np.ones(1), r"\(2,\)\. Got the shape \(1,\)\."),
        ("values", np.ones((2, 1)), r"\(2,\)\. Got the shape \(2, 1\)\."),
        (
            "query_weight",
            np.ones(3),
            r"query_weight must return one number for each query.*\(2,\)\. Got the shape \(3,\)",
        ),
        ("query_weight", [1.0, -1.0], r"query_weight must return numbers that are not negative\. Got -1"),
        ("query_weight", [1.0, math.nan], r"query_weight must return finite numbers\. Got nan at the index \[1\]"),
        ("divisors", np.ones(2), r"divisors must return one number for each cutoff.*\(1, 2\)\. Got the shape \(2,\)"),
        ("divisors", np.ones((2, 1)), r"divisors must .*\(1, 2\)\. Got the shape \(2, 1\)"),
        ("by_grade", None, r"by_grade must return one value for each distinct grade.*\(2,\)\. Got None"),
    ],
)
@pytest.mark.parametrize("inherited", [False, True])
def test_what_a_method_returns_has_the_shape_that_is_read(
    name: str, returned: Any, message: str, inherited: bool
) -> None:
    base = ltr.Metric if name in ("values", "query_weight") else ltr.CG
    body: dict[str, Any] = {"values": lambda self, ranking: np.ones(2)} if name == "query_weight" else {}
    body[name] = lambda self, *arguments: returned
    own = dataclass(frozen=True, kw_only=True)(
        type("Own", (type("Mixin", (), body), base), {"NAME": "own", "__module__": __name__})
        if inherited
        else type("Own", (base,), body | {"NAME": "own", "__module__": __name__})
    )
    with pytest.raises(ltr.LtrError, match=rf"Own\.{name} .*{message}|Own\.{message}"):
        ltr.evaluate([1, 0, 1], [3, 2, 1], group=[1, 2], metrics=own())


@pytest.mark.parametrize("name", ["values", "divisors", "by_grade"])
def test_what_no_instance_is_passed_to_is_refused(name: str) -> None:
    base = ltr.Metric if name == "values" else ltr.CG
    own = subclass(base, **{name: staticmethod(lambda *arguments: np.ones(1))})()
    with pytest.raises(ltr.LtrTypeError, match=rf"Own.*\.{name} must be a method: write def {name}\(self"):
        ltr.evaluate([1, 0], [2, 1], group=[2], metrics=own)


@pytest.mark.parametrize("metric", [ltr.QMeasure(beta=1.7e308), ltr.QMeasure(beta=1e308, k=2)])
def test_parameters_that_lead_beyond_float64_are_refused(metric: ltr.QMeasure) -> None:
    refused = pytest.raises(ltr.LtrValueError, match="must return finite numbers")
    with np.errstate(over="ignore", invalid="ignore"), refused:
        ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=metric)


def test_a_subclass_of_an_estimate_from_clicks_is_its_own_family() -> None:
    doubled = subclass(ClickMetric, by_row=lambda self, q: 2 * ClickMetric.by_row(self, q))
    columns = {"propensity": [1.0, 0.5, 0.2]}
    asked = {"metric": "dcg_lin@2"}
    result = ltr.evaluate([0, 0, 1], [1, 2, 3], group=[3], metrics=[ClickMetric(**asked)], columns=columns)
    queries = ltr.Queries([0, 0, 1], group=[3], columns=columns)
    for metric, factor in ((doubled(**asked), 2), (ClickMetric(**asked), 1)):
        assert queries.evaluate([1, 2, 3], metric)[metric] == factor * result["ips(dcg_lin@2)"]


@pytest.mark.parametrize("name", ["values", "without_cutoff", "cutoff", "slug", "mean_over", "by_query", "check"])
def test_a_parameter_with_the_name_of_a_part_of_every_metric_is_refused(name: str) -> None:
    fields: dict[str, Any] = {"NAME": "scaled", "__annotations__": {name: float}, name: 100.0, "__module__": "user"}
    cls = dataclass(frozen=True, kw_only=True)(type("Scaled", (ltr.RankMetric,), fields))
    with pytest.raises(ltr.LtrTypeError, match=rf"Scaled has a parameter '{name}'.*Give the parameter another name"):
        cls(k=2)


def test_a_parameter_may_have_any_other_name() -> None:
    names = ["unit", "window", "rel", "weight", "mean"]
    fields: dict[str, Any] = {"NAME": "scaled", "__annotations__": dict.fromkeys(names, float), "__module__": "user"}
    fields["by_grade"] = lambda self, queries: queries.grades * (self.unit - 1)
    cls = dataclass(frozen=True, kw_only=True)(type("Scaled", (ltr.RankMetric,), fields | dict.fromkeys(names, 2.0)))
    result = ltr.evaluate([1, 0], [2, 1], group=[2], metrics=[cls(k=1), "mrr"])
    assert list(result.values()) == [1.0, 1.0]


# -- once for all cutoffs --------------------------------------------------------------------------


def test_methods_are_called_as_methods_once_for_all_cutoffs() -> None:
    calls: list[str] = []

    def by_grade(self: ltr.RankMetric, queries: ltr.Queries) -> np.ndarray:
        calls.append(str(self))
        return queries.grades

    def divisor(self: ltr.RankMetric, queries: ltr.Queries, k: int | None) -> np.ndarray:
        return np.full(queries.n_queries, self.by_grade(queries).max())

    metric, queries = subclass(ltr.RankMetric, by_grade=by_grade, divisor=divisor)(), ltr.Queries([1, 0, 2], group=[3])
    assert queries.evaluate([3, 2, 1], metric)[metric] == queries.evaluate([3, 2, 1], [metric, "map"])[metric] == 1.5
    assert len(calls) == 1


def test_a_class_cannot_change_what_others_read() -> None:
    def by_grade(self: ltr.DCG, queries: ltr.Queries) -> np.ndarray:
        gains = self.gains(queries)
        gains *= 2
        return gains

    with pytest.raises(ValueError, match="read-only"):
        ltr.evaluate([1, 0, 2], [3, 2, 1], group=[3], metrics=subclass(ltr.DCG, by_grade=by_grade)())
