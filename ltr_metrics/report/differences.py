"""Where models differ: the queries that gain and lose most, relevant documents' ranks, what a user sees changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ltr_metrics.analysis.churn import churn_of
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.rank_changes import rank_changes_of
from ltr_metrics.evaluation.evaluate import Queries

MOST_QUERIES = 10  # named of those that gain, and of those that lose


def changes(comparison: Comparison) -> list[dict[str, Any]]:
    """Return, for each metric and model, the queries that gain and that lose most."""
    return [
        {"metric": metric, "model": model, "baseline": comparison.baseline} | _largest(comparison, metric, model)
        for metric in comparison.metrics
        for model in comparison.models
    ]


def _largest(comparison: Comparison, metric: str, model: str) -> dict[str, list[dict[str, Any]]]:
    difference = comparison.differences(metric, model)
    by_gain = np.argsort(-difference, kind="stable")[: np.count_nonzero(~np.isnan(difference))]
    first, last = by_gain[:MOST_QUERIES], by_gain[::-1][:MOST_QUERIES]
    base, other = (comparison.evaluations[name] for name in (comparison.baseline, model))

    def line(query: int) -> dict[str, Any]:
        return {
            "qid": base.plain_qid[query],
            "documents": int(base.n_documents[query]),
            "relevant": int(base.n_relevant[query]),
            "baseline": float(base.per_query[metric][query]),
            "value": float(other.per_query[metric][query]),
            "difference": float(difference[query]),
        }

    return {
        "improved": [line(query) for query in first.tolist() if difference[query] > 0],
        "worsened": [line(query) for query in last.tolist() if difference[query] < 0],
    }


def shifts(
    queries: Mapping[str, Queries], scores: Mapping[str, Any], baseline: str, k: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return churn and rank changes of each model against the baseline; none of a model that ranked documents of its own."""
    churned, moved = [], []
    for name, of_rows in scores.items():
        if name == baseline or queries[name] is not queries[baseline]:
            continue
        of_both = {"model": name, "baseline": baseline, "k": k}
        found = churn_of(queries[name], scores[baseline], of_rows, k=k)
        churned.append(
            of_both
            | found.mean
            | {"p": found.p, "n_tied_at_cutoff": found.n_tied_at_cutoff, "n_queries": found.n_queries}
        )
        moves = rank_changes_of(queries[name], scores[baseline], of_rows, k=k).moves
        moved.append(of_both | moves.to_dict())
    return churned, moved
