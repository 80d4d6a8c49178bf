"""Methods that mix one impression at a time, with the interface of those that mix many."""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.errors import warn
from ltr_metrics.interleaving.method import Method, Shown
from ltr_metrics.interleaving.simulation.layout import Mixer, RankingArrays, ShownLists


class OneByOne(Mixer):
    """One method object per query, built when the query is first drawn."""

    uses_threads = False  # this is Python code, which runs one thread at a time, and it collects warnings

    def __init__(self, rankings: RankingArrays, method: type[Method], options: dict[str, Any]) -> None:
        self._rankings, self._method, self._options = rankings, method, options
        self.grade: AnyArray = np.append(rankings.grade, -1)
        self._n_built, self._warnings = 0, list[str]()
        self._of_query = cache(self._build)

    @cached_property
    def _documents(self) -> list[IntArray]:
        """The documents of all queries in the order of each ranker."""
        first = np.repeat(self._rankings.starts, self._rankings.sizes)
        offsets = self._rankings.rank - 1 + first
        return [np.argsort(ranker_offsets) for ranker_offsets in offsets]

    def _build(self, query: int) -> Method:
        start, size = int(self._rankings.starts[query]), int(self._rankings.sizes[query])
        rankings = [documents[start : start + size] for documents in self._documents]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            method = self._method(rankings, length=self._rankings.length, **self._options)
        self._n_built += 1
        self._warnings += [str(warning.message) for warning in caught]
        return method

    def warn(self) -> None:
        """Warn once for all queries whose methods gave a warning."""
        if self._warnings:
            warn(
                f"{len(self._warnings)} of {self._n_built} queries that were shown gave a warning, the first: "
                f"{self._warnings[0]}"
            )

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        length = int(self._rankings.n_shown.max())
        documents = np.full((length, len(query)), len(self.grade) - 1, dtype=np.intp)
        teams = np.full(documents.shape, -1, dtype=np.intp) if self._method.has_teams else None
        for impression, one in enumerate(query.tolist()):
            shown = self._of_query(one).mix(rng)
            n = len(shown.documents)
            documents[:n, impression] = np.array(shown.documents, dtype=np.intp)
            if teams is not None:
                teams[:n, impression] = np.array(shown.teams)
        return ShownLists(documents, teams)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.zeros((len(self._rankings), len(query)))
        n_shown = (shown.documents < len(self.grade) - 1).sum(axis=0)
        for impression in np.flatnonzero(clicked.any(axis=0)).tolist():
            n = n_shown[impression]
            documents = shown.documents[:n, impression].tolist()
            teams = None if shown.teams is None else shown.teams[:n, impression].tolist()
            slots = np.flatnonzero(clicked[:, impression])
            credit[:, impression] = self._of_query(int(query[impression])).credit(Shown(documents, teams), slots)
        return credit
