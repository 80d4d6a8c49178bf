"""LightGBM's own metrics, in C++."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.peers.base import Peer
from benchmarks.shapes import Data

CUTOFFS = [1, 3, 5, 10]


class LightGBM(Peer):
    """A booster without trees: its scores are the initial ones, which are ours."""

    name = "LightGBM"
    work = "ndcg, map @1,3,5,10"
    metrics = tuple(f"{metric}@{k}" for metric in ("ndcg", "map") for k in CUTOFFS)
    convention = "lightgbm"
    threaded = True

    def prepare(self, data: Data, n_threads: int) -> Any:
        quiet = {"verbose": -1}
        feature = np.arange(data.n_rows, dtype=np.float64)[:, None]  # LightGBM wants one
        dataset = lgb.Dataset(feature, data.y, group=data.sizes, init_score=data.scores, params=quiet)
        params = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS, "num_threads": n_threads}
        return lgb.Booster(params | quiet, dataset)  # the last one that is made sets the threads of all

    def run(self, prepared: Any) -> Any:
        return prepared.eval_train()

    def means(self, found: Any) -> list[float]:
        values = {name: value for _, name, value, *_ in found}
        return [values[name] for name in self.metrics]
