"""The subcommand ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ltr_metrics.cli import evaluate_sorted, options
from ltr_metrics.cli.evaluate_engine import evaluate_with_engine
from ltr_metrics.cli.inputs import input_files, parse_models
from ltr_metrics.cli.output import Output, require_targets, write_file
from ltr_metrics.cli.own_metrics import requested_metrics
from ltr_metrics.cli.progress import run_step
from ltr_metrics.cli.sources import read_source
from ltr_metrics.errors import LtrValueError
from ltr_metrics.report import as_json, as_latex, as_markdown, as_per_query_csv, as_text, summarize

RENDERERS = {"text": as_text, "json": as_json, "csv": as_per_query_csv, "markdown": as_markdown, "latex": as_latex}


@click.command(cls=options.Command, short_help="Evaluate models on labelled data.")
@options.add_options(
    options.MODELS,
    options.DATA,
    options.BATCHES,
    options.METRICS,
    options.ENGINE,
    options.INTERVALS_OF_MEANS,
    options.output_options(*RENDERERS),
    options.SAVE,
)
def evaluate(save: tuple[str, ...], is_sorted: bool, engine: str | None, shuffle: bool, **arguments: Any) -> None:
    """Evaluate models on labelled data.

    The result has the mean and the quantiles of each metric, and the number of queries that its
    mean leaves out. With --confidence it has an interval of each mean. With --format csv it has the
    values of each query.

    DATA are LETOR files, or tables with the columns qid and label (.parquet, .arrow, .feather,
    .csv, .tsv, .npz). They can be compressed. Query sizes of a LETOR file can be in FILE.query. A
    hyphen (-) reads a CSV table from standard input. Use --qrels and --run for TREC files.

    \b
    Examples:
      ltr-metrics evaluate test.txt --model new=model.txt --scores bm25=25
      ltr-metrics evaluate scores.csv --scores base=score \\
          -m ndcg@10,map --segment device
      ltr-metrics evaluate test.parquet --model new=model.txt \\
          --save production.parquet
      ltr-metrics evaluate test.parquet --scores new=s1 --confidence 0.95 \\
          --cluster user
      ltr-metrics evaluate part-*.parquet --scores new=s1 --engine dask
      ltr-metrics evaluate --qrels qrels.txt --run bm25=run.txt \\
          --convention trec_eval -m map,p@10
    """  # noqa: D301  (click needs the escape character itself)
    if is_sorted and engine is not None:
        raise LtrValueError("--sorted and --engine cannot be combined. Use one of them.")
    if shuffle and engine is None:
        raise LtrValueError("--shuffle needs --engine. Without an engine, the rows of a query can be anywhere.")
    if engine == "spark" and arguments["metrics_module"] is not None:
        raise LtrValueError(
            "--metrics-module does not work with --engine spark, whose processes cannot import the file. Use --engine "
            "dask, or ltr_metrics.spark.evaluate in a program."
        )
    is_whole = not is_sorted and engine is None
    renderers: Any = RENDERERS if is_whole else evaluate_sorted.RENDERERS
    output, specs = Output.from_arguments(arguments, renderers), parse_models(arguments)
    files = _files_to_save(save, specs.names)
    require_targets(input_files(arguments, specs), output, *files.values())
    metrics, policy = requested_metrics(arguments), options.policy(arguments)
    settings = options.interval_settings(arguments)
    if arguments["cluster"] is not None and settings is None and not save:
        raise LtrValueError("--cluster needs --confidence, whose intervals use it, or --save, which keeps it.")
    if not is_whole and arguments["cluster"] is not None:
        raise LtrValueError(
            "--cluster cannot be combined with --sorted or --engine, which do not read clusters. Leave them out, or "
            "save the result and pass clusters to ltr_metrics.intervals in Python."
        )
    with ExitStack() as stack:
        evaluated: Any
        if engine is not None:
            results = stack.enter_context(
                evaluate_with_engine(engine, arguments, specs, metrics, policy, shuffle=shuffle)
            )
            evaluated = evaluate_sorted.Estimated.of(results, settings)
        elif is_sorted:
            results = evaluate_sorted.evaluate_batches(arguments, specs, metrics, policy)
            evaluated = evaluate_sorted.Estimated.of(results, settings)
        else:
            source = read_source(arguments, specs)
            details: dict[str, Any] = {"source": source.description, "origins": source.origins}
            details["intervals_of_means"] = settings
            evaluated = run_step(
                "Evaluating", lambda: summarize(source.queries, source.scores, metrics, **details, **policy)
            )
            results = evaluated.evaluations
        text = renderers[output.format](evaluated)
        for name, file in files.items():
            write_file(file, results[name].save)
    output.write(text)


def _files_to_save(items: Iterable[str], models: list[str]) -> dict[str, Path]:
    """Return the file to which the result of each model is saved."""
    files: dict[str, Path] = {}
    for item in items:
        name, equals, file = item.partition("=")
        if not equals and len(models) == 1:
            name, file = models[0], item
        if name not in models or not file:
            raise LtrValueError(
                f"--save must have the form NAME=FILE, where NAME is one of {', '.join(models) or 'the models'}. "
                f"FILE alone needs a single model. Got {item!r}."
            )
        if name in files:
            raise LtrValueError(f"--save is given twice for {name!r}. Use it once for each model.")
        files[name] = Path(file)
    return files
