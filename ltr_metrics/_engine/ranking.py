"""Ranked documents, as metrics see them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Batch, Block
from ltr_metrics._engine.cache import Cache, cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray
from ltr_metrics._engine.sorting import SortedDocuments, sort_documents
from ltr_metrics._engine.ties import TiedDocuments, Ties
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import LtrTypeError


class RankedBlock(NamedTuple):
    """The sorted documents of a block, and its ties if the policy leaves their order open."""

    block: Block
    documents: SortedDocuments
    ties: Ties | None


class FirstRanks(NamedTuple):
    """What is kept of a block of which only the first ranks are read."""

    grades: AnyArray  # (depth x queries) grade indices
    ties: Ties | None  # those that begin there and hold different grades; ``offset`` refers to `tied_grades`
    tied_grades: AnyArray  # grade index of every document of these ties


def rank(block: Block, scores: AnyArray, ties: TiePolicy) -> RankedBlock:
    """Rank the documents of a block's queries; a NaN score raises `NaNScoreError`."""
    documents = sort_documents(block, scores, ties)
    if ties != "mean" or documents.ties_with_next is None:
        return RankedBlock(block, documents, None)
    return RankedBlock(block, documents, Ties.of_neighbours(documents.ties_with_next))


def first_ranks(ranked: RankedBlock, depth: int) -> FirstRanks:
    """Return the first ranks of a block, without anything else of it."""
    documents, ties = ranked.documents, ranked.ties
    depth = min(depth, ranked.block.width)
    grades = np.ascontiguousarray(documents.grade_indices(depth).T)
    if ties is not None:
        ties = ties.above(depth)
        lowest, highest = documents.grades_at(ties.offset), documents.grades_at(ties.offset + ties.size - 1)
        ties = ties.take(np.flatnonzero(lowest != highest))  # all orders of equal grades are the same ranking
    if ties is None or not len(ties.query):
        return FirstRanks(grades, None, grades[:0, 0])
    return FirstRanks(grades, ties._replace(offset=ties.starts), documents.grades_at(ties.document_offsets()))


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
        All queries; the block holds a subset.
    n_ranked : ndarray of int
        Documents of each query that have a rank.
    width : int
        Number of ranks: of the longest query in the block, or as many as a cutoff needs.

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
    ...         print("is the grade index 2 or higher:", ranking.at_least(2, 2).tolist())
    ...         return super().sums(ranking, cutoffs)
    >>> ltr.evaluate([0, 2, 0, 1], [5, 5, 2, 1], group=[2, 2], metrics=Seen(k=2)).per_query["seen@2"]
    cutoffs: [2] documents: [2 2]
    lowest grade of a tie first: [[0.0, 2.0], [0.0, 1.0]]
    is the grade index 2 or higher: [[False, True], [False, True]]
    array([2., 1.])
    """

    def __init__(
        self,
        block: Block,
        grades: AnyArray,
        ties: Ties | None,
        tied_grades: AnyArray,
        documents: SortedDocuments | None = None,
    ) -> None:
        self.block = block
        self.queries = block.queries
        self.n_ranked = block.n_ranked
        self.width = int(grades.shape[1])
        self.grades = grades
        self.ties = ties
        self.tied_grades = tied_grades  # grade indices that ``ties.offset`` refers to
        self._documents = documents

    @classmethod
    def of_block(cls, ranked: RankedBlock) -> Ranking:
        """Return the whole rankings of a block; those of short queries are laid out by rank."""
        grades = ranked.documents.grade_indices(ranked.block.width)
        by_rank = np.asfortranarray(grades) if ranked.block.is_short else grades
        return cls(ranked.block, by_rank, ranked.ties, grades.ravel(), ranked.documents)

    def of_grades_alone(self) -> Ranking:
        """Return the ranking without documents, for metrics that need only grades and open ties."""
        return Ranking(self.block, self.grades, self.open_ties, self.tied_grades)

    @classmethod
    def of_batch(cls, batch: Batch, parts: Sequence[FirstRanks]) -> Ranking:
        """Concatenate the first ranks of a batch's blocks, so that one call serves many queries.

        The matrix is laid out by rank, which makes work that goes from rank to rank fast.
        """
        if len(parts) == 1:
            return cls(batch.combined, parts[0].grades.T, parts[0].ties, parts[0].tied_grades)
        depth = max(len(part.grades) for part in parts)
        grades = np.zeros((depth, len(batch.combined.members)), dtype=parts[0].grades.dtype)
        ties, tied_grades, query, document = [], [], 0, 0
        for part in parts:
            grades[: len(part.grades), query : query + part.grades.shape[1]] = part.grades
            if part.ties is not None:
                ties.append(part.ties._replace(query=part.ties.query + query, offset=part.ties.offset + document))
                tied_grades.append(part.tied_grades)
                document += len(part.tied_grades)
            query += part.grades.shape[1]
        if not ties:
            return cls(batch.combined, grades.T, None, grades[:0, 0])
        return cls(batch.combined, grades.T, Ties.concat(ties), np.concatenate(tied_grades))

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

    def at_least(self, lowest: int, depth: int) -> BoolArray:
        """Return by rank whether the grade index is at least this, tied documents in some order.

        Parameters
        ----------
        lowest : int
            A grade index: the position among the distinct grades, counted from 1.
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        ndarray of bool of shape (n_queries, depth)
            False below the last document of a query.
        """
        return np.asarray(self.grades[:, :depth] >= lowest)

    @cached
    def tied_documents(self, depth: int) -> TiedDocuments:
        """Return every document of the ties that begin above ``depth``.

        Parameters
        ----------
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        TiedDocuments
            Their grades, with the tie that each belongs to, also below ``depth``.
        """
        assert self.ties is not None
        return TiedDocuments(self.ties, self.tied_grades, depth)

    @cached_property
    def open_ties(self) -> Ties | None:
        """Ties whose documents differ in grade; None if there are none.

        All orders of equal grades are the same ranking. So the other ties have their exact values,
        and rounding in an expectation cannot lift a perfect ranking above 1.
        """
        if self.ties is None:
            return None
        first, last = self.ties.offset, self.ties.offset + self.ties.size - 1
        is_open = self.tied_grades[first] != self.tied_grades[last]  # they ascend
        if is_open.all():
            return self.ties
        return self.ties.take(np.flatnonzero(is_open)) if is_open.any() else None

    @cached
    def open_documents(self, depth: int) -> TiedDocuments | None:
        """Return the documents of the open ties that begin above ``depth``; None if there are none."""
        ties = None if self.open_ties is None else self.open_ties.above(depth)
        return None if ties is None or not len(ties.query) else TiedDocuments(ties, self.tied_grades, depth)

    # -- what only metrics that read rows or all documents need --------------------------------------

    @property
    def documents(self) -> SortedDocuments:
        """Sorted documents, which know their rows and scores.

        Raises
        ------
        LtrTypeError
            If only the first ranks were kept. A metric class that reads columns names them in
            ``COLUMNS``, and one that reads other facts of rows sets ``READS_ROWS`` to True.
        """
        if self._documents is None:
            raise LtrTypeError(
                "A metric with a cutoff that reads rows or all documents must say so in its class: name the columns, "
                'COLUMNS = ("revenue",), or set READS_ROWS = True.'
            )
        return self._documents

    def expected_of_rows(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each row of the input, by rank, averaged within each tie."""
        column = np.arange(depth)
        by_rank = values[self.documents.rows(np.arange(len(self.n_ranked))[:, None], column)]
        by_rank[column >= self.n_ranked[:, None]] = 0.0
        if self.ties is not None:
            tied = self.tied_documents(depth)
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


def _goes_by_rank(matrix: FloatArray) -> bool:
    """Whether a matrix is laid out by rank, and has so many more queries than ranks that steps over ranks are few."""
    return matrix.flags.f_contiguous and len(matrix) > 10 * matrix.shape[1]


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
    return np.concatenate((np.zeros(1, dtype=values.dtype), values))
