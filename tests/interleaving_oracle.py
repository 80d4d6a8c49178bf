"""Slow, obvious interleaving, written from the published descriptions, to hold the package against.

Nothing here is shared with the package: every course of the mixing is walked, in exact fractions. A
list is a tuple of documents, best first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction

Documents = tuple[Hashable, ...]
Teams = tuple[int, ...]
Rankings = Sequence[Sequence[Hashable]]


def n_shown(rankings: Rankings, length: int | None) -> int:
    longest = max(len(ranking) for ranking in rankings)
    return min(longest if length is None else length, len(set().union(*rankings)))


# -- mixing ----------------------------------------------------------------------------------------


def team_draft_lists(rankings: Rankings, length: int | None = None) -> dict[tuple[Documents, Teams], Fraction]:
    """Walk every order of the rankers in every round."""
    n = n_shown(rankings, length)
    orders = list(itertools.permutations(range(len(rankings))))
    going: dict[tuple[Documents, Teams], Fraction] = {((), ()): Fraction(1)}
    done: dict[tuple[Documents, Teams], Fraction] = {}
    while going:
        after_round: dict[tuple[Documents, Teams], Fraction] = {}
        for (documents, teams), chance in going.items():
            for order in orders:
                end = _round(rankings, documents, teams, order, n)
                reached = done if len(end[0]) == n else after_round
                reached[end] = reached.get(end, Fraction(0)) + chance / len(orders)
        going = after_round
    return done


def _round(
    rankings: Rankings, documents: Documents, teams: Teams, order: Sequence[int], n: int
) -> tuple[Documents, Teams]:
    for ranker in order:
        left = [document for document in rankings[ranker] if document not in documents]
        if left and len(documents) < n:
            documents, teams = (*documents, left[0]), (*teams, ranker)
    return documents, teams


def whatever_the_teams(lists: Mapping[tuple[Documents, Teams], Fraction]) -> dict[Documents, Fraction]:
    chances: dict[Documents, Fraction] = {}
    for (documents, _), chance in lists.items():
        chances[documents] = chances.get(documents, Fraction(0)) + chance
    return chances


def ppm_lists(rankings: Rankings, length: int | None = None) -> dict[Documents, Fraction]:
    """Walk every choice at every place."""
    lists: dict[Documents, Fraction] = {(): Fraction(1)}
    for place in range(1, n_shown(rankings, length) + 1):
        reachable = _reachable(rankings, place)
        longer = {}
        for documents, chance in lists.items():
            choices = reachable - set(documents)
            for choice in choices:
                longer[(*documents, choice)] = chance / len(choices)
        lists = longer
    return lists


def n_ppm_lists(rankings: Rankings, length: int | None = None) -> int:
    """Return how many lists `ppm_lists` would return, to see beforehand that it ends."""
    return math.prod(
        len(_reachable(rankings, place)) - (place - 1) for place in range(1, n_shown(rankings, length) + 1)
    )


def _reachable(rankings: Rankings, place: int) -> set[Hashable]:
    return {document for ranking in rankings for document in ranking[:place]}


# -- what clicks say -------------------------------------------------------------------------------


def click_pairs(n: int, clicks: Collection[int], pairs: str = "joachims") -> list[tuple[int, int]]:
    """Return (place preferred, place not preferred), from 0."""
    found = []
    for clicked in sorted(set(clicks)):
        last = {"joachims": clicked + 1, "authors": max(clicks) + 1}[pairs]
        found += [(clicked, other) for other in range(min(last + 1, n)) if other not in clicks]
    return found


def rank_in(documents: Sequence[Hashable], document: Hashable) -> float:
    """Rank from 1; infinity for a document that is absent."""
    return documents.index(document) + 1 if document in documents else math.inf


def best_rank(rankings: Rankings, document: Hashable) -> float:
    return min(rank_in(ranking, document) for ranking in rankings)


def worse_best_rank(rankings: Rankings, one: Hashable, other: Hashable) -> float:
    """r-bar: from there on down, both documents may be chosen."""
    return max(best_rank(rankings, one), best_rank(rankings, other))


def allowed(rankings: Rankings, documents: Documents, one: Hashable, other: Hashable) -> bool:
    """Whether r-under, the rank of the first of both that was placed, is not above r-bar."""
    return min(rank_in(documents, one), rank_in(documents, other)) >= worse_best_rank(rankings, one, other)


def chance_allowed(rankings: Rankings, lists: Mapping[Documents, Fraction], one: Hashable, other: Hashable) -> Fraction:
    """P(r-under >= r-bar): the share of the lists."""
    return sum((chance for documents, chance in lists.items() if allowed(rankings, documents, one, other)), Fraction(0))


def ppm_credit(
    rankings: Rankings,
    lists: Mapping[Documents, Fraction],
    documents: Documents,
    clicks: Collection[int],
    pairs: str = "joachims",
) -> list[Fraction]:
    """Return the credit of each ranker; ``lists`` are all of `ppm_lists`."""
    credit = [Fraction(0)] * len(rankings)
    n_allowed = 0
    for better, worse in click_pairs(len(documents), clicks, pairs):
        liked, passed = documents[better], documents[worse]
        if not allowed(rankings, documents, liked, passed):
            continue
        n_allowed += 1
        weight = 1 / chance_allowed(rankings, lists, liked, passed)
        for i, ranking in enumerate(rankings):
            liked_rank, passed_rank = rank_in(ranking, liked), rank_in(ranking, passed)
            credit[i] += weight * ((liked_rank < passed_rank) - (liked_rank > passed_rank))
    return [one / n_allowed for one in credit] if pairs == "authors" and n_allowed else credit


def team_credit(n_rankers: int, teams: Teams, clicks: Collection[int]) -> list[Fraction]:
    return [Fraction(sum(teams[place] == ranker for place in set(clicks))) for ranker in range(n_rankers)]


# -- fidelity --------------------------------------------------------------------------------------


def click_patterns(chances: Sequence[Fraction]) -> list[tuple[list[int], Fraction]]:
    """Return every set of clicked places and its probability, where each place is clicked independently."""
    patterns = []
    for flags in itertools.product((False, True), repeat=len(chances)):
        each = [chance if flag else 1 - chance for flag, chance in zip(flags, chances, strict=True)]
        patterns.append(([place for place, flag in enumerate(flags) if flag], math.prod(each, start=Fraction(1))))
    return patterns
