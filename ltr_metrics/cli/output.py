"""The output of a subcommand: standard output, or a file that is written whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.gate import GateResult
from ltr_metrics.cli.options import score_file
from ltr_metrics.errors import LtrValueError, printable
from ltr_metrics.io.letor import size_files
from ltr_metrics.io.tables import is_table
from ltr_metrics.io.write import require_folder, write_whole
from ltr_metrics.report import spreadsheet_safe

FORMATS = {".txt": "text", ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html"}
DATA_FORMATS = ("json", "csv", "html")  # these quote control characters themselves
STANDARD_OUTPUT = Path("-")
GATE_FAILED = 1


@dataclass(frozen=True)
class Output:
    """The format of the result, and the file that it is written to; None is standard output."""

    form: str
    path: Path | None
    is_spreadsheet_safe: bool

    @classmethod
    def of(cls, arguments: Mapping[str, Any], formats: Iterable[str], *others: Path) -> Output:
        """Return the output of the command line; refuse one that cannot be written, before any work is done."""
        path: Path | None = None if arguments["output"] == STANDARD_OUTPUT else arguments["output"]
        ending = ".txt" if path is None or path.is_char_device() else path.suffix.lower()
        form: str = arguments["form"] or FORMATS.get(ending, "")
        if form not in formats:
            endings = ", ".join(ending for ending, name in FORMATS.items() if name in formats)
            hint = " The command report writes HTML." if form == "html" else ""
            hint += " Values per query as Parquet are written by evaluate --save." if is_table(str(path)) else ""
            raise LtrValueError(f"--output {path} must end in one of {endings}, or needs --format.{hint}")
        if form == "html" and path is None:
            raise LtrValueError("HTML must be written to a file: --output report.html.")
        if arguments.get("spreadsheet_safe") and form != "csv":
            raise LtrValueError(f"--spreadsheet-safe needs --format csv. The format is {form}.")
        if path is None and sys.stdout is None:  # Python's answer to a stream that is closed
            raise OSError("Standard output is closed, so the result would be lost. Name a file for it with --output.")
        _require_targets([one for one in (path, *others) if one is not None], _input_files(arguments))
        return cls(form, path, bool(arguments.get("spreadsheet_safe")))

    def write(self, text: str) -> None:
        """Write the result; control characters are escaped in text, but not in data."""
        if self.form not in DATA_FORMATS:
            text = printable(text)
        elif self.is_spreadsheet_safe:
            text = spreadsheet_safe(text)
        if self.path is not None:
            write_file(self.path, text)
            return
        try:
            # Without color, click removes escape sequences from data that are piped.
            click.echo(text, nl=False, color=True)
        except BrokenPipeError:
            pass  # the reader, such as head, needs no more, which is not a failed gate
        except OSError as error:
            raise OSError(f"The result is lost: {error}. Name a file for it with --output.") from error


def _require_targets(targets: list[Path], inputs: list[Path]) -> None:
    """Refuse files that cannot be written, that are inputs under any of their names, or that are written twice."""
    written = list(map(require_folder, targets))
    for i, target in enumerate(written):
        if target in written[:i]:
            raise LtrValueError(f"{targets[i]} would be written twice. Name different files.")
        source = next((one for one in inputs if target.exists() and one.exists() and target.samefile(one)), None)
        if source is not None:
            raise LtrValueError(f"{targets[i]} is the input {source}, which is not replaced. Name another file.")


def _input_files(arguments: Mapping[str, Any]) -> list[Path]:
    """Return all files that the command line names as inputs, and the files of query sizes beside them."""
    data: tuple[Path, ...] = arguments.get("data", ())
    files = [*data, *(size_file for path in data for size_file in size_files(path))]
    files += [arguments[name] for name in ("qrels", "metrics_module") if arguments.get(name) is not None]
    for name in ("models", "runs", "results"):
        files += map(Path, arguments.get(name, {}).values())
    return files + [file[0] for item in arguments.get("scores", {}).values() if (file := score_file(item))]


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file, and report it on standard error."""
    write_whole(path, content)
    print_message(f"Wrote {path}.")


def print_message(message: str) -> None:
    """Write to standard error with control characters escaped; a stream that is full does not change the status."""
    with suppress(OSError):
        click.echo(printable(message), err=True)


def drop_unwritten() -> None:
    """Drop what the standard streams could not take; otherwise Python exits with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def gate_status(gate: GateResult | None) -> int:
    """Print the result of a gate, and return the exit status."""
    if gate is None:
        return 0
    print_message(str(gate))
    return 0 if gate.passed else GATE_FAILED
