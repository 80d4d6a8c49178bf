"""Methods with teams: the exact probability of a list, and the expected number of clicks for each team."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Hashable

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.interleaving.method import Method

MAX_STATES = 2**14  # more than sixteen rankers with equal rankings have more


class TeamMethod(Method):
    """A method in which a ranker draws each document for its team."""

    has_teams = True
    in_rounds = True  # in each round every ranker draws once; otherwise the ranker of each slot is drawn from all

    @abstractmethod
    def _draws(self, documents: list[Hashable]) -> tuple[FloatArray, list[int]]:
        """Return, by slot, the probability that a ranker draws the document, and who has documents left.

        The first is of shape (n_slots, n_rankers). The second has one bit per ranker.
        """

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._follow_draws(documents, teams)[0]

    def _follow_draws(
        self, documents: list[Hashable], teams: list[int] | None, slots: Collection[int] = ()
    ) -> tuple[float, FloatArray | None]:
        """Return the probability of a list, and the expected number of clicked documents of each team given it.

        A state is the set of rankers that have drawn in the current round, one bit per ranker. It has a
        vector: its probability given the documents so far, and this times the credit of each ranker. The
        credit is None if the list is impossible.
        """
        draws, has_documents = self._draws(documents)
        n_rankers = len(self.rankings)
        if teams is not None:
            draws = draws * np.eye(n_rankers)[teams]  # the other rankers did not draw
        states, probability = {0: np.eye(1, n_rankers + 1)[0]}, 1.0
        for slot, by_ranker in enumerate(draws):
            after: dict[int, FloatArray] = defaultdict(lambda: np.zeros(n_rankers + 1))
            rankers = np.flatnonzero(by_ranker).tolist()
            for state, vector in states.items():
                waiting = has_documents[slot] & ~state
                if not waiting:  # a new round
                    state, waiting = 0, has_documents[slot]
                for ranker in rankers:
                    if waiting >> ranker & 1:
                        drawn = vector * (by_ranker[ranker] / waiting.bit_count())
                        if slot in slots:
                            drawn[1 + ranker] += drawn[0]
                        after[(state | 1 << ranker) if self.in_rounds else 0] += drawn
            if len(after) > MAX_STATES:
                raise LtrValueError(
                    f"The exact sum over the sets of {n_rankers} rankers has more than {MAX_STATES:,} terms. Pass what "
                    "mix returned, whose teams leave one term. For the credit of Probabilistic, use replace=True."
                )
            total = float(sum(vector[0] for vector in after.values()))
            if total == 0:
                return 0.0, None
            probability *= total
            states = {state: vector / total for state, vector in after.items()}
        return probability, np.sum(list(states.values()), axis=0)[1:]
