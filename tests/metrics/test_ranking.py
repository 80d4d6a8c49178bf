"""The sort: long lists, many grades, and what neighbours must not change; test_metrics and test_exact have near ties."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import in_order

import ltr_metrics as ltr

pytestmark = pytest.mark.filterwarnings("ignore:err counts grades")


@pytest.mark.parametrize("n_grades", [200, 5_000])
def test_more_distinct_grades_than_the_sort_key_holds(n_grades: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_grades, 6_000) / n_grades
    score = rng.permutation(6_000).astype(float)
    group = [1, 2_500, 3, 3_496]
    metrics = ["ndcg_exp@20", "ndcg_lin", "err(p=label)@10", "map(rel=0.3)"]
    result = ltr.evaluate(y, score, group=group, metrics=metrics)
    for query, rows in enumerate(np.split(np.arange(6_000), np.cumsum(group)[:-1])):
        ranked, labels = y[rows][np.argsort(-score[rows])].tolist(), y[rows].tolist()
        expected = {
            "ndcg_exp@20": in_order("ndcg", ranked, labels, 20),
            "ndcg_lin": in_order("ndcg", ranked, labels, gain="linear"),
            "err(p=label)@10": in_order("err", ranked, labels, 10, p="label"),
            "map(rel=0.3)": in_order("map", ranked, labels, rel=0.3),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(result.per_query[name][query], float(value), rtol=1e-12)


@pytest.mark.slow
def test_rank_correlation_of_a_million_documents_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.permutation(n)
    s = y + rng.normal(size=n) * n / 3
    d = y.astype(object) - np.argsort(np.argsort(s)).astype(object)
    exact = 1 - Fraction(6 * int((d * d).sum()), n * (n * n - 1))
    assert ltr.evaluate(y, s, group=[n], metrics="rho")["rho"] == pytest.approx(float(exact), rel=1e-14)


def test_false_neighbours_in_a_long_list_are_put_right_one_by_one() -> None:
    """So few of them that their scores are looked up, among ties that are true."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=50_000)
    score[:200] = score[200:400]  # ties
    near = rng.choice(np.arange(400, 50_000), 300, replace=False)
    score[near[:150]] = np.nextafter(score[near[150:]], np.inf)
    y = rng.integers(0, 5, len(score)).astype(float)
    order = np.lexsort((np.arange(len(score)), -score))
    result = ltr.evaluate(y, score, group=[len(y)], metrics=["dcg_lin", "mrr(rel=4)"], ties="stable")
    expected = (y[order] / np.log2(np.arange(2, len(y) + 2))).sum()
    assert result["dcg_lin"] == pytest.approx(expected, rel=1e-12)
    audit = ltr.tie_audit(y, score, group=[len(y)], metrics=["dcg_lin"])["dcg_lin"]
    assert audit.worst < audit.stable < audit.best
    assert audit.worst < audit.mean < audit.best


def test_a_false_neighbour_between_two_documents_that_tie() -> None:
    n = 2_000
    score, y = np.arange(n, 0, -1.0), np.zeros(n)
    score[:3], y[:3] = [5e3, np.nextafter(5e3, 1e4), 5e3], [0, 1, 2]
    got = ltr.evaluate(y, score, group=[n], metrics=["dcg_lin", "mrr(rel=2)", "mrr(rel=2)@2"])
    assert got["dcg_lin"] == pytest.approx(1 + 1 / math.log2(3) + 1 / 2, rel=1e-14)
    assert got["mrr(rel=2)"] == pytest.approx(5 / 12)
    assert got["mrr(rel=2)@2"] == pytest.approx(1 / 4)


@pytest.mark.parametrize("n", [1000, 1001, 1200])
@pytest.mark.parametrize(("n_grades", "k"), [(50, None), (2_000, 10), (2_000, 600)])
def test_the_longest_rows_of_pascals_triangle(n: int, n_grades: int, k: int | None) -> None:
    y, err = 1e-4 * (np.arange(n) % n_grades), ltr.ERR(p="label", k=k)
    s, at = np.ones(n + 1), np.zeros(n + 1)  # S_j, and T_j, of the documents so far
    j = np.arange(1.0, n + 1)
    s[1:] = 0
    for m, p in enumerate(y, start=1):
        at[1:] = at[1:] * np.maximum(m - j, 0) / m + np.append(0, at[1:-1] * (1 - p) * j[:-1] / m) + s[:-1] * p / m
        s[1:] = s[1:] * np.maximum(m - j, 0) / m + s[:-1] * (1 - p) * j / m
    at = at[1 : (k or n) + 1]
    got = ltr.evaluate(y, np.zeros(n), group=[n], metrics=err)[err]
    assert got == pytest.approx((at / np.arange(1, len(at) + 1)).sum(), rel=1e-12)


