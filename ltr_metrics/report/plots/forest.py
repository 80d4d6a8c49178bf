"""Points with intervals, row below row: what pictures of segments and of comparisons share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics.report.plots.style import (
    LONGEST_IN_LABEL,
    PLAIN,
    WIDTH,
    counted,
    grid,
    ink_of,
    legend,
    legend_height,
    series,
    told_apart,
    wrapped,
)

POINT = 0.18  # inches between the points of one row
LINE = 0.19  # inches of a line of text
BETWEEN = 0.16  # inches between rows
AROUND = 1.0  # inches above and below the rows


class Point(NamedTuple):
    """A value and its interval; what is NaN is not drawn."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A line of a forest plot.

    Attributes
    ----------
    label : str
    n_queries : tuple of int
        The fewest and the most queries behind its points.
    points : dict of str to Point
        By series.
    """

    label: str
    n_queries: tuple[int, int]
    points: dict[str, Point]


@dataclass(frozen=True)
class Drawn:
    """What was drawn."""

    points: dict[str, Any]  # series -> Line2D
    intervals: dict[str, Any]  # series -> LineCollection
    legend: Any  # None for one series


def height_of(rows: Sequence[Row]) -> float:
    """Return the inches that fit."""
    names = _series(rows)
    of_legend = legend_height(names) if len(names) > 1 else 0
    return AROUND + of_legend + len(rows) * _row_height(rows)


def size_of(rows: Sequence[Row]) -> tuple[float, float]:
    """Return width and height that fit."""
    return WIDTH, height_of(rows)


def draw_forest(ax: Any, rows: Sequence[Row], x_label: str, *, zero: bool, last_apart: bool = False) -> Drawn:
    """Draw a row for each, the first at the top; ``last_apart`` parts the last from the others, ``zero`` marks no difference: the baseline."""
    from matplotlib.ticker import MaxNLocator

    names = _series(rows)
    spread = POINT / _row_height(rows)  # of the points of a row, whose height is 1
    points, intervals = {}, {}
    for i, name in enumerate(names):
        look = series(i + zero)
        y = np.arange(len(rows)) + (i - (len(names) - 1) / 2) * spread
        found = np.array([row.points.get(name, Point(np.nan, np.nan, np.nan)) for row in rows])
        whole = ~np.isnan(found).any(axis=1)
        intervals[name] = ax.hlines(y[whole], found[whole, 1], found[whole, 2], color=look.color, linewidth=1.6)
        (points[name],) = ax.plot(
            found[:, 0], y, color=look.color, marker=look.marker, linestyle="none", markersize=5.5
        )
    if zero:
        ax.axvline(0, color=ink_of(ax), linewidth=0.9, zorder=1)
        ax.update_datalim([(0, 0)], updatey=False)  # not at the very edge
        ax.autoscale_view(scaley=False)
    if last_apart and len(rows) > 1:
        ax.axhline(len(rows) - 1.5, color=ink_of(ax), linewidth=0.7, linestyle=(0, (2, 2)))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    labels = told_apart([row.label for row in rows], LONGEST_IN_LABEL)
    lines = [f"{wrapped(label)}\n{counted(row.n_queries)}" for label, row in zip(labels, rows, strict=True)]
    ax.set_yticks(range(len(rows)), lines, **PLAIN)
    ax.tick_params("y", length=0)
    grid(ax, "x")
    for i in range(1, len(rows) if len(names) > 2 else 0):
        ax.axhline(i - 0.5, color=ink_of(ax), alpha=0.15, linewidth=0.7)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(x_label, loc="right", **PLAIN)  # it may run to the left, below the labels
    return Drawn(points, intervals, legend(ax, list(points.values()), names) if len(names) > 1 else None)


def _series(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.points))


def _row_height(rows: Sequence[Row]) -> float:
    n_lines = max(wrapped(label).count("\n") + 2 for label in told_apart([row.label for row in rows], LONGEST_IN_LABEL))
    return BETWEEN + max(LINE * n_lines, POINT * len(_series(rows)))
