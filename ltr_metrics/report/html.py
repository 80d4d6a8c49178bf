"""A report as one self-contained HTML file: it loads nothing from the network or from other files."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ltr_metrics.analysis.comparison.table import INTERVALS, TESTS, effective, of_equal_size, p_shown, shown, signed
from ltr_metrics.analysis.intervals import describe_intervals
from ltr_metrics.errors import import_extra
from ltr_metrics.report.online import describe_agreement, describe_simulation
from ltr_metrics.report.query_table import query_table
from ltr_metrics.report.summarize import Report
from ltr_metrics.report.text import MAX_GRADES

if TYPE_CHECKING:
    import jinja2

CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}
LONG = 60  # longer text may be truncated in a table, and is shown in full on hover
MAX_SEGMENTS = 100  # of one segmentation
MAX_SHADE = 32  # percent of the colour, for preferences that are at least FULL_SHADE from one half
FULL_SHADE = 0.15
READINGS = {"higher": "▲", "lower": "▼", "unclear": "○"}  # distinguished by shape and word, not only by colour
WORDS = {"higher": "higher", "lower": "lower", "unclear": "unclear"}
WORDS_OF_GAINS = WORDS | {"higher": "better", "lower": "worse"}  # if the metrics have different directions


def as_html(report: Report) -> str:
    """Return an HTML page with verdict, figures, tables, and a table of all queries.

    All text from outside (names of models, ids, labels, paths) is escaped. The page's policy
    forbids every request.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        The page, which needs no other file.

    Raises
    ------
    MissingExtraError
        If Jinja2 or Matplotlib is not installed.

    See Also
    --------
    as_text : The tables for a terminal.
    figures_of : The figures by themselves.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_html, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> "<!doctype html>" in as_html(report)
    True
    """
    page = _environment().get_template("report.html.j2")
    from ltr_metrics.report.figures import figures_of

    summary = report.summary
    comparison = summary.get("comparison")
    script = _read_source("table.js")
    queries = query_table(report)
    return page.render(
        summary=summary,
        comparison=comparison,
        figures=[(figure, _trusted(figure.svg)) for figure in figures_of(report)],
        verdicts=_verdicts(comparison) if comparison else [],
        groups=_group_by_metric(comparison["rows"]) if comparison else [],
        words=WORDS_OF_GAINS if summary.get("lower_is_better") else WORDS,
        spreads=_spreads(summary["models"]),
        preferences=_preferences(summary["online"]) if summary.get("online") else [],
        segmentations=_segmentations(summary),
        changes=_group_by_metric(summary.get("changes") or []),
        ties=_open_ties(summary["audit"]["models"]) if summary.get("audit") else [],
        style=_read_source("style.css"),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        query_table=_as_data_block(queries),
        n_rows=queries["n_rows"],
    )


@cache
def _environment() -> jinja2.Environment:
    jinja = import_extra("jinja2", "report")
    environment: jinja2.Environment = jinja.Environment(
        loader=jinja.PackageLoader("ltr_metrics.report", "page"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown,
        "signed": signed,
        "p": p_shown,
        "count": lambda number: f"{number:,.10g}",
        "percent": lambda share, digits=0: "-" if share is None else f"{share:.{digits}%}",
        "reading": _reading,
        "describe_simulation": describe_simulation,
        "describe_agreement": describe_agreement,
        "describe_intervals": describe_intervals,
    }
    environment.globals |= {
        "TESTS": TESTS,
        "INTERVALS": INTERVALS,
        "effective": effective,
        "of_equal_size": of_equal_size,
        "CORRECTIONS": CORRECTIONS,
        "READINGS": READINGS,
        "LONG": LONG,
        "MAX_GRADES": MAX_GRADES,
        "MAX_SEGMENTS": MAX_SEGMENTS,
    }
    return environment


def _read_source(name: str) -> Any:
    """Return one of our own files, with the plain line ends that browsers use when they hash scripts."""
    environment = _environment()
    assert environment.loader is not None
    return _trusted(environment.loader.get_source(environment, name)[0].replace("\r\n", "\n"))


def _as_data_block(data: dict[str, Any]) -> Any:
    """Return JSON that cannot end or break the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII, so no U+2028 either
    return _trusted(re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text))


def _trusted(text: str) -> Any:
    """Mark our own text as safe, so that it is not escaped."""
    from markupsafe import Markup

    return Markup(text)


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of the small drawings in a table."""

    low: float
    high: float
    width: int = 150
    margin: int = 5

    @classmethod
    def over(cls, values: Iterable[float | None]) -> Axis:
        """Return the axis that spans the values."""
        known = [value for value in values if value is not None] or [0.0]
        return cls(min(known), max(known))

    def x(self, value: float) -> float:
        """Return the position of a value in pixels."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.margin + share * (self.width - 2 * self.margin), 1)


