"""The evaluation of one partition, on the worker that has it."""

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
class Task:
    """What is computed for each partition."""

    request: Request
    scores: tuple[str, ...]
    by: tuple[str, ...]
    columns: tuple[str, ...]  # that metrics need


@dataclass(frozen=True, eq=False)
class Part:
    """The results of a partition, which stay where they were computed."""

    results: dict[str, Evaluation]
    labels: LabelChecks
    categories: dict[str, list[Hashable]]  # labels of segments, in the order of an ordered categorical


def evaluate_partition(task: Task, number: int, columns: dict[str, Any]) -> Part | None:
    """Evaluate the queries of a partition, and return None if it has no rows."""
    with naming(f"In partition {number}"):
        return evaluate_columns(task, columns, Queries)


def evaluate_columns(task: Task, columns: Mapping[str, Any], make: Callable[..., Queries]) -> Part | None:
    """Evaluate queries that ``make`` creates from columns; return None if there are no rows."""
    if not len(columns["qid"]):
        return None
    plain = {role: as_plain(column) for role, column in columns.items()}
    queries = make(
        plain["label"],
        qid=plain["qid"],
        docid=plain.get("docid"),
        sample_weight=plain.get("weight"),
        by={name: plain[f"by {name}"] for name in task.by} or None,
        columns={name: plain[f"column {name}"] for name in task.columns},
    )
    queries.refuse_repeated_documents()
    check_without_warnings(queries, task.request)
    labels, results = LabelChecks(), {}
    labels.add(queries)
    for name in task.scores:
        with naming(name) if len(task.scores) > 1 else nullcontext():
            results[name] = queries.evaluate_request(plain[f"score {name}"], task.request)
        fingerprint = results[name].fingerprint
        if fingerprint is not None:
            _ = fingerprint.of_query  # computes it now, so that the labels are not kept
    categories = {name: ordered_categories(plain[f"by {name}"]) for name in task.by}
    return Part(results, labels, {name: ordered for name, ordered in categories.items() if ordered is not None})


def as_plain(column: Any) -> Any:
    """Return an array, for a categorical that of pandas, which has the order of categories."""
    return column.array if hasattr(column, "cat") else np.asarray(column)
