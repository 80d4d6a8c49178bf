"""Labels and scores to ranked documents, which is what metrics see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import Batch, Block, with_padding_value
from ltr_metrics._engine.cache import Cache
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.sorting import SortedDocuments, sort_documents
from ltr_metrics._engine.ties import TiedDocuments, TiedRanks, Ties
from ltr_metrics._engine.words import TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError


def rank(block: Block, scores: AnyArray, ties: TiePolicy) -> Ranking:
    """Rank the documents of a block's queries; a NaN score raises `NaNScoreError`."""
    found = sort_documents(block, scores, ties)
    tied = Ties.of_neighbours(found.tied) if ties == "mean" and found.tied is not None else None
    return Ranking(block, found, tied)


def concat(batch: Batch, tops: Sequence[Ranking]) -> Ranking:
    """Join the first ranks of a batch's blocks: a call for each step of a metric then serves many queries."""
    if len(tops) == 1:
        return tops[0]
    depth = max(top.width for top in tops)
    grades = np.zeros((depth, len(batch.together.members)), dtype=batch.together.queries.grade_index.dtype)
    ties, of_tied, query, document = [], [], 0, 0
    for top in tops:
        shown = top.grade_indices(top.width).T
        grades[: len(shown), query : query + shown.shape[1]] = shown
        if top.ties is not None:
            ties.append(Ties(top.ties.query + query, top.ties.n_above, top.ties.size, top.ties.offset + document))
            of_tied.append(top.grades_at(top.ties.documents))
            document += len(of_tied[-1])
        query += shown.shape[1]
    if not ties:
        return Ranking(batch.together, FirstRanks(grades.T, grades[:0, 0]), None)
    return Ranking(batch.together, FirstRanks(grades.T, np.concatenate(of_tied)), Ties.concat(ties))


class FirstRanks(NamedTuple):
    """Grades of the first ranks of some blocks, and of all documents of the ties that begin there."""

    grades: AnyArray  # (queries x depth) grade indexes; laid out by rank, so that what is done rank by rank is fast
    of_tied: AnyArray  # one grade index for each document of a tie

    @property
    def width(self) -> int:
        """Ranks that are there."""
        return int(self.grades.shape[1])

    def grade_indices(self, depth: int) -> AnyArray:
        """Return the grade indexes of the first ranks, (queries x depth)."""
        return self.grades[:, :depth]

    def grades_at(self, at: IntArray) -> AnyArray:
        """Return the grade indexes of documents of ties."""
        return self.of_tied[at]

    def rows(self, query: IntArray, rank: IntArray) -> IntArray:
        """Refuse to say which rows these were."""
        raise LtrTypeError(_NOT_KEPT)

    def scores(self, query: IntArray, rank: IntArray) -> FloatArray:
        """Refuse to say what their scores were."""
        raise LtrTypeError(_NOT_KEPT)


_NOT_KEPT = "A metric with a cutoff that looks at rows or at all documents must say so: set OF_GRADES_ALONE = False in its class."


