"""A report as one HTML file that needs nothing else: no network, no other file."""

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
from ltr_metrics.errors import MissingExtraError
from ltr_metrics.report.online import agreement_told, told
from ltr_metrics.report.query_table import query_table
from ltr_metrics.report.summarize import Report
from ltr_metrics.report.text import MOST_GRADES_SHOWN

if TYPE_CHECKING:
    import jinja2

CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}
LONG = 60  # text of more characters may be cut off in a table, and is shown whole where the mouse rests
MOST_SEGMENTS_SHOWN = 100  # of one segmentation; a page of thousands helps nobody
DEEPEST, DEEP = 32, 0.15  # shade of a preference, in percent of the colour, and how far from .5 one has it
READINGS = {"higher": "▲", "lower": "▼", "unclear": "○"}  # told by shape and word, not by colour alone


def as_html(report: Report) -> str:
    """Return a page to read, print and pass on: verdict, figures, tables, and every query in a table that sorts and filters.

    All text from outside (names of models, ids, labels, paths) is escaped. The page forbids itself every request.

    Raises
    ------
    MissingExtraError
        If Jinja2 or Matplotlib is not installed.
    """
    page = _environment().get_template("report.html.j2")
    from ltr_metrics.report.figures import figures_of

    summary = report.summary
    comparison = summary.get("comparison")
    script = _source("table.js")
    queries = query_table(report)
    return page.render(
        summary=summary,
        comparison=comparison,
        figures=[(figure, _markup(figure.svg)) for figure in figures_of(report)],
        verdicts=_verdicts(comparison) if comparison else [],
        groups=_by_metric(comparison["rows"]) if comparison else [],
        spreads=_spreads(summary["models"]),
        preferences=_preferences(summary["online"]) if summary.get("online") else [],
        segmentations=_segmentations(summary),
        changes=_by_metric(summary.get("changes") or []),
        ties=_ties(summary["audit"]["models"]) if summary.get("audit") else [],
        style=_source("style.css"),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        query_table=_as_data_block(queries),
        n_rows=queries["n_rows"],
    )


@cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("jinja2", "report") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ltr_metrics.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
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
        "told": told,
        "agreement_told": agreement_told,
    }
    environment.globals |= {
        "TESTS": TESTS,
        "INTERVALS": INTERVALS,
        "effective": effective,
        "of_equal_size": of_equal_size,
        "CORRECTIONS": CORRECTIONS,
        "READINGS": READINGS,
        "LONG": LONG,
        "MOST_GRADES_SHOWN": MOST_GRADES_SHOWN,
        "MOST_SEGMENTS_SHOWN": MOST_SEGMENTS_SHOWN,
    }
    return environment


def _source(name: str) -> Any:
    """Return one of our own files as it is to stand in the page; browsers hash scripts with plain line ends."""
    environment = _environment()
    assert environment.loader is not None
    return _markup(environment.loader.get_source(environment, name)[0].replace("\r\n", "\n"))


def _as_data_block(data: dict[str, Any]) -> Any:
    """Return JSON in which nothing can end or disturb the script element around it."""
    from markupsafe import Markup

    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII, so no U+2028 either
    return Markup(re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text))


def _markup(ours: str) -> Any:
    """Return what is ours as it is to stand in the page, unescaped."""
    from markupsafe import Markup

    return Markup(ours)