@pytest.mark.parametrize("n", range(105, 125))
def test_a_tie_that_begins_with_the_last_grade_of_its_neighbour_keeps_its_digits(n: int) -> None:
    y = np.random.default_rng(n).integers(3, 5, n)
    metrics = ["err@9", "err(max_grade=9)@10", "err(max_grade=6)@10", "pfound(p_rel=yandex)@8"]
    alone = ltr.evaluate(y, np.zeros(n), group=[n], metrics=metrics).per_query
    beside = ltr.evaluate(np.r_[0, 3, y], np.zeros(n + 2), group=[2, n], metrics=metrics).per_query
    assert [values[1] for values in beside.values()] == [values[0] for values in alone.values()]


@pytest.mark.parametrize("n_grades", [20, 40, 250, 400])
def test_chance_is_that_of_one_tie_however_many_grades_there_are(n_grades: int) -> None:
    group = [5, 6, 30, 60, 60, 300, 800, 1_200]
    y = np.random.default_rng(n_grades).integers(0, n_grades, sum(group)) / n_grades
    metrics = ["cg@10", ltr.MAP(rel=0.5), ltr.MRR(rel=0.9), ltr.ERR(p="label", k=10), ltr.ERR(p="label")]
    result = ltr.evaluate(y, np.zeros(len(y)), group=group, metrics=metrics, ties="mean")
    for name, values in result.per_query.items():
        np.testing.assert_allclose(result.chance_per_query[name], values, rtol=1e-14, err_msg=name)


def test_a_random_order_has_a_hit_somewhere_with_a_probability_of_exactly_1() -> None:
    group = np.repeat(np.arange(2, 100), 3)
    y = np.random.default_rng(0).random(group.sum()) < 0.2
    chance = ltr.evaluate(y, np.zeros(len(y)), group=group, metrics="hit").chance_per_query["hit"]
    assert set(chance[~np.isnan(chance)]) <= {0.0, 1.0}


@pytest.mark.slow
def test_a_query_whose_ranks_and_grades_fill_half_the_key() -> None:
    n = 2**23 + 2
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 200, n), rng.permutation(n).astype(np.float32)  # neighbours are an ulp apart
    cutoffs = (1, 3, 5, 7, 9)
    metrics = ["mrr(rel=199)", *(f"cg@{k}" for k in cutoffs)]
    got = ltr.evaluate(y, score, group=[n], metrics=metrics, ties="stable")
    best = np.argsort(-score.astype(np.float64))[:3_000]
    assert [got[f"cg@{k}"] for k in cutoffs] == [y[best[:k]].sum() for k in cutoffs]
    assert got["mrr(rel=199)"] == 1 / (1 + (y[best] == 199).argmax())


@pytest.mark.parametrize("ranked", ["first", "last", "middle", "few"])
def test_queries_without_a_ranked_document_change_no_other(ranked: str) -> None:
    n = 40  # queries, of which many more follow each other without a document than are processed side by side
    rng = np.random.default_rng(0)
    group = rng.integers(1, 4, n)
    has_ranks = {"first": np.arange(n) < 2, "last": np.arange(n) >= n - 2, "middle": abs(np.arange(n) - n / 2) < 2}
    is_ranked = has_ranks.get(ranked, np.arange(n) % 13 == 5)
    retrieved = np.repeat(is_ranked, group)
    y, score = rng.integers(0, 3, group.sum()), rng.integers(0, 2, group.sum())
    metrics = ["ndcg@10", "map(denominator=hits)@2", "mrr", "err", "q", "kendall", "hit@1"]
    for ties in ("mean", "worst"):
        result = ltr.evaluate(y, score, group=group, retrieved=retrieved, metrics=metrics, ties=ties, no_relevant=0)
        alone = ltr.evaluate(
            y[retrieved], score[retrieved], group=group[is_ranked], metrics=metrics, ties=ties, no_relevant=0
        )
        for name, values in result.per_query.items():
            np.testing.assert_array_equal(values[is_ranked], alone.per_query[name])
            assert not values[~is_ranked].any()


@pytest.mark.parametrize(("n", "n_relevant"), [(1_500, 600), (3_000, 30)])
def test_a_large_tie_of_tiny_probabilities_keeps_its_digits(n: int, n_relevant: int) -> None:
    p = 1e-9
    y = np.where(np.arange(n) < n_relevant, p, 0.0)
    err = ltr.ERR(p="label")
    got = ltr.evaluate(y, np.zeros(n), group=[n], metrics=err)[err]
    # Each rank has a relevant document with the probability r / n, and its other ones are above with (r - 1) / (n - 1).
    above = p * np.arange(n) * (n_relevant - 1) / (n - 1)
    expected = p * n_relevant / n * math.fsum((1 - above) / np.arange(1, n + 1))
    assert got == pytest.approx(expected, rel=1e-13)
