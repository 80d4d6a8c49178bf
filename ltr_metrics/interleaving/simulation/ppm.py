"""Pairwise Preference Multileaving of many impressions at once; `interleaving/pairwise_preference.py` has the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray, require_option
from ltr_metrics._engine.words import Pairs, RuleOfCredit
from ltr_metrics.interleaving.pairwise_preference import PAIRS
from ltr_metrics.interleaving.simulation.layout import Candidates, Draws, ManyRankings, Shown

CELLS = 2**22  # pairs of places times impressions at a time: so much memory, and no more


class Preferred(NamedTuple):
    """Pairs of documents of which clicks prefer one, and that could have stood in each other's place."""

    impression: IntArray
    document: IntArray
    other: IntArray


class ManyPairwisePreferences(Candidates):
    """PPM over the candidates of many queries."""

    def __init__(self, rankings: ManyRankings, rule: RuleOfCredit = "own", *, pairs: Pairs = "joachims") -> None:
        super().__init__(rankings, rule)
        self.pairs = require_option("pairs", pairs, PAIRS)
        n_queries = len(self.offset)
        at_rank = self.query * self.length + self.top[:-1] - 1
        of_query = np.bincount(at_rank, minlength=n_queries * self.length).reshape(n_queries, self.length)
        self.choices: IntArray = np.maximum(np.cumsum(of_query, axis=1) - np.arange(self.length), 0)
        with np.errstate(divide="ignore"):
            # Where there is one choice, a pair that spans the place cannot count: the upper document stands there or above.
            stays = np.where(self.choices > 1, np.log1p(-1 / np.maximum(self.choices, 2)), 0.0)
        self.log_stays: FloatArray = np.concatenate([np.zeros((n_queries, 1)), np.cumsum(stays, axis=1)], axis=1)

    def mix(self, query: IntArray, rng: np.random.Generator) -> Shown:
        """Draw a list of each of these queries."""
        pool = Draws(len(query), max(self.widest, self.length))
        choices = self.choices.T[:, query]
        steps = (rng.random(choices.shape) * choices).astype(np.intp)
        documents = np.empty(choices.shape, dtype=np.intp)
        offset = self.offset[query]
        for place, of_place in enumerate(documents):
            np.add(offset, pool.draw(steps[place]), out=of_place)
            if not self.all_show_as_many:
                of_place[~self.are_shown(query, place)] = self.nothing
        return Shown(documents)

    def credit(self, query: IntArray, shown: Shown, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        if self.rule == "clicks":
            return self.credit_clicks(shown, clicked)
        length = int(self.n_shown[query].max())
        at_once = max(1, CELLS // length**2)  # every fourth pair or so may count
        parts = [slice(start, start + at_once) for start in range(0, len(query), at_once)]
        return np.concatenate(
            [self._credit_of(query[part], shown.documents[:length, part], clicked[:length, part]) for part in parts],
            axis=1,
        )

    def _credit_of(self, query: IntArray, documents: IntArray, clicked: BoolArray) -> FloatArray:
        n = len(query)
        pairs = self._preferred(documents, clicked)
        one, two = self.top.take(pairs.document), self.top.take(pairs.other)
        of_query = query.take(pairs.impression) * self.log_stays.shape[1] - 1
        stays = self.log_stays.reshape(-1)
        weight = np.exp(stays.take(of_query + np.minimum(one, two)) - stays.take(of_query + np.maximum(one, two)))
        ahead = np.sign(self.rank.take(pairs.other, axis=0) - self.rank.take(pairs.document, axis=0))
        credit = np.empty((self.n_rankers, n))
        for ranker, of_ranker in enumerate(credit):
            of_ranker[:] = np.bincount(pairs.impression, weights=ahead[:, ranker] * weight, minlength=n)
        if self.pairs == "authors":
            credit /= np.maximum(np.bincount(pairs.impression, minlength=n), 1)
        return credit

    def _preferred(self, documents: IntArray, clicked: BoolArray) -> Preferred:
        """Find the pairs, place by place, and list them."""
        length, n = documents.shape
        not_clicked, top = ~clicked, self.top.take(documents)
        upper = np.arange(1, length + 1)[:, np.newaxis]
        click_follows = np.logical_or.accumulate(clicked[::-1], axis=0)[::-1]
        flat, found = documents.reshape(-1), []
        for place in range(length):
            # The upper one of a pair stands below its best rank anyhow; the lower one could have stood there, too.
            above = not_clicked[:place] & clicked[place]
            above &= top[place] <= upper[:place]
            below = slice(place + 1, length if self.pairs == "authors" else place + 2)
            under = not_clicked[below] & clicked[place]
            under &= top[below] <= place + 1
            if self.pairs == "authors":
                under &= click_follows[place : length - 1]
            at = np.concatenate([np.flatnonzero(above), np.flatnonzero(under) + (place + 1) * n])
            found.append((at % n, flat[place * n : (place + 1) * n].take(at % n), flat.take(at)))
        return Preferred(*map(np.concatenate, zip(*found, strict=True)))
