"""Methods with teams, with the exact probability of a list; Team Draft interleaving and multileaving."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.online.interleaving.method import Method, Shown, best_unlisted

MAX_STATES = 2**14  # more than sixteen rankers with equal rankings have more


class TeamDraft(Method):
    """Team Draft: in each round, all rankers draw in random order, each for its own team.

    A ranker draws its best document that is not in the list yet, and is skipped if it has none.
    Its credit is the number of clicked documents in its team (Radlinski, Kurup and Joachims,
    CIKM 2008; for several rankers: Schuth et al., CIKM 2014).

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings, one per ranker, of any hashable ids and any lengths, best first.
    length : int, optional
        Maximum number of documents in the list. The list is shorter if all rankings together have
        fewer documents. Default: the length of the longest ranking.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `Method`.

    See Also
    --------
    Method : What all methods have in common.

    Examples
    --------
    >>> from ltr_metrics.interleaving import TeamDraft
    >>> method = TeamDraft([[1, 2, 3, 4, 5], [4, 3, 5, 1, 2]], length=5)
    >>> shown = method.mix(random_state=0)
    >>> shown
    Shown(documents=[1, 4, 2, 3, 5], teams=[0, 1, 0, 1, 0])
    >>> method.credit(shown, clicks=[1, 3])
    array([0., 2.])
    >>> method.probability(shown), method.probability(shown.documents)
    (0.125, 0.25)
    """

    has_teams = True

    def _mix(self, rng: np.random.Generator) -> Shown:
        remaining = [iter(ranking) for ranking in self.rankings]
        documents: list[Hashable] = []
        teams: list[int] = []
        listed: set[Hashable] = set()
        while len(documents) < self._n_shown:
            for ranker in rng.permutation(len(remaining)).tolist():
                document = next((one for one in remaining[ranker] if one not in listed), None)
                if document is not None and len(documents) < self._n_shown:
                    documents.append(document)
                    listed.add(document)
                    teams.append(ranker)
        return Shown(documents, teams)

    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        if teams is None:
            raise LtrTypeError(
                "TeamDraft needs teams to give credit, and a list of documents has none. Pass what mix returned, or "
                "Shown(documents, teams)."
            )
        if self._follow_draws(documents, teams)[1] is None:
            return None
        clicked = [teams[slot] for slot in slots]
        return np.bincount(clicked, minlength=len(self.rankings)).astype(np.float64)

    def _draws(self, documents: list[Hashable]) -> tuple[FloatArray, list[int]]:
        draws_document, has_documents = np.zeros((len(documents), len(self.rankings))), []
        listed: set[Hashable] = set()
        for slot, document in enumerate(documents):
            best = best_unlisted(self.rankings, listed)
            draws_document[slot] = [one == document for one in best]
            has_documents.append(sum(1 << i for i, one in enumerate(best) if one is not None))
            listed.add(document)
        return draws_document, has_documents

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
                        after[state | 1 << ranker] += drawn
            if len(after) > MAX_STATES:
                raise LtrValueError(
                    f"With {n_rankers} rankers, the exact sum over all ways to draw this list has more than "
                    f"{MAX_STATES:,} terms. Pass the result of mix, because with its teams only one term is left."
                )
            total = float(sum(vector[0] for vector in after.values()))
            if total == 0:
                return 0.0, None
            probability *= total
            states = {state: vector / total for state, vector in after.items()}
        return probability, np.sum(list(states.values()), axis=0)[1:]
