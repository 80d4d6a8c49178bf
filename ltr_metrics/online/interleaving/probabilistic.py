"""Probabilistic interleaving and multileaving."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import is_number
from ltr_metrics.online.interleaving.method import Shown
from ltr_metrics.online.interleaving.team_draft import TeamMethod

MAX_TAU = 1e6  # much smaller values already draw only the best document


class Probabilistic(TeamMethod):
    r"""Probabilistic interleaving: a random ranker draws a document for each slot, and prefers its first ranks.

    A ranker draws the document d from D, its documents that are not in the list yet, with
    probability

    .. math:: P(d) = \frac{rank(d)^{-\tau}}{\sum_{e \in D} rank(e)^{-\tau}}

    and a ranker without such documents is skipped. A ranker's credit is the expected number of
    clicked documents that it has drawn, given the list. The expectation is exact, over all
    sequences of draws that give the list, and does not depend on the actual draws.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings, one per ranker, of any hashable ids and any lengths, best first.
    length : int, optional
        Maximum number of documents in the list. The list is shorter if all rankings together have
        fewer documents. Default: the length of the longest ranking.
    tau : float
        From 0 to 10^6. With 0, a ranker draws its documents uniformly. With a high value, it almost
        always draws the best one.
    replace : bool
        If True, the ranker of each slot is drawn uniformly, as in the paper of 2011. If False,
        there are rounds in which every ranker draws once, in random order, as in the paper of 2015.
        For more than 16 rankers, the credit and the probability of a list without teams may then
        have too many terms, which raises an error.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `Method`, and if ``tau`` is out of range. On credit: for too many rankers with
        ``replace=False``.

    See Also
    --------
    Method : What all methods have in common.

    References
    ----------
    Several rankers: Schuth et al., Probabilistic multileave for online retrieval evaluation, SIGIR
    2015. Two rankers: Hofmann, Whiteson & de Rijke, A probabilistic method for inferring
    preferences from clicks, CIKM 2011, who use the expected winner instead.

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

    def __init__(self, rankings: Any, length: int | None = None, *, tau: float = 3.0, replace: bool = True) -> None:
        super().__init__(rankings, length)
        if not is_number(tau) or not 0 <= tau <= MAX_TAU:
            raise LtrValueError(f"tau must be a number from 0 to {MAX_TAU:g}; 3 is usual. Got {tau!r}.")
        self.tau, self.replace = float(tau), bool(replace)
        self.in_rounds = not self.replace

    @cached_property
    def _log_weights(self) -> list[FloatArray]:
        """The log weights of each ranker by rank. The weights themselves underflow for a high tau."""
        return [-self.tau * np.log(np.arange(1, len(ranking) + 1)) for ranking in self.rankings]

    def _mix(self, rng: np.random.Generator) -> Shown:
        remaining = [self._draw_order(ranker, rng) for ranker in range(len(self.rankings))]
        turns = rng.random(self._n_shown).tolist()
        documents: list[Hashable] = []
        teams: list[int] = []
        listed: set[Hashable] = set()
        waiting: list[int] = []
        for turn in turns:
            for order in remaining:
                while order and order[-1] in listed:
                    order.pop()
            waiting = [ranker for ranker in waiting if remaining[ranker]]
            if self.replace or not waiting:
                waiting = [ranker for ranker, order in enumerate(remaining) if order]
            ranker = waiting.pop(int(turn * len(waiting)))
            documents.append(remaining[ranker][-1])
            listed.add(remaining[ranker][-1])
            teams.append(ranker)
        return Shown(documents, teams)

    def _draw_order(self, ranker: int, rng: np.random.Generator) -> list[Hashable]:
        """Return a ranker's documents in the order in which it would draw them by itself, the first one last.

        Adding Gumbel noise to the log weights gives this order. Documents that other rankers draw are
        skipped, since the order of the rest does not depend on them.
        """
        log_weights, ranking = self._log_weights[ranker], self.rankings[ranker]
        order = np.argsort(log_weights + rng.gumbel(size=len(ranking)))
        return [ranking[index] for index in order.tolist()]

    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        return self._follow_draws(documents, None, slots)[1]

    def _draws(self, documents: list[Hashable]) -> tuple[FloatArray, list[int]]:
        draw_probabilities = np.zeros((len(documents), len(self.rankings)))
        has_documents = [0] * len(documents)
        for ranker, ranks in enumerate(self._ranks):
            document_ranks = np.array([ranks.get(document, 0) for document in documents])
            draw_probabilities[:, ranker], has_left = self._draw_probabilities(ranker, document_ranks)
            for slot in np.flatnonzero(has_left).tolist():
                has_documents[slot] |= 1 << ranker
        return draw_probabilities, has_documents

    def _draw_probabilities(self, ranker: int, ranks: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return, by slot, the probability that a ranker draws the document, and whether it has any left.

        ``ranks`` are the ranker's ranks of the documents in the list, and 0 for those that it lacks.
        """
        log_weights = self._log_weights[ranker]
        is_ranked = ranks > 0
        log_weight = np.where(is_ranked, log_weights[ranks - 1], -np.inf)
        unlisted = np.delete(log_weights, ranks[is_ranked] - 1)
        log_unlisted = [-np.inf]
        if len(unlisted):
            log_unlisted = unlisted[:1] + np.log(np.exp(unlisted - unlisted[0]).sum())
        # The weight left at a slot is its own plus that left at the next. Sums from the bottom never cancel.
        log_left = np.logaddexp.accumulate(np.concatenate((log_unlisted, log_weight[::-1])))[:0:-1]
        probability = np.exp(np.subtract(log_weight, log_left, out=np.full(len(ranks), -np.inf), where=is_ranked))
        return probability, log_left > -np.inf
