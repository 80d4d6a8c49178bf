"""The rankings of many queries as flat arrays, and Team Draft and PPM for many impressions at once.

Their rules and formulas are in `team_draft.py` and `pairwise_preference.py`. A mixer draws a list for
each of many queries (`mix`), and gives each ranker credit for each of these impressions (`credit`), as
an array of shape (n_rankers, n_impressions). This is a hundred times as fast as one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.evaluation.evaluate import Queries

MAX_CELLS = 2**22  # pairs of slots times impressions that are processed at a time, which limits the memory


@dataclass(frozen=True, eq=False)
class RankingArrays:
    """The rankings of all rankers on many queries.

    Attributes
    ----------
    rank : ndarray of int of shape (n_documents + 1, n_rankers)
        Rank of each document, from 1. The documents of a query are adjacent. The last entry is not a
        document: it fills the slots of a query that has no more documents.
    grade : ndarray of int of shape (n_documents + 1,)
        -1 for the last entry.
    row : ndarray of int of shape (n_documents,)
        Row of each document in the data.
    sizes : ndarray of int of shape (n_queries,)
        Number of documents of each query, at least one.
    length : int
        Maximum number of documents in a list.
    """

    rank: AnyArray
    grade: IntArray
    row: IntArray
    sizes: IntArray
    length: int

    @classmethod
    def from_scores(
        cls, queries: Queries, scores: list[AnyArray], length: int, tie_break: AnyArray | None
    ) -> RankingArrays:
        """Rank the retrieved documents by each model's scores.

        Ties are ordered by ascending ``tie_break``, or by row without it.
        """
        rows = queries.rows_in_query_order()
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        if queries.retrieved is not None:
            retrieved = queries.retrieved[rows]
            rows, query = rows[retrieved], query[retrieved]
        sizes = np.bincount(query)
        sizes = sizes[sizes > 0]
        rank_of_order = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank = np.full((len(rows) + 1, len(scores)), sizes.max(initial=0) + 1, dtype=np.int32)
        second = () if tie_break is None else (tie_break[rows],)
        for ranker, score in enumerate(scores):
            rank[np.lexsort((*second, -score[rows], query)), ranker] = rank_of_order
        grade = np.append(0.0, queries.grades)[queries.grade_index[rows]]
        return cls(rank, np.append(grade, -1).astype(np.intp), rows, sizes, length)

    @property
    def nothing(self) -> int:
        """The index that is not a document."""
        return len(self.row)

    @cached_property
    def starts(self) -> IntArray:
        """Index of the first document of each query."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def query(self) -> IntArray:
        """Query of each document."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def best_rank(self) -> AnyArray:
        """Best rank of each document in any ranking."""
        return np.asarray(self.rank.min(axis=1))

    @cached_property
    def n_shown(self) -> IntArray:
        """Number of documents in the lists of each query."""
        return np.minimum(self.sizes, self.length)

    def candidates(self) -> RankingArrays:
        """Return the documents that may be shown, by best rank: those in the top of any ranking."""
        top = self.best_rank[:-1]
        kept = np.flatnonzero(top <= self.length)
        kept = kept[np.lexsort((top[kept], self.query[kept]))]
        n_candidates = np.bincount(self.query[kept])  # every query has a document, whose rank is 1
        with_nothing = np.append(kept, self.nothing)
        longest = int(self.n_shown.max())
        return RankingArrays(self.rank[with_nothing], self.grade[with_nothing], self.row[kept], n_candidates, longest)

    def without_unused_slots(self, documents: IntArray, query: IntArray) -> IntArray:
        """Return the documents of lists, with `nothing` in the slots after the end of each list."""
        if self.n_shown.min() < self.length:
            documents[np.arange(len(documents))[:, np.newaxis] >= self.n_shown[query]] = self.nothing
        return documents


class ShownLists(NamedTuple):
    """The lists of many impressions, by slot, so that a step for all impressions is contiguous.

    Attributes
    ----------
    documents : ndarray of int of shape (length, n_impressions)
        Indices of the documents of the mixer's rankings.
    teams : ndarray of int of shape (length, n_impressions), or None
        The ranker that added each document.
    """

    documents: IntArray
    teams: AnyArray | None = None


class Draws:
    """Successive draws without replacement for many impressions at once (Fisher and Yates).

    Each impression has a pool that begins with what was drawn. The range to draw from may grow from
    draw to draw.
    """

    def __init__(self, n_impressions: int, width: int) -> None:
        self._pool = np.empty((n_impressions, width), dtype=np.min_scalar_type(width))
        self._pool[:] = np.arange(width)
        self._flat = self._pool.reshape(-1)
        self._next = np.arange(0, n_impressions * width, width)

    def draw(self, step: IntArray) -> AnyArray:
        """Draw, for each impression, the item ``step`` after the next of its pool."""
        offset = self._next + step
        drawn = self._flat.take(offset)
        self._flat[offset] = self._flat.take(self._next)
        self._next += 1
        return drawn


class VectorizedTeamDraft:
    """Team Draft over the candidates of many queries.

    All rankers rank all documents of a query, so they run out of documents together.
    """

    def __init__(self, rankings: RankingArrays) -> None:
        self.rankings = rankings = rankings.candidates()
        self.n_rankers, self.depth = rankings.rank.shape[1], rankings.length + 1
        self.max_candidates = int(rankings.sizes.max())
        # The candidates of each query that each ranker has at the top, followed by an index that is no candidate.
        shape = len(rankings.sizes), self.n_rankers, self.depth
        self.lists: AnyArray = np.full(shape, self.max_candidates, dtype=np.intp)
        document, ranker = np.nonzero(rankings.rank[:-1] <= rankings.length)
        query = rankings.query[document]
        self.lists[query, ranker, rankings.rank[document, ranker] - 1] = document - rankings.starts[query]

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        n, n_rankers, width = len(query), self.n_rankers, self.max_candidates + 1
        is_listed = np.zeros((n, width), dtype=np.bool_)
        flat_listed, impression_start = is_listed.reshape(-1), np.arange(0, n * width, width)
        # The offset in self.lists of each ranker's next candidate, by impression and ranker.
        next_offset = ((query[:, np.newaxis] * n_rankers + np.arange(n_rankers)) * self.depth).reshape(-1)
        lists = self.lists.reshape(-1)
        first_ranker = np.arange(0, n * n_rankers, n_rankers)
        documents = np.empty((self.rankings.length, n), dtype=np.intp)
        teams = np.empty(documents.shape, dtype=np.min_scalar_type(n_rankers))
        draws = rng.random(documents.shape)
        for slot in range(len(documents)):
            turn = slot % n_rankers
            if turn == 0:
                order = Draws(n, n_rankers)
            team = teams[slot] = order.draw((draws[slot] * (n_rankers - turn)).astype(np.intp))
            ranker = first_ranker + team
            offset = next_offset.take(ranker)
            document = lists.take(offset)
            repeated = np.flatnonzero(flat_listed.take(impression_start + document))
            while repeated.size:  # the ranker's next document is listed already
                offset[repeated] += 1
                document[repeated] = next_document = lists.take(offset.take(repeated))
                repeated = repeated[flat_listed.take(impression_start.take(repeated) + next_document)]
            next_offset[ranker] = offset
            flat_listed[impression_start + document] = True
            is_listed[:, self.max_candidates] = False
            documents[slot] = document
        documents += self.rankings.starts[query]
        return ShownLists(self.rankings.without_unused_slots(documents, query), teams)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        of_ranker = [((shown.teams == ranker) & clicked).sum(axis=0) for ranker in range(self.n_rankers)]
        return np.array(of_ranker, dtype=np.float64)


class VectorizedPPM:
    """PPM over the candidates of many queries."""

    def __init__(self, rankings: RankingArrays) -> None:
        self.rankings = rankings = rankings.candidates()
        n_queries, length = len(rankings.sizes), rankings.length
        cell = rankings.query * length + rankings.best_rank[:-1] - 1
        n_new = np.bincount(cell, minlength=n_queries * length).reshape(n_queries, length)
        self.n_choices: IntArray = np.maximum(np.cumsum(n_new, axis=1) - np.arange(length), 0)
        with np.errstate(divide="ignore"):
            # A slot with one choice cannot lie between the documents of a pair that counts: the upper
            # document is at the slot or above.
            log_not_drawn = np.where(self.n_choices > 1, np.log1p(-1 / np.maximum(self.n_choices, 2)), 0.0)
        cumulative = np.cumsum(log_not_drawn, axis=1)
        self.log_not_drawn: FloatArray = np.concatenate([np.zeros((n_queries, 1)), cumulative], axis=1)

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        pool = Draws(len(query), max(int(self.rankings.sizes.max()), self.rankings.length))
        n_choices = self.n_choices.T[:, query]
        steps = (rng.random(n_choices.shape) * n_choices).astype(np.intp)
        documents = np.empty(n_choices.shape, dtype=np.intp)
        offset = self.rankings.starts[query]
        for slot, slot_documents in enumerate(documents):
            np.add(offset, pool.draw(steps[slot]), out=slot_documents)
        return ShownLists(self.rankings.without_unused_slots(documents, query))

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        step = max(1, MAX_CELLS // self.rankings.length**2)
        parts = [slice(start, start + step) for start in range(0, len(query), step)]
        credit = [self._credit_part(query[part], shown.documents[:, part], clicked[:, part]) for part in parts]
        return np.concatenate(credit, axis=1)

    def _credit_part(self, query: IntArray, documents: IntArray, clicked: BoolArray) -> FloatArray:
        n = len(query)
        impression, document, other = self._preferences(documents, clicked)
        rank, best_rank = self.rankings.rank, self.rankings.best_rank
        one, two = best_rank.take(document), best_rank.take(other)
        row = query.take(impression) * self.log_not_drawn.shape[1] - 1
        log_not_drawn = self.log_not_drawn.reshape(-1)
        first, last = row + np.minimum(one, two), row + np.maximum(one, two)
        weight = np.exp(log_not_drawn.take(first) - log_not_drawn.take(last))
        sign = np.sign(rank.take(other, axis=0) - rank.take(document, axis=0))
        credit = np.empty((rank.shape[1], n))
        for ranker, ranker_credit in enumerate(credit):
            ranker_credit[:] = np.bincount(impression, weights=sign[:, ranker] * weight, minlength=n)
        return credit

    def _preferences(self, documents: IntArray, clicked: BoolArray) -> list[IntArray]:
        """Return impression, clicked document and other document of each pair that could have been in turned order."""
        length, n = documents.shape
        not_clicked, best_rank = ~clicked, self.rankings.best_rank.take(documents)
        slot_rank = np.arange(1, length + 1)[:, np.newaxis]
        flat, parts = documents.reshape(-1), []
        for slot in range(length):
            # The upper document of a pair could always be in the lower slot. The lower document must
            # be able to be in the upper slot, too.
            above = not_clicked[:slot] & clicked[slot]
            above &= best_rank[slot] <= slot_rank[:slot]
            below = not_clicked[slot + 1 : slot + 2] & clicked[slot]
            below &= best_rank[slot + 1 : slot + 2] <= slot + 1
            cells = np.concatenate([np.flatnonzero(above), np.flatnonzero(below) + (slot + 1) * n])
            impression = cells % n
            parts.append((impression, documents[slot].take(impression), flat.take(cells)))
        return [np.concatenate(part) for part in zip(*parts, strict=True)]
