"""Pairwise Preference Multileaving (PPM)."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from itertools import chain
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import Pairs
from ltr_metrics.errors import LtrValueError
from ltr_metrics.interleaving.method import Method, Shown

PAIRS: tuple[Pairs, ...] = get_args(Pairs)
SMALLEST = 1e-150  # of whose inverse the square is still a float64


class PairwisePreference(Method):
    """At place x one of the documents that some ranking has among its first x is drawn uniformly; clicks prefer one document to another.

    A ranker's credit is the sum of phi over the pairs of shown documents (i, j) of which the clicks prefer i to j. Ranks count from 1;
    top(d) is the best rank of d over the rankings, r = max(top(i), top(j)), n_x the number of documents that place x was drawn from::

        phi = 0                        if i or j stands above place r, where the other could not have stood
              +1 / P                   if the ranker has i above j
              -1 / P                   if it has j above i
              0                        if it has neither (a document that it has not is below all that it has)
        P   = product of 1 - 1 / n_x   for x = min(top(i), top(j)) .. r - 1

    P is the probability that neither stands above place r, so that under clicks that know nothing of the documents every ranker's
    expected credit is 0; who has more of it in more impressions is another matter. A document that all rankings have below x is never shown at x
    or above (Oosterhuis and de Rijke, CIKM 2017).

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings of any hashable ids, best first, of any lengths; one a ranker.
    length : int, optional
        Documents to show at most: fewer are shown where all rankings together have no more. Default: as many as the longest ranking has.
    pairs : {"joachims", "authors"}
        What clicks prefer. "joachims": a clicked document to every one above it that is not clicked, and to the one right below if that is
        not (Joachims, KDD 2002), as the paper has it. "authors": a clicked document to every one that is not clicked, down to the one below the
        last click, and credit is divided by the number of pairs whose phi is not 0 by the first rule, as in the authors' experiments; then
        the expected credit under such clicks is not exactly 0.

    Examples
    --------
    >>> from ltr_metrics.interleaving import PairwisePreference
    >>> method = PairwisePreference([[1, 2, 3, 4, 5], [4, 3, 5, 1, 2]], length=5)
    >>> method.mix(random_state=0).documents
    [4, 1, 2, 3, 5]
    >>> method.credit([4, 1, 2, 3, 5], clicks=[1])
    array([3., 1.])
    >>> method.credit([4, 1, 2, 3, 5], clicks=[3])
    array([-1.5,  4.5])
    """

    def __init__(self, rankings: Any, length: int | None = None, *, pairs: Pairs = "joachims") -> None:
        super().__init__(rankings, length)
        self.pairs = require_option("pairs", pairs, PAIRS)

    @cached_property
    def _places(self) -> list[list[Hashable]]:
        """The documents that the rankings have at each place that is shown."""
        n_shown = self._rankings.n_shown
        return [[one[place] for one in self._rankings.lists if place < len(one)] for place in range(n_shown)]

    @cached_property
    def _by_top(self) -> list[Hashable]:
        """The documents that may be shown, by best rank: place x is drawn from a beginning of this list."""
        return list(dict.fromkeys(chain.from_iterable(self._places)))

    @cached_property
    def _choices(self) -> list[int]:
        """How many documents each place is drawn from, n_x."""
        seen: set[Hashable] = set()
        choices = []
        for place, documents in enumerate(self._places):
            seen.update(documents)
            choices.append(len(seen) - place)
        return choices

    def _mix(self, rng: np.random.Generator) -> Shown:
        documents = self._by_top.copy()
        draws = rng.random(len(self._choices)).tolist()
        for place, (draw, n_choices) in enumerate(zip(draws, self._choices, strict=True)):
            chosen = place + int(draw * n_choices)
            documents[place], documents[chosen] = documents[chosen], documents[place]
        return Shown(documents[: len(draws)])

    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        self._refuse_impossible(documents, teams)
        top, ranks = self._rankings.top, self._rankings.ranks
        credit, n_pairs = [0.0] * len(ranks), 0
        absent = len(top) + 1
        for preferred, other in self._preferences(places, len(documents)):
            one, two = documents[preferred], documents[other]
            first, last = sorted((top[one], top[two]))
            if min(preferred, other) + 1 < last:
                continue
            n_pairs += 1
            probability = self._probability_of_neither_above(first, last)
            if probability < SMALLEST:
                raise LtrValueError(
                    f"The probability that neither {one!r} nor {two!r} stands above place {last} is less than {SMALLEST:g}: credit by it says nothing. "
                    "Mix shorter lists."
                )
            weight = 1 / probability
            for ranker, of_ranker in enumerate(ranks):
                rank_one, rank_two = of_ranker.get(one, absent), of_ranker.get(two, absent)
                credit[ranker] += weight * ((rank_one < rank_two) - (rank_one > rank_two))
        return np.array(credit) / (max(n_pairs, 1) if self.pairs == "authors" else 1)

    def _probability_of_neither_above(self, first: int, last: int) -> float:
        probability = 1.0
        for n_choices in self._choices[first - 1 : last - 1]:
            probability *= 1 - 1 / n_choices
        return probability

    def _preferences(self, places: list[int], n_shown: int) -> list[tuple[int, int]]:
        """Return pairs of places, the preferred one first."""
        clicked = set(places)
        last = places[-1] + 1 if places else -1
        return [
            (place, other)
            for place in places
            for other in (range(last + 1) if self.pairs == "authors" else chain(range(place), (place + 1,)))
            if other not in clicked and other < n_shown
        ]

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        if not self._is_possible(documents, teams):
            return 0.0
        probability = 1.0
        for n_choices in self._choices:
            probability /= n_choices
        return probability

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        return all(self._rankings.top[document] <= place for place, document in enumerate(documents, start=1))
