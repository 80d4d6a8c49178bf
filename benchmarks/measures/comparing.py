"""The resampling of a comparison: seconds of a randomization test and of BCa intervals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import ltr_metrics as ltr
from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Row, slower
from benchmarks.ours import OURS
from benchmarks.shapes import equal_queries

METRICS = ("ndcg@10", "map", "mrr", "err@10")
WITHOUT = "t test and t interval"


def comparing(effort: Effort) -> Iterator[Row]:
    """Measure comparisons of two models by four metrics, against the same without resampling."""
    for n_queries in effort.compared_queries:
        data = equal_queries(n_queries, 10)
        queries = ltr.Queries(data.y, group=data.sizes)
        scores = {"base": data.scores, "new": data.scores + 0.1 * data.y}
        evaluations = {name: queries.evaluate(score, METRICS) for name, score in scores.items()}
        contenders = {
            OURS: partial(ltr.compare, evaluations, baseline="base"),
            WITHOUT: partial(ltr.compare, evaluations, baseline="base", test="t", interval="t"),
        }
        what = f"{n_queries:,} queries, 10,000 resamples, one pair, 4 metrics"
        about = About("compare", what, data.shape, data.n_rows, None)
        yield slower(about, side_by_side(contenders, effort.slow), OURS, WITHOUT)
