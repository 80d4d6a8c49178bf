"""Ours against what bounds it: the bare sort, the same data without ties, all five against one, float32 scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.bare_sort import BareSort
from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Missing, Row, slower
from benchmarks.ours import FIVE, OURS, evaluation
from benchmarks.shapes import Data, features, mslr, with_leaves
from benchmarks.targets import TARGETS

SORT = "np.sort"


def bare_sort(effort: Effort) -> Iterator[Row]:
    """Measure all five against the sort of as many words."""
    for n_queries in filter(None, (effort.queries, effort.many_queries)):
        data = mslr(n_queries)
        sort = BareSort(data.sizes)
        times = side_by_side({OURS: evaluation(data), SORT: sort.sort}, effort.pace, {SORT: sort.refill})
        about = About("sort", "all five; sort of as many words", data.shape, data.n_rows, 1)
        yield slower(about, times, OURS, SORT, TARGETS["bare sort"])


def ties(effort: Effort) -> Iterator[Row | Missing]:
    """Measure heavy ties under ties="mean" against the same data without."""
    plain = mslr(effort.queries)
    tied = [with_leaves(plain), _with_scores_of_a_tree(plain)]
    for data in tied:
        if isinstance(data, Missing):
            yield data
            continue
        times = side_by_side({OURS: evaluation(data), "without ties": evaluation(plain)}, effort.pace)
        about = About("ties", 'heavy ties, ties="mean"', data.shape, data.n_rows, 1)
        yield slower(about, times, OURS, "without ties", TARGETS["ties"])


def _with_scores_of_a_tree(data: Data) -> Data | Missing:
    try:
        import lightgbm as lgb
    except ModuleNotFoundError:
        return Missing("ties of a tree", "LightGBM is not installed: pip install lightgbm")
    X = features(data)
    params = {"objective": "regression", "num_leaves": 31, "num_threads": 1, "verbose": -1}
    scores = lgb.train(params, lgb.Dataset(X, data.y, params={"verbose": -1}), 1).predict(X)
    return data.replace(shape=f"{data.shape}, a tree of {len(np.unique(scores))} leaves", scores=np.asarray(scores))


def alone(effort: Effort) -> Iterator[Row]:
    """Measure what is not asked for and so should not cost: parts of all five against all five."""
    data = mslr(effort.queries)
    parts = {
        "ndcg@10": ("ndcg@10",),
        "ndcg_exp @1,3,5,10": tuple(name for name in FIVE if name.startswith("ndcg_exp")),
        "ndcg_lin @1,3,5,10": tuple(name for name in FIVE if name.startswith("ndcg_lin")),
        "map": ("map",),
        "mrr": ("mrr",),
        "err@10": ("err@10",),
    }
    contenders = {name: evaluation(data, metrics) for name, metrics in parts.items()}
    times = side_by_side({"all five": evaluation(data)} | contenders, effort.pace)
    for name in parts:
        yield slower(About("alone", f"{name} alone", data.shape, data.n_rows, 1), times, name, "all five")


def single_precision(effort: Effort) -> Iterator[Row]:
    """Measure float32 scores, as XGBoost gives them, against float64."""
    data = mslr(effort.queries)
    narrow = data.replace(scores=data.scores.astype(np.float32))
    times = side_by_side({OURS: evaluation(narrow), "float64": evaluation(data)}, effort.pace)
    yield slower(About("float32", "float32 scores", narrow.shape, data.n_rows, 1), times, OURS, "float64")
