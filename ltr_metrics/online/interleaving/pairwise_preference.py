"""Pairwise Preference Multileaving (PPM)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterator
from functools import cached_property

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.online.interleaving.method import Method, Shown


class PairwisePreference(Method):
    r"""Pairwise Preference Multileaving: clicks express preferences between pairs of documents.

    The document at slot x, counted from 1, is drawn uniformly from those in the top x of any
    ranking that are not in the list yet. A ranker's credit is the sum of :math:`\phi` over the
    pairs (i, j) of documents in the list such that the clicks prefer i to j. Let top(d) be the best
    rank of d in any ranking, :math:`r = \max(top(i), top(j))`, and :math:`n_x` the number of
    documents that slot x was drawn from:

    .. math:: \phi = \begin{cases}
        0 & \text{if i or j is above slot r} \\
        +1 / P & \text{if the ranker has i above j} \\
        -1 / P & \text{if it has j above i} \\
        0 & \text{if it has neither}
        \end{cases}
        \qquad P = \prod_{x = \min(top(i), top(j))}^{r - 1} \left( 1 - \frac{1}{n_x} \right)

    A clicked document is preferred to every unclicked one above it, and to the one directly below it if
    that is unclicked (Joachims, KDD 2002).

    A pair with a document above slot r counts 0, because the other document could not have been
    displayed there. P is the probability that neither document is above slot r, so dividing by it
    makes up for the pairs that do not count. A document that is missing from a ranking is below all
    others. It follows that the expected credit of every ranker is 0 if clicks ignore the documents.
    This does not mean that all rankers win equally often. A document that all rankings have below
    rank x is never in the first x slots.

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
    simulate : Compare rankers with simulated users.

    References
    ----------
    Oosterhuis & de Rijke, Sensitive and scalable online evaluation with theoretical guarantees,
    CIKM 2017.

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

    @cached_property
    def _candidates(self) -> list[Hashable]:
        """The documents that may be shown, by best rank. Each slot is drawn from a prefix of this list."""
        n = self._n_shown
        return list(dict.fromkeys(ranking[i] for i in range(n) for ranking in self.rankings if i < len(ranking)))

    @cached_property
    def _n_choices(self) -> list[int]:
        """The number of documents that each slot is drawn from, n_x."""
        best_ranks = [self._best_rank[document] for document in self._candidates]
        return [bisect_right(best_ranks, slot + 1) - slot for slot in range(self._n_shown)]

    def _mix(self, rng: np.random.Generator) -> Shown:
        documents = self._candidates.copy()
        draws = rng.random(len(self._n_choices)).tolist()
        for slot, (draw, n_choices) in enumerate(zip(draws, self._n_choices, strict=True)):
            chosen = slot + int(draw * n_choices)
            documents[slot], documents[chosen] = documents[chosen], documents[slot]
        return Shown(documents[: len(draws)])

    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        if not self._is_possible(documents):
            return None
        best_rank, absent = self._best_rank, len(self._best_rank) + 1
        credit = [0.0] * len(self.rankings)
        for preferred, other in _preferences(slots, len(documents)):
            one, two = documents[preferred], documents[other]
            first, last = sorted((best_rank[one], best_rank[two]))
            if min(preferred, other) + 1 < last:
                continue
            weight = 1 / math.prod(1 - 1 / n_choices for n_choices in self._n_choices[first - 1 : last - 1])
            for ranker, ranks in enumerate(self._ranks):
                rank_one, rank_two = ranks.get(one, absent), ranks.get(two, absent)
                credit[ranker] += weight * ((rank_one < rank_two) - (rank_one > rank_two))
        return np.array(credit)

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return math.prod(1 / n_choices for n_choices in self._n_choices) if self._is_possible(documents) else 0.0

    def _is_possible(self, documents: list[Hashable]) -> bool:
        return all(self._best_rank[document] <= rank for rank, document in enumerate(documents, start=1))


def _preferences(slots: list[int], n_shown: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of slots such that clicks prefer the first to the second."""
    clicked = set(slots)
    for slot in slots:
        for other in (*range(slot), slot + 1):
            if other not in clicked and other < n_shown:
                yield slot, other