class Ranking(Cache):
    """The ranked documents of some queries of like length: what a metric sees.

    Matrices are (queries x depth), the best rank first; cells below a query's last document have grade index 0 and the
    value 0. A value for each distinct grade is an array beside ``ranking.queries.grades``. Under ``ties="mean"`` the documents
    of a tie stand in ascending order of grade, and `ties` tells where they are: their order is open, so `expected` is what
    a metric takes, and `by_rank` refuses.
    """

    def __init__(self, block: Block, documents: SortedDocuments | FirstRanks, ties: Ties | None) -> None:
        super().__init__()
        self.block = block
        self.ties = ties
        self._documents = documents

    @property
    def queries(self) -> LabelledQueries:
        """All queries, of which the block's are some."""
        return self.block.queries

    @property
    def n_ranked(self) -> IntArray:
        """Documents of each query that have a rank."""
        return self.block.n_ranked

    @property
    def width(self) -> int:
        """Ranks of the longest query in the block, or as many as are looked at."""
        return self._documents.width

    def depth(self, k: int | None) -> int:
        """How many columns a cutoff needs."""
        return self.width if k is None else min(k, self.width)

    def by_rank(self, values: FloatArray, depth: int | None = None) -> FloatArray:
        """Return a value for each distinct grade, by rank; refused where equal scores leave the order open."""
        depth = self.depth(depth)
        open_ties = None if self.ties is None else self.ties.above(depth)
        if open_ties is not None and len(open_ties.query):
            query = self.queries.qid[self.block.members[open_ties.query[0]]]
            raise LtrValueError(
                f'ties="mean" leaves the order of equal scores open, so there is no one ranking to look at: query {query} has '
                f"{open_ties.size[0]} documents of equal score from rank {open_ties.n_above[0] + 1} on. Use ranking.expected for what "
                'adds up over ranks, or evaluate with ties="stable", "worst" or "best".'
            )
        return self.as_laid_out(values, depth)

    def as_laid_out(self, values: FloatArray, depth: int) -> FloatArray:
        """Return the same with tied documents in some order, for those who replace them."""
        return with_padding_value(values)[self.grade_indices(depth)]

    def expected(self, values: FloatArray, depth: int | None = None) -> FloatArray:
        """Return a value for each distinct grade, by rank, where the documents of a tie all have the tie's mean."""
        depth = self.depth(depth)
        ranked = self.as_laid_out(values, depth)
        if self.ties is not None:
            tied = self.tied_documents(depth)
            mean = self.tie_sums(values, depth) / tied.ties.size
            grade = self.tied_grades(depth)
            lowest, highest = grade[tied.begins], grade[tied.begins + tied.ties.size - 1]
            # The mean of equal values is that value: rounding is not to lift a perfect ranking above 1.
            mean = np.where(lowest == highest, with_padding_value(values)[lowest], mean)
            self.tied_ranks(depth).fill_ties(mean, ranked)
        return ranked

    def expected_of_rows(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each row of the input, by rank, where the documents of a tie all have the tie's mean."""
        query = np.arange(len(self.n_ranked))[:, None]
        ranked = values[self._documents.rows(query, np.arange(depth))]
        ranked[np.arange(depth) >= self.n_ranked[:, None]] = 0.0
        if self.ties is not None:
            tied = self.tied_documents(depth)
            if tied.begins.size:
                column = tied.ties.n_above[tied.tie] + tied.place
                sums = np.add.reduceat(values[self._documents.rows(tied.ties.query[tied.tie], column)], tied.begins)
                self.tied_ranks(depth).fill_ties(sums / tied.ties.size, ranked)
        return ranked

    def count(self, chosen: BoolArray) -> IntArray:
        """Documents of each query, ranked or not, whose grade is chosen (one flag a distinct grade)."""
        return self.queries.count_by_query(chosen)[self.block.members]

    def documents(self) -> tuple[IntArray, IntArray, AnyArray]:
        """List all ranked documents, query after query and by rank: query within the block, run of equal scores, grade index.

        Runs are numbered from 0 over the whole block. This is what metrics want that treat ties by their own definition.
        """
        query, column = np.nonzero(np.arange(self.width) < self.n_ranked[:, None])
        score = self._documents.scores(query, column)
        begins = np.ones(len(query), dtype=np.bool_)
        begins[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
        grade = self.grade_indices(self.width)[query, column]
        return query, np.cumsum(begins) - 1, grade.astype(np.intp)

    def at_least(self, lowest: int, depth: int) -> BoolArray:
        """By rank, tied documents in some order, whether the grade index is at least this."""
        return np.asarray(self.grade_indices(depth) >= lowest)

    def first_at_least(self, lowest: int) -> FloatArray:
        """Rank of the first document of such a grade, tied ones in some order; infinite where there is none."""
        chosen = self.at_least(lowest, self.width)
        first = chosen.argmax(axis=1)
        return np.where(chosen[np.arange(len(first)), first], first + 1.0, np.inf)

    # -- of whole rankings alone --------------------------------------------------------------------------------------

    def top(self, depth: int) -> Ranking:
        """Return the ranking of the first ranks, which keeps no more than is needed of them."""
        depth = self.depth(depth)
        grades = np.ascontiguousarray(self.grade_indices(depth).T).T
        none: AnyArray = grades[:0, 0]
        if self.ties is None:
            return Ranking(self.block, FirstRanks(grades, none), None)
        above = self.ties.above(depth)
        lowest, highest = self.grades_at(above.offset), self.grades_at(above.offset + above.size - 1)
        above = above.take(np.flatnonzero(lowest != highest))  # where all grades are equal, so are all orders
        if not len(above.query):
            return Ranking(self.block, FirstRanks(grades, none), None)
        ties = Ties(above.query, above.n_above, above.size, above.begins)
        return Ranking(self.block, FirstRanks(grades, self.grades_at(above.documents)), ties)

    def cells_at_least(self, lowest: int) -> IntArray:
        """Flat cells of all ranked documents of a grade index of at least this, as `Block.at_least` counts them, tied ones in some order."""
        return np.flatnonzero(self.at_least(lowest, self.width))

    def is_tied(self, cells: IntArray) -> BoolArray:
        """Whether the documents in some flat cells share their scores."""
        with_next = self._tied_with_next()
        tied = with_next.copy()
        tied[1:] |= with_next[:-1]
        return tied[cells]

    def in_ties(self, lowest: int) -> tuple[AnyArray, AnyArray]:
        """Count these documents tie by tie: how many each holds, and how many of its query stand above it."""
        assert self.ties is not None
        flags = self.at_least(lowest, self.width).ravel()
        counted = np.cumsum(flags, dtype=np.int32)
        above_query = np.concatenate(([0], counted[self.width - 1 :: self.width]))
        begin = self.ties.offset
        above = counted[begin] - flags[begin]
        return counted[begin + self.ties.size - 1] - above, above - above_query[self.ties.query]

    def _tied_with_next(self) -> BoolArray:
        assert isinstance(self._documents, SortedDocuments)
        assert self._documents.tied is not None
        return self._documents.tied.ravel()

    def grade_indices(self, depth: int) -> AnyArray:
        """Return the grade indexes of the first ranks, tied documents in some order, in a small integer type."""
        known = self._cache.get("grades")
        if known is None or known.shape[1] < depth:
            known = self._cache["grades"] = self._documents.grade_indices(depth)
        return known[:, :depth]

    def grades_at(self, at: IntArray) -> AnyArray:
        """Return the grade indexes of documents of ties, given as `Ties.at` counts them."""
        return self._documents.grades_at(at)

    def ties_above(self, depth: int) -> Ties:
        """Return the ties that begin above ``depth``."""
        assert self.ties is not None
        ties = self.ties
        return self.cached(("ties", depth), lambda: ties.above(depth))

    def tied_documents(self, depth: int) -> TiedDocuments:
        """Return every document of the ties that begin above ``depth``."""
        return self.cached(("tied documents", depth), lambda: TiedDocuments.of(self.ties_above(depth)))

    def tied_ranks(self, depth: int) -> TiedRanks:
        """Return the places within ``depth`` of the ties that begin above it."""
        return self.cached(("tied places", depth), lambda: TiedRanks.of(self.tied_documents(depth), depth))

    def tied_grades(self, depth: int) -> AnyArray:
        """Grade indexes of the `tied_documents`, ascending within a tie."""
        return self.cached(("tied grades", depth), lambda: self._documents.grades_at(self.ties_above(depth).documents))

    def tied_values(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each distinct grade, for the `tied_documents`."""
        return np.asarray(with_padding_value(values)[self.tied_grades(depth)])

    def tie_sums(self, values: FloatArray, depth: int) -> FloatArray:
        """Sum of a value for each distinct grade over the whole of each tie that begins above ``depth``."""
        tied = self.tied_documents(depth)
        if not tied.begins.size:
            return np.zeros(0)
        return np.asarray(np.add.reduceat(self.tied_values(values, depth), tied.begins))


def accumulate_ranks(operation: np.ufunc, by_rank: FloatArray) -> FloatArray:
    """Accumulate over the ranks, (queries x depth); rank by rank where the matrix is laid out so, which is much faster."""
    if not by_rank.flags.f_contiguous:
        return np.asarray(operation.accumulate(by_rank, axis=1))
    done = np.empty_like(by_rank)
    done[:, :1] = by_rank[:, :1]
    for rank in range(1, by_rank.shape[1]):
        operation(done[:, rank - 1], by_rank[:, rank], out=done[:, rank])
    return done


def row_sums(matrix: FloatArray) -> FloatArray:
    """Sum each row from left to right, so that zeros behind it, which are there for longer neighbours, change no digit."""
    return accumulate_ranks(np.add, matrix)[:, -1]
