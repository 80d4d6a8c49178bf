"""The subcommand ``metrics``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from ltr_metrics.cli import options
from ltr_metrics.cli.output import Output, in_json
from ltr_metrics.evaluation.tables import Table, as_text
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.names import MetricInfo, available_metrics

WIDTH = 64  # of a description
USAGE = """Write name@10 for the cutoff k=10, and name(parameter=value) for other parameters.

Conventions for --convention, whose choices --format json lists:"""


def _as_text() -> str:
    """Return the table of metrics, and the names of the conventions."""
    rows = [row for info in available_metrics() for row in _wrap(info.name, _describe(info))]
    names = textwrap.fill(", ".join(CONVENTIONS), 90, initial_indent="  ", subsequent_indent="  ")
    return f"{as_text(Table(('metric', 'description'), rows, 'l', foot=USAGE))}\n{names}\n"


def _wrap(name: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Return the table rows of a name and of a description, which is wrapped."""
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
    return [(name if nth == 0 else "", line) for nth, line in enumerate(lines)]


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
    return in_json({"metrics": metrics, "conventions": conventions})


def _plain(value: Any) -> Any:
    return {name: dict(settings) for name, settings in value.items()} if isinstance(value, Mapping) else value


RENDERERS: dict[str, Callable[[], str]] = {"text": _as_text, "json": _as_json}


@options.subcommand("List the metrics and the conventions.", RENDERERS, without=("is_spreadsheet_safe", "is_wide"))
def metrics(output: Output) -> None:
    """List the metrics with their parameters, and the conventions.

    A convention is the set of choices with which a system computes its metrics. Pass its name to
    --convention of the other commands. --format json lists the choices of each convention.

    \b
    Examples:
      ltr-metrics metrics
      ltr-metrics metrics --format json
      ltr-metrics metrics --output metrics.json
    """  # noqa: D301
    output = output.checked(RENDERERS, [])
    output.write(RENDERERS[output.form]())
