"""Tables of text, in plain text, Markdown and LaTeX."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from ltr_metrics._engine.plain import segment_title
from ltr_metrics._engine.printed import wrapped
from ltr_metrics.analysis.comparison.table import HEADER, cells, foot
from ltr_metrics.errors import import_extra, one_line, printable


class Table(NamedTuple):
    """A table with a title above it and notes below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str = ""
    n_words: int = 2  # number of text columns, which are left of the number columns


def in_text(table: Table) -> str:
    """Return the table for a terminal."""
    return "\n\n".join(filter(None, (one_line(table.title), _rendered(table, "simple"), wrapped(table.foot))))


def in_markdown(table: Table) -> str:
    """Return the table in Markdown, with all names escaped."""
    title = f"## {markdown_text(table.title)}" if table.title else ""
    header, *rows = [[markdown_text(cell) for cell in row] for row in (table.header, *table.rows)]
    escaped = table._replace(header=header, rows=rows)
    below = "  \n".join(map(markdown_text, table.foot.splitlines()))
    return "\n\n".join(filter(None, (title, _rendered(escaped, "pipe"), below)))


def in_latex(table: Table) -> str:
    """Return the table in LaTeX, for the package booktabs, with title and notes as comments above."""
    above = [latex_comment(text) for text in (table.title, table.foot) if text]
    return "\n".join([*above, _rendered(table, "latex_booktabs")])


def markdown_text(text: str) -> str:
    """Escape the characters that have a meaning in Markdown or HTML."""
    escaped = html.escape(printable(" ".join(text.split())), quote=False)
    return "".join(f"\\{sign}" if sign in "\\`*_[]|~$#" else sign for sign in escaped)


def latex_comment(text: str) -> str:
    """Return the lines of a text as LaTeX comments."""
    return "\n".join(f"% {printable(line)}" for line in text.splitlines())


def tables_of_comparison(comparison: dict[str, Any], title: str = "") -> list[Table]:
    """Return a table of the differences over all queries, and one per segment."""
    tables = [Table(title, HEADER, list(map(cells, comparison["rows"])), foot(comparison))]
    for part in comparison["segments"]:
        segment = f"{segment_title(part['name'], part['segment'])}, {part['n_queries']:,} queries"
        heading = f"{title} in {segment}" if title else segment
        tables.append(Table(heading, HEADER, list(map(cells, part["rows"]))))
    return tables


def _rendered(table: Table, form: str) -> str:
    tabulate = import_extra("tabulate", "report").tabulate
    header, *rows = [list(map(one_line, row)) for row in (table.header, *table.rows)]
    align = ["left"] * table.n_words + ["right"] * (len(table.header) - table.n_words)
    return str(tabulate(rows, header, tablefmt=form, disable_numparse=True, colalign=align))
