"""Ties that are alike: what depends on their kind alone is computed once for each kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.ties import TiedDocuments

SLOT_BITS = 14  # of a hash table that fits in the cache; thousands of ties are of some hundred kinds
FEW_TIES = 500  # are computed sooner than their kinds are found
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: the high bits of a product are mixed best


class Kinds(NamedTuple):
    """One tie of each kind, and the kind of each tie.

    A kind may be listed more than once, because only a sort would find all equal ties.
    """

    example: IntArray  # position of one tie of each kind
    of_tie: IntArray  # position of each tie's kind in ``example``

    @classmethod
    def of(cls, keys: IntArray) -> Kinds:
        """Ties with equal keys are of one kind, unless there are only a few ties."""
        if len(keys) < FEW_TIES:
            return cls(np.arange(len(keys)), np.arange(len(keys)))
        slot = (keys.astype(np.uint64) * HASH_FACTOR) >> np.uint64(64 - SLOT_BITS)
        position = np.arange(len(keys), dtype=np.int32)
        holder = np.empty(2**SLOT_BITS, dtype=np.int32)
        holder[slot] = position
        example = holder[slot]  # one of the ties that share a slot
        example = np.where(keys[example] == keys, example, position)  # a tie of another kind stands for itself
        is_example = example == position
        return cls(np.flatnonzero(is_example), (np.cumsum(is_example) - 1)[example])


def kinds_by_grades(documents: TiedDocuments, number: IntArray) -> Kinds | None:
    """Put ties with the same grades and the same ``number`` into one kind; None if that would save little."""
    if len(number) < FEW_TIES:
        return None
    base = int(max(documents.ties.size.max(), number.max())) + 1
    n_grades = int(documents.grades.max())
    if base ** (n_grades + 1) >= 2**63:  # the key, which has a digit for each grade, would not fit
        return None
    digit = np.array([0, *(base**place for place in range(1, n_grades + 1))])
    total = np.cumsum(digit.take(documents.grades))  # may exceed int64, but differences are exact modulo 2**64
    first, last = documents.starts, documents.starts + documents.ties.size - 1
    kinds = Kinds.of(total[last] - total[first] + digit[documents.grades[first]] + number)
    return kinds if len(kinds.example) < len(number) // 4 else None
