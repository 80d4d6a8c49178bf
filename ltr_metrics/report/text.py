"""A report as text, Markdown, LaTeX, JSON and a per-query CSV."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ltr_metrics.errors import MissingExtraError
from ltr_metrics.report.summarize import QUANTILES, Report

MOST_GRADES_SHOWN = 10
FOOT = "q5 ... q95: quantiles over queries{}. Left out: queries for which the metric is undefined."


def as_text(report: Report) -> str:
    """Return a heading, a table with a line for each metric and model, and one of segments if there are any."""
    tables = _tables(report, "simple")
    heading = "\n".join(f"{name:<11}{line}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *tables, _foot(report)]) + "\n"


def as_markdown(report: Report) -> str:
    """Return the same in Markdown."""
    heading = "\n".join(f"- {name}: {line}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *_tables(report, "github"), _foot(report)]) + "\n"


def as_latex(report: Report) -> str:
    """Return the tables in LaTeX, for the package booktabs; the heading stands above them as comments."""
    heading = "\n".join(f"% {name}: {line}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *_tables(report, "latex_booktabs"), f"% {_foot(report)}"]) + "\n"


def _foot(report: Report) -> str:
    return FOOT.format(", which know no weights" if report.summary["options"]["weighted"] else "")


def _tables(report: Report, form: str) -> list[str]:
    try:
        from tabulate import tabulate
    except ImportError as error:
        raise MissingExtraError("tabulate", "report") from error
    tables = [_means(report.summary)]
    if report.summary["segments"]:
        tables.append(_segments(report.summary))
    if form == "github":
        tables = [(header, [[cell.replace("|", r"\|") for cell in row] for row in rows]) for header, rows in tables]
    return [
        tabulate(
            rows,
            header,
            tablefmt=form,
            disable_numparse=True,
            colalign=("left", "left", *("right",) * (len(header) - 2)),
        )
        for header, rows in tables
    ]


def _means(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    models = summary["models"]
    mean = "weighted mean" if summary["options"]["weighted"] else "mean"
    quantiles = [f"q{level:.0%}"[:-1] for level in QUANTILES]
    rows = []
    for metric in next(iter(models.values())):
        for number, (model, of_metric) in enumerate(models.items()):
            line = of_metric[metric]
            shown = [_shown(value) for value in (line["mean"], *line["quantiles"].values())]
            queries = [f"{line['n_queries']:,}", f"{line['n_undefined']:,}"]
            rows.append(["" if number else metric, model, *shown, *queries])
    return ["metric", "model", mean, *quantiles, "queries", "left out"], rows


def _segments(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    by_segment: dict[Any, list[dict[str, Any]]] = {}  # the models of one segment stand together
    for part in summary["segments"]:
        by_segment.setdefault((part["name"], part["segment"]), []).append(part)
    metrics = list(summary["segments"][0]["mean"])
    rows = [
        [
            str(part["segment"]) if part["name"] is None else f"{part['name']}={part['segment']}",
            part["model"],
            f"{part['n_queries']:,}",
            *(_shown(part["mean"][metric]) for metric in metrics),
        ]
        for parts in by_segment.values()
        for part in parts
    ]
    return ["segment", "model", "all queries", *metrics], rows


def as_json(report: Report) -> str:
    """Return the summary as JSON; NaN is null."""
    return json.dumps(report.summary, indent=2, allow_nan=False) + "\n"


def as_per_query_csv(report: Report) -> str:
    """Return a line for each model and query: model, qid, documents, relevant, then the metrics; undefined is empty."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "report") from error
    frames = []
    for model, result in report.evaluations.items():
        frame = result.to_pandas()
        further: dict[str, Any] = {} if result.weight is None else {"weight": result.weight}
        for name, (labels, code) in result.segments.items():
            further[name or "segment"] = np.array(labels, dtype=object)[code]
        frames.append(pd.concat([pd.DataFrame({"model": model, **further}, index=frame.index), frame], axis=1))
    return str(pd.concat(frames, ignore_index=True).to_csv(index=False))


def _heading(summary: dict[str, Any]) -> dict[str, str]:
    data, options = summary["data"], summary["options"]
    documents = data["documents_a_query"]
    grades = [f"{grade}: {count:,}" for grade, count in data["grades"].items()]
    shown = " | ".join(grades) if len(grades) <= MOST_GRADES_SHOWN else f"{len(grades)} different ones"
    chosen = {"ties": options["ties"], "no_relevant": options["no_relevant"], "convention": options["convention"]}
    chosen |= {f"no_relevant of {metric}": value for metric, value in options["no_relevant_of"].items()}
    lines = {
        "Data": data["source"],
        "Models": "; ".join(f"{name}: {origin}" for name, origin in summary["origins"].items()),
        "Rows": f"{data['rows']:,}",
        "Queries": f"{data['queries']:,}, with nothing above grade 0: {data['queries_without_relevant']:,}",
        "Documents": f"{documents['min']:,} to {documents['max']:,} a query, median {documents['median']:,g}",
        "Grades": shown,
        "Options": ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in chosen.items()
        )
        + (", means weighted by query" if options["weighted"] else ""),
    }
    return {name: line for name, line in lines.items() if line}


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
