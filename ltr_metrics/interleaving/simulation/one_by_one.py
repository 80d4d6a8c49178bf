"""Methods that mix one impression at a time, among others that mix many."""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.words import RuleOfCredit
from ltr_metrics.errors import warn
from ltr_metrics.interleaving import method as single
from ltr_metrics.interleaving.simulation.layout import ManyRankings, Shown


class OneByOne:
    """A method's objects, one a query, made when the query is first drawn.

    Attributes
    ----------
    grade : ndarray of int
        Of each document, and -1 behind the last one for no document.
    """

    in_threads = False  # Python runs one at a time, and warnings are collected

    def __init__(
        self, rankings: ManyRankings, method: type[single.Method], rule: RuleOfCredit, options: dict[str, Any]
    ) -> None:
        self._rankings, self._method, self._rule, self._options = rankings, method, rule, options
        self.grade: AnyArray = np.append(rankings.grade, -1)
        self._n_made, self._warnings = 0, list[str]()
        self._of_query = cache(self._make)

    @cached_property
    def _documents(self) -> list[IntArray]:
        """The documents of all queries as each ranker ranks them."""
        first = np.repeat(self._rankings.starts, self._rankings.sizes)
        placed = self._rankings.rank - 1 + first
        return [np.argsort(of_ranker) for of_ranker in placed]

    def _make(self, query: int) -> single.Method:
        start, size = int(self._rankings.starts[query]), int(self._rankings.sizes[query])
        rankings = [of_ranker[start : start + size] for of_ranker in self._documents]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = self._method(rankings, length=self._rankings.length, **self._options)
        self._n_made += 1
        self._warnings += [str(one.message) for one in caught]
        return made

    def warn(self) -> None:
        """Say once what the methods of single queries warned of."""
        if self._warnings:
            warn(
                f"{len(self._warnings)} of {self._n_made} queries that were shown had a warning, the first: {self._warnings[0]}"
            )

    def mix(self, query: IntArray, rng: np.random.Generator) -> Shown:
        """Draw a list of each of these queries."""
        length = int(self._rankings.n_shown.max())
        documents = np.full((length, len(query)), len(self.grade) - 1, dtype=np.intp)
        teams = np.full(documents.shape, -1, dtype=np.intp) if self._method.has_teams else None
        for impression, one in enumerate(query.tolist()):
            shown = self._of_query(one).mix(rng)
            n = len(shown.documents)
            documents[:n, impression] = np.array(shown.documents, dtype=np.intp)
            if teams is not None:
                teams[:n, impression] = np.array(shown.teams)
        return Shown(documents, teams)

    def credit(self, query: IntArray, shown: Shown, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.zeros((len(self._rankings), len(query)))
        n_shown = (shown.documents < len(self.grade) - 1).sum(axis=0)
        for impression in np.flatnonzero(clicked.any(axis=0)).tolist():
            n = n_shown[impression]
            documents = shown.documents[:n, impression].tolist()
            teams = None if shown.teams is None else shown.teams[:n, impression].tolist()
            places = np.flatnonzero(clicked[:, impression])
            one = self._of_query(int(query[impression]))
            credit[:, impression] = one.credit(single.Shown(documents, teams), places, self._rule)
        return credit
