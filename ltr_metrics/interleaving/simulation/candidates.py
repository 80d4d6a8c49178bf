"""The rankings of many queries as flat arrays, for methods that mix many impressions at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.evaluation.evaluate import Queries


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
        second = np.arange(len(rows)) if tie_break is None else tie_break[rows]
        for model_rank, score in zip(rank, scores, strict=True):
            model_rank[np.lexsort((second, -score[rows], query))] = rank_of_order
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


class Mixer(ABC):
    """Mixes lists for many queries, and gives credit for the clicks on them.

    Attributes
    ----------
    grade : ndarray of int
        The grade of each document, and -1 at the end for slots without a document.
    uses_threads : bool
        Whether threads make it faster.
    warnings : sequence of str
        What the methods of single queries warned of.
    """

    grade: AnyArray
    uses_threads = True
    warnings: Sequence[str] = ()

    @abstractmethod
    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""

    @abstractmethod
    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""


class Candidates(Mixer):
    """The documents that may be shown: those in the top ranks of any ranker.

    The candidates of a query are adjacent, in order of their best rank.

    Attributes
    ----------
    query : ndarray of int of shape (n_candidates,)
    offset : ndarray of int of shape (n_queries,)
        Offset of the first candidate of each query.
    top : ndarray of shape (n_candidates + 1,)
        Best rank of each candidate in any ranking. The last entry of this and of the next arrays is
        not a document.
    rank : ndarray of shape (n_candidates + 1, n_rankers)
    grade : ndarray of shape (n_candidates + 1,)
        -1 for the last entry.
    n_shown : ndarray of int of shape (n_queries,)
        Number of documents in the lists of each query.
    length, max_candidates : int
        Maximum number of documents in a list, and of candidates of a query.
    """

    def __init__(self, rankings: RankingArrays) -> None:
        n_queries = len(rankings.sizes)
        top = rankings.rank.min(axis=0)
        query = np.repeat(np.arange(n_queries), rankings.sizes)
        kept = np.flatnonzero(top <= rankings.length)
        kept = kept[np.lexsort((top[kept], query[kept]))]
        self.query = query[kept]
        n_candidates = np.bincount(self.query, minlength=n_queries)
        self.offset = np.cumsum(n_candidates) - n_candidates
        self.max_candidates = int(n_candidates.max())
        self.n_shown = rankings.n_shown
        self.length = int(self.n_shown.max())
        self.has_equal_lengths = bool((self.n_shown == self.length).all())
        absent_rank = int(rankings.sizes.max()) + 1
        rank_type = np.min_scalar_type(-absent_rank - 1)  # signed, for differences
        self.top: AnyArray = np.append(top[kept], absent_rank).astype(rank_type)
        self.rank: AnyArray = np.vstack([rankings.rank.T[kept], np.full(len(rankings), absent_rank)]).astype(rank_type)
        self.grade: AnyArray = np.append(rankings.grade[kept], -1).astype(np.min_scalar_type(-rankings.grade.max() - 1))
        self.row = rankings.row[kept]

    @property
    def n_rankers(self) -> int:
        """Number of rankers."""
        return int(self.rank.shape[1])

    @property
    def nothing(self) -> int:
        """The index that is not a document."""
        return len(self.top) - 1

    def clear_unused_slots(self, documents: IntArray, query: IntArray) -> None:
        """Set the slots after the end of each list to `nothing`."""
        if not self.has_equal_lengths:
            n_shown = self.n_shown[query]
            for slot, slot_documents in enumerate(documents):
                slot_documents[n_shown <= slot] = self.nothing


class Draws:
    """Successive draws without replacement for many impressions at once (Fisher and Yates).

    Each impression has a pool that begins with what was drawn. The range to draw from may grow from
    draw to draw.
    """

    def __init__(self, n_impressions: int, width: int) -> None:
        self._pool = np.empty((n_impressions, width), dtype=np.min_scalar_type(width))
        self._pool[:] = np.arange(width)
        self._flat = self._pool.reshape(-1)
        self._next = np.arange(0, n_impressions * width, width)

    def draw(self, step: IntArray) -> AnyArray:
        """Draw, for each impression, the item ``step`` after the next of its pool."""
        offset = self._next + step
        drawn = self._flat.take(offset)
        self._flat[offset] = self._flat.take(self._next)
        self._next += 1
        return drawn
