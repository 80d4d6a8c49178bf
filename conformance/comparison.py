"""The comparison of a system with its convention, on random queries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import ltr_metrics as ltr
from conformance.queries import Query, draw_queries
from conformance.system import Difference, System, split

SEEDS = range(3)


@dataclass
class Line:
    """What was compared for one metric of a system, over all cutoffs and data."""

    theirs: str
    ours: str
    n_values: int = 0
    n_stated: int = 0
    largest: float = 0.0
    worst: str = ""  # where the largest difference is


def compare(system: System) -> list[Line]:
    """Return one line for each metric of the system."""
    lines: dict[str, Line] = {}
    for draw in system.draws:
        for seed in SEEDS:
            queries = draw_queries(seed, draw, system.highest_grade)
            theirs = system.values(queries, list(system.metrics))
            ours = our_values(queries, system)
            for name in system.metrics:
                line = lines.setdefault(split(name)[0], Line(split(name)[0], system.metrics[name]))
                where = f"{name}, {draw}, seed {seed}"
                _add(line, system, queries, (np.asarray(theirs[name], dtype=np.float64), ours[name]), where)
    return list(lines.values())


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


def _add(line: Line, system: System, queries: list[Query], values: tuple[np.ndarray, np.ndarray], where: str) -> None:
    theirs, ours = values
    if theirs.shape != ours.shape:
        raise ValueError(f"{system.name} gives {theirs.shape} values of {where}, and we give {ours.shape}.")
    line.n_values += len(ours)
    ours = ours.copy()
    for difference in system.differences:
        if line.theirs in difference.metrics:
            line.n_stated += _replace(ours, difference, queries)
    distance = np.abs(theirs - ours) / np.maximum(np.abs(ours), 1)  # of values above 1, a share of them
    distance = np.where(np.isnan(theirs) & np.isnan(ours), 0.0, distance)
    distance = np.where(np.isnan(distance), np.inf, distance)  # one of the two leaves the query out
    worst = int(distance.argmax())
    if distance[worst] > line.largest:
        line.largest = float(distance[worst])
        line.worst = f"{where}, value {worst}: {float(theirs[worst])!r} there, {float(ours[worst])!r} here"


def _replace(ours: np.ndarray, difference: Difference, queries: list[Query]) -> int:
    """Replace our values by the system's stated value, and return how many really differ."""
    affected = np.array([difference.applies(query) for query in queries])
    same = (ours == difference.value) | (np.isnan(ours) & np.isnan(difference.value))
    ours[affected] = difference.value
    return int((affected & ~same).sum())
