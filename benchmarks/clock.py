"""Time several things side by side, so that a noisy machine is noisy to all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.shapes import FloatArray

Times = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Pace:
    """How often to repeat: until the seconds are used up, within two numbers of rounds.

    Attributes
    ----------
    seconds : float
    at_least, at_most : int
        Rounds.
    warm : bool
        Whether each contender runs once uncounted before it is counted, so that none starts with
        caches which another has filled.
    """

    seconds: float
    at_least: int
    at_most: int = 101
    warm: bool = True


def side_by_side(
    contenders: Mapping[str, Callable[[], object]], pace: Pace, before: Mapping[str, Callable[[], object]] | None = None
) -> Times:
    """Return the seconds of each contender in each round.

    A round runs each of them once, every other round in the opposite order. One round before the
    first warms up and is not counted.

    Parameters
    ----------
    contenders : mapping of str to callable
    pace : Pace
    before : mapping of str to callable, optional
        What has to be made anew before a contender runs, outside the clock.
    """
    before = before or {}
    names = list(contenders)

    def one_round() -> dict[str, float]:
        return {name: _seconds(contenders[name], before.get(name), pace.warm) for name in names}

    rounds: list[dict[str, float]] = []
    with _without_garbage_collection():
        one_round()
        end = perf_counter() + pace.seconds
        while len(rounds) < pace.at_least or (len(rounds) < pace.at_most and perf_counter() < end):
            names.reverse()
            rounds.append(one_round())
    return {name: np.array([of_round[name] for of_round in rounds]) for name in contenders}


def _seconds(run: Callable[[], object], before: Callable[[], object] | None, warm: bool) -> float:
    if before is not None:
        before()
    if warm:
        run()
        if before is not None:
            before()
    start = perf_counter()
    run()
    return perf_counter() - start


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
