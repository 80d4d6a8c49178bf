"""NDCG of TorchMetrics: graded labels, and ties, which it averages as we do."""

from __future__ import annotations

import dataclasses

from conformance.system import System, at_cutoffs, every_draw
from conformance.systems import torchmetrics


def system() -> System:
    """Return TorchMetrics with NDCG alone."""
    return dataclasses.replace(
        torchmetrics.system(),
        metrics={"normalized_dcg": "ndcg"} | at_cutoffs({"normalized_dcg": "ndcg"}),
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False]),
    )
