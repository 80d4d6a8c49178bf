"""The resampling of a comparison: seconds of a randomization test and of BCa intervals."""

from __future__ import annotations

from collections.abc import Iterator

import ltr_metrics as ltr
from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Row, slower
from benchmarks.ours import OURS
from benchmarks.shapes import equal_queries

METRICS = ("ndcg@10", "map", "mrr", "err@10")
WITHOUT = "t test and t interval"


def comparing(effort: Effort) -> Iterator[Row]:
    """Measure a comparison of two models by four metrics, against one without resampling."""
    data = equal_queries(effort.many_queries or effort.queries, 10)
    queries = ltr.Queries(data.y, group=data.sizes)
    scores = {"base": data.scores, "new": data.scores + 0.1 * data.y}
    evaluations = {name: queries.evaluate(score, METRICS) for name, score in scores.items()}
    contenders = {
        OURS: lambda: ltr.compare(evaluations, baseline="base"),
        WITHOUT: lambda: ltr.compare(evaluations, baseline="base", test="t", interval="t"),
    }
    about = About("compare", "10,000 resamples, one pair, 4 metrics", data.shape, data.n_rows, None)
    yield slower(about, side_by_side(contenders, effort.slow), OURS, WITHOUT)
