"""Labels and scores to ranked documents, which is what metrics see, and the ties that the scores leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr_metrics.blocks import Block, with_no_document
from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.memo import Memo
from ltr_metrics.queries import LabelledQueries
from ltr_metrics.sorting import SortedDocuments, sort_documents


def rank(block: Block, scores: AnyArray, ties: str) -> Ranking:
    """Rank the documents of a block's queries; a NaN score raises `NotANumberError`."""
    found = sort_documents(block, scores, ties)
    tied = Ties.of_neighbours(found.tied, block.width) if ties == "mean" and found.tied.size else None
    return Ranking(block, found, tied)


@dataclass(frozen=True, eq=False)
class Ties:
    """Runs of two or more documents with equal scores, in row order."""

    row: IntArray  # query of each tie, within the block
    first: IntArray  # documents above the tie
    size: IntArray

    @classmethod
    def of_neighbours(cls, cells: IntArray, width: int) -> Ties:
        """Join flat cells, each of which ties with the next one, into runs."""
        begins = np.flatnonzero(np.diff(cells, prepend=cells[0] - 2) != 1)
        row, first = np.divmod(cells[begins], width)
        return cls(row, first, np.diff(begins, append=len(cells)) + 1)

    def above(self, depth: int) -> Ties:
        """Those that begin within the first ``depth`` ranks."""
        chosen = self.first < depth
        return self if chosen.all() else Ties(self.row[chosen], self.first[chosen], self.size[chosen])


@dataclass(frozen=True, eq=False)
class TiedPlaces:
    """The documents of the ties that begin above a depth, one entry a document: what stands where is open."""

    ties: Ties
    tie: IntArray  # which tie
    place: IntArray  # place within the tie, from 0
    begins: IntArray  # first entry of each tie
    shown: BoolArray  # entries whose rank is within the depth

    @property
    def row(self) -> IntArray:
        return self.ties.row[self.tie]

    @property
    def column(self) -> IntArray:
        return self.ties.first[self.tie] + self.place


