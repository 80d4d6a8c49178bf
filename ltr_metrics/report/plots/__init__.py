"""Figures with scikit-learn's interface: ``from_...`` collects the data, and ``plot`` draws them with Matplotlib."""

from ltr_metrics.report.plots.differences import DifferencesDisplay
from ltr_metrics.report.plots.forest import ComparisonDisplay, LeaderboardDisplay, SegmentsDisplay
from ltr_metrics.report.plots.lines import LearningCurveDisplay, MetricOverKDisplay

__all__ = [
    "ComparisonDisplay",
    "DifferencesDisplay",
    "LeaderboardDisplay",
    "LearningCurveDisplay",
    "MetricOverKDisplay",
    "SegmentsDisplay",
]
