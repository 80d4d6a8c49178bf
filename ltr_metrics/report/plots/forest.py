"""Forest plots: points with intervals, one row below the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ltr_metrics.analysis.alignment import name_in
from ltr_metrics.analysis.comparison import Comparison, shown_row
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import counting, mean_interval
from ltr_metrics.evaluation.ranges import possible_values, range_of, within
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots import style
from ltr_metrics.report.plots.style import Display, of_comparison

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


@dataclass(eq=False, kw_only=True)
class ForestDisplay(Display):
    """Points with intervals, one row below the other."""

    SHOWS_DIFFERENCES: ClassVar[bool] = False  # with a line at zero

    rows: list[Row]
    confidence: float
    weighted: bool = False

    @property
    def size(self) -> tuple[float, float]:
        legend = style.legend_height(self._names()) if len(self._names()) > 1 else 0
        return style.WIDTH, MARGIN + legend + len(self.rows) * self._row_height

    def _kind(self) -> str:
        what = "differences" if self.SHOWS_DIFFERENCES else self._label()
        return f"{what} of {', '.join(sorted(row.label for row in self.rows))}"

    @abstractmethod
    def _label(self) -> str:
        """Return the label of the horizontal axis."""

    @property
    def _mean(self) -> str:
        """The description of the values and of their intervals."""
        return f"{'weighted ' if self.weighted else ''}mean over queries"

    def _draw(self, ax: Any, series: style.Series, line_kw: dict[str, Any]) -> None:
        """Draw the rows from the top down, those of later figures below, and of differences a line at zero."""
        from matplotlib.ticker import MaxNLocator

        if not series.n_earlier:
            ax.ltr_rows, ax.ltr_n_first = [row.label for row in self.rows], len(self._series())
            self._label_rows(ax)
            # Aligned right, so that it can extend below the row labels.
            ax.set_xlabel(self._label(), loc="right", **style.NO_TEX)
        spread = POINT / self._row_height  # between the points of a row, in units of the row height
        rows = sorted(self.rows, key=lambda row: ax.ltr_rows.index(row.label))  # as those of the first figure
        self.points_, self.intervals_ = {}, {}
        for i, name in enumerate(self._series()):
            look = series.look(i + self.SHOWS_DIFFERENCES, line_kw)
            y = np.arange(len(rows)) + (series.n_earlier + i - (ax.ltr_n_first - 1) / 2) * spread
            value, low, high = np.array([row.points.get(name, Point(np.nan, np.nan, np.nan)) for row in rows]).T
            has_interval = ~np.isnan(value + low + high)
            self.intervals_[name] = ax.hlines(
                y[has_interval], low[has_interval], high[has_interval], color=look.color, linewidth=1.6
            )
            marks = {"color": look.color, "marker": look.marker, "linestyle": "none", "markersize": 5.5} | line_kw
            self.points_[name] = series.add(ax.plot(value, y, **marks)[0], name)
        if self.SHOWS_DIFFERENCES:
            ax.axvline(0, color=style.text_color(ax), linewidth=0.9, zorder=1)
            ax.update_datalim([(0, 0)], updatey=False)  # so that zero is not at the edge
            ax.autoscale_view(scaley=False)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5))

    def _label_rows(self, ax: Any) -> None:
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        counts = [style.n_queries_text(row.n_queries) for row in self.rows]
        labels = [f"{label}\n{n_queries}" for label, n_queries in zip(self._row_labels(), counts, strict=True)]
        ax.set_yticks(range(len(labels)), labels, **style.NO_TEX)
        ax.tick_params("y", length=0)
        style.grid(ax, "x")
        for i in range(1, len(self.rows) if len(self._series()) > 2 else 0):
            ax.axhline(i - 0.5, color=style.text_color(ax), alpha=0.15, linewidth=0.7)
        ax.spines["left"].set_visible(False)

    def _series(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in row.points))

    def _row_labels(self) -> list[str]:
        return list(map(style.wrapped, style.distinct_labels([row.label for row in self.rows], style.LABEL_WIDTH)))

    @property
    def _row_height(self) -> float:
        n_lines = max(label.count("\n") + 2 for label in self._row_labels())
        return GAP + max(LINE * n_lines, POINT * len(self._series()))


@dataclass(eq=False, kw_only=True)
class ComparisonDisplay(ForestDisplay):
    """Differences of all models to the baseline in all metrics, with intervals and a line at zero.

    Create it with `from_comparison`.

    Parameters
    ----------
    rows : list of Row
        One per metric: ``label``, ``n_queries`` (smallest and largest number) and ``points`` by
        model.
    confidence : float
        Confidence level of the intervals, which are not corrected for the number of models.
    weighted : bool, default False
        Whether the means are weighted.
    interval : str
        The method of the intervals.
    baseline : str, optional
        Name of the baseline; None for all pairs of models.

    Attributes
    ----------
    points_ : dict of str to Line2D
        By model, or by pair.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    intervals_ : dict of str to LineCollection
        By model, or by pair.
    legend_ : Legend or None
        None for one model.

    See Also
    --------
    ltr_metrics.compare : Make the comparison.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import ComparisonDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> display = ComparisonDisplay.from_comparison(comparison)
    >>> display.rows[1].points["new"].value == comparison["map"].difference
    True
    >>> display.plot().figure_.savefig("comparison.svg")  # doctest: +SKIP
    """

    SHOWS_DIFFERENCES: ClassVar[bool] = True

    baseline: str | None = None

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metrics: Iterable[str | Metric] | str | Metric | None = None
    ) -> ComparisonDisplay:
        """Collect all metrics of a comparison, or some.

        They share one axis, so choose metrics of a similar scale.

        Parameters
        ----------
        comparison : Comparison
            The result of `ltr_metrics.compare`.
        metrics : str, Metric, or several of them, optional
            Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is all metrics of
            the comparison.

        Returns
        -------
        ComparisonDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If there is no metric to draw, or a metric was not compared.
        """
        chosen = [metrics] if isinstance(metrics, (str, Metric)) else comparison.metrics if metrics is None else metrics
        rows = []
        for metric in chosen:
            name = name_in(comparison.first, metric)
            results = [row for row in comparison.rows if row.metric == name]
            points, counts = {}, [row.n_queries for row in results]
            for row in (shown_row(comparison, row) for row in results):
                pair = row.model if comparison.baseline else f"{row.model} - {row.baseline}"
                points[pair] = Point(row.difference, row.ci_low, row.ci_high)
            rows.append(Row(name, (min(counts), max(counts)), points))
        if not rows:
            raise LtrValueError("There is no metric to draw. Name metrics of the comparison, or pass None for all.")
        return cls(rows=rows, **of_comparison(comparison))

    def _label(self) -> str:
        interval = f"{100 * self.confidence:g}% interval"
        against = "baseline" if self.baseline is None else style.shorten(self.baseline, 24)
        return f"difference, {style.model(self._series(), 24)} - {against}\n{self._mean}, {interval}"


@dataclass(eq=False, kw_only=True)
class MeansDisplay(ForestDisplay):
    """The mean of each metric with its interval, which `Evaluation.plot` draws.

    Create it with `from_result`.

    Parameters
    ----------
    rows : list of Row
        One per metric: ``label``, ``n_queries`` and ``points`` by model.
    confidence : float
        Confidence level of the intervals, by Student's t over queries or clusters.
    weighted : bool, default False
        Whether the means are weighted.

    Attributes
    ----------
    points_ : dict of str to Line2D
        By model.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    intervals_ : dict of str to LineCollection
        By model.
    legend_ : Legend or None
        None for one model.

    See Also
    --------
    ComparisonDisplay : Differences between models, whose intervals are shorter.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import MeansDisplay
    >>> result = ltr.evaluate([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], group=[2, 2], metrics=["mrr", "map"])
    >>> [(row.label, row.points[""].value) for row in MeansDisplay.from_result(result).rows]
    [('mrr', 0.75), ('map', 0.75)]
    >>> result.plot(name="new").figure_.savefig("means.svg")  # doctest: +SKIP
    """

    @classmethod
    def from_result(cls, result: Evaluation | Mapping[str, Evaluation], *, confidence: float = 0.95) -> MeansDisplay:
        """Collect the metrics of one result, or of several by name.

        Parameters
        ----------
        result : Evaluation, or mapping of str to Evaluation
            One, or several by name with the same metrics.
        confidence : float, default 0.95
            Confidence level of the intervals.

        Returns
        -------
        MeansDisplay
            Ready to plot.
        """
        results = {"": result} if isinstance(result, Evaluation) else dict(result)
        first = next(iter(results.values()))
        rows = [_row_of_means(metric, results, confidence) for metric in first]
        return cls(rows=rows, confidence=confidence, weighted=first.weight is not None)

    def _label(self) -> str:
        return f"{self._mean} with {100 * self.confidence:g}% interval"


def _row_of_means(name: str, results: Mapping[str, Evaluation], confidence: float) -> Row:
    """Return the row of a metric's means by model, with their intervals within the range of the metric."""
    points, counts = {}, []
    for model, result in results.items():
        values = result.per_query[name]
        possible = possible_values(name, values)
        mean, *ends = mean_interval(values, result.weight, confidence, result.cluster, possible)
        points[model] = Point(mean, *within(ends, range_of(name, values)).tolist())
        counts.append(int(counting(values, result.weight).sum()))
    return Row(name, (min(counts), max(counts)), points)
