"""The subcommand ``metrics``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

import click

from ltr_metrics._engine.results import Table, as_text
from ltr_metrics.cli import options
from ltr_metrics.cli.output import Output
from ltr_metrics.metrics.base import spell
from ltr_metrics.metrics.conventions import ALIASES, CLASSES, CONVENTIONS, Convention
from ltr_metrics.metrics.names import MetricInfo, available_metrics

WIDTH = 64  # of a description
IN_A_TABLE = 7  # conventions
USAGE = "Write name@10 for the cutoff k=10, and name(parameter=value) for other parameters."
CHOICES = {  # of all metrics of a convention
    "ties": "The order of documents with equal scores.",
    "no_relevant": "The value, or the handling, of a query for which a metric is undefined.",
    "cutoff": "The cutoff of a metric that is named without @k.",
    "rel": "The grade from which on a document is relevant, if it is not 1.",
    "host": "The training library whose own gain replaces that of NDCG and DCG in its trainings.",
    "weighs_undefined_as_one": "Metrics to whose sum an undefined query adds no_relevant, whatever its weight.",
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
    return "\n\n".join(map(as_text, tables)) + "\n"


def choice_tables() -> list[Table]:
    """Return the choices of all conventions, a few conventions in each table."""
    names = list(CONVENTIONS)
    tables = []
    for start in range(0, len(names), IN_A_TABLE):
        some = names[start : start + IN_A_TABLE]
        rows = [(choice, *(choice_text(CONVENTIONS[name], choice) for name in some)) for choice in rows_of_choices()]
        title = "" if start else "What each convention chooses (-: nothing):"
        tables.append(Table(("choice", *some), rows, "l", title=title))
    return tables


def _wrap(name: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Return the table rows of a name and of its wrapped description."""
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
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


def rows_of_choices() -> list[str]:
    """Return the choices of all conventions: for all metrics, then those of single metrics, such as map.denominator."""
    of_metrics = [
        f"{name}.{parameter}"
        for name in CLASSES
        for parameter in dict.fromkeys(p for c in CONVENTIONS.values() for p in c.metrics.get(name, {}) if p != "k")
    ]
    return [*CHOICES, *of_metrics]


def choice_text(convention: Convention, choice: str) -> str:
    """Return a choice as text; a dash if it is open, or the system does not have the metric."""
    if choice in CHOICES:
        value = getattr(convention, choice)
        return "-" if value in (None, ()) else ", ".join(value) if isinstance(value, tuple) else spell(value)
    name, _, parameter = choice.partition(".")
    if name not in convention.metrics:
        return "-"
    default = None if parameter == "no_relevant" else {f.name: f.default for f in fields(CLASSES[name])}[parameter]
    value = convention.metrics[name].get(parameter, default)
    return "-" if value is None else spell(value)


def scope_text(convention: Convention) -> str:
    """Return the names of the metrics that a convention has, and its further names."""
    if convention.metrics.keys() == CLASSES.keys():
        return "all metrics"
    metrics = ", ".join(
        f"{name} (without a cutoff)" if "k" in convention.metrics[name] else name for name in sorted(convention.metrics)
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
    return {name: dict(settings) for name, settings in value.items()} if isinstance(value, Mapping) else value


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
    output = Output.of(arguments, RENDERERS)
    output.write(RENDERERS[output.form]())
