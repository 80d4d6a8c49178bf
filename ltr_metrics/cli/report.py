"""The subcommand ``report``."""

from __future__ import annotations

from typing import Any

import click

from ltr_metrics.cli import options
from ltr_metrics.cli.compare import check_rules, choose_baseline
from ltr_metrics.cli.curve import log_rounds
from ltr_metrics.cli.evaluate import RENDERERS as EVALUATION_RENDERERS
from ltr_metrics.cli.inputs import ModelSpecs, input_files, parse_models
from ltr_metrics.cli.output import Output, gate_status, require_targets
from ltr_metrics.cli.own_metrics import requested_metrics
from ltr_metrics.cli.progress import run_step
from ltr_metrics.cli.simulated_users import simulation_settings
from ltr_metrics.cli.sources import Source, read_source
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.metrics.requests import OneMetric, resolve
from ltr_metrics.report import summarize
from ltr_metrics.report.html import as_html

RENDERERS = EVALUATION_RENDERERS | {"html": as_html}


@click.command(cls=options.Command, short_help="Write a report as one HTML file.")
@options.add_options(
    options.MODELS,
    options.LEARNING_CURVE,
    options.DATA,
    options.METRICS,
    options.COMPARISON,
    options.GATE,
    options.INTERLEAVING,
    options.output_options(*RENDERERS),
)
def report(rules: tuple[str, ...], gate_each_segment: bool, learning_curve: int | None, **arguments: Any) -> int:
    """Write a report as one HTML file that needs no network.

    The report has means and quantiles, the metrics by cutoff and by segment, and an audit of ties
    and judgments. With two models or more, it also has the comparison with the baseline, the
    queries that gain and lose most, and the changes of the rankings. With --interleave and
    --clicks, it predicts which model users prefer. With --learning-curve, it has the learning
    curves of the model files. The other formats have the tables, and csv has the values of each
    query.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 \\
          --segment device --segment n_relevant --output report.html
      ltr-metrics report --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --output report.md
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --interleave ppm --clicks informational:3 --output report.html
    """  # noqa: D301
    output, specs = Output.from_arguments(arguments, RENDERERS), parse_models(arguments)
    if output.format == "html" and output.path is None:
        raise LtrValueError("HTML must be written to a file: --output report.html.")
    require_targets(input_files(arguments, specs), output)
    baseline = choose_baseline(arguments, specs)
    check_rules(rules, arguments, specs, baseline, each_segment=gate_each_segment)
    if learning_curve is not None and not specs.models:
        raise LtrValueError("--learning-curve needs a model file: --model NAME=FILE.")
    metrics, settings = requested_metrics(arguments), options.comparison_settings(arguments)
    simulation = simulation_settings(arguments, specs, output.format)
    source = read_source(arguments, specs)
    learning = {} if learning_curve is None else _learning(arguments, metrics, specs, source, learning_curve)
    summary = run_step(
        "Evaluating and comparing",
        lambda: summarize(
            source.queries,
            source.scores,
            metrics,
            baseline=baseline,
            comparing=settings,
            intervals_of_means=_interval_settings(settings, source),
            rules=rules,
            each_segment=gate_each_segment,
            complete=True,
            learning=learning,
            online=simulation,
            source=source.description,
            origins=source.origins,
            **options.policy(arguments),
        ),
    )
    output.write(run_step("Rendering", lambda: RENDERERS[output.format](summary)))
    return gate_status(summary.gate)


def _learning(
    arguments: dict[str, Any], metrics: list[OneMetric] | None, specs: ModelSpecs, source: Source, every: int
) -> dict[str, list[LearningCurve]]:
    """Return the learning curves of the model files, one per metric."""
    request = resolve(metrics, **options.policy(arguments))
    queries = source.queries[next(iter(specs.models))]
    logs = log_rounds(specs, source.features, queries, request, every, data="data")
    confidence = arguments["confidence"]
    return {
        name: [log.learning_curve("data", str(metric), confidence) for metric in request.metrics]
        for name, log in logs.items()
    }


def _interval_settings(settings: dict[str, Any], source: Source) -> dict[str, Any] | None:
    """Return the settings of the intervals of means, which are those of the differences; None for one query."""
    if any(queries.n_queries < 2 for queries in source.queries.values()):
        return None
    return {name: settings[name] for name in ("interval", "confidence", "n_resamples", "random_state")}
