"""Synthetic data, and conversions between ids and sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import ltr_metrics as ltr


def test_make_ranking_has_the_shape_of_real_data() -> None:
    X, y, qid = ltr.make_ranking(n_queries=2000, random_state=0)
    sizes = ltr.qid_to_group(qid)
    assert X.shape == (len(y), 20)
    assert len(sizes) == 2000
    assert np.median(sizes) == pytest.approx(40, abs=2)
    assert sizes.max() > 4 * np.median(sizes) > 16 * sizes.min()  # a long tail
    shares = np.bincount(y, minlength=5) / len(y)
    assert (np.diff(shares) < 0).all()
    assert 0.005 < shares[4] < 0.02
    without = ltr.Queries(y, qid=qid).evaluate(X[:, 0], "mrr").n_undefined["mrr"] / 2000
    assert 0.1 <= without < 0.12
    worth = [ltr.evaluate(y, X[:, j], qid=qid, metrics="ndcg@10")["ndcg@10"] for j in range(20)]
    assert worth[0] > worth[1] > worth[2] > max(worth[12:])  # features of varying worth, the last are noise
    assert np.ptp(X[qid == 1][:, 6:12], axis=0).max() == 0  # these describe the query


def test_make_ranking_is_reproducible_and_takes_a_generator() -> None:
    for a, b in zip(*(ltr.make_ranking(30, random_state=seed) for seed in (5, np.random.default_rng(5))), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(ltr.make_ranking(30, random_state=1)[1], ltr.make_ranking(30, random_state=2)[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_queries", 0), ("n_queries", 2.5), ("n_features", 2), ("documents", 0), ("no_relevant", 1.5), ("noise", -1)],
)
def test_make_ranking_refuses(name: str, value: float) -> None:
    with pytest.raises(ltr.LtrValueError, match=f"{name} must"):
        ltr.make_ranking(**{name: value})


@given(st.lists(st.integers(1, 9), max_size=20))
def test_sizes_to_ids_and_back(sizes: list[int]) -> None:
    assert ltr.qid_to_group(ltr.group_to_qid(sizes)).tolist() == sizes


def test_scattered_ids_have_no_sizes() -> None:
    with pytest.raises(ltr.LtrValueError, match="adjacent.*query 7 stop at row 1 and go on later"):
        ltr.qid_to_group([7, 7, 3, 7])
    with pytest.raises(ltr.LtrValueError, match="at least 1"):
        ltr.group_to_qid([2, 0])


def test_split_by_whole_queries() -> None:
    X, y, qid = ltr.make_ranking(50, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    frame, labels, ids = pd.DataFrame(X[order]), pd.Series(y[order]), qid[order].astype(str)
    options = {"test_size": 0.3, "random_state": 1}
    train_X, test_X, _train_y, test_y, train_qid, test_qid = ltr.train_test_split(frame, labels, ids, **options)
    assert len(set(test_qid)) == 15
    assert not set(test_qid) & set(train_qid)
    assert set(test_qid) | set(train_qid) == set(ids)
    rows = np.concatenate([train_X.index, test_X.index])
    assert sorted(rows) == list(range(len(y)))
    assert (np.diff(train_X.index) > 0).all()  # rows keep their order
    np.testing.assert_array_equal(labels[test_X.index], test_y)
    np.testing.assert_array_equal(ids[train_X.index], train_qid)
    again = ltr.train_test_split(sparse.csr_matrix(X[order]), y[order].tolist(), ids.tolist(), **options)
    np.testing.assert_array_equal(again[0].toarray(), train_X)
    np.testing.assert_array_equal(again[3], test_y)
    assert len(set(ltr.train_test_split(X, y, qid, test_size=0.001, random_state=0)[5])) == 1


def test_split_refuses() -> None:
    with pytest.raises(ltr.LtrValueError, match="test_size must be a number between 0 and 1"):
        ltr.train_test_split([[1], [2]], [0, 1], [1, 2], test_size=1)
    frame = pd.DataFrame({"f": [1, 2]})
    with pytest.raises(ltr.LtrValueError, match="X and y have different pandas indexes"):
        ltr.train_test_split(frame, pd.Series([0, 1], index=[1, 0]), [1, 2])
    with pytest.raises(ltr.LtrValueError, match="at least 2 queries"):
        ltr.train_test_split([[1], [2]], [0, 1], [1, 1])
    with pytest.raises(ltr.LtrValueError, match="one row for each entry of qid: got 3 rows and 2 ids"):
        ltr.train_test_split([[1], [2], [3]], [0, 1], [1, 2])
