"""Team Draft interleaving and multileaving."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrTypeError
from ltr_metrics.interleaving.method import Method, Shown
from ltr_metrics.interleaving.rounds import teams_given


class TeamDraft(Method):
    """Each round the rankers draw in random order; each adds its best document that is not there yet, to its team.

    A ranker's credit is the number of clicked documents in its team (Radlinski, Kurup and Joachims, CIKM 2008; several rankers: Schuth et
    al., CIKM 2014). A ranker whose documents are all there is passed over.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings of any hashable ids, best first, of any lengths; one a ranker.
    length : int, optional
        Documents to show at most: fewer are shown where all rankings together have no more. Default: as many as the longest ranking has.

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
        lists, n_shown = self._rankings.lists, self._rankings.n_shown
        documents: list[Hashable] = []
        teams: list[int] = []
        placed: set[Hashable] = set()
        following = [0] * len(lists)
        while len(documents) < n_shown:
            for ranker in rng.permutation(len(lists)).tolist():
                at, ranking = following[ranker], lists[ranker]
                while at < len(ranking) and ranking[at] in placed:
                    at += 1
                following[ranker] = at
                if at < len(ranking) and len(documents) < n_shown:
                    documents.append(ranking[at])
                    placed.add(ranking[at])
                    teams.append(ranker)
        return Shown(documents, teams)

    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        if teams is None:
            raise LtrTypeError(
                "TeamDraft gives credit to teams, and a list of documents has none: pass what mix returned, or Shown(documents, teams)."
            )
        self._refuse_impossible(documents, teams)
        return self._credit_clicks(documents, teams, places)

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._drafts(documents, teams)[0]

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        return not np.isnan(self._drafts(documents, teams)[1]).any()

    def _drafts(self, documents: list[Hashable], teams: list[int] | None) -> tuple[float, FloatArray]:
        """Return the probability of a list, and who has drawn the document of each place given the list."""
        lists = self._rankings.lists
        chance = np.zeros((len(documents), len(lists)))
        has_documents = []
        following = [0] * len(lists)
        placed: set[Hashable] = set()
        for place, document in enumerate(documents):
            left = 0
            for ranker, ranking in enumerate(lists):
                while following[ranker] < len(ranking) and ranking[following[ranker]] in placed:
                    following[ranker] += 1
                if following[ranker] < len(ranking):
                    left |= 1 << ranker
                    chance[place, ranker] = ranking[following[ranker]] == document
            has_documents.append(left)
            placed.add(document)
        if teams is not None:
            chance *= np.eye(len(lists))[teams]  # nobody else drew
        return teams_given(chance, has_documents)
