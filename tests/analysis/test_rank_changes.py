"""Ranks of the relevant documents under two rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from strategies import SCORES

import ltr_metrics as ltr
from ltr_metrics.analysis.rank_changes import RankChanges, rank_changes
from ltr_metrics.errors import LtrValueError


def mean_ranks(scores: np.ndarray, qid: np.ndarray, retrieved: np.ndarray) -> np.ndarray:
    """SciPy's ranks, query by query; -0.0 is 0.0."""
    ranks = np.full(len(scores), np.inf)
    for query in set(qid.tolist()):
        rows = np.flatnonzero((qid == query) & retrieved)
        ranks[rows] = rankdata(-(scores[rows] + 0.0), method="average")
    return ranks


@st.composite
def judged_pairs(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    n = draw(st.integers(1, 20))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    retrieved = column(st.booleans())
    retrieved[draw(st.integers(0, n - 1))] = True
    return column(st.integers(0, 3)), column(SCORES), column(SCORES), column(st.integers(0, 3)), retrieved


def assert_right(
    result: RankChanges, y: np.ndarray, a: np.ndarray, b: np.ndarray, qid: np.ndarray, rel: float, k: int
) -> None:
    """``a`` and ``b`` are ranks, infinite where there is none."""
    assert sorted(result.row.tolist()) == np.flatnonzero(y >= rel).tolist()
    np.testing.assert_array_equal(result.rank_a, a[result.row])
    np.testing.assert_array_equal(result.rank_b, b[result.row])
    np.testing.assert_array_equal(result.grade, y[result.row])
    np.testing.assert_array_equal(result.qid, qid[result.row])
    size = [0 if one == other else abs(one - other) for one, other in zip(result.rank_a, result.rank_b, strict=True)]
    assert list(zip(size, -result.row, strict=True)) == sorted(zip(size, -result.row, strict=True), reverse=True)
    for grade, moves in [(None, result.moves), *result.by_grade.items()]:
        pairs = [(a[row], b[row]) for row in result.row if grade is None or y[row] == grade]
        assert moves.documents == len(pairs)
        assert moves.up == sum(after < before for before, after in pairs)
        assert moves.down == sum(after > before for before, after in pairs)
        assert moves.stayed == sum(after == before for before, after in pairs)
        assert moves.into_top == sum(after <= k < before for before, after in pairs)
        assert moves.out_of_top == sum(before <= k < after for before, after in pairs)
        finite = [pair for pair in pairs if np.isfinite(pair).all()] or [(np.nan, np.nan)]
        np.testing.assert_allclose([moves.mean_rank_a, moves.mean_rank_b], np.mean(finite, axis=0))
    assert list(result.by_grade) == sorted(set(y[result.row].tolist()), reverse=True)


@given(judged_pairs(), st.integers(1, 5), st.sampled_from([1, 2]))
def test_against_ranks_of_scipy(columns: tuple[np.ndarray, ...], k: int, rel: int) -> None:
    y, a, b, qid, retrieved = columns
    ranks = [mean_ranks(scores, qid, retrieved) for scores in (a, b)]
    there = rank_changes(y, a, b, qid=qid, k=k, rel=rel, retrieved=retrieved)
    back = rank_changes(y, b, a, qid=qid, k=k, rel=rel, retrieved=retrieved)
    assert_right(there, y, *ranks, qid, rel, k)
    assert_right(back, y, *ranks[::-1], qid, rel, k)
    np.testing.assert_array_equal(there.row, back.row)
    np.testing.assert_array_equal(there.change, -back.change)
    of_queries = rank_changes(ltr.Queries(y, qid=qid, retrieved=retrieved), a, b, k=k, rel=rel)
    assert of_queries.to_dict() == there.to_dict()


def test_relevance_is_that_of_the_metrics() -> None:
    shares = {"y_true": [0.2, 0.7, 1], "a": [1, 2, 3], "b": [1, 2, 3], "group": [3]}
    with pytest.raises(LtrValueError, match=r"between 0 and 1.*0.2 at row 0.*rank_changes.*rank_changes\(rel=0.5\)"):
        rank_changes(**shares)
    assert len(rank_changes(**shares, rel=0.7)) == 2
    assert len(rank_changes(**shares, rel=">0.7")) == 1
    assert len(rank_changes(**(shares | {"y_true": np.float32(shares["y_true"])}), rel=0.7)) == 2
