"""The options of the subcommands, grouped by the section of the help that lists them."""

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

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FILE_OR_STANDARD_INPUT = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)
ORDER = "ltr_metrics.order"  # key in the click context of the options in the order of the command line
REPEAT = "You can repeat this option."
CONVENTION_NAMES = ", ".join(CONVENTIONS)

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Command(click.Command):
    """A subcommand that groups its options by section and records their order on the command line."""

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
            record = option.get_help_record(ctx)
            if record is not None and isinstance(option, click.Option):
                sections.setdefault(getattr(option, "section", OUTPUT), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def options_in_order() -> list[str]:
    """Return the names of the options on the command line, with repetitions."""
    order: list[str] = click.get_current_context().meta[ORDER]
    return order


def add_options(*groups: tuple[Decorator, ...]) -> Callable[[F], F]:
    """Return a decorator that adds groups of options to a subcommand, in this order."""

    def decorate(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def _section(title: str) -> Callable[..., Decorator]:
    return partial(click.option, cls=Option, section=title)


OUTPUT = "Output"
_model, _data, _metric, _engine, _comparison, _gate, _interleaving, _output = map(
    _section, ("Models and scores", "Data", "Metrics", "Engine", "Comparison", "Gate", "Interleaving", OUTPUT)
)

MODELS = (
    click.argument("data", nargs=-1, type=FILE_OR_STANDARD_INPUT),
    _model(
        "--model",
        "models",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Score the data with a model file of LightGBM (.txt) or XGBoost (.json, .ubj). NAME defaults to the name "
        f"of the file without its ending. {REPEAT}",
    ),
    _model(
        "--scores",
        multiple=True,
        metavar="[NAME=]COLUMN_OR_FILE",
        help="Use the scores in a column of the table, in a feature of the LETOR files (given by number), or in a file "
        "with one score per row (.npy, .txt, .csv). NAME defaults to the column, or to the name of the file without "
        f"its ending. {REPEAT}",
    ),
    _model(
        "--run",
        "runs",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Evaluate a TREC run with the judgments of --qrels. NAME defaults to the name of the file without its "
        f"ending. {REPEAT}",
    ),
)
RESULTS = (
    _model(
        "--result",
        "results",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Compare a result that 'evaluate --save' wrote. NAME defaults to the name of the file without its ending. "
        f"{REPEAT}",
    ),
)
DATA = (
    _data(
        "--qid",
        metavar="COLUMN",
        default="qid",
        show_default=True,
        help="Read the query ids from this column of the table.",
    ),
    _data(
        "--label",
        metavar="COLUMN",
        default="label",
        show_default=True,
        help="Read the grades from this column of the table.",
    ),
    _data("--docid", metavar="COLUMN", help="Read document ids from this column of the table.  [default: none]"),
    _data(
        "--weight",
        metavar="COLUMN",
        help="Read row weights from this column of the table; the weight of a query is the mean of its rows.  "
        "[default: equal weights]",
    ),
    _data(
        "--n-features",
        type=click.IntRange(min=1),
        metavar="N",
        help="Set the number of features of the LETOR files, in case they lack the last features.  "
        "[default: the largest number in the files]",
    ),
    _data("--zero-based", is_flag=True, help="Read feature numbers of the LETOR files that start at 0 instead of 1."),
    _data("--qrels", type=FILE, help="Read TREC judgments from this file, and use --run instead of DATA."),
    _data(
        "--topics",
        type=click.Choice(get_args(Topics)),
        help="Choose the topics when the qrels and the runs have different ones: both keeps the topics that the qrels "
        "and all runs have; qrels keeps all topics of the qrels, and a topic that a run lacks counts as a query "
        "without retrieved documents.  [default: different topics are an error]",
    ),
)
BATCHES = (
    _data(
        "--sorted",
        "is_sorted",
        is_flag=True,
        help="Read the files batch by batch, so that they can be larger than memory. The rows of a query must be "
        "adjacent.",
    ),
)
ENGINE = (
    _engine(
        "--engine",
        type=click.Choice(["dask", "spark"]),
        help="Read the tables (.parquet, .csv, .tsv) and evaluate their partitions with Dask or Spark, on all CPUs of "
        "this machine.  [default: neither]",
    ),
    _engine(
        "--shuffle",
        is_flag=True,
        help="Let Dask bring the rows of each query together. Without this option, each query must be in one partition "
        "(a file or a row group). Spark always shuffles.",
    ),
)
_NO_RELEVANT = _metric(
    "--no-relevant",
    metavar="WORD_OR_NUMBER",
    help="Handle queries for which a metric is undefined: skip leaves them out of the mean of that metric, drop leaves "
    "queries without a relevant document out of all means, error stops, and a number becomes their value.  "
    "[default: the choice of the convention]",
)
_TIES = _metric(
    "--ties",
    metavar="POLICY",
    help="Rank documents with equal scores by this policy: mean, stable, worst, best or docid.  "
    "[default: the policy of the convention]",
)
NAMES = (
    _metric(
        "-m",
        "--metrics",
        metavar="NAMES",
        help="Evaluate these metrics, separated by commas; 'ltr-metrics metrics' lists them all.  "
        f"[default: {','.join(DEFAULT_METRICS)}, or the metrics of the convention]",
    ),
    _metric(
        "--convention",
        metavar="NAME",
        help=f"Compute the metrics as this system does: {CONVENTION_NAMES}.  [default: default]",
    ),
)
METRICS = (
    *NAMES,
    _TIES,
    _NO_RELEVANT,
    _metric(
        "--segment",
        "by",
        multiple=True,
        metavar="COLUMN",
        help="Evaluate each segment as well: the groups of queries with equal values in this column of the table, or "
        "with similar counts of documents (n_documents) or relevant documents (n_relevant). "
        f"{REPEAT}",
    ),
)
AUDIT = (
    *NAMES,
    _NO_RELEVANT,
    _metric(
        "-k",
        "--cutoff",
        "k",
        metavar="K",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="Report the share of judged documents among the first K documents.",
    ),
)
EXPLANATION = (
    _metric("-m", "--metric", metavar="NAME", required=True, help="Explain this metric, such as ndcg@10."),
    _metric(
        "--from",
        "a",
        metavar="NAME",
        required=True,
        help=f"Start from the value under this convention: {CONVENTION_NAMES}.",
    ),
    _metric("--to", "b", metavar="NAME", required=True, help="Explain the change to the value under this convention."),
    _TIES,
    _NO_RELEVANT,
)
COMPARISON = (
    _comparison(
        "--baseline",
        metavar="NAME",
        help="Compare the other models with this one.  [default: the first on the command line]",
    ),
    _comparison(
        "--test",
        type=click.Choice(list(TESTS)),
        default="randomization",
        show_default=True,
        help="Compute p-values with this paired, two-sided test.",
    ),
    _comparison(
        "--correction",
        type=click.Choice(list(CORRECTIONS)),
        default="holm",
        show_default=True,
        help="Correct the p-values for multiple comparisons with this method.",
    ),
    _comparison(
        "--correction-over",
        type=click.Choice(CORRECTION_OVER),
        default="models",
        show_default=True,
        help="Correct over the models of each metric, or over all metrics and models.",
    ),
    _comparison(
        "--ci-method",
        "interval",
        type=click.Choice(list(INTERVALS)),
        default="wider",
        show_default=True,
        help="Compute confidence intervals with a bootstrap over queries (bca, percentile), with Student's t, or with "
        "the wider of bca and t at each end. The gate uses these intervals.",
    ),
    _comparison(
        "--confidence",
        metavar="NUMBER",
        type=float,
        default=0.95,
        show_default=True,
        help="Set the level of the confidence intervals.",
    ),
    _comparison(
        "--power",
        metavar="NUMBER",
        type=float,
        default=0.8,
        show_default=True,
        help="Set the power of the minimum detectable effect (mde).",
    ),
    _comparison(
        "--n-resamples",
        metavar="N",
        type=int,
        default=10_000,
        show_default=True,
        help="Set the number of randomizations, and of bootstrap samples.",
    ),
    _comparison(
        "--cluster",
        metavar="COLUMN",
        help="Resample whole clusters of queries, such as users or query texts, which this column of the table names.  "
        "[default: single queries]",
    ),
    _comparison(
        "--seed",
        "random_state",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Set the random seed; the same seed gives the same result.",
    ),
)
GATE = (
    _gate(
        "--gate",
        "rules",
        multiple=True,
        metavar="RULE",
        help="Exit with status 1 if this rule fails. 'ndcg@10 > -0.005' requires that the whole interval of the "
        "difference is above -0.005. 'share(ndcg@10 < -0.1) < 5%' requires that fewer than 5% of the queries lose more "
        f"than 0.1. 'new: RULE' applies to the model new alone. {REPEAT}",
    ),
    _gate("--gate-each-segment", is_flag=True, help="Apply each rule to each segment of --segment as well."),
)
INTERLEAVING = (
    _interleaving(
        "--interleave",
        type=click.Choice(list(METHODS)),
        help="Predict which model users prefer: interleave the rankings with this method, and simulate the clicks of "
        "--clicks.  [default: no simulation]",
    ),
    _interleaving(
        "--clicks",
        metavar="USERS",
        help=f"Simulate these users: one of {', '.join(PUBLISHED)}, with a colon and the number of grades, such as "
        "informational:3. Or give the click probability of each grade and, after a slash, the probability of "
        "stopping: 0.4,0.7,0.9/0.1,0.3,0.5.",
    ),
    _interleaving(
        "--impressions",
        metavar="N",
        type=click.IntRange(min=1),
        help="Simulate this many impressions.  [default: 10000]",
    ),
    _interleaving(
        "--length",
        metavar="N",
        type=click.IntRange(min=1),
        help="Show this many documents in each interleaved list.  [default: 10]",
    ),
)
SAVE = (
    _output(
        "--save",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Save the result of the model NAME as a Parquet file for 'compare --result'. You can leave out NAME if "
        f"there is one model. {REPEAT}",
    ),
)


def output_options(*formats: str) -> tuple[Decorator, ...]:
    """Return the options that choose the format and the file of the result."""
    options = (
        _output(
            "--format",
            type=click.Choice(formats),
            help="Write the result in this format.  [default: the ending of --output, or text]",
        ),
        _output(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, readable=False, path_type=Path),
            help="Write the result to this file. An existing file is replaced, unless it is an input of the command.  "
            "[default: standard output]",
        ),
    )
    if "csv" not in formats:
        return options
    return (
        *options,
        _output(
            "--spreadsheet-safe",
            is_flag=True,
            help="Put an apostrophe before text in CSV that a spreadsheet would run as a formula. Numbers do not change.",
        ),
    )


def comparison_settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.compare` takes by the same names."""
    names = ("test", "correction", "correction_over", "interval", "confidence", "power", "n_resamples", "random_state")
    return {name: arguments[name] for name in names}


def policy(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.evaluate` takes by the same names."""
    chosen = {name: arguments[name] for name in ("convention", "ties") if name in arguments}
    return chosen | {"no_relevant": _number_or_word(arguments["no_relevant"])}


def _number_or_word(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