@dataclass(frozen=True)
class Axis:
    """Where values stand in the small drawings of a table."""

    low: float
    high: float
    width: int = 150
    margin: int = 5

    @classmethod
    def over(cls, values: Iterable[float | None]) -> Axis:
        """Return the axis that just holds the values."""
        known = [value for value in values if value is not None] or [0.0]
        return cls(min(known), max(known))

    def x(self, value: float) -> float:
        """Return the place of a value in pixels."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.margin + share * (self.width - 2 * self.margin), 1)


def _reading(row: dict[str, Any], comparison: dict[str, Any]) -> str | None:
    """Return what a row says after the correction, or None where nothing could be tested."""
    if row["p_adjusted"] is None or row["difference"] is None:
        return None
    if row["p_adjusted"] > round(1 - comparison["settings"]["confidence"], 12):
        return "unclear"
    return "higher" if row["difference"] > 0 else "lower"


def _verdicts(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """Return for each model the metrics of each reading, which reading is that of all if there is one, and its first row."""
    verdicts = []
    for model in comparison["models"]:
        rows = [row for row in comparison["rows"] if row["model"] == model]
        metrics: dict[str, list[str]] = {name: [] for name in (*READINGS, "untested")}
        for row in rows:
            metrics[_reading(row, comparison) or "untested"].append(row["metric"])
        only = next((name for name in READINGS if len(metrics[name]) == len(rows)), None)
        verdicts.append({"model": model, "metrics": metrics, "only": only, "first": rows[0]})
    return verdicts


def _by_metric(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gather the rows of each metric, with an axis for their intervals if they have any."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["metric"], []).append(row)
    return [
        {"metric": metric, "rows": of_metric, "axis": Axis.over([0.0, *_ends(of_metric)])}
        for metric, of_metric in groups.items()
    ]


def _ends(rows: list[dict[str, Any]]) -> list[float | None]:
    """Return the differences and the ends of their intervals, with and without weights."""
    drawn = [*rows, *(row["plain"] for row in rows if row.get("plain"))]
    return [row.get(field) for row in drawn for field in ("difference", "ci_low", "ci_high")]


def _spreads(models: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn models by metric into metrics by model, with an axis for their quantiles."""
    metrics = dict.fromkeys(metric for of_metric in models.values() for metric in of_metric)
    spreads = []
    for metric in metrics:
        lines = {model: of_metric[metric] for model, of_metric in models.items() if metric in of_metric}
        values = [value for line in lines.values() for value in (line["mean"], *line["quantiles"].values())]
        spreads.append({"metric": metric, "lines": lines, "axis": Axis.over(values)})
    return spreads


def _preferences(online: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a line for each model, with what each cell shows and how it is shaded; None on the diagonal."""
    return [
        {
            "model": model,
            "mean": online["offline"]["mean"][model],
            "credit": credit,
            "cells": [None if i == j else _shaded(share) for j, share in enumerate(shares)],
        }
        for i, (model, credit, shares) in enumerate(
            zip(online["models"], online["credit"], online["preference"], strict=True)
        )
    ]


def _shaded(share: float) -> dict[str, Any]:
    depth = min(abs(share - 0.5) / DEEP, 1) * DEEPEST
    side = "higher" if share > 0.5 else "lower" if share < 0.5 else "even"
    return {"share": share, "side": side, "depth": f"{depth:.3g}%"}


def _segmentations(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Gather by segmentation and segment what is known of each model: its means, and its differences to the baseline."""
    comparison = summary.get("comparison") or {"segments": []}
    differences = {
        (part["name"], part["segment"], row["model"], row["metric"]): row
        for part in comparison["segments"]
        for row in part["rows"]
    }
    found: dict[Any, dict[Any, list[dict[str, Any]]]] = {}
    for part in summary["segments"]:
        key = (part["name"], part["segment"], part["model"])
        line = {**part, "differences": {metric: differences.get((*key, metric)) for metric in part["mean"]}}
        found.setdefault(part["name"], {}).setdefault(part["segment"], []).append(line)
    return [
        {
            "name": name,
            "segments": dict(sorted(of_name.items(), key=lambda item: -item[1][0]["n_queries"])[:MOST_SEGMENTS_SHOWN])
            if len(of_name) > MOST_SEGMENTS_SHOWN
            else of_name,
            "n_segments": len(of_name),
            "metrics": list(next(iter(of_name.values()))[0]["mean"]),
        }
        for name, of_name in found.items()
    ]


def _ties(models: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a line for each metric and model whose mean the order of equal scores can change."""
    return [
        {"metric": metric, "model": model, **found}
        for model, audit in models.items()
        for metric, found in audit["ties"].items()
        if found["n_open_queries"]
    ]
