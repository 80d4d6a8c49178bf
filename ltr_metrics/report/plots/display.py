"""The base classes of all displays: they hold data as fields, draw into axes, and keep the artists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ltr_metrics.report.plots.style import HEIGHT, WIDTH, ensure_axes, legend_height

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on


class Display(ABC):
    """A figure of the numbers that it holds, by default with a legend above."""

    ax_: Any
    figure_: Any

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a new figure."""
        return WIDTH, HEIGHT + legend_height(self._names())

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw into axes, by default those of a new figure, and return the display."""

    def _names(self) -> list[str]:
        """Return the lines of the legend."""
        return []

    def _keep_axes(self, ax: Any) -> Any:
        """Keep the given axes, or create some."""
        self.ax_ = ensure_axes(ax, self.size)
        self.figure_ = self.ax_.figure
        return self.ax_


class LinesDisplay(Display):
    """Lines with bands around them."""

    def plot(
        self, ax: Any = None, *, line_kw: Mapping[str, Any] | None = None, band_kw: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the axes of a new figure.
        line_kw, band_kw : dict, optional
            Passed to ``Axes.plot`` and ``Axes.fill_between``.

        Returns
        -------
        LinesDisplay
            The display itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        self._draw(self._keep_axes(ax), dict(line_kw or {}), dict(band_kw or {}))
        return self

    @abstractmethod
    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None: ...
