"""Team Draft for many impressions at once.

`ltr_metrics/interleaving/team_draft.py` has the rules.
"""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.interleaving.simulation.candidates import Candidates, Draws, RankingArrays, ShownLists


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
