"""Pairwise Preference Multileaving for many impressions at once.

`ltr_metrics/interleaving/pairwise_preference.py` has the formulas.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics.interleaving.simulation.candidates import Candidates, Draws, RankingArrays, ShownLists

MAX_CELLS = 2**22  # pairs of slots times impressions that are processed at a time, which limits the memory


class Preferences(NamedTuple):
    """Pairs of documents such that clicks prefer one and either could have been in the other's slot."""

    impression: IntArray
    document: IntArray
    other: IntArray


class VectorizedPPM(Candidates):
    """PPM over the candidates of many queries."""

    def __init__(self, rankings: RankingArrays) -> None:
        super().__init__(rankings)
        n_queries = len(self.offset)
        cell = self.query * self.length + self.top[:-1] - 1
        n_new = np.bincount(cell, minlength=n_queries * self.length).reshape(n_queries, self.length)
        self.n_choices: IntArray = np.maximum(np.cumsum(n_new, axis=1) - np.arange(self.length), 0)
        with np.errstate(divide="ignore"):
            # A slot with one choice cannot lie between the documents of a pair that counts: the upper
            # document is at the slot or above.
            log_not_drawn = np.where(self.n_choices > 1, np.log1p(-1 / np.maximum(self.n_choices, 2)), 0.0)
        cumulative = np.cumsum(log_not_drawn, axis=1)
        self.log_not_drawn: FloatArray = np.concatenate([np.zeros((n_queries, 1)), cumulative], axis=1)

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        pool = Draws(len(query), max(self.max_candidates, self.length))
        n_choices = self.n_choices.T[:, query]
        steps = (rng.random(n_choices.shape) * n_choices).astype(np.intp)
        documents = np.empty(n_choices.shape, dtype=np.intp)
        offset = self.offset[query]
        for slot, slot_documents in enumerate(documents):
            np.add(offset, pool.draw(steps[slot]), out=slot_documents)
        self.clear_unused_slots(documents, query)
        return ShownLists(documents)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        length = int(self.n_shown[query].max())
        step = max(1, MAX_CELLS // length**2)
        parts = [slice(start, start + step) for start in range(0, len(query), step)]
        return np.concatenate(
            [self._credit_part(query[part], shown.documents[:length, part], clicked[:length, part]) for part in parts],
            axis=1,
        )

    def _credit_part(self, query: IntArray, documents: IntArray, clicked: BoolArray) -> FloatArray:
        n = len(query)
        pairs = self._preferences(documents, clicked)
        one, two = self.top.take(pairs.document), self.top.take(pairs.other)
        row = query.take(pairs.impression) * self.log_not_drawn.shape[1] - 1
        log_not_drawn = self.log_not_drawn.reshape(-1)
        first, last = row + np.minimum(one, two), row + np.maximum(one, two)
        weight = np.exp(log_not_drawn.take(first) - log_not_drawn.take(last))
        sign = np.sign(self.rank.take(pairs.other, axis=0) - self.rank.take(pairs.document, axis=0))
        credit = np.empty((self.n_rankers, n))
        for ranker, ranker_credit in enumerate(credit):
            ranker_credit[:] = np.bincount(pairs.impression, weights=sign[:, ranker] * weight, minlength=n)
        return credit

    def _preferences(self, documents: IntArray, clicked: BoolArray) -> Preferences:
        """Return the preferences of all impressions, by slot of the clicked document."""
        length, n = documents.shape
        not_clicked, top = ~clicked, self.top.take(documents)
        slot_rank = np.arange(1, length + 1)[:, np.newaxis]
        flat, parts = documents.reshape(-1), []
        for slot in range(length):
            # The upper document of a pair could always be in the lower slot. The lower document must
            # be able to be in the upper slot, too.
            above = not_clicked[:slot] & clicked[slot]
            above &= top[slot] <= slot_rank[:slot]
            below = not_clicked[slot + 1 : slot + 2] & clicked[slot]
            below &= top[slot + 1 : slot + 2] <= slot + 1
            cells = np.concatenate([np.flatnonzero(above), np.flatnonzero(below) + (slot + 1) * n])
            impression = cells % n
            parts.append((impression, documents[slot].take(impression), flat.take(cells)))
        return Preferences(*map(np.concatenate, zip(*parts, strict=True)))
