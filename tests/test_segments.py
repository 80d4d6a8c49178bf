"""Numbers to labelled bins."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics.analysis.bins import Bins, bins
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.io import read_letor

NUMBERS = st.one_of(
    st.lists(st.integers(0, 12), min_size=1, max_size=60),
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30),
    st.lists(st.sampled_from([0.1, 0.30000000000000004, 0.3, -0.0, 0.0, 1e300]), min_size=1, max_size=30),
    st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=30).map(np.float32),
)


def bounds(label: str) -> tuple[float, float]:
    """What a label says: the number that it begins with, and the one that it ends before."""
    if label.startswith("["):
        begin, end = label.strip("[)").split(", ")
        return float(begin), float(end)
    if label.endswith("+"):
        return int(label[:-1]), np.inf
    begin, _, end = label.partition("-")
    return int(begin), int(end or begin) + 1


def assert_labels_are_true(made: Bins, values: Any) -> None:
    kind = np.asarray(values).dtype.type if np.asarray(values).dtype == np.float32 else np.float64
    for value, label in zip(values, made, strict=True):
        begin, end = bounds(label)
        assert kind(begin) <= value < kind(end)
    of_labels = [bounds(label) for label in made.categories]
    assert of_labels == sorted(of_labels)
    assert all(end == begin for (_, end), (begin, _) in pairwise(of_labels))
    assert len(set(made.categories)) == len(made.categories)


@given(NUMBERS, st.integers(1, 6))
def test_quantile_bins(values: Any, n: int) -> None:
    made = bins(values, n=n)
    assert_labels_are_true(made, values)
    assert 1 <= len(made.categories) <= min(n, len(set(np.asarray(values).tolist())))
    assert min(made.counts().values()) >= 1
    assert sum(made.counts().values()) == len(values)
    assert np.asarray(made).tolist() == list(made)


@given(NUMBERS, st.integers(1, 6))
def test_bins_begin_as_near_to_the_quantiles_as_equal_numbers_allow(values: Any, n: int) -> None:
    made = bins(values, n=n)
    ordered = np.sort(np.asarray(values, dtype=float))
    possible = [i for i in range(1, len(ordered)) if ordered[i - 1] < ordered[i]]
    begins = np.cumsum(list(made.counts().values()))[:-1].tolist()
    assert set(begins) <= set(possible)
    for i in range(1, n) if possible else ():
        wanted = i * len(ordered) / n
        assert min(abs(begin - wanted) for begin in begins) == min(abs(place - wanted) for place in possible)
    assert len(begins) <= n - 1


@given(NUMBERS, st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5, unique=True).map(sorted))
def test_bins_of_given_edges(values: Any, edges: list[float]) -> None:
    values = np.asarray(values, dtype=float)
    edges = sorted({values[0], *edges})
    values = values[values >= edges[0]]
    made = bins(values, edges=edges)
    assert_labels_are_true(made, values)
    assert made.edges == edges
    assert made.codes.tolist() == [max(i for i, edge in enumerate(edges) if edge <= value) for value in values]


def test_whole_numbers() -> None:
    made = bins([3, 12, 1, 30, 24, 25, 9, 10], edges=(1, 10, 25))
    assert made.categories == ["1-9", "10-24", "25+"]
    assert list(made) == ["1-9", "10-24", "1-9", "25+", "10-24", "25+", "1-9", "10-24"]
    assert bins([1.0, 2.0, 7.0], edges=[0, 1, 2, 3]).categories == ["0", "1", "2", "3+"]
    assert bins([1, 2], edges=[0.5, 1.5]).categories == ["[0.5, 1.5)", "[1.5, inf)"]
    assert bins([1, 2.5], edges=[0, 2]).categories == ["[0, 2)", "[2, inf)"]
    assert bins([-1, 2], edges=[-1, 2]).categories == ["[-1, 2)", "[2, inf)"]


def test_fractions() -> None:
    made = bins([0.2, 0.4999, 0.5, 9], edges=(0.2, 0.5))
    assert made.categories == ["[0.2, 0.5)", "[0.5, inf)"]
    assert made.codes.tolist() == [0, 0, 1, 1]
    assert bins(np.float32([0.2, 0.5]), edges=(0.2, 0.5)).codes.tolist() == [0, 1]  # 0.2 is less as float64
    made = bins(np.linspace(0, 1, 1001) ** 2 / 3)  # quartiles .02083..., .08333..., .18800...
    assert made.categories == ["[0, 0.0208)", "[0.0208, 0.0833)", "[0.0833, 0.188)", "[0.188, inf)"]
    assert list(made.counts().values()) == [250, 250, 251, 250]


def test_numbers_that_are_equal_stay_together() -> None:
    made = bins([7] * 50 + [1, 2, 3], n=4)
    assert made.counts() == {"1": 1, "2": 1, "3-6": 1, "7+": 50} or made.counts() == {"1-6": 3, "7+": 50}
    assert bins([5, 5, 5], n=3).counts() == {"5+": 3}
    assert bins([1] * 9 + [2]).counts() == {"1": 9, "2+": 1}


def test_bins_as_segments() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(1, 12, 60)
    y, score = rng.integers(0, 2, group.sum()), rng.normal(size=group.sum())
    made = bins(group, edges=(1, 3, 8))
    by_query = ltr.evaluate(y, score, group=group, metrics=["mrr"], by=made)
    by_row = ltr.evaluate(y, score, group=group, metrics=["mrr"], by=bins(np.repeat(group, group), edges=(1, 3, 8)))
    named = ltr.evaluate(y, score, group=group, metrics=["mrr"], by={"size": made})
    assert set(by_query.by) == set(made.categories)
    for label, (low, high) in {"1-2": (1, 2), "3-7": (3, 7), "8+": (8, 99)}.items():
        inside = (group >= low) & (group <= high)
        for result in (by_query.by, by_row.by, named.by["size"]):
            np.testing.assert_array_equal(result[label].n_documents, group[inside])


def test_a_series_keeps_its_index() -> None:
    """`groupby` sorts by id, and queries stand in order of first appearance: labels go by id."""
    qid = np.array(["z", "z", "z", "a", "m", "m"])
    sizes = pd.Series(qid).groupby(qid).size().rename_axis("qid")
    made = bins(sizes, edges=[1, 2, 3])
    assert made.index is not None
    result = ltr.evaluate([1] * 6, range(6), qid=qid, metrics=["precision@1"], by=made)
    assert {label: part.qid.tolist() for label, part in result.by.items()} == {"3+": ["z"], "1": ["a"], "2": ["m"]}
    frame = pd.DataFrame({"qid": qid, "price": [1, 1, 1, 5, 9, 9]}, index=range(10, 16))
    with pytest.raises(LtrValueError, match="different pandas indexes"):
        ltr.evaluate(
            pd.Series([1] * 6, index=frame.index[::-1]),
            range(6),
            group=[3, 1, 2],
            metrics=["mrr"],
            by=bins(frame["price"]),
        )


def test_it_is_an_array_like() -> None:
    made = bins(pd.Series([1, 5, 9, 2], index=[*"abcd"]), edges=[1, 5])
    assert len(made) == 4
    assert made[1] == "5+"
    part = made[np.array([True, False, True, False])]
    assert list(part.items()) == [("a", "1-4"), ("c", "5+")]
    assert part.categories == made.categories
    assert list(bins([1, 5], edges=[1, 5]).items()) == [(0, "1-4"), (1, "5+")]
    assert np.asarray(made, dtype=object).dtype == object
    assert pd.DataFrame({"n": [1, 5, 9, 2]}).assign(bin=made)["bin"].tolist() == list(made)
    assert repr(made).splitlines()[0].split() == ["1-4", "2"]
    with pytest.raises(ValueError, match="read-only"):
        made.codes[0] = 1


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1, np.nan], {}, "values must be finite: got nan at entry 1, 1 such entries"),
        ([1, None], {}, "values must be finite: got nan at entry 1"),
        ([1, np.inf], {}, "values must be finite: got inf at entry 1"),
        ([], {}, "values is empty"),
        ([0, 1], {"edges": [1, 2]}, "must not be below the first edge, 1: got 0.0 at entry 0"),
        ([1], {"edges": []}, "edges must be finite ascending numbers"),
        ([1], {"edges": [1, 1]}, "edges must be finite ascending numbers"),
        ([1], {"edges": [2, 1]}, "edges must be finite ascending numbers"),
        ([1], {"edges": [0, np.inf]}, "edges must be finite ascending numbers"),
        ([1], {"edges": [np.nan]}, "edges must be finite ascending numbers"),
        ([1], {"n": 0}, "n must be a whole number of at least 1. Got 0"),
        ([1], {"n": 2.0}, "n must be a whole number"),
        ([[1]], {}, "values must be one-dimensional"),
    ],
)
def test_bad_values(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        bins(values, **options)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a"], {}, "values must be numbers"),
        ([1], {"edges": [1], "n": 2}, "Pass edges or n, not both"),
        ([1], {"edges": 3}, "edges must be a sequence"),
        (None, {}, "values must be a sequence"),
    ],
)
def test_bad_types(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrTypeError, match=message):
        bins(values, **options)


def test_on_real_queries(data: Path) -> None:
    """Documents a query on MQ2008: 8, 16, 32, 64 and about 120, each at least once, as LETOR sampled them."""
    _, y, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    sizes = ltr.Queries(y, qid=qid).sizes
    made = bins(sizes, edges=[1, 10, 50])
    expected = {"1-9": (sizes < 10).sum(), "10-49": ((sizes >= 10) & (sizes < 50)).sum(), "50+": (sizes >= 50).sum()}
    assert made.counts() == expected
    quartiles = bins(sizes)
    assert max(quartiles.counts().values()) >= len(sizes) / 4  # most queries have the same few sizes
    assert sum(quartiles.counts().values()) == 784
