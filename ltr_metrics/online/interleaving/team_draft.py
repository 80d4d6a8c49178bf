"""Team Draft interleaving and multileaving, with the exact probability of a list."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.online.interleaving.method import Method, Shown

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
        if 0 in self._chances(documents, teams):
            return None
        clicked = [teams[slot] for slot in slots]
        return np.bincount(clicked, minlength=len(self.rankings)).astype(np.float64)

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return math.prod(self._chances(documents, teams))

    def _chances(self, documents: list[Hashable], teams: list[int] | None) -> list[float]:
        """Return the probability of each document of a list given those above it, up to the first impossible one.

        A state is the set of rankers that have drawn in the current round, one bit per ranker.
        """
        chances: list[float] = []
        states = {0: 1.0}  # the probability of each state, given the documents so far
        listed: set[Hashable] = set()
        for slot, document in enumerate(documents):
            best = [next((one for one in ranking if one not in listed), None) for ranking in self.rankings]
            can_draw = sum(1 << ranker for ranker, one in enumerate(best) if one is not None)
            drawers = [ranker for ranker, one in enumerate(best) if one == document]
            if teams is not None:
                drawers = [ranker for ranker in drawers if ranker == teams[slot]]
            after: dict[int, float] = defaultdict(float)
            for state, probability in states.items():
                waiting = can_draw & ~state
                if not waiting:  # a new round
                    state, waiting = 0, can_draw
                for ranker in drawers:
                    if waiting >> ranker & 1:
                        after[state | 1 << ranker] += probability / waiting.bit_count()
            if len(after) > MAX_STATES:
                raise LtrValueError(
                    f"With {len(best)} rankers, the exact sum over all ways to draw this list has more than "
                    f"{MAX_STATES:,} terms. Pass the result of mix, because with its teams only one term is left."
                )
            chances.append(sum(after.values()))
            if chances[-1] == 0:
                break
            states = {state: probability / chances[-1] for state, probability in after.items()}
            listed.add(document)
        return chances
