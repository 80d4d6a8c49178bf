"""The options of the subcommands, each declared once, in groups; the help lists them by section."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from ltr_metrics._rows import words
from ltr_metrics.errors import Argument, InParts, InPython, LtrError, LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.io.files import without_compression
from ltr_metrics.io.tables import is_table
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.requests import DEFAULT_METRICS

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
SCORE_FILES = (".npy", ".txt", ".csv")
NAMES = "ltr_metrics.names"  # in the context: the names of all models, in the order of the command line
CONVENTION_NAMES = ", ".join(CONVENTIONS)
WORDS_OF_PYTHON = {  # arguments of the library that no option is named after
    "y_true": "the grades",
    "y_score": "the scores",
    "sample_weight": "--weight",
    "query_weight": "--weight",
    "column": "--scores FILE:COLUMN",
    "columns": "the column",
    "frame": "the table",
    "each_segment": "--gate-each-segment",
}

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class DataFile(click.Path):
    """A file of DATA, which is also what a second value after an option is taken for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            is_name = "." not in str(value) and os.sep not in str(value)
            hint = " An option takes one value: write --scores A --scores B, and --metrics A,B." if is_name else ""
            self.fail(f"{error.message}{hint}", param, ctx)


def in_own_words(message: InParts) -> str:
    """Return a message with options instead of arguments, and without the remedies of Python."""
    options = [one for one in click.get_current_context().command.params if isinstance(one, click.Option)]
    words = WORDS_OF_PYTHON | {str(one.name): one.opts[-1] for one in options}
    return "".join(_own_word(part, words) for part in message.parts if not isinstance(part, InPython))


def _own_word(part: str, words: Mapping[str, str]) -> str:
    if not isinstance(part, Argument) or part.name not in words:
        return part
    value = part.key if part.value is None or part.value is True or part.value is ... else part.value
    return words[part.name] if value is None else f"{words[part.name]} {shlex.quote(str(value))}"


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Command(click.Command):
    """A subcommand whose help lists the options by section, and whose errors name options."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LtrError as error:
            raise click.ClickException(in_own_words(error)) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(option, "section", "Output"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def refuse(names: Collection[str], reason: str) -> None:
    """Raise an error if one of these options is on the command line, where it would have no effect."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
            raise LtrValueError(f"{option.opts[-1]} {reason}")


