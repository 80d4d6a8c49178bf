"""The figures of a report, with their titles and captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from io import StringIO

from ltr_metrics.errors import import_extra
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.report.parts import Figure
from ltr_metrics.report.plots.lines import CUTOFF, LearningCurveDisplay
from ltr_metrics.report.plots.style import HEIGHT, WIDTH, Display, n_queries_text
from ltr_metrics.report.report import Report

TEXT_COLOR = "#010203"  # replaced by the text colour of the page
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, so that all machines measure text equally
    "font.size": 10,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT_COLOR),
}


def figures_of(report: Report) -> list[Figure]:
    """Return the figures for which a report has data: each metric by cutoff, and the learning curves.

    With a baseline, each metric by cutoff is followed by its differences.

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
    >>> report = summarize(ltr.Queries(y, qid=qid), scores, ["ndcg@5"], baseline="base", complete=True)
    >>> [figure.name for figure in figures_of(report)], figures_of(report)[0].svg.startswith("<svg")
    (['over-k-1', 'over-k-2'], True)
    """
    return [*_cutoff_figures(report), *_learning_figures(report)]


def _figure(display: Display, name: str, title: str, caption: str, height: float | None = None) -> Figure:
    """Draw a display as a transparent element with the page's text colour and ids that are unique in the page.

    With a height, the lines are named at their ends, and the caption says what a legend would.
    """
    style, canvas = import_extra("matplotlib.style", "report"), import_extra("matplotlib.figure", "report").Figure
    file = StringIO()
    with style.context(["default", STYLE | {"svg.hashsalt": name}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a browser has more fonts
        figure = canvas(figsize=display.size if height is None else (WIDTH, height), layout="constrained")
        display.plot(ax=figure.subplots())
        if height is not None and display.labels_ and display.legend_ is not None:
            display.legend_.remove()
        figure.savefig(file, format="svg")
    svg = file.getvalue()
    svg = re.sub(f"(fill|stroke): {TEXT_COLOR}", r"\1: currentColor", svg[svg.index("<svg") :])
    svg = re.sub(r"<(style|metadata).*?</\1>", "", svg, flags=re.DOTALL)  # of the whole page, and with a date
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # nothing refers to groups, and figures number theirs alike
    return Figure(name, title, caption, svg)


def _cutoff_figures(report: Report) -> Iterator[Figure]:
    names = {CUTOFF.sub("", metric): CUTOFF.sub("@k", name) for metric, name in report.names.items()}
    heights: dict[str, float] = {}  # of both figures of a metric
    for curve in report.curves:
        height = HEIGHT if curve.has_named_ends else curve.size[1]
        heights[curve.metric] = max(height, heights.get(curve.metric, 0))
    for i, curve in enumerate(report.curves, start=1):
        title, caption = names[curve.metric], f"mean over {n_queries_text(curve.n_queries)}"
        level = f"with {100 * curve.confidence:g}% intervals"
        if curve.baseline is not None:
            title += f" \N{MINUS SIGN} {curve.baseline}"
            caption = f"{level}, paired by query"
        elif curve.has_intervals:
            caption += f", {level}"
        curve.label = names[curve.metric]
        yield _figure(curve, f"over-k-{i}", title, caption, heights[curve.metric])


def _learning_figures(report: Report) -> Iterator[Figure]:
    """Draw all data sets of one training in one figure."""
    trainings: dict[tuple[str, str], dict[str, LearningCurve]] = {}
    for model, curves in report.learning.items():
        for curve in curves:
            trainings.setdefault((model, curve.name), {})[curve.data] = curve
    for i, ((model, metric), of_data) in enumerate(trainings.items(), start=1):
        caption = (
            "The bars at the bottom are the plateau: the rounds that do not differ significantly from the best round "
            "in a paired comparison over queries."
        )
        yield _figure(
            LearningCurveDisplay(curves=of_data), f"learning-{i}", f"Training of {model}: {metric} by round", caption
        )
