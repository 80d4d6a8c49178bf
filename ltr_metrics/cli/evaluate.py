"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ltr_metrics.cli import engine as engines
from ltr_metrics.cli import options as of
from ltr_metrics.cli import stream
from ltr_metrics.cli.inputs import files_read, named, names_of, source_of
from ltr_metrics.cli.output import chosen_format, require_targets, write, write_file
from ltr_metrics.cli.progress import step
from ltr_metrics.cli.sources import Source
from ltr_metrics.errors import LtrValueError
from ltr_metrics.report import Report, as_json, as_latex, as_markdown, as_per_query_csv, as_text, summarize

RENDERERS = {"text": as_text, "json": as_json, "csv": as_per_query_csv, "markdown": as_markdown, "latex": as_latex}


@click.command(cls=of.Command)
@of.options(of.DATA, of.FILES, of.METRICS, of.ENGINE, of.output(*RENDERERS))
@of.output_option(
    "--save",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Write the result, for compare --result: a Parquet file. NAME where several models are evaluated. Repeatable.",
)
@of.output_option(
    "--sorted",
    "is_sorted",
    is_flag=True,
    help="The rows of a query stand together: read part after part, however large the files are.",
)
def evaluate(
    form: str | None,
    out: Path | None,
    save: tuple[str, ...],
    is_sorted: bool,
    engine: str | None,
    shuffle: bool,
    **given: Any,
) -> None:
    """Evaluate models: means, quantiles, queries left out.

    DATA are LETOR files (compressed or not; query sizes may stand in FILE.query), or tables (.parquet, .arrow, .csv, .tsv, .npz) with the
    columns qid and label; or --qrels and --run name TREC files. A hyphen (-) is a CSV from standard input.

    \b
    Examples:
      ltr-metrics evaluate test.txt --model new=model.txt --scores bm25=25
      ltr-metrics evaluate scores.csv --scores base=score \\
          --metrics ndcg@10,map --segment device
      ltr-metrics evaluate test.parquet --model new=model.txt \\
          --save production.parquet
      ltr-metrics evaluate part-*.parquet --scores new=s1 --engine dask
      ltr-metrics evaluate --qrels qrels.txt --run bm25=run.txt \\
          --convention trec_eval --metrics map,p@10
    """  # noqa: D301  (click wants the character itself)
    if is_sorted and engine is not None:
        raise LtrValueError("--sorted reads part after part, --engine all parts at once: give one of the two.")
    if shuffle and engine is None:
        raise LtrValueError("--shuffle is for --engine: without it the rows of a query may stand anywhere.")
    renderers: Any = stream.RENDERERS if is_sorted or engine is not None else RENDERERS
    form, items = chosen_format(form, out, renderers), named(given)
    files = _files_to_save(save, items.names)
    require_targets(files_read(given, items), out, *files.values())
    metrics, policy = names_of(given.pop("metrics")), of.policy(given)
    with ExitStack() as stack:
        made: Any
        if engine is not None:
            evaluated = engines.evaluated_by(engine, given, items, metrics, policy, shuffle=shuffle)
            made = results = stack.enter_context(evaluated)
        elif is_sorted:
            made = results = stream.evaluate_batches(given, items, metrics, policy)
        else:
            source = source_of(given, items)
            made = step("Evaluating", lambda: _report(source, metrics, policy))
            results = made.evaluations
        text = renderers[form](made)
        for name, file in files.items():
            write_file(file, results[name].save)
    write(text, out, form)


def _report(source: Source, metrics: list[str] | None, policy: dict[str, Any]) -> Report:
    return summarize(
        source.queries, source.scores, metrics, source=source.description, origins=source.origins, **policy
    )


def _files_to_save(items: Iterable[str], models: list[str]) -> dict[str, Path]:
    """Return which model's result goes into which file."""
    files: dict[str, Path] = {}
    for item in items:
        name, equals, file = item.partition("=")
        if not equals and len(models) == 1:
            name, file = models[0], item
        if name not in models or not file:
            raise LtrValueError(
                f"--save must have the form NAME=FILE, NAME being one of {', '.join(models) or 'the models'} (or FILE, for one model alone). Got {item!r}."
            )
        if name in files:
            raise LtrValueError(f"--save is given twice for {name!r}.")
        files[name] = Path(file)
    return files
