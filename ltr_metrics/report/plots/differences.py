"""The differences of the queries, sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray
from ltr_metrics.analysis.comparison import Comparison, Difference, shown_row
from ltr_metrics.evaluation.differences import gain_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots import style
from ltr_metrics.report.plots.style import Display

MAX_BARS = 1_000  # of more queries, evenly spaced ones are drawn, which looks the same


@dataclass(eq=False, kw_only=True)
class DifferencesDisplay(Display):
    """Differences of all queries, from the largest gain to the largest loss, and their mean.

    Create it with `from_comparison`.

    Parameters
    ----------
    difference : ndarray of float64
        Model - baseline for each query for which both have a value, in any order.
    row : Difference
        Their mean with its interval, the names and the counts.
    confidence : float
        Confidence level of the interval.
    weighted : bool, default False
        Whether the mean is weighted.

    Attributes
    ----------
    line_ : Line2D
        The mean.
    band_ : Polygon or Rectangle
        The interval of the mean.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    gains_, losses_ : PolyCollection
        The areas of gains and losses.
    legend_ : Legend
        The legend.

    See Also
    --------
    ltr_metrics.compare : Make the comparison.
    ComparisonDisplay : All metrics of a comparison.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import DifferencesDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics="map")
    >>> display = DifferencesDisplay.from_comparison(comparison, "map")
    >>> display.row == comparison["map"], len(display.difference) == display.row.n_queries
    (True, True)
    >>> display.plot().figure_.savefig("differences.svg")  # doctest: +SKIP
    """

    difference: FloatArray
    row: Difference
    confidence: float
    weighted: bool = False

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metric: str | Metric, model: str | None = None
    ) -> DifferencesDisplay:
        """Collect the queries of one metric and one model.

        Parameters
        ----------
        comparison : Comparison
            The result of `ltr_metrics.compare`.
        metric : str or Metric
            One metric, by name or as an object.
        model : str, optional
            Name of the model. It can be left out if there is only one beside the baseline.

        Returns
        -------
        DifferencesDisplay
            Ready to plot.

        Raises
        ------
        LtrKeyError
            If the metric was not compared, or there is no such model.
        """
        row = shown_row(comparison, comparison[metric] if model is None else comparison[metric, model])
        difference = comparison.differences(row.metric, row.model)
        difference = difference[~np.isnan(difference)]
        return cls(
            difference=difference,
            row=row,
            confidence=comparison.settings.confidence,
            weighted=comparison.weight is not None,
        )

    def _kind(self) -> str:
        return f"differences in {self.row.metric} by query"

    def _series(self) -> list[str]:
        return [f"{self.row.model}: {'weighted ' if self.weighted else ''}mean {self.row.difference:+.4f}"]

    def _draw(self, ax: Any, series: style.Series, line_kw: dict[str, Any]) -> None:
        row, ink = self.row, style.text_color(ax)
        gain = gain_of(self.difference, higher_is_better=row.higher_is_better)
        sorted_ = self.difference[np.argsort(-gain, kind="stable")]
        n, losses_start = len(sorted_), row.wins + row.ties
        if series.n_earlier:  # an outline, so that the areas of the first figure are still seen
            indices = _bar_indices(0, n)
            look = {"color": series.look(2, {}).color, "linewidth": 1.4} | line_kw
            self.line_ = series.add(ax.plot(indices + 0.5, sorted_[indices], **look)[0], self._series()[0])
            ax.set_xlim(0, max(ax.get_xlim()[1], n))
            return
        self.gains_ = _bars(ax, sorted_, 0, row.wins, {"color": style.COLORS[0]})
        hatched = {"facecolor": "none", "edgecolor": style.COLORS[1], "hatch": "////", "linewidth": 0.8}
        self.losses_ = _bars(ax, sorted_, losses_start, n, hatched)
        zero = ax.axhline(0, color=ink, linewidth=0.9)
        look = {"color": ink, "linewidth": 1.4, "linestyle": style.DASHES[1]} | line_kw
        self.line_ = series.add(ax.axhline(row.difference, **look), self._series()[0])
        self.band_ = ax.axhspan(row.ci_low, row.ci_high, color=ink, alpha=style.BAND, linewidth=0)
        ax.set_xlim(0, max(1, n))
        style.whole_numbers(ax.xaxis)
        style.grid(ax, "y")
        left_out = f"; {row.n_undefined:,} left out" if row.n_undefined else ""
        style.label_axes(
            ax,
            f"{style.n_queries_text((n, n))}, largest gain to largest loss{left_out}",
            f"difference in {row.metric},\n{style.shorten(row.model, 18)} - {style.shorten(row.baseline, 18)}",
        )
        areas = self.gains_, zero, self.losses_, self.band_
        ax.ltr_explained = list(zip(areas, self._names()[1:], strict=True))

    def _explained(self, ax: Any) -> list[tuple[Any, str]]:
        return list(ax.ltr_explained)

    def _names(self) -> list[str]:
        row = self.row
        return [
            *self._series(),
            f"{row.wins:,} gain",
            f"{row.ties:,} tied",
            f"{row.losses:,} lose",
            f"{100 * self.confidence:g}% [{row.ci_low:+.4f}, {row.ci_high:+.4f}]",
        ]


def _bars(ax: Any, values: FloatArray, start: int, stop: int, look: dict[str, Any]) -> Any:
    """Draw one outline around adjacent bars, each one query wide."""
    indices = _bar_indices(start, stop)
    edges = np.append(indices, stop)
    heights = np.append(values[indices], values[stop - 1] if stop > start else 0)
    return ax.fill_between(edges, 0, heights, step="post", **look)


def _bar_indices(start: int, stop: int) -> IntArray:
    """Return all indices from start to stop - 1, or at most MAX_BARS of them with both ends."""
    if stop - start <= MAX_BARS:
        return np.arange(start, stop)
    return np.unique(np.linspace(start, stop - 1, MAX_BARS).round().astype(np.intp))
