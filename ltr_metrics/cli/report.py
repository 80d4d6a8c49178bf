"""The subcommand ``report``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

import click
from tqdm import tqdm

from ltr_metrics._hosts.fitted_model import evaluate_rounds, read_model
from ltr_metrics.cli import options
from ltr_metrics.cli.compare import check_rules
from ltr_metrics.cli.data import read_source, requested_metrics
from ltr_metrics.cli.output import Output, gate_status
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.logs.training_log import PerQueryLog
from ltr_metrics.metrics.requests import Request, resolve
from ltr_metrics.report import as_html, as_json, as_per_query_csv, summarize

RENDERERS = {"html": as_html, "json": as_json, "csv": as_per_query_csv}


@options.subcommand(
    "Write a report as one HTML file.",
    RENDERERS,
    without=("skill", "is_wide"),
    learning_curve=options.model_option(
        "--learning-curve", "Add the learning curve of each model file, every N rounds.", "N", type=options.COUNT
    ),
    columns=options.model_option(
        "--columns",
        "Show these columns of the table in opened queries, such as title,query: beside each document, or above the "
        "lists if all documents of the query have the same value.  [default: columns of numbers, if they are few]",
        "NAMES",
        callback=options.names,
    ),
    no_documents=options.output_option("--no-documents", "Leave out the ids, grades and scores of documents."),
)
def report(
    inputs: options.Inputs,
    learning_curve: int | None,
    metrics: options.Metrics,
    comparison: options.Comparison,
    intervals: options.IntervalsOfDifferences,
    gate: options.Gate,
    columns: list[str],
    no_documents: bool,
    output: Output,
) -> int:
    """Write a report as one HTML file that needs no network.

    The report has the means, the metrics by cutoff and by segment, and an audit of ties and
    judgments. With two models or more, it also has the comparison with the baseline, the queries
    that gain and lose most with their documents under both models, and the changes of the rankings.
    With --learning-curve, it has the learning curves of the model files. --format json has all
    numbers, and csv the values of each query.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 \\
          --segment device --segment n_relevant --output report.html
      ltr-metrics report products.csv --scores base --scores new --docid sku \\
          --columns title,query --output report.html
      ltr-metrics report --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --output report.json
    """  # noqa: D301
    output = output.checked(RENDERERS, [*inputs.files(), *metrics.files()])
    baseline = comparison.chosen_baseline()
    check_rules(gate, baseline, comparison.yardsticks, has_segments=bool(metrics.by))
    if learning_curve is not None and not inputs.models:
        raise LtrValueError("--learning-curve needs a model file: --model NAME=FILE.")
    if columns and no_documents:
        raise LtrValueError("--columns shows values of documents, and --no-documents leaves them out. Choose one.")
    requested = requested_metrics(metrics)
    source = read_source(inputs, by=metrics.by, cluster=intervals.cluster, shown=columns)
    curves = {}
    if learning_curve is not None:
        request = resolve(requested, **metrics.policy())
        queries = next(iter(source.queries.values()))
        logs = log_rounds(inputs.models, source.features, queries, request, learning_curve)
        curves = {
            name: [log.learning_curve("data", str(metric), intervals.confidence) for metric in request.metrics]
            for name, log in logs.items()
        }
    settings = options.settings(intervals, without="cluster")
    is_one_query = any(queries.n_queries < 2 for queries in source.queries.values())
    summary = summarize(
        source.queries,
        source.scores,
        requested,
        baseline=baseline,
        comparing=settings | options.settings(comparison, without="baseline"),
        intervals_of_means=None if is_one_query else settings,
        **vars(gate),
        complete=True,
        learning=curves,
        documents=not no_documents,
        source=inputs.description(),
        origins=inputs.origins(),
        files=[file for file in inputs.files() if file.is_file()],
        command=shlex.join(["ltr-metrics", *(click.get_current_context().obj or [])]),
        **metrics.policy(),
    )
    output.write(RENDERERS[output.form](summary))
    return gate_status(summary.gate)


def log_rounds(
    models: Mapping[str, str], features: Any, queries: Queries, request: Request, every: int
) -> dict[str, PerQueryLog]:
    """Return the log of each model file."""
    logs = {}
    for name, file in models.items():
        with naming(name):
            fitted = read_model(file, features, needs_queries=False)
            show = partial(tqdm, desc=f"Evaluating {name}", disable=None, leave=False)
            logs[name] = evaluate_rounds(fitted, queries, request, every=every, name="data", show=show)
    return logs
