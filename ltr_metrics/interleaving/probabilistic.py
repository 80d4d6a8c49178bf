"""Probabilistic interleaving and multileaving."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.interleaving.method import Method, Shown
from ltr_metrics.interleaving.rounds import teams_given

MOST_IN_ROUNDS = 16  # rankers: the exact sum goes over the sets of those that have drawn, 2^16
STEEPEST = 1e300  # beyond it logarithms of weights overflow; long before, every draw is of the best document


class Probabilistic(Method):
    """At each place a ranker is drawn, and draws one of its documents that are not there yet, the better its rank, the more likely.

    A ranker draws the document d of its documents D that are not there yet with probability::

        P(d) = rank(d)^-tau / sum over D of rank^-tau

    and a ranker whose documents are all there is passed over. A ranker's credit is the expected number of clicked documents that it has drawn,
    given the list: exact, over all courses that lead to it, and whoever drew them this time (several rankers: Schuth et al., SIGIR 2015;
    two: Hofmann, Whiteson and de Rijke, CIKM 2011, where it is the expected winner instead).

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings of any hashable ids, best first, of any lengths; one a ranker.
    length : int, optional
        Documents to show at most: fewer are shown where all rankings together have no more. Default: as many as the longest ranking has.
    tau : float
        0 or more: 0 draws a ranker's documents uniformly, a high one almost always the best.
    replace : bool
        True draws the ranker of each place uniformly, as in 2011. False goes in rounds, in each of which every ranker draws once, in random
        order, as in 2015; credit and the probability of a list without teams are then for 16 rankers at most.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Probabilistic
    >>> method = Probabilistic([[1, 2, 3, 4, 5], [4, 3, 5, 1, 2]], length=5)
    >>> shown = method.mix(random_state=0)
    >>> shown
    Shown(documents=[4, 1, 3, 2, 5], teams=[1, 0, 1, 0, 1])
    >>> method.credit(shown, clicks=[0]).round(3)
    array([0.015, 0.985])
    >>> round(method.probability(shown.documents), 4)
    0.0535
    """

    has_teams = True

    def __init__(self, rankings: Any, length: int | None = None, *, tau: float = 3.0, replace: bool = True) -> None:
        super().__init__(rankings, length)
        is_number = isinstance(tau, (int, float, np.integer, np.floating)) and not isinstance(tau, bool)
        if not is_number or not 0 <= tau <= sys.float_info.max:
            raise LtrValueError(f"tau must be a finite number of at least 0; 3 is usual. Got {tau!r}.")
        if not isinstance(replace, (bool, np.bool_)):
            raise LtrTypeError(
                f"replace must be True (a ranker is drawn at each place) or False (in rounds). Got {replace!r}."
            )
        self.tau, self.replace = float(tau), bool(replace)

    @cached_property
    def _log_weights(self) -> list[FloatArray]:
        """Logarithms, as high tau make weights that no float64 holds."""
        return [-min(self.tau, STEEPEST) * np.log(np.arange(1, len(one) + 1)) for one in self._rankings.lists]

    def _mix(self, rng: np.random.Generator) -> Shown:
        left = [self._drawn_order(ranker, rng) for ranker in range(len(self._rankings))]
        turns = rng.random(self._rankings.n_shown).tolist()
        documents: list[Hashable] = []
        teams: list[int] = []
        placed: set[Hashable] = set()
        waiting: list[int] = []
        for turn in turns:
            for order in left:
                while order and order[-1] in placed:
                    order.pop()
            waiting = [ranker for ranker in waiting if left[ranker]]
            if self.replace or not waiting:
                waiting = [ranker for ranker, order in enumerate(left) if order]
            ranker = waiting.pop(int(turn * len(waiting)))
            documents.append(left[ranker][-1])
            placed.add(left[ranker][-1])
            teams.append(ranker)
        return Shown(documents, teams)

    def _drawn_order(self, ranker: int, rng: np.random.Generator) -> list[Hashable]:
        """Return a ranker's documents in the order in which it would draw them if it drew alone, the first one last.

        Noise of Gumbel's distribution on the logarithms of the weights makes this order. What others draw meanwhile can be left out of it:
        the order of the rest does not depend on that.
        """
        log_weights, ranking = self._log_weights[ranker], self._rankings.lists[ranker]
        order = np.argsort(log_weights + rng.gumbel(size=len(ranking)))
        return [ranking[at] for at in order.tolist()]

    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        drawn_by = self._teams_given(documents, None)[1]
        if np.isnan(drawn_by).any():
            raise self._impossible("it never comes out of these rankings")
        credit: FloatArray = drawn_by[places].sum(axis=0)
        return credit

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._teams_given(documents, teams)[0]

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        return not np.isnan(self._teams_given(documents, teams)[1]).any()

    def _teams_given(self, documents: list[Hashable], teams: list[int] | None) -> tuple[float, FloatArray]:
        """Return the probability of a list, and of each ranker at each place given the list."""
        n_rankers = len(self._rankings)
        if not self.replace and teams is None and n_rankers > MOST_IN_ROUNDS:
            raise LtrValueError(
                f"Who has drawn what in rounds is summed over all sets of rankers: for {MOST_IN_ROUNDS} rankers at most, got {n_rankers}. "
                "Take replace=True, or what mix returned: its teams are enough for rule='clicks' and for the probability of both."
            )
        chance, has_documents = self._chances(documents)
        if teams is not None:
            chance *= np.eye(n_rankers)[teams]  # nobody else drew
        return teams_given(chance, has_documents, in_rounds=not self.replace)

    def _chances(self, documents: list[Hashable]) -> tuple[FloatArray, list[int]]:
        """Return the probability that a ranker draws the document of a place, if it draws there, and which ones have documents, in bits."""
        chance = np.zeros((len(documents), len(self._rankings)))
        has_documents = [0] * len(documents)
        for ranker, ranks in enumerate(self._rankings.ranks):
            chance[:, ranker], has = self._chances_of(ranker, np.array([ranks.get(one, 0) for one in documents]))
            for place in np.flatnonzero(has).tolist():
                has_documents[place] |= 1 << ranker
        return chance, has_documents

    def _chances_of(self, ranker: int, rank: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the same for one ranker and the ranks that it gives the documents of the list, 0 for none."""
        log_weights = self._log_weights[ranker]
        ranked = rank > 0
        of_place = np.where(ranked, log_weights[rank - 1], -np.inf)
        never_shown = np.delete(log_weights, rank[ranked] - 1)
        log_left = [-np.inf]
        if len(never_shown):
            log_left = never_shown[:1] + np.log(np.exp(never_shown - never_shown[0]).sum())
        # what is left at a place is what is left below it, and its own: sums from the bottom, which never cancel
        left = np.logaddexp.accumulate(np.concatenate((log_left, of_place[::-1])))[:0:-1]
        chance = np.exp(np.subtract(of_place, left, out=np.full(len(rank), -np.inf), where=ranked))
        return chance, left > -np.inf
