"""ir_measures."""

from __future__ import annotations

from typing import Any

import ir_measures

from benchmarks.peers.trec import TrecEval, judgements, run
from benchmarks.shapes import Data

MEASURES = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]


class IrMeasures(TrecEval):
    """It asks pytrec_eval for these measures."""

    name = "ir_measures"
    work = "nDCG@10, AP, RR"

    def prepare(self, data: Data, n_threads: int) -> Any:
        return ir_measures.evaluator(MEASURES, judgements(data)), run(data)

    def run(self, prepared: Any) -> Any:
        evaluator, scores = prepared
        return evaluator.calc_aggregate(scores)

    def means(self, found: Any) -> list[float]:
        return [float(found[measure]) for measure in MEASURES]
