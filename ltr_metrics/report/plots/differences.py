"""The differences of the single queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.display import Display
from ltr_metrics.report.plots.style import (
    BAND,
    COLORS,
    counted,
    grid,
    ink_of,
    label_axes,
    legend,
    shown,
    whole_numbers,
)

MOST_DRAWN = 1_000  # queries; of more, evenly spaced ones and all ends, which no eye tells from all


@dataclass(eq=False, kw_only=True)
class DifferencesDisplay(Display):
    """The difference of each query, from the largest gain to the largest loss, and their mean with its interval.

    Make it with `from_comparison`.

    Parameters
    ----------
    difference : ndarray of float64
        Of each query that both models have a value for, model - baseline, in any order.
    mean, low, high : float
        (Weighted) mean of the differences and its interval.
    metric, model, baseline : str
    confidence : float
        Of the interval.
    n_undefined : int, default 0
        Queries that are left out.
    weighted : bool, default False
        Whether the mean is weighted.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    gains_, losses_ : PolyCollection
    line_ : Line2D
        Of the mean.
    band_ : Polygon or Rectangle
        Of its interval.
    legend_ : Legend

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.report import DifferencesDisplay
    >>> shown = DifferencesDisplay(
    ...     difference=np.array([0.5, 0, 0, -0.1]), mean=0.1, low=-0.05, high=0.3,
    ...     metric="mrr", model="new", baseline="base", confidence=0.95,
    ... )
    >>> shown.wins, shown.ties, shown.losses
    (1, 2, 1)
    >>> shown.plot().figure_.savefig("differences.svg")  # doctest: +SKIP
    """

    difference: FloatArray
    mean: float
    low: float
    high: float
    metric: str
    model: str
    baseline: str
    confidence: float
    n_undefined: int = 0
    weighted: bool = False

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metric: str | Metric, model: str | None = None
    ) -> DifferencesDisplay:
        """Take the queries of one metric and, where there are several, one model."""
        row = comparison[metric] if model is None else comparison[metric, model]
        difference = comparison.differences(row.metric, row.model)
        return cls(
            difference=difference[~np.isnan(difference)],
            mean=row.difference,
            low=row.ci_low,
            high=row.ci_high,
            metric=row.metric,
            model=row.model,
            baseline=row.baseline,
            confidence=comparison.settings.confidence,
            n_undefined=row.n_undefined,
            weighted=comparison.weight is not None,
        )

    @property
    def wins(self) -> int:
        """Queries that gain."""
        return int((self.difference > 0).sum())

    @property
    def ties(self) -> int:
        """Queries that stay as they are."""
        return int((self.difference == 0).sum())

    @property
    def losses(self) -> int:
        """Queries that lose."""
        return int((self.difference < 0).sum())

    def plot(self, ax: Any = None, *, bar_kw: dict[str, Any] | None = None) -> DifferencesDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: those of a new figure.
        bar_kw : dict, optional
            Passed on to ``Axes.fill_between`` for gains and losses.

        Returns
        -------
        DifferencesDisplay
            Itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        ax = self._take(ax)
        ink, sorted_ = ink_of(ax), np.sort(self.difference)[::-1]
        self.gains_ = _bars(ax, sorted_, 0, self.wins, {"color": COLORS[0]} | (bar_kw or {}))
        lost = {"facecolor": "none", "edgecolor": COLORS[1], "hatch": "////", "linewidth": 0.8}
        self.losses_ = _bars(ax, sorted_, self.wins + self.ties, len(sorted_), lost | (bar_kw or {}))
        zero = ax.axhline(0, color=ink, linewidth=0.9)
        self.line_ = ax.axhline(self.mean, color=ink, linewidth=1.4, linestyle=(0, (5, 1.5)))
        self.band_ = ax.axhspan(self.low, self.high, color=ink, alpha=BAND, linewidth=0)
        ax.set_xlim(0, max(1, len(sorted_)))
        whole_numbers(ax.xaxis)
        grid(ax, "y")
        left_out = f"; {self.n_undefined:,} left out" if self.n_undefined else ""
        n = len(sorted_)
        label_axes(
            ax,
            f"{counted((n, n))}, largest gain to largest loss{left_out}",
            f"difference in {self.metric},\n{shown(self.model, 18)} - {shown(self.baseline, 18)}",
        )
        self.legend_ = legend(ax, [self.gains_, zero, self.losses_, self.line_, self.band_], self._names())
        return self

    def _names(self) -> list[str]:
        return [
            f"{self.wins:,} gain",
            f"{self.ties:,} tied",
            f"{self.losses:,} lose",
            f"{'weighted ' if self.weighted else ''}mean {self.mean:+.4f}",
            f"{100 * self.confidence:g}% [{self.low:+.4f}, {self.high:+.4f}]",
        ]


def _bars(ax: Any, values: FloatArray, first: int, last: int, look: dict[str, Any]) -> Any:
    """Draw one outline around neighbouring bars, each a query wide."""
    at = _drawn(first, last)
    left = np.append(at, last)  # where each of them begins, and the last ends
    heights = np.append(values[at], values[last - 1] if last > first else 0)
    return ax.fill_between(left, 0, heights, step="post", **look)


def _drawn(first: int, last: int) -> IntArray:
    """Return the positions from first to last, both ends among them, or as many as can be told apart."""
    if last - first <= MOST_DRAWN:
        return np.arange(first, last)
    return np.unique(np.linspace(first, last - 1, MOST_DRAWN).round().astype(np.intp))
