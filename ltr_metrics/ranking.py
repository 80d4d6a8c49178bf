"""Labels and scores to ranked documents: the package's one sort, shared by all metrics, and the ties that it leaves.

Each document becomes one 64-bit word, score first (as an unsigned integer that falls as the score rises), then its place
in the layout, then its grade. A plain sort of such words is the fastest that NumPy has, and brings the grades along.
The low bits of the score that the place and the grade displace are checked afterwards, so the order is exact.

What stands in the place bits is the tie policy: the layout is in input order (stable), in ascending order of grade (worst),
descending (best) or by document id. For "mean" any layout will do; ascending grades suit the cascade's recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr_metrics.blocks import Arrangement, Block, KeyArray, with_no_document
from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.memo import Memo
from ltr_metrics.queries import LabelledQueries

LAYOUT_OF_TIES = {
    "mean": "ascending",
    "stable": "input",
    "worst": "ascending",
    "best": "descending",
    "docid": "docid",
}
FLOAT32_SPARE_BITS = 29  # low bits that are zero in a float64 made from a float32


class NotANumberError(Exception):
    """A score is NaN; the caller, who has all rows, says where."""


def rank(block: Block, scores: AnyArray, ties: str) -> Ranking:
    """Sort every query of a block by falling score; infinite scores rank first and last."""
    arrangement = block.arranged(LAYOUT_OF_TIES[ties])
    score = scores.take(arrangement.rows, mode="clip").astype(np.float64, copy=False)
    if np.isnan(score.min()):
        raise NotANumberError
    keys = _falling_words(score)
    drop = np.uint64(arrangement.tail_bits)
    keys >>= drop
    keys <<= drop
    keys |= arrangement.tail
    keys.sort(axis=1)
    exact = scores.dtype == np.float32 and arrangement.tail_bits <= FLOAT32_SPARE_BITS
    if exact and ties != "mean":
        return Ranking(block, arrangement, keys, score, None)
    tied = _settle_equal_prefixes(arrangement, keys, score, exact)
    return Ranking(
        block, arrangement, keys, score, Ties.of_neighbours(tied, block.width) if ties == "mean" and tied.size else None
    )


def _falling_words(score: FloatArray) -> KeyArray:
    """Unsigned integers that rise as the score falls; -0.0 equals 0.0."""
    score += 0.0  # turns -0.0 into 0.0
    signed = score.view(np.int64)
    word = signed >> 63
    np.invert(word, out=word)
    word &= np.int64(0x7FFF_FFFF_FFFF_FFFF)
    word ^= signed
    return word.view(np.uint64)


def _settle_equal_prefixes(arrangement: Arrangement, keys: KeyArray, score: FloatArray, exact: bool) -> IntArray:
    """Put documents right whose scores differ only in dropped bits; return the cells that tie with the next one."""
    width = keys.shape[1]
    alike = (keys[:, 1:] ^ keys[:, :-1]) < np.uint64(2**arrangement.tail_bits)
    alike.ravel()[arrangement.padding_pairs] = False
    cells = np.flatnonzero(alike)
    cells += cells // max(width - 1, 1)  # from the matrix of neighbours to the matrix of documents
    if exact or not cells.size:
        return cells
    this, following = _true_scores(arrangement, keys, score, cells), _true_scores(arrangement, keys, score, cells + 1)
    swapped = this < following
    if swapped.any():
        run = np.cumsum(np.diff(cells, prepend=cells[0] - 1) != 1)
        _sort_again(arrangement, keys, score, cells[np.isin(run, run[swapped])])
        this = _true_scores(arrangement, keys, score, cells)
        following = _true_scores(arrangement, keys, score, cells + 1)
    return np.asarray(cells[this == following])


def _sort_again(arrangement: Arrangement, keys: KeyArray, score: FloatArray, cells: IntArray) -> None:
    """Sort runs of equal prefixes, given by all their cells but the last, by true score, then by place."""
    members = np.union1d(cells, cells + 1)
    flat = keys.ravel()
    words = flat[members]
    falling = -_true_scores(arrangement, keys, score, members)
    order = np.lexsort((words, falling, words >> np.uint64(arrangement.tail_bits), members // keys.shape[1]))
    flat[members] = words[order]


def _true_scores(arrangement: Arrangement, keys: KeyArray, score: FloatArray, cells: IntArray) -> FloatArray:
    """Scores of the documents that stand in the given cells after the sort."""
    width = keys.shape[1]
    place = _places(arrangement, keys.ravel()[cells])
    return np.asarray(score.ravel()[cells // width * width + place])


def _places(arrangement: Arrangement, keys: KeyArray) -> IntArray:
    mask = np.uint64(2**arrangement.place_bits - 1)
    place: IntArray = (keys >> np.uint64(arrangement.grade_bits) & mask).astype(np.intp)
    return place


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

    def __init__(
        self, block: Block, arrangement: Arrangement, keys: KeyArray, score: FloatArray, ties: Ties | None
    ) -> None:
        super().__init__()
        self.block = block
        self.ties = ties
        self._arrangement = arrangement
        self._keys = keys
        self._score = score

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
        if self.ties is not None:
            query = self.queries.qid[self.block.members[self.ties.row[0]]]
            raise LtrValueError(
                f'ties="mean" leaves the order of equal scores open, so there is no one ranking to look at: query {query} has '
                f"{self.ties.size[0]} documents of equal score from rank {self.ties.first[0] + 1} on. Use ranking.expected for what "
                'adds up over ranks, or evaluate with ties="stable", "worst" or "best".'
            )
        return self.as_laid_out(values, self.depth(depth))

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
        row = np.arange(len(self._keys))[:, None]
        ranked = values[self._rows(row, np.arange(depth))]
        ranked[np.arange(depth) >= self.n_ranked[:, None]] = 0.0
        if self.ties is not None:
            tied = self.tied_places(depth)
            if tied.begins.size:
                sums = np.add.reduceat(values[self._rows(tied.row, tied.column)], tied.begins)
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
        score = self._score[query, self._places(query, column)]
        begins = np.ones(len(query), dtype=np.bool_)
        begins[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
        return query, np.cumsum(begins) - 1, self._grade_index(self.width)[query, column]

    def _rows(self, row: IntArray, column: IntArray) -> IntArray:
        """Rows of the input whose documents stand in the given cells."""
        return np.asarray(self._arrangement.rows[row, self._places(row, column)])

    def _places(self, row: IntArray, column: IntArray) -> IntArray:
        """Places in the layout of the documents in the given cells; padding has the last one."""
        return np.minimum(_places(self._arrangement, self._keys[row, column]), self.width - 1)

    def at_least(self, chosen: BoolArray, depth: int) -> BoolArray:
        """By rank, tied documents in some order, whether the grade is one of the upper grades chosen (one flag a grade)."""
        lowest = len(chosen) - int(chosen.sum()) + 1
        key = ("at_least", lowest)
        known = self._memo.get(key)
        if known is None or known.shape[1] < depth:
            if self._arrangement.grade_bits:
                known = self._keys[:, :depth] & np.uint64(2**self._arrangement.grade_bits - 1) >= np.uint64(lowest)
            else:
                known = self._grade_index(depth) >= lowest
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
        row, column = tied.row, tied.column
        return self._decode(self._keys[row, column], row, column)

    def _grade_index(self, depth: int) -> IntArray:
        known = self._memo.get("grade_index")
        if known is None or known.shape[1] < depth:
            rows, columns = np.arange(len(self._keys))[:, None], np.arange(depth)
            known = self._memo["grade_index"] = self._decode(self._keys[:, :depth], rows, columns)
        return np.asarray(known[:, :depth])

    def _decode(self, keys: KeyArray, row: IntArray, column: IntArray) -> IntArray:
        """Grade indexes from sort keys, which stand in the given rows and columns."""
        grades = self._arrangement.grades
        if grades is None:
            return (keys & np.uint64(2**self._arrangement.grade_bits - 1)).astype(np.intp)
        index = grades[row, np.minimum(_places(self._arrangement, keys), grades.shape[1] - 1)]
        return np.where(column < self.n_ranked[row], index, 0)
