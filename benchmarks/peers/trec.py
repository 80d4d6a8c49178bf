"""What the peers have in common that take TREC's view: judgements and runs as dictionaries of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

import ltr_metrics as ltr
from benchmarks.peers.base import Peer
from benchmarks.shapes import Data

ByQuery = dict[str, dict[str, Any]]


def judgements(data: Data) -> ByQuery:
    """Return the grade of each document by query."""
    return dict(_by_query(data, data.y.tolist()))


def run(data: Data) -> ByQuery:
    """Return the score of each document by query."""
    return dict(_by_query(data, data.scores.tolist()))


def _by_query(data: Data, values: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    sizes = data.sizes.tolist()
    for query, (end, size) in enumerate(zip(accumulate(sizes), sizes, strict=True)):
        rows = slice(end - size, end)
        yield f"q{query}", dict(zip(data.documents[rows], values[rows], strict=True))


class TrecEval(Peer):
    """A peer that computes by trec_eval: scores in float32, ties by document id."""

    metrics = ("ndcg@10", "map", "mrr")
    convention = "trec_eval"
    precision = np.float32

    def queries(self, data: Data) -> ltr.Queries:
        return ltr.Queries(data.y, group=data.sizes, docid=data.documents)
