"""The ties whose order counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.blocks import with_padding_value
from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics._engine.ties import TiedDocuments, TiedRanks, Ties


class OpenTies(NamedTuple):
    """The ties that begin above a depth and whose documents differ in grade.

    Attributes
    ----------
    ties : Ties
        ``query``, ``n_above`` and ``size`` of each tie.
    documents : TiedDocuments
        One entry for each document of these ties: the number of its tie (``tie``) and its position
        within the tie (``place``, from 0).
    grade : ndarray
        Grade index of each of these documents, ascending within a tie.
    ranks : TiedRanks
        The ranks of these ties within the depth.
    """

    ties: Ties
    documents: TiedDocuments
    grade: AnyArray
    ranks: TiedRanks

    @classmethod
    def of(cls, ranking: Ranking, depth: int) -> OpenTies | None:
        """Return the open ties of a ranking; None without any, as under every policy but "mean"."""
        return None if ranking.ties is None else ranking.cached(("open ties", depth), lambda: cls._of(ranking, depth))

    @classmethod
    def _of(cls, ranking: Ranking, depth: int) -> OpenTies | None:
        documents, grade = ranking.tied_documents(depth), ranking.tied_grades(depth)
        ties = documents.ties
        is_open = grade[documents.begins] != grade[documents.begins + ties.size - 1]
        if not is_open.any():
            return None
        if is_open.all():
            return cls(ties, documents, grade, ranking.tied_ranks(depth))
        ties = ties.take(np.flatnonzero(is_open))
        grade = grade[is_open[documents.tie]]
        documents = TiedDocuments.of(ties)
        return cls(ties, documents, grade, TiedRanks.of(documents, depth))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum a value of each distinct grade over the documents of each tie."""
        return np.asarray(np.add.reduceat(with_padding_value(values)[self.grade], self.documents.begins))

    def accumulated_above(self, accumulated: FloatArray, start: float) -> FloatArray:
        """Return the accumulated value above each tie; ``start`` for a tie at the top."""
        above = self.ties.n_above
        return np.where(above > 0, accumulated[self.ties.query, above - 1], start)

    def write(self, expected: FloatArray, by_rank: FloatArray) -> None:
        """Write the expected contributions, one a document, over a (queries x depth) matrix."""
        self.ranks.show(expected, by_rank)
