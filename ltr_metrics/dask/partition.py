"""What becomes of one partition, on the worker that has it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.grouping import ordered_categories
from ltr_metrics.errors import naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.parts import LabelChecks, check_without_warnings
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Request


@dataclass(frozen=True)
class Asked:
    """What is asked of each partition."""

    request: Request
    scores: tuple[str, ...]
    by: tuple[str, ...]
    further: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """What the queries of a partition give, which stays where it was computed."""

    results: dict[str, Evaluation]
    labels: LabelChecks
    ascending: dict[str, list[Hashable]]  # segments in the order of an ordered categorical


def evaluated(asked: Asked, at: int, columns: dict[str, Any]) -> Part | None:
    """Evaluate the queries of a partition; None of one without rows."""
    with naming(f"In partition {at}"):
        return part_of(asked, columns, Queries)


def part_of(asked: Asked, columns: Mapping[str, Any], make: Callable[..., Queries]) -> Part | None:
    """Evaluate queries that ``make`` makes of columns."""
    if not len(columns["qid"]):
        return None
    plain = {role: as_plain(column) for role, column in columns.items()}
    queries = make(
        plain["label"],
        qid=plain["qid"],
        docid=plain.get("docid"),
        sample_weight=plain.get("weight"),
        by={name: plain[f"by {name}"] for name in asked.by} or None,
        columns={name: plain[f"column {name}"] for name in asked.further},
    )
    queries.refuse_repeated_documents()
    check_without_warnings(queries, asked.request)
    labels, results = LabelChecks(), {}
    labels.add(queries)
    for name in asked.scores:
        with naming(name) if len(asked.scores) > 1 else nullcontext():
            results[name] = queries.evaluate_request(plain[f"score {name}"], asked.request)
        fingerprint = results[name].fingerprint
        if fingerprint is not None:
            _ = fingerprint.of_query  # lets the labels go
    of_by = {name: ordered_categories(plain[f"by {name}"]) for name in asked.by}
    return Part(results, labels, {name: labels for name, labels in of_by.items() if labels is not None})


def as_plain(column: Any) -> Any:
    """Return an array; of a categorical pandas' own, which knows its order."""
    return column.array if hasattr(column, "cat") else np.asarray(column)
