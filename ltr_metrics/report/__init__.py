"""The report after training: `summarize` returns plain data, which the renderers display."""

from ltr_metrics.report.csv import spreadsheet_safe
from ltr_metrics.report.figures import Figure, figures_of
from ltr_metrics.report.html import as_html
from ltr_metrics.report.plots import (
    ComparisonDisplay,
    DifferencesDisplay,
    LearningCurveDisplay,
    MetricOverKDisplay,
    OnlineErrorDisplay,
    PropensitiesDisplay,
    SegmentsDisplay,
)
from ltr_metrics.report.summarize import Report, summarize
from ltr_metrics.report.text import as_json, as_latex, as_markdown, as_per_query_csv, as_text

__all__ = [
    "ComparisonDisplay",
    "DifferencesDisplay",
    "Figure",
    "LearningCurveDisplay",
    "MetricOverKDisplay",
    "OnlineErrorDisplay",
    "PropensitiesDisplay",
    "Report",
    "SegmentsDisplay",
    "as_html",
    "as_json",
    "as_latex",
    "as_markdown",
    "as_per_query_csv",
    "as_text",
    "figures_of",
    "spreadsheet_safe",
    "summarize",
]
