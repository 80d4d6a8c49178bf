"""Slow, obvious interleaving, written from the published descriptions, to hold the package against.

Nothing here is shared with the package: every course of the mixing is walked, in exact fractions. A
list is a tuple of documents, best first.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

Documents = tuple[Hashable, ...]
Teams = tuple[int, ...]
Rankings = Sequence[Sequence[Hashable]]


def n_shown(rankings: Rankings, length: int | None) -> int:
    longest = max(len(ranking) for ranking in rankings)
    return min(longest if length is None else length, len(set().union(*rankings)))


def require_frequencies(drawn: Iterable[Any], chances: Mapping[Any, Any]) -> None:
    """Raise an error unless things were drawn as often as they are probable; the rare ones are counted together."""
    counts = Counter(drawn)
    assert set(counts) <= {one for one, chance in chances.items() if chance > 0}
    observed = np.array([counts[one] for one in chances], dtype=float)
    expected = observed.sum() * np.array([float(chance) for chance in chances.values()])
    rare = expected < 5
    observed, expected = (np.append(one[~rare], one[rare].sum() + 1e-9) for one in (observed, expected))
    assert stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue > 1e-4


def click_chances(model: Any, grades: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """Probability of each set of clicked places: looked at or not, clicked or not, stopped or not, place by place."""
    examination = model.examination or (1,) * len(grades)
    going: Counter[tuple[int, ...]] = Counter({(): Fraction(1)})  # who looks further
    done: Counter[tuple[int, ...]] = Counter()
    for place, grade in enumerate(grades):
        states, going = going, Counter()
        for (clicked, chance), looks, clicks, stops in itertools.product(states.items(), *[[False, True]] * 3):
            for event, p in ((looks, examination[place]), (clicks, model.click[grade]), (stops, model.stop[grade])):
                chance *= Fraction(p) if event else 1 - Fraction(p)
            goes_on = not (looks and stops and (clicks or not model.stop_only_after_click))
            (going if goes_on else done)[(*clicked, place) if looks and clicks else clicked] += chance
    return {clicked: chance for clicked, chance in (done + going).items() if chance > 0}


# -- mixing ----------------------------------------------------------------------------------------


def drafted_lists(rankings: Rankings, length: int | None) -> dict[tuple[Documents, Teams], Fraction]:
    """Walk every course: every order of all rankers in every round; each draws its best document not listed yet."""
    n = n_shown(rankings, length)
    done: dict[tuple[Documents, Teams], Fraction] = {}

    def place(documents: Documents, teams: Teams, order: Teams, chance: Fraction) -> None:
        if len(documents) == n:
            done[documents, teams] = done.get((documents, teams), Fraction(0)) + chance
        elif order:
            best = next((one for one in rankings[order[0]] if one not in documents), None)
            if best is None:
                place(documents, teams, order[1:], chance)
            else:
                place((*documents, best), (*teams, order[0]), order[1:], chance)
        else:
            orders = list(itertools.permutations(range(len(rankings))))
            for one in orders:
                place(documents, teams, one, chance / len(orders))

    place((), (), (), Fraction(1))
    return done


def whatever_the_teams(lists: Mapping[tuple[Documents, Teams], Fraction]) -> dict[Documents, Fraction]:
    chances: dict[Documents, Fraction] = {}
    for (documents, _), chance in lists.items():
        chances[documents] = chances.get(documents, Fraction(0)) + chance
    return chances


def ppm_lists(rankings: Rankings, length: int | None = None) -> dict[Documents, Fraction]:
    """Walk every choice at every place."""
    lists: dict[Documents, Fraction] = {(): Fraction(1)}
    for place in range(1, n_shown(rankings, length) + 1):
        reachable = {document for ranking in rankings for document in ranking[:place]}
        longer = {}
        for documents, chance in lists.items():
            choices = reachable - set(documents)
            for choice in choices:
                longer[(*documents, choice)] = chance / len(choices)
        lists = longer
    return lists


def balanced_lists(rankings: Rankings, length: int | None = None) -> dict[Documents, Fraction]:
    """Walk both courses, pointer by pointer."""
    a, b = rankings
    n = max(len(a), len(b)) if length is None else length
    chances: dict[Documents, Fraction] = {}
    for a_first in (True, False):
        shown: Documents = ()
        k_a = k_b = 0
        while k_a < len(a) and k_b < len(b) and len(shown) < n:
            if k_a < k_b or (k_a == k_b and a_first):
                document, k_a = a[k_a], k_a + 1
            else:
                document, k_b = b[k_b], k_b + 1
            shown = shown if document in shown else (*shown, document)
        chances[shown] = chances.get(shown, Fraction(0)) + Fraction(1, 2)
    return chances


# -- what clicks say -------------------------------------------------------------------------------


def click_pairs(n: int, clicks: Collection[int]) -> list[tuple[int, int]]:
    """Return (place preferred, place not preferred), from 0."""
    return [
        (clicked, other)
        for clicked in sorted(set(clicks))
        for other in range(min(clicked + 2, n))
        if other not in clicks
    ]


def rank_in(documents: Sequence[Hashable], document: Hashable) -> float:
    """Rank from 1; infinity for a document that is absent."""
    return documents.index(document) + 1 if document in documents else math.inf


def best_rank(rankings: Rankings, document: Hashable) -> float:
    return min(rank_in(ranking, document) for ranking in rankings)


def allowed(rankings: Rankings, documents: Documents, one: Hashable, other: Hashable) -> bool:
    """Whether r-under, the rank of the first of both that was placed, is not above r-bar.

    From r-bar on down, both documents may be chosen.
    """
    r_bar = max(best_rank(rankings, one), best_rank(rankings, other))
    return min(rank_in(documents, one), rank_in(documents, other)) >= r_bar


def ppm_credit(
    rankings: Rankings, lists: Mapping[Documents, Fraction], documents: Documents, clicks: Collection[int]
) -> list[Fraction]:
    """Return the credit of each ranker; ``lists`` are all of `ppm_lists`."""
    credit = [Fraction(0)] * len(rankings)
    for better, worse in click_pairs(len(documents), clicks):
        liked, passed = documents[better], documents[worse]
        if not allowed(rankings, documents, liked, passed):
            continue
        weight = 1 / sum(chance for others, chance in lists.items() if allowed(rankings, others, liked, passed))
        for i, ranking in enumerate(rankings):
            liked_rank, passed_rank = rank_in(ranking, liked), rank_in(ranking, passed)
            credit[i] += weight * ((liked_rank < passed_rank) - (liked_rank > passed_rank))
    return credit


def team_credit(n_rankers: int, teams: Teams, clicks: Collection[int]) -> list[Fraction]:
    return [Fraction(sum(teams[place] == ranker for place in set(clicks))) for ranker in range(n_rankers)]


def balanced_credit(rankings: Rankings, documents: Documents, clicks: Collection[int]) -> list[Fraction]:
    if not clicks:
        return [Fraction(0)] * 2
    k = min(rank_in(ranking, documents[max(clicks)]) for ranking in rankings)
    return [Fraction(sum(documents[place] in ranking[: int(k)] for place in set(clicks))) for ranking in rankings]
