"""What a section consists of besides tables and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ltr_metrics.errors import one_line
from ltr_metrics.evaluation.tables import Cell, Drawing, Part, Table, Words

WIDTH, MARGIN = 150, 5  # of a drawing in a table, in pixels


@dataclass(frozen=True)
class Figure:
    """A figure of the report.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the report.
    title, caption : str
        Plain text, with names as they were given.
    svg : str
        An ``svg`` element, for a page or for a file of its own.

    See Also
    --------
    figures_of : The figures of a report.

    Examples
    --------
    >>> from ltr_metrics.report import Figure
    >>> figure = Figure(name="map", title="MAP", caption="MAP by segment.", svg="<svg></svg>")
    >>> figure.name
    'map'
    """

    name: str
    title: str
    caption: str
    svg: str


class Line(NamedTuple):
    """A paragraph of plain text and words in a class of their own."""

    pieces: Sequence[str | Words]
    css: str = "line"


class Fold(NamedTuple):
    """Parts that open below a title on the page; without the page, only some are printed."""

    title: str
    parts: Sequence[PagePart]
    is_open: bool = False
    is_printed: bool = True


class Pair(NamedTuple):
    """Tables that stand side by side if there is room."""

    tables: Sequence[Table]


PagePart = (
    Part | Line | Fold | Pair | Figure | dict[str, str]
)  # a dict has the meanings of terms, which only the page explains


def printed(parts: Iterable[PagePart]) -> Iterator[Part]:
    """Yield the tables and texts of the formats without a page."""
    for part in parts:
        if isinstance(part, Line):
            yield "".join(one_line(piece if isinstance(piece, str) else piece.text) for piece in part.pieces)
        elif isinstance(part, Pair):
            yield from part.tables
        elif isinstance(part, Fold):
            if part.is_printed:
                yield one_line(part.title)
                yield from printed(part.parts)
        elif not isinstance(part, (Figure, dict)):
            yield part


def with_cells(table: Table, column: str, changes: Iterable[tuple[str, Sequence[Drawing]]]) -> Table:
    """Return the table with classes and drawings in the cells of a column."""
    i = table.header.index(column)
    rows = [
        [*row[:i], Cell(str(row[i]), *change), *row[i + 1 :]] for row, change in zip(table.rows, changes, strict=True)
    ]
    return table._replace(rows=rows)


class Axis:
    """The horizontal axis of the drawings in some rows."""

    def __init__(self, values: Iterable[float]) -> None:
        known = [value for value in values if value == value] or [0.0]
        self.low, self.high = min(known), max(known)

    def x(self, value: float) -> float:
        """Return the position of a value in pixels."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)

    def draw(self, macro: str, css: str, **values: float) -> list[Drawing]:
        """Return the drawing of some values on this axis; none if one is missing."""
        if any(value != value for value in values.values()):
            return []
        x = {name: self.x(value) for name, value in values.items()}
        return [Drawing(macro, {"width": WIDTH, "css": css, **x})]
