"""The options of the commands, in sections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ltr_metrics._engine.words import Topics
from ltr_metrics.analysis.comparison.settings import CORRECTION_OVER
from ltr_metrics.analysis.inference import CORRECTIONS, INTERVALS, TESTS
from ltr_metrics.interleaving.clicks import PUBLISHED
from ltr_metrics.interleaving.methods import METHODS
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.requests import DEFAULT_METRICS

KNOWN = ", ".join(CONVENTIONS)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DATA_FILE = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)  # a hyphen is standard input

ORDER, SPREADSHEET_SAFE = "ltr_metrics.order", "ltr_metrics.spreadsheet_safe"  # where a context keeps them

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *names: Any, section: str, **given: Any) -> None:
        super().__init__(*names, **given)
        self.section = section


class Command(click.Command):
    """A command whose help has its options in sections, and which remembers the order of those that were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[ORDER] = [option.name for option in order]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would exit as if the reader of standard output had gone
            raise click.ClickException(f"a process or connection ended too early: {error}.") from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            shown = option.get_help_record(ctx)
            if shown is not None and isinstance(option, click.Option):
                sections.setdefault(getattr(option, "section", OUTPUT), []).append(shown)
        for name, of_section in sections.items():
            with formatter.section(name):
                formatter.write_dl(of_section)


def options_in_order() -> list[str]:
    """Return the names of the options on the command line, each as often as it was given."""
    order: list[str] = click.get_current_context().meta[ORDER]
    return order


def is_spreadsheet_safe() -> bool:
    """Whether text that a spreadsheet would run as a formula is to be quoted in CSV."""
    return bool(click.get_current_context().meta[SPREADSHEET_SAFE])


