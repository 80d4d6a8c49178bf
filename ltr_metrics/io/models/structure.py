"""What the model files of all hosts have in common: trees, numbers in ranges, and the error about a damaged file.

A host reads a model file without checking its indices. A damaged file makes it read memory that is not
its own, loop for ever or abort, and Python can catch none of these. So the structure of a file is
checked before the host sees it, and the host is given only what was checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from ltr_metrics.errors import LtrValueError

HIGHEST_INT32 = 2**31 - 1


class DamageError(Exception):
    """What is wrong with the content of a model file, and where: the text behind the name of the file."""


def damaged(path: Path, damage: object) -> LtrValueError:
    """Return the error about a damaged file, with the remedy."""
    return LtrValueError(f"{path} is damaged or cut off: {damage}. Save the model again.")


def reached_nodes(left: Sequence[int], right: Sequence[int], n_nodes: int) -> list[bool]:
    """Return which nodes of a tree the root (node 0) leads to, and refuse a node that is reached twice.

    Parameters
    ----------
    left, right : sequence of int
        The children of the first nodes. A node whose left child is -1, or that has no entry, is a leaf.
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


def require_length(name: str, given: int, expected: int) -> None:
    """Refuse an array of another length."""
    if given != expected:
        raise DamageError(f"{name} has {given} entries, where {expected} are due")


def require_range(name: str, values: Sequence[int], low: int, high: int) -> None:
    """Refuse whole numbers outside of a range, whose ends belong to it."""
    for value in (min(values), max(values)) if values else ():
        if not low <= value <= high:
            raise DamageError(f"entry {values.index(value)} of {name} is {value}, and must be {low} to {high}")


def require_finite(name: str, values: Sequence[float]) -> None:
    """Refuse NaN and infinity."""
    for at, value in enumerate(values):
        if not isfinite(value):
            raise DamageError(f"entry {at} of {name} is {value}, and must be a finite number")
