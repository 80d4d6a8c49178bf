"""The rankings of many queries as flat arrays, for methods that mix many impressions at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.words import RuleOfCredit
from ltr_metrics.evaluation.evaluate import Queries


@dataclass(frozen=True, eq=False)
class ManyRankings:
    """What each ranker ranks at which place, on every query.

    Attributes
    ----------
    rank : ndarray of int of shape (n_rankers, n_documents)
        Rank of each document, from 1; documents of a query stand together.
    sizes : ndarray of int of shape (n_queries,)
        Documents of each query, at least one.
    grade : ndarray of int of shape (n_documents,)
    row : ndarray of int of shape (n_documents,)
        Where each document stands in the data.
    length : int
        Documents to show at most.
    """

    rank: IntArray
    sizes: IntArray
    grade: IntArray
    row: IntArray
    length: int

    @classmethod
    def of_scores(
        cls, queries: Queries, scores: list[AnyArray], length: int, tie_break: AnyArray | None
    ) -> ManyRankings:
        """Rank the documents that are retrieved by each model's scores; of equal ones the first, or that with the lower ``tie_break``, is ahead."""
        rows = queries.rows_in_query_order()
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        if queries.retrieved is not None:
            kept = queries.retrieved[rows]
            rows, query = rows[kept], query[kept]
        sizes = np.bincount(query)
        sizes = sizes[sizes > 0]
        starts = np.cumsum(sizes) - sizes
        rank = np.empty((len(scores), len(rows)), dtype=np.intp)
        for size in np.unique(sizes).tolist():  # queries of one size at a time are a matrix
            at = starts[sizes == size][:, np.newaxis] + np.arange(size)
            if tie_break is not None:  # then a stable sort is all that a model takes
                at = np.take_along_axis(at, np.argsort(tie_break[rows[at]], axis=1), axis=1)
            for of_model, score in zip(rank, scores, strict=True):
                order = np.argsort(-score[rows[at]], axis=1, kind="stable")
                of_model[np.take_along_axis(at, order, axis=1)] = np.arange(1, size + 1)
        grade = np.concatenate(([0.0], queries.grades))[queries.grade_index[rows]].astype(np.intp)
        return cls(rank, sizes, grade, rows, length)

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def starts(self) -> IntArray:
        """Where the documents of each query begin."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def n_shown(self) -> IntArray:
        """Documents that are shown of each query."""
        return np.minimum(self.sizes, min(self.length, int(self.sizes.max())))


@dataclass(frozen=True, eq=False)
class Shown:
    """Lists of many impressions, place by place, so that a step of all impressions is one contiguous operation.

    Attributes
    ----------
    documents : ndarray of int of shape (length, n_impressions)
        Positions among the documents of a `Candidates`; the last one, which is no document, where a query has no more.
    teams : ndarray of int of shape (length, n_impressions), or None
        Which ranker put them there.
    """

    documents: IntArray
    teams: AnyArray | None = None


class Candidates:
    """The documents that may be shown: those that some ranker has among the first; of each query in order of their best rank.

    Attributes
    ----------
    offset : ndarray of int of shape (n_queries,)
        Where the candidates of each query begin. Behind the last one of all stands one that is no document, of grade -1.
    top : ndarray of shape (n_candidates + 1,)
        Best rank over the rankers.
    rank : ndarray of shape (n_candidates + 1, n_rankers)
    grade : ndarray of shape (n_candidates + 1,)
    n_shown : ndarray of int of shape (n_queries,)
        Documents that are shown.
    length, widest : int
        Most documents that are shown of a query, and most candidates.
    """

    in_threads = True

    def warn(self) -> None:
        """Say nothing: there is nothing to warn of."""

    def __init__(self, rankings: ManyRankings, rule: RuleOfCredit = "own") -> None:
        self.rule = rule
        n_queries = len(rankings.sizes)
        top = rankings.rank.min(axis=0)
        query = np.repeat(np.arange(n_queries), rankings.sizes)
        kept = np.flatnonzero(top <= rankings.length)
        kept = kept[np.lexsort((top[kept], query[kept]))]
        self.query = query[kept]
        counts = np.bincount(self.query, minlength=n_queries)
        self.offset = np.cumsum(counts) - counts
        self.widest = int(counts.max())
        self.n_shown = rankings.n_shown
        self.length = int(self.n_shown.max())
        self.all_show_as_many = bool((self.n_shown == self.length).all())
        beyond = int(rankings.sizes.max()) + 1
        small = np.min_scalar_type(-beyond - 1)  # signed, for differences
        self.top: AnyArray = np.append(top[kept], beyond).astype(small)
        self.rank: AnyArray = np.vstack([rankings.rank.T[kept], np.full(len(rankings), beyond)]).astype(small)
        self.grade: AnyArray = np.append(rankings.grade[kept], -1).astype(np.min_scalar_type(-rankings.grade.max() - 1))
        self.row = rankings.row[kept]

    @property
    def n_rankers(self) -> int:
        """How many rankers there are."""
        return int(self.rank.shape[1])

    @property
    def nothing(self) -> int:
        """The position that is no document."""
        return len(self.top) - 1

    def are_shown(self, query: IntArray, place: int) -> BoolArray:
        """Whether a document is shown at a place."""
        shown: BoolArray = self.n_shown[query] > place
        return shown

    def credit_clicks(self, shown: Shown, clicked: BoolArray) -> FloatArray:
        """Count clicks, by team or, without teams, by who ranks the document best."""
        credit = np.empty((self.n_rankers, clicked.shape[1]))
        for ranker, of_ranker in enumerate(credit):
            if shown.teams is not None:
                np.sum((shown.teams == ranker) & clicked, axis=0, out=of_ranker, dtype=np.float64)
            else:
                np.sum(self.best_ranked[ranker].take(shown.documents) * clicked, axis=0, out=of_ranker)
        return credit

    @cached_property
    def best_ranked(self) -> FloatArray:
        """Share of a click that each ranker gets by rank, of shape (n_rankers, n_candidates + 1): all of it if it ranks the document best."""
        best = self.top == self.rank.T
        share: FloatArray = best / best.sum(axis=0)
        return share


class Draws:
    """Draws without replacement, one after the other, for many impressions at once: from a pool that may grow.

    A pool of each impression begins with what was drawn; the rest of its first ``n`` are what may be drawn next (Fisher and Yates).
    """

    def __init__(self, n_impressions: int, width: int) -> None:
        self._pool = np.empty((n_impressions, width), dtype=np.min_scalar_type(width))
        self._pool[:] = np.arange(width)
        self._flat = self._pool.reshape(-1)
        self._next = np.arange(0, n_impressions * width, width)

    def draw(self, step: IntArray) -> AnyArray:
        """Take, of each impression, the one ``step`` behind the next, and return it."""
        at = self._next + step
        drawn = self._flat.take(at)
        self._flat[at] = self._flat.take(self._next)
        self._next += 1
        return drawn
