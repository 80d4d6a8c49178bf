"""Forest plots: points with intervals, one row below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics.report.plots.style import (
    LABEL_WIDTH,
    PLAIN,
    WIDTH,
    distinct_labels,
    grid,
    legend,
    legend_height,
    n_queries_text,
    series_style,
    text_color,
    wrapped,
)

POINT = 0.18  # inches between the points of one row
LINE = 0.19  # inches per line of text
GAP = 0.16  # inches between rows
MARGIN = 1.0  # inches above and below the rows


class Point(NamedTuple):
    """A value and its interval. NaN is not drawn."""

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
        The smallest and the largest number of queries of its points.
    points : dict of str to Point
        By series.
    """

    label: str
    n_queries: tuple[int, int]
    points: dict[str, Point]


@dataclass(frozen=True)
class ForestArtists:
    """The artists of a forest plot."""

    points: dict[str, Any]  # series -> Line2D
    intervals: dict[str, Any]  # series -> LineCollection
    legend: Any  # None for one series


def size_of(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the width and height in inches of a figure of these rows."""
    names = _series_names(rows)
    legend = legend_height(names) if len(names) > 1 else 0
    return WIDTH, MARGIN + legend + len(rows) * _row_height(rows)


def draw_forest(ax: Any, rows: Sequence[Row], x_label: str, *, zero: bool, last_apart: bool = False) -> ForestArtists:
    """Draw the rows from the top down.

    ``zero`` draws a line at no difference, and ``last_apart`` a line above the last row.
    """
    from matplotlib.ticker import MaxNLocator

    names = _series_names(rows)
    spread = POINT / _row_height(rows)  # between the points of a row, in units of the row height
    points, intervals = {}, {}
    for i, name in enumerate(names):
        style = series_style(i + zero)
        y = np.arange(len(rows)) + (i - (len(names) - 1) / 2) * spread
        value, low, high = np.array([row.points.get(name, Point(np.nan, np.nan, np.nan)) for row in rows]).T
        has_interval = ~np.isnan(value + low + high)
        intervals[name] = ax.hlines(
            y[has_interval], low[has_interval], high[has_interval], color=style.color, linewidth=1.6
        )
        (points[name],) = ax.plot(value, y, color=style.color, marker=style.marker, linestyle="none", markersize=5.5)
    if zero:
        ax.axvline(0, color=text_color(ax), linewidth=0.9, zorder=1)
        ax.update_datalim([(0, 0)], updatey=False)  # so that zero is not at the edge
        ax.autoscale_view(scaley=False)
    if last_apart and len(rows) > 1:
        ax.axhline(len(rows) - 1.5, color=text_color(ax), linewidth=0.7, linestyle=(0, (2, 2)))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    labels = distinct_labels([row.label for row in rows], LABEL_WIDTH)
    lines = [f"{wrapped(label)}\n{n_queries_text(row.n_queries)}" for label, row in zip(labels, rows, strict=True)]
    ax.set_yticks(range(len(rows)), lines, **PLAIN)
    ax.tick_params("y", length=0)
    grid(ax, "x")
    for i in range(1, len(rows) if len(names) > 2 else 0):
        ax.axhline(i - 0.5, color=text_color(ax), alpha=0.15, linewidth=0.7)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(x_label, loc="right", **PLAIN)  # aligned right, so that it can extend below the row labels
    return ForestArtists(points, intervals, legend(ax, list(points.values()), names) if len(names) > 1 else None)


def _series_names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.points))


def _row_height(rows: Sequence[Row]) -> float:
    n_lines = max(wrapped(label).count("\n") + 2 for label in distinct_labels([row.label for row in rows], LABEL_WIDTH))
    return GAP + max(LINE * n_lines, POINT * len(_series_names(rows)))
