"""The propensities of positions, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltr_metrics.counterfactual import Propensities
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.report.plots.display import LinesDisplay
from ltr_metrics.report.plots.style import BAND, grid, label_axes, legend, series_style, shorten, text_color

IN_ERRORS = 1.96  # half the width of a 95 % interval in standard errors


@dataclass(eq=False, kw_only=True)
class PropensitiesDisplay(LinesDisplay):
    """Propensity by position, with the 95 % interval of each estimate as a band.

    Create it with `from_propensities`.

    Parameters
    ----------
    tables : dict of str to Propensities
        By name of the line.

    Attributes
    ----------
    bands_ : dict of str to PolyCollection
        For tables with standard errors.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        By name of the line.
    legend_ : Legend
        The legend.

    See Also
    --------
    ltr_metrics.counterfactual.estimate_propensities : Estimate propensities.

    Examples
    --------
    >>> from ltr_metrics.counterfactual import Propensities
    >>> from ltr_metrics.report import PropensitiesDisplay
    >>> tables = {"given": Propensities([1, 0.5, 0.3], standard_error=[0, 0.02, 0.03])}
    >>> display = PropensitiesDisplay.from_propensities(tables)
    >>> list(display.tables)
    ['given']
    >>> display.plot().figure_.savefig("propensities.svg")  # doctest: +SKIP
    """

    tables: dict[str, Propensities]

    @classmethod
    def from_propensities(cls, tables: Mapping[str, Propensities]) -> PropensitiesDisplay:
        """Collect one or more tables of propensities.

        Parameters
        ----------
        tables : mapping of str to Propensities
            By name of the line, for example the method of estimation.

        Returns
        -------
        PropensitiesDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrTypeError
            If there is no table, or if it is not an object of the class
            `ltr_metrics.counterfactual.Propensities`.
        """
        if not isinstance(tables, Mapping):
            raise LtrTypeError(f'tables must map names of lines to Propensities, {{"em": table}}. Got {tables!r}.')
        if not tables:
            raise LtrValueError("There are no propensities to draw. Pass one or more tables by name.")
        for name, table in tables.items():
            if not isinstance(table, Propensities):
                raise LtrTypeError(f"tables must hold Propensities. {name!r} has a {type(table).__name__}.")
        return cls(tables={str(name): table for name, table in tables.items()})

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        from matplotlib.ticker import MaxNLocator

        self.lines_, self.bands_ = {}, {}
        for i, (name, table) in enumerate(self.tables.items()):
            style = series_style(i)
            if table.standard_error is not None:
                half = IN_ERRORS * table.standard_error
                band = {"color": style.color, "alpha": BAND, "linewidth": 0} | band_kw
                limits = (table.propensity - half, table.propensity + half)
                self.bands_[name] = ax.fill_between(table.position, *limits, **band)
            line = style._asdict() | {"markersize": 4.5}
            (self.lines_[name],) = ax.plot(table.position, table.propensity, label=shorten(name), **line | line_kw)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(bottom=0)
        grid(ax)
        label_axes(ax, "position", "propensity, relative to the first position")
        patches = [ax.fill_between([], [], [], color=text_color(ax), alpha=BAND, linewidth=0)] if self.bands_ else []
        self.legend_ = legend(ax, [*self.lines_.values(), *patches], self._names())

    def _names(self) -> list[str]:
        has_band = any(table.standard_error is not None for table in self.tables.values())
        return [*self.tables, *["95 % interval"] * has_band]
