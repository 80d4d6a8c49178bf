"""What is measured of ours, by the public interface alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ltr_metrics as ltr
from benchmarks.shapes import Data

OURS = "ours"
FIVE = (*(f"ndcg_{gain}@{k}" for gain in ("exp", "lin") for k in (1, 3, 5, 10)), "map", "mrr", "err@10")  # "all five"


def evaluation(
    data: Data, metrics: Iterable[str] = FIVE, *, n_threads: int = 1, **options: Any
) -> Callable[[], ltr.Evaluation]:
    """Return one evaluation of queries that are prepared now."""
    queries = ltr.Queries(data.y, group=data.sizes)
    names = list(metrics)
    return lambda: queries.evaluate(data.scores, names, n_threads=n_threads, **options)


def first_result(data: Data, **rows: Any) -> Callable[[], ltr.Evaluation]:
    """Return an evaluation from arrays, preparation included.

    Queries are given by size unless ``qid`` is among the rows.
    """
    given = rows or {"group": data.sizes}
    return lambda: ltr.evaluate(data.y, data.scores, metrics=FIVE, n_threads=1, **given)
