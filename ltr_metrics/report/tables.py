"""Tables of text, in plain text, Markdown and LaTeX."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from ltr_metrics._engine.plain import segment_title
from ltr_metrics._engine.printed import wrapped
from ltr_metrics.analysis.comparison.table import HEADER, cells, foot
from ltr_metrics.errors import MissingExtraError, one_line, printable


class Table(NamedTuple):
    """A table, what stands above it, and what below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str = ""
    n_words: int = 2  # columns of words, before those of numbers


def in_text(table: Table) -> str:
    """Return the table for a terminal."""
    return "\n\n".join(filter(None, (one_line(table.title), _rendered(table, "simple"), wrapped(table.foot))))


def in_markdown(table: Table) -> str:
    """Return the table in Markdown, in which names mean nothing but themselves."""
    title = f"## {markdown_text(table.title)}" if table.title else ""
    header, *rows = [[markdown_text(cell) for cell in row] for row in (table.header, *table.rows)]
    escaped = table._replace(header=header, rows=rows)
    below = "  \n".join(map(markdown_text, table.foot.splitlines()))
    return "\n\n".join(filter(None, (title, _rendered(escaped, "pipe"), below)))


def in_latex(table: Table) -> str:
    """Return the table in LaTeX, for the package booktabs, with comments above that say what it is."""
    above = [latex_comment(text) for text in (table.title, table.foot) if text]
    return "\n".join([*above, _rendered(table, "latex_booktabs")])


def markdown_text(text: str) -> str:
    """Return text whose signs mean nothing in Markdown or in HTML."""
    escaped = html.escape(printable(" ".join(text.split())), quote=False)
    return "".join(f"\\{sign}" if sign in "\\`*_[]|~$#" else sign for sign in escaped)


def latex_comment(text: str) -> str:
    """Return text of one or more lines as comments."""
    return "\n".join(f"% {printable(line)}" for line in text.splitlines())


def tables_of_comparison(comparison: dict[str, Any], title: str = "") -> list[Table]:
    """Return the differences over all queries, and in each segment."""
    made = [Table(title, HEADER, list(map(cells, comparison["rows"])), foot(comparison))]
    for part in comparison["segments"]:
        heading = (
            f"{title} in {segment_title(part['name'], part['segment'])}".strip() + f", {part['n_queries']:,} queries"
        )
        made.append(Table(heading if title else heading.removeprefix("in "), HEADER, list(map(cells, part["rows"]))))
    return made


def _rendered(table: Table, form: str) -> str:
    try:
        from tabulate import tabulate
    except ImportError as error:
        raise MissingExtraError("tabulate", "report") from error
    header, *rows = [list(map(one_line, row)) for row in (table.header, *table.rows)]
    align = ["left"] * table.n_words + ["right"] * (len(table.header) - table.n_words)
    return str(tabulate(rows, header, tablefmt=form, disable_numparse=True, colalign=align))
