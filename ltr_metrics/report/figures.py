"""The figures of a report, with their titles and captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.comparison.table import INTERVALS
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.report.plots import (
    ComparisonDisplay,
    DifferencesDisplay,
    LearningCurveDisplay,
    MetricOverKDisplay,
    SegmentsDisplay,
)
from ltr_metrics.report.plots.display import Display
from ltr_metrics.report.plots.style import n_queries_text
from ltr_metrics.report.plots.svg import svg_of
from ltr_metrics.report.summarize import Report

MAX_SEGMENTS = 30
MAX_NAMES = 3  # names in a title
SCALE_RATIO = 10  # metrics whose differences are this many times larger get axes of their own


@dataclass(frozen=True)
class Figure:
    """A figure of the report.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in the report.
    title, caption : str
        Plain text, with names as they were given.
    svg : str
        An ``svg`` element, for a page or for a file of its own.

    See Also
    --------
    figures_of : The figures of a report.

    Examples
    --------
    >>> from ltr_metrics.report import Figure
    >>> figure = Figure(name="map", title="MAP", caption="MAP by segment.", svg="<svg></svg>")
    >>> figure.name
    'map'
    """

    name: str
    title: str
    caption: str
    svg: str


def figures_of(report: Report) -> list[Figure]:
    """Return the figures for which a report has data.

    These are the differences in all metrics, each metric over the cutoff, and for each model the
    differences of the queries in the first metric. Then come that metric by segment, and the
    learning curves.

    Parameters
    ----------
    report : Report
        The result of `summarize`.

    Returns
    -------
    list of Figure
        In the order of the page. It is empty if the report has data for none.

    Raises
    ------
    MissingExtraError
        If Matplotlib is not installed.

    See Also
    --------
    as_html : A page with these figures.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import figures_of, summarize
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> scores = {"base": X[:, 0], "new": X[:, 0] + X[:, 1]}
    >>> report = summarize(ltr.Queries(y, qid=qid), scores, ["map"], baseline="base")
    >>> len(figures_of(report)) >= 1, figures_of(report)[0].svg.startswith("<svg")
    (True, True)
    """
    comparison = report.comparison
    return [
        *(() if comparison is None else _comparison_figures(comparison)),
        *_cutoff_figures(report),
        *(() if comparison is None else _query_figures(comparison)),
        *_segment_figures(report),
        *_learning_figures(report),
    ]


def _figure(display: Display, name: str, title: str, caption: str) -> Figure:
    return Figure(name, title, caption, svg_of(display, name, title))


def _comparison_figures(comparison: Comparison) -> Iterator[Figure]:
    """Draw metrics whose differences have a similar scale on one axis."""
    groups = _group_by_scale(comparison)
    for i, metrics in enumerate(groups, start=1):
        yield _figure(
            ComparisonDisplay.from_comparison(comparison, metrics),
            f"comparison-{i}",
            f"Difference to {comparison.baseline}" + (f" in {_join_names(metrics)}" if len(groups) > 1 else ""),
            f"{_describe_better_side(comparison, metrics[0])} {_describe_interval(comparison)} "
            "The intervals are not corrected for the number of models and metrics.",
        )


def _describe_better_side(comparison: Comparison, metric: str) -> str:
    side = "right" if comparison.higher_is_better(metric) else "left"
    return f"A model to the {side} of the line is better than {comparison.baseline}."


def _group_by_scale(comparison: Comparison) -> list[list[str]]:
    """Group the metrics by direction, and by the largest absolute value of their intervals."""
    order = comparison.metrics.index
    groups = [
        group
        for direction in (True, False)
        for group in _group_metrics(
            [m for m in comparison.metrics if comparison.higher_is_better(m) == direction], comparison
        )
    ]
    return sorted((sorted(group, key=order) for group in groups), key=lambda group: order(group[0]))


def _group_metrics(metrics: Sequence[str], comparison: Comparison) -> list[list[str]]:
    largest: dict[str, float] = dict.fromkeys(metrics, 0.0)
    for row in (row for row in comparison.rows if row.metric in largest):
        values = [abs(v) for v in (row.difference, row.ci_low, row.ci_high) if not np.isnan(v)]
        largest[row.metric] = max([largest[row.metric], *values])
    groups: list[list[str]] = []
    for metric in sorted(largest, key=lambda one: largest[one]):
        smallest = next((largest[one] for one in groups[-1] if largest[one] > 0), np.inf) if groups else 0
        if largest[metric] > SCALE_RATIO * smallest or not groups:
            groups.append([])
        groups[-1].append(metric)
    return groups


def _cutoff_figures(report: Report) -> Iterator[Figure]:
    baseline = None if report.comparison is None else report.comparison.baseline
    for i, curve in enumerate(report.summary.get("curves") or [], start=1):
        display = MetricOverKDisplay.from_dict(curve)
        models = sorted(display.curves, key=lambda name: name != baseline)  # the baseline is first, as elsewhere
        curves = {model: display.curves[model] for model in models}
        display = replace(display, curves=curves, weighted=report.summary["options"]["weighted"])
        caption = (
            f"The bands are {_percent(display.confidence)} intervals (Student's t) of the means over "
            f"{n_queries_text(display.n_queries)}."
        )
        if baseline is not None:
            caption += (
                " All models have the same queries, so two models with overlapping bands can still differ "
                "significantly: see the comparison."
            )
        yield _figure(display, f"over-k-{i}", f"{display.metric} by cutoff", caption)


def _query_figures(comparison: Comparison) -> Iterator[Figure]:
    for i, model in enumerate(comparison.models, start=1):
        display = DifferencesDisplay.from_comparison(comparison, comparison.metrics[0], model)
        n = len(display.difference)
        yield _figure(
            display,
            f"differences-{i}",
            f"{display.metric} by query: {model} against {comparison.baseline}",
            f"Each of {n_queries_text((n, n))} is a bar, sorted from the largest gain to the largest loss: "
            f"{display.wins:,} gain, "
            f"{display.ties:,} are tied and {display.losses:,} lose. {_describe_interval(comparison)}",
        )


def _segment_figures(report: Report) -> Iterator[Figure]:
    if not report.summary.get("segments"):
        return
    comparison = report.comparison
    metric = next(iter(next(iter(report.evaluations.values())).mean))
    if comparison is None:
        display = SegmentsDisplay.from_result(report.evaluations, metric)
    else:  # its evaluations begin with the baseline
        confidence = comparison.settings.confidence
        display = SegmentsDisplay.from_result(comparison.evaluations, metric, confidence=confidence)
    display, left_out = _limit_segments(display)
    yield _figure(
        display,
        "segments-1",
        f"{metric} by segment",
        f"The bars are {_percent(display.confidence)} intervals of the means over the queries of a segment. A "
        "segment of "
        f"one query has no interval.{left_out}",
    )
    if comparison is not None:
        display, left_out = _limit_segments(SegmentsDisplay.from_comparison(comparison, metric))
        yield _figure(
            display,
            "segments-2",
            f"Difference to {comparison.baseline} in {metric} by segment",
            f"{_describe_better_side(comparison, metric)} {_describe_interval(comparison)} "
            "The intervals are not corrected for the number of segments: some of many miss the true value by chance."
            f"{left_out}",
        )


def _limit_segments(display: SegmentsDisplay) -> tuple[SegmentsDisplay, str]:
    """Keep the largest segments if there are too many, and return a sentence that says so."""
    *rows, overall = display.rows
    if len(rows) <= MAX_SEGMENTS:
        return display, ""
    by_size = sorted(range(len(rows)), key=lambda i: -rows[i].n_queries[1])
    kept = [rows[i] for i in sorted(by_size[:MAX_SEGMENTS])]
    sentence = f" Only the {MAX_SEGMENTS} largest of {len(rows):,} segments are shown."
    return replace(display, rows=[*kept, overall]), sentence


def _learning_figures(report: Report) -> Iterator[Figure]:
    """Draw all data sets of one training in one figure."""
    trainings: dict[tuple[str, str], dict[str, LearningCurve]] = {}
    for section in report.summary.get("learning") or []:
        curve = LearningCurve.from_dict(section)
        trainings.setdefault((section["model"], curve.metric), {})[curve.data] = curve
    for i, ((model, metric), curves) in enumerate(trainings.items(), start=1):
        yield _figure(
            LearningCurveDisplay(curves=curves),
            f"learning-{i}",
            f"Training of {model}: {metric} by round",
            " ".join(_describe_curve(curve) for curve in curves.values())
            + " The bars at the bottom are the plateau: the rounds that do not differ significantly from the "
            "best round "
            "in a paired comparison over queries.",
        )


def _describe_curve(curve: LearningCurve) -> str:
    described = (
        f"{curve.data}, {n_queries_text((curve.n_queries,) * 2)}: the best of {curve.n_rounds} rounds is "
        f"{curve.rounds[curve.best]} (from 0), "
        f"with a mean of {curve.mean[curve.best]:.4f}."
    )
    if curve.best < len(curve.mean) - 1:
        n_losses, n_gains = len(curve.overfit), curve.n_lasting_gains
        described += f" After it, {n_losses:,} queries lose permanently and {n_gains:,} gain permanently."
    return described


def _describe_interval(comparison: Comparison) -> str:
    weighted = "weighted " if comparison.weight is not None else ""
    settings = comparison.settings
    return (
        f"Intervals are {_percent(settings.confidence)} intervals of the {weighted}mean difference over queries "
        f"({INTERVALS[settings.interval]})."
    )


def _percent(confidence: float) -> str:
    return f"{100 * confidence:g}%"


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
