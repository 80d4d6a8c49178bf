"""Figures with scikit-learn's interface: ``from_...`` collects the data, and ``plot`` draws them with Matplotlib."""

from ltr_metrics.report.plots.comparison import ComparisonDisplay
from ltr_metrics.report.plots.differences import DifferencesDisplay
from ltr_metrics.report.plots.leaderboard import LeaderboardDisplay
from ltr_metrics.report.plots.learning import LearningCurveDisplay
from ltr_metrics.report.plots.over_k import MetricOverKDisplay
from ltr_metrics.report.plots.segments import SegmentsDisplay

__all__ = [
    "ComparisonDisplay",
    "DifferencesDisplay",
    "LeaderboardDisplay",
    "LearningCurveDisplay",
    "MetricOverKDisplay",
    "SegmentsDisplay",
]
