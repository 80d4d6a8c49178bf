"""The command ``ltr-metrics``. Exit status: 0, or 2 when it could not run."""

from __future__ import annotations

import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import click

from ltr_metrics import __version__
from ltr_metrics.conventions import DEFAULT_METRICS
from ltr_metrics.errors import LtrError, LtrValueError
from ltr_metrics.evaluation import Queries
from ltr_metrics.io import read_letor, read_table, write_whole
from ltr_metrics.io.table import is_table
from ltr_metrics.metrics.names import split_names
from ltr_metrics.models import predict
from ltr_metrics.report import as_json, as_per_query_csv, as_text, summarize

COULD_NOT_RUN = 2
RENDERERS = {"text": as_text, "json": as_json, "csv": as_per_query_csv}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ltr-metrics")
def cli() -> None:
    """Ranking evaluation: what a ranker's scores are worth, per query."""


@cli.command()
@click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", "models", multiple=True, metavar="NAME=FILE", help="A LightGBM model file (.txt). Repeatable.")
@click.option(
    "--scores",
    multiple=True,
    metavar="NAME=COLUMN",
    help="A column of scores: its name in a table, its number in LETOR. Repeatable.",
)
@click.option("--metrics", help=f"Names, separated by commas.  [default: {','.join(DEFAULT_METRICS)}]")
@click.option("--ties", help="mean, stable, worst, best or docid.  [default: mean]")
@click.option("--no-relevant", help="skip, drop, error or a number.  [default: skip]")
@click.option("--convention", help="Another system's choices: lightgbm or xgboost.")
@click.option("--qid", "qid_column", default="qid", show_default=True, help="Column of query ids in a table.")
@click.option("--label", "label_column", default="label", show_default=True, help="Column of grades in a table.")
@click.option(
    "--n-features", type=click.IntRange(min=1), help="Features of a LETOR file, if the last ones may be absent."
)
@click.option("--zero-based", is_flag=True, help="Feature numbers of the LETOR file start at 0.")
@click.option("--format", "form", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write.  [default: the terminal]",
)
def report(
    data: tuple[Path, ...],
    models: tuple[str, ...],
    scores: tuple[str, ...],
    metrics: str | None,
    form: str,
    out: Path | None,
    **options: Any,
) -> None:
    """Evaluate models on DATA: means, quantiles over queries, queries left out.

    DATA are LETOR files (compressed or not; query sizes may stand in FILE.query), or .parquet, .csv, .tsv tables with
    the columns qid and label.

    \b
    Examples:
      ltr-metrics report test.txt --model new=model.txt --scores bm25=25
      ltr-metrics report scores.csv --scores base=score --metrics ndcg@10,map --format json
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 --format csv --out per_query.csv
    """  # noqa: D301  (click wants the character itself)
    policy = {key: options.pop(key) for key in ("ties", "convention")}
    policy["no_relevant"] = _number_or_word(options.pop("no_relevant"))
    by_model, by_column = _named(models, "--model"), _named(scores, "--scores")
    queries, columns = _read(data, by_model, by_column, **options)
    made = summarize(
        queries,
        columns,
        None if metrics is None else [name.strip() for name in split_names(metrics)],
        source=", ".join(map(str, data)),
        origins={name: f"column {column}" for name, column in by_column.items()} | by_model,
        **policy,
    )
    text = RENDERERS[form](made)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        click.echo(f"Wrote {out}.", err=True)


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


def _read(
    data: tuple[Path, ...],
    models: dict[str, str],
    scores: dict[str, str],
    *,
    qid_column: str,
    label_column: str,
    **letor: Any,
) -> tuple[Queries, dict[str, Any]]:
    twice = models.keys() & scores.keys()
    if twice:
        raise LtrValueError(
            f"The name {twice.pop()!r} is given to a model and to a column of scores; names must differ."
        )
    if len({is_table(path) for path in data}) > 1:
        raise LtrValueError("DATA must be tables or LETOR files, not both.")
    if is_table(data[0]):
        if letor["n_features"] is not None or letor["zero_based"]:
            raise LtrValueError("--n-features and --zero-based are for LETOR files; tables have named columns.")
        frame = read_table(data, qid=qid_column, label=label_column, columns=list(scores.values()))
        queries = Queries(frame[label_column].to_numpy(), qid=frame[qid_column].to_numpy())
        columns = {name: frame[column].to_numpy() for name, column in scores.items()}
        return queries, columns | {name: predict(file, frame) for name, file in models.items()}
    read = read_letor(data, **letor)
    first = 0 if letor["zero_based"] else 1
    columns = {name: _letor_column(read.X, column, first) for name, column in scores.items()}
    return Queries(read.y, qid=read.qid, docid=read.docid), columns | {
        n: predict(file, read.X) for n, file in models.items()
    }


def _letor_column(X: Any, column: str, first: int) -> Any:
    if not (column.isascii() and column.isdigit()) or not first <= int(column) < first + X.shape[1]:
        raise LtrValueError(
            f"--scores must name a feature of the LETOR data by number, {first} to {X.shape[1] - 1 + first}. Got {column!r}."
        )
    return X[:, int(column) - first]


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
