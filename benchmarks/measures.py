"""What is measured, by the name that ``--only`` takes."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import ltr_metrics as ltr
from benchmarks import shapes
from benchmarks.clock import Call, Pace, bare_sort, side_by_side
from benchmarks.machine import n_cores
from benchmarks.peers import CUTOFFS, PEERS
from benchmarks.results import ALL_FIVE, EXTREMES, FIRST_RESULT, LIMIT, PEER, SAME_METRICS, Row, quartiles
from benchmarks.shapes import ROOT, Data, features, mslr
from benchmarks.shapes import FloatArray as Seconds

FIVE = (*(f"ndcg_{gain}@{k}" for gain in ("exp", "lin") for k in CUTOFFS), "map", "mrr", "err@10")  # "all five"
ON_REAL_DATA = ("LightGBM", "XGBoost", "CatBoost", "scikit-learn")  # fix the order of ties without document ids
ROUNDS = 50  # of a training
NOTHING, OWN, IDLE = "nothing", "its own", "a feval that does nothing"


class Effort(NamedTuple):
    """How much is measured, and how often."""

    name: str
    pace: Pace
    slow: Pace  # of trainings, and of what makes dictionaries of all rows
    queries: int  # of the MSLR shape
    many_queries: int | None  # for peers that take millions of rows
    rows: tuple[float, ...]  # of the MSLR shape, for growth and memory
    documents_of_one_query: int
    tiny_queries: int
    compared_queries: tuple[int, ...]
    training_queries: int
    threads: tuple[int, ...] = (1, 2)
    training_threads: tuple[int, ...] = (1, 2)


PACES = Pace(5, at_least=9), Pace(20, at_least=7, warm=False)
QUICK_PACES = Pace(0.3, at_least=2), Pace(0.5, at_least=2, warm=False)
FULL = Effort("full", *PACES, 2_000, 20_000, (1e5, 1e6, 1e7), 10**6, 10**6, (20_000, 156_000), 2_000)
QUICK = Effort("quick", *QUICK_PACES, 2_000, None, (1e5, 1e6), 10**6, 10**5, (2_000, 10_000), 500, (1, 2), (1,))
Found = Iterator[Row]


def evaluation(data: Data, n_threads: int = 1) -> Callable[[], ltr.Evaluation]:
    """Return one evaluation of queries that are prepared now."""
    queries = ltr.Queries(data.y, group=data.sizes)
    return lambda: queries.evaluate(data.scores, FIVE, n_threads=n_threads)


def first_result(data: Data, **rows: Any) -> Callable[[], ltr.Evaluation]:
    """Return an evaluation from arrays, preparation included, with sizes of queries unless ``qid`` is given."""
    return lambda: ltr.evaluate(data.y, data.scores, metrics=FIVE, n_threads=1, **rows or {"group": data.sizes})


def row(measure: str, what: str, peer: str, data: Data, ours: Seconds, other: Seconds, figure: str, **rest: Any) -> Row:
    """Return a row of seconds and of their ratio, with the rest of its fields."""
    ratio = other / ours if figure == PEER else ours / other
    about = measure, what, peer, data.shape, data.n_rows
    return Row(*about, quartiles(ours), quartiles(other), figure, quartiles(ratio), **rest)


def against_limit(
    measure: str, limit: str, data: Data, calls: Mapping[str, Call], pace: Pace, threads: int | None = 1
) -> Found:
    """Measure several of ours side by side with one lower limit, which is among the calls."""
    times = side_by_side(calls, pace)
    for what in [what for what in calls if what != limit]:
        yield row(measure, what, limit, data, times[what], times[limit], LIMIT, threads=threads)


def on_mslr(name: str, effort: Effort) -> Found:
    """Measure a peer on the MSLR shape."""
    peer = PEERS[name]
    for n_queries in filter(None, (effort.queries, effort.many_queries if peer.has_threads else None)):
        data = shapes.binary(mslr(n_queries)) if peer.needs_binary else mslr(n_queries)
        is_small = n_queries == effort.queries
        for n_threads in usable(effort.threads) if peer.has_threads else [1]:
            slow = effort.slow if is_small and n_threads == 1 else None
            yield from against(name, name, data, effort.pace, n_threads, slow)


def on_real_data(name: str, effort: Effort) -> Found:
    """Measure MQ2008: short queries, ties, many queries without a relevant document."""
    yield from against(name, "MQ2008", shapes.mq2008(), effort.pace)


def on_short_lists(effort: Effort) -> Found:
    """Measure short queries without ties in turn with LightGBM."""
    n = effort.many_queries or effort.queries
    yield from in_turn(
        "short", effort, shapes.tiny_queries(5 * n), shapes.equal_queries(5 * n // 2, 5), shapes.equal_queries(n, 20)
    )


def on_leaves(effort: Effort) -> Found:
    """Measure the scores of a tree of 31 leaves in turn with LightGBM."""
    n = effort.many_queries or effort.queries
    lists = mslr(effort.queries), shapes.tiny_queries(5 * n), shapes.equal_queries(n, 20)
    yield from in_turn("leaves", effort, *map(shapes.with_leaves, lists))


def in_turn(measure: str, effort: Effort, *shapes_of_data: Data) -> Found:
    """Measure in turn with LightGBM, so that neither finds its caches warm."""
    for data, n_threads in itertools.product(shapes_of_data, usable(effort.threads)):
        yield from against("LightGBM", measure, data, effort.pace._replace(warm=False), n_threads)


def against(name: str, measure: str, data: Data, pace: Pace, n_threads: int = 1, slow: Pace | None = None) -> Found:
    """Measure all five of ours and the same metrics; with a slow pace, also the first result from arrays."""
    peer = PEERS[name]
    run, means = peer.prepare(data, n_threads)
    peer.check(data, means(run()))
    calls = {"five": evaluation(data, n_threads), "same": peer.ours(data, n_threads), "peer": run}
    times = side_by_side(calls, pace)
    compared = partial(row, measure, peer=f"{name}: {peer.work}", data=data, figure=PEER, threads=n_threads)
    yield compared(ALL_FIVE, ours=times["five"], other=times["peer"])
    yield compared(SAME_METRICS, ours=times["same"], other=times["peer"])
    if slow:
        calls = {"ours": first_result(data), "peer": lambda: peer.prepare(data, n_threads)[0]()}
        times = side_by_side(calls, slow)
        yield compared(FIRST_RESULT, ours=times["ours"], other=times["peer"])


def usable(threads: Iterable[int]) -> list[int]:
    """Return the numbers of threads for which there are cores."""
    return [n for n in threads if n <= n_cores()]


def beside_the_sort(data: Data, calls: Mapping[str, Call], pace: Pace) -> dict[str, Seconds]:
    """Return the seconds of the calls, and of "np.sort" of as many words."""
    sort, refill = bare_sort(data.sizes)
    return side_by_side({**calls, "np.sort": sort}, pace, {"np.sort": refill})


def ties(effort: Effort) -> Found:
    """Measure heavy ties against the same data without."""
    plain = mslr(effort.queries)
    for shape in (shapes.with_leaves, _with_scores_of_a_tree):
        data = shape(plain)
        calls = {"without ties": evaluation(plain), 'heavy ties, ties="mean"': evaluation(data)}
        yield from against_limit("ties", "without ties", data, calls, effort.pace)


def _with_scores_of_a_tree(data: Data) -> Data:
    import lightgbm as lgb

    X = features(data)
    params = {"objective": "regression", "num_leaves": 31, "num_threads": 1, "verbose": -1}
    scores = np.asarray(lgb.train(params, lgb.Dataset(X, data.y, params={"verbose": -1}), 1).predict(X))
    return replace(data, shape=f"{data.shape}, a tree of {len(np.unique(scores))} leaves", scores=scores)


def training(host: str, effort: Effort) -> Found:
    """Measure the seconds that metrics add to a training: ours, and the host's own.

    The training set has a tenth of the queries that are evaluated, so that the difference of two
    trainings is not lost in their noise. All trainings have the validation set, so that all pay for
    its predictions.
    """
    trainings, work = TRAININGS[host]
    small, data = mslr(effort.training_queries // 10), mslr(effort.training_queries)
    for n_threads in usable(effort.training_threads):
        times = side_by_side(trainings(small, data, n_threads), effort.slow)
        without = times.pop(NOTHING)
        own = times.pop(OWN) - without
        for name, seconds in times.items():
            what = f"added to {ROUNDS} rounds by {name}{'' if name == IDLE else '(all five)'}"
            about = host, what, f"{OWN}: {work}", data, seconds - without, own, PEER
            yield row(*about, threads=n_threads)


def _lightgbm_trainings(small: Data, data: Data, n_threads: int) -> dict[str, Call]:
    import lightgbm as lgb

    from ltr_metrics.lightgbm import feval

    quiet: dict[str, Any] = {"verbose": -1}
    train_set = lgb.Dataset(features(small), small.y, group=small.sizes, params=quiet)
    valid = lgb.Dataset(features(data), data.y, group=data.sizes, reference=train_set, params=quiet)
    params = quiet | {"objective": "lambdarank", "num_threads": n_threads, "eval_at": CUTOFFS}

    def train(metric: Any, feval: Any = None) -> Any:
        return lgb.train(params | {"metric": metric}, train_set, ROUNDS, valid_sets=[valid], feval=feval)

    return {
        NOTHING: partial(train, "None"),
        OWN: partial(train, ["ndcg", "map"]),
        "feval": lambda: train("None", feval(FIVE)),
        IDLE: lambda: train("None", lambda _scores, _data: ("nothing", 0.0, True)),  # LightGBM copies scores for it
    }


def _xgboost_trainings(small: Data, data: Data, n_threads: int) -> dict[str, Call]:
    import xgboost as xgb

    from ltr_metrics.xgboost import Monitor, custom_metric

    X = features(data)
    train_set = xgb.DMatrix(features(small), small.y, group=small.sizes, nthread=n_threads)
    evals = [(xgb.DMatrix(X, data.y, group=data.sizes, nthread=n_threads), "valid")]
    params = {"objective": "rank:ndcg", "nthread": n_threads}
    silent = params | {"disable_default_eval_metric": True}

    def train(params: dict[str, Any], **options: Any) -> Any:
        return xgb.train(params, train_set, ROUNDS, verbose_eval=False, **options)

    return {
        NOTHING: partial(train, silent, evals=evals),
        OWN: partial(train, params | {"eval_metric": [f"ndcg@{k}" for k in CUTOFFS]}, evals=evals),
        "custom_metric": lambda: train(silent, evals=evals, custom_metric=custom_metric(FIVE)),
        "Monitor": lambda: train(silent, callbacks=[Monitor(FIVE, X, data.y, group=data.sizes)]),  # predicts itself
    }


TRAININGS: Mapping[str, tuple[Callable[[Data, Data, int], dict[str, Call]], str]] = {
    "lgb.train": (_lightgbm_trainings, "ndcg, map @1,3,5,10"),
    "xgb.train": (_xgboost_trainings, "ndcg @1,3,5,10"),
}


def memory(effort: Effort) -> Found:
    """Measure the two largest numbers of rows, and what each further row adds."""

    def row(what: str, data: Data, value: float) -> Row:
        one = (value, value, value)
        about = "memory", what, "", data.shape, data.n_rows
        return Row(*about, one, None, "ours", one, unit="B/row")

    small, large = (shapes.mslr_of(n) for n in effort.rows[-2:])
    peaks = []
    for data in (small, large):
        peak, kept = memory_of(data)
        peaks.append(peak)
        yield row("memory at the peak, a row", data, peak / data.n_rows)
        yield row("memory that stays, a row", data, kept / data.n_rows)
    slope = (peaks[1] - peaks[0]) / (large.n_rows - small.n_rows)
    yield row(f"memory at the peak, each row beyond {small.n_rows:,}", large, slope)


def memory_of(data: Data) -> tuple[int, int]:
    """Return the bytes of prepared queries and one evaluation at the peak, and those that stay.

    NumPy reports its memory to tracemalloc. The caller's arrays are not counted.
    """
    evaluation(mslr(10))()  # what is made only once is no memory of these rows
    gc.collect()
    tracemalloc.start()
    try:
        queries = ltr.Queries(data.y, group=data.sizes)
        result = queries.evaluate(data.scores, FIVE, n_threads=1)
        kept, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return peak, kept


def growth(effort: Effort) -> Found:
    """Measure the time per row in each shape, then the slowest shape against the fastest."""
    rows = [_per_row(shapes.mslr_of(n), effort.pace) for n in effort.rows]  # one shape in memory at a time
    rows.append(_per_row(shapes.one_query(effort.documents_of_one_query), effort.pace))
    rows.append(_per_row(shapes.tiny_queries(effort.tiny_queries), effort.pace))
    yield from rows
    n_rows = max(one.rows or 0 for one in rows)
    for who, of_shapes in (("ours", [one.ours for one in rows]), ("np.sort", [one.other for one in rows if one.other])):
        slow, fast = (choose(of_shapes, key=lambda one: one[1]) for choose in (max, min))
        ratio = (slow[0] / fast[2], slow[1] / fast[1], slow[2] / fast[0])
        about = "growth", f"a row, slowest shape, {who}", "fastest shape", "all shapes", n_rows, slow, fast
        yield Row(*about, EXTREMES, ratio, unit="s/row")


def _per_row(data: Data, pace: Pace) -> Row:
    times = beside_the_sort(data, {"ours": evaluation(data)}, pace)
    ours, sort = times["ours"] / data.n_rows, times["np.sort"] / data.n_rows
    return row("growth", "all five, a row", "np.sort", data, ours, sort, LIMIT, unit="s/row")


def first(effort: Effort) -> Found:
    """Measure `evaluate` from arrays: kinds of ids against sizes, and short queries against prepared ones."""
    data = mslr(effort.queries)
    text = np.char.add("query-", data.qid.astype(str))
    order = np.random.default_rng(0).permutation(data.n_rows)
    shuffled = replace(data, y=data.y[order], scores=data.scores[order])
    kinds = {
        "sizes": first_result(data),
        "first result, qid, whole numbers": first_result(data, qid=data.qid),
        "first result, qid, whole numbers, rows shuffled": first_result(shuffled, qid=data.qid[order]),
        "first result, qid, text": first_result(data, qid=text),
        "first result, qid, text as Python objects": first_result(data, qid=text.astype(object)),
    }
    yield from against_limit("first", "sizes", data, kinds, effort.slow)
    short = shapes.tiny_queries(5 * (effort.many_queries or effort.queries))
    calls = {"prepared": evaluation(short), "first result, qid, whole numbers": first_result(short, qid=short.qid)}
    yield from against_limit("first", "prepared", short, calls, effort.slow)


def imports(effort: Effort) -> Found:
    """Measure a new Python that imports ltr_metrics against one that imports NumPy."""
    times = side_by_side({"numpy": _python("import numpy"), "ours": _python("import ltr_metrics")}, effort.slow)
    ours, numpy = times["ours"], times["numpy"]
    about = "import", "import, a new Python each", "numpy", "", None, quartiles(ours), quartiles(numpy), "ours - other"
    yield Row(*about, quartiles(ours - numpy), threads=None)


def _python(code: str) -> Call:
    # Otherwise each start would compile the modules again, which are not in site-packages.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def comparing(effort: Effort) -> Found:
    """Measure the randomization test of two models, which draws signs, against the t test, which does not."""
    for n_queries in effort.compared_queries:
        data = shapes.equal_queries(n_queries, 10)
        queries = ltr.Queries(data.y, group=data.sizes)
        scores = {"base": data.scores, "new": data.scores + 0.1 * data.y}
        models = {name: queries.evaluate(score, ("ndcg@10", "map", "mrr", "err@10")) for name, score in scores.items()}
        compare = partial(ltr.compare, models, baseline="base")
        limit, what = "t test", f"{n_queries:,} queries, 10,000 resamples, one pair, 4 metrics"
        calls = {limit: partial(compare, test="t"), what: compare}
        yield from against_limit("compare", limit, data, calls, effort.slow, threads=None)


MEASURES: Mapping[str, list[Callable[[Effort], Found]]] = {
    "import": [imports],  # first, before other measures have warmed the disk's cache with their own imports
    **{name: [partial(on_mslr, name)] for name in PEERS},
    "MQ2008": [partial(on_real_data, name) for name in ON_REAL_DATA],
    "short": [on_short_lists],
    "leaves": [on_leaves],
    "ties": [ties],
    **{host: [partial(training, host)] for host in TRAININGS},
    "memory": [memory],
    "growth": [growth],
    "first": [first],
    "compare": [comparing],
}
