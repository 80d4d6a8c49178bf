"""Random queries, a peer with the convention that reproduces it, and the comparison of their values."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ltr_metrics as ltr

CUTOFFS = (1, 2, 3, 5, 10, 20)
MOST_DOCUMENTS = 25
N_QUERIES = 60
SEEDS = range(3)
BINARY, GRADED = (0, 0, 1), (0, 0, 0, 1, 2, 3, 4)
FRACTIONS = (0, 0, 0.125, 0.5, 0.5 + 2**-24, 0.625, 0.9375, 1)  # float32 holds them, and one is just above 0.5
TIES = {"no": MOST_DOCUMENTS * 1000, "some": 4, "all": 1}  # how many levels the scores have
DIGITS_OF_FLOAT64 = 1e-12
DIGITS_OF_FLOAT32 = 2e-6
DIGITS_OF_5_DECIMALS = 5.001e-6  # half a unit of the last


@dataclass(frozen=True)
class Query:
    """The documents of one query, in the order of the input.

    The order of document ids as text is neither that of the input nor that of the scores. Scores are
    positive, and exact in float32. A document that is not retrieved has no rank; the first one is retrieved and judged.
    """

    qid: str
    docids: list[str]
    grades: np.ndarray
    scores: np.ndarray
    retrieved: np.ndarray
    judged: np.ndarray
    weight: float = 1.0

    @property
    def ranking(self) -> list[str]:
        """The retrieved documents, best first; ties keep the order of the input."""
        order = np.argsort(-self.scores, kind="stable")
        return [self.docids[row] for row in order if self.retrieved[row]]

    @property
    def grade_of(self) -> dict[str, int]:
        pairs = zip(self.docids, self.grades.tolist(), self.judged, strict=True)
        return {docid: grade for docid, grade, is_judged in pairs if is_judged}

    @property
    def relevant(self) -> list[str]:
        return [docid for docid, grade in self.grade_of.items() if grade > 0]

    @property
    def score_of(self) -> dict[str, float]:
        pairs = zip(self.docids, self.scores.tolist(), self.retrieved, strict=True)
        return {docid: score for docid, score, is_retrieved in pairs if is_retrieved}


class Draw(NamedTuple):
    """What random queries have."""

    grades: tuple[float, ...] = GRADED  # each as probable as it is frequent here
    ties: str = "no"  # "some": four distinct scores, "all": one
    unretrieved: bool = False  # documents without a rank
    unjudged: bool = False  # documents without a grade
    weighted: bool = False  # the queries


def draws(
    *grades: tuple[float, ...], ties: str = "no some", unretrieved: str = "no yes", **options: bool
) -> list[Draw]:
    """Return all combinations; the words of a text are what a field may be."""
    return [
        Draw(*one, is_retrieved == "yes", **options)
        for *one, is_retrieved in product(grades or (BINARY, GRADED), ties.split(), unretrieved.split())
    ]


def draw_queries(seed: int, draw: Draw, peer: Peer) -> list[Query]:
    """Return random queries; every tenth has one document, every fifth no relevant one."""
    rng = np.random.default_rng(seed)
    queries = []
    for number in range(peer.n_queries):
        n = 1 if number % 10 == 0 else int(rng.integers(2, peer.most_documents + 1))
        grades = rng.choice(np.array(draw.grades), n).clip(max=peer.highest_grade)
        if rng.random() < 0.2:
            grades[:] = 0
        scores = (rng.permutation(n) if draw.ties == "no" else rng.integers(0, TIES[draw.ties], n)) / 8 + 0.125
        first = np.arange(n) == 0
        retrieved = first | (rng.random(n) < (0.7 if draw.unretrieved else 1.1))
        judged = first | (rng.random(n) < (0.7 if draw.unjudged else 1.1))
        prefixes = rng.choice(["a", "B", "é", "-", ""], n) if peer.odd_ids else ["d"] * n
        docids = [f"{prefix}{name:03}" for prefix, name in zip(prefixes, rng.permutation(n), strict=True)]
        weight = int(rng.integers(4, 13)) / 4 if draw.weighted else 1.0
        kept = np.where(judged, grades, 0)
        queries.append(Query(f"q{number:03}", docids, kept, scores, retrieved, judged, weight))
    return queries


class Difference(NamedTuple):
    """A known difference: the metrics, without a cutoff, the queries that it applies to, and the system's value."""

    metrics: frozenset[str]
    sentence: str
    applies: Callable[[Query], bool]
    value: float  # NaN: left out


