"""Lines with bands: a metric by cutoff, and the learning curves of a training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError
from ltr_metrics.evaluation.means import counting, mean_interval
from ltr_metrics.evaluation.ranges import Range, of_differences, possible_values, range_of, within
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.logs.training_log import PerQueryLog
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import in_lower_case
from ltr_metrics.report.plots import style
from ltr_metrics.report.plots.style import Display, of_comparison

CUTOFF = re.compile(r"@\d+$")  # at the end of a name
MAX_MARKERS = 25  # about as many cutoffs have a marker
MAX_BANDS = 2  # the means of more models have no bands
RANDOM = "random order"
PLATEAU_HEIGHT = 0.035  # height of one data set's plateau, as a share of the axes
UNEVEN_RATIO = 5  # the axis is logarithmic if the largest gap between cutoffs exceeds the smallest by this factor
EXPLAINED = ("95% interval", "best: 100", "plateau")  # of about this length, in a legend


class Curve(NamedTuple):
    """Mean and interval at each cutoff."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def within(self, of_values: Range) -> Curve:
        """Return the curve with its intervals cut off at a range."""
        return Curve(self.mean, *within([self.low, self.high], of_values))


@dataclass(eq=False, kw_only=True)
class MetricOverKDisplay(Display):
    """A metric, or its difference to a baseline, by cutoff k, with an interval at each.

    Create it with `from_result` or `from_comparison`.

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
    reference : str, optional
        Name of the model among the means that is drawn last, as a dashed line.
    chance : ndarray of float64, optional
        Mean of a random order at each cutoff.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        The means, by model.
    bands_ : dict of str to PolyCollection or LineCollection
        The intervals, by model: bands, or whiskers of the differences of several models. The means of
        more than two models have none, because all models have the same queries, so that models with
        overlapping intervals can still differ.
    labels_ : list of Annotation
        The names of the lines at their ends, if there are at most eight.
    legend_ : Legend or None
        The legend, with the lines if there are more.

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
    >>> names = [f"ndcg@{k}" for k in range(1, 11)]
    >>> results = {model: queries.evaluate(column, names) for model, column in scores.items()}
    >>> display = MetricOverKDisplay.from_result(results, "ndcg")
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

    NAMES_ENDS = True
    label = ""  # of the vertical axis, if it is not the name of the metric; no field

    metric: str
    k: IntArray
    curves: dict[str, Curve]
    n_queries: tuple[int, int]
    confidence: float
    baseline: str | None = None
    weighted: bool = False
    reference: str | None = None
    chance: FloatArray | None = None

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
            weight, columns = evaluation.weight, {name: evaluation.per_query[name] for name in names.values()}
            intervals = [
                mean_interval(values, weight, confidence, evaluation.cluster, possible_values(name, values))
                for name, values in columns.items()
            ]
            counts += [int(counting(values, weight).sum()) for values in columns.values()]
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
        if not difference:
            display = cls.from_result(comparison.evaluations, metric, confidence=comparison.settings.confidence)
            return replace(display, reference=comparison.baseline)
        family, names = cutoffs_of(comparison.first, metric)
        curves, counts = {}, []
        for model in comparison.models:
            rows = [comparison[name, model] for name in names.values()]
            curves[model] = Curve(*np.array([(row.difference, row.ci_low, row.ci_high) for row in rows]).T)
            counts += [row.n_queries for row in rows]
        return cls(
            metric=family,
            k=np.array(list(names)),
            curves=curves,
            n_queries=(min(counts), max(counts)),
            **of_comparison(comparison),
        )

    @property
    def shown(self) -> dict[str, Curve]:
        """The curves with their intervals within the range of the metric."""
        of_values = range_of(self.metric, *(curve.mean for curve in self.curves.values() if self.baseline is None))
        of_values = of_values if self.baseline is None else of_differences(of_values)
        return {model: curve.within(of_values) for model, curve in self.curves.items()}

    @property
    def has_intervals(self) -> bool:
        """Whether intervals are drawn."""
        return self.baseline is not None or len(self.curves) <= MAX_BANDS

    @property
    def has_named_ends(self) -> bool:
        """Whether the lines of a new figure are named at their ends."""
        return self._names_ends(len(self._series()))

    def _kind(self) -> str:
        return f"{'' if self.baseline is None else 'differences in '}{self.metric}@k"

    def _draw(self, ax: Any, series: style.Series, line_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_ = {}, {}
        ink = style.text_color(ax)
        for i, (model, curve) in enumerate(self.shown.items()):
            look = series.look(i + (self.baseline is not None), line_kw)
            marks = {"marker": look.marker, "markersize": 4.5, "markevery": max(1, len(self.k) // MAX_MARKERS)}
            if model == self.reference:
                look, marks = look._replace(color=ink, linestyle=style.DASHES[1]), {"zorder": 5}
            x = self.k + self._dodge(i)
            marks |= {"color": look.color, "linestyle": look.linestyle} | line_kw
            self.lines_[model] = series.add(ax.plot(x, curve.mean, **marks)[0], model)
            if self.baseline is not None and len(self.curves) > 1:
                self.lines_[model].set_linewidth(0.7)
                self.bands_[model] = ax.vlines(x, curve.low, curve.high, color=look.color, linewidth=1.4, alpha=0.75)
            elif self.has_intervals:
                band = {"color": look.color, "alpha": style.BAND, "linewidth": 0}
                self.bands_[model] = ax.fill_between(x, curve.low, curve.high, **band)
        if self.chance is not None:
            random = {"color": ink, "linestyle": style.DASHES[2], "linewidth": 1}
            self.lines_[RANDOM] = series.add(ax.plot(self.k, self.chance, **random)[0], RANDOM)
        if self.baseline is not None:
            ax.axhline(0, color=ink, linewidth=0.9)
        if not series.n_earlier:
            self._scale(ax)
            style.grid(ax)
            style.label_axes(ax, *self._labels())

    def _explained(self, ax: Any) -> list[tuple[Any, str]]:
        patch = ax.fill_between([], [], [], color=style.text_color(ax), alpha=style.BAND, linewidth=0)
        return [(patch, f"{100 * self.confidence:g}% interval")] if self.bands_ else []

    def _series(self) -> list[str]:
        return list(self.curves) if self.chance is None else [*self.curves, RANDOM]

    def _dodge(self, i: int) -> float:
        """Return what is added to the cutoffs of curve i, so that whiskers at one cutoff stand side by side."""
        n, gap = len(self.curves), np.diff(self.k).min()
        return 0 if self.baseline is None else 0.5 * gap * (i - (n - 1) / 2) / max(n, 4)

    def _names(self) -> list[str]:
        return [*super()._names(), *[f"{100 * self.confidence:g}% interval"] * self.has_intervals]

    def _labels(self) -> tuple[str, str]:
        mean = f"{'weighted ' if self.weighted else ''}mean over {style.n_queries_text(self.n_queries)}"
        name = self.label or f"{self.metric}@k"
        if self.baseline is None:
            return "cutoff k", f"{name}, {mean}"
        model = style.model(list(self.curves), 18)
        return "cutoff k", f"difference in {name},\n{model} - {style.shorten(self.baseline, 18)}, {mean}"

    def _scale(self, ax: Any) -> None:
        """Use a logarithmic axis with a tick at every cutoff if the cutoffs are spaced unevenly."""
        gaps = np.diff(self.k)
        if len(gaps) and gaps.max() > UNEVEN_RATIO * gaps.min():
            ax.set_xscale("log")
            ax.set_xticks(self.k, [f"{k:,}" for k in self.k.tolist()], **style.NO_TEX)
            ax.minorticks_off()
        else:
            style.whole_numbers(ax.xaxis)


@dataclass(eq=False, kw_only=True)
class LearningCurveDisplay(Display):
    """Means of a metric in the rounds of a training, with intervals, best round and plateau.

    The plateau is the bar at the bottom: the rounds that do not differ significantly from the best
    round on these queries (see `ltr_metrics.PerQueryLog.learning_curve`). Create it with `from_log`.
    The axis has the numbers of rounds that ``predict`` takes, from 1.

    Several displays in the same axes must have the same metric and confidence level.

    Parameters
    ----------
    curves : dict of str to LearningCurve
        By name of the data set.

    Attributes
    ----------
    lines_, bands_, best_, plateaus_ : dict of str to artist
        By name of the data set: the means, their intervals, the best round and its plateau.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    labels_ : list of Annotation
        The names of the lines at their ends, if there are at most eight.
    legend_ : Legend or None
        The legend, with the lines if there are more.

    Raises
    ------
    LtrValueError
        If there is no curve, or if the curves are of different metrics or confidence levels.

    See Also
    --------
    ltr_metrics.PerQueryLog : Keep the values of a training.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> from ltr_metrics.report import LearningCurveDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train, log = lgb.Dataset(X, y, group=ltr.qid_to_group(qid)), ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> display = LearningCurveDisplay.from_log(log, "training", "ndcg@10")
    >>> display.curves["training"].rounds + 1
    array([1, 2, 3, 4, 5])
    >>> display.plot().figure_.savefig("learning.svg")  # doctest: +SKIP
    """

    NAMES_ENDS = True

    curves: dict[str, LearningCurve]

    def __post_init__(self) -> None:
        _require_one_kind(self.curves.values())

    @classmethod
    def from_log(
        cls, log: PerQueryLog, data: Any, metric: str | Metric, *, confidence: float = 0.95
    ) -> LearningCurveDisplay:
        """Collect one data set of a training's log, or a list of them.

        Parameters
        ----------
        log : PerQueryLog
            The log of a training.
        data : object or str, or list of these
            The host's data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the intervals and of the plateau, as for
            `ltr_metrics.PerQueryLog.learning_curve`.

        Returns
        -------
        LearningCurveDisplay
            Ready to plot.

        Raises
        ------
        LtrTypeError, LtrValueError, LtrKeyError
            If this is not a log, or it has no such data set or metric.
        """
        if not isinstance(log, PerQueryLog):
            raise LtrTypeError(f"log must be the PerQueryLog that was passed to the training as log=. Got {log!r}.")
        chosen = list(data) if isinstance(data, (list, tuple)) else [data]
        curves = [log.learning_curve(one, metric, confidence) for one in chosen]
        return cls(curves={curve.data: curve for curve in curves})

    @classmethod
    def from_logs(
        cls, logs: Mapping[str, PerQueryLog], data: Any, metric: str | Metric, *, confidence: float = 0.95
    ) -> LearningCurveDisplay:
        """Collect one data set of several trainings, such as those of a search.

        Parameters
        ----------
        logs : mapping of str to PerQueryLog
            The log of each training by name.
        data : object or str
            The data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the intervals and of the plateaus.

        Returns
        -------
        LearningCurveDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If there is no log, or a log has no such data set or metric.
        """
        return cls(curves={name: log.learning_curve(data, metric, confidence) for name, log in logs.items()})

    def _kind(self) -> str:
        first = next(iter(self.curves.values()))
        return f"{first.name} by round with {100 * first.confidence:g}% intervals"

    def _draw(self, ax: Any, series: style.Series, line_kw: dict[str, Any]) -> None:
        if series.n_earlier:
            ax.autoscale(axis="y")  # the figure that is there has set the limits
        self.lines_, self.bands_, self.best_, self.plateaus_ = {}, {}, {}, {}
        for i, (name, curve) in enumerate(self.curves.items()):
            look, rounds = series.look(i, line_kw), curve.rounds + 1
            shown = Curve(curve.mean, curve.low, curve.high).within(range_of(curve.metric, curve.mean))
            self.bands_[name] = ax.fill_between(
                rounds, shown.low, shown.high, color=look.color, alpha=style.BAND, linewidth=0
            )
            marks = {"color": look.color, "linestyle": look.linestyle} | line_kw
            self.lines_[name] = series.add(ax.plot(rounds, shown.mean, **marks)[0], name)
            self.lines_[name].ltr_curve = curve
            mark = {"marker": look.marker, "markersize": 8, "linestyle": "none", "zorder": 4}
            (self.best_[name],) = ax.plot(
                [curve.n_rounds],
                [curve.mean[curve.best]],
                color=look.color,
                markeredgecolor=style.text_color(ax),
                **mark,
            )
            starts, ends = _runs(curve)
            bar = {"color": look.color, "linewidth": 4, "transform": ax.get_xaxis_transform()}
            height = PLATEAU_HEIGHT * (series.n_earlier + i + 0.5)
            self.plateaus_[name] = ax.hlines(np.full(len(starts), height), starts, ends, **bar)
        bottom, top = ax.get_ylim()
        n_drawn = series.n_earlier + len(self.curves)
        ax.set_ylim(bottom - PLATEAU_HEIGHT * n_drawn * (top - bottom), top)
        style.whole_numbers(ax.xaxis)
        style.grid(ax)
        counts = [line.ltr_curve.n_queries for _, line in style.series_of(ax)]
        style.label_axes(ax, "rounds", f"{curve.name}, mean over {style.n_queries_text((min(counts), max(counts)))}")

    def _explained(self, ax: Any) -> list[tuple[Any, str]]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ink = style.text_color(ax)
        best = f"best: {', '.join(str(line.ltr_curve.n_rounds) for _, line in style.series_of(ax))}"
        circle = Line2D([], [], color=ink, linestyle="none", marker="o", markersize=8, markerfacecolor="none")
        interval = f"{100 * next(iter(self.curves.values())).confidence:g}% interval"
        return [
            (Patch(color=ink, alpha=style.BAND, linewidth=0), interval),
            (circle, best if style.shorten(best) == best else "best"),
            (Line2D([], [], color=ink, linewidth=4), "plateau"),
        ]

    def _series(self) -> list[str]:
        return list(self.curves)

    def _names(self) -> list[str]:
        return [*super()._names(), *EXPLAINED]


def _require_one_kind(curves: Iterable[LearningCurve]) -> None:
    kinds = {(curve.metric, curve.confidence) for curve in curves}
    if len(kinds) != 1:
        raise LtrValueError(
            "All curves of a figure must have the same metric and confidence level, and there must be at least one. "
            f"Got {sorted(kinds) or 'no curve'}."
        )


def _runs(curve: LearningCurve) -> tuple[FloatArray, FloatArray]:
    """Return the start and end of each run of the plateau, extended by half a step of the curve."""
    parts = np.split(curve.plateau, np.flatnonzero(np.diff(curve.plateau) > 1) + 1)
    n_rounds = curve.rounds + 1
    starts, ends = (n_rounds[[part[i] for part in parts]] for i in (0, -1))
    half = np.diff(n_rounds, prepend=0)[:2].min() / 2  # the first entry may be far from 0 in a continued training
    return starts - half, ends + half


def cutoffs_of(result: Evaluation, metric: str | Metric) -> tuple[str, dict[int, str]]:
    """Return a metric's name without its cutoff, and the names of its variants by cutoff."""
    families: dict[str, dict[int, str]] = {}
    for name in result.per_query:
        family, _, cutoff = name.rpartition("@")
        if cutoff.isdecimal():
            families.setdefault(family, {})[int(cutoff)] = name
    family = CUTOFF.sub("", result.per_query.canonical(metric))
    if family not in families:  # "ndcg" is the name of the request, and "ndcg_exp" the canonical one
        asked = {CUTOFF.sub("", asked): CUTOFF.sub("", name) for asked, name in result.per_query.asked.items()}
        family = in_lower_case(family)
        family = asked.get(family, family)
    if family not in families:
        known = ", ".join(families) or "none"
        raise LtrKeyError(f"{str(metric)!r} was not evaluated at a cutoff. Metrics with cutoffs here: {known}.")
    if len(families[family]) < 2:
        raise LtrValueError(
            f"A curve needs two cutoffs or more, but {family} was evaluated at one. Evaluate with "
            f'metrics=[f"{family}@{{k}}" for k in range(1, 21)].'
        )
    return family, dict(sorted(families[family].items()))
