"""Team Draft and PPM for many impressions at once, which is a hundred times faster than one by one.

`ltr_metrics/interleaving/team_draft.py` and `pairwise_preference.py` have the rules and formulas.
"""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.interleaving.simulation.mixers import RankingArrays, ShownLists

MAX_CELLS = 2**22  # pairs of slots times impressions that are processed at a time, which limits the memory


class Candidates:
    """The documents that may be shown: those in the top ranks of any ranker.

    The candidates of a query are adjacent, in order of their best rank.

    Attributes
    ----------
    query : ndarray of int of shape (n_candidates,)
    offset : ndarray of int of shape (n_queries,)
        Offset of the first candidate of each query.
    top : ndarray of shape (n_candidates + 1,)
        Best rank of each candidate in any ranking. The last entry of this and of the next arrays is
        not a document.
    rank : ndarray of shape (n_candidates + 1, n_rankers)
    grade : ndarray of shape (n_candidates + 1,)
        -1 for the last entry.
    row : ndarray of int of shape (n_candidates,)
        Row of each candidate in the data.
    n_shown : ndarray of int of shape (n_queries,)
        Number of documents in the lists of each query.
    length, max_candidates : int
        Maximum number of documents in a list, and of candidates of a query.
    nothing : int
        The index that is not a document.
    """

    uses_threads = True

    def __init__(self, rankings: RankingArrays) -> None:
        top = rankings.rank.min(axis=0)
        query = np.repeat(np.arange(len(rankings.sizes)), rankings.sizes)
        kept = np.flatnonzero(top <= rankings.length)
        kept = kept[np.lexsort((top[kept], query[kept]))]
        self.query = query[kept]
        n_candidates = np.bincount(self.query)  # every query has a document, whose rank is 1
        self.offset = np.cumsum(n_candidates) - n_candidates
        self.max_candidates = int(n_candidates.max())
        self.n_shown = rankings.n_shown
        self.length = int(self.n_shown.max())
        ranks = np.vstack([top, rankings.rank]).T[kept]
        absent_rank = int(rankings.sizes.max()) + 1
        ranks = np.vstack([ranks, np.full_like(ranks[:1], absent_rank)]).astype(np.int32)  # half the memory to read
        self.top, self.rank = ranks[:, 0].copy(), ranks[:, 1:].copy()
        self.grade = np.append(rankings.grade[kept], -1)
        self.row = rankings.row[kept]
        self.nothing, self.n_rankers, self.warnings = len(self.row), len(rankings), list[str]()

    def clear_unused_slots(self, documents: IntArray, query: IntArray) -> None:
        """Set the slots after the end of each list to `nothing`."""
        if self.n_shown.min() < self.length:
            documents[np.arange(self.length)[:, np.newaxis] >= self.n_shown[query]] = self.nothing


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


class VectorizedTeamDraft(Candidates):
    """Team Draft over the candidates of many queries.

    All rankers rank all documents of a query, so they run out of documents together.
    """

    def __init__(self, rankings: RankingArrays) -> None:
        super().__init__(rankings)
        n_queries, n_rankers, self.depth = len(self.offset), self.n_rankers, self.length + 1
        candidate = np.arange(self.nothing) - self.offset[self.query]  # its index within the query
        # The top candidates of each ranker, followed by an index that is not a candidate.
        self.lists: AnyArray = np.full((n_queries, n_rankers, self.depth), self.max_candidates, dtype=np.intp)
        for ranker in range(n_rankers):
            rank = self.rank[:-1, ranker]
            is_top = rank <= self.length
            self.lists[self.query[is_top], ranker, rank[is_top] - 1] = candidate[is_top]

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        n, n_rankers, width = len(query), self.n_rankers, self.max_candidates + 1
        is_listed = np.zeros((n, width), dtype=np.bool_)
        flat_listed, impression_start = is_listed.reshape(-1), np.arange(0, n * width, width)
        # The offset in self.lists of each ranker's next candidate, by impression and ranker.
        next_offset = ((query[:, np.newaxis] * n_rankers + np.arange(n_rankers)) * self.depth).reshape(-1)
        lists = self.lists.reshape(-1)
        first_ranker = np.arange(0, n * n_rankers, n_rankers)
        documents = np.empty((self.length, n), dtype=np.intp)
        teams = np.empty((self.length, n), dtype=np.min_scalar_type(n_rankers))
        draws = rng.random((self.length, n))
        for slot in range(self.length):
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
        documents += self.offset[query]
        self.clear_unused_slots(documents, query)
        return ShownLists(documents, teams)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.empty((self.n_rankers, clicked.shape[1]))
        for ranker, ranker_credit in enumerate(credit):
            np.sum((shown.teams == ranker) & clicked, axis=0, out=ranker_credit, dtype=np.float64)
        return credit


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
        step = max(1, MAX_CELLS // self.length**2)
        parts = [slice(start, start + step) for start in range(0, len(query), step)]
        credit = [self._credit_part(query[part], shown.documents[:, part], clicked[:, part]) for part in parts]
        return np.concatenate(credit, axis=1)

    def _credit_part(self, query: IntArray, documents: IntArray, clicked: BoolArray) -> FloatArray:
        n = len(query)
        impression, document, other = self._preferences(documents, clicked)
        one, two = self.top.take(document), self.top.take(other)
        row = query.take(impression) * self.log_not_drawn.shape[1] - 1
        log_not_drawn = self.log_not_drawn.reshape(-1)
        first, last = row + np.minimum(one, two), row + np.maximum(one, two)
        weight = np.exp(log_not_drawn.take(first) - log_not_drawn.take(last))
        sign = np.sign(self.rank.take(other, axis=0) - self.rank.take(document, axis=0))
        credit = np.empty((self.n_rankers, n))
        for ranker, ranker_credit in enumerate(credit):
            ranker_credit[:] = np.bincount(impression, weights=sign[:, ranker] * weight, minlength=n)
        return credit

    def _preferences(self, documents: IntArray, clicked: BoolArray) -> list[IntArray]:
        """Return impression, clicked document and other document of each pair that could have been in turned order."""
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
        return [np.concatenate(part) for part in zip(*parts, strict=True)]
