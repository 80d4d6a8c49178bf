"""A report as text, Markdown, LaTeX, JSON and a per-query CSV."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ltr_metrics._engine.plain import segment_title
from ltr_metrics.analysis.comparison.table import shown, signed
from ltr_metrics.errors import MissingExtraError, one_line
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.online import tables_of_online
from ltr_metrics.report.summarize import QUANTILES, Report
from ltr_metrics.report.tables import (
    Table,
    in_latex,
    in_markdown,
    in_text,
    latex_comment,
    markdown_text,
    tables_of_comparison,
)

MOST_GRADES_SHOWN = 10
SHIFTS = (
    "overlap: share of the first {k} that both show; changed, reordered: share of queries whose first {k} are other documents, or in "
    "another order; rbo: rank-biased overlap of the whole lists; up, down, into, out of: relevant documents."
)
FOOT = "q5 ... q95: quantiles over queries{}. Left out: queries for which the metric is undefined."


def as_text(report: Report) -> str:
    """Return a heading and the tables, of which the means have a line for each metric and model."""
    heading = "\n".join(f"{name:<11}{one_line(line)}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_text, _tables(report))]) + "\n"


def as_markdown(report: Report) -> str:
    """Return the same in Markdown."""
    heading = "\n".join(f"- {name}: {markdown_text(line)}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_markdown, _tables(report))]) + "\n"


def as_latex(report: Report) -> str:
    """Return the tables in LaTeX, for the package booktabs; the heading stands above them as comments."""
    heading = "\n".join(latex_comment(f"{name}: {one_line(line)}") for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_latex, _tables(report))]) + "\n"


def _tables(report: Report) -> list[Table]:
    summary = report.summary
    made = [_means(summary)]
    if summary["online"] is not None:
        made += tables_of_online(summary)
    if summary["comparison"] is not None:
        made += tables_of_comparison(summary["comparison"], "Differences")
    if summary["gate"] is not None:
        made.append(_gate(summary["gate"]))
    if summary["segments"]:
        made.append(_segments(summary))
    made += [_largest(one) for one in summary["changes"] if one["metric"] == summary["changes"][0]["metric"]]
    if summary["churn"]:
        made.append(_shifts(summary))
    return made


def _gate(held: dict[str, Any]) -> Table:
    rows = [
        [check["rule"], "PASS" if check["passed"] else "FAIL", check["model"], check["segment"] or "", check["reason"]]
        for check in held["checks"]
    ]
    return Table("Gate", ("rule", "", "model", "segment", "why"), rows, n_words=5)


def _largest(change: dict[str, Any]) -> Table:
    lines = [
        [
            str(one["qid"]),
            *(f"{one[name]:,}" for name in ("documents", "relevant")),
            *(shown(one[name]) for name in ("baseline", "value")),
            signed(one["difference"]),
        ]
        for one in [*change["improved"], *change["worsened"][::-1]]
    ]
    title = f"Queries that gain and lose most in {change['metric']}, {change['model']}"
    return Table(
        title, ("query", "documents", "relevant", change["baseline"], change["model"], "difference"), lines, n_words=1
    )


def _shifts(summary: dict[str, Any]) -> Table:
    k = summary["churn"][0]["k"]
    header = (
        "model",
        "baseline",
        f"overlap@{k}",
        f"changed@{k}",
        f"reordered@{k}",
        "rbo",
        "up",
        "down",
        f"into {k}",
        f"out of {k}",
    )
    rows = [
        [one["model"], one["baseline"], *(shown(one[name]) for name in ("overlap", "changed", "reordered", "rbo"))]
        + [f"{moved[name]:,}" for name in ("up", "down", "into_top", "out_of_top")]
        for one, moved in zip(summary["churn"], summary["rank_changes"], strict=True)
    ]
    return Table("What changes on the page", header, rows, SHIFTS.format(k=k))


def _means(summary: dict[str, Any]) -> Table:
    models = summary["models"]
    mean = "weighted mean" if summary["options"]["weighted"] else "mean"
    quantiles = [f"q{level:.0%}"[:-1] for level in QUANTILES]
    rows = []
    for metric in next(iter(models.values())):
        for number, (model, of_metric) in enumerate(models.items()):
            line = of_metric[metric]
            values = [shown(value) for value in (line["mean"], *line["quantiles"].values())]
            queries = [f"{line['n_queries']:,}", f"{line['n_undefined']:,}"]
            rows.append(["" if number else metric, model, *values, *queries])
    weights = ", which know no weights" if summary["options"]["weighted"] else ""
    return Table("", ["metric", "model", mean, *quantiles, "queries", "left out"], rows, FOOT.format(weights))


def _segments(summary: dict[str, Any]) -> Table:
    by_segment: dict[Any, list[dict[str, Any]]] = {}  # the models of one segment stand together
    for part in summary["segments"]:
        by_segment.setdefault((part["name"], part["segment"]), []).append(part)
    metrics = list(summary["segments"][0]["mean"])
    rows = [
        [
            segment_title(part["name"], part["segment"]),
            part["model"],
            f"{part['n_queries']:,}",
            *(shown(part["mean"][metric]) for metric in metrics),
        ]
        for parts in by_segment.values()
        for part in parts
    ]
    return Table("", ["segment", "model", "all queries", *metrics], rows)


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
    return in_csv(pd.concat(frames, ignore_index=True))


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
