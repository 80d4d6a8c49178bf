"""A metric, or a difference, by segment."""

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
from ltr_metrics.report.plots.display import ForestDisplay
from ltr_metrics.report.plots.forest import Drawn, Point, Row, draw_forest
from ltr_metrics.report.plots.style import shown, wrapped

WITHOUT = "There are no segments to draw. Evaluate, or compare, with by=."


@dataclass(eq=False, kw_only=True)
class SegmentsDisplay(ForestDisplay):
    """The mean of a metric, or of its difference to a baseline, in each segment of the queries, with intervals; all queries last.

    Intervals are not corrected for the number of segments.

    Make it with `from_result` or `from_comparison`.

    Parameters
    ----------
    rows : list of Row
        ``label``, ``n_queries`` (fewest and most) and ``points`` by model; the last is of all queries.
    metric : str
    confidence : float
        Of the intervals.
    baseline : str, optional
        What the differences are to; None for the metric itself.
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
    >>> from ltr_metrics.report import SegmentsDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> market = ["de", "fr", "it"] * 20
    >>> result = ltr.evaluate(y, X[:, 0], qid=qid, metrics="precision@5", by=market)
    >>> shown = SegmentsDisplay.from_result(result, "precision@5")
    >>> [(row.label, row.n_queries[0]) for row in shown.rows]
    [('de', 20), ('fr', 20), ('it', 20), ('all queries', 60)]
    >>> shown.plot().figure_.savefig("segments.svg")  # doctest: +SKIP
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
        """Take the segments of one result, or of several by name.

        Parameters
        ----------
        result : Evaluation, or mapping of str to Evaluation
        metric : str or Metric
        confidence : float, default 0.95
            Of the interval of each mean, by Student's t over the segment's queries; one of a single query has none.

        Raises
        ------
        LtrValueError
            If there are no segments.
        """
        results = {"": result} if isinstance(result, Evaluation) else dict(result)
        parts: dict[str, dict[str, Evaluation]] = {}
        for model, of_model in results.items():
            for name_of, segment, part in iter_segments(of_model.segments, of_model.by):
                label = segment_title(name_of, segment)
                parts.setdefault(label, {})[model] = part
        if not parts:
            raise LtrValueError(WITHOUT)
        parts["all queries"] = results
        first = next(iter(results.values()))
        name = first.per_query.canonical(metric)
        rows = []
        for label, of_part in parts.items():
            found = {
                model: (
                    mean_interval(one.per_query[name], one.weight, confidence),
                    counting(one.per_query[name], one.weight),
                )
                for model, one in of_part.items()
            }
            counts = [int(counted.sum()) for _, counted in found.values()]
            rows.append(Row(label, (min(counts), max(counts)), {model: Point(*v) for model, (v, _) in found.items()}))
        return cls(rows=rows, metric=name, confidence=confidence, weighted=first.weight is not None)

    @classmethod
    def from_comparison(cls, comparison: Comparison, metric: str | Metric, model: str | None = None) -> SegmentsDisplay:
        """Take the differences of one model in each segment, or of all models."""
        models = comparison.models if model is None else [comparison[metric, model].model]
        name = comparison[metric, models[0]].metric
        parts = [(segment_title(of, label), part) for of, label, part in comparison.segments()]
        if not parts:
            raise LtrValueError(WITHOUT)
        rows = []
        for label, part in [*parts, ("all queries", comparison)]:
            found = {one: part[name, one] for one in models}
            counts = [row.n_queries for row in found.values()]
            points = {one: Point(row.difference, row.ci_low, row.ci_high) for one, row in found.items()}
            rows.append(Row(label, (min(counts), max(counts)), points))
        return cls(
            rows=rows,
            metric=name,
            confidence=comparison.settings.confidence,
            baseline=comparison.baseline,
            weighted=comparison.weight is not None,
        )

    def _draw(self, ax: Any) -> Drawn:
        return draw_forest(ax, self.rows, self._label(), zero=self.baseline is not None, last_apart=True)

    def _label(self) -> str:
        mean = f"{'weighted ' if self.weighted else ''}mean over queries with {100 * self.confidence:g}% interval"
        if self.baseline is None:
            return wrapped(f"{self.metric}, {mean}", 60)
        models = list(self.rows[-1].points)
        model = shown(models[0], 24) if len(models) == 1 else "model"
        return f"difference in {self.metric}, {model} - {shown(self.baseline, 24)},\n{mean}"
