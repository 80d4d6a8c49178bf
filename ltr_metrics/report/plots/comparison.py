"""All differences of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ltr_metrics._engine.words import Interval
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.comparison.table import INTERVALS
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.display import ForestDisplay
from ltr_metrics.report.plots.forest import Drawn, Point, Row, draw_forest
from ltr_metrics.report.plots.style import shown


@dataclass(eq=False, kw_only=True)
class ComparisonDisplay(ForestDisplay):
    """The differences of all models to the baseline in all metrics, with intervals and a line at zero.

    Make it with `from_comparison`.

    Parameters
    ----------
    rows : list of Row
        One a metric: ``label``, ``n_queries`` (fewest and most) and ``points`` by model.
    baseline : str
    confidence : float
        Of the intervals, which are not corrected for the number of models.
    interval : str
        How the intervals were made.
    weighted : bool, default False
        Whether means are weighted.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of str to Line2D
        By model.
    intervals_ : dict of str to LineCollection
    legend_ : Legend, or None for one model

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import ComparisonDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> shown = ComparisonDisplay.from_comparison(comparison)
    >>> shown.rows[1].points["new"].value == comparison["map"].difference
    True
    >>> shown.plot().figure_.savefig("comparison.svg")  # doctest: +SKIP
    """

    rows: list[Row]
    baseline: str
    confidence: float
    interval: Interval
    weighted: bool = False

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metrics: Iterable[str | Metric] | str | Metric | None = None
    ) -> ComparisonDisplay:
        """Take some metrics of a comparison, or all: they share one axis, so metrics of one scale look best together."""
        chosen = [metrics] if isinstance(metrics, (str, Metric)) else comparison.metrics if metrics is None else metrics
        rows = []
        for metric in chosen:
            found = [comparison[metric, model] for model in comparison.models]
            counts = [row.n_queries for row in found]
            points = {row.model: Point(row.difference, row.ci_low, row.ci_high) for row in found}
            rows.append(Row(found[0].metric, (min(counts), max(counts)), points))
        if not rows:
            raise LtrValueError("There is no metric to draw. Name some of the comparison's, or none for all.")
        return cls(
            rows=rows,
            baseline=comparison.baseline,
            confidence=comparison.settings.confidence,
            interval=comparison.settings.interval,
            weighted=comparison.weight is not None,
        )

    def _draw(self, ax: Any) -> Drawn:
        return draw_forest(ax, self.rows, self._label(), zero=True)

    def _label(self) -> str:
        models = list(self.rows[0].points)
        model = shown(models[0], 24) if len(models) == 1 else "model"
        mean = f"{'weighted ' if self.weighted else ''}mean over queries"
        level, how = f"{100 * self.confidence:g}%", INTERVALS[self.interval]
        return f"difference, {model} - {shown(self.baseline, 24)}\n{mean}, {level} interval\n({how})"
