"""What metrics check of all labels together, where no place holds all of them: the grades, and how long the longest query is."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics.errors import LtrError, LtrWarning
from ltr_metrics.metrics.requests import Request

GRADES_KEPT = 1_000  # labels may be fractional, and as many as rows


class LabelChecks:
    """Notes on the labels of parts of the queries, which add up to those of all of them.

    Each part is checked where it is evaluated, and what is worth a warning there is let be: one part may lack the highest grade.
    `check` then warns, or refuses, once.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.evaluation.label_checks import LabelChecks
    >>> one, other = LabelChecks(), LabelChecks()
    >>> one.add(ltr.Queries([0, 4], group=[2]))
    >>> other.add(ltr.Queries([0, 1, 0], group=[3]))
    >>> both = one + other
    >>> both.grades, both.longest
    (array([0., 1., 4.]), 3)
    """

    def __init__(self) -> None:
        self.grades: FloatArray = np.zeros(0)
        self.longest = 0
        self.columns: tuple[str, ...] = ()

    def add(self, queries: LabelledQueries) -> None:
        """Take note of some queries."""
        self._take(queries.grades, int(queries.sizes.max()), queries.columns)

    def __add__(self, other: LabelChecks) -> LabelChecks:
        both = LabelChecks()
        for one in (self, other):
            both._take(one.grades, one.longest, one.columns)
        return both

    def _take(self, grades: FloatArray, longest: int, columns: Iterable[str]) -> None:
        self.grades = np.union1d(self.grades, grades)
        if len(self.grades) > GRADES_KEPT:  # each part was checked; what all of them decide are the extremes
            self.grades = np.concatenate((self.grades[: GRADES_KEPT // 2], self.grades[-GRADES_KEPT // 2 :]))
        self.longest = max(self.longest, longest)
        self.columns = tuple(dict.fromkeys((*self.columns, *columns)))

    def check(self, request: Request) -> None:
        """Let each metric warn, or refuse, as it does where all rows are in memory."""
        if not self.longest:
            return
        y = np.resize(self.grades, max(len(self.grades), self.longest))
        group = np.full(-(-len(y) // self.longest), self.longest)
        group[-1] -= group.sum() - len(y)
        queries = _OfGrades(y, group=group, columns={name: np.zeros(len(y)) for name in self.columns})
        for metric in request.metrics:
            metric.check(queries)


class _OfGrades(LabelledQueries):
    """Queries that were made of grades, whose rows nobody has."""

    def where(self, row: int) -> str:
        return "some row"


_SILENCE = threading.Lock()  # the warnings of a process are one list for all of its threads


def check_in_silence(queries: LabelledQueries, request: Request) -> None:
    """Have each metric check the labels of a part without a warning: what is worth one is decided by the labels of all parts together."""
    queries.may_be_swapped = False  # a part says too little
    with _SILENCE, warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        for metric in request.metrics:
            with suppress(LtrError):  # which the evaluation raises again
                metric.check_once(queries)
