"""A system: how it is called, under which convention we compute the same, and what still differs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.queries import CUTOFFS, Draw, Query
from ltr_metrics._engine.words import ConventionName

DIGITS_OF_FLOAT64 = 1e-12
DIGITS_OF_FLOAT32 = 2e-6
DIGITS_OF_5_DECIMALS = 5.001e-6  # half a unit of the last

Values = Mapping[str, Sequence[float]]  # the system's name of a metric -> one value for each query; NaN: left out


@dataclass(frozen=True)
class Difference:
    """A known difference, in words, and the value that the system has there instead.

    Attributes
    ----------
    metrics : frozenset of str
        The system's metrics that differ, without a cutoff.
    sentence : str
    applies : callable
        Whether a query is affected.
    value : float
        The value of the system for these queries; NaN is "left out".
    """

    metrics: frozenset[str]
    sentence: str
    applies: Callable[[Query], bool]
    value: float


@dataclass(frozen=True)
class System:
    """A system and its convention.

    Attributes
    ----------
    name : str
    version : str
        What was run.
    convention : ConventionName
        The convention of ltr_metrics.
    metrics : mapping of str to str
        The system's names, as ``name@k`` or ``name``, and the names under the convention.
    values : callable
        The system's values of all queries, for these names.
    draws : sequence of Draw
        The data that the system accepts, and on which its order of ties is defined.
    tolerance : float
        The digits that the system keeps.
    tolerance_of : mapping of str to float
        The same for single metrics, by the system's names without a cutoff.
    highest_grade : int
        Grades above it are lowered to it.
    gives_means : bool
        Whether it returns one mean, instead of one value for each query.
    differences : tuple of Difference
    """

    name: str
    version: str
    convention: ConventionName
    metrics: Mapping[str, str]
    values: Callable[[list[Query], Sequence[str]], Values]
    draws: Sequence[Draw]
    tolerance: float = DIGITS_OF_FLOAT64
    tolerance_of: Mapping[str, float] = field(default_factory=dict)
    highest_grade: int = 4
    gives_means: bool = False
    differences: tuple[Difference, ...] = ()


class MissingSystemError(Exception):
    """A system that cannot be run here, with the reason."""


def run_program(command: Sequence[str | Path], text: str = "") -> str:
    """Return what a program prints for this input; an error has what it says."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed with status {done.returncode}: {done.stderr}")
    return done.stdout


def at_cutoffs(names: Mapping[str, str], cutoffs: Sequence[int] = CUTOFFS) -> dict[str, str]:
    """Return the names with each cutoff."""
    return {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in names.items() for k in cutoffs}


def split(name: str) -> tuple[str, int]:
    """Return a name and its cutoff; 0 without one."""
    metric, _, k = name.partition("@")
    return metric, int(k or 0)


def every_draw(*, graded: Sequence[bool], ties: Sequence[bool], unretrieved: Sequence[bool]) -> list[Draw]:
    """Return all combinations."""
    return [Draw(graded=g, ties=t, unretrieved=u) for g in graded for t in ties for u in unretrieved]
