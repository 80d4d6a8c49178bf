"""Methods with teams. Which ranker drew each document: exact probabilities by the forward-backward algorithm.

The state between two slots is the set of rankers that have drawn in the current round, stored as
an integer with one bit per ranker.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.interleaving.method import Method

MAX_STATES = 100_000  # about twenty rankers with equal rankings have more

Weights = dict[int, float]  # by state


class TeamMethod(Method):
    """A method in which a ranker draws each document for its team."""

    has_teams = True

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._team_probabilities(documents, teams)[0]

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        return not np.isnan(self._team_probabilities(documents, teams)[1]).any()

    @abstractmethod
    def _team_probabilities(self, documents: list[Hashable], teams: list[int] | None) -> tuple[float, FloatArray]:
        """Return the probability of a list, and that of each ranker having drawn each document."""


def team_probabilities(
    draw_probabilities: FloatArray, has_documents: list[int], in_rounds: bool = True
) -> tuple[float, FloatArray]:
    """Return the probability of a list, and that of each ranker having drawn each document.

    Parameters
    ----------
    draw_probabilities : ndarray of shape (n_slots, n_rankers)
        The probability that a ranker, if it draws for this slot, draws the document in the slot.
    has_documents : list of int
        The rankers that have documents left at each slot, one bit per ranker.
    in_rounds : bool
        If False, the ranker of each slot is drawn from all rankers that have documents.

    Returns
    -------
    probability : float
    teams : ndarray of shape (n_slots, n_rankers)
        The probabilities given the list. Rows sum to 1, and are NaN if the list is impossible.
    """
    n_slots, n_rankers = draw_probabilities.shape
    steps = [
        _Step(probabilities, rankers, in_rounds)
        for probabilities, rankers in zip(draw_probabilities.tolist(), has_documents, strict=True)
    ]
    probability, forward = _forward(steps, n_rankers)
    teams = np.full((n_slots, n_rankers), np.nan)
    if len(forward) <= n_slots:  # the list is impossible
        return 0.0, teams
    backward: Weights = dict.fromkeys(forward[-1], 1.0)
    for slot in reversed(range(n_slots)):
        weights, backward = steps[slot].backward(forward[slot], backward, n_rankers)
        total = sum(weights)
        if total == 0:  # the probability underflowed
            return 0.0, np.full((n_slots, n_rankers), np.nan)
        teams[slot] = np.array(weights) / total
    return probability, teams


def _forward(steps: list[_Step], n_rankers: int) -> tuple[float, list[Weights]]:
    """Return the probability of the list and the scaled state weights before each slot.

    The weights are scaled to sum to 1 at each slot, since products of many would underflow. There
    are fewer of them than slots if the list is impossible.
    """
    forward: list[Weights] = [{0: 1.0}]
    probability = 1.0
    for step in steps:
        weights = step.forward(forward[-1])
        if len(weights) > MAX_STATES:
            raise LtrValueError(
                f"The exact sum over which of the {n_rankers} rankers have drawn in a round has more than "
                f"{MAX_STATES:,} terms. Pass what mix returned: with its teams, credit and probability do not "
                "need the sum."
            )
        total = _normalize(weights)
        if total == 0:
            return 0.0, forward
        probability *= total
        forward.append(weights)
    return probability, forward


class _Step:
    """The draw for one slot."""

    def __init__(self, probabilities: list[float], has_documents: int, in_rounds: bool) -> None:
        self.probabilities, self.has_documents, self.in_rounds = probabilities, has_documents, in_rounds

    def forward(self, weights: Weights) -> Weights:
        """Return the unscaled weights of the states after the draw."""
        after: Weights = {}
        for state, weight in weights.items():
            for _, next_state, probability in self._turns(state):
                after[next_state] = after.get(next_state, 0.0) + weight * probability
        return after

    def backward(self, forward: Weights, after: Weights, n_rankers: int) -> tuple[list[float], Weights]:
        """Return the weight of each ranker, and the scaled backward weights before the draw."""
        rankers = [0.0] * n_rankers
        before: Weights = {}
        for state, weight in forward.items():
            before[state] = 0.0
            for ranker, next_state, probability in self._turns(state):
                onward = probability * after.get(next_state, 0.0)
                rankers[ranker] += weight * onward
                before[state] += onward
        _normalize(before)
        return rankers, before

    def _turns(self, state: int) -> Iterator[tuple[int, int, float]]:
        """Yield each ranker that may draw, the next state, and the probability of this draw."""
        waiting = self.has_documents & ~state
        if not waiting:  # a new round
            state, waiting = 0, self.has_documents
        share = 1 / waiting.bit_count()
        for ranker, probability in enumerate(self.probabilities):
            if probability > 0 and waiting >> ranker & 1:
                yield ranker, (state | 1 << ranker) if self.in_rounds else 0, share * probability


def _normalize(weights: Weights) -> float:
    """Scale the weights to sum to 1 unless the sum is 0, and return the sum before scaling."""
    total = sum(weights.values())
    if total > 0:
        for state in weights:
            weights[state] /= total
    return total
