"""Bins of pandas as segments: one label per query or row, by position or by query id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr

EDGES = {"bins": [0, 2, 7, np.inf], "labels": ["1-2", "3-7", "8+"]}


def test_bins_as_segments(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(1, 12, 60)
    y, score = rng.integers(0, 2, group.sum()), rng.normal(size=group.sum())
    of_query, of_row = pd.cut(group, **EDGES), pd.cut(pd.Series(np.repeat(group, group)), **EDGES)
    by_query, by_row, named = (
        ltr.evaluate(y, score, group=group, metrics=["mrr"], by=by) for by in (of_query, of_row, {"size": of_query})
    )
    by_query.save(tmp_path / "saved.parquet")
    saved = ltr.load_result(tmp_path / "saved.parquet")
    for label, (low, high) in {"1-2": (1, 2), "3-7": (3, 7), "8+": (8, 99)}.items():
        inside = (group >= low) & (group <= high)
        for segments in (by_query.by, by_row.by, named.by["size"], saved.by):
            np.testing.assert_array_equal(segments[label].n_documents, group[inside])
    quarters = ltr.compare({"a": score, "b": -score}, y, group=group, metrics="mrr", by=pd.qcut(group, 4).astype(str))
    assert sum(part.n_queries for part in quarters.by.values()) == 60


def test_a_series_is_paired_by_its_index() -> None:
    """`groupby` sorts by id, and queries stand in order of first appearance: labels go by id."""
    qid = np.array(["z", "z", "z", "a", "m", "m"])
    sizes = pd.Series(qid).groupby(qid).size().rename_axis("qid")
    made = pd.cut(sizes, [0, 1, 2, 3], labels=["1", "2", "3"])
    result = ltr.evaluate([1] * 6, range(6), qid=qid, metrics=["precision@1"], by=made)
    assert {label: part.qid.tolist() for label, part in result.by.items()} == {"3": ["z"], "1": ["a"], "2": ["m"]}
    price = pd.Series([1, 1, 1, 5, 9, 9], index=range(10, 16))
    y = pd.Series([1] * 6, index=price.index[::-1])
    with pytest.raises(ltr.LtrValueError, match="different pandas indexes"):
        ltr.evaluate(y, range(6), group=[3, 1, 2], metrics=["mrr"], by=price)


def test_a_subset_has_the_segments_of_its_queries() -> None:
    result = ltr.evaluate([1, 0, 1, 1], [2, 1, 2, 1], group=[2, 1, 1], metrics=["mrr"], by=["a", "b", "c"])
    assert {label: part.qid.tolist() for label, part in result.subset([2, 1]).by.items()} == {"b": [1], "c": [2]}
