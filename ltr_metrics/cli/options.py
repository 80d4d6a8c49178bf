"""The options of the subcommands, each declared once as a field of the structure that a subcommand takes.

The name of a field is that of the argument of the library, wherever the option stands for one.
"""

# ruff: noqa: RUF009 -- the calls return fields

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from ltr_metrics._rows import words
from ltr_metrics.errors import LtrError, LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.io.files import without_compression
from ltr_metrics.io.letor import side_files
from ltr_metrics.io.tables import place_of_row
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.requests import DEFAULT_METRICS

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
NAMES = "ltr_metrics.names"  # in the context: the names of all models, in the order of the command line
CONVENTION_NAMES = ", ".join(CONVENTIONS)
WORDS_OF_PYTHON = {  # arguments of the library that no option is named after
    "y_true": "the column of --label",
    "y_score": "what --scores or --model names",
    "sample_weight": "--weight",
    "query_weight": "--weight",
    "column": "--scores FILE:COLUMN",
    "columns": "a column of the table",
    "frame": "the table",
    "result.geometric_mean(name)": "geometric_mean in the result of evaluate --format json",
}


class DataFile(click.Path):
    """A file of DATA, which is also what a second value after an option is taken for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            is_name = "." not in str(value) and Path(value).name == str(value)
            hint = " An option takes one value: write --scores A --scores B, and --metrics A,B." if is_name else ""
            folder = f" Name its files, such as {Path(value) / '*.parquet'}." if Path(value).is_dir() else ""
            self.fail(f"{error.message}{folder or hint}", param, ctx)


def with_options(error: Exception) -> str:
    """Return a message, and a line with what its words mean here: other names of arguments, and numbers of rows."""
    message, options = str(error), click.get_current_context().command.params
    words = WORDS_OF_PYTHON | {str(one.name): one.opts[-1] for one in options if one.opts[-1] != f"--{one.name}"}
    named = [f"{name} is {word}" for name, word in words.items() if _names_argument(message, name)]
    notes = [f"On the command line, {', '.join(named)}."] if named else []
    notes += _notes_on_rows(message)
    return "\n".join([message, " ".join(notes)]) if notes else message


def _notes_on_rows(message: str) -> list[str]:
    """Return a sentence on how rows are counted, with the file and line of each that a message names, if they have."""
    rows = re.findall(r"\bat row (\d+)", message)
    if not rows:
        return []
    files = click.get_current_context().params.get("data", ())
    before = re.search(r"In the rows from ([\d,]+) on", message)
    n_before = int(before[1].replace(",", "")) if before else 0
    places = {row: place_of_row(files, n_before + int(row)) for row in dict.fromkeys(rows)} if files else {}
    named = [f"row {row} is {place}" for row, place in places.items() if ":" in place]
    listed = f": {', '.join(named)}" if named else ""
    return [f"Rows are counted from 0, over all DATA and without headers{listed}."]


def _names_argument(message: str, name: str) -> bool:
    """Whether a message has the name of an argument: by=, by['device'] or 'by must', and no English 'by'."""
    follows = r"(?!\w)" if re.search(r"\W|_", name) else r"(?==|\[| must )"
    return re.search(rf"(?<!\w){re.escape(name)}{follows}", message) is not None


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Command(click.Command):
    """A subcommand whose help lists the options by section, and whose errors name options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "--result":
                raise
            raise click.UsageError(
                f"{ctx.info_name} needs the rows of DATA, which saved results lack. Only 'ltr-metrics compare' has "
                "--result; it prints differences and gates of saved results as text, JSON, CSV, Markdown or LaTeX."
            ) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LtrError as error:
            raise click.ClickException(with_options(error)) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(option, "section", "Output"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def subcommand(
    short_help: str, formats: Collection[str], *, without: Collection[str] = (), **own: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator for the function of a subcommand, which writes its result in one of some formats.

    The function takes structures, whose fields are options, and the options of its ``own``, by the
    names of its parameters. Fields that the subcommand is ``without`` keep their defaults.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        types = {name: one.annotation for name, one in inspect.signature(function, eval_str=True).parameters.items()}
        structures: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}

        def run(**values: Any) -> Any:
            made = {
                parameter: kind(**{one.name: values.pop(one.name) for one in fields(kind) if one.name in values})
                for parameter, kind in structures.items()
            }
            return function(**made, **values)

        declared: list[tuple[str, Any, Any]] = []  # the name, the option and the type
        for name, kind in types.items():
            if name in structures:
                hints = get_type_hints(kind)
                declared += [(one.name, one, hints[one.name]) for one in fields(kind)]
            else:
                declared.append((name, own[name], kind))
        params = [one.metadata["parameter"](name, kind, formats) for name, one, kind in declared if name not in without]
        return Command(function.__name__, callback=run, params=params, help=function.__doc__, short_help=short_help)

    return decorate


def refuse(names: Collection[str], reason: str) -> None:
    """Raise an error if one of these options is on the command line, where it would have no effect."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in names and is_given and context.params[name] != ():  # the DATA that are not there, in click 8.1.0
            raise LtrValueError(f"{option.opts[-1]} {reason}")


def _option(section: str, flags: str, text: str, metavar: str | None = None, **settings: Any) -> Any:
    """Return the field of a structure that an option fills, as its type says: once, repeatedly, or as a flag."""
    settings |= {"section": section, "metavar": metavar, "show_default": "default" in settings}

    def parameter(name: str, kind: Any, formats: Collection[str]) -> Option:
        choices = [one for one in (kind, *get_args(kind)) if get_origin(one) is Literal]
        many = get_origin(kind) in (tuple, dict)
        own: dict[str, Any] = {"multiple": many}
        if kind is bool:  # told that an option is no flag, click accepts it without its value
            own["is_flag"] = True
        if choices or name == "form":
            own["type"] = click.Choice(get_args(choices[0]) if choices else list(formats))
        return Option([*flags.split(), name], help=text + " You can repeat this option." * many, **own, **settings)

    return field(default=settings.get("default"), metadata={"parameter": parameter})


model_option, data_option, metric_option, statistics_option, gate_option, output_option = (
    partial(_option, section) for section in ("Models and scores", "Data", "Metrics", "Statistics", "Gate", "Output")
)


def score_file(item: str) -> tuple[Path, str | None] | None:
    """Return the file that ``--scores`` names and the column in it, or None if it names a column of the data.

    The name of a file has an ending or a folder, such as ./scores.
    """
    file, _, column = item.rpartition(":")
    for text, name in ((item, None), (file, column)):
        path = Path(text)
        if path.is_file() and (path.suffix or path.name != text):  # on Windows, / separates folders, too
            return path, name
    return None


def names(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[str]:
    """Return the names in a list with commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def _named(context: click.Context, parameter: click.Parameter, items: Sequence[str]) -> dict[str, str]:
    """Return the values of NAME=VALUE by name. Without a name, it is the column or that of the file."""
    named: dict[str, str] = {}
    names: list[str] = context.meta.setdefault(NAMES, [])
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            file = score_file(item) if parameter.name in ("scores", "positions") else (Path(item), None)
            name, value = item if file is None else file[1] or without_compression(file[0]).stem, item
        if not (name and value):
            raise click.BadParameter(f"must have the form NAME=VALUE or VALUE. Got {item!r}.")
        if name in names:
            raise click.BadParameter(f"the name {name!r} is used twice. Write NAME={value} to choose another name.")
        names.append(name)
        named[name] = value
    return named


def _number_or_word(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _argument_of_data(name: str, *_: Any) -> click.Argument:
    return click.Argument([name], nargs=-1, type=DataFile(exists=True, dir_okay=False, path_type=Path))


named_models = partial(model_option, callback=_named)


# -- the structures ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Files of labelled rows, and the model files that score them."""

    data: tuple[Path, ...] = field(default=(), metadata={"parameter": _argument_of_data})
    models: dict[str, str] = named_models(
        "--model", "Score the data with a model file of LightGBM, XGBoost or CatBoost.", "[NAME=]FILE"
    )
    qid: str = data_option("--qid", "Read query ids from this column of the table.", "COLUMN", default="qid")
    label: str = data_option("--label", "Read grades from this column of the table.", "COLUMN", default="label")
    docid: str | None = data_option("--docid", "Read document ids from this column of the table.", "COLUMN")
    weight: str | None = data_option(
        "--weight", "Weight each query by the mean of this column of the table over its rows.", "COLUMN"
    )
    n_features: int | None = data_option(
        "--n-features", "Set the number of features, in case the LETOR files lack the last ones.", "N", type=COUNT
    )
    zero_based: bool = data_option(
        "--zero-based", "Read feature numbers of the LETOR files that start at 0 instead of 1."
    )

    def description(self) -> str:
        """Return the names of the files of DATA."""
        return ", ".join(map(str, self.data))

    def files(self) -> list[Path]:
        """Return the input files, and the files of query sizes and weights beside those of DATA."""
        return [*self.data, *chain.from_iterable(map(side_files, self.data)), *map(Path, self.models.values())]


@dataclass(frozen=True)
class Inputs(Rows):
    """Rows with all that can score them, or TREC files."""

    scores: dict[str, str] = named_models(
        "--scores",
        "Use a column of the table, a feature of the LETOR files (by its number), a file with one score per row (.npy "
        "or text), or a table that --on joins: FILE, or FILE:COLUMN if it has several columns.",
        "[NAME=]COLUMN_OR_FILE",
    )
    positions: dict[str, str] = named_models(
        "--positions",
        "Rank by the positions in a column of the table, or in a file as of --scores: 1 is the top, and empty is a "
        "document that was not shown.",
        "[NAME=]COLUMN_OR_FILE",
    )
    on: list[str] = model_option(
        "--on", "Join tables of --scores and --positions by these columns, such as qid,docid.", "NAMES", callback=names
    )
    runs: dict[str, str] = named_models("--run", "Evaluate a TREC run with the judgments of --qrels.", "[NAME=]FILE")
    qrels: Path | None = data_option(
        "--qrels", "Read TREC judgments from this file, and use --run instead of DATA.", type=FILE
    )
    topics: words.Topics | None = data_option(
        "--topics",
        "Keep the topics that the qrels and all runs have (both), or all topics of the qrels, where a topic that a run "
        "lacks has no retrieved documents (qrels).  [default: different topics are an error]",
    )
    rank_by: words.RankBy | None = data_option(
        "--rank-by",
        "Rank the documents of the runs by score or by rank.  [default: score, or what the third of three columns is]",
    )
    drop_self: bool = data_option(
        "--drop-self", "Leave out of the qrels and the runs the document that is the query itself: it has the same id."
    )
    is_sorted: bool = data_option(
        "--sorted",
        "Read files batch by batch, even if they are larger than memory. The rows of a query must be adjacent.",
    )

    def description(self) -> str:
        """Return the names of the files of DATA, or that of the qrels."""
        return super().description() or str(self.qrels)

    def columns_or_files(self) -> dict[str, str]:
        """Return what --scores and --positions name."""
        return self.scores | self.positions

    def origins(self) -> dict[str, str]:
        """Return the file or column of each model."""
        scored = {
            name: f"{'positions in ' * (name in self.positions)}{'file' if score_file(item) else 'column'} {item}"
            for name, item in self.columns_or_files().items()
        }
        return scored | self.models | self.runs

    def files(self) -> list[Path]:
        """Return the input files."""
        score_files = [file[0] for item in self.columns_or_files().values() if (file := score_file(item))]
        qrels = [] if self.qrels is None else [self.qrels]
        return [*super().files(), *score_files, *map(Path, self.runs.values()), *qrels]


@dataclass(frozen=True)
class Metrics:
    """What is computed: the metrics, the policies, and the segments."""

    metrics: str | None = metric_option(
        "-m --metric --metrics",
        "Evaluate these metrics, separated by commas; 'ltr-metrics metrics' lists them all.  "
        f"[default: {','.join(DEFAULT_METRICS)}, or the metrics of the convention]",
        "NAMES",
    )
    metrics_module: Path | None = metric_option(
        "--metrics-module", "Run this Python file, and use its metrics. Only use files that you trust.", type=FILE
    )
    convention: str | None = metric_option(
        "--convention", f"Compute the metrics as this system does: {CONVENTION_NAMES}.", "NAME"
    )
    ties: words.TiePolicy | None = metric_option(
        "--ties", "Rank documents with equal scores by this policy.  [default: the policy of the convention]"
    )
    no_relevant: Any = metric_option(
        "--no-relevant",
        "Handle queries for which a metric is undefined: skip leaves them out of the mean of that metric, error stops, "
        "and a number becomes their value. drop leaves a query out of all means if all of its grades are 0.  "
        "[default: the choice of the convention]",
        "WORD_OR_NUMBER",
        callback=_number_or_word,
    )
    by: tuple[str, ...] = metric_option(
        "--segment",
        "Evaluate each segment as well: the queries with equal values in this column of the table, or with similar "
        "counts of documents (n_documents) or relevant documents (n_relevant).",
        "COLUMN",
    )
    skill: bool = metric_option(
        "--skill",
        "Add the value of a random order (chance), that of the ideal order, and the skill: 0 for a random order, 1 for "
        "the ideal one.",
    )

    def policy(self) -> dict[str, Any]:
        """Return the arguments that `ltr_metrics.evaluate` takes by the same names."""
        return {"convention": self.convention, "ties": self.ties, "no_relevant": self.no_relevant}

    def files(self) -> list[Path]:
        """Return the input files."""
        return [] if self.metrics_module is None else [self.metrics_module]


@dataclass(frozen=True)
class Intervals:
    """How confidence intervals of means are computed, if there is a level."""

    confidence: float | None = statistics_option(
        "--confidence", "Add an interval of each mean, at this level, such as 0.95.", "NUMBER", type=SHARE
    )
    cluster: str | None = statistics_option(
        "--cluster", "Take clusters of queries as the sample, such as users, which this column names.", "COLUMN"
    )


def confidence() -> Any:
    """Return the option of a level that intervals always have."""
    return statistics_option("--confidence", "Set the level of the intervals.", "NUMBER", type=SHARE, default=0.95)


@dataclass(frozen=True)
class IntervalsOfDifferences(Intervals):
    """How the confidence intervals of a comparison are computed."""

    confidence: float = confidence()


@dataclass(frozen=True)
class Comparison:
    """How models are compared."""

    baseline: str | None = statistics_option(
        "--baseline", "Compare the other models with this one.  [default: the first one]", "NAME"
    )
    yardsticks: tuple[str, ...] = statistics_option(
        "--yardstick",
        "Compare and show this model, such as BM25, but count it in no correction, and apply no rule to it.",
        "NAME",
    )
    test: words.Test = statistics_option(
        "--test", "Compute p-values with this paired, two-sided test.", default="randomization"
    )
    correction: words.Correction = statistics_option(
        "--correction", "Correct the p-values for multiple comparisons by this method.", default="holm"
    )
    power: float = statistics_option(
        "--power", "Set the power of the minimum detectable effect.", "NUMBER", type=SHARE, default=0.8
    )
    n_resamples: int = statistics_option(
        "--n-resamples", "Set the number of random swaps of the randomization test.", "N", type=COUNT, default=10_000
    )
    random_state: int = statistics_option(
        "--seed", "Set the random seed of the randomization test.", "N", type=click.IntRange(min=0), default=0
    )

    def chosen_baseline(self) -> str | None:
        """Return the model of ``--baseline``, or the first one; None if there is one model."""
        names, baseline = model_names(), self.baseline
        if baseline is not None and baseline not in names:
            raise LtrKeyError(
                f"--baseline {baseline} is not one of the models, {', '.join(names)}.{did_you_mean(baseline, names)}"
            )
        return None if len(names) < 2 else baseline or names[0]


@dataclass(frozen=True)
class Gate:
    """The rules of a gate."""

    rules: tuple[str, ...] = gate_option(
        "--gate",
        "Exit with status 1 if this rule fails. 'ndcg@10 > -0.005' requires that the whole interval of the "
        "difference is above -0.005, and with '> -1%' the margin is 1% of the baseline's mean. 'mean(ndcg@10) > "
        "0.6' is about the model's own mean. 'share(ndcg@10 < -0.3) < 5%' requires that the exact interval of the "
        "share of queries that lose more than 0.3 is below 5%. 'new: RULE' applies to the model new only.",
        "RULE",
    )
    each_segment: bool = gate_option("--gate-each-segment", "Apply each rule to each segment of --segment as well.")
    looks: int = gate_option(
        "--looks", "Widen the intervals for so many runs, if a single pass decides.", "N", type=COUNT, default=1
    )
    family: words.FamilyOfGate = gate_option(
        "--family",
        "Widen the intervals so that each PASS holds for whichever candidate you pick, or let only the whole gate "
        "count (one).",
        default="candidates",
    )


def settings(options: Any, *, without: str) -> dict[str, Any]:
    """Return the options of a structure as the arguments of the library with the same names."""
    return {name: value for name, value in vars(options).items() if name != without}


def model_names() -> list[str]:
    """Return the names of all models, in the order of the command line."""
    names: list[str] = click.get_current_context().meta.get(NAMES, [])
    return names
