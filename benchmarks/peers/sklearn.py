"""scikit-learn's `ndcg_score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score

from benchmarks.peers.base import Peer
from benchmarks.shapes import Data


class ScikitLearn(Peer):
    """A loop over queries, for it takes queries of one length alone."""

    name = "scikit-learn"
    work = "ndcg_score(k=10) by query"
    metrics = ("ndcg@10",)
    convention = "sklearn"

    def prepare(self, data: Data, n_threads: int) -> Any:
        ends = data.sizes.cumsum().tolist()
        return [(data.y[None, e - n : e], data.scores[None, e - n : e]) for e, n in zip(ends, data.sizes, strict=True)]

    def run(self, prepared: Any) -> Any:
        return [ndcg_score(y, scores, k=10) for y, scores in prepared]

    def means(self, found: Any) -> list[float]:
        return [float(np.mean(found))]
