"""The options of the subcommands, grouped by the section of the help that lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ltr_metrics._engine.checks import require_confidence
from ltr_metrics._engine.words import Topics
from ltr_metrics.analysis.comparison.settings import CORRECTION_OVER, QUERIES
from ltr_metrics.analysis.inference import CORRECTIONS, INTERVALS, TESTS
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log.rounds import RULES
from ltr_metrics.interleaving.clicks import PUBLISHED
from ltr_metrics.interleaving.methods import METHODS
from ltr_metrics.metrics.requests import DEFAULT_METRICS
from ltr_metrics.metrics.systems import CONVENTIONS

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FILE_OR_STANDARD_INPUT = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)
ORDER = "ltr_metrics.order"  # key in the context: options in the order of the command line
COMMON = "queries"  # an option of compare alone
CONVENTION_NAMES = ", ".join(CONVENTIONS)

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Command(click.Command):
    """A subcommand that groups its options by section and records their order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[ORDER] = [option.name for option in order]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Otherwise click would exit as if the reader of standard output had gone.
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
    """Return a function that makes an option of a section from its names and its help."""

    def option(names: str, text: str, **settings: Any) -> Decorator:
        if settings.get("multiple"):
            text += " You can repeat this option."
        shows_default = settings.get("default") is not None
        return click.option(
            *names.split(), cls=Option, section=title, help=text, show_default=shows_default, **settings
        )

    return option


OUTPUT = "Output"
_model, _data, _metric, _engine, _intervals, _comparison, _gate, _interleaving, _output = map(
    _section,
    (
        *("Models and scores", "Data", "Metrics", "Engine", "Confidence intervals", "Comparison", "Gate"),
        *("Interleaving", OUTPUT),
    ),
)

