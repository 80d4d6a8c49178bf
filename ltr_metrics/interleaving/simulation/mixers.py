"""The rankings of many queries as flat arrays, and what mixes them: here any method, one impression after the other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.interleaving.method import Method


@dataclass(frozen=True, eq=False)
class RankingArrays:
    """The rankings of all rankers on all queries.

    Attributes
    ----------
    rank : ndarray of int of shape (n_rankers, n_documents)
        Rank of each document, from 1. The documents of a query are adjacent.
    sizes : ndarray of int of shape (n_queries,)
        Number of documents of each query, at least one.
    grade : ndarray of int of shape (n_documents,)
    row : ndarray of int of shape (n_documents,)
        Row of each document in the data.
    length : int
        Maximum number of documents in a list.
    """

    rank: IntArray
    sizes: IntArray
    grade: IntArray
    row: IntArray
    length: int

    @classmethod
    def from_scores(
        cls, queries: Queries, scores: list[AnyArray], length: int, tie_break: AnyArray | None
    ) -> RankingArrays:
        """Rank the retrieved documents by each model's scores.

        Ties are ordered by ascending ``tie_break``, or by row without it.
        """
        rows = queries.rows_in_query_order()
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        if queries.retrieved is not None:
            retrieved = queries.retrieved[rows]
            rows, query = rows[retrieved], query[retrieved]
        sizes = np.bincount(query)
        sizes = sizes[sizes > 0]
        rank_of_order = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank = np.empty((len(scores), len(rows)), dtype=np.intp)
        second = () if tie_break is None else (tie_break[rows],)
        for model_rank, score in zip(rank, scores, strict=True):
            model_rank[np.lexsort((*second, -score[rows], query))] = rank_of_order
        grade = np.concatenate(([0.0], queries.grades))[queries.grade_index[rows]].astype(np.intp)
        return cls(rank, sizes, grade, rows, length)

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def starts(self) -> IntArray:
        """Offset of the first document of each query."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def n_shown(self) -> IntArray:
        """Number of documents in the lists of each query."""
        return np.minimum(self.sizes, self.length)


class ShownLists(NamedTuple):
    """The lists of many impressions, by slot, so that a step for all impressions is contiguous.

    Attributes
    ----------
    documents : ndarray of int of shape (length, n_impressions)
        Indices of the documents of a `Candidates`. The last index, which is not a document, fills the
        slots of a query that has no more documents.
    teams : ndarray of int of shape (length, n_impressions), or None
        The ranker that added each document.
    """

    documents: IntArray
    teams: AnyArray | None = None


class OneByOne:
    """One method object per query, built when the query is first drawn. Its credit must not need teams."""

    uses_threads = False  # this is Python code, which runs one thread at a time, and it collects warnings

    def __init__(self, rankings: RankingArrays, method: type[Method], options: dict[str, Any]) -> None:
        self._rankings, self._method, self._options = rankings, method, options
        self.grade, self.warnings = np.append(rankings.grade, -1), list[str]()
        self._of_query = cache(self._build)

    def _build(self, query: int) -> Method:
        start, size = int(self._rankings.starts[query]), int(self._rankings.sizes[query])
        rankings = start + np.argsort(self._rankings.rank[:, start : start + size], axis=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            method = self._method(rankings, length=self._rankings.length, **self._options)
        self.warnings += [str(warning.message) for warning in caught]
        return method

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        length = int(self._rankings.n_shown.max())
        documents = np.full((length, len(query)), len(self.grade) - 1, dtype=np.intp)
        for impression, one in enumerate(query.tolist()):
            shown = self._of_query(one).mix(rng).documents
            documents[: len(shown), impression] = np.array(shown)
        return ShownLists(documents)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.zeros((len(self._rankings), len(query)))
        n_shown = (shown.documents < len(self.grade) - 1).sum(axis=0)
        for impression in np.flatnonzero(clicked.any(axis=0)).tolist():
            documents = shown.documents[: n_shown[impression], impression].tolist()
            slots = np.flatnonzero(clicked[:, impression])
            credit[:, impression] = self._of_query(int(query[impression])).credit(documents, slots)
        return credit
