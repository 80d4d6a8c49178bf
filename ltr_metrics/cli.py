"""The command ``ltr-metrics``. Exit status: 0, or 2 when it could not run."""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ltr_metrics import __version__
from ltr_metrics.conventions import CONVENTIONS, DEFAULT_METRICS
from ltr_metrics.errors import LtrError, LtrValueError
from ltr_metrics.explain import explain_difference_of
from ltr_metrics.io import write_whole
from ltr_metrics.metrics.names import split_names
from ltr_metrics.report import as_json, as_latex, as_markdown, as_per_query_csv, as_text, summarize
from ltr_metrics.sources import Columns, Source, read_source

COULD_NOT_RUN = 2
RENDERERS = {"text": as_text, "json": as_json, "csv": as_per_query_csv, "markdown": as_markdown, "latex": as_latex}
KNOWN = ", ".join(CONVENTIONS)

F = TypeVar("F", bound=Callable[..., Any])

SOURCE_OPTIONS = (
    click.argument("data", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option(
        "--model", "models", multiple=True, metavar="NAME=FILE", help="A LightGBM model file (.txt). Repeatable."
    ),
    click.option(
        "--scores",
        multiple=True,
        metavar="NAME=COLUMN",
        help="A column of scores: its name in a table, its number in LETOR. Repeatable.",
    ),
    click.option(
        "--qrels",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="TREC judgements, instead of DATA.",
    ),
    click.option("--run", "runs", multiple=True, metavar="NAME=FILE", help="A TREC run, with --qrels. Repeatable."),
    click.option(
        "--topics",
        type=click.Choice(["both", "qrels"]),
        default="both",
        show_default=True,
        help="Of TREC files: those in both, or all of the qrels (a run that lacks one retrieves nothing).",
    ),
    click.option("--qid", default="qid", show_default=True, help="Column of query ids in a table."),
    click.option("--label", default="label", show_default=True, help="Column of grades in a table."),
    click.option("--docid", help="Column of document ids in a table."),
    click.option("--weight", help="Column of row weights in a table; a query's weight is their mean."),
    click.option(
        "--n-features", type=click.IntRange(min=1), help="Features of a LETOR file, if the last ones may be absent."
    ),
    click.option("--zero-based", is_flag=True, help="Feature numbers of the LETOR file start at 0."),
)
POLICY_OPTIONS = (
    click.option("--ties", help="mean, stable, worst, best or docid.  [default: the convention's, else mean]"),
    click.option("--no-relevant", help="skip, drop, error or a number.  [default: the convention's, else skip]"),
)
EVALUATE_OPTIONS = (
    click.option("--metrics", help=f"Names, separated by commas.  [default: {','.join(DEFAULT_METRICS)}]"),
    *POLICY_OPTIONS,
    click.option("--convention", help=f"Another system's choices: {KNOWN}."),
    click.option("--by", multiple=True, metavar="COLUMN", help="Column of segments in a table. Repeatable."),
)
OUT = click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write.  [default: the terminal]",
)