def add_options(*groups: tuple[Decorator, ...]) -> Callable[[F], F]:
    """Return a decorator that adds groups of options to a subcommand, in this order."""

    def decorate(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def _option(section: str, names: str, text: str, metavar: str | None = None, **settings: Any) -> Decorator:
    if settings.get("multiple"):
        text += " You can repeat this option."
    show_default = settings.get("default") is not None
    return click.option(
        *names.split(), cls=Option, section=section, help=text, metavar=metavar, show_default=show_default, **settings
    )


_models, _data, _metric, _statistics, _gate, _output = (
    partial(_option, section) for section in ("Models and scores", "Data", "Metrics", "Statistics", "Gate", "Output")
)


def _choice(names: str, text: str, choices: Any, default: str) -> Decorator:
    return _statistics(names, text, type=click.Choice(get_args(choices)), default=default)


def score_file(item: str) -> tuple[Path, str | None] | None:
    """Return the file that ``--scores`` names and the column in it, or None if it names a column of the data."""
    file, _, column = item.rpartition(":")
    for path, name in ((Path(item), None), (Path(file), column)):
        if path.is_file() and (is_table(path) or without_compression(path).suffix.lower() in SCORE_FILES):
            return path, name
    return None


def _names(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    """Return the names in a list with commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def _named(context: click.Context, option: click.Parameter, items: Sequence[str]) -> dict[str, str]:
    """Return the values of NAME=VALUE by name. Without a name, it is the column or that of the file."""
    named: dict[str, str] = {}
    names: list[str] = context.meta.setdefault(NAMES, [])
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            file = score_file(item) if option.name == "scores" else (Path(item), None)
            name, value = item if file is None else file[1] or without_compression(file[0]).stem, item
        if not (name and value):
            raise click.BadParameter(f"must have the form NAME=VALUE or VALUE. Got {item!r}.")
        if name in names:
            raise click.BadParameter(f"the name {name!r} is used twice. Write NAME={value} to choose another name.")
        names.append(name)
        named[name] = value
    return named


_model = partial(_models, multiple=True, callback=_named)

MODEL_FILES = (
    click.argument("data", nargs=-1, type=DataFile(exists=True, dir_okay=False, path_type=Path)),
    _model("--model models", "Score the data with a model file of LightGBM, XGBoost or CatBoost.", "[NAME=]FILE"),
)
MODELS = (
    *MODEL_FILES,
    _model(
        "--scores",
        "Use a column of the table, a feature of the LETOR files (by its number), a file with one score per row (.npy, "
        ".txt, .csv), or a table that --on joins: FILE, or FILE:COLUMN if it has several columns.",
        "[NAME=]COLUMN_OR_FILE",
    ),
    _models("--on", "Join tables of --scores by these columns, such as qid,docid.", "NAMES", callback=_names),
    _model("--run runs", "Evaluate a TREC run with the judgments of --qrels.", "[NAME=]FILE"),
)
RESULTS = (
    _model(
        "--result results",
        "Compare a result of 'evaluate --save', or values of another tool: a CSV file with the column qid and one "
        "column per metric.",
        "[NAME=]FILE",
    ),
)
ROWS = (
    _data("--qid", "Read query ids from this column of the table.", "COLUMN", default="qid"),
    _data("--label", "Read grades from this column of the table.", "COLUMN", default="label"),
    _data("--docid", "Read document ids from this column of the table.", "COLUMN"),
    _data("--weight", "Weight each query by the mean of this column of the table over its rows.", "COLUMN"),
    _data("--n-features", "Set the number of features, in case the LETOR files lack the last ones.", "N", type=COUNT),
    _data("--zero-based", "Read feature numbers of the LETOR files that start at 0 instead of 1.", is_flag=True),
)
TREC = (
    _data("--qrels", "Read TREC judgments from this file, and use --run instead of DATA.", type=FILE),
    _data(
        "--topics",
        "Keep the topics that the qrels and all runs have (both), or all topics of the qrels, where a topic that a run "
        "lacks has no retrieved documents (qrels).  [default: different topics are an error]",
        type=click.Choice(get_args(words.Topics)),
    ),
)
DATA = (*ROWS, *TREC)
BATCHES = (
    _data(
        "--sorted is_sorted",
        "Read files batch by batch, even if they are larger than memory. The rows of a query must be adjacent.",
        is_flag=True,
    ),
)
_NAMES = (
    _metric(
        "-m --metric --metrics metrics",
        "Evaluate these metrics, separated by commas; 'ltr-metrics metrics' lists them all.  "
        f"[default: {','.join(DEFAULT_METRICS)}, or the metrics of the convention]",
        "NAMES",
    ),
    _metric("--metrics-module", "Run this Python file, and use its metrics. Only use files that you trust.", type=FILE),
    _metric("--convention", f"Compute the metrics as this system does: {CONVENTION_NAMES}.", "NAME"),
)
_TIES = _metric(
    "--ties",
    "Rank documents with equal scores by this policy.  [default: the policy of the convention]",
    type=click.Choice(get_args(words.TiePolicy)),
)
_NO_RELEVANT = _metric(
    "--no-relevant",
    "Handle queries for which a metric is undefined: skip leaves them out of the mean of that metric, error stops, "
    "and a number becomes their value. drop leaves a query out of all means if all of its grades are 0.  "
    "[default: the choice of the convention]",
    "WORD_OR_NUMBER",
)
METRICS = (
    *_NAMES,
    _TIES,
    _NO_RELEVANT,
    _metric(
        "--segment by",
        "Evaluate each segment as well: the queries with equal values in this column of the table, or with similar "
        "counts of documents (n_documents) or relevant documents (n_relevant).",
        "COLUMN",
        multiple=True,
    ),
)
SKILL = (
    _metric(
        "--skill",
        "Add the value of a random order (chance), that of the ideal order, and the skill: 0 for a random order, 1 for "
        "the ideal one.",
        is_flag=True,
    ),
)
CURVE = (
    *_NAMES,
    _TIES,
    _NO_RELEVANT,
    _metric("--every", "Evaluate after N, 2N, 3N, ... rounds, and after the last one.", "N", type=COUNT, default=1),
)
AUDIT = (
    *_NAMES,
    _NO_RELEVANT,
    _metric("-k --cutoff k", "Report the share of judged documents among the first K.", "K", type=COUNT, default=10),
)
EXPLANATION = (
    _metric("-m --metrics --metric metric", "Explain this metric, such as ndcg@10.", "NAME", required=True),
    _metric("--from a", f"Start from the value under this convention: {CONVENTION_NAMES}.", "NAME"),
    _metric("--to b", "Explain the change to the value under this convention.", "NAME"),
    _metric("--value", "Find the conventions that give this value, within half a unit of its last digit.", "NUMBER"),
    _TIES,
    _NO_RELEVANT,
)
_RESAMPLING = (
    _statistics(
        "--interval",
        "Compute intervals with a bootstrap over queries, with Student's t, or with the wider of both at each end.",
        type=click.Choice(get_args(words.Interval)),
        default="wider",
    ),
    _statistics("--n-resamples", "Set the number of randomizations and resamples.", "N", type=COUNT, default=10_000),
    _statistics("--cluster", "Resample clusters of queries, such as users, which this column names.", "COLUMN"),
    _statistics("--seed random_state", "Set the random seed.", "N", type=click.IntRange(min=0), default=0),
)
CONFIDENCE = (_statistics("--confidence", "Set the level of the intervals.", "NUMBER", type=SHARE, default=0.95),)
INTERVALS_OF_MEANS = (
    _statistics("--confidence", "Add an interval of each mean, at this level, such as 0.95.", "NUMBER", type=SHARE),
    *_RESAMPLING,
)
COMPARISON = (
    _statistics("--baseline", "Compare the other models with this one.  [default: the first one]", "NAME"),
    _statistics(
        "--yardstick yardsticks",
        "Compare and show this model, such as BM25, but count it in no correction, and apply no rule to it.",
        "NAME",
        multiple=True,
    ),
    _choice("--test", "Compute p-values with this paired, two-sided test.", words.Test, "randomization"),
    _choice("--correction", "Correct the p-values for multiple comparisons by this method.", words.Correction, "holm"),
    _choice(
        "--correction-over",
        "Correct over the models of each metric (models), or over all models and metrics together (all).",
        words.CorrectionOver,
        "models",
    ),
    _statistics("--power", "Set the power of the minimum detectable effect.", "NUMBER", type=SHARE, default=0.8),
    *CONFIDENCE,
    *_RESAMPLING,
)
COMMON_QUERIES = (
    _choice(
        "--queries",
        "Require that all models have the same queries and judgments, or leave the other queries out.",
        words.QueriesOfComparison,
        "same",
    ),
)
ALL_PAIRS = (
    _statistics("--all-pairs", "Compare every model with every other one, and print how they rank.", is_flag=True),
)
GATE = (
    _gate(
        "--gate rules",
        "Exit with status 1 if this rule fails. 'ndcg@10 > -0.005' requires that the whole interval of the "
        "difference is above -0.005, and with '> -1%' the margin is 1% of the baseline's mean. 'mean(ndcg@10) > "
        "0.6' is about the model's own mean. 'share(ndcg@10 < -0.1) < 5%' requires that the exact interval of the "
        "share of queries that lose more than 0.1 is below 5%. 'new: RULE' applies to the model new only.",
        "RULE",
        multiple=True,
    ),
    _gate("--gate-each-segment", "Apply each rule to each segment of --segment as well.", is_flag=True),
    _gate("--looks", "Widen the intervals for so many runs, if a single pass decides.", "N", type=COUNT, default=1),
    _gate(
        "--family",
        "Widen the intervals so that each PASS holds for whichever candidate you pick, or let only the whole gate "
        "count (one).",
        type=click.Choice(get_args(words.FamilyOfGate)),
        default="candidates",
    ),
)
LEARNING_CURVE = (
    _models("--learning-curve", "Add the learning curve of each model file, every N rounds.", "N", type=COUNT),
)
PLOT = (_output("--plot", "Draw the curves into this file: .svg, .png or .pdf.", "FILE", type=OUTPUT_FILE),)
SAVE = (
    _output(
        "--save",
        "Save the values per query of the model NAME as a Parquet table, which 'compare --result' reads. You can leave "
        "out NAME if there is one model.",
        "[NAME=]FILE",
        multiple=True,
    ),
)


def output_options(*formats: str) -> tuple[Decorator, ...]:
    """Return the options that choose the format and the file of the result."""
    safe = _output(
        "--spreadsheet-safe", "Put an apostrophe before text in CSV that a spreadsheet would run.", is_flag=True
    )
    return (
        _output(
            "--format form",
            "Write the result in this format.  [default: the ending of --output, or text]",
            type=click.Choice(formats),
        ),
        _output("-o --output", "Write the result to this file, which is replaced.", "FILE", type=OUTPUT_FILE),
        *([safe] if "csv" in formats else []),
    )


def model_names() -> list[str]:
    """Return the names of all models, in the order of the command line."""
    names: list[str] = click.get_current_context().meta.get(NAMES, [])
    return names


def comparison_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.compare` takes by the same names."""
    names = ("test", "correction", "correction_over", "interval", "confidence", "power", "n_resamples", "random_state")
    return {name: arguments[name] for name in (*names, "queries", "skill", "yardsticks") if name in arguments}


def gate_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.gate` takes, by its names."""
    names = {"each_segment": "gate_each_segment", "looks": "looks", "family": "family"}
    return {name: arguments[option] for name, option in names.items()}


def interval_settings(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that `ltr_metrics.intervals` takes by the same names; None without --confidence."""
    names = ("confidence", "interval", "n_resamples", "random_state")
    if arguments["confidence"] is None:
        refuse(names, "is about confidence intervals: add --confidence, such as --confidence 0.95.")
        return None
    return {name: arguments[name] for name in names}


def policy(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `ltr_metrics.evaluate` takes by the same names."""
    chosen = {name: arguments[name] for name in ("convention", "ties") if name in arguments}
    word = arguments["no_relevant"]
    try:
        return chosen | {"no_relevant": None if word is None else float(word)}
    except ValueError:
        return chosen | {"no_relevant": word}


def choose_baseline(arguments: Mapping[str, Any]) -> str | None:
    """Return the model of ``--baseline``, or the first one; None if there is one model."""
    names, baseline = model_names(), arguments["baseline"]
    if baseline is not None and baseline not in names:
        raise LtrKeyError(
            f"--baseline {baseline} is not one of the models, {', '.join(names)}.{did_you_mean(baseline, names)}"
        )
    return None if len(names) < 2 else baseline or names[0]