class Ranking(Memo):
    """The ranked documents of some queries of like length: what a metric sees.

    Matrices are (queries x depth), the best rank first; cells below a query's last document have grade index 0 and the
    value 0. A value for each distinct grade is an array beside ``ranking.queries.grades``. Under ``ties="mean"`` the documents
    of a tie stand in ascending order of grade, and `ties` tells where they are: their order is open, so `expected` is what
    a metric takes, and `by_rank` refuses.
    """

    def __init__(self, block: Block, documents: SortedDocuments, ties: Ties | None) -> None:
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
        """Ranks of the longest query in the block."""
        return self.block.width

    def depth(self, k: int | None) -> int:
        """How many columns a cutoff needs."""
        return self.width if k is None else min(k, self.width)

    def by_rank(self, values: FloatArray, depth: int | None = None) -> FloatArray:
        """Return a value for each distinct grade, by rank; refused where equal scores leave the order open."""
        depth = self.depth(depth)
        open_ties = None if self.ties is None else self.ties.above(depth)
        if open_ties is not None and len(open_ties.row):
            query = self.queries.qid[self.block.members[open_ties.row[0]]]
            raise LtrValueError(
                f'ties="mean" leaves the order of equal scores open, so there is no one ranking to look at: query {query} has '
                f"{open_ties.size[0]} documents of equal score from rank {open_ties.first[0] + 1} on. Use ranking.expected for what "
                'adds up over ranks, or evaluate with ties="stable", "worst" or "best".'
            )
        return self.as_laid_out(values, depth)

    def as_laid_out(self, values: FloatArray, depth: int) -> FloatArray:
        """Return the same with tied documents in some order, for those who replace them."""
        return with_no_document(values)[self._grade_index(depth)]

    def expected(self, values: FloatArray, depth: int | None = None) -> FloatArray:
        """Return a value for each distinct grade, by rank, where the documents of a tie all have the tie's mean."""
        depth = self.depth(depth)
        ranked = self.as_laid_out(values, depth)
        if self.ties is not None:
            tied = self.tied_places(depth)
            mean = self.tie_sums(values, depth) / tied.ties.size
            grade = self.tied_grades(depth)
            lowest, highest = grade[tied.begins], grade[tied.begins + tied.ties.size - 1]
            # The mean of equal values is that value: rounding is not to lift a perfect ranking above 1.
            mean = np.where(lowest == highest, with_no_document(values)[lowest], mean)
            self.replace_tied(ranked, tied, mean[tied.tie])
        return ranked

    def expected_of_rows(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each row of the input, by rank, where the documents of a tie all have the tie's mean."""
        row = np.arange(len(self.n_ranked))[:, None]
        ranked = values[self._documents.rows(row, np.arange(depth))]
        ranked[np.arange(depth) >= self.n_ranked[:, None]] = 0.0
        if self.ties is not None:
            tied = self.tied_places(depth)
            if tied.begins.size:
                sums = np.add.reduceat(values[self._documents.rows(tied.row, tied.column)], tied.begins)
                self.replace_tied(ranked, tied, (sums / tied.ties.size)[tied.tie])
        return ranked

    def count(self, chosen: BoolArray) -> IntArray:
        """Documents of each query, ranked or not, whose grade is chosen (one flag a distinct grade)."""
        return self.queries.count_by_query(chosen)[self.block.members]

    def documents(self) -> tuple[IntArray, IntArray, IntArray]:
        """List all ranked documents, query after query and by rank: query within the block, run of equal scores, grade index.

        Runs are numbered from 0 over the whole block. This is what metrics want that treat ties by their own definition.
        """
        query, column = np.nonzero(np.arange(self.width) < self.n_ranked[:, None])
        score = self._documents.scores(query, column)
        begins = np.ones(len(query), dtype=np.bool_)
        begins[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
        return query, np.cumsum(begins) - 1, self._grade_index(self.width)[query, column]

    def at_least_as_laid_out(self, chosen: BoolArray, depth: int) -> BoolArray:
        """By rank, tied documents in some order, whether the grade is one of the upper grades chosen (one flag a grade)."""
        lowest = len(chosen) - int(chosen.sum()) + 1
        key = ("at_least", lowest)
        known = self._memo.get(key)
        if known is None or known.shape[1] < depth:
            bits = self._documents.grade_bits
            if bits:
                known = self._documents.keys[:, :depth] & np.uint64(2**bits - 1) >= np.uint64(lowest)
            else:
                known = self._grade_index(depth) >= lowest
            known.setflags(write=False)
            self._memo[key] = known
        return np.asarray(known[:, :depth])

    def tied_places(self, depth: int) -> TiedPlaces:
        """Every document of the ties that begin above ``depth``."""
        return self.once(("tied places", depth), lambda: self._tied_places(depth))

    def tied_grades(self, depth: int) -> IntArray:
        """Grade indexes of the documents of `tied_places`, ascending within a tie."""
        return self.once(("tied grades", depth), lambda: self._tied_grades(self.tied_places(depth)))

    def tied_values(self, values: FloatArray, depth: int) -> FloatArray:
        """Return a value for each distinct grade, for the documents of `tied_places`."""
        return np.asarray(with_no_document(values)[self.tied_grades(depth)])

    def tie_sums(self, values: FloatArray, depth: int) -> FloatArray:
        """Sum of a value for each distinct grade over the whole of each tie that begins above ``depth``."""
        tied = self.tied_places(depth)
        if not tied.begins.size:
            return np.zeros(0)
        return np.asarray(np.add.reduceat(self.tied_values(values, depth), tied.begins))

    @staticmethod
    def replace_tied(matrix: FloatArray, tied: TiedPlaces, values: FloatArray) -> None:
        """Write values, one for each of `tied_places`, over the cells that are shown."""
        shown = tied.shown
        matrix[tied.row[shown], tied.column[shown]] = values[shown]

    def _tied_places(self, depth: int) -> TiedPlaces:
        assert self.ties is not None
        ties = self.ties.above(depth)
        tie = np.repeat(np.arange(len(ties.size)), ties.size)
        begins = np.cumsum(ties.size) - ties.size
        place = np.arange(len(tie)) - begins[tie]
        return TiedPlaces(ties, tie, place, begins, ties.first[tie] + place < depth)

    def _tied_grades(self, tied: TiedPlaces) -> IntArray:
        return self._documents.grade_index(tied.row, tied.column)

    def _grade_index(self, depth: int) -> IntArray:
        known = self._memo.get("grade_index")
        if known is None or known.shape[1] < depth:
            known = self._memo["grade_index"] = self._look_up_grades(depth)
        return np.asarray(known[:, :depth])

    def _look_up_grades(self, depth: int) -> IntArray:
        index = self._documents.grade_indexes(depth)
        return index if self._documents.grade_bits else np.where(np.arange(depth) < self.n_ranked[:, None], index, 0)
