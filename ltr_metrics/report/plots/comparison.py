"""Forest plot of all differences of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ltr_metrics._engine.words import Interval
from ltr_metrics.analysis.alignment import name_in
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.settings import INTERVALS
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.forest import ForestDisplay, Point, Row
from ltr_metrics.report.plots.style import shorten


@dataclass(eq=False, kw_only=True)
class ComparisonDisplay(ForestDisplay):
    """Differences of all models to the baseline in all metrics, with intervals and a line at zero.

    Create it with `from_comparison`.

    Parameters
    ----------
    rows : list of Row
        One per metric: ``label``, ``n_queries`` (smallest and largest number) and ``points`` by
        model.
    baseline : str or None
        Name of the baseline; None for all pairs of models.
    confidence : float
        Confidence level of the intervals, which are not corrected for the number of models.
    interval : str
        The method of the intervals.
    weighted : bool, default False
        Whether the means are weighted.

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
    DifferencesDisplay : The queries of one metric.

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

    rows: list[Row]
    baseline: str | None
    confidence: float
    interval: Interval
    weighted: bool = False

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
            counts = [row.n_queries for row in results]
            points = {
                row.model if comparison.baseline else f"{row.model} - {row.baseline}": Point(
                    row.difference, row.ci_low, row.ci_high
                )
                for row in results
            }
            rows.append(Row(results[0].metric, (min(counts), max(counts)), points))
        if not rows:
            raise LtrValueError("There is no metric to draw. Name metrics of the comparison, or pass None for all.")
        return cls(
            rows=rows,
            baseline=comparison.baseline,
            confidence=comparison.settings.confidence,
            interval=comparison.settings.interval,
            weighted=comparison.weight is not None,
        )

    @property
    def _has_zero(self) -> bool:
        return True

    def _label(self) -> str:
        models = list(self.rows[0].points)
        model = shorten(models[0], 24) if len(models) == 1 else "model"
        mean = f"{'weighted ' if self.weighted else ''}mean over queries"
        interval = f"{100 * self.confidence:g}% interval\n({INTERVALS[self.interval]})"
        against = "baseline" if self.baseline is None else shorten(self.baseline, 24)
        return f"difference, {model} - {against}\n{mean}, {interval}"
