"""ranx, by numba."""

from __future__ import annotations

import warnings
from typing import Any

import ranx

from benchmarks.peers.base import Peer
from benchmarks.peers.trec import judgements, run
from benchmarks.shapes import Data

THEIRS = {"ndcg_exp@10": "ndcg_burges@10", "ndcg_lin@10": "ndcg@10", "map(denominator=relevant)": "map", "mrr": "mrr"}


class Ranx(Peer):
    """Its first call in a new environment compiles for half a minute; later ones load what was compiled."""

    name = "ranx"
    work = "ndcg, ndcg_burges @10, map, mrr"
    metrics = tuple(THEIRS)
    no_relevant = 0

    def prepare(self, data: Data, n_threads: int) -> Any:
        return ranx.Qrels(judgements(data)), ranx.Run(run(data)), n_threads

    def run(self, prepared: Any) -> Any:
        qrels, scores, n_threads = prepared
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba's, of a cast from uint64 to int64 in ranx
            return ranx.evaluate(qrels, scores, list(THEIRS.values()), threads=n_threads, save_results_in_run=False)

    def means(self, found: Any) -> list[float]:
        return [float(found[name]) for name in THEIRS.values()]
