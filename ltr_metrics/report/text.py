"""A report as text, Markdown, LaTeX, JSON and a per-query CSV."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ltr_metrics._engine.plain import segment_title
from ltr_metrics.analysis.comparison.table import shown, signed
from ltr_metrics.analysis.intervals import describe_intervals
from ltr_metrics.errors import import_extra, one_line
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.online import online_tables
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

MAX_GRADES = 10


def as_text(report: Report) -> str:
    """Return a heading and the tables, for a terminal.

    The table of means has a row per metric and model.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        Lines of text.

    Raises
    ------
    MissingExtraError
        If tabulate is not installed.

    See Also
    --------
    as_markdown : The tables in Markdown.
    as_html : The page with figures.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_text, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> "mrr" in as_text(report)
    True
    """
    heading = "\n".join(f"{name:<11}{one_line(line)}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_text, _tables(report))]) + "\n"


def as_markdown(report: Report) -> str:
    """Return the heading and the tables in Markdown.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        Lines of Markdown.

    Raises
    ------
    MissingExtraError
        If tabulate is not installed.

    See Also
    --------
    as_text : The tables for a terminal.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_markdown, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> [line for line in as_markdown(report).splitlines() if "mrr" in line][0].startswith("|")
    True
    """
    heading = "\n".join(f"- {name}: {markdown_text(line)}" for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_markdown, _tables(report))]) + "\n"


def as_latex(report: Report) -> str:
    r"""Return the tables in LaTeX, for the package booktabs, with the heading as comments above.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        Lines of LaTeX.

    Raises
    ------
    MissingExtraError
        If tabulate is not installed.

    See Also
    --------
    as_markdown : The tables in Markdown.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_latex, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> "\\toprule" in as_latex(report)
    True
    """
    heading = "\n".join(latex_comment(f"{name}: {one_line(line)}") for name, line in _heading(report.summary).items())
    return "\n\n".join([heading, *map(in_latex, _tables(report))]) + "\n"


def as_json(report: Report) -> str:
    """Return the summary as JSON, in which NaN is null.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        One JSON object.

    See Also
    --------
    as_text : The tables for a terminal.

    Examples
    --------
    >>> import json
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_json, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> json.loads(as_json(report))["models"]["base"]["mrr"]["mean"]
    0.75
    """
    return json.dumps(report.summary, indent=2, allow_nan=False) + "\n"


def as_per_query_csv(report: Report) -> str:
    """Return CSV with one row per model and query.

    The columns are model, qid, documents, relevant, then the metrics. The cell of an undefined
    metric is empty.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    str
        CSV with commas and a header.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.

    See Also
    --------
    spreadsheet_safe : Make CSV safe for spreadsheets.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_per_query_csv, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], qid=[7, 7, 9, 9]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> print(as_per_query_csv(report))
    model,qid,documents,relevant,mrr
    base,7,2,1,0.5
    base,9,2,1,1.0
    <BLANKLINE>
    """
    pd = import_extra("pandas", "report")
    frames = []
    for model, result in report.evaluations.items():
        frame = result.to_pandas()
        columns: dict[str, Any] = {"model": model} | ({} if result.weight is None else {"weight": result.weight})
        for name, (labels, code) in result.segments.items():
            columns[name or "segment"] = np.array(labels, dtype=object)[code]
        frames.append(pd.concat([pd.DataFrame(columns, index=frame.index), frame], axis=1))
    return in_csv(pd.concat(frames, ignore_index=True))


# -- heading ----------------------------------------------------------------------------------------------------------


def _heading(summary: dict[str, Any]) -> dict[str, str]:
    data, options = summary["data"], summary["options"]
    documents = data["documents_a_query"]
    grades = [f"{grade}: {count:,}" for grade, count in data["grades"].items()]
    lines = {
        "Data": data["source"],
        "Models": "; ".join(f"{name}: {origin}" for name, origin in summary["origins"].items()),
        "Rows": f"{data['rows']:,}",
        "Queries": f"{data['queries']:,}, {data['queries_without_relevant']:,} without a grade above 0",
        "Documents": f"{documents['min']:,} to {documents['max']:,} per query, median {documents['median']:,g}",
        "Grades": " | ".join(grades) if len(grades) <= MAX_GRADES else f"{len(grades)} different grades",
        "Options": _describe_options(options),
    }
    return {name: line for name, line in lines.items() if line}


def _describe_options(options: dict[str, Any]) -> str:
    values = {name: options[name] for name in ("ties", "no_relevant", "convention")}
    values |= {f"no_relevant of {metric}": value for metric, value in options["no_relevant_of"].items()}
    described = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in values.items()
    ]
    return ", ".join([*described, *["means weighted by query"] * options["weighted"]])


# -- tables -----------------------------------------------------------------------------------------------------------


def _tables(report: Report) -> list[Table]:
    summary = report.summary
    tables = [_means_table(summary)]
    if summary["online"] is not None:
        tables += online_tables(summary)
    if summary["comparison"] is not None:
        tables += tables_of_comparison(summary["comparison"], "Differences")
    if summary["gate"] is not None:
        tables.append(_gate_table(summary["gate"]))
    if summary["segments"]:
        tables.append(_segments_table(summary))
    changes = summary["changes"]
    tables += [_changes_table(change) for change in changes if change["metric"] == changes[0]["metric"]]
    if summary["churn"]:
        tables.append(_churn_table(summary))
    return tables


def _means_table(summary: dict[str, Any]) -> Table:
    models, is_weighted, settings = summary["models"], summary["options"]["weighted"], summary["intervals"]
    rows = []
    for metric in next(iter(models.values())):
        for i, (model, metrics) in enumerate(models.items()):
            line = metrics[metric]
            interval = [] if settings is None else [f"[{shown(line['ci_low'])}, {shown(line['ci_high'])}]"]
            quantiles = [shown(value) for value in line["quantiles"].values()]
            counts = [f"{line['n_queries']:,}", f"{line['n_undefined']:,}"]
            rows.append(["" if i else metric, model, shown(line["mean"]), *interval, *quantiles, *counts])
    columns = ["interval"] * (settings is not None) + [f"q{level:.0%}"[:-1] for level in QUANTILES]
    header = ["metric", "model", "weighted mean" if is_weighted else "mean", *columns, "queries", "left out"]
    unweighted = ", without weights" if is_weighted else ""
    note = f"q5 ... q95: quantiles over queries{unweighted}. left out: queries for which the metric is undefined."
    if summary["lower_is_better"]:
        note += f" Lower is better for {', '.join(summary['lower_is_better'])}."
    if settings is not None:
        note = f"{describe_intervals(settings)}\n{note}"
    return Table("", header, rows, note)


def _gate_table(gate: dict[str, Any]) -> Table:
    rows = [
        [check["rule"], "PASS" if check["passed"] else "FAIL", check["model"], check["segment"] or "", check["reason"]]
        for check in gate["checks"]
    ]
    return Table("Gate", ("rule", "", "model", "segment", "reason"), rows, n_words=5)


def _segments_table(summary: dict[str, Any]) -> Table:
    by_segment: dict[Any, list[dict[str, Any]]] = {}
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
    return Table("", ["segment", "model", "queries", *metrics], rows)


def _changes_table(change: dict[str, Any]) -> Table:
    rows = [
        [
            str(row["qid"]),
            f"{row['documents']:,}",
            f"{row['relevant']:,}",
            shown(row["baseline"]),
            shown(row["value"]),
            signed(row["difference"]),
        ]
        for row in [*change["improved"], *change["worsened"][::-1]]
    ]
    title = f"Queries that gain and lose most in {change['metric']}, {change['model']}"
    header = ("query", "documents", "relevant", change["baseline"], change["model"], "difference")
    return Table(title, header, rows, n_words=1)


def _churn_table(summary: dict[str, Any]) -> Table:
    k = summary["churn"][0]["k"]
    shares = (f"overlap@{k}", f"changed@{k}", f"reordered@{k}", "rbo")
    header = ("model", "baseline", *shares, "up", "down", f"into {k}", f"out of {k}")
    rows = [
        [churn["model"], churn["baseline"]]
        + [shown(churn[name]) for name in ("overlap", "changed", "reordered", "rbo")]
        + [f"{ranks[name]:,}" for name in ("up", "down", "into_top", "out_of_top")]
        for churn, ranks in zip(summary["churn"], summary["rank_changes"], strict=True)
    ]
    note = (
        f"overlap: share of the top {k} that both rankings have. changed, reordered: share of queries whose "
        f"top {k} has "
        "other documents, or another order. rbo: rank-biased overlap of the whole rankings. up, down, into, out of: "
        "counts of relevant documents."
    )
    return Table("Changes in the rankings", header, rows, note)
