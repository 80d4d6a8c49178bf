"""The rankings of many queries as flat arrays, and what mixes them.

`OneByOne` is for any method. Team Draft and PPM have mixers for many impressions at once. Their
rules and formulas are in `ltr_metrics/online/interleaving/team_draft.py` and `pairwise_preference.py`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.online.interleaving.method import Method

MAX_CELLS = 2**22  # pairs of slots times impressions that are processed at a time, which limits the memory


@dataclass(frozen=True, eq=False)
class RankingArrays:
    """The rankings of all rankers on all queries.

    Attributes
    ----------
    rank : ndarray of int of shape (n_rankers, n_documents)
        Rank of each document, from 1. The documents of a query are adjacent.
    sizes : ndarray of int of shape (n_queries,)
        Number of documents of each query, at least one.
    grade : ndarray of int of shape (n_documents,)
    row : ndarray of int of shape (n_documents,)
        Row of each document in the data.
    length : int
        Maximum number of documents in a list.
    """

    rank: IntArray
    sizes: IntArray
    grade: IntArray
    row: IntArray
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
        rank = np.empty((len(scores), len(rows)), dtype=np.intp)
        second = () if tie_break is None else (tie_break[rows],)
        for model_rank, score in zip(rank, scores, strict=True):
            model_rank[np.lexsort((*second, -score[rows], query))] = rank_of_order
        grade = np.concatenate(([0.0], queries.grades))[queries.grade_index[rows]].astype(np.intp)
        return cls(rank, sizes, grade, rows, length)

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def starts(self) -> IntArray:
        """Offset of the first document of each query."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def n_shown(self) -> IntArray:
        """Number of documents in the lists of each query."""
        return np.minimum(self.sizes, self.length)


class ShownLists(NamedTuple):
    """The lists of many impressions, by slot, so that a step for all impressions is contiguous.

    Attributes
    ----------
    documents : ndarray of int of shape (length, n_impressions)
        Indices of the documents of a `Candidates`. The last index, which is not a document, fills the
        slots of a query that has no more documents.
    teams : ndarray of int of shape (length, n_impressions), or None
        The ranker that added each document.
    """

    documents: IntArray
    teams: AnyArray | None = None


class OneByOne:
    """One method object per query, built when the query is first drawn. Its credit must not need teams."""

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
        self.warnings += [str(warning.message) for warning in caught]
        return method

    def mix(self, query: IntArray, rng: np.random.Generator) -> ShownLists:
        """Draw a list for each of these queries."""
        length = int(self._rankings.n_shown.max())
        documents = np.full((length, len(query)), len(self.grade) - 1, dtype=np.intp)
        for impression, one in enumerate(query.tolist()):
            shown = self._of_query(one).mix(rng).documents
            documents[: len(shown), impression] = np.array(shown)
        return ShownLists(documents)

    def credit(self, query: IntArray, shown: ShownLists, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        credit = np.zeros((len(self._rankings), len(query)))
        n_shown = (shown.documents < len(self.grade) - 1).sum(axis=0)
        for impression in np.flatnonzero(clicked.any(axis=0)).tolist():
            documents = shown.documents[: n_shown[impression], impression].tolist()
            slots = np.flatnonzero(clicked[:, impression])
            credit[:, impression] = self._of_query(int(query[impression])).credit(documents, slots)
        return credit


# -- Team Draft and PPM for many impressions at once, a hundred times faster ------------------------------------------


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
