"""The subcommand ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ltr_metrics.analysis.intervals import intervals as intervals_of_means
from ltr_metrics.cli import options
from ltr_metrics.cli.data import evaluate_sorted, read_source, requested_metrics
from ltr_metrics.cli.means import printed_means
from ltr_metrics.cli.output import Output, print_message
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.saved import require_ending
from ltr_metrics.report import Report, as_json, as_per_query_csv, summarize

FORMATS = ("text", "json", "csv", "markdown", "latex")


@options.subcommand(
    "Evaluate models on labelled data.",
    FORMATS,
    save=options.output_option(
        "--save",
        "Save the values per query of the model NAME as a Parquet table, which 'compare --result' reads. You can leave "
        "out NAME if there is one model.",
        "[NAME=]FILE",
    ),
)
def evaluate(
    inputs: options.Inputs,
    metrics: options.Metrics,
    intervals: options.Intervals,
    output: Output,
    save: tuple[str, ...],
) -> None:
    """Evaluate models on labelled data.

    The result has the mean and the quantiles of each metric, and the number of queries that its
    mean leaves out. With --confidence it has an interval of each mean. With --format csv it has the
    values of each query, and --save writes them as Parquet. With --skill, all of them have the chance
    level, the ideal and the skill.

    DATA are LETOR files, or tables with the columns qid and label (.parquet, .arrow, .feather,
    .csv, .tsv, .jsonl, .json). They can be compressed. The query sizes of a LETOR file can be in
    FILE.query, and the weights of its documents in FILE.weight. Use --qrels and --run for TREC
    files.

    \b
    Examples:
      ltr-metrics evaluate test.txt --model new=model.txt --scores bm25=25
      ltr-metrics evaluate scores.csv --scores base=score \\
          -m ndcg@10,map --segment device
      ltr-metrics evaluate test.parquet --model new=model.txt \\
          --save production.parquet
      ltr-metrics evaluate part-*.parquet --scores new=s1 --sorted
      ltr-metrics evaluate --qrels qrels.txt --run bm25=run.txt \\
          --convention trec_eval -m map,p@10
    """  # noqa: D301  (click needs the escape character itself)
    files = _files_to_save(save, options.model_names())
    output = output.checked(FORMATS, [*inputs.files(), *metrics.files()], *files.values())
    settings = options.settings(intervals, without="cluster")
    if intervals.confidence is None:
        options.refuse(settings, "is about confidence intervals: add --confidence, such as --confidence 0.95.")
        settings = {}
        if not (save or inputs.is_sorted):
            options.refuse(("cluster",), "needs --confidence, whose intervals use it, or --save, which keeps it.")
    details: dict[str, Any] = {"source": inputs.description(), "origins": inputs.origins()}
    if inputs.is_sorted:
        results = evaluate_sorted(inputs, metrics, requested_metrics(metrics))
        estimates = {name: intervals_of_means(one, **settings) for name, one in results.items()} if settings else {}
        report = Report(evaluations=results, intervals=estimates, **details)
    else:
        requested = requested_metrics(metrics)
        source = read_source(inputs, by=metrics.by, cluster=intervals.cluster)
        details |= {"intervals_of_means": settings or None, "skill": metrics.skill, **metrics.policy()}
        report = summarize(source.queries, source.scores, requested, **details)
    if output.form == "json":
        text = as_json(report)
    elif output.form == "csv":
        text = as_per_query_csv(report)
    else:
        text = output.in_tables(printed_means(report))
    for name, file in files.items():
        report.evaluations[name].save(file)
        print_message(f"Wrote {file}.")
    output.write(text)


def _files_to_save(items: Iterable[str], models: list[str]) -> dict[str, Path]:
    """Return the file to which the result of each model is saved."""
    files: dict[str, Path] = {}
    for item in items:
        name, equals, file = item.partition("=")
        if not equals and len(models) == 1:
            name, file = models[0], item
        if name not in models or not file or name in files:
            names = ", ".join(models) or "the models"
            raise LtrValueError(f"--save must have the form NAME=FILE, once for each NAME of {names}. Got {item!r}.")
        if file == "-":
            raise LtrValueError(f"--save {item} must name a file, because standard output takes the result as text.")
        require_ending(Path(file))
        files[name] = Path(file)
    return files
