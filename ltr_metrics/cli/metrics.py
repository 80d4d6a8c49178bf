"""The subcommand ``metrics``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import click

from ltr_metrics._engine.printed import Table, as_text
from ltr_metrics.cli import options
from ltr_metrics.cli.output import Output, require_targets
from ltr_metrics.metrics.base import spell
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.names import METRICS, MetricInfo, available_metrics
from ltr_metrics.metrics.systems import ALIASES, CONVENTIONS

WIDTH = 80
IN_A_TABLE = 7  # conventions
USAGE = "Write name@10 for the cutoff k=10, and name(parameter=value) for other parameters."
CHOICES = {  # the fields of a convention except its name and its metrics
    "ties": "The order of documents with equal scores.",
    "no_relevant": "The value, or the handling, of a query for which a metric is undefined.",
    "ndcg_no_relevant": "The same for NDCG, if it differs.",
    "recall_no_relevant": "The same for recall, if it differs.",
    "cutoff": "The cutoff of a metric that is named without @k.",
    "rel": "The grade from which on a document is relevant, if it is not 1.",
    "ndcg_gain": "The gain of NDCG and DCG.",
    "ndcg_discount": "The discount of NDCG and DCG.",
    "ndcg_ideal": "The documents of the ideal ranking of NDCG.",
    "ndcg_short": "NDCG of a query with fewer than k documents.",
    "map_denominator": "The denominator of average precision.",
    "precision_short": "Precision of a query with fewer than k documents.",
    "iprec_rounding": "The rounding of a level of recall to relevant documents, for iprec.",
    "err_max_grade": "The highest grade of the scale for ERR.",
    "err_p": "The stop probability of ERR.",
    "rbp_graded": "How RBP uses grades; a dash is relevance of 0 or 1.",
    "pfound_p_break": "The probability that the user of PFound gives up after a document.",
    "pfound_p_rel": "The probability of PFound that a document is relevant to the user.",
    "pfound_max_grade": "The highest grade of the scale for PFound with p_rel=exp.",
    "pairs_tied": "What a pair with equal scores counts in pair accuracy.",
    "pairs_average": "Whether the mean of pair accuracy is over queries (macro) or over pairs (micro).",
    "host": "The training library whose own gain replaces ndcg_gain in its trainings.",
}


def _as_text() -> str:
    """Return the tables of metrics and conventions."""
    metrics = [row for info in available_metrics() for row in _wrap(info.name, _describe(info))]
    scopes = [row for convention in CONVENTIONS.values() for row in _wrap(convention.name, [scope_text(convention)])]
    meanings = [row for name, text in CHOICES.items() for row in _wrap(name, [text])]
    tables = (
        Table(("metric", "description"), metrics, "l", foot=USAGE),
        *choice_tables(),
        Table(("convention", "metrics"), scopes, "l"),
        Table(("choice", "meaning"), meanings, "l"),
    )
    return as_text(tables) + "\n"


def choice_tables() -> list[Table]:
    """Return the choices of all conventions, a few conventions in each table."""
    names = list(CONVENTIONS)
    tables = []
    for start in range(0, len(names), IN_A_TABLE):
        some = names[start : start + IN_A_TABLE]
        rows = [(choice, *(choice_text(CONVENTIONS[name], choice) for name in some)) for choice in CHOICES]
        title = "" if start else "What each convention chooses (-: nothing):"
        tables.append(Table(("choice", *some), rows, "l", title=title))
    return tables


def _wrap(name: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Return the table rows of a name and of its wrapped description."""
    width = WIDTH - max(map(len, CHOICES)) - 2
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, width, subsequent_indent="  ")]
    return list(zip([name, *[""] * (len(lines) - 1)], lines, strict=True))


def _describe(info: MetricInfo) -> list[str]:
    parts = {"": info.summary, "Aliases: ": ", ".join(info.aliases), "Parameters: ": parameters_text(info)}
    return [f"{title}{text}" for title, text in parts.items() if text]


def parameters_text(info: MetricInfo) -> str:
    """Return the parameters of a metric with their defaults."""
    return ", ".join(
        name if default is None else f"{name} (required)" if default is ... else f"{name}={default}"
        for name, default in info.parameters.items()
    )


def choice_text(convention: Convention, field: str) -> str:
    """Return a choice as text; a dash if it is open, or affects no metric of the convention."""
    value, prefix = getattr(convention, field), field.partition("_")[0]
    prefix_of = {cls.NAME: cls.CONVENTION_PREFIX or cls.NAME for cls in METRICS}
    available = {prefix_of[name] for name in (prefix_of if convention.metrics is None else convention.metrics)}
    is_unused = prefix in prefix_of.values() and prefix not in available
    return "-" if value is None or is_unused else spell(value)


def scope_text(convention: Convention) -> str:
    """Return the names of the metrics that a convention has, and its further names."""
    if convention.metrics is None:
        return "all metrics"
    metrics = ", ".join(
        f"{name} (without a cutoff)" if name in convention.uncut else name for name in sorted(convention.metrics)
    )
    aliases = ", ".join(alias for alias, name in ALIASES.items() if name == convention.name)
    return f"{metrics}; also called {aliases}" if aliases else metrics


def _as_json() -> str:
    metrics = [
        {
            "name": info.name,
            "aliases": list(info.aliases),
            "summary": info.summary,
            "parameters": {name: None if default is ... else default for name, default in info.parameters.items()},
            "required": [name for name, default in info.parameters.items() if default is ...],
        }
        for info in available_metrics()
    ]
    conventions = {
        name: {field.name: _plain(getattr(convention, field.name)) for field in fields(convention)}
        for name, convention in CONVENTIONS.items()
    }
    return json.dumps({"metrics": metrics, "conventions": conventions}, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


RENDERERS: dict[str, Callable[[], str]] = {"text": _as_text, "json": _as_json}


@click.command(cls=options.Command, short_help="List the metrics and the conventions.")
@options.add_options(options.output_options(*RENDERERS))
def metrics(**arguments: Any) -> None:
    """List the metrics with their parameters, and what each convention chooses.

    A convention is the set of choices with which a system computes its metrics. Pass its name to
    --convention of the other commands.

    \b
    Examples:
      ltr-metrics metrics
      ltr-metrics metrics --format json
      ltr-metrics metrics --output metrics.json
    """  # noqa: D301
    output = Output.from_arguments(arguments, RENDERERS)
    require_targets([], output)
    output.write(RENDERERS[output.format]())
