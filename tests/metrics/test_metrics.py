"""Every metric against its formula, and what holds to the last bit."""

from __future__ import annotations

import dataclasses
import itertools
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest
from exact import in_order
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples
from strategies import Data, data, random_data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.metrics import METRICS
from ltr_metrics.metrics.base import powers

pytestmark = pytest.mark.filterwarnings(
    "ignore:(err|pfound) (counts grades|takes the labels)"
)  # small grades are what small examples have

TIES = ("mean", "stable", "worst", "best")


def of_one_call(entries: list[Entry]) -> pytest.MarkDecorator:
    """Group the metrics that have the same labels and the same kind of mean, so that one call evaluates them."""

    def kind(entry: Entry) -> tuple[float, float, bool]:
        return entry.scale, entry.highest, entry.parameters.get("average") == "micro"

    groups = [list(group) for _, group in itertools.groupby(sorted(entries, key=kind), key=kind)]
    return pytest.mark.parametrize("entries", groups, ids=lambda group: f"{group[0]} and {len(group) - 1} more")


def evaluate(
    entries: list[Entry], d: Data, ties: str = "mean", rows: np.ndarray | None = None, **options: object
) -> ltr.Evaluation:
    at = np.arange(len(d.y)) if rows is None else rows
    return ltr.evaluate(
        entries[0].labels(d.y)[at],
        d.score[at],
        qid=d.qid[at],
        metrics=[metric for entry in entries for metric in entry.metrics()],
        ties=ties,
        judged=d.columns["judged"][at],
        columns={"margin": d.columns["margin"][at]},
        **options,
    )


def expected(d: Data, entry: Entry, k: int | None, ties: str, retrieved: np.ndarray) -> list[float]:
    def of_query(rows: slice) -> float:
        columns = {name: column[rows] for name, column in d.columns.items()}
        return float(entry.value(d.y[rows], d.score[rows], columns, retrieved[rows], k=k, ties=ties))

    return list(map(of_query, d.rows()))


def test_every_metric_and_parameter_value_is_in_the_table() -> None:
    assert {entry.cls for entry in TABLE} == set(METRICS)
    for cls in METRICS:
        varied = {name for entry in TABLE if entry.cls is cls for name in entry.parameters}
        inherited = {"rel"} if cls in (ltr.RBP, ltr.Precision) else set()
        assert varied | inherited >= {f.name for f in dataclasses.fields(cls)} - {"k"}, cls


@pytest.mark.parametrize("entry", TABLE, ids=str)
@given(d=data(), share_retrieved=st.sampled_from([1.0, 0.7]), seed=st.integers(0, 2**32 - 1))
@example(d=random_data(0, levels=2, n_queries=10, max_documents=4), share_retrieved=1.0, seed=0)
@examples(30)
def test_equals_the_formula(entry: Entry, d: Data, share_retrieved: float, seed: int) -> None:
    retrieved = np.random.default_rng(seed).random(len(d.y)) < share_retrieved
    retrieved[0] = True
    d = dataclasses.replace(d, score=np.where(retrieved, d.score, np.nan))  # nobody asks for the other scores
    for ties in TIES:
        got = evaluate([entry], d, ties, retrieved=None if retrieved.all() else retrieved).per_query
        for metric in entry.metrics():
            np.testing.assert_allclose(
                got[metric], expected(d, entry, metric.cutoff, ties, retrieved), rtol=1e-12, atol=1e-13, err_msg=ties
            )


