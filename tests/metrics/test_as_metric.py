"""`as_metric`: functions of one query's documents, compared with all orders by brute force."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics.metrics import LabelledQueries, own
from ltr_metrics.metrics.requests import resolve


def rank_of_first(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    ranks = np.flatnonzero(columns["bought"])
    return float(ranks[0] + 1) if len(ranks) else None


def first_relevant(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    ranks = np.flatnonzero(grades >= 1)
    return 1 / (ranks[0] + 1) if len(ranks) else None


def dcg_of_three(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    top = grades[:3]
    return float(((2**top - 1) / np.log2(np.arange(2, len(top) + 2))).sum())


def bought_in_two(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return float(columns["bought"][:2].sum())


FIRST = ltr.as_metric(rank_of_first, name="first_purchase", higher_is_better=False)


@st.composite
def tied_queries(draw: st.DrawFn) -> dict[str, Any]:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    n = sum(sizes)
    numbers = [
        np.array(draw(st.lists(st.integers(0, high), min_size=n, max_size=n)), dtype=float) for high in (2, 2, 1)
    ]
    return dict(zip(("y", "score", "bought"), numbers, strict=True)) | {"sizes": sizes}


@given(tied_queries(), st.sampled_from(["mean", "stable", "worst", "best"]))
def test_it_equals_the_metrics_of_the_package_under_every_policy(data: dict[str, Any], ties: Any) -> None:
    own = [ltr.as_metric(first_relevant), ltr.as_metric(dcg_of_three), ltr.as_metric(bought_in_two)]
    options = {"group": data["sizes"], "ties": ties, "columns": {"bought": data["bought"]}}
    package = ["mrr", "dcg_exp@3", "sum_of(bought)@2"]
    result = ltr.evaluate(data["y"], data["score"], metrics=[*own, *package], **options)
    for one, other in zip(own, package, strict=True):
        np.testing.assert_allclose(result.per_query[one], result.per_query[other], rtol=1e-12)


def test_all_options_of_the_data_apply() -> None:
    y, s, docid = [1, 0, 2, 1, 0], [0.5, 0.5, 0.5, 0.2, 0.1], ["a", "b", "c", "d", "e"]
    options: dict[str, Any] = {"group": [5], "docid": docid, "ties": "docid"}
    seen: list[list[float]] = []

    def grades_seen(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
        seen.append(grades.tolist())
        return 0.0

    metric = ltr.as_metric(grades_seen)
    ltr.evaluate(y, s, metrics=metric, **options)
    ltr.evaluate(y, s, metrics=metric, retrieved=[True, True, False, True, True], **options)
    judged = {"judged": [True, False, True, True, True]}
    ltr.evaluate(y, s, metrics=metric, **judged, **options)
    ltr.evaluate(y, s, metrics=metric, unjudged="drop", **judged, **options)
    assert seen == [[2, 0, 1, 1, 0], [0, 1, 1, 0], [2, 0, 1, 1, 0], [2, 1, 1, 0]]


def test_none_is_undefined_and_no_relevant_says_what_it_counts() -> None:
    data: dict[str, Any] = {"group": [2, 2], "columns": {"bought": [0, 1, 0, 0]}, "metrics": [FIRST]}
    result = ltr.evaluate([1, 0, 1, 0], [2, 1, 2, 1], **data)
    assert (result["first_purchase"], result.n_undefined["first_purchase"]) == (2, 1)
    assert ltr.evaluate([1, 0, 1, 0], [2, 1, 2, 1], no_relevant=10, **data)["first_purchase"] == 6
    with pytest.raises(ltr.LtrValueError, match="first_purchase is undefined for query 1"):
        ltr.evaluate([1, 0, 1, 0], [2, 1, 2, 1], no_relevant="error", **data)
    # A convention's 0 would be the best of all ranks.
    in_trec = ltr.evaluate([1, 0, 1, 0], [2, 1, 2, 1], convention="trec_eval", docid=list("abcd"), **data)
    assert in_trec.n_undefined["first_purchase"] == 1


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (math.nan, r"The metric bad, query 7: .* finite number. Got nan. Return None"),
        ("high", r"The metric bad, query 7: the function must return a number, .* Got 'high'"),
        (math.inf, r"query 7: the function must return a finite number. Got inf"),
    ],
)
def test_what_is_no_number_is_refused(returned: object, message: str) -> None:
    bad = ltr.as_metric(lambda grades, columns: returned, name="bad")
    with pytest.raises(ltr.LtrError, match=message):
        ltr.evaluate([1, 0], [2, 1], qid=[7, 7], metrics=bad)


def test_errors_of_the_function_and_missing_columns_name_the_query_and_the_remedy() -> None:
    def fails(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
        return float(1 / 0)

    for function, message in ((fails, "ZeroDivisionError"), (len, r"TypeError: len\(\) takes exactly one argument")):
        with pytest.raises(ltr.LtrValueError, match=f"query a: the function raised {message}"):
            ltr.evaluate([1, 0], [2, 1], qid=["a", "a"], metrics=ltr.as_metric(function))
    with pytest.raises(
        ltr.LtrValueError, match=r"query a: .*KeyError: 'bought'.* columns are \['brought'\].*Pass others"
    ):
        ltr.evaluate([1, 0], [2, 1], qid=["a", "a"], metrics=FIRST, columns={"brought": [0, 1]})
    named = ltr.as_metric(rank_of_first, name="named", columns=["bought"])
    with pytest.raises(ltr.LtrValueError, match=r"named needs the column 'bought'.*Did you mean 'brought'"):
        ltr.evaluate([1, 0], [2, 1], qid=["a", "a"], metrics=named, columns={"brought": [0, 1]})
    with pytest.raises(ltr.LtrTypeError, match=r"gets all columns. Name those that it reads"):
        ltr.evaluate([1, 0], [2, 1], qid=["a", "a"], metrics=FIRST, columns={"bought": [0, 1], "market": ["x", "y"]})


def test_defined_in_some_orders_only_is_refused() -> None:
    def top(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
        return 1.0 if grades[0] else None

    metric = ltr.as_metric(top)
    with pytest.raises(ltr.LtrValueError, match="None for some orders of tied documents"):
        ltr.evaluate([1, 0], [1, 1], group=[2], metrics=metric)
    assert ltr.evaluate([1, 0], [1, 1], group=[2], metrics=metric, ties="best")["top"] == 1


def position_sum(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return float((columns["value"] * np.arange(len(grades))).sum())


def test_many_orders_are_drawn_by_the_query_alone() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 8))
    metric = ltr.as_metric(position_sum, columns=["value"])
    options: dict[str, Any] = {"group": [8, 8, 8], "metrics": metric, "columns": {"value": values.ravel()}}
    one = ltr.evaluate(np.ones(24), np.zeros(24), **options).per_query["position_sum"]
    exact = values.mean(axis=1) * np.arange(8).sum()
    orders = np.array(list(itertools.permutations(range(8))))
    spread = (values[:, orders] * np.arange(8)).sum(axis=2).std(axis=1)
    assert (one != exact).all()
    assert (np.abs(one - exact) < 4 * spread / math.sqrt(own.MAX_ORDERS)).all()
    # Neither the other queries nor the order of the rows matter.
    mixed = rng.permutation(8)
    alone = ltr.evaluate(np.ones(8), np.zeros(8), group=[8], metrics=metric, columns={"value": values[1][mixed]})
    assert alone["position_sum"] == one[1]


def test_a_long_tie_of_equal_documents_has_one_order() -> None:
    calls: list[int] = []

    def counted(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
        calls.append(len(grades))
        return float(grades[0])

    metric = ltr.as_metric(counted)
    y = [0] * 2000 + [1]
    assert ltr.evaluate(y, [1] * 2000 + [0], group=[2001], metrics=metric)["counted"] == 0
    assert calls == [2001]
    assert ltr.evaluate([0] * 99 + [1], [1] * 100, group=[100], metrics=metric)["counted"] == pytest.approx(0.01)
    assert len(calls) == 101


def test_it_is_a_value_that_travels() -> None:
    same = ltr.as_metric(rank_of_first, name="first_purchase", higher_is_better=False)
    assert (same, hash(same), str(same)) == (FIRST, hash(FIRST), "first_purchase")
    assert pickle.loads(pickle.dumps(FIRST)) == FIRST
    assert same != ltr.as_metric(rank_of_first, name="first_purchase")
    assert same.higher_is_better is False
    assert ltr.metric("mrr").higher_is_better is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3}, "needs a function. Got 3"),
        ({"function": lambda g, c: 0}, "must have a name"),
        ({"function": max, "name": "one", "per": "block"}, "per must be one of 'query'"),
        ({"function": max, "name": "two words"}, "one word"),
        ({"function": max, "name": "mrr"}, "has the name of another metric"),
        ({"function": max, "columns": "revenue"}, r"such as \['revenue'\]"),
        ({"function": ltr.MRR}, "needs a function. Got <class"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.as_metric(**arguments)


@dataclass(frozen=True, kw_only=True)
class Revenue(ltr.RankMetric):
    NAME: ClassVar[str] = "revenue"
    COLUMNS: ClassVar[tuple[str, ...]] = ("revenue",)

    def by_row(self, queries: LabelledQueries) -> np.ndarray:
        return queries.column("revenue")


def class_named_revenue() -> type[ltr.RankMetric]:
    @dataclass(frozen=True, kw_only=True)
    class Other(ltr.RankMetric):
        NAME: ClassVar[str] = "revenue"

        def by_grade(self, queries: LabelledQueries) -> np.ndarray:
            return queries.grades

    return Other


def revenue(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return float(grades[0])


OTHER = class_named_revenue()


@pytest.mark.parametrize(
    ("metrics", "name"),
    [
        ([FIRST, ltr.as_metric(rank_of_first, name="first_purchase")], "first_purchase"),
        ([ltr.as_metric(max, name="x"), "map", ltr.as_metric(min, name="x")], "x"),
        ([Revenue(k=2), OTHER(k=2)], "revenue@2"),
        ([Revenue(k=2), OTHER(k=3)], "revenue"),
        ([Revenue(k=2), revenue], "revenue"),
        ([class_named_revenue()(k=1), OTHER(k=1)], "revenue@1"),  # one text, defined twice
    ],
)
def test_two_metrics_of_one_name_are_refused(metrics: Any, name: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=f"Two different metrics are both named '{name}'"):
        ltr.evaluate([1], [1], group=[1], metrics=metrics)
    assert len(resolve([metrics[0], metrics[0]]).metrics) == 1


def test_a_class_names_its_columns() -> None:
    y, s = [1, 0, 2, 0], [3, 2, 2, 1]
    columns = {"revenue": [5.0, 1.0, 3.0, 2.0]}
    result = ltr.evaluate(y, s, group=[4], metrics=[Revenue(k=2), "sum_of(revenue)@2"], columns=columns)
    assert result["revenue@2"] == result["sum_of(revenue)@2"] == 7
    with pytest.raises(ltr.LtrValueError, match=r"revenue@2 needs the column 'revenue'"):
        ltr.evaluate(y, s, group=[4], metrics=Revenue(k=2))
