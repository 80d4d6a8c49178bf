"""The output of a subcommand: standard output, or a file that is written whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.gate import GateResult
from ltr_metrics.errors import LtrValueError, printable
from ltr_metrics.io.write import require_folder, write_whole

FORMATS = {
    ".txt": "text",
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
}
DATA_FORMATS = ("json", "csv", "html")  # these quote control characters themselves
GATE_FAILED = 1


@dataclass(frozen=True)
class Output:
    """The format of the result, and the file that it is written to; None is standard output."""

    form: str
    path: Path | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any], formats: Iterable[str], *others: Path) -> Output:
        """Return the output of the command line; refuse one that cannot be written, before any work is done."""
        path: Path | None = arguments["output"]
        form: str = arguments["form"] or ("text" if path is None else FORMATS.get(path.suffix.lower(), ""))
        if form not in formats:
            endings = ", ".join(ending for ending, name in FORMATS.items() if name in formats)
            raise LtrValueError(f"--output {path} must end in one of {endings}. Or choose the format with --format.")
        if form == "html" and path is None:
            raise LtrValueError("HTML must be written to a file: --output report.html.")
        targets = [require_folder(one) for one in (path, *others) if one is not None]
        inputs = _input_files(arguments)
        for i, target in enumerate(targets):
            if target in targets[:i] or target in inputs:
                raise LtrValueError(f"{target} is a file that the command reads, or writes twice. Name another file.")
        return cls(form, path)

    def write(self, text: str) -> None:
        """Write the result; control characters are escaped in text, but not in data."""
        text = text if self.form in DATA_FORMATS else printable(text)
        if self.path is not None:
            write_whole(self.path, text)
            print_message(f"Wrote {self.path}.")
            return
        try:
            # Without color, click removes escape sequences from data that are piped.
            click.echo(text, nl=False, color=True)
        except BrokenPipeError:  # the reader, such as head, needs no more, which is not a failed gate
            sys.stdout = Path(os.devnull).open("w")


def _input_files(arguments: Mapping[str, Any]) -> list[Path]:
    """Return all files that the command line names as inputs."""
    named = [arguments.get(name) or {} for name in ("models", "scores", "runs", "results")]
    single = [arguments.get(name) for name in ("qrels", "metrics_module")]
    files = [*arguments.get("data", ()), *(one for one in single if one is not None)]
    return [Path(file).resolve() for file in (*files, *(file for of_kind in named for file in of_kind.values()))]


def print_message(message: str) -> None:
    """Write to standard error with control characters escaped."""
    click.echo(printable(message), err=True)


def gate_status(gate: GateResult | None) -> int:
    """Print the result of a gate, and return the exit status."""
    if gate is None:
        return 0
    print_message(str(gate))
    return 0 if gate.passed else GATE_FAILED
