"""Forest plots: points with intervals, one row below the other."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ltr_metrics.report.plots.display import Display
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

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on

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


class ForestDisplay(Display):
    """Points with intervals, one row below the other."""

    rows: list[Row]
    baseline: str | None

    @property
    def size(self) -> tuple[float, float]:
        legend = legend_height(self._names()) if len(self._names()) > 1 else 0
        return WIDTH, MARGIN + legend + len(self.rows) * self._row_height

    def plot(self, ax: Any = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the axes of a new figure.

        Returns
        -------
        ForestDisplay
            The display itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        ax = self._keep_axes(ax)
        self._draw_points(ax)
        self._label_rows(ax)
        ax.set_xlabel(self._label(), loc="right", **PLAIN)  # aligned right, so that it can extend below the row labels
        names = self._names()
        self.legend_ = legend(ax, list(self.points_.values()), names) if len(names) > 1 else None
        return self

    @property
    def _has_zero(self) -> bool:
        """Whether the values are differences."""
        return self.baseline is not None

    @abstractmethod
    def _label(self) -> str:
        """Return the label of the horizontal axis."""

    def _draw_points(self, ax: Any) -> None:
        """Draw the rows from the top down, and of differences a line at zero."""
        from matplotlib.ticker import MaxNLocator

        names, has_zero = self._names(), self._has_zero
        spread = POINT / self._row_height  # between the points of a row, in units of the row height
        self.points_, self.intervals_ = {}, {}
        for i, name in enumerate(names):
            style = series_style(i + has_zero)
            y = np.arange(len(self.rows)) + (i - (len(names) - 1) / 2) * spread
            value, low, high = np.array([row.points.get(name, Point(np.nan, np.nan, np.nan)) for row in self.rows]).T
            has_interval = ~np.isnan(value + low + high)
            self.intervals_[name] = ax.hlines(
                y[has_interval], low[has_interval], high[has_interval], color=style.color, linewidth=1.6
            )
            marks = {"color": style.color, "marker": style.marker, "linestyle": "none", "markersize": 5.5}
            (self.points_[name],) = ax.plot(value, y, **marks)
        if has_zero:
            ax.axvline(0, color=text_color(ax), linewidth=0.9, zorder=1)
            ax.update_datalim([(0, 0)], updatey=False)  # so that zero is not at the edge
            ax.autoscale_view(scaley=False)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5))

    def _label_rows(self, ax: Any) -> None:
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        labels = zip(self._row_labels(), self.rows, strict=True)
        ax.set_yticks(
            range(len(self.rows)), [f"{label}\n{n_queries_text(row.n_queries)}" for label, row in labels], **PLAIN
        )
        ax.tick_params("y", length=0)
        grid(ax, "x")
        for i in range(1, len(self.rows) if len(self._names()) > 2 else 0):
            ax.axhline(i - 0.5, color=text_color(ax), alpha=0.15, linewidth=0.7)
        ax.spines["left"].set_visible(False)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in row.points))

    def _row_labels(self) -> list[str]:
        return list(map(wrapped, distinct_labels([row.label for row in self.rows], LABEL_WIDTH)))

    @property
    def _row_height(self) -> float:
        n_lines = max(label.count("\n") + 2 for label in self._row_labels())
        return GAP + max(LINE * n_lines, POINT * len(self._names()))
