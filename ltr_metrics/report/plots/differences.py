"""The differences of the queries, sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.evaluation.change import gain_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots import style
from ltr_metrics.report.plots.display import Display

MAX_BARS = 1_000  # of more queries, evenly spaced ones are drawn, which looks the same


@dataclass(eq=False, kw_only=True)
class DifferencesDisplay(Display):
    """Differences of all queries, from the largest gain to the largest loss, and their mean.

    Create it with `from_comparison`.

    Parameters
    ----------
    difference : ndarray of float64
        Model - baseline for each query for which both have a value, in any order.
    mean, low, high : float
        The (weighted) mean of the differences and its interval.
    metric, model, baseline : str
        Names, for the texts.
    confidence : float
        Confidence level of the interval.
    n_undefined : int, default 0
        Number of queries that are left out.
    weighted : bool, default False
        Whether the mean is weighted.
    higher_is_better : bool, default True
        The direction of the metric: whether positive differences are gains.

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
    >>> import numpy as np
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import DifferencesDisplay
    >>> display = DifferencesDisplay(
    ...     difference=np.array([0.5, 0, 0, -0.1]), mean=0.1, low=-0.05, high=0.3,
    ...     metric="mrr", model="new", baseline="base", confidence=0.95,
    ... )
    >>> display.wins, display.ties, display.losses, len(display.size)
    (1, 2, 1, 2)
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics="map")
    >>> display = DifferencesDisplay.from_comparison(comparison, "map")
    >>> display.mean == comparison["map"].difference
    True
    >>> display.plot().figure_.savefig("differences.svg")  # doctest: +SKIP
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
    higher_is_better: bool = True

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
            higher_is_better=row.higher_is_better,
        )

    @property
    def _gain(self) -> FloatArray:
        return gain_of(self.difference, higher_is_better=self.higher_is_better)

    @property
    def wins(self) -> int:
        """Number of queries that gain."""
        return int((self._gain > 0).sum())

    @property
    def ties(self) -> int:
        """Number of queries that are tied."""
        return int((self.difference == 0).sum())

    @property
    def losses(self) -> int:
        """Number of queries that lose."""
        return int((self._gain < 0).sum())

    def _draw(self, ax: Any) -> None:
        ink, sorted_ = style.text_color(ax), self.difference[np.argsort(-self._gain, kind="stable")]
        n, losses_start = len(sorted_), self.wins + self.ties
        self.gains_ = _bars(ax, sorted_, 0, self.wins, {"color": style.COLORS[0]})
        hatched = {"facecolor": "none", "edgecolor": style.COLORS[1], "hatch": "////", "linewidth": 0.8}
        self.losses_ = _bars(ax, sorted_, losses_start, n, hatched)
        zero = ax.axhline(0, color=ink, linewidth=0.9)
        self.line_ = ax.axhline(self.mean, color=ink, linewidth=1.4, linestyle=(0, (5, 1.5)))
        self.band_ = ax.axhspan(self.low, self.high, color=ink, alpha=style.BAND, linewidth=0)
        ax.set_xlim(0, max(1, n))
        style.whole_numbers(ax.xaxis)
        style.grid(ax, "y")
        left_out = f"; {self.n_undefined:,} left out" if self.n_undefined else ""
        style.label_axes(
            ax,
            f"{style.n_queries_text((n, n))}, largest gain to largest loss{left_out}",
            f"difference in {self.metric},\n{style.shorten(self.model, 18)} - {style.shorten(self.baseline, 18)}",
        )
        self.legend_ = style.legend(ax, [self.gains_, zero, self.losses_, self.line_, self.band_], self._names())

    def _names(self) -> list[str]:
        return [
            f"{self.wins:,} gain",
            f"{self.ties:,} tied",
            f"{self.losses:,} lose",
            f"{'weighted ' if self.weighted else ''}mean {self.mean:+.4f}",
            f"{100 * self.confidence:g}% [{self.low:+.4f}, {self.high:+.4f}]",
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
