"""The rank of every row under one score vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Block, blocks_of
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, as_flags, as_numbers
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.sorting import sort_documents
from ltr_metrics.errors import LtrValueError


class RowRanks(NamedTuple):
    """Where a ranking puts each row of the input, counted from 1; 0 for a row that has no rank."""

    rank: IntArray  # where equal scores stand in input order
    first: IntArray  # the ranks that equal scores leave open: from this one
    last: IntArray  # to this one

    def within(self, k: int) -> BoolArray:
        """Whether a row is among the first k, equal scores in input order."""
        return (self.rank > 0) & (self.rank <= k)

    def tied(self) -> BoolArray:
        """Whether a row shares its score with another one of its query."""
        return self.first < self.last

    def tied_across(self, k: int) -> BoolArray:
        """Whether some of the rows with this row's score are among the first k, and some are not."""
        return (self.first <= k) & (self.last > k)

    def expected(self) -> FloatArray:
        """Mean rank over all orders of equal scores; infinite for a row that has no rank."""
        return np.where(self.rank > 0, (self.first + self.last) / 2, np.inf)


def rank_rows(queries: LabelledQueries, scores: Any, name: str, retrieved: Any = None) -> RowRanks:
    """Rank the rows under scores that messages call ``name``, or those of them that the option ``retrieved_<name>`` says are ranked."""
    queries.refuse_other_index(name, scores)
    scores = np.ascontiguousarray(as_numbers(scores, name, queries.n_rows))
    if retrieved is not None:
        queries = _of_ranking(queries, as_flags(retrieved, f"retrieved_{name}", queries.n_rows), f"retrieved_{name}")
    _refuse_nan(queries, scores, name)
    rank, first, last = (np.zeros(queries.n_rows, dtype=np.intp) for _ in range(3))
    for block in blocks_of(queries):
        rows, query, column = _ranked_rows(block, scores)
        of_rows = scores[rows]
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = (query[1:] != query[:-1]) | (of_rows[1:] != of_rows[:-1])
        begin = np.flatnonzero(begins)
        size = np.diff(begin, append=len(rows))
        rank[rows] = column + 1
        first[rows] = np.repeat(column[begin] + 1, size)
        last[rows] = np.repeat(column[begin] + size, size)
    return RowRanks(rank, first, last)


def _of_ranking(queries: LabelledQueries, retrieved: BoolArray, name: str) -> LabelledQueries:
    """Return the same queries, without their labels, of which a ranking has some documents alone."""
    retrieved = retrieved if queries.retrieved is None else retrieved & queries.retrieved
    if not retrieved.any():
        raise LtrValueError(f"{name} is False in every row: there is no ranking to compare.")
    found = LabelledQueries(np.zeros(queries.n_rows), qid=queries.query_of_rows(), retrieved=retrieved)
    found.qid = queries.qid  # by which messages name them
    return found


def _ranked_rows(block: Block, scores: AnyArray) -> tuple[IntArray, IntArray, IntArray]:
    """List the ranked rows of a block, query after query and by rank, with their cells."""
    found = sort_documents(block, scores, "stable")
    query, column = np.nonzero(np.arange(block.width) < block.n_ranked[:, None])
    return found.rows(query, column), query, column


def _refuse_nan(queries: LabelledQueries, scores: AnyArray, name: str) -> None:
    bad = np.isnan(scores) if queries.retrieved is None else np.isnan(scores) & queries.retrieved
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(
            f"{name} must not be NaN: got nan at {queries.where(row)}, {int(bad.sum())} in all. A NaN has no rank; find out why the "
            f"model gave it, or pass retrieved_{name} with False for the row."
        )
