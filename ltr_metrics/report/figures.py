"""The pictures of a report: which there are, their titles and their captions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from ltr_metrics.report.plots.style import counted
from ltr_metrics.report.plots.svg import svg_of
from ltr_metrics.report.summarize import Report

MOST_SEGMENTS = 30
MOST_LISTED = 3  # names in a title
SCALE = 10  # metrics whose differences are so many times as large as others' get an axis of their own


@dataclass(frozen=True)
class Figure:
    """A picture of the report.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens; its own in the report.
    title, caption : str
        Plain text, with names as they were given.
    svg : str
        An ``svg`` element, to stand in a page or in a file of its own.
    """

    name: str
    title: str
    caption: str
    svg: str


def figures_of(report: Report) -> list[Figure]:
    """Return the pictures that a report has something to show in.

    The differences in all metrics; each metric over the cutoff; for each model the differences of the single queries in the first
    metric; that metric by segment; the learning curves.

    Raises
    ------
    MissingExtraError
        If Matplotlib is not installed.
    """
    comparison = report.comparison
    return [
        *(() if comparison is None else _compared(comparison)),
        *_over_k(report),
        *(() if comparison is None else _single_queries(comparison)),
        *_segments(report),
        *_learning(report),
    ]


def _figure(display: Display, name: str, title: str, caption: str) -> Figure:
    return Figure(name, title, caption, svg_of(display, name, title))


def _compared(comparison: Comparison) -> Iterator[Figure]:
    """Draw the metrics whose differences are of one order of magnitude on one axis."""
    groups = _of_one_scale(comparison)
    for i, metrics in enumerate(groups, start=1):
        yield _figure(
            ComparisonDisplay.from_comparison(comparison, metrics),
            f"comparison-{i}",
            f"Difference to {comparison.baseline}" + (f" in {_listed(metrics)}" if len(groups) > 1 else ""),
            f"Right of the line a model is better than {comparison.baseline}. {_interval(comparison)} The intervals are not corrected "
            "for the number of models and metrics.",
        )


def _of_one_scale(comparison: Comparison) -> list[list[str]]:
    """Group the metrics by how far their intervals reach."""
    reach: dict[str, float] = dict.fromkeys(comparison.metrics, 0.0)
    for row in comparison.rows:
        far = [abs(v) for v in (row.difference, row.ci_low, row.ci_high) if not np.isnan(v)]
        reach[row.metric] = max([reach[row.metric], *far])
    groups: list[list[str]] = []
    for metric in sorted(reach, key=lambda one: reach[one]):
        smallest = next((reach[one] for one in groups[-1] if reach[one] > 0), np.inf) if groups else 0
        if reach[metric] > SCALE * smallest or not groups:
            groups.append([])
        groups[-1].append(metric)
    order = comparison.metrics.index
    return sorted((sorted(group, key=order) for group in groups), key=lambda group: order(group[0]))


def _over_k(report: Report) -> Iterator[Figure]:
    for i, found in enumerate(report.summary.get("curves") or [], start=1):
        display = MetricOverKDisplay.from_dict(found)
        first = (
            None if report.comparison is None else report.comparison.baseline
        )  # as in the pictures of the comparison
        curves = {model: display.curves[model] for model in sorted(display.curves, key=lambda name: name != first)}
        display = replace(display, curves=curves, weighted=report.summary["options"]["weighted"])
        paired = (
            ""
            if report.comparison is None
            else (
                " All models are judged on the same queries: two whose bands overlap may well differ, which is for the comparison to say."
            )
        )
        yield _figure(
            display,
            f"over-k-{i}",
            f"{display.metric} over the cutoff",
            f"Bands are {_percent(display.confidence)} intervals (Student's t) of the means over {counted(display.n_queries)}.{paired}",
        )


def _single_queries(comparison: Comparison) -> Iterator[Figure]:
    for i, model in enumerate(comparison.models, start=1):
        display = DifferencesDisplay.from_comparison(comparison, comparison.metrics[0], model)
        n = len(display.difference)
        yield _figure(
            display,
            f"differences-{i}",
            f"{display.metric} query by query: {model} against {comparison.baseline}",
            f"Each of {counted((n, n))} is a bar, from the largest gain to the largest loss: {display.wins:,} gain, {display.ties:,} are "
            f"tied, {display.losses:,} lose. {_interval(comparison)}",
        )


def _segments(report: Report) -> Iterator[Figure]:
    if not report.summary.get("segments"):
        return
    comparison = report.comparison
    metric = next(iter(next(iter(report.evaluations.values())).mean))
    confidence = {} if comparison is None else {"confidence": comparison.settings.confidence}
    evaluations = (
        report.evaluations if comparison is None else comparison.evaluations
    )  # of which the baseline is the first
    display, left_out = _largest(SegmentsDisplay.from_result(evaluations, metric, **confidence))
    yield _figure(
        display,
        "segments-1",
        f"{metric} by segment",
        f"Bars are {_percent(display.confidence)} intervals of the means over the queries of a segment; one of a single query has none."
        f"{left_out}",
    )
    if comparison is not None:
        display, left_out = _largest(SegmentsDisplay.from_comparison(comparison, metric))
        yield _figure(
            display,
            "segments-2",
            f"Difference to {comparison.baseline} in {metric} by segment",
            f"Right of the line a model is better than {comparison.baseline}. {_interval(comparison)} The intervals are not corrected "
            f"for the number of segments: of twenty, one misses by chance.{left_out}",
        )


def _largest(display: SegmentsDisplay) -> tuple[SegmentsDisplay, str]:
    """Leave the smallest segments out where there are too many to look at, and say so."""
    *rows, overall = display.rows
    if len(rows) <= MOST_SEGMENTS:
        return display, ""
    least = sorted((row.n_queries[1] for row in rows), reverse=True)[MOST_SEGMENTS - 1]
    above = sum(row.n_queries[1] > least for row in rows)
    equal = [row for row in rows if row.n_queries[1] == least][: MOST_SEGMENTS - above]
    kept = [row for row in rows if row.n_queries[1] > least or any(row is one for one in equal)]
    return replace(display, rows=[*kept, overall]), f" Shown are the {MOST_SEGMENTS} largest of {len(rows):,} segments."


def _learning(report: Report) -> Iterator[Figure]:
    """Draw all data sets of one training in one picture."""
    trainings: dict[tuple[str, str], dict[str, LearningCurve]] = {}
    for found in report.summary.get("learning") or []:
        curve = LearningCurve.from_dict(found)
        trainings.setdefault((found["model"], curve.metric), {})[curve.data] = curve
    for i, ((model, metric), curves) in enumerate(trainings.items(), start=1):
        yield _figure(
            LearningCurveDisplay(curves=curves),
            f"learning-{i}",
            f"Training of {model}: {metric} by round",
            " ".join(_told(curve) for curve in curves.values())
            + " The bars at the foot are the plateau: rounds that cannot be told from the best, compared query by query.",
        )


def _told(curve: LearningCurve) -> str:
    lost = f", {len(curve.overfit):,} queries lose for good after it and {curve.n_lasting_gains:,} gain"
    return (
        f"{curve.data}, {counted((curve.n_queries,) * 2)}: the best of {curve.n_rounds} rounds is {curve.best}, counted from 0, with "
        f"{curve.mean[curve.best]:.4f}{'' if curve.best == curve.n_rounds - 1 else lost}."
    )


def _interval(comparison: Comparison) -> str:
    weighted = "weighted " if comparison.weight is not None else ""
    settings = comparison.settings
    return (
        f"Intervals are of the {weighted}mean difference over queries, {_percent(settings.confidence)}, "
        f"{INTERVALS[settings.interval]}."
    )


def _percent(confidence: float) -> str:
    return f"{100 * confidence:g}%"


def _listed(names: Iterable[str]) -> str:
    given = list(names)
    more = f" and {len(given) - MOST_LISTED} more" if len(given) > MOST_LISTED else ""
    return ", ".join(given[:MOST_LISTED]) + more
