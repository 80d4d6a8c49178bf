"""Random queries, a system with its convention, and the comparison of their values."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ltr_metrics as ltr

CUTOFFS = (1, 2, 3, 5, 10, 20)
MOST_DOCUMENTS = 25
N_QUERIES = 60
SEEDS = range(3)
DIGITS_OF_FLOAT64 = 1e-12
DIGITS_OF_FLOAT32 = 2e-6
DIGITS_OF_5_DECIMALS = 5.001e-6  # half a unit of the last


@dataclass(frozen=True)
class Query:
    """The documents of one query, in the order of the input.

    The order of document ids as text is neither that of the input nor that of the scores. Scores are
    positive, and exact in float32. A document that is not retrieved has no rank; one at least is retrieved.
    """

    qid: str
    docids: list[str]
    grades: np.ndarray
    scores: np.ndarray
    retrieved: np.ndarray

    @property
    def ranking(self) -> list[str]:
        """The retrieved documents, best first; ties keep the order of the input."""
        order = np.argsort(-self.scores, kind="stable")
        return [self.docids[row] for row in order if self.retrieved[row]]

    @property
    def grade_of(self) -> dict[str, int]:
        return dict(zip(self.docids, self.grades.tolist(), strict=True))

    @property
    def relevant(self) -> list[str]:
        return [docid for docid, grade in self.grade_of.items() if grade > 0]

    @property
    def score_of(self) -> dict[str, float]:
        pairs = zip(self.docids, self.scores.tolist(), self.retrieved, strict=True)
        return {docid: score for docid, score, is_retrieved in pairs if is_retrieved}


class Draw(NamedTuple):
    """What the random queries have: grades from 0 to 4 or to 1, few distinct scores, documents without a rank."""

    graded: bool
    ties: bool
    unretrieved: bool


def draws(graded: str = "no yes", ties: str = "no yes", unretrieved: str = "no yes") -> list[Draw]:
    """Return all combinations."""
    return [Draw(*(one == "yes" for one in chosen)) for chosen in product(*map(str.split, (graded, ties, unretrieved)))]


def draw_queries(seed: int, draw: Draw, highest_grade: int = 4) -> list[Query]:
    """Return random queries of 1 to 25 documents; every tenth has one document, every fifth no relevant one."""
    rng = np.random.default_rng(seed)
    queries = []
    for number in range(N_QUERIES):
        n = 1 if number % 10 == 0 else int(rng.integers(2, MOST_DOCUMENTS + 1))
        grades = rng.choice([0, 0, 0, 1, 2, 3, 4] if draw.graded else [0, 0, 1], n).clip(max=highest_grade)
        if rng.random() < 0.2:
            grades[:] = 0
        scores = (rng.integers(0, 4, n) if draw.ties else rng.permutation(n)) / 8 + 0.125
        retrieved = (rng.random(n) < 0.7) if draw.unretrieved else np.ones(n, dtype=bool)
        retrieved[0] = True
        docids = [f"d{name:03}" for name in rng.permutation(n)]
        queries.append(Query(f"q{number:03}", docids, grades, scores, retrieved))
    return queries


class Difference(NamedTuple):
    """A known difference: the metrics, without a cutoff, the queries that it applies to, and the system's value."""

    metrics: frozenset[str]
    sentence: str
    applies: Callable[[Query], bool]
    value: float  # NaN: left out


Values = Mapping[str, Sequence[float]]  # the system's name of a metric -> one value for each query; NaN: left out


@dataclass(frozen=True)
class System:
    """A system and its convention.

    ``metrics`` maps the system's names (``name@k`` or ``name``) to ours. ``draws`` are the data that it accepts, and
    on which its order of ties is defined. ``tolerance`` are the digits that it keeps, ``tolerance_of`` those of single
    metrics. Higher grades are lowered to ``highest_grade``. It may give means instead of one value for each query.
    """

    convention: str
    metrics: Mapping[str, str]
    values: Callable[[list[Query], Sequence[str]], Values]
    draws: Sequence[Draw]
    tolerance: float = DIGITS_OF_FLOAT64
    tolerance_of: Mapping[str, float] = field(default_factory=dict)
    highest_grade: int = 4
    gives_means: bool = False
    difference: Difference | None = None


def at_cutoffs(names: Mapping[str, str], cutoffs: Sequence[int] = CUTOFFS) -> dict[str, str]:
    """Return the names with each cutoff."""
    return {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in names.items() for k in cutoffs}


def split(name: str) -> tuple[str, int]:
    """Return a name and its cutoff; 0 without one."""
    metric, _, k = name.partition("@")
    return metric, int(k or 0)


def run_program(command: Sequence[str | Path], text: str = "") -> str:
    """Return what a program prints for this input; an error has what it says."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed with status {done.returncode}: {done.stderr}")
    return done.stdout


def faults(system: System) -> list[str]:
    """Compare all metrics on all data, and return what is not explained."""
    found, n_stated = [], 0
    for draw, seed in product(system.draws, SEEDS):
        queries = draw_queries(seed, draw, system.highest_grade)
        theirs, ours = system.values(queries, list(system.metrics)), our_values(queries, system)
        for name in system.metrics:
            metric = split(name)[0]
            expected, value = ours[name].copy(), np.asarray(theirs[name], dtype=np.float64)
            assert value.shape == expected.shape, name
            if system.difference is not None and metric in system.difference.metrics:
                affected = np.array([system.difference.applies(query) for query in queries])
                stated = system.difference.value
                n_stated += int((affected & ~np.isclose(expected, stated, rtol=0, atol=0, equal_nan=True)).sum())
                expected[affected] = stated
            distance = np.abs(value - expected) / np.maximum(np.abs(expected), 1)  # of values above 1, a share
            distance[np.isnan(value) & np.isnan(expected)] = 0
            wrong = ~(distance <= system.tolerance_of.get(metric, system.tolerance))  # NaN: one leaves the query out
            found += [
                f"{name}, {draw}, seed {seed}: {value[i]!r} there, {expected[i]!r} here" for i in wrong.nonzero()[0]
            ]
    if system.difference is not None and not n_stated:
        found.append(f"The stated difference is no longer seen: {system.difference.sentence}")
    return found


def our_values(queries: Sequence[Query], system: System) -> dict[str, np.ndarray]:
    """Return our values by the system's names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="err counts grades")  # of data whose grades end at 1
        result = ltr.evaluate(
            np.concatenate([query.grades for query in queries]),
            np.concatenate([query.scores for query in queries]),
            qid=np.repeat([query.qid for query in queries], [len(query.docids) for query in queries]),
            docid=np.concatenate([query.docids for query in queries]),
            retrieved=np.concatenate([query.retrieved for query in queries]),
            metrics=list(system.metrics.values()),
            convention=system.convention,
        )
    if system.gives_means:
        return {theirs: np.array([result[ours]]) for theirs, ours in system.metrics.items()}
    return {theirs: result.per_query[ours] for theirs, ours in system.metrics.items()}
