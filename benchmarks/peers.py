"""The systems to compare with, one row each in `PEERS`, and how each is called.

A function prepares what outlives one evaluation: the peer's own objects. It returns a call that
evaluates, which is timed, and a function that reads the means off its result, in the order of our
metrics. The peer is imported there, because it need not be installed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import ltr_metrics as ltr
from benchmarks.clock import Call
from benchmarks.shapes import Data
from ltr_metrics._rows.words import ConventionName

Prepare = Callable[[Data, int], tuple[Call, Callable[[Any], list[float]]]]
CUTOFFS = [1, 3, 5, 10]
SAME = 1e-9  # means that differ by more are not rounding


def _lightgbm(data: Data, n_threads: int) -> Any:
    """Use a booster without trees, whose scores are the initial scores."""
    import lightgbm as lgb

    quiet = {"verbose": -1}
    feature = np.arange(data.n_rows, dtype=np.float64)[:, None]  # LightGBM wants one
    dataset = lgb.Dataset(feature, data.y, group=data.sizes, init_score=data.scores, params=quiet)
    params = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS, "num_threads": n_threads}
    booster = lgb.Booster(params | quiet, dataset)  # the latest booster sets the number of threads of all
    return booster.eval_train, lambda result: [value for _, _, value, *_ in result]


def _xgboost(data: Data, n_threads: int, metrics: tuple[str, ...] = ()) -> Any:
    """Use a booster without trees, whose scores are the base margin, in float32."""
    import xgboost as xgb

    feature = np.zeros((data.n_rows, 1), np.float32)
    matrix = xgb.DMatrix(feature, data.y, group=data.sizes, base_margin=data.scores, nthread=n_threads)
    params = {"objective": "rank:ndcg", "eval_metric": list(metrics or NDCG), "nthread": n_threads}
    booster = xgb.Booster(params, [matrix])
    return lambda: booster.eval(matrix), lambda result: [float(value) for value in re.findall(r"@\d+:(\S+)", result)]


def _catboost(data: Data, n_threads: int) -> Any:
    from catboost.utils import eval_metric

    names = ("NDCG:type=Exp;top=10", "NDCG:type=Base;top=10", "MAP", "MRR")
    qid = data.qid

    def run() -> Any:
        return [eval_metric(data.y, data.scores, name, group_id=qid, thread_count=n_threads) for name in names]

    return run, lambda result: [value for [value] in result]


def _ranx(data: Data, n_threads: int) -> Any:
    import ranx

    names = ["ndcg_burges@10", "ndcg@10", "map", "mrr"]
    qrels, ranking = ranx.Qrels(_by_query(data, data.y)), ranx.Run(_by_query(data, data.scores))

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba warns of a cast from uint64 to int64 in ranx
            return ranx.evaluate(qrels, ranking, names, threads=n_threads, save_results_in_run=False)

    return run, lambda result: [float(result[name]) for name in names]


def _pytrec_eval(data: Data, _n_threads: int) -> Any:
    """Return values by query, whose means are taken outside the clock."""
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(_by_query(data, data.y), {"ndcg_cut.10", "map", "recip_rank"})
    ranking = _by_query(data, data.scores)
    names = ("ndcg_cut_10", "map", "recip_rank")

    def means(result: Any) -> list[float]:
        return [float(np.mean([values[name] for values in result.values()])) for name in names]

    return lambda: evaluator.evaluate(ranking), means


def _ir_measures(data: Data, _n_threads: int) -> Any:
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]
    evaluator = ir_measures.evaluator(measures, _by_query(data, data.y))
    ranking = _by_query(data, data.scores)
    return lambda: evaluator.calc_aggregate(ranking), lambda result: [float(result[name]) for name in measures]


def _sklearn(data: Data, _n_threads: int) -> Any:
    """Loop over the queries, because `ndcg_score` takes only queries of one length."""
    from sklearn.metrics import ndcg_score

    ends = data.sizes.cumsum()[:-1]
    queries = list(zip(np.split(data.y[None], ends, axis=1), np.split(data.scores[None], ends, axis=1), strict=True))
    return lambda: [ndcg_score(y, scores, k=10) for y, scores in queries], lambda result: [float(np.mean(result))]


def _by_query(data: Data, values: Any) -> dict[str, dict[str, Any]]:
    """Return the values of each query's documents as TREC's tools want them."""
    rows = iter(zip(data.documents, values.tolist(), strict=True))
    return {f"q{query}": dict(next(rows) for _ in range(size)) for query, size in enumerate(data.sizes.tolist())}


class DifferentNumbersError(Exception):
    """A peer computes something else, so it is not timed."""


class Peer(NamedTuple):
    """A system that evaluates rankings too.

    For the metrics by our names, our `evaluate` gives the same numbers with the convention and the
    options that follow.
    """

    prepare: Prepare
    work: str  # in the peer's own words
    metrics: tuple[str, ...]
    convention: ConventionName | None
    no_relevant: float | None = None
    precision: type = float  # of its scores
    needs_ids: bool = False  # breaks ties by document id
    needs_binary: bool = False
    has_threads: bool = False  # and takes millions of rows in good time

    def ours(self, data: Data, n_threads: int = 1) -> Callable[[], ltr.Evaluation]:
        """Return our evaluation of the same metrics by the same rules."""
        queries = ltr.Queries(data.y, group=data.sizes, docid=data.documents if self.needs_ids else None)
        scores: Any = data.scores.astype(self.precision)
        options: Any = {"convention": self.convention, "no_relevant": self.no_relevant, "n_threads": n_threads}
        return lambda: queries.evaluate(scores, self.metrics, **options)

    def check(self, data: Data, means: list[float]) -> None:
        """Raise an error if the means differ from ours, because the time of something else would mean nothing."""
        ours = self.ours(data)()
        for name, theirs in zip(self.metrics, means, strict=True):
            if not abs(ours[name] - theirs) <= SAME:
                numbers = f"{name} is {theirs:.12f}, and ours is {ours[name]:.12f}"
                raise DifferentNumbersError(f"computes another number on {data.shape}: {numbers}")


NDCG, MAP = (tuple(f"{metric}@{k}" for k in CUTOFFS) for metric in ("ndcg", "map"))
OF_CATBOOST = ("ndcg_exp@10", "ndcg@10", "map", "mrr")
OF_RANX = ("ndcg_exp@10", "ndcg_lin@10", "map(denominator=relevant)", "mrr")
OF_TREC = ("ndcg@10", "map", "mrr")
XGB: Any = {"convention": "xgboost", "precision": np.float32, "has_threads": True}
TREC: Any = {"convention": "trec_eval", "precision": np.float32, "needs_ids": True}
PEERS = {
    "LightGBM": Peer(_lightgbm, "ndcg, map @1,3,5,10", NDCG + MAP, "lightgbm", has_threads=True),
    "XGBoost": Peer(_xgboost, "ndcg @1,3,5,10", NDCG, **XGB),
    "XGBoost MAP": Peer(partial(_xgboost, metrics=("map@10",)), "map@10", ("map@10",), **XGB, needs_binary=True),
    "CatBoost": Peer(_catboost, "NDCG exp, lin @10, MAP, MRR", OF_CATBOOST, "catboost"),
    "ranx": Peer(_ranx, "ndcg, ndcg_burges @10, map, mrr", OF_RANX, None, no_relevant=0),
    "pytrec_eval": Peer(_pytrec_eval, "ndcg_cut.10, map, recip_rank", OF_TREC, **TREC),
    "ir_measures": Peer(_ir_measures, "nDCG@10, AP, RR", OF_TREC, **TREC),
    "scikit-learn": Peer(_sklearn, "ndcg_score(k=10) by query", ("ndcg@10",), "sklearn"),
}
