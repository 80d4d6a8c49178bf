"""A report as HTML, JSON and CSV."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np

from ltr_metrics._rows.ids import id_texts
from ltr_metrics.errors import import_extra
from ltr_metrics.evaluation import tables
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.query_table import query_table
from ltr_metrics.report.report import Report
from ltr_metrics.report.verdict import answer_of, facts_parts, top_grade
from ltr_metrics.report.views import page_of


def as_json(report: Report) -> str:
    """Return the report as JSON, in which NaN is null.

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
    as_html : The page with figures.

    Examples
    --------
    >>> import json
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_json, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> json.loads(as_json(report))["means"][0]["mean"]
    0.75
    """
    return json.dumps(report.to_dict(), indent=2, allow_nan=False) + "\n"


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
    as_json : The report as JSON.
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
        frame = result.to_pandas().assign(qid=id_texts(result.qid))
        columns: dict[str, Any] = {"model": model} | ({} if result.weight is None else {"weight": result.weight})
        for name, (labels, code) in result.segments.items():
            columns[name or "segment"] = np.array(id_texts(labels), dtype=object)[code]
        frames.append(pd.concat([pd.DataFrame(columns, index=frame.index), frame], axis=1))
    return in_csv(pd.concat(frames, ignore_index=True))


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
    figures_of : The figures by themselves.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import as_html, summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> "<!doctype html>" in as_html(report)
    True
    """
    jinja, markup = import_extra("jinja2", "report"), import_extra("markupsafe", "report").Markup
    from ltr_metrics.report.figures import figures_of

    loader = jinja.PackageLoader("ltr_metrics.report", "page")
    page = jinja.Environment(
        loader=loader, autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page.filters["html"] = lambda part, draw, **options: markup(
        tables.as_html(part, lambda one: str(draw(one)), **options)
    )
    page.filters["words"] = lambda words: markup(tables.words_as_html(words))
    style, script = (loader.get_source(page, name)[0].replace("\r\n", "\n") for name in ("style.css", "page.js"))
    queries = query_table(report)
    data = json.dumps(queries, separators=(",", ":"), allow_nan=False)  # ASCII, so no U+2028 either
    answer, short = answer_of(report)
    html = page.get_template("report.html.j2").render(
        answer=answer,
        short=short,
        against=None if report.comparison is None or report.gate is None else report.comparison.baseline,
        date=datetime.fromisoformat(report.date) if report.date else None,
        facts=facts_parts(report),
        sections=page_of(report, figures_of(report)),
        top=top_grade(report),
        style=markup(style),
        script=markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        query_table=markup(re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", data)),
        n_rows=queries["n_rows"],
        n_queries=queries["n_queries"],
        against_metric=None if report.comparison is None else queries["metrics"][0],
    )
    return str(html)
