"""The output of a subcommand: standard output, or a file that is written whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.gating import GateResult
from ltr_metrics.cli.standard_streams import lost_output, require_standard_output
from ltr_metrics.errors import LtrValueError, printable
from ltr_metrics.io import write_whole
from ltr_metrics.io.compressed import STANDARD_INPUT
from ltr_metrics.io.write import find_target
from ltr_metrics.report import spreadsheet_safe

FORMAT_OF_ENDING = {
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
STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True)
class Output:
    """The format of the result, and the file that it is written to; None is standard output."""

    format: str
    path: Path | None
    is_spreadsheet_safe: bool = False

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any], formats: Iterable[str]) -> Output:
        """Return the output that ``--format`` and ``--output`` choose."""
        path = None if arguments["output"] == STANDARD_OUTPUT else arguments["output"]
        is_safe = arguments.get("spreadsheet_safe", False)
        chosen = _chosen_format(arguments["format"], path, formats)
        if is_safe and chosen != "csv":
            raise LtrValueError(f"--spreadsheet-safe needs --format csv. The format is {chosen}.")
        return cls(chosen, path, is_safe)

    def write(self, text: str) -> None:
        """Write the result; control characters are escaped in text, but not in data."""
        if self.format not in DATA_FORMATS:
            text = printable(text)
        elif self.is_spreadsheet_safe:
            text = spreadsheet_safe(text)
        if self.path is not None:
            write_file(self.path, lambda path: write_whole(path, text))
            return
        try:
            # Without color, click removes escape sequences from data that are piped.
            click.echo(text, nl=False, color=True)
        except BrokenPipeError:
            pass  # the reader, such as head, needs no more; the exit status does not change
        except OSError as error:
            raise lost_output(error) from error


def _chosen_format(requested: str | None, path: Path | None, formats: Iterable[str]) -> str:
    if requested is not None:
        if requested not in formats:
            raise LtrValueError(f"--format {requested} is not available here. Use one of {', '.join(formats)}.")
        return requested
    if path is None:
        return "text"
    inferred = FORMAT_OF_ENDING.get(path.suffix.lower())
    if inferred is None or inferred not in formats:
        endings = ", ".join(ending for ending, name in FORMAT_OF_ENDING.items() if name in formats)
        raise LtrValueError(f"--output {path} must end in one of {endings}. Or choose the format with --format.")
    return inferred


def require_targets(inputs: Iterable[Path], output: Output, *saved: Path) -> None:
    """Refuse outputs that cannot be written, or that are inputs, before any work is done."""
    targets = [*([] if output.path is None else [output.path]), *saved]
    resolved = [find_target(path) for path in targets]
    repeated = next((path for i, path in enumerate(resolved) if path in resolved[:i]), None)
    if repeated is not None:
        raise LtrValueError(f"{repeated} would be written twice. Name different files.")
    statuses = {str(path): path.stat() for path in targets if path.exists()}
    if output.path is None and (status := require_standard_output()) is not None:
        statuses["standard output"] = status
    _refuse_inputs(inputs, statuses)


def _refuse_inputs(inputs: Iterable[Path], outputs: Mapping[str, os.stat_result]) -> None:
    """Refuse an output that is an input under any of its names, also through links."""
    input_of = {_identity(status): path for path in inputs if (status := _status_of_input(path)) is not None}
    for name, status in outputs.items():
        source = input_of.get(_identity(status))
        if source is not None:
            raise LtrValueError(
                f"The output {name} must not be a file that the command reads: it is the input {source}. "
                "Name another file for the result."
            )


def _status_of_input(path: Path) -> os.stat_result | None:
    """Return the status of a regular file; None for pipes and devices."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else path.stat()
    except OSError:  # absent, which its reader reports, or a program has replaced standard input
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def print_message(message: str) -> None:
    """Write to standard error with control characters escaped, and ignore failures."""
    with suppress(OSError):
        click.echo(printable(message), err=True)


def write_file(path: Path, writer: Callable[[Path], None]) -> None:
    """Write a file, and report it on standard error."""
    writer(path)
    print_message(f"Wrote {path}.")


def gate_status(gate: GateResult | None) -> int:
    """Print the result of a gate, and return the exit status."""
    if gate is None:
        return 0
    print_message(str(gate))
    return 0 if gate.passed else GATE_FAILED
