"""A metric over the cutoff."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.plain import none_if_nan
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
    counted,
    grid,
    ink_of,
    label_axes,
    legend,
    series,
    shown,
    whole_numbers,
)

_WITH_CUTOFF = re.compile(r"(.+)@(\d+)")
MOST_MARKED = 25  # cutoffs
CROWD = 3  # models; the bands of more are fainter
UNEVEN = 5  # ratio of the largest gap between cutoffs to the smallest from which the axis is logarithmic


class Curve(NamedTuple):
    """Mean and interval at each cutoff."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(eq=False, kw_only=True)
class MetricOverKDisplay(LinesDisplay):
    """A metric, or its difference to a baseline, over the cutoff k, with the interval at each.

    Make it with `from_result`, `from_comparison` or `from_scores`.

    Parameters
    ----------
    metric : str
        The metric without its cutoff.
    k : ndarray of int
        Cutoffs, ascending.
    curves : dict of str to Curve
        ``mean``, ``low`` and ``high`` of each model.
    n_queries : tuple of int
        The fewest and the most queries that a mean is over.
    confidence : float
        Of the intervals, each of which is for its cutoff alone.
    baseline : str, optional
        What the differences are to; None for the metric itself.
    weighted : bool, default False
        Whether means are weighted.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
    bands_ : dict of str to PolyCollection
    legend_ : Legend

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import MetricOverKDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=100, random_state=0)
    >>> queries = ltr.Queries(y, qid=qid)
    >>> shown = MetricOverKDisplay.from_scores(queries, {"first": X[:, 0], "second": X[:, 1]}, "ndcg", k=range(1, 11))
    >>> shown.metric, len(shown.curves["first"].mean)
    ('ndcg_exp', 10)
    >>> shown.plot().figure_.savefig("over_k.svg")  # doctest: +SKIP
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
        """Take all metrics of a result that are this one at some cutoff.

        Parameters
        ----------
        result : Evaluation, or mapping of str to Evaluation
            One, or several by name.
        metric : str or Metric
            With or without a cutoff: ``"ndcg"``, ``"ndcg@10"``.
        confidence : float, default 0.95
            Of the interval of each mean, by Student's t over queries.

        Raises
        ------
        LtrValueError
            If there are fewer than two cutoffs, or other ones for other models.
        """
        results = {"": result} if isinstance(result, Evaluation) else dict(result)
        if not results:
            raise LtrValueError("There is no result to draw. Pass one, or several by name.")
        family, names = cutoffs_of(next(iter(results.values())), metric)
        curves, counts = {}, []
        for model, of_model in results.items():
            _, found = cutoffs_of(of_model, metric)
            if found != names:
                raise LtrValueError(
                    f"All models must have {family} at the same cutoffs: {next(iter(results))!r} has {list(names)}, {model!r} has "
                    f"{list(found)}. Evaluate them with the same metrics."
                )
            values = [of_model.per_query[name] for name in names.values()]
            intervals = [mean_interval(of_k, of_model.weight, confidence) for of_k in values]
            counts += [int(counting(of_k, of_model.weight).sum()) for of_k in values]
            curves[model] = Curve(*np.array(intervals).T)
        weighted = any(one.weight is not None for one in results.values())
        span = (min(counts), max(counts))
        return cls(
            metric=family,
            k=np.array(list(names)),
            curves=curves,
            n_queries=span,
            confidence=confidence,
            weighted=weighted,
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
        """Evaluate models, given as one score a row each, at these cutoffs; ``options`` are those of `Queries.evaluate`."""
        if isinstance(metric, str):
            metrics: list[Any] = [f"{_without_cutoff(metric)}@{one}" for one in k]
        else:
            metrics = [replace(metric, k=one) for one in k]
        results = {model: queries.evaluate(of_model, metrics, **options) for model, of_model in scores.items()}
        if not results or not metrics:
            raise LtrValueError("There is nothing to draw: pass the scores of one model or more, and cutoffs k.")
        return cls.from_result(results, next(iter(next(iter(results.values())).mean)), confidence=confidence)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, metric: str | Metric, *, difference: bool = False
    ) -> MetricOverKDisplay:
        """Take all models of a comparison, at its confidence; with ``difference`` their differences to the baseline."""
        confidence = comparison.settings.confidence
        if not difference:
            return cls.from_result(comparison.evaluations, metric, confidence=confidence)
        family, names = cutoffs_of(comparison.evaluations[comparison.baseline], metric)
        rows = {model: [comparison[name, model] for name in names.values()] for model in comparison.models}
        counts = [row.n_queries for of_model in rows.values() for row in of_model]
        return cls(
            metric=family,
            k=np.array(list(names)),
            curves={
                model: Curve(*np.array([(row.difference, row.ci_low, row.ci_high) for row in of_model]).T)
                for model, of_model in rows.items()
            },
            n_queries=(min(counts), max(counts)),
            confidence=confidence,
            baseline=comparison.baseline,
            weighted=comparison.weight is not None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON; NaN is None."""
        return {
            "metric": self.metric,
            "k": self.k.tolist(),
            "n_queries": self.n_queries[1],
            "n_queries_fewest": self.n_queries[0],
            "confidence": self.confidence,
            "baseline": self.baseline,
            "weighted": self.weighted,
            "models": {
                model: {name: [none_if_nan(v) for v in values.tolist()] for name, values in curve._asdict().items()}
                for model, curve in self.curves.items()
            },
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> MetricOverKDisplay:
        """Return the display that `to_dict` wrote."""
        return cls(
            metric=found["metric"],
            k=np.array(found["k"], dtype=np.intp),
            curves={
                model: Curve(*(np.array(curve[name], dtype=np.float64) for name in Curve._fields))
                for model, curve in found["models"].items()
            },
            n_queries=(found.get("n_queries_fewest", found["n_queries"]), found["n_queries"]),
            confidence=found["confidence"],
            baseline=found.get("baseline"),
            weighted=found.get("weighted", False),
        )

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_ = {}, {}
        opacity = BAND * min(1, CROWD / len(self.curves))
        for i, (model, curve) in enumerate(self.curves.items()):
            look = series(i + (self.baseline is not None))
            of_band = {"color": look.color, "alpha": opacity, "linewidth": 0} | band_kw
            self.bands_[model] = ax.fill_between(self.k, curve.low, curve.high, **of_band)
            of_line = look._asdict() | {"markersize": 4.5, "markevery": max(1, len(self.k) // MOST_MARKED)}
            (self.lines_[model],) = ax.plot(self.k, curve.mean, label=shown(model), **of_line | line_kw)
        if self.baseline is not None:
            ax.axhline(0, color=ink_of(ax), linewidth=0.9)
        self._scale(ax)
        grid(ax)
        label_axes(ax, *self._labels())
        patch = ax.fill_between([], [], [], color=ink_of(ax), alpha=BAND, linewidth=0)
        named = [line for model, line in self.lines_.items() if model]
        self.legend_ = legend(ax, [*named, patch], self._names())

    def _names(self) -> list[str]:
        return [*(model for model in self.curves if model), f"{100 * self.confidence:g}% interval"]

    def _labels(self) -> tuple[str, str]:
        mean = f"{'weighted ' if self.weighted else ''}mean over {counted(self.n_queries)}"
        if self.baseline is None:
            return "cutoff k", f"{self.metric}@k, {mean}"
        model = shown(next(iter(self.curves)), 18) if len(self.curves) == 1 else "model"
        return "cutoff k", f"difference in {self.metric}@k,\n{model} - {shown(self.baseline, 18)}, {mean}"

    def _scale(self, ax: Any) -> None:
        """Mark whole cutoffs only; where they lie unevenly, all of them on a logarithmic axis."""
        gaps = np.diff(self.k)
        if len(gaps) and gaps.max() > UNEVEN * gaps.min():
            ax.set_xscale("log")
            ax.set_xticks(self.k, [f"{k:,}" for k in self.k.tolist()], **PLAIN)
            ax.minorticks_off()
        else:
            whole_numbers(ax.xaxis)


def cutoffs_of(result: Evaluation, metric: str | Metric) -> tuple[str, dict[int, str]]:
    """Return a metric's name without cutoff, and the names of all metrics that differ from it in the cutoff alone, by cutoff."""
    families: dict[str, dict[int, str]] = {}
    for name in result.per_query:
        if found := _WITH_CUTOFF.fullmatch(name):
            families.setdefault(found[1], {})[int(found[2])] = name
    family = _family(result.per_query, metric)
    if family not in families:
        known = ", ".join(families) or "none"
        raise LtrKeyError(f"{str(metric)!r} was not evaluated at a cutoff. Metrics with cutoffs here: {known}.")
    if len(families[family]) < 2:
        raise LtrValueError(
            f"A curve needs two cutoffs or more, and {family} was evaluated at one. Evaluate with "
            f'metrics=[f"{family}@{{k}}" for k in range(1, 21)].'
        )
    return family, dict(sorted(families[family].items()))


def _family(values: ByMetric[FloatArray], metric: str | Metric) -> str:
    known = {_without_cutoff(name) for name in values}
    if (family := _without_cutoff(values.canonical(metric))) in known:
        return family
    return {_without_cutoff(asked): _without_cutoff(name) for asked, name in values.asked.items()}.get(family, family)


def _without_cutoff(name: str) -> str:
    found = _WITH_CUTOFF.fullmatch(name)
    return found[1] if found else name
