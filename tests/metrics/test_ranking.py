"""The sort: exact to the last bit, infinities, long lists, large ties, many grades, and what neighbours must not change."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import reference

import ltr_metrics as ltr
from ltr_metrics._ranks import native

METRICS = ["ndcg_exp", "ndcg_lin@10", "map", "map@10", "mrr", "mrr@5", "err", "err@10", "precision@10", "recall@10"]
pytestmark = pytest.mark.filterwarnings("ignore:err counts grades")


def by_hand(y: np.ndarray, order: np.ndarray) -> dict[str, float]:
    """All metrics of one query whose documents stand in the given order."""
    ranked, labels = y[order].tolist(), y.tolist()
    found = {}
    for name in METRICS:
        made = ltr.metric(name)
        options = {"gain": made.gain} if isinstance(made, ltr.NDCG) else {}
        found[name] = reference.METRICS[type(made).NAME](ranked, labels, made.k, **options)
    return found


def check(y: np.ndarray, score: np.ndarray, order: np.ndarray, ties: str = "stable") -> None:
    result = ltr.evaluate(y, score, group=[len(y)], metrics=METRICS, ties=ties)
    for name, expected in by_hand(y, order).items():
        assert result[name] == pytest.approx(expected, rel=1e-11, nan_ok=True), name


@pytest.mark.parametrize("n", [2, 129])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ties", ["mean", "stable"])
def test_scores_that_differ_in_their_last_bits(n: int, dtype: type, ties: str) -> None:
    rng = np.random.default_rng(n)
    step = np.finfo(dtype).eps
    score = (1 + step * rng.permutation(n)).astype(dtype)
    assert len(np.unique(score)) == n
    check(rng.integers(0, 5, n).astype(float), score, np.argsort(-score), ties)


@pytest.mark.parametrize("ties", ["mean", "stable", "worst", "best"])
def test_near_ties_true_ties_and_plain_scores_mixed(ties: str) -> None:
    rng = np.random.default_rng(1)
    base = rng.choice([0.0, -1.5, 3e-300, 1e300, 7.0], 400)
    score = base * (1 + 2.0**-52 * rng.integers(0, 3, 400))
    y = rng.integers(0, 5, 400).astype(float)
    if ties == "mean":  # the expectation cannot be enumerated here; additive metrics are linear in the gains
        means = {s: np.mean(2 ** y[score == s] - 1) for s in np.unique(score)}
        gains = [means[s] for s in np.sort(score)[::-1]]
        expected = sum(g / math.log2(i + 2) for i, g in enumerate(gains))
        got = ltr.evaluate(y, score, group=[400], metrics=["dcg_exp"], ties=ties)["dcg_exp"]
        assert got == pytest.approx(expected, rel=1e-12)
    else:
        second = {"stable": np.arange(400), "worst": y, "best": -y}[ties]
        check(y, score, np.lexsort((second, -score)), ties)


def test_infinite_scores_rank_first_and_last_and_zeros_have_no_sign() -> None:
    score = np.array([1.0, np.inf, -np.inf, 0.0, -0.0, -5.0])
    y = np.array([0, 1, 4, 2, 3, 0.0])
    check(y, score, np.array([1, 0, 3, 4, 5, 2]))
    tied = ltr.evaluate(y, score, group=[6], metrics=["dcg_lin"])["dcg_lin"]
    assert tied == pytest.approx(1 + 2.5 * (1 / math.log2(4) + 1 / math.log2(5)) + 4 / math.log2(7))


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
            "ndcg_exp@20": reference.ndcg(ranked, labels, 20),
            "ndcg_lin": reference.ndcg(ranked, labels, None, "linear"),
            "err(p=label)@10": reference.err(ranked, labels, 10, p="label"),
            "map(rel=0.3)": reference.average_precision(ranked, labels, None, 0.3) if len(ranked) < 100 else None,
        }
        for name, value in expected.items():
            if value is not None:
                np.testing.assert_allclose(result.per_query[name][query], value, rtol=1e-12)


@pytest.mark.parametrize("n_queries", [1, 3, 64, 1000])
def test_windows_change_nothing(n_queries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, qid = ltr.make_ranking(n_queries=80, documents=12, random_state=3)
    score = np.round(X[:, 0], 1)
    further = [
        "hit@3",
        "rprec",
        "f1@5",
        "rbp",
        "map(denominator=hits)@5",
        "pfound(p_rel=yandex)@9",
        "auc",
        "tau",
        "rho",
    ]
    names = [*METRICS, *further, "judged@4"]
    whole = ltr.evaluate(y, score, qid=qid, metrics=names, judged=y > 0)
    monkeypatch.setattr(native, "QUERIES_IN_A_WINDOW", n_queries)
    cut = ltr.evaluate(y, score, qid=qid, metrics=names, judged=y > 0)
    for name, value in whole.per_query.items():
        np.testing.assert_array_equal(cut.per_query[name], value)


@pytest.mark.parametrize("max_grade", [4, 30, 60])
def test_err_of_a_tie_loses_no_digit_under_tiny_probabilities(max_grade: int) -> None:
    y = [0, 0, 1, 1, 0]
    p = [Fraction(2**g - 1, 2**max_grade) for g in y]
    total = Fraction(0)
    for order in itertools.permutations(p):
        arrives = Fraction(1)
        for i, stop in enumerate(order, start=1):
            total += arrives * stop / i
            arrives *= 1 - stop
    got = ltr.evaluate(y, [0] * 5, group=[5], metrics=[ltr.ERR(max_grade=max_grade)])
    assert next(iter(got.mean.values())) == pytest.approx(float(total / math.factorial(5)), rel=1e-14, abs=0)


def test_err_of_a_tie_is_the_same_by_both_ways_to_count() -> None:
    """Polynomials for few ranks, and means for the whole list."""
    y = np.repeat([0.0, 1, 2, 3, 4], [1500, 60, 30, 5, 2])
    whole = ltr.evaluate(y, np.zeros(len(y)), group=[len(y)], metrics=["err@10", "err@20", "err"])
    for name in ("err@10", "err@20"):
        assert ltr.evaluate(y, np.zeros(len(y)), group=[len(y)], metrics=name)[name] == pytest.approx(
            whole[name], rel=1e-13
        )


@pytest.mark.parametrize("n", [2, 5, 37, 100, 399])
def test_a_perfect_order_is_exactly_1(n: int) -> None:
    rng = np.random.default_rng(n)
    tied = np.repeat(rng.permutation(n), rng.integers(1, 4, n))  # grades with ties, and scores with the same ties
    for y in (np.arange(n), tied):
        assert set(ltr.evaluate(y, y / 7, group=[len(y)], metrics=["tau", "rho", "auc"]).mean.values()) == {1.0}


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
    assert result["dcg_lin"] == pytest.approx(reference.dcg(y[order].tolist(), y.tolist(), None, "linear"), rel=1e-12)
    audit = ltr.tie_audit(y, score, group=[len(y)], metrics=["dcg_lin"])["dcg_lin"]
    assert audit.worst < audit.stable < audit.best
    assert audit.worst < audit.mean < audit.best


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ties", ["mean", "stable", "worst", "best"])
def test_the_lowest_score_in_a_window_that_begins_before_its_query(dtype: type, ties: str) -> None:
    """The last query's window begins within the query before it, so that padding comes first."""
    y, score = [1, 0, 0, 0, 1], np.array([3, 2, 1, 5, -np.inf], dtype=dtype)
    for k in (None, 2):
        metrics = [ltr.MRR(k=k), ltr.MAP(k=k)]
        result = ltr.evaluate(y, score, group=[3, 2], metrics=metrics, ties=ties)
        assert [result.per_query[metric].tolist() for metric in metrics] == [[1, 0.5], [1, 0.5]]


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


def test_who_gets_deep_into_a_tie_is_not_left_out() -> None:
    err, pfound = ltr.ERR(max_grade=1), ltr.PFound(p_rel=(0.0, 0.5), p_break=0.0)
    got = ltr.evaluate(np.ones(500), np.zeros(500), group=[500], metrics=[err, pfound])
    assert got[err] == pytest.approx(math.log(2), rel=1e-15, abs=0)  # the sum of 2^-j / j
    assert got[pfound] == pytest.approx(1, rel=1e-15)


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
