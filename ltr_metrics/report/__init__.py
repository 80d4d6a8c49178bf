"""The post-training report: one plain dict first (`summarize`), then its renderings (`text`)."""

from ltr_metrics.report.summarize import Report, summarize
from ltr_metrics.report.text import as_json, as_latex, as_markdown, as_per_query_csv, as_text

__all__ = ["Report", "as_json", "as_latex", "as_markdown", "as_per_query_csv", "as_text", "summarize"]
