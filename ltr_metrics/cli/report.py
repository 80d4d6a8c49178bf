"""The subcommand ``report``."""

from __future__ import annotations

from typing import Any

import click

from ltr_metrics.cli import options
from ltr_metrics.cli.compare import check_rules
from ltr_metrics.cli.curve import log_rounds
from ltr_metrics.cli.data import Source, read_source, requested_metrics
from ltr_metrics.cli.evaluate import RENDERERS as EVALUATION_RENDERERS
from ltr_metrics.cli.output import Output, gate_status
from ltr_metrics.errors import LtrValueError
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.metrics.requests import OneMetric, resolve
from ltr_metrics.report import as_html, summarize

RENDERERS = EVALUATION_RENDERERS | {"html": as_html}


@click.command(cls=options.Command, short_help="Write a report as one HTML file.")
@options.add_options(
    options.MODELS,
    options.LEARNING_CURVE,
    options.DATA,
    options.METRICS,
    options.COMPARISON,
    options.GATE,
    options.output_options(*RENDERERS),
)
def report(rules: tuple[str, ...], learning_curve: int | None, **arguments: Any) -> int:
    """Write a report as one HTML file that needs no network.

    The report has means and quantiles, the metrics by cutoff and by segment, and an audit of ties
    and judgments. With two models or more, it also has the comparison with the baseline, the
    queries that gain and lose most, and the changes of the rankings. With --learning-curve, it has
    the learning curves of the model files. The other formats have the tables, and csv has the
    values of each query.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 \\
          --segment device --segment n_relevant --output report.html
      ltr-metrics report --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --output report.md
    """  # noqa: D301
    output = Output.of(arguments, RENDERERS)
    baseline = options.choose_baseline(arguments)
    check_rules(rules, baseline, arguments, has_segments=bool(arguments["by"]))
    if learning_curve is not None and not arguments["models"]:
        raise LtrValueError("--learning-curve needs a model file: --model NAME=FILE.")
    metrics, settings = requested_metrics(arguments), options.comparison_settings(arguments)
    source = read_source(arguments)
    is_one_query = any(queries.n_queries < 2 for queries in source.queries.values())
    summary = summarize(
        source.queries,
        source.scores,
        metrics,
        baseline=baseline,
        comparing=settings,
        intervals_of_means=None if is_one_query else options.interval_settings(arguments),
        rules=rules,
        **options.gate_settings(arguments),
        complete=True,
        learning={} if learning_curve is None else _learning(arguments, metrics, source, learning_curve),
        source=source.description,
        origins=source.origins,
        **options.policy(arguments),
    )
    output.write(RENDERERS[output.form](summary))
    return gate_status(summary.gate)


def _learning(
    arguments: dict[str, Any], metrics: list[OneMetric] | None, source: Source, every: int
) -> dict[str, list[LearningCurve]]:
    """Return the learning curves of the model files, one per metric."""
    request = resolve(metrics, **options.policy(arguments))
    logs = log_rounds(arguments["models"], source.features, next(iter(source.queries.values())), request, every, "data")
    return {
        name: [log.learning_curve("data", str(metric), arguments["confidence"]) for metric in request.metrics]
        for name, log in logs.items()
    }
