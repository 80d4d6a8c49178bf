"""How much of what a user sees changes between two rankings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES

import ltr_metrics as ltr
from ltr_metrics.analysis.churn import churn, churn_of, rank_rows

PER_QUERY = ("overlap", "changed", "reordered", "rbo", "tied", "tied_at_cutoff")
SMALL = {"a": [3, 2, 1], "b": [1, 2, 3], "qid": [7, 7, 8]}


@st.composite
def two_rankings(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """Two score vectors with ties, scattered queries, and documents that no ranking has."""
    n = draw(st.integers(1, 20))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    retrieved = column(st.booleans())
    retrieved[draw(st.integers(0, n - 1))] = True
    return column(SCORES), column(SCORES), column(st.integers(0, 3)), retrieved


def rbo_by_definition(one: list[int], other: list[int], p: float) -> float:
    """Equation 32 of Webber, Moffat & Zobel for lists of one length, depth by depth."""
    n = len(one)
    shared = [len(set(one[:d]) & set(other[:d])) for d in range(1, n + 1)]
    return (1 - p) / p * sum(x / d * p**d for d, x in enumerate(shared, 1)) + p**n if n else np.nan


def has_tie(scores: np.ndarray, rows: list[int]) -> bool:
    return any(scores[one] == scores[next_] for one, next_ in pairwise(rows))


def slow_churn(
    a: np.ndarray, b: np.ndarray, qid: np.ndarray, retrieved: np.ndarray, k: int, p: float
) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {name: [] for name in PER_QUERY}
    for query in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero((qid == query) & retrieved).tolist()
        of_a, of_b = (sorted(rows, key=lambda row: -scores[row]) for scores in (a, b))  # which is stable
        top_a, top_b = of_a[:k], of_b[:k]
        result["overlap"].append(len(set(top_a) & set(top_b)) / len(top_a) if top_a else np.nan)
        result["changed"].append(set(top_a) != set(top_b))
        result["reordered"].append(top_a != top_b)
        result["rbo"].append(rbo_by_definition(of_a, of_b, p))
        result["tied"].append(has_tie(a, of_a) or has_tie(b, of_b))
        result["tied_at_cutoff"].append(has_tie(a, of_a[k - 1 : k + 1]) or has_tie(b, of_b[k - 1 : k + 1]))
    return result


@given(two_rankings(), st.integers(1, 8), st.sampled_from([0.01, 0.5, 0.9, 0.999]))
def test_churn_against_a_loop_over_depths(columns: tuple[np.ndarray, ...], k: int, p: float) -> None:
    a, b, qid, retrieved = columns
    options: dict[str, Any] = {"qid": qid, "k": k, "p": p, "retrieved": retrieved}
    result, expected = churn(a, b, **options), slow_churn(a, b, qid, retrieved, k, p)
    queries = ltr.Queries(np.zeros(len(a)), qid=qid, retrieved=retrieved)
    for one in (
        result,
        churn(b, a, **options),
        churn_of(queries, *(rank_rows(queries, one, "") for one in (a, b)), k=k, p=p),
    ):
        for name, values in expected.items():
            np.testing.assert_allclose(getattr(one, name), values, rtol=0, atol=1e-12, err_msg=name)
    defined = ~np.isnan(result.rbo)
    assert ((result.rbo[defined] >= 0) & (result.rbo[defined] <= 1)).all()
    assert result.n_undefined == (~defined).sum()
    assert (result.n_tied_queries, result.n_tied_at_cutoff) == (sum(expected["tied"]), sum(expected["tied_at_cutoff"]))
    same = churn(a, a, **options)
    assert (same.rbo[defined] == 1).all()
    assert not (same.reordered | same.changed).any()


def test_weighted_means_of_churn() -> None:
    a, b, group = [2, 1, 2, 1], [2, 1, 1, 2], [2, 2]
    by_query = churn(a, b, group=group, k=1, query_weight=[3, 1])
    assert by_query.mean["overlap"] == 0.75
    assert by_query.mean["changed"] == by_query.mean["reordered"] == 0.25
    assert by_query.mean["rbo"] == (3 * by_query.rbo[0] + by_query.rbo[1]) / 4
    assert churn(a, b, group=group, k=1, sample_weight=[4, 2, 0, 2]).mean == by_query.mean
    assert np.isnan(churn(a, b, group=group, query_weight=[0, 0]).mean["rbo"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1. Got 0"),
        ({"p": 1}, "p must be a number between 0 and 1, such as 0.9. Got 1"),
        ({"a": [1, np.nan, 2]}, r"a must not be NaN: got nan at row 1 \(query 7\).*or pass retrieved=False"),
        ({"b": [1, 2]}, "b must have one entry per row"),
        ({"retrieved_a": [1, 1, 1]}, "churn has no option 'retrieved_a'. Did you mean 'retrieved'"),
    ],
)
def test_bad_input_of_churn(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        churn(**(SMALL | options))
