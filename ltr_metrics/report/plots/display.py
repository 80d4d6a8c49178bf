"""What all displays share: data as fields, axes given or made, a drawing that is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ltr_metrics.report.plots.forest import Drawn, Row, size_of
from ltr_metrics.report.plots.style import HEIGHT, WIDTH, axes_of, legend_height

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on


class Display(ABC):
    """A picture of numbers that it holds, by default with a legend above."""

    ax_: Any
    figure_: Any

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches that fit, taken where no axes are given."""
        return WIDTH, HEIGHT + legend_height(self._names())

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw into axes, by default those of a new figure, and return itself."""

    def _names(self) -> list[str]:
        """Return the lines of the legend."""
        return []

    def _take(self, ax: Any) -> Any:
        """Keep the axes, or make some."""
        self.ax_ = axes_of(ax, self.size)
        self.figure_ = self.ax_.figure
        return self.ax_


class LinesDisplay(Display):
    """Lines with bands around them."""

    def plot(
        self, ax: Any = None, *, line_kw: Mapping[str, Any] | None = None, band_kw: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: those of a new figure.
        line_kw, band_kw : dict, optional
            Passed on to ``Axes.plot`` and ``Axes.fill_between``.

        Returns
        -------
        LinesDisplay
            Itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        self._draw(self._take(ax), dict(line_kw or {}), dict(band_kw or {}))
        return self

    @abstractmethod
    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None: ...


class ForestDisplay(Display):
    """Points with intervals, row below row."""

    rows: list[Row]

    @property
    def size(self) -> tuple[float, float]:
        return size_of(self.rows)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: those of a new figure.

        Returns
        -------
        ForestDisplay
            Itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        drawn = self._draw(self._take(ax))
        self.points_, self.intervals_, self.legend_ = drawn.points, drawn.intervals, drawn.legend
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Drawn: ...
