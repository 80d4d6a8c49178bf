"""Time several things side by side, so that a noisy machine is noisy to all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.shapes import FloatArray, IntArray

Call = Callable[[], object]
WORDS_IN_A_BLOCK = 48_000  # fit into the cache of a core


class Pace(NamedTuple):
    """How often to repeat: until the seconds are used up, within two numbers of rounds.

    If it is warm, each contender runs once uncounted just before it is timed, so that none starts
    with caches that another has filled.
    """

    seconds: float
    at_least: int
    at_most: int = 101
    warm: bool = True


def side_by_side(
    contenders: Mapping[str, Call], pace: Pace, before: Mapping[str, Call] | None = None
) -> dict[str, FloatArray]:
    """Return the seconds of each contender in each round.

    A round runs each of them once, every other round in the opposite order. The first round is not
    counted. What ``before`` has for a contender runs before it, outside the clock.
    """
    names = list(contenders)
    rounds: list[dict[str, float]] = []

    def one_round() -> dict[str, float]:
        return {name: _seconds(contenders[name], (before or {}).get(name), pace.warm) for name in names}

    gc.collect()
    gc.disable()
    try:
        one_round()
        end = perf_counter() + pace.seconds
        while len(rounds) < pace.at_least or (len(rounds) < pace.at_most and perf_counter() < end):
            names.reverse()
            rounds.append(one_round())
    finally:
        gc.enable()
    return {name: np.array([seconds[name] for seconds in rounds]) for name in contenders}


def _seconds(run: Call, before: Call | None, warm: bool) -> float:
    for _ in range(2 if warm else 1):
        if before is not None:
            before()
        start = perf_counter()
        run()
        seconds = perf_counter() - start
    return seconds


def bare_sort(sizes: IntArray) -> tuple[Call, Call]:
    """Return the lower limit, and what restores the unsorted words before it.

    The limit is `np.sort` of as many random 64-bit words as there are rows, and nothing else.
    Whoever ranks by score has to sort, so no evaluation by NumPy takes less. It is independent of
    what the package does inside. Queries of similar length share a matrix, which is as wide as they
    are long on average, so that no word is padding.
    """
    rng = np.random.default_rng(0)
    ordered = np.sort(sizes)
    blocks = []
    while len(ordered):
        n_words = ordered[:WORDS_IN_A_BLOCK].cumsum()
        count = max(1, int(np.searchsorted(n_words, WORDS_IN_A_BLOCK, side="right")))
        shape = count, max(1, round(n_words[count - 1] / count))
        blocks.append(rng.integers(0, 2**64, shape, dtype=np.uint64))
        ordered = ordered[count:]
    copies = [block.copy() for block in blocks]

    def sort() -> None:
        for copy in copies:
            copy.sort(axis=1)

    def refill() -> None:
        for copy, block in zip(copies, blocks, strict=True):
            np.copyto(copy, block)

    return sort, refill