def options(*groups: tuple[Decorator, ...]) -> Callable[[F], F]:
    """Give a command several groups of options, in this order."""

    def give(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return give


def _section(name: str) -> Callable[..., Decorator]:
    return partial(click.option, cls=Option, section=name)


OUTPUT = "Output"
_models, _files, _metrics = _section("What is evaluated"), _section("Data"), _section("Metrics")
_engine = _section("Engine")
_comparison, _gate, _online = _section("Comparison"), _section("Gate"), _section("Online")
_output = _section(OUTPUT)

DATA = (
    click.argument("data", nargs=-1, type=DATA_FILE),
    _models(
        "--model",
        "models",
        multiple=True,
        metavar="[NAME=]FILE",
        help="A model file of LightGBM (.txt) or XGBoost (.json, .ubj). NAME is the name in the results; without it, the file's "
        "name without its ending. Repeatable.",
    ),
    _models(
        "--scores",
        multiple=True,
        metavar="[NAME=]COLUMN_OR_FILE",
        help="Scores: a column of the table, the number of a LETOR feature, or a file of one score a row (.npy, .txt, .csv). "
        "Without NAME, the column is the name. Repeatable.",
    ),
    _models("--run", "runs", multiple=True, metavar="[NAME=]FILE", help="A TREC run, with --qrels. Repeatable."),
)
RESULTS = (
    _models(
        "--result",
        "results",
        multiple=True,
        metavar="[NAME=]FILE",
        help="A result that evaluate --save wrote. Repeatable.",
    ),
)
FILES = (
    _files("--qid", metavar="COLUMN", default="qid", show_default=True, help="Column of query ids in a table."),
    _files("--label", metavar="COLUMN", default="label", show_default=True, help="Column of grades in a table."),
    _files("--docid", metavar="COLUMN", help="Column of document ids in a table."),
    _files("--weight", metavar="COLUMN", help="Column of row weights in a table; a query's weight is their mean."),
    _files(
        "--n-features", type=click.IntRange(min=1), help="Features of a LETOR file, if the last ones may be absent."
    ),
    _files("--zero-based", is_flag=True, help="Feature numbers of the LETOR file start at 0."),
    _files("--qrels", type=FILE, help="TREC judgements, instead of DATA."),
    _files(
        "--topics",
        type=click.Choice(get_args(Topics)),
        help="Where qrels and run have not the same topics: take those that the qrels and all runs have, or all of the qrels (a run that lacks one retrieves nothing).  "
        "[default: an error]",
    ),
)
POLICY = (
    _metrics("--convention", metavar="NAME", help=f"Another system's choices: {KNOWN}."),
    _metrics(
        "--ties", metavar="WORD", help="mean, stable, worst, best or docid.  [default: the convention's, else mean]"
    ),
    _metrics(
        "--no-relevant",
        metavar="WORD_OR_NUMBER",
        help="For queries that a metric is undefined on: skip, drop, error or a number.  [default: the convention's, else skip]",
    ),
)
METRICS = (
    _metrics(
        "-m", "--metrics", metavar="NAMES", help=f"Names, separated by commas.  [default: {','.join(DEFAULT_METRICS)}]"
    ),
    *POLICY,
    _metrics(
        "--segment",
        "by",
        multiple=True,
        metavar="COLUMN",
        help="Segments: a column of the table; or n_documents or n_relevant, the number of a query's (relevant) documents. Repeatable.",
    ),
)
COMPARISON = (
    _comparison("--baseline", metavar="NAME", help="What the others are compared with.  [default: the first]"),
    _comparison(
        "--test", type=click.Choice(list(TESTS)), default="randomization", show_default=True, help="Paired, two-sided."
    ),
    _comparison(
        "--correction",
        type=click.Choice(list(CORRECTIONS)),
        default="holm",
        show_default=True,
        help="Of p-values, for their number.",
    ),
    _comparison(
        "--correction-over",
        type=click.Choice(CORRECTION_OVER),
        default="models",
        show_default=True,
        help="The models of each metric, or all metrics and models.",
    ),
    _comparison(
        "--ci-method",
        "interval",
        type=click.Choice(list(INTERVALS)),
        default="wider",
        show_default=True,
        help="Bootstrap over queries (bca, percentile), Student's t, or the wider of bca and t at each end. Gates use it.",
    ),
    _comparison("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals."),
    _comparison(
        "--power", type=float, default=0.8, show_default=True, help="Of the smallest detectable difference (mde)."
    ),
    _comparison(
        "--n-resamples",
        "n_resamples",
        type=int,
        default=10_000,
        show_default=True,
        help="Randomizations, and bootstrap samples.",
    ),
    _comparison(
        "--cluster", metavar="COLUMN", help="Column of users or query texts in a table, which are resampled whole."
    ),
    _comparison(
        "--seed",
        "random_state",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="The same number, the same result.",
    ),
)
GATE = (
    _gate(
        "--gate",
        "rules",
        multiple=True,
        metavar="RULE",
        help="'ndcg@10 > -0.005': the whole interval of the difference is above -0.005. 'share(ndcg@10 < -0.1) < 5%': so few queries lose more "
        "than 0.1. 'new: ...' is for one model. Repeatable; exit status 1 if one fails.",
    ),
    _gate("--gate-each-segment", is_flag=True, help="Each rule must pass in each segment (--segment) as well."),
)
ONLINE = (
    _online(
        "--interleave",
        type=click.Choice(list(METHODS)),
        help="Predict which model users prefer: mix the rankings by this method, and simulate clicks. With --clicks, and --seed.",
    ),
    _online(
        "--clicks",
        metavar="NAME:GRADES",
        help=f"The simulated users: {', '.join(PUBLISHED)}, and how many grades there are, such as informational:3. Or the probabilities of a "
        "click by grade and, behind a slash, of stopping: 0.4,0.7,0.9/0.1,0.3,0.5.",
    ),
    _online("--impressions", type=click.IntRange(min=1), help="How many are simulated.  [default: 10000]"),
    _online("--length", "length", type=click.IntRange(min=1), metavar="K", help="Documents in a list.  [default: 10]"),
)
ENGINE = (
    _engine(
        "--engine",
        type=click.Choice(["dask", "spark"]),
        help="Who reads the tables (.parquet, .csv, .tsv) and evaluates their parts, on all processors of this machine.",
    ),
    _engine(
        "--shuffle",
        is_flag=True,
        help="Dask brings the rows of a query together; else each must be in one part (file or row group). Spark always does.",
    ),
)
EXPLANATION = (
    _metrics("-m", "--metric", metavar="NAME", required=True, help="One metric, as ndcg@10."),
    _metrics("--from", "a", metavar="NAME", required=True, help=f"From the number under this convention: {KNOWN}."),
    _metrics("--to", "b", metavar="NAME", required=True, help="To the number under this one."),
    *POLICY[1:],
)


def output(*forms: str) -> tuple[Decorator, ...]:
    """Return the options that say what is written, and where."""
    return (
        _output("--format", "form", type=click.Choice(forms), help="[default: as --output is named, else text]"),
        _output(
            "-o",
            "--output",
            "out",
            type=click.Path(dir_okay=False, readable=False, path_type=Path),
            help="File to write. An existing file is replaced, but never one that the command reads.  [default: the terminal]",
        ),
        _output(
            "--spreadsheet-safe",
            is_flag=True,
            expose_value=False,
            callback=lambda ctx, _, value: ctx.meta.update({SPREADSHEET_SAFE: value}),
            help="In csv, put an apostrophe before text that a spreadsheet would run as a formula. Numbers stay numbers.",
        ),
    )


def output_option(*names: str, **given: Any) -> Decorator:
    """Return a further option of what is written."""
    return _output(*names, **given)


def comparison_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Take out what `ltr_metrics.compare` calls by the same names."""
    names = ("test", "correction", "correction_over", "interval", "confidence", "power", "n_resamples", "random_state")
    return {name: given.pop(name) for name in names}


def policy(given: dict[str, Any]) -> dict[str, Any]:
    """Take out what `ltr_metrics.evaluate` calls by the same names."""
    chosen = {name: given.pop(name) for name in ("convention", "ties") if name in given}
    return chosen | {"no_relevant": _number_or_word(given.pop("no_relevant"))}


def _number_or_word(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
