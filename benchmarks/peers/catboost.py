"""CatBoost's `eval_metric`, in C++."""

from __future__ import annotations

from typing import Any

from catboost.utils import eval_metric

from benchmarks.peers.base import Peer
from benchmarks.shapes import Data

THEIRS = {"ndcg_exp@10": "NDCG:type=Exp;top=10", "ndcg@10": "NDCG:type=Base;top=10", "map": "MAP", "mrr": "MRR"}


class CatBoost(Peer):
    """One metric a call, straight from arrays."""

    name = "CatBoost"
    work = "NDCG exp, lin @10, MAP, MRR"
    metrics = tuple(THEIRS)
    convention = "catboost"

    def prepare(self, data: Data, n_threads: int) -> Any:
        return data, data.qid, n_threads

    def run(self, prepared: Any) -> Any:
        data, qid, n_threads = prepared
        return [
            eval_metric(data.y, data.scores, theirs, group_id=qid, thread_count=n_threads) for theirs in THEIRS.values()
        ]

    def means(self, found: Any) -> list[float]:
        return [value for [value] in found]
