"""What a result has by metric is found under every spelling of the metric's name, and by the metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

SPELLINGS = ["ndcg@10", "NDCG@10", "ndcg_exp@10", ltr.NDCG(k=10)]
LEFT = {"Comparison.relative"}  # a table of relative differences, which is a plain dict


def results() -> list[Any]:
    """One result of each kind that has values by metric."""
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    device = np.where(np.arange(40) % 2, "phone", "desk")
    options: dict[str, Any] = {"qid": qid, "metrics": ["ndcg@10", "map"]}
    one = ltr.evaluate(y, X[:, 0], by={"device": device}, skill=True, **options)
    models = {"a": X[:, 0], "b": X[:, 1]}
    comparison = ltr.compare(models, y, n_resamples=100, **options)
    return [
        one,
        one.by["device"]["desk"],
        ltr.concat([one.subset(np.unique(qid)[:20]), one.subset(np.unique(qid)[20:])]),
        ltr.intervals(one),
        comparison,
        ltr.tie_audit(y, X[:, 0], **options),
    ]


def by_metric(result: Any) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the attributes that map the canonical name of the metric to something, and the result if it does."""
    if isinstance(result, Mapping):
        yield type(result).__name__, result
    for name in dir(type(result)) + list(getattr(result, "__dict__", ())):
        value = None if name.startswith("_") else getattr(result, name, None)
        if isinstance(value, Mapping) and "ndcg_exp@10" in list(value):
            yield f"{type(result).__name__}.{name}", value


@pytest.fixture(scope="module")
def found() -> dict[str, list[Mapping[Any, Any]]]:
    mappings: dict[str, list[Mapping[Any, Any]]] = {}
    for result in results():
        for name, mapping in by_metric(result):
            mappings.setdefault(name, []).append(mapping)
    return mappings


def test_every_spelling_is_found(found: dict[str, list[Mapping[Any, Any]]]) -> None:
    names = {"mean", "per_query", "standard_error", "n_undefined", "skill"}
    assert {f"Evaluation.{name}" for name in names} <= found.keys(), found.keys()
    lacking = [
        (name, str(spelling))
        for name in found.keys() - LEFT
        for mapping in found[name]
        for spelling in SPELLINGS
        if spelling not in mapping or mapping[spelling] is None
    ]
    assert not lacking
