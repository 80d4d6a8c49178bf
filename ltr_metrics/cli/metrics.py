"""The subcommand ``metrics``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
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
WIDTH_OF_METRICS = 48  # of a convention
USAGE = "Write name@10 for the cutoff k=10, and name(parameter=value) for other parameters."
CHOICES = {  # of all metrics of a convention
    "ties": "The order of documents with equal scores.",
    "no_relevant": "The value, or the handling, of a query for which a metric is undefined.",
    "cutoff": "The cutoff of a metric that is named without @k.",
    "rel": "The grade from which on a document is relevant, if it is not 1.",
    "metrics": "The metrics of the system, each with the parameters that differ from its defaults.",
}


def _as_text() -> str:
    """Return the tables of metrics and conventions."""
    metrics = [row for info in available_metrics() for row in _wrap((info.name,), _describe(info), WIDTH)]
    conventions = [row for *cells, text in convention_rows() for row in _wrap(cells, [text], WIDTH_OF_METRICS)]
    meanings = [row for name, text in CHOICES.items() for row in _wrap((name,), [text], WIDTH)]
    tables = (
        Table(("metric", "description"), metrics, "l", foot=USAGE),
        Table(("convention", *CHOICES), conventions, "l", title="What each convention chooses (-: nothing):"),
        Table(("choice", "meaning"), meanings, "l"),
    )
    return "\n\n".join(map(as_text, tables)) + "\n"


def convention_rows() -> list[tuple[str, ...]]:
    """Return a row per convention: its name, its choices for all metrics, and its metrics."""
    return [
        (name, *(_choice(getattr(one, choice)) for choice in [*CHOICES][:-1]), metrics_text(one))
        for name, one in CONVENTIONS.items()
    ]


def _choice(value: Any) -> str:
    return "-" if value is None else spell(value)


def metrics_text(convention: Convention) -> str:
    """Return the metrics of a convention with what differs from their defaults, and its further names."""
    if convention.metrics.keys() == CLASSES.keys():
        return "all"
    metrics = []
    for name, settings in sorted(convention.metrics.items()):
        differences = [f"{key}={spell(value)}" for key, value in settings.items() if key != "k"]
        differences += ["no cutoff"] * ("k" in settings)
        differences += ["undefined queries weigh 1"] * (name in convention.weighs_undefined_as_one)
        differences += ["no weighted mean"] * (name in convention.no_weighted_mean)
        metrics.append(f"{name} ({', '.join(differences)})" if differences else name)
    aliases = ", ".join(alias for alias, name in ALIASES.items() if name == convention.name)
    return ", ".join(metrics) + (f"; also called {aliases}" if aliases else "")


def _wrap(cells: Sequence[str], sentences: Iterable[str], width: int) -> list[tuple[str, ...]]:
    """Return the table rows of some cells and of a description, which is wrapped."""
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, width, subsequent_indent="  ")]
    return [(*(cells if nth == 0 else [""] * len(cells)), line) for nth, line in enumerate(lines)]


def _describe(info: MetricInfo) -> list[str]:
    parts = {"": info.summary, "Aliases: ": ", ".join(info.aliases), "Parameters: ": parameters_text(info)}
    return [f"{title}{text}" for title, text in parts.items() if text]


def parameters_text(info: MetricInfo) -> str:
    """Return the parameters of a metric with their defaults."""
    return ", ".join(
        name if default is None else f"{name} (required)" if default is ... else f"{name}={default}"
        for name, default in info.parameters.items()
    )


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
