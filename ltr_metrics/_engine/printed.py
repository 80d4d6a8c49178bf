"""Printed results: one description gives the text of a terminal and the HTML of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ltr_metrics.errors import one_line, printable

WIDTH = 100  # columns of wrapped text
TABLE_STYLE = "border-collapse: collapse; color: inherit; background: none; margin: 0.5em 0"
CAPTION_STYLE = "text-align: left; color: inherit"
CELL_STYLE = "padding: 0.15em 0.7em; color: inherit; background: none; vertical-align: top"
LINE = "border-bottom: 1px solid rgba(128, 128, 128, 0.5)"  # legible on a light and on a dark background


class Table(NamedTuple):
    """A table of text, with the lines directly above and below it.

    Attributes
    ----------
    header : sequence of str
        Empty for a table without a header.
    rows : sequence of sequence of str
    align : str
        A letter for each column: ``l`` for left, ``r`` for right, and ``n`` for numbers that are
        left aligned in text and right aligned in HTML. The last letter applies to all further
        columns.
    min_widths : sequence of int
        Minimum width of each column in text; 0 for further columns.
    title, foot : str
        Lines above and below.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str = "lr"
    min_widths: Sequence[int] = ()
    title: str = ""
    foot: str = ""

    def alignment(self, column: int) -> str:
        """Return the letter of a column."""
        return self.align[min(column, len(self.align) - 1)]


class Note(NamedTuple):
    """Text whose long lines are wrapped."""

    text: str


Part = Table | Note | str


class Printed:
    """Base of results that are printed as text, and displayed as HTML in notebooks."""

    def printed_parts(self) -> Sequence[Part]:
        """Return the tables and lines that the result is printed as."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the result as text."""
        return as_text(self.printed_parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str | None:
        """Return the result as HTML, for notebooks."""
        return as_html(self.printed_parts())


def as_text(parts: Iterable[Part]) -> str:
    """Return the parts as text, with an empty line between two of them."""
    return "\n\n".join(map(_text, parts))


def wrapped(text: str) -> str:
    """Return text with lines of at most `WIDTH` columns."""
    import textwrap  # here, so that importing the package does not load it

    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  " * line.startswith(" "), break_on_hyphens=False)
        for line in printable(text).splitlines()
    )


def _text(part: Part) -> str:
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, Note):
        return wrapped(part.text)
    rows = [list(map(one_line, row)) for row in (part.header, *part.rows) if row]
    columns = [_padded(part, i, column) for i, column in enumerate(zip(*rows, strict=True))]
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([*filter(None, [one_line(part.title)]), *lines, *filter(None, [printable(part.foot)])])


def _padded(table: Table, number: int, column: Sequence[str]) -> list[str]:
    """Return the cells of a column, padded to one width."""
    width = max(*table.min_widths[number : number + 1], *map(len, column), 0)
    return [cell.rjust(width) if table.alignment(number) == "r" else cell.ljust(width) for cell in column]


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
    """Return a cell; with a scope and text it is the header of its row or column."""
    side = "left" if table.alignment(column) == "l" else "right; white-space: nowrap"
    weight = "bold" if scope == "col" else "normal"
    text = _escaped(one_line(cell.strip()))
    name, scoped = ("th", f' scope="{scope}"') if scope and text else ("td", "")
    return f'<{name}{scoped} style="{CELL_STYLE}; text-align: {side}; font-weight: {weight}">{text}</{name}>'


def _lines(text: str) -> str:
    """Return a paragraph for each line; an indented line keeps its indent."""
    return "".join(
        f'<p style="margin: 0.2em 0 0.2em {1.5 * line.startswith(" "):g}em">{_escaped(line.strip())}</p>'
        for line in printable(text).splitlines()
    )


def _escaped(text: str) -> str:
    import html  # here, so that importing the package does not load it

    return html.escape(text, quote=False)
