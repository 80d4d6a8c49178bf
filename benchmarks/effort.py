"""How much is measured, and how often: in full, or quickly."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.clock import Pace


@dataclass(frozen=True)
class Effort:
    """The sizes and repeats of a run.

    Attributes
    ----------
    name : str
    pace : Pace
        Of each comparison.
    slow : Pace
        Of those that take long: trainings, and what makes dictionaries of all rows.
    queries : int
        Of the MSLR shape, against peers.
    many_queries : int or None
        The same against those that take millions of rows.
    rows : tuple of float
        Of the MSLR shape, for growth and memory.
    documents_of_one_query, tiny_queries : int
        The other two shapes of growth.
    compared_queries : tuple of int
        Of comparisons with resamples.
    training_queries : int
        Evaluated in each round of a training.
    threads, training_threads : tuple of int
        Of the peers that have threads, and of trainings.
    """

    name: str
    pace: Pace
    slow: Pace
    queries: int
    many_queries: int | None
    rows: tuple[float, ...]
    documents_of_one_query: int
    tiny_queries: int
    compared_queries: tuple[int, ...]
    training_queries: int
    threads: tuple[int, ...]
    training_threads: tuple[int, ...]


FULL = Effort(
    name="full",
    pace=Pace(seconds=5, at_least=9),
    slow=Pace(seconds=20, at_least=7, warm=False),
    queries=2_000,
    many_queries=20_000,
    rows=(1e5, 1e6, 1e7),
    documents_of_one_query=10**6,
    tiny_queries=10**6,
    compared_queries=(20_000, 156_000),
    training_queries=2_000,
    threads=(1, 2),
    training_threads=(1, 2),
)
QUICK = Effort(
    name="quick",
    pace=Pace(seconds=0.3, at_least=2),
    slow=Pace(seconds=0.5, at_least=2, warm=False),
    queries=2_000,
    many_queries=None,
    rows=(1e5, 1e6),
    documents_of_one_query=10**6,
    tiny_queries=10**5,
    compared_queries=(2_000, 10_000),
    training_queries=500,
    threads=(1, 2),
    training_threads=(1,),
)
