"""The limit: `np.sort` of as many 64-bit words as there are rows, and nothing else.

The words are sorted in blocks of queries of similar length. Whoever ranks by score has to sort, so
no evaluation by NumPy takes less. Defined here by itself: what the package does inside may change,
the limit does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.shapes import IntArray

WORDS_IN_A_BLOCK = 48_000  # which a core's own cache holds


class BareSort:
    """Random words in matrices, a row for a query, sorted along axis 1.

    Parameters
    ----------
    sizes : ndarray of int
        Documents of each query.
    """

    def __init__(self, sizes: IntArray) -> None:
        rng = np.random.default_rng(0)
        self._words = [rng.integers(0, 2**64, shape, dtype=np.uint64) for shape in blocks(sizes)]
        self._copies: list[npt.NDArray[np.uint64]] = [np.empty_like(words) for words in self._words]

    def refill(self) -> None:
        """Put unsorted words where `sort` sorted: for outside the clock."""
        for copy, words in zip(self._copies, self._words, strict=True):
            np.copyto(copy, words)

    def sort(self) -> None:
        """Sort all words."""
        for copy in self._copies:
            copy.sort(axis=1)


def blocks(sizes: IntArray) -> list[tuple[int, int]]:
    """Return the shapes of the matrices: queries by length, as many together as the words of a block allow.

    A matrix is as wide as its queries are long on average, so that there are as many words as rows,
    and none for padding.
    """
    ordered = np.sort(sizes)
    shapes: list[tuple[int, int]] = []
    first = 0
    while first < len(ordered):
        words = ordered[first : first + WORDS_IN_A_BLOCK].cumsum()
        count = max(1, int(np.searchsorted(words, WORDS_IN_A_BLOCK, side="right")))
        shapes.append((count, max(1, round(words[count - 1] / count))))
        first += count
    return shapes
