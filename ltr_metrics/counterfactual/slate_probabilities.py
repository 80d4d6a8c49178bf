"""Exact probabilities of parts of an interleaved list: its first slots, and one slot."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ltr_metrics.errors import LtrValueError
from ltr_metrics.interleaving.method import Method
from ltr_metrics.interleaving.optimized import Optimized

MAX_LISTS = 20_000  # beginnings of lists that are enumerated for the probability of one slot


class SlateProbabilities:
    """The probabilities of lists that one method mixes from some rankings.

    All methods but Optimized fill the slots one after the other. So the first j slots of a list
    have the distribution of a list of length j.
    """

    def __init__(self, method: type[Method], rankings: Sequence[Sequence[Hashable]], length: int, options: Any) -> None:
        self._method, self._rankings, self._length, self._options = method, rankings, length, options
        self._of_length: dict[int, Method] = {}
        self._documents = list(dict.fromkeys(document for ranking in rankings for document in ranking))
        self._by_slot: list[dict[Hashable, float]] | None = None

    def of_prefix(self, documents: Sequence[Hashable]) -> float:
        """Return the probability that the list begins with these documents; 1 for none."""
        return self._mixed(len(documents)).probability(list(documents)) if documents else 1.0

    def of_list(self, documents: Sequence[Hashable]) -> float:
        """Return the probability of a whole list."""
        return self._mixed(self._length).probability(list(documents))

    def of_slot(self, slot: int, document: Hashable, n_slots: int) -> float:
        """Return the probability that a slot (from 0) displays a document."""
        if self._by_slot is None:
            self._by_slot = self._enumerate(n_slots)
        return self._by_slot[slot].get(document, 0.0)

    def _mixed(self, length: int) -> Method:
        """Return the method for lists of this length."""
        if length not in self._of_length:
            self._of_length[length] = self._method(self._rankings, length, **self._options)
        return self._of_length[length]

    def _enumerate(self, n_slots: int) -> list[dict[Hashable, float]]:
        """Add up the probabilities of all beginnings of lists, by their last document."""
        by_slot: list[dict[Hashable, float]] = []
        beginnings: list[tuple[Hashable, ...]] = [()]
        for _ in range(n_slots):
            probability: dict[tuple[Hashable, ...], float] = {}
            for beginning in beginnings:
                for document in self._documents:
                    if document not in beginning:
                        p = self.of_prefix((*beginning, document))
                        if p > 0:
                            probability[(*beginning, document)] = p
            if len(probability) > MAX_LISTS:
                raise LtrValueError(
                    f"There are more than {MAX_LISTS:,} beginnings of a list of {n_slots} documents, too many to add "
                    'up. Use estimator="interaction", which needs one of them, or shorter lists.'
                )
            beginnings = list(probability)
            last: dict[Hashable, float] = {}
            for beginning, p in probability.items():
                last[beginning[-1]] = last.get(beginning[-1], 0.0) + p
            by_slot.append(last)
        return by_slot


def require_sequential(method: type[Method], estimator: str) -> None:
    """Raise an error for the method whose lists are not filled slot by slot."""
    if issubclass(method, Optimized) and estimator != "standard":
        raise LtrValueError(
            "The method optimized chooses whole lists, so the probabilities of their parts are not those of shorter "
            f'lists. Got estimator={estimator!r}: use "standard".'
        )
