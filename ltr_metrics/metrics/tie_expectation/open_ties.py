"""The ties whose order counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.ranking import Ranking, values_of_grades
from ltr_metrics._engine.ties import TiedDocuments, Ties


class OpenTies(NamedTuple):
    """The ties that begin above a depth and whose documents differ in grade.

    Attributes
    ----------
    ties : Ties
        ``query``, ``n_above`` and ``size`` of each tie.
    documents : TiedDocuments
        One entry for each document of these ties: the number of its tie (``tie``) and its position
        within the tie (``rank_in_tie``, from 0).
    grade : ndarray
        Grade index of each of these documents, ascending within a tie.
    """

    ties: Ties
    documents: TiedDocuments
    grade: AnyArray

    @staticmethod
    def of(ranking: Ranking, depth: int) -> OpenTies | None:
        """Return the open ties of a ranking; None without any, as under every policy but "mean"."""
        documents = ranking.open_documents(depth)
        return None if documents is None else OpenTies(documents.ties, documents, documents.grades)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum a value of each distinct grade over the documents of each tie."""
        return self.documents.sum(values_of_grades(values, self.grade))

    def accumulated_above(self, accumulated: FloatArray, start: float) -> FloatArray:
        """Return the accumulated value above each tie; ``start`` for a tie at the top."""
        above = self.ties.n_above
        return np.where(above > 0, accumulated[self.ties.query, above - 1], start)

    def write(self, expected: FloatArray, by_rank: FloatArray) -> None:
        """Write the expected contributions, one a document, over a (queries x depth) matrix."""
        self.documents.fill_documents(expected, by_rank)