def _reading(row: dict[str, Any], comparison: dict[str, Any]) -> str | None:
    """Return the verdict on a row after correction, or None if it could not be tested.

    For a metric of which lower is better, a lower mean reads as "higher", which is displayed as
    "better".
    """
    if row["p_adjusted"] is None or row["difference"] is None:
        return None
    if row["p_adjusted"] > round(1 - comparison["settings"]["confidence"], 12):
        return "unclear"
    return "higher" if (row["difference"] > 0) == row["higher_is_better"] else "lower"


def _verdicts(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """Return for each model: the metrics by reading, the reading that all of them share if any, and the first row."""
    verdicts = []
    for model in comparison["models"]:
        rows = [row for row in comparison["rows"] if row["model"] == model]
        metrics: dict[str, list[str]] = {name: [] for name in (*READINGS, "untested")}
        for row in rows:
            metrics[_reading(row, comparison) or "untested"].append(row["metric"])
        only = next((name for name in READINGS if len(metrics[name]) == len(rows)), None)
        verdicts.append({"model": model, "metrics": metrics, "only": only, "first": rows[0]})
    return verdicts


def _group_by_metric(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group rows by metric, with an axis for their intervals if they have any."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["metric"], []).append(row)
    return [
        {"metric": metric, "rows": group, "axis": Axis.over([0.0, *_interval_values(group)])}
        for metric, group in groups.items()
    ]


def _interval_values(rows: list[dict[str, Any]]) -> list[float | None]:
    """Return the differences and the limits of their intervals, with and without weights."""
    all_rows = [*rows, *(row["plain"] for row in rows if row.get("plain"))]
    return [row.get(field) for row in all_rows for field in ("difference", "ci_low", "ci_high")]


def _spreads(models: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Regroup the distributions by metric, with an axis for their quantiles."""
    spreads = []
    for metric in dict.fromkeys(metric for metrics in models.values() for metric in metrics):
        lines = {model: metrics[metric] for model, metrics in models.items() if metric in metrics}
        values = [value for line in lines.values() for value in (line["mean"], *line["quantiles"].values())]
        spreads.append({"metric": metric, "lines": lines, "axis": Axis.over(values)})
    return spreads


def _preferences(online: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row per model, with the text and the shade of each cell. The diagonal is None."""
    rows = zip(online["models"], online["credit"], online["preference"], strict=True)
    return [
        {
            "model": model,
            "mean": online["offline"]["mean"][model],
            "credit": credit,
            "cells": [None if i == j else _shade(share) for j, share in enumerate(shares)],
        }
        for i, (model, credit, shares) in enumerate(rows)
    ]


def _shade(share: float) -> dict[str, Any]:
    depth = min(abs(share - 0.5) / FULL_SHADE, 1) * MAX_SHADE
    side = "higher" if share > 0.5 else "lower" if share < 0.5 else "even"
    return {"share": share, "side": side, "depth": f"{depth:.3g}%"}


def _segmentations(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Group the means and differences of the models by segmentation and segment."""
    comparison = summary.get("comparison") or {"segments": []}
    differences = {
        (part["name"], part["segment"], row["model"], row["metric"]): row
        for part in comparison["segments"]
        for row in part["rows"]
    }
    groups: dict[Any, dict[Any, list[dict[str, Any]]]] = {}
    for part in summary["segments"]:
        key = (part["name"], part["segment"], part["model"])
        line = {**part, "differences": {metric: differences.get((*key, metric)) for metric in part["mean"]}}
        groups.setdefault(part["name"], {}).setdefault(part["segment"], []).append(line)
    return [
        {
            "name": name,
            "segments": _largest_segments(segments),
            "n_segments": len(segments),
            "metrics": list(next(iter(segments.values()))[0]["mean"]),
        }
        for name, segments in groups.items()
    ]


def _largest_segments(segments: dict[Any, list[dict[str, Any]]]) -> dict[Any, list[dict[str, Any]]]:
    if len(segments) <= MAX_SEGMENTS:
        return segments
    return dict(sorted(segments.items(), key=lambda item: -item[1][0]["n_queries"])[:MAX_SEGMENTS])


def _open_ties(models: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each metric and model whose mean depends on the order of tied documents."""
    return [
        {"metric": metric, "model": model, **values}
        for model, audit in models.items()
        for metric, values in audit["ties"].items()
        if values["n_open_queries"]
    ]
