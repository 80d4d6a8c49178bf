"""pytrec_eval: trec_eval, in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytrec_eval

from benchmarks.peers.trec import TrecEval, judgements, run
from benchmarks.shapes import Data

THEIRS = {"ndcg_cut_10": "ndcg_cut.10", "map": "map", "recip_rank": "recip_rank"}


class PytrecEval(TrecEval):
    """Values by query; the means are taken outside the clock."""

    name = "pytrec_eval"
    work = "ndcg_cut.10, map, recip_rank"

    def prepare(self, data: Data, n_threads: int) -> Any:
        return pytrec_eval.RelevanceEvaluator(judgements(data), set(THEIRS.values())), run(data)

    def run(self, prepared: Any) -> Any:
        evaluator, scores = prepared
        return evaluator.evaluate(scores)

    def means(self, found: Any) -> list[float]:
        return [float(np.mean([of_query[name] for of_query in found.values()])) for name in THEIRS]
