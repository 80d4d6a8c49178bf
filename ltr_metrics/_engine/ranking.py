"""Ranked documents, as metrics see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.cache import Cache, cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray
from ltr_metrics._engine.queries import has_flag
from ltr_metrics._engine.sorting import SortedDocuments, sort_documents
from ltr_metrics._engine.ties import TiedDocuments, Ties
from ltr_metrics._engine.words import TiePolicy


class Ranking(Cache):
    """The ranked documents of some queries of similar length: what a metric sees.

    Matrices are (queries x depth), the best rank first. Cells below a query's last document have
    grade index 0 and the value 0. A "value for each distinct grade" is an array like
    ``ranking.queries.grades``. Under ``ties="mean"`` the order of tied documents is open: metrics
    then read `expected`. Methods that say "tied documents in some order" have the documents of a tie
    in ascending order of grade.

    Attributes
    ----------
    block : Block
        The queries, and where their documents are.
    grades : ndarray of int
        Grade indices, (queries x width), tied documents in some order.
    ties : Ties or None
        Ties whose order is open, or None.
    queries : LabelledQueries
        All queries; the ranking holds a subset.
    members : ndarray of int
        Positions of the ranking's queries among all queries, which select their values of an array
        of all queries.
    n_ranked : ndarray of int
        Documents of each query that have a rank.
    width : int
        Number of ranks: of the longest query in the block, or as many as a cutoff needs.
    tied_grades : ndarray of int
        Grade indices that ``ties.offset`` refers to; of a whole ranking, those of all cells, row by row.
    documents : SortedDocuments or None
        The sorted documents, which know their rows and scores; None if only first ranks are known.

    See Also
    --------
    RankMetric : The base class of metrics that read a ranking.
    as_metric : A function of one query's documents as a metric.

    Examples
    --------
    A metric reads the ranking of several queries. Here the order of the first query's documents is
    open, since their scores are tied:

    >>> from dataclasses import dataclass
    >>> import ltr_metrics as ltr
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Seen(ltr.RankMetric):
    ...     NAME = "seen"
    ...     def by_grade(self, queries):
    ...         return queries.grades
    ...     def sums(self, ranking, cutoffs):
    ...         print("cutoffs:", cutoffs, "documents:", ranking.n_ranked)
    ...         print("lowest grade of a tie first:", ranking.in_some_order(ranking.queries.grades, 2).tolist())
    ...         print("has a grade above 0:", ranking.has_flag(ranking.queries.grades > 0, 2).tolist())
    ...         return super().sums(ranking, cutoffs)
    >>> ltr.evaluate([0, 2, 0, 1], [5, 5, 2, 1], group=[2, 2], metrics=Seen(k=2)).per_query["seen@2"]
    cutoffs: [2] documents: [2 2]
    lowest grade of a tie first: [[0.0, 2.0], [0.0, 1.0]]
    has a grade above 0: [[False, True], [False, True]]
    array([2., 1.])
    """

    def __init__(
        self,
        block: Block,
        grades: AnyArray,
        ties: Ties | None,
        tied_grades: AnyArray,
        documents: Any = None,
    ) -> None:
        self.block = block
        self.queries = block.queries
        self.members = block.members
        self.n_ranked = block.n_ranked
        self.width = int(grades.shape[1])
        self.grades = grades
        self.ties = ties
        self.tied_grades = tied_grades
        self.documents: SortedDocuments = documents

    @classmethod
    def of_block(cls, block: Block, scores: AnyArray, ties: TiePolicy) -> Ranking:
        """Rank the documents of a block's queries."""
        documents = sort_documents(block, scores, ties)
        with_next = documents.ties_with_next if ties == "mean" else None
        grades = documents.grades()
        by_rank = np.asfortranarray(grades) if _has_more_queries(grades) else grades
        of_ties = None if with_next is None else Ties.of_neighbours(with_next)
        return cls(block, by_rank, of_ties, grades.ravel(), documents)

    def first(self, depth: int) -> Ranking:
        """Return the first ranks without the rows of the documents, laid out by rank."""
        depth = self.depth(depth)
        grades, tied = np.asfortranarray(self.grades[:, :depth]), self.open_documents(depth)
        if tied is None:
            return Ranking(self.block, grades, None, grades[0, :0])
        return Ranking(self.block, grades, tied.ties._replace(offset=tied.starts), tied.grades)

    @classmethod
    def concat(cls, block: Block, parts: Sequence[Ranking]) -> Ranking:
        """Concatenate the first ranks of some blocks, so that one call of a metric serves many queries."""
        depth = max(part.width for part in parts)
        grades = np.zeros((depth, len(block.members)), dtype=parts[0].grades.dtype)
        ties, query, document = [], 0, 0
        for part in parts:
            n_queries = len(part.block.members)
            grades[: part.width, query : query + n_queries] = part.grades.T
            if part.ties is not None:
                ties.append(part.ties._replace(query=part.ties.query + query, offset=part.ties.offset + document))
            query, document = query + n_queries, document + len(part.tied_grades)
        tied_grades = np.concatenate([part.tied_grades for part in parts])
        of_all = Ties(*map(np.concatenate, zip(*ties, strict=True))) if ties else None
        return cls(block, grades.T, of_all, tied_grades)

    # -- what most metrics need -------------------------------------------------------------------

    def depth(self, k: int | None) -> int:
        """Return the number of ranks that a cutoff needs.

        Parameters
        ----------
        k : int or None
            Cutoff; None is the whole list.

        Returns
        -------
        int
            The cutoff, or the width of the ranking if that is smaller.
        """
        return self.width if k is None else min(k, self.width)

    def expected(self, values: FloatArray, depth: int | None = None) -> FloatArray:
        """Return a value for each distinct grade, by rank, averaged within each tie.

        Parameters
        ----------
        values : ndarray of float64 of shape (n_grades,)
            A value for each distinct grade, in ascending order of the grades.
        depth : int, optional
            The number of first ranks that are needed. The default is all.

        Returns
        -------
        ndarray of float64 of shape (n_queries, depth)
            0 below the last document of a query.
        """
        depth = self.depth(depth)
        by_rank = self.in_some_order(values, depth)
        tied = self.open_documents(depth)
        if tied is not None:
            tied.fill_ties(tied.sum(values_of_grades(values, tied.grades)) / tied.ties.size, by_rank)
        return by_rank

    # -- what metrics with a definition of their own for ties need -----------------------------------

    def in_some_order(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each distinct grade, by rank, tied documents in some order.

        Parameters
        ----------
        values : ndarray of float64 of shape (n_grades,)
            A value for each distinct grade, in ascending order of the grades.
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        ndarray of float64 of shape (n_queries, depth)
            0 below the last document of a query.
        """
        return values_of_grades(values, self.grades[:, :depth])

    def has_flag(self, flags: BoolArray, depth: int) -> BoolArray:
        """Return a flag of each distinct grade, such as its relevance, by rank, tied documents in some order.

        Parameters
        ----------
        flags : ndarray of bool of shape (n_grades,)
            A flag for each distinct grade, in ascending order of the grades.
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        ndarray of bool of shape (n_queries, depth)
            False below the last document of a query.
        """
        return has_flag(self.grades[:, :depth], flags)

    @cached
    def open_documents(self, depth: int) -> TiedDocuments | None:
        """Return the documents of the ties that begin above ``depth`` and hold different grades; None if none does.

        All orders of equal grades are the same ranking. So the other ties have their exact values,
        and rounding in an expectation cannot lift a perfect ranking above 1.
        """
        if self.ties is None:
            return None
        ties = self.ties.above(depth)
        lowest, highest = self.tied_grades[ties.offset], self.tied_grades[ties.offset + ties.size - 1]  # they ascend
        ties = ties.where(lowest != highest)
        return TiedDocuments(ties, self.tied_grades, depth) if len(ties.query) else None

    # -- what only metrics that read rows or all documents need --------------------------------------

    def expected_of_rows(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each row of the input, by rank, averaged within each tie."""
        column = np.arange(depth)
        by_rank = values[self.documents.rows(np.arange(len(self.n_ranked))[:, None], column)].astype(np.float64)
        by_rank[column >= self.n_ranked[:, None]] = 0.0
        if self.ties is not None:
            tied = TiedDocuments(self.ties.above(depth), self.tied_grades, depth)
            rows = self.documents.rows(tied.ties.query[tied.tie], tied.ties.n_above[tied.tie] + tied.rank_in_tie)
            tied.fill_ties(tied.sum(values[rows]) / tied.ties.size, by_rank)
        return by_rank


def accumulate_ranks(operation: np.ufunc, by_rank: FloatArray) -> FloatArray:
    """Accumulate over the ranks, (queries x depth); rank by rank if the matrix is laid out so, which is much faster."""
    if not _goes_by_rank(by_rank):
        return np.asarray(operation.accumulate(by_rank, axis=1))
    accumulated = np.empty_like(by_rank)
    accumulated[:, :1] = by_rank[:, :1]
    for column in range(1, by_rank.shape[1]):
        operation(accumulated[:, column - 1], by_rank[:, column], out=accumulated[:, column])
    return accumulated


def _goes_by_rank(matrix: AnyArray) -> bool:
    """Whether to step over ranks: the matrix is laid out by rank, and has many more queries than ranks."""
    return matrix.flags.f_contiguous and _has_more_queries(matrix)


def _has_more_queries(matrix: AnyArray) -> bool:
    return bool(len(matrix) > 10 * matrix.shape[1])


def sums_down_to(depths: Sequence[int], by_rank: FloatArray) -> list[FloatArray]:
    """Sum the first ranks of each query, down to each of some depths.

    The sums go from left to right, so that zeros at the end, which pad shorter queries, change no
    digit. Of a matrix that is laid out by rank, no other sums are kept.
    """
    if not _goes_by_rank(by_rank):
        accumulated = np.add.accumulate(by_rank, axis=1)
        return [accumulated[:, depth - 1] for depth in depths]
    total = by_rank[:, 0]
    sums = {1: total}
    for depth in range(2, max(depths) + 1):
        total = total + by_rank[:, depth - 1]
        if depth in depths:
            sums[depth] = total
    return [sums[depth] for depth in depths]


def row_sums(matrix: FloatArray) -> FloatArray:
    """Sum each row from left to right, as `sums_down_to` does."""
    return sums_down_to([matrix.shape[1]], matrix)[0]


def values_of_grades(values: FloatArray, grades: AnyArray) -> FloatArray:
    """Return the value of each grade index of a matrix, in its layout; `take` is faster than an index."""
    table = with_padding_value(values)
    return table.take(grades.T).T if grades.flags.f_contiguous else table.take(grades)


def with_padding_value(values: FloatArray) -> FloatArray:
    """Return the values of the distinct grades with 0 in front, which is the value of "no document"."""
    return np.concatenate(([0.0], values))
