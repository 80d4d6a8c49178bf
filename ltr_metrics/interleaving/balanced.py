"""Balanced interleaving."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.interleaving.method import Method, Shown


class Balanced(Method):
    """Two rankings are read down in turn by a coin's choice of the first; each adds its next document if it is not there yet.

    So the first documents of a list are the first k of one ranking and the first k or k - 1 of the other, in one of two possible lists. Let
    k be the best rank that the lowest clicked document has in either ranking: a ranker's credit is the number of clicked documents among
    its first k (Joachims, 2003; Chapelle, Joachims, Radlinski and Yue, TOIS 2012). Clicks that know
    nothing of the documents may prefer one ranker all the same: of [1, 2, 3] and [2, 3, 1] the second wins two thirds of them.

    Parameters
    ----------
    rankings : sequence of two sequences
        Two rankings of any hashable ids, best first, of any lengths.
    length : int, optional
        Documents to show at most. The list ends where either ranking ends, so that fewer may be shown, and not as many in both lists. Default:
        as many as the longer ranking has.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Balanced
    >>> method = Balanced([[1, 2, 3, 4, 5], [4, 3, 5, 1, 2]], length=5)
    >>> method.mix(random_state=0)
    Shown(documents=[4, 1, 3, 2, 5], teams=None)
    >>> method.credit([4, 1, 3, 2, 5], clicks=[0, 2])
    array([0., 2.])
    >>> method.probability([4, 1, 3, 2, 5])
    0.5
    """

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        super().__init__(rankings, length)
        if len(self._rankings) != 2:
            raise LtrValueError(
                f"Balanced mixes two rankings: got {len(self._rankings)}. Take TeamDraft or PairwisePreference for more."
            )

    @cached_property
    def _either(self) -> tuple[list[Hashable], list[Hashable]]:
        """The two lists: the first ranking leads, the second leads."""
        a, b = self._rankings.lists
        return _in_turn(a, b, self.length), _in_turn(b, a, self.length)

    def _mix(self, rng: np.random.Generator) -> Shown:
        return Shown(self._either[int(rng.integers(2))].copy())

    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        if not places:
            return np.zeros(2)
        k = self._rankings.top[documents[places[-1]]]
        absent = k + 1
        clicked = [documents[place] for place in places]
        return np.array([sum(ranks.get(one, absent) <= k for one in clicked) for ranks in self._rankings.ranks], float)

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self._either.count(documents) / 2

    def _impossible_anyhow(self, documents: list[Hashable]) -> str:
        """Return where a list leaves both that there are, which may be of two lengths."""
        if documents in self._either:
            return ""
        place = max(_n_alike(documents, one) for one in self._either)
        return f"both lists that there are go on differently at place {place} (from 0)"


def _in_turn(leader: list[Hashable], follower: list[Hashable], length: int) -> list[Hashable]:
    """Return the documents of both in turn, each once, until either ranking ends."""
    n = min(len(leader), len(follower))
    turns = [document for both in zip(leader[:n], follower[:n], strict=True) for document in both]
    if len(leader) == n:
        turns.pop()  # it ends before the follower's last turn
    return list(dict.fromkeys(turns))[:length]


def _n_alike(documents: list[Hashable], others: list[Hashable]) -> int:
    """Return how many documents the beginnings of two lists share."""
    pairs = enumerate(zip(documents, others, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(documents), len(others)))
