"""The base class of all displays: they hold data as fields, draw into axes, and keep the artists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.report.plots.style import HEIGHT, WIDTH, ensure_axes, legend_height

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on


def of_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the fields that all displays of differences have."""
    return {
        "baseline": comparison.baseline,
        "confidence": comparison.settings.confidence,
        "weighted": comparison.weight is not None,
    }


class Display(ABC):
    """A figure of the numbers that it holds, by default with a legend above."""

    ax_: Any
    figure_: Any

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a new figure."""
        return WIDTH, HEIGHT + legend_height(self._names())

    def plot(self, ax: Any = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the axes of a new figure.

        Returns
        -------
        Display
            The display itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        self.ax_ = ensure_axes(ax, self.size)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None: ...

    def _names(self) -> list[str]:
        """Return the lines of the legend."""
        return []
