"""The queries that gain and lose most, and the changes in the rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ltr_metrics.analysis.churn import churn_of
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.rank_changes import rank_changes_of
from ltr_metrics.evaluation.change import gain_of
from ltr_metrics.evaluation.evaluate import Queries

MAX_QUERIES = 10  # listed on each side


def largest_changes(comparison: Comparison) -> list[dict[str, Any]]:
    """Return, for each metric and model, the queries that gain and lose most."""
    return [
        {"metric": metric, "model": model, "baseline": comparison.baseline} | _largest(comparison, metric, model)
        for metric in comparison.metrics
        for model in comparison.models
    ]


def _largest(comparison: Comparison, metric: str, model: str) -> dict[str, list[dict[str, Any]]]:
    difference = comparison.differences(metric, model)
    gain = gain_of(difference, higher_is_better=comparison.higher_is_better(metric))
    order = np.argsort(-gain, kind="stable")[: np.count_nonzero(~np.isnan(gain))]  # NaN is last
    base, other = (comparison.evaluations[name] for name in (comparison.baseline, model))

    def row(query: int) -> dict[str, Any]:
        return {
            "qid": base.plain_qid[query],
            "documents": int(base.n_documents[query]),
            "relevant": int(base.n_relevant[query]),
            "baseline": float(base.per_query[metric][query]),
            "value": float(other.per_query[metric][query]),
            "difference": float(difference[query]),
        }

    return {
        "improved": [row(query) for query in order[:MAX_QUERIES].tolist() if gain[query] > 0],
        "worsened": [row(query) for query in order[::-1][:MAX_QUERIES].tolist() if gain[query] < 0],
    }


def churn_and_rank_changes(
    queries: Mapping[str, Queries], scores: Mapping[str, Any], baseline: str, k: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the churn and the rank changes of each model against the baseline.

    Models that ranked documents of their own are left out.
    """
    churn_rows, rank_rows = [], []
    for model, column in scores.items():
        if model == baseline or queries[model] is not queries[baseline]:
            continue
        pair = {"model": model, "baseline": baseline, "k": k}
        churn = churn_of(queries[model], scores[baseline], column, k=k)
        counts = {"p": churn.p, "n_tied_at_cutoff": churn.n_tied_at_cutoff, "n_queries": churn.n_queries}
        churn_rows.append(pair | churn.mean | counts)
        rank_rows.append(pair | rank_changes_of(queries[model], scores[baseline], column, k=k).moves.to_dict())
    return churn_rows, rank_rows