MODELS = (
    click.argument("data", nargs=-1, type=FILE_OR_STANDARD_INPUT),
    _model(
        "--model models",
        "Score the data with a model file of LightGBM (.txt) or XGBoost (.json, .ubj). NAME defaults to the name "
        "of the file without its ending.",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
    _model(
        "--scores",
        "Use the scores in a column of the table, in a feature of the LETOR files (given by number), or in a file "
        "with one score per row (.npy, .txt, .csv). NAME defaults to the column, or to the name of the file without "
        "its ending.",
        multiple=True,
        metavar="[NAME=]COLUMN_OR_FILE",
    ),
    _model(
        "--run runs",
        "Evaluate a TREC run with the judgments of --qrels. NAME defaults to the name of the file without its ending.",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
)
MODEL_FILES = MODELS[:2]  # DATA and --model
LEARNING_CURVE = (
    _model(
        "--learning-curve",
        "Add the learning curve of each model file: evaluate the data after every N rounds, and after the last one.  "
        "[default: no curves]",
        type=click.IntRange(min=1),
        metavar="N",
    ),
)
RESULTS = (
    _model(
        "--result results",
        "Compare a result that 'evaluate --save' wrote. NAME defaults to the name of the file without its ending.",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
)
ROWS = (
    _data("--qid", "Read the query ids from this column of the table.", metavar="COLUMN", default="qid"),
    _data("--label", "Read the grades from this column of the table.", metavar="COLUMN", default="label"),
    _data("--docid", "Read document ids from this column of the table.  [default: none]", metavar="COLUMN"),
    _data(
        "--weight",
        "Read row weights from this column of the table; the weight of a query is the mean of its rows.  "
        "[default: equal weights]",
        metavar="COLUMN",
    ),
    _data(
        "--n-features",
        "Set the number of features of the LETOR files, in case they lack the last features.  "
        "[default: the largest number in the files]",
        type=click.IntRange(min=1),
        metavar="N",
    ),
    _data("--zero-based", "Read feature numbers of the LETOR files that start at 0 instead of 1.", is_flag=True),
)
TREC = (
    _data("--qrels", "Read TREC judgments from this file, and use --run instead of DATA.", type=FILE),
    _data(
        "--topics",
        "Choose the topics when the qrels and the runs have different ones: both keeps the topics that the qrels "
        "and all runs have; qrels keeps all topics of the qrels, and a topic that a run lacks counts as a query "
        "without retrieved documents.  [default: different topics are an error]",
        type=click.Choice(get_args(Topics)),
    ),
)
DATA = (*ROWS, *TREC)
BATCHES = (
    _data(
        "--sorted is_sorted",
        "Read the files batch by batch, so that they can be larger than memory. The rows of a query must be adjacent.",
        is_flag=True,
    ),
)
ENGINE = (
    _engine(
        "--engine",
        "Read the tables (.parquet, .csv, .tsv) and evaluate their partitions with Dask or Spark, on all CPUs of "
        "this machine.  [default: neither]",
        type=click.Choice(["dask", "spark"]),
    ),
    _engine(
        "--shuffle",
        "Let Dask bring the rows of each query together. Without this option, each query must be in one partition "
        "(a file or a row group). Spark always shuffles.",
        is_flag=True,
    ),
)
_NO_RELEVANT = _metric(
    "--no-relevant",
    "Handle queries for which a metric is undefined: skip leaves them out of the mean of that metric, drop leaves "
    "queries without a relevant document out of all means, error stops, and a number becomes their value.  "
    "[default: the choice of the convention]",
    metavar="WORD_OR_NUMBER",
)
_TIES = _metric(
    "--ties",
    "Rank documents with equal scores by this policy: mean, stable, worst, best or docid.  "
    "[default: the policy of the convention]",
    metavar="POLICY",
)
NAMES = (
    _metric(
        "-m --metrics",
        "Evaluate these metrics, separated by commas; 'ltr-metrics metrics' lists them all.  "
        f"[default: {','.join(DEFAULT_METRICS)}, or the metrics of the convention]",
        metavar="NAMES",
    ),
    _metric(
        "--metrics-module",
        "Run this Python file. Each metric at its top level can be named in --metrics and --gate. Only use files "
        "that you trust, because the file can do whatever you can do.",
        type=FILE,
    ),
    _metric(
        "--convention",
        f"Compute the metrics as this system does: {CONVENTION_NAMES}.  [default: default]",
        metavar="NAME",
    ),
)
METRICS = (
    *NAMES,
    _TIES,
    _NO_RELEVANT,
    _metric(
        "--segment by",
        "Evaluate each segment as well: the groups of queries with equal values in this column of the table, or "
        "with similar counts of documents (n_documents) or relevant documents (n_relevant).",
        multiple=True,
        metavar="COLUMN",
    ),
)
CURVE = (
    *NAMES,
    _TIES,
    _NO_RELEVANT,
    _metric(
        "--every",
        "Evaluate after N, 2N, 3N, ... rounds, and after the last one.",
        type=click.IntRange(min=1),
        metavar="N",
        default=1,
    ),
    _metric(
        "--rule",
        "Choose the round with the best mean (max), or the first round within one standard error of it (one_se).",
        type=click.Choice(RULES),
        default="max",
    ),
    _metric(
        "--confidence",
        "Set the confidence level of the intervals, and of the rounds that do not differ from the best.",
        metavar="NUMBER",
        type=float,
        default=0.95,
    ),
)
PLOT = (
    _output(
        "--plot",
        "Draw the curves into this file: .svg, .png or .pdf. Each metric has axes of its own.  [default: no figure]",
        type=click.Path(dir_okay=False, readable=False, path_type=Path),
        metavar="FILE",
    ),
)
AUDIT = (
    *NAMES,
    _NO_RELEVANT,
    _metric(
        "-k --cutoff k",
        "Report the share of judged documents among the first K documents.",
        metavar="K",
        type=click.IntRange(min=1),
        default=10,
    ),
)
EXPLANATION = (
    _metric("-m --metric", "Explain this metric, such as ndcg@10.", metavar="NAME", required=True),
    _metric(
        "--from a",
        f"Start from the value under this convention: {CONVENTION_NAMES}. It goes with --to.",
        metavar="NAME",
    ),
    _metric("--to b", "Explain the change to the value under this convention. It goes with --from.", metavar="NAME"),
    _metric(
        "--value",
        "Find the conventions under which the metric has this value, such as 0.4117, instead of --from and --to. A "
        "convention matches within half a unit of the last digit.",
        metavar="NUMBER",
    ),
    _TIES,
    _NO_RELEVANT,
)
COMPARISON = (
    _comparison(
        "--baseline",
        "Compare the other models with this one.  [default: the first on the command line]",
        metavar="NAME",
    ),
    _comparison(
        "--test",
        "Compute p-values with this paired, two-sided test.",
        type=click.Choice(list(TESTS)),
        default="randomization",
    ),
    _comparison(
        "--correction",
        "Correct the p-values for multiple comparisons with this method.",
        type=click.Choice(list(CORRECTIONS)),
        default="holm",
    ),
    _comparison(
        "--correction-over",
        "Correct over the models of each metric, or over all metrics and models.",
        type=click.Choice(CORRECTION_OVER),
        default="models",
    ),
    _comparison(
        "--ci-method interval",
        "Compute confidence intervals with a bootstrap over queries (bca, percentile), with Student's t, or with "
        "the wider of bca and t at each end. The gate uses these intervals.",
        type=click.Choice(list(INTERVALS)),
        default="wider",
    ),
    _comparison(
        "--confidence", "Set the level of the confidence intervals.", metavar="NUMBER", type=float, default=0.95
    ),
    _comparison(
        "--power", "Set the power of the minimum detectable effect (mde).", metavar="NUMBER", type=float, default=0.8
    ),
    _comparison(
        "--n-resamples",
        "Set the number of randomizations, and of bootstrap samples.",
        metavar="N",
        type=int,
        default=10_000,
    ),
    _comparison(
        "--cluster",
        "Resample whole clusters of queries, such as users or query texts, which this column of the table names.  "
        "[default: single queries]",
        metavar="COLUMN",
    ),
    _comparison(
        "--seed random_state",
        "Set the random seed; the same seed gives the same result.",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
    ),
)
INTERVALS_OF_MEANS = (
    _intervals(
        "--confidence",
        "Add a confidence interval of each mean, at this level, such as 0.95.  [default: no intervals]",
        metavar="NUMBER",
        type=float,
    ),
    _intervals(
        "--ci-method interval",
        "Compute the intervals with a bootstrap over queries (bca, percentile), with Student's t, or with the wider "
        "of bca and t at each end (wider).  [default: wider]",
        type=click.Choice(list(INTERVALS)),
    ),
    _intervals("--n-resamples", "Set the number of bootstrap samples.  [default: 10000]", metavar="N", type=int),
    _intervals(
        "--cluster",
        "Take clusters of queries as the sample, such as users or query texts, which this column of the table names. "
        "'--save' keeps them.  [default: single queries]",
        metavar="COLUMN",
    ),
    _intervals(
        "--seed random_state",
        "Set the random seed; the same seed gives the same result.  [default: 0]",
        metavar="N",
        type=click.IntRange(min=0),
    ),
)
COMMON_QUERIES = (
    _comparison(
        "--queries",
        "Compare the same queries, and stop if results have different ones, or the queries that all models have in "
        "common.",
        type=click.Choice(QUERIES),
        default="same",
    ),
)
GATE = (
    _gate(
        "--gate rules",
        "Exit with status 1 if this rule fails. 'ndcg@10 > -0.005' requires that the whole interval of the "
        "difference is above -0.005. 'ndcg@10 > -1%' takes the margin from the baseline's mean. "
        "'mean(ndcg@10) > 0.6' requires it of the model's own mean. 'share(ndcg@10 < -0.1) < 5%' requires that fewer "
        "than 5% of the queries lose more than 0.1. 'new: RULE' applies to the model new alone.",
        multiple=True,
        metavar="RULE",
    ),
    _gate("--gate-each-segment", "Apply each rule to each segment of --segment as well.", is_flag=True),
)
INTERLEAVING = (
    _interleaving(
        "--interleave",
        "Predict which model users prefer: interleave the rankings with this method, and simulate the clicks of "
        "--clicks.  [default: no simulation]",
        type=click.Choice(list(METHODS)),
    ),
    _interleaving(
        "--clicks",
        f"Simulate these users: one of {', '.join(PUBLISHED)}, with a colon and the number of grades, such as "
        "informational:3. Or give the click probability of each grade and, after a slash, the probability of "
        "stopping: 0.4,0.7,0.9/0.1,0.3,0.5.",
        metavar="USERS",
    ),
    _interleaving(
        "--impressions", "Simulate this many impressions.  [default: 10000]", metavar="N", type=click.IntRange(min=1)
    ),
    _interleaving(
        "--length",
        "Show this many documents in each interleaved list.  [default: 10]",
        metavar="N",
        type=click.IntRange(min=1),
    ),
)
SAVE = (
    _output(
        "--save",
        "Save the result of the model NAME as a Parquet file for 'compare --result'. You can leave out NAME if "
        "there is one model.",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
)


def output_options(*formats: str) -> tuple[Decorator, ...]:
    """Return the options that choose the format and the file of the result."""
    options = (
        _output(
            "--format",
            "Write the result in this format.  [default: the ending of --output, or text]",
            type=click.Choice(formats),
        ),
        _output(
            "-o --output",
            "Write the result to this file. An existing file is replaced, unless it is an input of the command.  "
            "[default: -, which is standard output]",
            type=click.Path(dir_okay=False, readable=False, path_type=Path),
        ),
    )
    if "csv" not in formats:
        return options
    return (
        *options,
        _output(
            "--spreadsheet-safe",
            "Put an apostrophe before text in CSV that a spreadsheet would run as a formula. Numbers do not change.",
            is_flag=True,
        ),
    )


def comparison_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.compare` takes by the same names."""
    names = ("test", "correction", "correction_over", "interval", "confidence", "power", "n_resamples", "random_state")
    return {name: arguments[name] for name in (*names, *[COMMON] * (COMMON in arguments))}


def interval_settings(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that `ltr_metrics.intervals` takes by the same names; None without --confidence."""
    names = {"interval": "--ci-method", "n_resamples": "--n-resamples", "random_state": "--seed"}
    given = {name: arguments[name] for name in names if arguments[name] is not None}
    if arguments["confidence"] is not None:
        return {"confidence": require_confidence(arguments["confidence"]), **given}
    if given:
        raise LtrValueError(
            f"{names[next(iter(given))]} is about confidence intervals: add --confidence, such as --confidence 0.95."
        )
    return None


def policy(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.evaluate` takes by the same names."""
    chosen = {name: arguments[name] for name in ("convention", "ties") if name in arguments}
    return chosen | {"no_relevant": _number_or_word(arguments["no_relevant"])}


def _number_or_word(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
