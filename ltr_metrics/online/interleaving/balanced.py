"""Balanced interleaving."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.online.interleaving.method import Method, Shown


class Balanced(Method):
    """Balanced interleaving of two rankings, which take turns to add their next document.

    A coin decides which ranking begins, and a document that is in the list already is not added
    again. So the first documents of a list are the top k of one ranking and the top k or k - 1 of
    the other, and there are two possible lists.

    Take the clicked document that is furthest down the list, and let k be the better of its two
    ranks. A ranker's credit is the number of clicked documents among its first k (Joachims, 2003;
    Chapelle, Joachims, Radlinski and Yue, TOIS 2012). Clicks that ignore the documents can still
    prefer one ranking: for [1, 2, 3] and [2, 3, 1], the second wins two thirds of them.

    Parameters
    ----------
    rankings : sequence of two sequences
        Two rankings of any hashable ids and any lengths, best first.
    length : int, optional
        Maximum number of documents in the list. The list ends where either ranking ends, so it can
        be shorter, and the two possible lists can differ in length. Default: the length of the
        longer ranking.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there are not two rankings, if a ranking repeats a document, or for a wrong ``length``.

    See Also
    --------
    TeamDraft : A method for two or more rankings.
    score : Credit the impressions of a log.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Balanced
    >>> method = Balanced([[1, 2, 3, 4, 5], [4, 3, 5, 1, 2]], length=5)
    >>> method.rankings[1], method.length
    ([4, 3, 5, 1, 2], 5)
    >>> method.mix(random_state=0)
    Shown(documents=[4, 1, 3, 2, 5], teams=None)
    >>> method.credit([4, 1, 3, 2, 5], clicks=[0, 2])
    array([0., 2.])
    >>> method.probability([4, 1, 3, 2, 5])
    0.5
    """

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        super().__init__(rankings, length)
        if len(self.rankings) != 2:
            raise LtrValueError(
                f"Balanced needs exactly two rankings. Got {len(self.rankings)}. Use TeamDraft or "
                "PairwisePreference for more."
            )

    @cached_property
    def _possible_lists(self) -> tuple[list[Hashable], list[Hashable]]:
        """The list that begins with the first ranking, and the one that begins with the second."""
        a, b = self.rankings
        return _alternate(a, b, self.length), _alternate(b, a, self.length)

    @property
    def _lengths(self) -> set[int]:
        return set(map(len, self._possible_lists))

    def _mix(self, rng: np.random.Generator) -> Shown:
        return Shown(self._possible_lists[int(rng.integers(2))].copy())

    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        if documents not in self._possible_lists:
            return None
        if not slots:
            return np.zeros(2)
        k = self._best_rank[documents[slots[-1]]]
        clicked = [documents[slot] for slot in slots]
        return np.array([sum(ranks.get(one, k + 1) <= k for one in clicked) for ranks in self._ranks], float)

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._possible_lists.count(documents) / 2


def _alternate(first: list[Hashable], second: list[Hashable], length: int) -> list[Hashable]:
    """Return the distinct documents of both in turn, until either ranking ends."""
    n = min(len(first), len(second))
    turns = [document for pair in zip(first[:n], second[:n], strict=True) for document in pair]
    if len(first) == n:
        turns.pop()  # the list ends before the second ranking's last turn
    return list(dict.fromkeys(turns))[:length]
