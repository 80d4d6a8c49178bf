"""Methods that mix one impression at a time, with the interface of those that mix many."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics.interleaving.method import Method, Shown
from ltr_metrics.interleaving.simulation.candidates import Mixer, RankingArrays, ShownLists


class OneByOne(Mixer):
    """One method object per query, built when the query is first drawn."""

    uses_threads = False  # this is Python code, which runs one thread at a time, and it collects warnings

    def __init__(self, rankings: RankingArrays, method: type[Method], options: dict[str, Any]) -> None:
        self._rankings, self._method, self._options = rankings, method, options
        self.grade, self.warnings = np.append(rankings.grade, -1), list[str]()
        self._of_query = cache(self._build)

    def _build(self, query: int) -> Method:
        start, size = int(self._rankings.starts[query]), int(self._rankings.sizes[query])
        rankings = start + np.argsort(self._rankings.rank[:, start : start + size], axis=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            method = self._method(rankings, length=self._rankings.length, **self._options)
        self.warnings += [f"query {query} (from 0): {warning.message}" for warning in caught]
        return method

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        length = int(self._rankings.n_shown.max())
        documents = np.full((length, len(query)), len(self.grade) - 1, dtype=np.intp)
        teams = np.full(documents.shape, -1, dtype=np.intp) if self._method.has_teams else None
        for impression, one in enumerate(query.tolist()):
            shown = self._of_query(one).mix(rng)
            n = len(shown.documents)
            documents[:n, impression] = shown.documents
            if teams is not None:
                teams[:n, impression] = shown.teams
        return ShownLists(documents, teams)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.zeros((len(self._rankings), len(query)))
        n_shown = (shown.documents < len(self.grade) - 1).sum(axis=0)
        for impression in np.flatnonzero(clicked.any(axis=0)).tolist():
            n = n_shown[impression]
            teams = None if shown.teams is None else shown.teams[:n, impression].tolist()
            one = Shown(shown.documents[:n, impression].tolist(), teams)
            slots = np.flatnonzero(clicked[:, impression])
            credit[:, impression] = self._of_query(int(query[impression])).credit(one, slots)
        return credit
