"""Counterfactual evaluation: metrics from logged clicks, corrected for what users saw."""

from ltr_metrics.online.counterfactual.click_metric import ClickMetric
from ltr_metrics.online.counterfactual.estimation import estimate_propensities
from ltr_metrics.online.counterfactual.evaluation import ClickDiagnostics, ClickEvaluation, evaluate
from ltr_metrics.online.counterfactual.propensities import Propensities

__all__ = [
    "ClickDiagnostics",
    "ClickEvaluation",
    "ClickMetric",
    "Propensities",
    "estimate_propensities",
    "evaluate",
]


def __dir__() -> list[str]:
    return list(__all__)
