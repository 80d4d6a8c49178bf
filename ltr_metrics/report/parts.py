"""What a section consists of besides tables and text, and what only the page shows of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ltr_metrics.errors import one_line
from ltr_metrics.evaluation.tables import Table, TableOrText

WIDTH, MARGIN = 150, 5  # of a drawing in a table, in pixels


class Cell(str):
    """Text that the page colours by a CSS class or a depth of shade, and shows with a drawing or a line below."""

    css: str
    mark: str
    below: tuple[str, ...]
    depth: float

    def __new__(  # noqa: PYI034  (no class inherits it)
        cls, text: str, css: str = "", *, mark: str = "", below: tuple[str, ...] = (), depth: float = 0
    ) -> Cell:
        """Return the text with its attributes."""
        cell = super().__new__(cls, text)
        cell.css, cell.mark, cell.below, cell.depth = css, mark, below, depth
        return cell


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
    """A paragraph of plain text and cells."""

    pieces: Sequence[str]
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
    TableOrText | Line | Fold | Pair | Figure | dict[str, str]
)  # a dict has the meanings of terms, which only the page explains


def printed(parts: Iterable[PagePart]) -> Iterator[TableOrText]:
    """Yield the tables and texts of the formats without a page."""
    for part in parts:
        if isinstance(part, Line):
            yield "".join(map(one_line, part.pieces))
        elif isinstance(part, Pair):
            yield from part.tables
        elif isinstance(part, Fold):
            if part.is_printed:
                yield one_line(part.title)
                yield from printed(part.parts)
        elif not isinstance(part, (Figure, dict)):
            yield part


def with_cells(table: Table, column: str, attributes: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table with attributes for the cells of a column."""
    i = table.header.index(column)
    rows = [[*row[:i], Cell(row[i], **of), *row[i + 1 :]] for row, of in zip(table.rows, attributes, strict=True)]
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


def interval_mark(row: Any, axis: Axis, css: str) -> str:
    """Draw a difference with its interval, and a dashed line at 0."""
    if row.ci_low != row.ci_low:
        return ""
    zero, low, high, middle = map(axis.x, (0, row.ci_low, row.ci_high, row.difference))
    return _svg(
        css,
        f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="16"/>'
        f'<line x1="{low}" x2="{high}" y1="8" y2="8"/><circle cx="{middle}" cy="8" r="3.5"/>',
    )


def spread_mark(mean: float, quantiles: Sequence[float], axis: Axis) -> str:
    """Draw five quantiles as a line, a box and a tick, and the mean as a point."""
    if mean != mean:
        return ""
    q5, q25, median, q75, q95 = map(axis.x, quantiles)
    return _svg(
        "spread",
        f'<line x1="{q5}" x2="{q95}" y1="8" y2="8"/>'
        f'<rect x="{q25}" width="{max(q75 - q25, 1):.1f}" y="3.5" height="9"/>'
        f'<line class="median" x1="{median}" x2="{median}" y1="2" y2="14"/>'
        f'<circle cx="{axis.x(mean)}" cy="8" r="3"/>',
    )


def _svg(css: str, shapes: str) -> str:
    size = f'viewBox="0 0 {WIDTH} 16" width="{WIDTH}" height="16"'
    return f'<svg class="mark {css}" {size} aria-hidden="true">{shapes}</svg>'
