"""A metric by cutoff."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.errors import LtrKeyError, LtrValueError
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import counting, mean_interval
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.report.plots.display import LinesDisplay
from ltr_metrics.report.plots.style import (
    BAND,
    PLAIN,
    grid,
    label_axes,
    legend,
    n_queries_text,
    series_style,
    shorten,
    text_color,
    whole_numbers,
)

_WITH_CUTOFF = re.compile(r"(.+)@(\d+)")
MAX_MARKERS = 25  # about as many cutoffs have a marker
FULL_OPACITY = 3  # the bands of more models than this are fainter
UNEVEN_RATIO = 5  # the axis is logarithmic if the largest gap between cutoffs exceeds the smallest by this factor


class Curve(NamedTuple):
    """Mean and interval at each cutoff."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(eq=False, kw_only=True)
class MetricOverKDisplay(LinesDisplay):
    """A metric, or its difference to a baseline, by cutoff k, with an interval at each.

    Create it with `from_result`, `from_comparison` or `from_scores`.

    Parameters
    ----------
    metric : str
        The metric without its cutoff.
    k : ndarray of int
        Cutoffs, ascending.
    curves : dict of str to Curve
        ``mean``, ``low`` and ``high`` of each model.
    n_queries : tuple of int
        The smallest and the largest number of queries in a mean.
    confidence : float
        Confidence level of the intervals, each for its own cutoff.
    baseline : str, optional
        The baseline of the differences, or None for the metric itself.
    weighted : bool, default False
        Whether the means are weighted.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        The means, by model.
    bands_ : dict of str to PolyCollection
        The intervals, by model.
    legend_ : Legend
        The legend.

    See Also
    --------
    ltr_metrics.evaluate : Evaluate a metric at several cutoffs.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import MetricOverKDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=100, random_state=0)
    >>> queries = ltr.Queries(y, qid=qid)
    >>> scores = {"first": X[:, 0], "second": X[:, 1]}
    >>> display = MetricOverKDisplay.from_scores(queries, scores, "ndcg", k=range(1, 11))
    >>> display.metric, len(display.curves["first"].mean)
    ('ndcg_exp', 10)
    >>> result = queries.evaluate(X[:, 0], ["ndcg@5", "ndcg@10"])
    >>> MetricOverKDisplay.from_result(result, "ndcg").k
    array([ 5, 10])
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics=["ndcg@5", "ndcg@10"])
    >>> list(MetricOverKDisplay.from_comparison(comparison, "ndcg", difference=True).curves)
    ['second']
    >>> display.plot().figure_.savefig("over_k.svg")  # doctest: +SKIP
    """

    metric: str
    k: IntArray
    curves: dict[str, Curve]
    n_queries: tuple[int, int]
    confidence: float
    baseline: str | None = None
    weighted: bool = False

    @classmethod
    def from_result(
        cls, result: Evaluation | Mapping[str, Evaluation], metric: str | Metric, *, confidence: float = 0.95
    ) -> MetricOverKDisplay:
        """Collect the values of a metric at all cutoffs of a result.

        Parameters
        ----------
        result : Evaluation, or mapping of str to Evaluation
            One, or several by name.
        metric : str or Metric
            One metric, by name or as an object. Its cutoff does not matter: ``"ndcg"``,
            ``"ndcg@10"``.
        confidence : float, default 0.95
            Confidence level of the interval of each mean, by Student's t over queries or clusters.

        Returns
        -------
        MetricOverKDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If there are fewer than two cutoffs, or if the models have different ones.
        """
        results = {"": result} if isinstance(result, Evaluation) else dict(result)
        if not results:
            raise LtrValueError("There is no result to draw. Pass one, or several by name.")
        family, names = cutoffs_of(next(iter(results.values())), metric)
        curves, counts = {}, []
        for model, evaluation in results.items():
            _, model_names = cutoffs_of(evaluation, metric)
            if model_names != names:
                raise LtrValueError(
                    f"All models must have {family} at the same cutoffs: {next(iter(results))!r} has "
                    f"{list(names)}, {model!r} "
                    f"has {list(model_names)}. Evaluate them with the same metrics."
                )
            weight, columns = evaluation.weight, [evaluation.per_query[name] for name in names.values()]
            intervals = [mean_interval(values, weight, confidence, evaluation.cluster) for values in columns]
            counts += [int(counting(values, weight).sum()) for values in columns]
            curves[model] = Curve(*np.array(intervals).T)
        return cls(
            metric=family,
            k=np.array(list(names)),
            curves=curves,
            n_queries=(min(counts), max(counts)),
            confidence=confidence,
            weighted=any(evaluation.weight is not None for evaluation in results.values()),
        )

    @classmethod
    def from_scores(
        cls,
        queries: Queries,
        scores: Mapping[str, Any],
        metric: str | RankMetric,
        *,
        k: Sequence[int] = range(1, 21),
        confidence: float = 0.95,
        **options: Any,
    ) -> MetricOverKDisplay:
        """Evaluate the scores of models at many cutoffs.

        Parameters
        ----------
        queries : Queries
            The labels.
        scores : mapping of str to array-like of shape (n_rows,)
            The score vector of each model, by name.
        metric : str or RankMetric
            One metric, by name or as an object. Its cutoff does not matter.
        k : sequence of int, default 1 to 20
            Cutoffs.
        confidence : float, default 0.95
            Confidence level of the interval of each mean, by Student's t over queries or clusters.
        **options
            Options of `ltr_metrics.Queries.evaluate`.

        Returns
        -------
        MetricOverKDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrTypeError
            If there is no model or no cutoff, or as for `ltr_metrics.evaluate`.
        """
        if isinstance(metric, str):
            metrics: list[Any] = [f"{_without_cutoff(metric)}@{one}" for one in k]
        else:
            metrics = [replace(metric, k=one) for one in k]
        results = {model: queries.evaluate(column, metrics, **options) for model, column in scores.items()}
        if not results or not metrics:
            raise LtrValueError("There is nothing to draw: pass the scores of at least one model, and cutoffs k.")
        return cls.from_result(results, next(iter(next(iter(results.values())).mean)), confidence=confidence)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metric: str | Metric, *, difference: bool = False
    ) -> MetricOverKDisplay:
        """Collect a metric of all models of a comparison at all cutoffs, or its differences.

        Parameters
        ----------
        comparison : Comparison
            The result of `ltr_metrics.compare`.
        metric : str or Metric
            One metric, by name or as an object. Its cutoff does not matter.
        difference : bool, default False
            Whether to show the differences to the baseline.

        Returns
        -------
        MetricOverKDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If the metric was compared at fewer than two cutoffs.
        """
        confidence = comparison.settings.confidence
        if not difference:
            return cls.from_result(comparison.evaluations, metric, confidence=confidence)
        family, names = cutoffs_of(comparison.first, metric)
        rows = {model: [comparison[name, model] for name in names.values()] for model in comparison.models}
        counts = [row.n_queries for model_rows in rows.values() for row in model_rows]
        return cls(
            metric=family,
            k=np.array(list(names)),
            curves={
                model: Curve(*np.array([(row.difference, row.ci_low, row.ci_high) for row in model_rows]).T)
                for model, model_rows in rows.items()
            },
            n_queries=(min(counts), max(counts)),
            confidence=confidence,
            baseline=comparison.baseline,
            weighted=comparison.weight is not None,
        )

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_ = {}, {}
        opacity = BAND * min(1, FULL_OPACITY / len(self.curves))
        for i, (model, curve) in enumerate(self.curves.items()):
            style = series_style(i + (self.baseline is not None))
            band = {"color": style.color, "alpha": opacity, "linewidth": 0} | band_kw
            self.bands_[model] = ax.fill_between(self.k, curve.low, curve.high, **band)
            line = style._asdict() | {"markersize": 4.5, "markevery": max(1, len(self.k) // MAX_MARKERS)}
            (self.lines_[model],) = ax.plot(self.k, curve.mean, label=shorten(model), **line | line_kw)
        if self.baseline is not None:
            ax.axhline(0, color=text_color(ax), linewidth=0.9)
        self._scale(ax)
        grid(ax)
        label_axes(ax, *self._labels())
        patch = ax.fill_between([], [], [], color=text_color(ax), alpha=BAND, linewidth=0)
        named = [line for model, line in self.lines_.items() if model]
        self.legend_ = legend(ax, [*named, patch], self._names())

    def _names(self) -> list[str]:
        return [*(model for model in self.curves if model), f"{100 * self.confidence:g}% interval"]

    def _labels(self) -> tuple[str, str]:
        mean = f"{'weighted ' if self.weighted else ''}mean over {n_queries_text(self.n_queries)}"
        if self.baseline is None:
            return "cutoff k", f"{self.metric}@k, {mean}"
        model = shorten(next(iter(self.curves)), 18) if len(self.curves) == 1 else "model"
        return "cutoff k", f"difference in {self.metric}@k,\n{model} - {shorten(self.baseline, 18)}, {mean}"

    def _scale(self, ax: Any) -> None:
        """Use a logarithmic axis with a tick at every cutoff if the cutoffs are spaced unevenly."""
        gaps = np.diff(self.k)
        if len(gaps) and gaps.max() > UNEVEN_RATIO * gaps.min():
            ax.set_xscale("log")
            ax.set_xticks(self.k, [f"{k:,}" for k in self.k.tolist()], **PLAIN)
            ax.minorticks_off()
        else:
            whole_numbers(ax.xaxis)


def cutoffs_of(result: Evaluation, metric: str | Metric) -> tuple[str, dict[int, str]]:
    """Return a metric's name without its cutoff, and the names of its variants by cutoff."""
    families: dict[str, dict[int, str]] = {}
    for name in result.per_query:
        if match := _WITH_CUTOFF.fullmatch(name):
            families.setdefault(match[1], {})[int(match[2])] = name
    family = _family(result.per_query, metric)
    if family not in families:
        known = ", ".join(families) or "none"
        raise LtrKeyError(f"{str(metric)!r} was not evaluated at a cutoff. Metrics with cutoffs here: {known}.")
    if len(families[family]) < 2:
        raise LtrValueError(
            f"A curve needs two cutoffs or more, but {family} was evaluated at one. Evaluate with "
            f'metrics=[f"{family}@{{k}}" for k in range(1, 21)].'
        )
    return family, dict(sorted(families[family].items()))


def _family(values: ByMetric[FloatArray], metric: str | Metric) -> str:
    known = {_without_cutoff(name) for name in values}
    if (family := _without_cutoff(values.canonical(metric))) in known:
        return family
    return {_without_cutoff(asked): _without_cutoff(name) for asked, name in values.asked.items()}.get(family, family)


def _without_cutoff(name: str) -> str:
    match = _WITH_CUTOFF.fullmatch(name)
    return match[1] if match else name
