"""How many clicks carry an estimate, and when not to trust it."""

from __future__ import annotations

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.counterfactual.result import ClickDiagnostics
from ltr_metrics.evaluation.means import effective_number

FEW_CLICKS = 100  # an effective sample size below this gives a warning
LARGE_SHARE = 0.1  # of an estimate that one query, or one cluster, contributes


def diagnose(
    weight: FloatArray,
    share_clipped: float,
    share_unseen: float,
    sums: dict[str, FloatArray],
    query_weight: FloatArray | None,
    cluster: IntArray | None,
) -> ClickDiagnostics:
    """Return the diagnostics of clicks with these weights, and of these contributions of queries by metric."""
    effective = effective_number(weight)
    shares = {name: _largest_share(values, query_weight, cluster) for name, values in sums.items()}
    unit = "query" if cluster is None else "cluster"
    few = (
        f"The effective sample size is {effective:.3g} clicks, of {len(weight):,}. Below {FEW_CLICKS}, the estimate "
        "and its standard error are unreliable. Log more impressions, or clip the weights (clip=)."
    )
    warnings = [few] * (effective < FEW_CLICKS)
    warnings += [
        f"One {unit} contributes {100 * share:.3g} % of the estimate of {name}. Its standard error is unreliable. "
        "Log more impressions, or clip the weights (clip=)."
        for name, share in shares.items()
        if share > LARGE_SHARE
    ]
    largest = float(weight.max())
    return ClickDiagnostics(len(weight), effective, largest, share_clipped, share_unseen, shares, tuple(warnings))


def _largest_share(values: FloatArray, query_weight: FloatArray | None, cluster: IntArray | None) -> float:
    """Return the largest share of a sum that one query or cluster has; 0 if the sum is 0."""
    parts = values if query_weight is None else values * query_weight
    parts = np.abs(parts if cluster is None else np.bincount(cluster, weights=parts))
    return float(parts.max() / parts.sum()) if parts.any() else 0.0
