"""The figures of a report, with their titles and captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.settings import INTERVALS
from ltr_metrics.errors import import_extra
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.report.parts import Figure
from ltr_metrics.report.plots.differences import DifferencesDisplay
from ltr_metrics.report.plots.forest import ComparisonDisplay, LeaderboardDisplay, SegmentsDisplay
from ltr_metrics.report.plots.lines import LearningCurveDisplay
from ltr_metrics.report.plots.style import Display, n_queries_text
from ltr_metrics.report.report import Report

MAX_SEGMENTS = 30
SCALE_RATIO = 10  # metrics whose differences are this many times larger get axes of their own
TEXT_COLOR = "#010203"  # replaced by the text colour of the page
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, so that all machines measure text equally
    "font.size": 10,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT_COLOR),
}


def figures_of(report: Report) -> list[Figure]:
    """Return the figures for which a report has data.

    These are the differences in all metrics, the ranks of three or more models, each metric over
    the cutoff, and for each model the differences of the queries in the first metric. Then come
    that metric by segment, and the learning curves.

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
        *_leaderboard_figures(report),
        *_cutoff_figures(report),
        *(() if comparison is None else _query_figures(comparison)),
        *_segment_figures(report),
        *_learning_figures(report),
    ]


def _figure(display: Display, name: str, title: str, caption: str) -> Figure:
    """Draw a display as a transparent element with the page's text colour and ids that are unique in the page."""
    style, canvas = import_extra("matplotlib.style", "report"), import_extra("matplotlib.figure", "report").Figure
    file = StringIO()
    with style.context(["default", STYLE | {"svg.hashsalt": name}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a browser has more fonts
        figure = canvas(figsize=display.size, layout="constrained")
        display.plot(ax=figure.subplots())
        figure.savefig(file, format="svg")
    svg = file.getvalue()
    svg = re.sub(f"(fill|stroke): {TEXT_COLOR}", r"\1: currentColor", svg[svg.index("<svg") :])
    svg = re.sub(r"<(style|metadata).*?</\1>", "", svg, flags=re.DOTALL)  # of the whole page, and with a date
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # nothing refers to groups, and figures number theirs alike
    return Figure(name, title, caption, svg)


def _comparison_figures(comparison: Comparison) -> Iterator[Figure]:
    groups = _groups_by_scale(comparison)
    for i, metrics in enumerate(groups, start=1):
        yield _figure(
            ComparisonDisplay.from_comparison(comparison, metrics),
            f"comparison-{i}",
            f"Difference to {comparison.baseline}" + (f" in {', '.join(metrics)}" if len(groups) > 1 else ""),
            f"{_side(comparison, metrics[0])} {_interval(comparison)} They are not corrected for the number of models "
            "and metrics.",
        )


def _leaderboard_figures(report: Report) -> Iterator[Figure]:
    if report.leaderboard is not None:
        caption = (
            f"Ranks of the models with {report.leaderboard.settings.level} intervals. Queries drawn again may order "
            "models with overlapping intervals in another way."
        )
        yield _figure(LeaderboardDisplay.from_leaderboard(report.leaderboard), "leaderboard", "Leaderboard", caption)


def _groups_by_scale(comparison: Comparison) -> list[list[str]]:
    """Group the metrics of one direction whose largest differences and limits are of a similar scale."""
    largest = {
        metric: max((abs(v) for row in rows for v in (row.difference, row.ci_low, row.ci_high) if v == v), default=0.0)
        for metric in comparison.metrics
        for rows in [[comparison[metric, model] for model in comparison.models]]
    }
    higher, order = comparison.higher_is_better, comparison.metrics.index
    groups: list[list[str]] = []
    smallest = 0.0  # of the last group, without metrics in which nothing differs
    for metric in sorted(largest, key=lambda one: (higher(one), largest[one])):
        same_direction = groups and higher(groups[-1][0]) == higher(metric)
        if not same_direction or (smallest and largest[metric] > SCALE_RATIO * smallest):
            groups.append([])
            smallest = 0.0
        groups[-1].append(metric)
        smallest = smallest or largest[metric]
    return sorted((sorted(group, key=order) for group in groups), key=lambda group: order(group[0]))


def _cutoff_figures(report: Report) -> Iterator[Figure]:
    for i, curve in enumerate(report.curves, start=1):
        caption = (
            f"The bands are {100 * curve.confidence:g}% intervals (Student's t) of the means over "
            f"{n_queries_text(curve.n_queries)}. All models have the same queries, so two models "
            "with overlapping bands can still differ significantly."
        )
        yield _figure(curve, f"over-k-{i}", f"{curve.metric} by cutoff", caption)


def _query_figures(comparison: Comparison) -> Iterator[Figure]:
    for i, model in enumerate(comparison.models, start=1):
        display = DifferencesDisplay.from_comparison(comparison, comparison.metrics[0], model)
        row, n = display.row, display.row.n_queries
        yield _figure(
            display,
            f"differences-{i}",
            f"{row.metric} by query: {model} against {comparison.baseline}",
            f"Each of {n_queries_text((n, n))} is a bar, sorted from the largest gain to the largest loss: "
            f"{row.wins:,} gain, {row.ties:,} are tied and {row.losses:,} lose. {_interval(comparison)}",
        )


def _segment_figures(report: Report) -> Iterator[Figure]:
    if not report.first.segments:
        return
    metric, comparison = next(iter(report.first)), report.comparison
    display = SegmentsDisplay.from_result(report.evaluations, metric)
    n_segments = len(display.rows) - 1
    note = (
        f" Only the {MAX_SEGMENTS} largest of {n_segments:,} segments are shown." if n_segments > MAX_SEGMENTS else ""
    )
    caption = f"Intervals of the means over the queries of a segment. A segment of one query has none.{note}"
    yield _figure(_largest(display), "segments-1", f"{metric} by segment", caption)
    if comparison is not None:
        yield _figure(
            _largest(SegmentsDisplay.from_comparison(comparison, metric)),
            "segments-2",
            f"Difference to {comparison.baseline} in {metric} by segment",
            f"{_side(comparison, metric)} {_interval(comparison)} They are not corrected for the number of segments: "
            f"some of many miss the true value by chance.{note}",
        )


def _largest(display: SegmentsDisplay) -> SegmentsDisplay:
    """Keep the largest segments if there are too many."""
    *rows, overall = display.rows
    kept = sorted(rows, key=lambda row: -row.n_queries[1])[:MAX_SEGMENTS]
    return replace(display, rows=[*(row for row in rows if row in kept), overall])


def _learning_figures(report: Report) -> Iterator[Figure]:
    """Draw all data sets of one training in one figure."""
    trainings: dict[tuple[str, str], dict[str, LearningCurve]] = {}
    for model, curves in report.learning.items():
        for curve in curves:
            trainings.setdefault((model, curve.metric), {})[curve.data] = curve
    for i, ((model, metric), of_data) in enumerate(trainings.items(), start=1):
        caption = (
            "The bars at the bottom are the plateau: the rounds that do not differ significantly from the best round "
            "in a paired comparison over queries."
        )
        yield _figure(
            LearningCurveDisplay(curves=of_data), f"learning-{i}", f"Training of {model}: {metric} by round", caption
        )


def _side(comparison: Comparison, metric: str) -> str:
    side = "right" if comparison.higher_is_better(metric) else "left"
    return f"A model to the {side} of the line is better than {comparison.baseline}."


def _interval(comparison: Comparison) -> str:
    weighted = "weighted " if comparison.is_weighted else ""
    settings = comparison.settings
    return f"{settings.level} intervals of the {weighted}mean difference over queries ({INTERVALS[settings.interval]})."