@of_one_call(TABLE)
@given(d=data(max_documents=30), seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_row_order_does_not_count_under_mean_ties(entries: list[Entry], d: Data, seed: int) -> None:
    shuffled = evaluate(entries, d, rows=np.random.default_rng(seed).permutation(len(d.y)))
    back = np.argsort(shuffled.qid)
    for name, value in evaluate(entries, d).per_query.items():
        np.testing.assert_allclose(shuffled.per_query[name][back], value, rtol=1e-13, atol=1e-15, err_msg=name)


@of_one_call(TABLE)
@given(d=data(max_documents=12), seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_document_ids_are_the_order_of_rows_in_descending_order_of_id(entries: list[Entry], d: Data, seed: int) -> None:
    docid = np.random.default_rng(seed).permutation(len(d.y)).astype(str)
    order = np.lexsort((-np.argsort(np.argsort(docid)), d.qid))  # as text: "9" comes before "10"
    got = evaluate(entries, d, "docid", docid=docid).per_query
    for name, value in evaluate(entries, d, "stable", order).per_query.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)


@of_one_call([entry for entry in TABLE if entry.perfect_is_one])
@given(d=data(max_documents=30))
@example(d=random_data(0))
@examples(20)
def test_a_perfect_ranking_scores_exactly_one_where_normalised(entries: list[Entry], d: Data) -> None:
    for name, value in evaluate(entries, dataclasses.replace(d, score=d.y)).per_query.items():
        assert set(value[~np.isnan(value)]) <= {1.0}, name


@of_one_call(TABLE)
@given(d=data(max_documents=12, max_queries=6))
@examples(20)
def test_queries_do_not_see_each_other(entries: list[Entry], d: Data) -> None:
    whole = evaluate(entries, d).per_query
    for query in range(len(d.group)):
        for name, value in evaluate(entries, d, rows=np.flatnonzero(d.qid == query)).per_query.items():
            np.testing.assert_array_equal(whole[name][query], value[0], err_msg=name)


def test_callables_for_gain_and_discount() -> None:
    def squared(grades: np.ndarray) -> np.ndarray:
        return grades**2

    def reciprocal(ranks: np.ndarray) -> np.ndarray:
        return 1 / ranks

    made = ltr.DCG(gain=squared, discount=reciprocal)
    assert str(made) == "dcg(gain=squared,discount=reciprocal)"
    assert ltr.evaluate([3, 0, 2], [3, 2, 1], group=[3], metrics=[made])[made] == pytest.approx(9 + 4 / 3)


def test_grades_above_31_and_fractional_grades() -> None:
    result = ltr.evaluate([40, 0.5, 33, 0], [1, 2, 3, 4], group=[4], metrics=["ndcg_exp", "ndcg_lin", "map(rel=0.5)"])
    y = [0, 33, 0.5, 40]
    assert result["ndcg_exp"] == pytest.approx(float(in_order("ndcg", y, y)), rel=1e-14)
    assert result["ndcg_lin"] == pytest.approx(float(in_order("ndcg", y, y, gain="linear")), rel=1e-14)
    assert result["map(rel=0.5)"] == pytest.approx(float(in_order("map", y, y, rel=0.5)), rel=1e-14)
    one = ltr.evaluate([1.5, 0], [2, 1], group=[2], metrics="dcg_exp@1")["dcg_exp@1"]
    assert one == pytest.approx(2**1.5 - 1, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "labels", "message"),
    [
        ("err(max_grade=query)", [1, 0.5], r"must have whole grades: got 0.5, first at row 1.*use err\(p=label\)"),
        ("rbp(graded=max)", [4, 4.5], r"must have no label above max_grade=4: got 4.5, first at row 1.*max_grade=4.5"),
        ("err(max_grade=query)", [1, 1001], r"must have no label above max_grade=1000: got 1001, first at row 1"),
        ("rbp(graded=label)", [1, 1e308], "sum over a query is finite in float64.*grade 1e.308"),
    ],
)
def test_labels_without_a_value_are_refused(name: str, labels: list[float], message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.evaluate(labels, [2, 1], group=[2], metrics=name)


@pytest.mark.parametrize("base", [Fraction(0), Fraction(0.8), 1 - Fraction(0.15), 1 - Fraction(1e-17)])
def test_powers_have_the_digits_of_exact_numbers(base: Fraction) -> None:
    with localcontext() as context:
        context.prec = 3  # the caller's decimals have no part in it
        found = powers(base, 100)
    np.testing.assert_array_max_ulp(found, np.array([float(base**i) for i in range(100)]), maxulp=3)
