"""How much of what a user sees changes between two rankings."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, random_data

import ltr_metrics as ltr
from ltr_metrics.analysis.churn import churn, churn_of
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.io import read_letor

PER_QUERY = ("overlap", "changed", "reordered", "rbo", "tied", "tied_at_cutoff")


def rbo_by_definition(one: list[int], other: list[int], p: float) -> float:
    """Equation 32 of Webber, Moffat & Zobel, depth by depth."""
    shorter, longer = sorted((one, other), key=len)
    s, length = len(shorter), len(longer)
    if length == 0:
        return np.nan
    x = [len(set(shorter[:d]) & set(longer[:d])) for d in range(length + 1)]
    seen = sum(x[d] / d * p**d for d in range(1, length + 1))
    if s == 0:  # nothing to extrapolate from, and nothing shared
        return 0.0
    unseen = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    return (1 - p) / p * (seen + unseen) + ((x[length] - x[s]) / length + x[s] / s) * p**length


def ranked(scores: np.ndarray, rows: list[int], retrieved: np.ndarray) -> list[int]:
    return sorted((row for row in rows if retrieved[row]), key=lambda row: -scores[row])  # which is stable


def has_tie(scores: np.ndarray, rows: list[int]) -> bool:
    return any(scores[one] == scores[next_] for one, next_ in pairwise(rows))


def slow_churn(
    a: np.ndarray, b: np.ndarray, qid: np.ndarray, in_a: np.ndarray, in_b: np.ndarray, k: int, p: float
) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {name: [] for name in PER_QUERY}
    for query in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero(qid == query).tolist()
        of_a, of_b = ranked(a, rows, in_a), ranked(b, rows, in_b)
        top_a, top_b = of_a[:k], of_b[:k]
        shown = max(len(top_a), len(top_b))
        result["overlap"].append(len(set(top_a) & set(top_b)) / shown if shown else np.nan)
        result["changed"].append(set(top_a) != set(top_b))
        result["reordered"].append(top_a != top_b)
        result["rbo"].append(rbo_by_definition(of_a, of_b, p))
        result["tied"].append(has_tie(a, of_a) or has_tie(b, of_b))
        result["tied_at_cutoff"].append(has_tie(a, of_a[k - 1 : k + 1]) or has_tie(b, of_b[k - 1 : k + 1]))
    return result


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """Two score vectors with ties, scattered queries, and documents that one ranking does not have."""
    n = draw(st.integers(1, 20))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    in_a, in_b = column(st.booleans()), column(st.booleans())
    in_a[draw(st.integers(0, n - 1))] = in_b[draw(st.integers(0, n - 1))] = True
    return column(SCORES), column(SCORES), column(st.integers(0, 3)), in_a, in_b


def assert_same(result: Any, expected: dict[str, list[Any]]) -> None:
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(result, name), values, rtol=0, atol=1e-12, err_msg=name)


@given(pairs(), st.integers(1, 8), st.sampled_from([0.01, 0.5, 0.9, 0.999]))
def test_against_a_loop_over_depths(pair: tuple[np.ndarray, ...], k: int, p: float) -> None:
    a, b, qid, in_a, in_b = pair
    everything = np.ones(len(a), dtype=bool)
    assert_same(churn(a, b, qid=qid, k=k, p=p), slow_churn(a, b, qid, everything, everything, k, p))
    result = churn(a, b, qid=qid, k=k, p=p, retrieved_a=in_a, retrieved_b=in_b)
    assert_same(result, slow_churn(a, b, qid, in_a, in_b, k, p))
    assert_same(churn(a, b, qid=qid, k=k, p=p, retrieved_b=in_b), slow_churn(a, b, qid, everything, in_b, k, p))


@given(pairs(), st.integers(1, 8))
def test_symmetric_and_within_bounds(pair: tuple[np.ndarray, ...], k: int) -> None:
    a, b, qid, in_a, in_b = pair
    result = churn(a, b, qid=qid, k=k, retrieved_a=in_a, retrieved_b=in_b)
    assert_same(
        churn(b, a, qid=qid, k=k, retrieved_a=in_b, retrieved_b=in_a), {n: getattr(result, n) for n in PER_QUERY}
    )
    defined = ~np.isnan(result.rbo)
    assert ((result.rbo[defined] >= 0) & (result.rbo[defined] <= 1)).all()
    np.testing.assert_array_equal(result.changed[defined], result.overlap[defined] < 1)
    assert not (result.changed & ~result.reordered).any()
    assert result.n_undefined == (~defined).sum()


@given(pairs(), st.integers(1, 8), st.floats(0.001, 0.999))
def test_of_one_ranking_nothing_changes(pair: tuple[np.ndarray, ...], k: int, p: float) -> None:
    a, _, qid, in_a, _ = pair
    for mask in (None, in_a):
        result = churn(a, np.arctan(a), qid=qid, k=k, p=p, retrieved_a=mask, retrieved_b=mask)
        if len(np.unique(a)) == len(np.unique(np.arctan(a))):  # else rounding has made ties
            assert (result.rbo[~np.isnan(result.rbo)] == 1).all()
            assert not result.reordered.any()
            assert not result.changed.any()


def test_a_long_list_is_exactly_itself() -> None:
    a = np.random.default_rng(0).normal(size=30_000)
    for p in (0.5, 0.99, 0.99999):
        assert churn(a, a * 2, group=[20_000, 10_000], p=p).rbo.tolist() == [1, 1]


def test_a_reversed_list_by_hand() -> None:
    """Prefixes of 4 documents and of their reversal share 0, 0, 2 and 4."""
    result = churn(a := np.array([4.0, 3, 2, 1]), -a, group=[4], k=2, p=0.5)
    assert result.rbo[0] == pytest.approx(2 / 3 * 0.5**3 + 0.5**4 + 0.5**4)
    assert (result.overlap[0], result.changed[0], result.reordered[0]) == (0, True, True)
    assert churn(a, -a, group=[4], k=4).overlap[0] == 1
    assert not churn(a, -a, group=[4], k=4).changed[0]


def test_lists_of_other_lengths_by_hand() -> None:
    """The lists x y and y z x: X is 0, 1, 2, and s = 2, l = 3."""
    #            x  y  z
    a, b = [2, 1, 0], [1, 3, 2]
    result = churn(a, b, group=[3], k=3, p=0.8, retrieved_a=[True, True, False])
    expected = 0.25 * (1 / 2 * 0.64 + 2 / 3 * 0.512 + 1 * 1 / (2 * 3) * 0.512) + (1 / 3 + 1 / 2) * 0.512
    assert result.rbo[0] == pytest.approx(expected, abs=1e-15)
    assert result.overlap[0] == pytest.approx(2 / 3)


def test_nothing_in_common_and_nothing_at_all() -> None:
    #      disjoint | one empty | both empty
    in_a = [1, 0,     1, 1,       0, 0]  # fmt: skip
    in_b = [0, 1,     0, 0,       0, 0]  # fmt: skip
    result = churn([1] * 6, [2] * 6, group=[2, 2, 2], retrieved_a=in_a, retrieved_b=in_b)
    np.testing.assert_array_equal(result.overlap, [0, 0, np.nan])
    np.testing.assert_array_equal(result.rbo, [0, 0, np.nan])
    assert result.changed.tolist() == result.reordered.tolist() == [True, True, False]
    assert result.n_undefined == 1
    assert result.mean["changed"] == 1


def test_ties_stand_in_input_order_and_are_counted() -> None:
    #       none  | in the top | across the cutoff | below it
    a = [3, 2, 1,   3, 3, 1,     3, 2, 2,            3, 2, 1, 1]  # fmt: skip
    b = [3, 2, 1,   3, 2, 1,     3, 2, 1,            4, 3, 2, 1]  # fmt: skip
    result = churn(a, b, group=[3, 3, 3, 4], k=2)
    assert result.tied.tolist() == [False, True, True, True]
    assert result.tied_at_cutoff.tolist() == [False, False, True, False]
    assert (result.n_tied_queries, result.n_tied_at_cutoff) == (3, 1)
    assert not result.reordered.any()
    assert "3 queries have any, and in 1 a tie spans rank 2" in str(result)


def test_what_is_not_retrieved_is_not_read() -> None:
    result = churn([2, np.nan, 1], [2, 1, np.nan], group=[3], retrieved_a=[1, 0, 1], retrieved_b=[1, 1, 0])
    assert result.overlap.tolist() == [0.5]
    assert result.tied.tolist() == [False]


def test_rows_that_are_grouped_already() -> None:
    made = random_data(3)
    a, b, retrieved = made.score, np.sin(made.score * 40), made.columns["judged"]
    queries = ltr.Queries(made.y, group=made.group, retrieved=retrieved)
    expected = churn(a, b, group=made.group, k=3, retrieved_a=retrieved, retrieved_b=retrieved)
    assert_same(churn_of(queries, a, b, k=3), {name: getattr(expected, name) for name in PER_QUERY})
    half = np.arange(len(a)) % 2 == 0
    expected = churn(a, b, group=made.group, retrieved_a=retrieved & half, retrieved_b=retrieved)
    assert_same(churn_of(queries, a, b, retrieved_a=half), {name: getattr(expected, name) for name in PER_QUERY})
    with pytest.raises(LtrValueError, match="b must have one entry a row"):
        churn_of(queries, a, b[1:])


def test_weighted_means() -> None:
    a, b, group = [2, 1, 2, 1], [2, 1, 1, 2], [2, 2]
    by_query = churn(a, b, group=group, k=1, query_weight=[3, 1])
    assert by_query.mean["overlap"] == 0.75
    assert by_query.mean["changed"] == by_query.mean["reordered"] == 0.25
    assert by_query.mean["rbo"] == (3 * by_query.rbo[0] + by_query.rbo[1]) / 4
    assert churn(a, b, group=group, k=1, sample_weight=[4, 2, 0, 2]).mean == by_query.mean
    assert churn(a, b, qid=["x", "x", "y", "y"], k=1, query_weight={"y": 1, "x": 3}).mean == by_query.mean
    assert "weighted mean" in str(by_query)
    assert np.isnan(churn(a, b, group=group, query_weight=[0, 0]).mean["rbo"])


def test_as_table_dict_and_text() -> None:
    result = churn(
        [1, 2, 3, 4], [1, 2, 4, 3], qid=["y", "x", "y", "x"], k=3, retrieved_a=[1, 0, 1, 0], retrieved_b=[1, 0, 1, 0]
    )
    frame = result.to_pandas()
    assert frame.columns.tolist() == ["qid", *PER_QUERY]
    assert frame["qid"].tolist() == ["y", "x"]
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["per_query"]["rbo"] == [1, None]
    assert (plain["n_queries"], plain["n_undefined"], plain["k"], plain["p"]) == (2, 1, 3, 0.9)
    lines = str(result).splitlines()
    assert lines[1].split() == ["overlap@3", "1.000000", "1", "1"]
    assert lines[4].split()[0] == "rbo(p=0.9)"


def test_pandas_columns() -> None:
    frame = pd.DataFrame({"a": [1.0, 2], "b": [2.0, 1], "q": [1, 1]}, index=[5, 9])
    assert churn(frame["a"], frame["b"], qid=frame["q"]).qid.tolist() == [1]
    with pytest.raises(LtrValueError, match="a and b have different pandas indexes"):
        churn(frame["a"], frame["b"].reset_index(drop=True), qid=frame["q"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1. Got 0"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number"),
        ({"p": 1}, "p must be a number between 0 and 1, such as 0.9. Got 1"),
        ({"p": 0.0}, "p must be"),
        ({"p": float("nan")}, "p must be"),
        ({"p": "0.9"}, "p must be"),
        ({"a": [1, np.nan, 2]}, r"a must not be NaN: got nan at row 1 \(query 7\), 1 in all.*retrieved_a"),
        ({"b": [np.nan, 1, 2]}, r"b must not be NaN: got nan at row 0 \(query 7\)"),
        ({"b": [np.nan, 1, 2], "retrieved_b": [1, 0, 1]}, r"b must not be NaN: got nan at row 0 \(query 7\)"),
        ({"b": [1, 2]}, "b must have one entry a row like a: got 2 entries for 3 rows"),
        ({"qid": [1, 2]}, "qid must have one entry a row like a: got 2"),
        ({"retrieved_a": [True]}, "retrieved_a must have one entry a row like a: got 1"),
        ({"retrieved_b": [0, 0, 0]}, "retrieved_b is False in every row"),
        ({"a": [], "b": [], "qid": []}, "a is empty"),
        ({"query_weight": [1, 2, 3, 4]}, "query_weight must have one entry a query"),
    ],
)
def test_bad_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        churn(**({"a": [3, 2, 1], "b": [1, 2, 3], "qid": [7, 7, 8]} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qid": None}, "exactly one of qid"),
        ({"group": [3]}, "exactly one of qid"),
        ({"a": ["x", "y", "z"]}, "a must be numbers"),
        ({"a": None}, "a must be a sequence"),
        ({"retrieved_a": [0, 1, 2]}, "retrieved_a must be True or False"),
        ({"query_weight": [1, 2], "sample_weight": [1, 1, 1]}, "not both"),
    ],
)
def test_bad_types(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrTypeError, match=message):
        churn(**({"a": [3, 2, 1], "b": [1, 2, 3], "qid": [7, 7, 8]} | options))


def test_on_real_rankings(data: Path) -> None:
    """BM25 (feature 25) and LMIR.JM (feature 40) on MQ2008: a loop over its queries says the same."""
    X, _, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    a, b = X[:, 24], X[:, 39]
    result = churn(a, b, qid=qid)
    everything = np.ones(len(a), dtype=bool)
    assert_same(result, slow_churn(a, b, qid, everything, everything, 10, 0.9))
    assert 0.4 < result.mean["rbo"] < 0.8
    assert churn(a, -a, qid=qid).mean["rbo"] < result.mean["rbo"] < churn(a, a, qid=qid).mean["rbo"] == 1
