"""The subcommand ``curve``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from ltr_metrics.cli import options
from ltr_metrics.cli.data import read_rows, requested_metrics
from ltr_metrics.cli.output import Output, in_json, write_file
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.saved import versions
from ltr_metrics.evaluation.tables import Table, as_markdown, as_text
from ltr_metrics.logs.fitted_model import evaluate_rounds, read_model
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.logs.training_log import PerQueryLog
from ltr_metrics.metrics.requests import Request, resolve
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.plots.lines import Format, panels_of_curves

FIGURES: dict[str, Format] = {".svg": "svg", ".png": "png", ".pdf": "pdf"}


class Result(NamedTuple):
    """What the subcommand has computed."""

    source: str
    queries: Queries
    files: Mapping[str, str]  # by model
    request: Request
    curves: list[tuple[str, LearningCurve]]  # with their models


def log_rounds(
    models: Mapping[str, str], features: Any, queries: Queries, request: Request, every: int, data: str | None = None
) -> dict[str, PerQueryLog]:
    """Return the log of each model file. ``data`` names the data set in the logs, by default as the model."""
    logs = {}
    for name, file in models.items():
        with naming(name):
            fitted = read_model(file, features, None, None)
            show = partial(tqdm, desc=f"Evaluating {name}", disable=None, leave=False)
            logs[name] = evaluate_rounds(fitted, queries, request, every=every, name=data or name, show=show)
    return logs


# -- formats ----------------------------------------------------------------------------------------------------------


def _tables(result: Result) -> list[Table]:
    """Return one table per model, with the means of each round."""
    tables = []
    for name, group in groupby(result.curves, key=lambda pair: pair[0]):
        curves = [curve for _, curve in group]
        rows = [
            [f"{number + 1:,}", *(f"{'*' * (curve.best == i)}{curve.mean[i]:.4f}" for curve in curves)]
            for i, number in enumerate(curves[0].rounds.tolist())
        ]
        metrics, foot = [curve.name for curve in curves], "\n".join(map(str, curves))
        tables.append(Table(["rounds", *metrics], rows, "r", f"{name}: {result.files[name]}", foot))
    return tables


def _as_json(result: Result) -> str:
    policy, queries = result.request.policy, result.queries
    values = {
        "data": {"source": result.source, "rows": queries.n_rows, "queries": queries.n_queries},
        "options": {"ties": policy.ties, "no_relevant": policy.no_relevant, "convention": policy.convention},
        "origins": dict(result.files),
        "curves": [{"model": name} | curve.to_dict() for name, curve in result.curves],
        "versions": versions(),
    }
    return in_json(values)


def _as_csv(result: Result) -> str:
    import pandas as pd

    tables = [
        pd.DataFrame(
            {
                "model": name,
                "metric": points.metric,
                "n_rounds": points.rounds + 1,
                "mean": points.mean,
                "low": points.low,
                "high": points.high,
                "is_best": np.arange(len(points.mean)) == points.best,
                "is_in_plateau": np.isin(np.arange(len(points.mean)), points.plateau),
            }
        )
        for name, points in result.curves
    ]
    return in_csv(pd.concat(tables, ignore_index=True))


RENDERERS: dict[str, Callable[[Result], str]] = {
    "text": lambda result: "\n\n".join(map(as_text, _tables(result))) + "\n",
    "json": _as_json,
    "csv": _as_csv,
    "markdown": lambda result: "\n\n".join(map(as_markdown, _tables(result))) + "\n",
}


# -- the subcommand ---------------------------------------------------------------------------------------------------


@options.subcommand(
    "Evaluate the rounds of model files.",
    RENDERERS,
    without=("by", "skill", "is_wide"),
    every=options.metric_option(
        "--every", "Evaluate after N, 2N, 3N, ... rounds, and after the last one.", "N", type=options.COUNT, default=1
    ),
    confidence=options.confidence(),
    plot=options.output_option(
        "--plot", "Draw the curves into this file: .svg, .png or .pdf.", "FILE", type=options.OUTPUT_FILE
    ),
)
def curve(
    rows: options.Rows, metrics: options.Metrics, every: int, confidence: float, output: Output, plot: Path | None
) -> None:
    """Evaluate model files on labelled data after each of their rounds.

    The result has the mean of each metric by round, and the number of rounds to keep. It names the
    rounds whose mean does not differ significantly from the best one. All rounds of a file are
    evaluated, while 'evaluate' uses the rounds up to the best one of an early stopping.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics curve valid.txt --model new=model.txt --every 10
      ltr-metrics curve valid.parquet --model a=a.json --model b=b.json \\
          -m ndcg@10,map --plot curves.svg
      ltr-metrics curve valid.txt --model model.txt --output curve.csv
    """  # noqa: D301
    if plot is not None and plot.suffix.lower() not in FIGURES:
        raise LtrValueError(f"--plot {plot} must end in one of {', '.join(FIGURES)}.")
    output = output.checked(RENDERERS, [*rows.files(), *metrics.files()], *([] if plot is None else [plot]))
    request = resolve(requested_metrics(metrics), **metrics.policy())
    queries, _, features = read_rows(rows)
    logs = log_rounds(rows.models, features, queries, request, every)
    curves = [
        (name, log.learning_curve(name, metric, confidence))
        for name, log in logs.items()
        for metric in request.typed.values()
    ]
    result = Result(rows.description(), queries, rows.models, request, curves)
    text = RENDERERS[output.form](result)
    if plot is not None:
        write_file(plot, _drawn(result.curves, plot))
    output.write(text)


def _drawn(curves: Iterable[tuple[str, LearningCurve]], path: Path) -> bytes:
    """Return the figure of the curves, with the models of a metric in the same axes."""
    by_metric: dict[str, dict[str, LearningCurve]] = {}
    for name, points in curves:
        by_metric.setdefault(points.metric, {})[name] = points
    return panels_of_curves(list(by_metric.values()), FIGURES[path.suffix.lower()])