Values = Mapping[str, Sequence[float]]  # the system's name of a metric -> one value for each query; NaN: left out


@dataclass(frozen=True)
class Peer:
    """A row of the table: a system, its convention, and how to ask it.

    ``metrics`` maps the system's names (``name@k`` or ``name``) to ours, and ``ask`` returns its values. ``draws`` are
    the data that it accepts, and on which its order of ties is defined. ``needs`` are the modules, programs and folders
    without which it is skipped. ``tolerance`` are the digits that it keeps, ``tolerance_of`` those of single metrics. Higher
    grades are lowered to ``highest_grade``. It may give means instead of one value for each query.
    """

    name: str
    convention: str
    metrics: Mapping[str, str]
    ask: Callable[[list[Query], Sequence[str]], Values]
    draws: Sequence[Draw]
    needs: tuple[str, ...]
    tolerance: float = DIGITS_OF_FLOAT64
    tolerance_of: Mapping[str, float] = field(default_factory=dict)
    highest_grade: float = 4
    gives_means: bool = False
    difference: Difference | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of `ltr.evaluate`
    most_documents: int = MOST_DOCUMENTS
    n_queries: int = N_QUERIES
    odd_ids: bool = False  # of documents, with letters beyond ASCII
    is_slow: bool = False

    @property
    def missing(self) -> list[str]:
        """What it needs and the machine has not."""
        return [one for one in self.needs if not (shutil.which(one) or Path(one).is_dir() or _is_module(one))]


def _is_module(name: str) -> bool:
    return name.isidentifier() and find_spec(name) is not None


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


def faults(peer: Peer) -> list[str]:
    """Compare all metrics on all data, and return what is not explained."""
    found, n_stated = [], 0
    for draw, seed in product(peer.draws, SEEDS):
        queries = draw_queries(seed, draw, peer)
        theirs, ours = peer.ask(queries, list(peer.metrics)), our_values(queries, peer, draw)
        for name in peer.metrics:
            metric = split(name)[0]
            expected, value = ours[name].copy(), np.asarray(theirs[name], dtype=np.float64)
            assert value.shape == expected.shape, name
            if peer.difference is not None and metric in peer.difference.metrics:
                affected = np.array([peer.difference.applies(query) for query in queries])
                stated = peer.difference.value
                n_stated += int((affected & ~np.isclose(expected, stated, rtol=0, atol=0, equal_nan=True)).sum())
                expected[affected] = stated
            distance = np.abs(value - expected) / np.maximum(np.abs(expected), 1)  # of values above 1, a share
            distance[np.isnan(value) & np.isnan(expected)] = 0
            wrong = ~(distance <= peer.tolerance_of.get(metric, peer.tolerance))  # NaN: one leaves the query out
            found += [
                f"{name}, {draw}, seed {seed}: {value[i]!r} there, {expected[i]!r} here" for i in wrong.nonzero()[0]
            ]
    if peer.difference is not None and not n_stated:
        found.append(f"The stated difference is no longer seen: {peer.difference.sentence}")
    return found


def our_values(queries: Sequence[Query], peer: Peer, draw: Draw) -> dict[str, np.ndarray]:
    """Return our values by the peer's names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ltr.LtrWarning)  # of data whose grades end at 1
        result = ltr.evaluate(
            np.concatenate([query.grades for query in queries]),
            np.concatenate([query.scores for query in queries]),
            qid=np.repeat([query.qid for query in queries], [len(query.docids) for query in queries]),
            docid=np.concatenate([query.docids for query in queries]),
            retrieved=np.concatenate([query.retrieved for query in queries]),
            judged=np.concatenate([query.judged for query in queries]),
            query_weight=[query.weight for query in queries] if draw.weighted else None,
            metrics=list(peer.metrics.values()),
            convention=peer.convention,
            **peer.options,
        )
    if peer.gives_means:
        return {theirs: np.array([result[ours]]) for theirs, ours in peer.metrics.items()}
    return {theirs: result.per_query[ours] for theirs, ours in peer.metrics.items()}
