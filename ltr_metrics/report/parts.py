"""What the page consists of besides tables and text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ltr_metrics.evaluation.tables import Drawing, Piece, TableOrText
from ltr_metrics.report.numbers import signed

Pieces = Sequence[Piece]


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
    """A paragraph."""

    pieces: Pieces
    css: str = "key"


class Fold(NamedTuple):
    """Parts that open below a line."""

    title: Pieces
    parts: Sequence[PagePart]
    css: str = ""
    is_open: bool = False


class Choice(NamedTuple):
    """Parts of which one is shown, chosen by its title; all of them where the page runs no script."""

    label: str
    options: Mapping[str, Sequence[PagePart]]


class Group(NamedTuple):
    """Parts in a class of their own; the cells of their tables may become blocks in a narrow window."""

    css: str
    parts: Sequence[PagePart]


PagePart = TableOrText | Line | Fold | Choice | Group | Figure | Drawing | Mapping[str, Pieces]  # a mapping has terms


class Axis:
    """A linear axis that has 0, in percent of its width, with round ticks whose numbers never touch.

    ``room`` is how many digits fit beside each other where the axis is narrowest.
    """

    def __init__(self, values: Iterable[float], room: int) -> None:
        known = [0.0, *(value for value in values if math.isfinite(value))]
        low, high = min(known), max(known)
        width = high - low or 1.0
        self.low, self.width = low - 0.03 * width, 1.06 * width
        exponent = math.floor(math.log10(width / 5))
        for step in (m * 10.0**e for e in itertools.count(exponent) for m in (1, 2, 5)):
            digits = max(0, -math.floor(math.log10(step) + 1e-9))
            numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
            labels = [(self.x(i * step), signed(i * step, digits) if i else "0") for i in numbers]
            half = {text: 50 * (len(text) + 1) / room for _, text in labels}  # of a number with a gap, in percent
            self.ticks = [(x, text) for x, text in labels if half[text] <= x <= 100 - half[text] or text == "0"]
            if all(b - a >= half[t] + half[u] for (a, t), (b, u) in itertools.pairwise(self.ticks)):
                break

    def x(self, value: float) -> float:
        """Return the position of a value."""
        return round(100 * (value - self.low) / self.width, 1)

    def scale(self) -> Drawing:
        """Return the ticks with their numbers."""
        return Drawing("scale", {"ticks": self.ticks})

    def interval(
        self, low: float, high: float, value: float, css: str, margins: Sequence[tuple[float, bool]] = ()
    ) -> Drawing:
        """Return the drawing of a difference with its interval, and of margins, each with whether it is a floor."""
        x = {name: self.x(one) for name, one in {"low": low, "high": high, "value": value}.items() if one == one}
        beyond = "" if len(x) < 3 else "left" if x["high"] < 0 else "right" if x["low"] > 100 else ""
        ends = {"low": max(x["low"], 0), "high": min(x["high"], 100)} if len(x) == 3 else {}
        of_margins = [(min(max(self.x(margin), 0), 100), is_floor) for margin, is_floor in margins]
        return Drawing("interval", {"css": css, "zero": self.x(0), "margins": of_margins, "beyond": beyond} | x | ends)