def options(*groups: tuple[Callable[[Any], Any], ...]) -> Callable[[F], F]:
    """Give a command several groups of options, in this order."""

    def give(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return give


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ltr-metrics")
def cli() -> None:
    """Ranking evaluation: what a ranker's scores are worth, per query."""


@cli.command()
@options(SOURCE_OPTIONS, EVALUATE_OPTIONS)
@click.option("--format", "form", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@OUT
def evaluate(form: str, out: Path | None, **given: Any) -> None:
    """Evaluate models: means, quantiles, queries left out.

    DATA are LETOR files (compressed or not; query sizes may stand in FILE.query), or .parquet, .csv, .tsv tables with
    the columns qid and label; or --qrels and --run name TREC files.

    \b
    Examples:
      ltr-metrics evaluate test.txt --model new=model.txt --scores bm25=25
      ltr-metrics evaluate scores.csv --scores base=score --metrics ndcg@10,map --by device
      ltr-metrics evaluate --qrels qrels.txt --run bm25=run.txt --convention trec_eval --metrics map,p@10
    """  # noqa: D301  (click wants the character itself)
    _evaluate(form, out, given)


@cli.command()
@options(SOURCE_OPTIONS, EVALUATE_OPTIONS)
@click.option("--format", "form", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@OUT
def report(form: str, out: Path | None, **given: Any) -> None:
    """Do the same as evaluate.

    \b
    Examples:
      ltr-metrics report test.txt --model new=model.txt --scores bm25=25
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 --format csv --out per_query.csv
    """  # noqa: D301
    _evaluate(form, out, given)


@cli.command()
@options(SOURCE_OPTIONS, POLICY_OPTIONS)
@click.option("--metric", required=True, help="One metric, as ndcg@10.")
@click.option("--a", required=True, help=f"From the number under this convention: {KNOWN}.")
@click.option("--b", required=True, help="To the number under this one.")
@click.option("--format", "form", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
@OUT
def explain(form: str, out: Path | None, metric: str, a: str, b: str, **given: Any) -> None:
    """Explain a difference between two conventions.

    \b
    Example:
      ltr-metrics explain test.txt --scores bm25=25 --metric ndcg@10 --a lightgbm --b trec_eval
    """  # noqa: D301
    policy = {"ties": given.pop("ties"), "no_relevant": _number_or_word(given.pop("no_relevant"))}
    source = _source(given)
    found = {
        name: explain_difference_of(source.queries[name], scores, metric=metric, a=a, b=b, **policy)
        for name, scores in source.scores.items()
    }
    if form == "json":
        text = json.dumps({name: one.to_dict() for name, one in found.items()}, indent=2, allow_nan=False) + "\n"
    elif form == "csv":
        tables = [one.to_pandas() for one in found.values()]
        for name, table in zip(found, tables, strict=True):
            table.insert(0, "model", name)
        text = "".join(table.to_csv(index=False, header=i == 0) for i, table in enumerate(tables))
    else:
        text = "\n\n".join(f"{name}: {one}" for name, one in found.items()) + "\n"
    _write(text, out)


def main() -> None:
    """Run the command; an error of the user's is one line on standard error."""
    warnings.showwarning = lambda message, *_, **__: click.echo(f"warning: {message}", err=True)
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("stopped.", err=True)
        sys.exit(COULD_NOT_RUN)
    except click.ClickException as error:
        error.show()
        sys.exit(COULD_NOT_RUN)
    except (LtrError, OSError) as error:
        click.echo(f"ltr-metrics: error: {error}", err=True)
        sys.exit(COULD_NOT_RUN)
    except Exception:  # a fault of ours: 1 would say that a gate failed
        traceback.print_exc()
        sys.exit(COULD_NOT_RUN)


def _evaluate(form: str, out: Path | None, given: dict[str, Any]) -> None:
    metrics = given.pop("metrics")
    policy = {key: given.pop(key) for key in ("ties", "convention")}
    policy["no_relevant"] = _number_or_word(given.pop("no_relevant"))
    source = _source(given)
    made = summarize(
        source.queries,
        source.scores,
        None if metrics is None else [name.strip() for name in split_names(metrics)],
        source=source.description,
        origins=source.origins,
        **policy,
    )
    _write(RENDERERS[form](made), out)


def _source(given: dict[str, Any]) -> Source:
    columns = Columns(**{name: given.pop(name) for name in ("qid", "label", "docid", "weight")}, by=given.pop("by", ()))
    source = read_source(
        given.pop("data"),
        models=_named(given.pop("models"), "--model"),
        scores=_named(given.pop("scores"), "--scores"),
        runs=_named(given.pop("runs"), "--run"),
        columns=columns,
        **given,
    )
    if not source.scores:
        raise LtrValueError("Name at least one model, column of scores or run: --model, --scores or --run.")
    return source


def _write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        click.echo(f"Wrote {out}.", err=True)


def _named(items: tuple[str, ...], option: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise LtrValueError(f"{option} must have the form NAME=VALUE. Got {item!r}.")
        if name in named:
            raise LtrValueError(f"{option} is given twice for the name {name!r}.")
        named[name] = value
    return named


def _number_or_word(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
