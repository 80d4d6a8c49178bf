"""The output of a subcommand: standard output, or a file that is written whole."""

# ruff: noqa: RUF009 -- the calls return fields

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.gate import GateResult
from ltr_metrics.cli import options
from ltr_metrics.errors import LtrValueError, printable
from ltr_metrics.evaluation.tables import TableOrText, as_latex, as_markdown, as_text, filled
from ltr_metrics.io.tables import table_kind
from ltr_metrics.io.write import require_folder, write_whole
from ltr_metrics.report import spreadsheet_safe

FORMATS = {".txt": "text", ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html"}
DATA_FORMATS = ("json", "csv", "html")  # these quote control characters themselves
STANDARD_OUTPUT = Path("-")
GATE_FAILED = 1
COLOURS = {"PASS": "green", "better": "green", "FAIL": "red", "worse": "red"}
VERDICTS = re.compile(r"(?<!\S)(PASS|FAIL|better|worse)(?=  | in |$)", re.MULTILINE)  # in tables, and before metrics


@dataclass(frozen=True)
class Output:
    """The format of the result, which `checked` completes, and its file; None is standard output."""

    form: str = options.output_option(
        "--format", "Write the result in this format.  [default: the ending of --output, or the first of these]"
    )
    path: Path | None = options.output_option(
        "-o --output", "Write the result to this file, which is replaced.", "FILE", type=options.OUTPUT_FILE
    )
    is_spreadsheet_safe: bool = options.output_option(
        "--spreadsheet-safe", "Put an apostrophe before text in CSV that a spreadsheet would run."
    )
    is_wide: bool = options.output_option("--wide", "Show all columns of tables that are wider than the terminal.")

    def in_tables(self, parts: Iterable[TableOrText]) -> str:
        """Return tables and texts in this format: text, which fits the terminal unless it may be wider, or markup."""
        is_narrow = self.path is None and is_terminal(sys.stdout) and not self.is_wide
        width = shutil.get_terminal_size().columns if is_narrow else None
        renderers: dict[str, Callable[[TableOrText], str]] = {
            "text": lambda part: as_text(part, width),
            "markdown": as_markdown,
            "latex": as_latex,
        }
        return "\n\n".join(map(renderers[self.form], parts)) + "\n"

    def checked(self, formats: Collection[str], inputs: Iterable[Path], *others: Path) -> Output:
        """Return the output with its format; refuse one that cannot be written, before any work is done.

        ``others`` are further files that are written. None of them may be one of the ``inputs``.
        """
        path = None if self.path == STANDARD_OUTPUT else self.path
        if self.form:
            form = self.form
        elif path is None or path.is_char_device():
            form = next(iter(formats))
        else:
            form = FORMATS.get(path.suffix.lower(), "")
        if form not in formats:
            endings = ", ".join(ending for ending, name in FORMATS.items() if name in formats)
            hint = " The command report writes HTML." if form == "html" else ""
            if form and "html" in formats:
                hint = " The commands evaluate and compare write text, Markdown and LaTeX."
            hint += " Values per query as Parquet are written by evaluate --save." if table_kind(path or Path()) else ""
            raise LtrValueError(f"--output {path} must end in one of {endings}, or needs --format.{hint}")
        if form == "html" and path is None:
            raise LtrValueError("HTML must be written to a file: --output report.html.")
        if self.is_spreadsheet_safe and form != "csv":
            raise LtrValueError(f"--spreadsheet-safe needs --format csv. The format is {form}.")
        if path is None and sys.stdout is None:  # Python's answer to a stream that is closed
            raise OSError("Standard output is closed, so the result would be lost. Name a file for it with --output.")
        _require_targets([*([] if path is None else [path]), *others], list(inputs))
        return replace(self, form=form, path=path)

    def write(self, text: str) -> None:
        """Write the result; control characters are escaped in text and on a terminal, but not in data that are kept."""
        is_data = self.form in DATA_FORMATS
        if self.is_spreadsheet_safe:
            text = spreadsheet_safe(text)
        if not is_data or (self.path is None and is_terminal(sys.stdout)):
            text = printable(text)
        if self.path is not None:
            write_file(self.path, text)
            return
        if self.form == "text":
            text = coloured(text, sys.stdout)
        try:
            # Data are UTF-8, as in a file, whatever the encoding of the stream. Without color, click removes escape
            # sequences from data that are piped.
            click.echo(text.encode() if is_data else text, nl=False, color=True)
        except BrokenPipeError:
            pass  # the reader, such as head, needs no more, which is not a failed gate
        except OSError as error:
            raise OSError(f"The result is lost: {error}. Name a file for it with --output.") from error


def in_json(values: dict[str, Any]) -> str:
    """Return values as JSON."""
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def _require_targets(targets: list[Path], inputs: list[Path]) -> None:
    """Refuse files that cannot be written, that are inputs under any of their names, or that are written twice."""
    written = list(map(require_folder, targets))
    for i, target in enumerate(written):
        if target in written[:i]:
            raise LtrValueError(f"{targets[i]} would be written twice. Name different files.")
        source = next((one for one in inputs if target.exists() and one.exists() and target.samefile(one)), None)
        if source is not None:
            raise LtrValueError(f"{targets[i]} is the input {source}, which is not replaced. Name another file.")


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file, and report it on standard error."""
    write_whole(path, content)
    print_message(f"Wrote {path}.")


def print_message(message: str) -> None:
    """Write to standard error with control characters escaped; a stream that is full does not change the status."""
    with suppress(OSError):
        click.echo(coloured(printable(message), sys.stderr), err=True, color=True)


def is_terminal(stream: Any) -> bool:
    """Whether somebody reads a stream as it is written."""
    return bool(stream is not None and stream.isatty())


def coloured(text: str, stream: Any) -> str:
    """Return text for a stream, with verdicts in colour on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    if not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return VERDICTS.sub(lambda match: click.style(match[0], fg=COLOURS[match[0]], bold=match[0].isupper()), text)


def drop_unwritten() -> None:
    """Drop what the standard streams could not take; otherwise Python exits with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def gate_status(gate: GateResult | None) -> int:
    """Print the result of a gate, with long lines wrapped on a terminal, and return the exit status."""
    if gate is None:
        return 0
    lines = str(gate).splitlines()
    if is_terminal(sys.stderr):
        columns = shutil.get_terminal_size().columns
        lines = [filled(line, columns, " " * 6) for line in lines]
    print_message("\n".join(lines))
    return 0 if gate.passed else GATE_FAILED
