"""Rankers that take turns in a random order: which of them put which document there, given the list.

Each round the rankers draw in uniformly random order, and those that have no document left are passed over. So at each place the next
one is drawn uniformly from those that have not drawn in this round and have documents. What a list says of who drew where is a sum over all
courses of the rounds: forwards and backwards over the sets of rankers that have drawn in the round, of which few are possible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError

MOST_SETS = 100_000  # more rankers that agree than about twenty have more sets of those that have drawn

Weights = dict[int, float]  # by the set of rankers that have drawn in this round, a bit a ranker


def teams_given(chance: FloatArray, has_documents: list[int], in_rounds: bool = True) -> tuple[float, FloatArray]:
    """Return the probability of a list, and of each ranker at each place given the list.

    Parameters
    ----------
    chance : ndarray of shape (n_places, n_rankers)
        Probability that a ranker, if it draws at this place, draws the document that stands there.
    has_documents : list of int
        Which rankers have documents left at each place, a bit a ranker.
    in_rounds : bool
        False for a ranker drawn at each place anew, from all that have documents.

    Returns
    -------
    probability : float
    teams : ndarray of shape (n_places, n_rankers)
        Rows add up to 1; NaN where the list is impossible.
    """
    n_places, n_rankers = chance.shape
    likely: list[list[float]] = chance.tolist()
    forward: list[Weights] = [{0: 1.0}]  # scaled to a sum of 1, place by place: products of many underflow
    probability = 1.0
    teams = np.full((n_places, n_rankers), np.nan)
    for place in range(n_places):
        reached: Weights = {}
        for drawn, weight in forward[-1].items():
            for _, after, step in _turns(drawn, has_documents[place], likely[place], in_rounds):
                reached[after] = reached.get(after, 0.0) + weight * step
        if len(reached) > MOST_SETS:
            raise LtrValueError(
                f"Who of {n_rankers} rankers has drawn what is summed over the sets of those that have drawn in a round, which are more than "
                f"{MOST_SETS:,} here. Pass what mix returned: its teams are enough for credit and for the probability of both."
            )
        scale = _scale(reached)
        if scale == 0:
            return 0.0, teams
        probability *= scale
        forward.append(reached)
    backward: Weights = dict.fromkeys(forward[-1], 1.0)
    for place in reversed(range(n_places)):
        given = [0.0] * n_rankers
        before: Weights = {}
        for drawn, weight in forward[place].items():
            sum_onward = 0.0
            for ranker, after, step in _turns(drawn, has_documents[place], likely[place], in_rounds):
                onward = step * backward.get(after, 0.0)
                given[ranker] += weight * onward
                sum_onward += onward
            before[drawn] = sum_onward
        total = sum(given)
        if total == 0:  # less than any float64
            return 0.0, np.full((n_places, n_rankers), np.nan)
        teams[place] = np.array(given) / total
        _scale(before)
        backward = before
    return probability, teams


def _scale(weights: Weights) -> float:
    """Scale to a sum of 1, unless it is 0, and return what it was."""
    total = sum(weights.values())
    if total > 0:
        for drawn in weights:
            weights[drawn] /= total
    return total


def _turns(drawn: int, has_documents: int, likely: list[float], in_rounds: bool) -> Iterator[tuple[int, int, float]]:
    """Yield each ranker that may draw, the set of those that have drawn after it, and the probability of both and of the document."""
    waiting = has_documents & ~drawn
    if not waiting:  # a new round
        drawn, waiting = 0, has_documents
    share = 1 / waiting.bit_count()
    for ranker, chance in enumerate(likely):
        if chance > 0 and waiting >> ranker & 1:
            yield ranker, (drawn | 1 << ranker) if in_rounds else 0, share * chance
