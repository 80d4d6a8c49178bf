"""Results as people see them: one description gives the printed text and the HTML of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ltr_metrics.errors import one_line, printable

WIDTH = 100  # of lines that are wrapped
TABLE_STYLE = "border-collapse: collapse; color: inherit; background: none; margin: 0.5em 0"
CAPTION_STYLE = "text-align: left; color: inherit"
CELL_STYLE = "padding: 0.15em 0.7em; color: inherit; background: none; vertical-align: top"
LINE = "border-bottom: 1px solid rgba(128, 128, 128, 0.5)"  # legible on light and on dark ground


class Table(NamedTuple):
    """A table of text, with what stands directly above and below it.

    Attributes
    ----------
    header : sequence of str
        Empty for a table without a header.
    rows : sequence of sequence of str
    align : str
        A letter a column, the last one for all that follow: ``l`` left, ``r`` right, and ``n`` for
        numbers that stand on the left in print and on the right in HTML.
    least : sequence of int
        Least width of each column in print; 0 for those that follow.
    title, foot : str
        Lines above and below.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str = "lr"
    least: Sequence[int] = ()
    title: str = ""
    foot: str = ""

    def alignment(self, column: int) -> str:
        """Return the letter of a column."""
        return self.align[min(column, len(self.align) - 1)]


class Note(NamedTuple):
    """Text whose long lines are wrapped in print."""

    text: str


Part = Table | Note | str


class Printed:
    """A result that is printed as text, and shown as HTML in a notebook, from one description."""

    def printed_parts(self) -> Sequence[Part]:
        """Return the tables and lines that the result is printed as."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the result as text."""
        return as_text(self.printed_parts())

    def __repr__(self) -> str:  # what an interactive session shows
        return str(self)

    def _repr_html_(self) -> str | None:
        """Return the result as HTML, for notebooks: the numbers and notes of the printed text."""
        return as_html(self.printed_parts())


def as_text(parts: Iterable[Part]) -> str:
    """Return the parts as text, with an empty line between two of them."""
    return "\n\n".join(map(_text, parts))


def wrapped(text: str) -> str:
    """Return text whose lines a terminal does not break."""
    import textwrap  # which the import of the package does without

    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  " * line.startswith(" "))
        for line in printable(text).splitlines()
    )


def _text(part: Part) -> str:
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, Note):
        return wrapped(part.text)
    rows = [list(map(one_line, row)) for row in (part.header, *part.rows) if row]
    columns = zip(*rows, strict=True)
    least = [*part.least, *[0] * (len(rows[0]) - len(part.least))] if rows else []
    widths = [max(at_least, *map(len, column)) for at_least, column in zip(least, columns, strict=True)]
    lines = ["  ".join(_cell(part, i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
    return "\n".join([*filter(None, [one_line(part.title)]), *lines, *filter(None, [printable(part.foot)])])


def _cell(table: Table, column: int, cell: str, width: int) -> str:
    return cell.rjust(width) if table.alignment(column) == "r" else cell.ljust(width)


def as_html(parts: Iterable[Part]) -> str:
    """Return the parts as HTML, with the page's colours and font, and with all text escaped."""
    return f'<div style="overflow-x: auto">{"".join(map(_html, parts))}</div>'


def _html(part: Part) -> str:
    if isinstance(part, str):
        return _lines(part)
    if isinstance(part, Note):
        return _lines(part.text)
    caption = f'<caption style="{CAPTION_STYLE}">{_escaped(one_line(part.title))}</caption>' if part.title else ""
    head = "".join(_html_cell(part, i, cell, "col") for i, cell in enumerate(part.header))
    body = "".join(
        f"<tr>{''.join(_html_cell(part, i, cell, '' if i else 'row') for i, cell in enumerate(row))}</tr>"
        for row in part.rows
    )
    thead = f'<thead><tr style="{LINE}">{head}</tr></thead>' if head else ""
    return f'<table style="{TABLE_STYLE}">{caption}{thead}<tbody>{body}</tbody></table>{_lines(part.foot)}'


def _html_cell(table: Table, column: int, cell: str, scope: str) -> str:
    """Return a cell, or a header cell of its row or column; an empty cell heads nothing."""
    side = "left" if table.alignment(column) == "l" else "right; white-space: nowrap"
    weight = "bold" if scope == "col" else "normal"
    text = _escaped(one_line(cell.strip()))
    name, scoped = ("th", f' scope="{scope}"') if scope and text else ("td", "")
    return f'<{name}{scoped} style="{CELL_STYLE}; text-align: {side}; font-weight: {weight}">{text}</{name}>'


def _lines(text: str) -> str:
    """Return a paragraph a line; an indented line keeps its indent."""
    return "".join(
        f'<p style="margin: 0.2em 0 0.2em {1.5 * line.startswith(" "):g}em">{_escaped(line.strip())}</p>'
        for line in printable(text).splitlines()
    )


def _escaped(text: str) -> str:
    import html  # which the import of the package does without

    return html.escape(text, quote=False)
