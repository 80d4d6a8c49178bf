"""Ranked documents, as metrics that are functions of them see them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._rows.cache import Cache
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries, has_flag
from ltr_metrics._rows.words import TiePolicy
from ltr_metrics.errors import LtrValueError


class Ties(NamedTuple):
    """Ties, in the order of queries and ranks: runs of two or more documents of a query with equal scores."""

    query: IntArray  # position of the query
    n_above: IntArray  # documents ranked above the tie
    size: IntArray
    start: IntArray  # offset of its first document among all ranked documents

    def sum(self, by_document: AnyArray) -> AnyArray:
        """Sum a value of each ranked document over each tie."""
        if not len(self.start):
            return by_document[:0]
        edges = np.column_stack((self.start, self.start + self.size)).ravel()
        sums: AnyArray = np.add.reduceat(np.append(by_document, by_document.dtype.type(0)), edges)[::2]
        return sums

    def spread(self, by_tie: AnyArray, by_document: AnyArray) -> None:
        """Write a value of each tie to all of its documents."""
        offsets = np.repeat(self.start - (np.cumsum(self.size) - self.size), self.size)
        by_document[offsets + np.arange(len(offsets))] = np.repeat(by_tie, self.size)


class Ranking(Cache):
    """The ranked documents of all queries, which a metric's own function reads.

    Arrays of documents are flat: query after query, and the best rank first. Under ``ties="mean"``
    the order of tied documents is open, and they are in ascending order of grade; `expected` has the
    mean over all orders.

    Attributes
    ----------
    queries : LabelledQueries
        The labels of all queries.
    n_ranked : ndarray of int of shape (n_queries,)
        Documents of each query that have a rank.
    rows : ndarray of int of shape (n_documents,)
        Row of the input of each ranked document.
    grades : ndarray of int of shape (n_documents,)
        Grade index of each ranked document: 1 is the lowest of ``queries.grades``.
    query, rank : ndarray of int of shape (n_documents,)
        Position of each document's query, and its rank, from 1.
    scores : ndarray of shape (n_documents,)
        Score of each ranked document.
    ties : Ties
        Ties whose order is open.
    mixed : Ties
        Those of them that hold different grades. All orders of equal grades are the same ranking.

    See Also
    --------
    RankMetric : The base class of metrics; most declare what they add up instead of reading a ranking.
    as_metric : A function of one query's documents as a metric.

    Examples
    --------
    The order of the first query's documents is open, since their scores are tied:

    >>> from dataclasses import dataclass
    >>> import ltr_metrics as ltr
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Seen(ltr.Metric):
    ...     NAME = "seen"
    ...     def values(self, ranking):
    ...         print("query:", ranking.query, "rank:", ranking.rank, "row:", ranking.rows)
    ...         print("expected grades:", ranking.expected(ranking.queries.grades))
    ...         print("has a grade above 0:", ranking.has_flag(ranking.queries.grades > 0))
    ...         return ranking.sum_by_query(ranking.expected(ranking.queries.grades) / ranking.rank)
    >>> ltr.evaluate([0, 2, 0, 1], [5, 5, 1, 2], group=[2, 2], metrics=Seen()).per_query["seen"]
    query: [0 0 1 1] rank: [1 2 1 2] row: [0 1 3 2]
    expected grades: [1. 1. 1. 0.]
    has a grade above 0: [False  True  True False]
    array([1.5, 1. ])
    """

    def __init__(
        self,
        queries: LabelledQueries,
        scores: AnyArray,
        ties: TiePolicy,
        n_threads: int | None = 1,
        *,
        is_order: bool = False,
    ) -> None:
        ranked = native.rank(queries, scores, ties, n_threads)
        self.queries = queries
        self.n_ranked: IntArray = queries.n_ranked
        self.rows, self.grades = ranked.rows, ranked.grades
        self.starts: IntArray = queries.ranked_ends - self.n_ranked
        self._scores_of_rows = None if is_order else scores  # of an order of documents, nobody knows the scores
        self._is_tied_with_next = ranked.is_tied_with_next
        for array in (*ranked, self.starts):
            array.setflags(write=False)  # all metrics of a call see the same ranking

    @cached_property
    def query(self) -> IntArray:
        """Position of each document's query."""
        return np.repeat(np.arange(len(self.n_ranked)), self.n_ranked)

    @cached_property
    def rank(self) -> IntArray:
        """Rank of each document, from 1."""
        return np.arange(1, len(self.rows) + 1) - np.repeat(self.starts, self.n_ranked)

    @property
    def scores(self) -> AnyArray:
        """Score of each ranked document."""
        if self._scores_of_rows is None:
            raise LtrValueError("it reads the scores, and an order has none.")
        return np.asarray(self._scores_of_rows[self.rows])

    @cached_property
    def ties(self) -> Ties:
        """Ties whose order is open."""
        with_next = self._is_tied_with_next
        is_start, is_end = with_next.copy(), ~with_next
        is_start[1:] &= ~with_next[:-1]
        is_end[1:] &= with_next[:-1]
        start = np.flatnonzero(is_start)
        return Ties(self.query[start], self.rank[start] - 1, np.flatnonzero(is_end[1:]) + 2 - start, start)

    @cached_property
    def mixed(self) -> Ties:
        """Ties of documents of different grades, which are in ascending order of grade."""
        is_mixed = self.grades[self.ties.start] != self.grades[self.ties.start + self.ties.size - 1]
        return Ties(*(values[is_mixed] for values in self.ties))

    def has_flag(self, flags: BoolArray) -> BoolArray:
        """Return a flag of each document's grade, such as its relevance, tied documents in some order.

        Parameters
        ----------
        flags : ndarray of bool of shape (n_grades,)
            A flag for each distinct grade, in ascending order of the grades.
        """
        return has_flag(self.grades, flags)

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the value of each document's grade, averaged within each tie.

        Parameters
        ----------
        values : ndarray of float64 of shape (n_grades,)
            A value for each distinct grade, in ascending order of the grades.
        """
        by_document: FloatArray = values.take(self.grades - 1)
        # A tie of equal grades keeps its exact value, since rounding could lift a perfect ranking above 1.
        self.mixed.spread(self.mixed.sum(by_document) / self.mixed.size, by_document)
        return by_document

    def sum_by_query(self, by_document: AnyArray) -> AnyArray:
        """Sum a value of each ranked document over each query; 0 for a query without ranked documents."""
        sums = np.zeros(len(self.n_ranked), dtype=by_document.dtype if by_document.dtype != np.bool_ else np.intp)
        filled = np.flatnonzero(self.n_ranked)
        if len(filled):
            sums[filled] = np.add.reduceat(by_document, self.starts[filled], dtype=sums.dtype)
        return sums

    def count_above(self, is_counted: BoolArray) -> IntArray:
        """Count the flagged documents above each document, in its query; tied documents in some order."""
        n_above: IntArray = np.cumsum(is_counted) - is_counted
        n_above -= np.repeat(np.append(n_above, 0)[self.starts], self.n_ranked)
        return n_above
