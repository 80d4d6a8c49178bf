"""Threads, neighbours and processors change no digit; threads are never more than the process may use, and stay out of workers."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import joblib
import numpy as np
import pytest
from exact import ORDER_METRICS
from profiles import every_third
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics._ranks import native
from ltr_metrics._ranks.library import path_of_level
from ltr_metrics._ranks.native import n_threads_for
from ltr_metrics.evaluation.means import means_of_parts

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be worth a thread, and cut them into many pieces."""
    monkeypatch.setattr(native, "ROWS_WORTH_A_THREAD", 10)
    monkeypatch.setattr(native, "usable_processors", lambda: 8)
    monkeypatch.setattr(native, "QUERIES_IN_A_WINDOW", 5)


@pytest.fixture(scope="module")
def libraries() -> list[ctypes.CDLL]:
    """The compiled cores for each level of the processor, as far as this one has it."""
    found = []
    for level in range(1, native.core.processor_level() + 1):
        if path_of_level(level).exists():
            found.append(library := ctypes.CDLL(str(path_of_level(level))))
            for function in ("evaluate", "rank", "means", "accumulate"):
                usual, same = getattr(native.core, function), getattr(library, function)
                same.argtypes, same.restype = usual.argtypes, usual.restype
    return found


def taken(data: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """Return the data of some rows."""
    columns = {name: values[rows] for name, values in data["columns"].items()}
    return {name: columns if name == "columns" else values[rows] for name, values in data.items()}


def rows(entry: Entry, rounded: bool) -> tuple[dict[str, object], np.ndarray]:
    """Queries of 1 to 150 documents and a longer one, scattered, some of whose documents have no rank."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, rng.choice([6, 40, 150], 60) + 1)
    sizes[7] = 900
    n = int(sizes.sum())
    order = rng.permutation(n)
    grades, score = rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.05, 0.05]), rng.normal(size=n)
    score[:20] = [0.0, -0.0, np.inf, -np.inf] * 5
    data = {
        "y_true": entry.labels(grades.astype(float)),
        "qid": np.repeat(np.arange(60), sizes)[order],
        "retrieved": rng.random(n) < 0.95,
        "judged": (rng.random(n) < 0.8) | (grades > 0),
        "docid": rng.permutation(n).astype(str),
        "columns": {"margin": rng.normal(size=n)},
    }
    return data, np.round(2 * score) if rounded else score


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("entry", "rounded"), every_third(product(TABLE, [True, False])))
def test_values_are_the_same_to_the_last_bit(
    entry: Entry, rounded: bool, libraries: list[ctypes.CDLL], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, score = rows(entry, rounded)
    backwards = np.argsort(-data["qid"], kind="stable")
    queries, other_order = ltr.Queries(**data), ltr.Queries(**taken(data, backwards))
    for ties in ("mean", "stable", "docid"):
        options = {"metrics": entry.metrics(), "ties": ties}
        one = queries.evaluate(score, n_threads=1, **options)
        many = [queries.evaluate(score, n_threads=n_threads, **options) for n_threads in (2, 3, 7)]
        for result in many:
            np.testing.assert_array_equal(list(result.mean.values()), list(one.mean.values()))
        others = [*many, other_order.evaluate(score[backwards], **options)]
        for library in libraries:
            with monkeypatch.context() as patch:
                patch.setattr(native, "core", library)
                others.append(queries.evaluate(score, **options))
        for result in others:
            at = [result.qid.tolist().index(qid) for qid in one.qid]
            for name, values in one.per_query.items():
                np.testing.assert_array_equal(result.per_query[name][at], values, err_msg=f"{name} {ties}")


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("entry", [one for one in TABLE if one.name not in (*ORDER_METRICS, "iprec")], ids=str)
def test_both_ends_are_the_same_to_the_last_bit_and_chance_is_that_of_one_tie(
    entry: Entry, libraries: list[ctypes.CDLL], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = rows(entry, rounded=False)

    def ends(chosen: np.ndarray) -> ltr.Evaluation:
        of_rows = taken(data, chosen)
        return ltr.evaluate(y_score=np.zeros(len(of_rows["qid"])), metrics=entry.metrics(), ties="mean", **of_rows)

    every = np.arange(len(data["qid"]))
    whole, others = ends(every), [ends(np.argsort(-data["qid"], kind="stable"))]
    others += [ends(np.flatnonzero(data["qid"] % 3 == i)) for i in range(3)]  # beside other queries
    for library in libraries:
        with monkeypatch.context() as patch:
            patch.setattr(native, "core", library)
            others.append(ends(every).with_skill())
    for name, one_tie in whole.per_query.items():
        chance, ideal = whole.chance_per_query[name], whole.ideal_per_query[name]
        np.testing.assert_allclose(chance, one_tie, rtol=1e-14, atol=1e-300)
        for other in others:
            at = [whole.qid.tolist().index(qid) for qid in other.qid]
            np.testing.assert_array_equal(other.chance_per_query[name], chance[at], err_msg=name)
            np.testing.assert_array_equal(other.ideal_per_query[name], ideal[at], err_msg=name)


SIZES = pytest.mark.parametrize("n", [1, 7, 8, 9, 127, 128, 129, 1000, 70_001])


def values_of_metrics(n: int) -> Any:
    values = np.random.default_rng(n).lognormal(0, 5, (5, n))
    values[1, ::3] = values[2] = np.nan
    values[3, -1] = np.inf
    values[4] *= (-1) ** np.arange(n)
    return values


@SIZES
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("scale", [None, 1.0, 5e-324, 2.0**-1060, 2.0**1000], ids=str)
def test_means_are_exact_to_the_last_digit(
    monkeypatch: pytest.MonkeyPatch, n: int, n_threads: int, scale: float | None
) -> None:
    monkeypatch.setattr(native, "ROWS_WORTH_A_THREAD", 1)
    monkeypatch.setattr(native, "usable_processors", lambda: 8)
    values = values_of_metrics(n)
    share = np.random.default_rng(0).random(n).round(3)
    weight = None if scale is None else share if scale == 1 else np.ceil(share) * scale
    mean = native.means(values, weight, n_threads)
    np.testing.assert_array_equal(mean, native.means(values, weight))  # whatever the number of threads
    share = np.ones(n) if weight is None else weight / scale
    for row, of_row in zip(values, mean, strict=True):
        defined = ~np.isnan(row)
        total = math.fsum(share[defined])
        with np.errstate(invalid="ignore"):  # infinity times 0
            products = share[defined] * row[defined]
        expected = math.fsum(products) / total if total and not np.isnan(products).any() else np.nan
        size = math.fsum(np.abs(products)) / total if total else np.nan  # where terms cancel
        assert of_row == pytest.approx(expected, 1e-15, abs=1e-26 * size if math.isfinite(size) else 0, nan_ok=True)


@SIZES
def test_weights_of_1_change_no_digit(n: int) -> None:
    values = values_of_metrics(n)
    np.testing.assert_array_equal(native.means(values), native.means(values, np.ones(n)))


@SIZES
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_any_parts_are_within_one_unit_in_the_last_place(n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    values = values_of_metrics(n)[[0, 1, 2]]
    weight = rng.lognormal(0, 5, n) if weighted else None
    whole = native.means(values, weight)
    for n_parts in (1, 2, 5, 50):
        order, part = rng.permutation(n), np.sort(rng.integers(0, n_parts, n))
        shuffled = native.means(values[:, order], None if weight is None else weight[order])
        np.testing.assert_array_max_ulp(np.array(shuffled), np.array(whole), maxulp=1)
        chosen = [order[part == i] for i in range(n_parts)]  # some have no query
        sums = [native.sums_of_means(values[:, one], None if weight is None else weight[one]) for one in chosen]
        np.testing.assert_array_max_ulp(np.array(means_of_parts(np.array(sums))), np.array(whole), maxulp=1)


@pytest.mark.usefixtures("eager")
def test_errors_come_out_of_threads_as_they_are() -> None:
    X, y, qid = ltr.make_ranking(n_queries=80, random_state=0)
    for row in (0, 1, 17, len(y) - 1):
        score = X[:, 0].copy()
        score[row] = np.nan
        with pytest.raises(ltr.LtrValueError, match=rf"got nan at row {row} \(query \d+\) \(such rows: 1\)"):
            ltr.evaluate(y, score, qid=qid, n_threads=3)

    def fails(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
        raise ZeroDivisionError

    with pytest.raises(ltr.LtrValueError, match="fails, query .*ZeroDivisionError"):
        ltr.evaluate(y, X[:, 0], qid=qid, metrics=fails, n_threads=3)


def test_as_many_as_pay_and_as_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(native, "usable_processors", lambda: 8)
    assert [n_threads_for(n, None) for n in (10, 90_000, 100_000, 300_000, 10**8)] == [1, 1, 2, 6, 8]
    assert [n_threads_for(10**8, asked) for asked in (1, 3, np.int64(4), 100)] == [1, 3, 4, 8]
    assert n_threads_for(10, 4) == 1
    assert n_threads_for(100_000, 8) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
    assert n_threads_for(10**8, None) == 2
    assert n_threads_for(10**8, 3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert n_threads_for(10**8, None) == 8


def test_one_alone_in_a_thread_that_somebody_else_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(native, "usable_processors", lambda: 8)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(n_threads_for, 10**8, None).result() == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["fork", "spawn", "joblib"])
def test_one_alone_in_a_process_that_somebody_else_started(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "fork" and sys.platform == "win32":
        pytest.skip("Windows has no fork")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if kind == "joblib":
        with joblib.parallel_backend("loky", inner_max_num_threads=2):  # which joblib sets to 1 where there are 2 CPUs
            found = joblib.Parallel(n_jobs=2)(joblib.delayed(n_threads_for)(10**8, None) for _ in range(2))
    else:
        with multiprocessing.get_context(kind).Pool(2) as pool:
            found = pool.starmap(n_threads_for, [(10**8, None)] * 2)
    assert found == [1, 1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.usefixtures("eager")
def test_threads_after_a_fork() -> None:
    X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    options: dict[str, Any] = {"qid": qid, "n_threads": 2}
    here = ltr.evaluate(y, X[:, 0], **options)  # threads have run before the fork
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply_async(ltr.evaluate, (y, X[:, 0]), options).get(timeout=60)
    assert there.mean == here.mean


@pytest.mark.usefixtures("eager")
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no such call")
def test_the_processors_that_the_caller_may_use_stay_the_same() -> None:
    queries, before = ltr.Queries(np.arange(100) % 3, qid=np.arange(100) // 10), os.sched_getaffinity(0)
    for _ in range(2_000):  # some threads end before their starter goes on
        queries.evaluate(np.arange(100.0), "ndcg", n_threads=2)
    assert os.sched_getaffinity(0) == before
