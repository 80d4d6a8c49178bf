"""Team Draft of many impressions at once; `interleaving/team_draft.py` has the rules."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.words import RuleOfCredit
from ltr_metrics.interleaving.simulation.layout import Candidates, Draws, ManyRankings, Shown


class ManyTeamDrafts(Candidates):
    """Team Draft over the candidates of many queries, each of which all rankers rank, so that all run out of them together."""

    def __init__(self, rankings: ManyRankings, rule: RuleOfCredit = "own") -> None:
        super().__init__(rankings, rule)
        n_queries, n_rankers, self.depth = len(self.offset), self.n_rankers, self.length + 1
        within = np.arange(self.nothing) - self.offset[self.query]
        # The first candidates of each ranker, by position within the query; behind them, for ever, none.
        self.lists: AnyArray = np.full((n_queries, n_rankers, self.depth), self.widest, dtype=np.intp)
        for ranker in range(n_rankers):
            rank = self.rank[:-1, ranker]
            first = rank <= self.length
            self.lists[self.query[first], ranker, rank[first] - 1] = within[first]

    def mix(self, query: IntArray, rng: np.random.Generator) -> Shown:
        """Draw a list of each of these queries."""
        n, n_rankers = len(query), self.n_rankers
        placed = np.zeros((n, self.widest + 1), dtype=np.bool_)
        flat_placed, of_impression = placed.reshape(-1), np.arange(0, n * (self.widest + 1), self.widest + 1)
        following = (query[:, np.newaxis] * n_rankers + np.arange(n_rankers)) * self.depth
        flat_following, lists = following.reshape(-1), self.lists.reshape(-1)
        first = np.arange(0, n * n_rankers, n_rankers)
        documents = np.empty((self.length, n), dtype=np.intp)
        teams = np.empty((self.length, n), dtype=np.min_scalar_type(n_rankers))
        draws = rng.random((self.length, n))
        for place in range(self.length):
            turn = place % n_rankers
            if turn == 0:
                order = Draws(n, n_rankers)
            team = teams[place] = order.draw((draws[place] * (n_rankers - turn)).astype(np.intp))
            ranker = first + team
            at = flat_following.take(ranker)
            document = lists.take(at)
            behind = np.flatnonzero(flat_placed.take(of_impression + document))
            while behind.size:  # its next one is there already
                at[behind] += 1
                document[behind] = next_one = lists.take(at.take(behind))
                behind = behind[flat_placed.take(of_impression.take(behind) + next_one)]
            flat_following[ranker] = at
            flat_placed[of_impression + document] = True
            placed[:, self.widest] = False
            documents[place] = document
        documents += self.offset[query]
        if not self.all_show_as_many:
            for place, of_place in enumerate(documents):
                of_place[~self.are_shown(query, place)] = self.nothing
        return Shown(documents, teams)

    def credit(self, query: IntArray, shown: Shown, clicked: BoolArray) -> FloatArray:
        """Return the credit of each ranker for each impression, of shape (n_rankers, n_impressions)."""
        return self.credit_clicks(shown, clicked)
