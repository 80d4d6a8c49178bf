"""XGBoost's own metrics, in C++."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import xgboost as xgb

from benchmarks.peers.base import Peer
from benchmarks.shapes import Data


class XGBoost(Peer):
    """A booster without trees: its scores are the base margin, which is ours in float32."""

    name = "XGBoost"
    work = "ndcg @1,3,5,10"
    metrics: ClassVar[tuple[str, ...]] = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10")
    convention = "xgboost"
    precision = np.float32
    threaded = True

    def prepare(self, data: Data, n_threads: int) -> Any:
        feature = np.zeros((data.n_rows, 1), np.float32)
        matrix = xgb.DMatrix(feature, data.y, group=data.sizes, base_margin=data.scores, nthread=n_threads)
        params = {"objective": "rank:ndcg", "eval_metric": list(self.metrics), "nthread": n_threads}
        return xgb.Booster(params, [matrix]), matrix

    def run(self, prepared: Any) -> Any:
        booster, matrix = prepared
        return booster.eval(matrix)

    def means(self, found: Any) -> list[float]:
        values = {match[1]: float(match[2]) for match in re.finditer(r"eval-([\w@]+):(\S+)", found)}
        return [values[name] for name in self.metrics]


class XGBoostMAP(XGBoost):
    """Its MAP, which wants binary labels."""

    work = "map@10"
    metrics = ("map@10",)
    binary = True
