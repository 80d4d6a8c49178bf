"""Checks of model files for all hosts: trees, ranges of numbers, and the error for a damaged file.

A host does not check the indices in a model file. A damaged file can make it read foreign memory,
loop forever or abort, and Python can catch none of these. So the structure of a file is checked
first, and the host receives only the checked parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from ltr_metrics.errors import LtrValueError

HIGHEST_INT32 = 2**31 - 1


class DamageError(Exception):
    """A fault in the content of a model file; the message has no file name."""


def damaged(path: Path, damage: object) -> LtrValueError:
    """Return the error for a damaged file."""
    return LtrValueError(f"{path} is damaged or cut off: {damage}. Save the model again.")


def reached_nodes(left: Sequence[int], right: Sequence[int], n_nodes: int) -> list[bool]:
    """Return the mask of the nodes below the root (node 0); refuse a node that is reached twice.

    Parameters
    ----------
    left, right : sequence of int
        The children of the first nodes. A node is a leaf if its left child is -1 or it has no
        entry.
    n_nodes : int
    """
    reached = [False] * n_nodes
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if not 0 <= node < n_nodes:
            raise DamageError(f"a node has the child {node}, and the nodes are 0 to {n_nodes - 1}")
        if reached[node]:
            raise DamageError(f"two ways lead to node {node}, so this is not a tree")
        reached[node] = True
        if node < len(left) and left[node] != -1:
            waiting += left[node], right[node]
    return reached


def require_length(name: str, n: int, expected: int) -> None:
    """Refuse an array of another length."""
    if n != expected:
        raise DamageError(f"{name} has {n} entries, expected {expected}")


def require_range(name: str, values: Sequence[int], low: int, high: int) -> None:
    """Refuse whole numbers below ``low`` or above ``high``."""
    for value in (min(values), max(values)) if values else ():
        if not low <= value <= high:
            raise DamageError(f"entry {values.index(value)} of {name} is {value}, and must be {low} to {high}")


def require_finite(name: str, values: Sequence[float]) -> None:
    """Refuse NaN and infinity."""
    for at, value in enumerate(values):
        if not isfinite(value):
            raise DamageError(f"entry {at} of {name} is {value}, and must be a finite number")
