"""Forest plot of a metric, or of a difference, by segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltr_metrics._engine.plain import segment_title
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import counting, mean_interval
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.segments import iter_segments
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.forest import ForestDisplay, Point, Row
from ltr_metrics.report.plots.style import shorten, text_color, wrapped

NO_SEGMENTS = "There are no segments to draw. Evaluate or compare with by=."


@dataclass(eq=False, kw_only=True)
class SegmentsDisplay(ForestDisplay):
    """The mean of a metric, or of its difference to a baseline, in each segment, with intervals.

    The last row is for all queries. Intervals are not corrected for the number of segments.

    Create it with `from_result` or `from_comparison`.

    Parameters
    ----------
    rows : list of Row
        ``label``, ``n_queries`` (smallest and largest number) and ``points`` by model. The last is
        for all queries.
    metric : str
        Canonical name of the metric.
    confidence : float
        Confidence level of the intervals.
    baseline : str, optional
        The baseline of the differences, or None for the metric itself.
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
    ltr_metrics.evaluate : The option ``by`` passes the segments.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import SegmentsDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> market = ["de", "fr", "it"] * 20
    >>> result = ltr.evaluate(y, X[:, 0], qid=qid, metrics="precision@5", by=market)
    >>> display = SegmentsDisplay.from_result(result, "precision@5")
    >>> [(row.label, row.n_queries[0]) for row in display.rows]
    [('de', 20), ('fr', 20), ('it', 20), ('all queries', 60)]
    >>> scores = {"base": X[:, 0], "new": X[:, 0] + X[:, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics="precision@5", by=market)
    >>> SegmentsDisplay.from_comparison(comparison, "precision@5").baseline
    'base'
    >>> display.plot().figure_.savefig("segments.svg")  # doctest: +SKIP
    """

    rows: list[Row]
    metric: str
    confidence: float
    baseline: str | None = None
    weighted: bool = False

    @classmethod
    def from_result(
        cls, result: Evaluation | Mapping[str, Evaluation], metric: str | Metric, *, confidence: float = 0.95
    ) -> SegmentsDisplay:
        """Collect the segments of one result, or of several by name.

        Parameters
        ----------
        result : Evaluation, or mapping of str to Evaluation
            One, or several by name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the interval of each mean, by Student's t over the queries or
            clusters of the segment. A segment of a single one has no interval.

        Returns
        -------
        SegmentsDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError
            If there are no segments.
        """
        results = {"": result} if isinstance(result, Evaluation) else dict(result)
        parts: dict[str, dict[str, Evaluation]] = {}
        for model, evaluation in results.items():
            for segmentation, segment, part in iter_segments(evaluation.segments, evaluation.by):
                parts.setdefault(segment_title(segmentation, segment), {})[model] = part
        if not parts:
            raise LtrValueError(NO_SEGMENTS)
        parts["all queries"] = results
        first = next(iter(results.values()))
        name = first.per_query.canonical(metric)
        rows = []
        for label, part_results in parts.items():
            counts = [int(counting(part.per_query[name], part.weight).sum()) for part in part_results.values()]
            points = {
                model: Point(*mean_interval(part.per_query[name], part.weight, confidence, part.cluster))
                for model, part in part_results.items()
            }
            rows.append(Row(label, (min(counts), max(counts)), points))
        return cls(rows=rows, metric=name, confidence=confidence, weighted=first.weight is not None)

    @classmethod
    def from_comparison(cls, comparison: Comparison, metric: str | Metric, model: str | None = None) -> SegmentsDisplay:
        """Collect the differences of one model in each segment, or of all models.

        Parameters
        ----------
        comparison : Comparison
            The result of `ltr_metrics.compare` with the option ``by``.
        metric : str or Metric
            One metric, by name or as an object.
        model : str, optional
            Name of the model. The default is all models.

        Returns
        -------
        SegmentsDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If there are no segments, the metric was not compared, or there is no such model.
        """
        models = comparison.models if model is None else [comparison[metric, model].model]
        name = comparison[metric, models[0]].metric
        parts = [(segment_title(of, label), part) for of, label, part in comparison.segments()]
        if not parts:
            raise LtrValueError(NO_SEGMENTS)
        rows = []
        for label, part in [*parts, ("all queries", comparison)]:
            results = {one: part[name, one] for one in models}
            counts = [row.n_queries for row in results.values()]
            points = {one: Point(row.difference, row.ci_low, row.ci_high) for one, row in results.items()}
            rows.append(Row(label, (min(counts), max(counts)), points))
        return cls(
            rows=rows,
            metric=name,
            confidence=comparison.settings.confidence,
            baseline=comparison.baseline,
            weighted=comparison.weight is not None,
        )

    def _draw_points(self, ax: Any) -> None:
        super()._draw_points(ax)
        if len(self.rows) > 1:  # a line above the row of all queries
            ax.axhline(len(self.rows) - 1.5, color=text_color(ax), linewidth=0.7, linestyle=(0, (2, 2)))

    def _label(self) -> str:
        mean = f"{'weighted ' if self.weighted else ''}mean over queries with {100 * self.confidence:g}% interval"
        if self.baseline is None:
            return wrapped(f"{self.metric}, {mean}", 60)
        models = list(self.rows[-1].points)
        model = shorten(models[0], 24) if len(models) == 1 else "model"
        return f"difference in {self.metric}, {model} - {shorten(self.baseline, 24)},\n{mean}"
