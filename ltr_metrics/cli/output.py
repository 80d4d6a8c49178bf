"""Where results go: the terminal, or files that are written whole, after all else has succeeded."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import click

from ltr_metrics.analysis.gating import GateResult
from ltr_metrics.cli.options import is_spreadsheet_safe
from ltr_metrics.cli.streams import lost_output, require_standard_output
from ltr_metrics.errors import LtrValueError, printable
from ltr_metrics.io import write_whole
from ltr_metrics.io.compressed import STANDARD_INPUT
from ltr_metrics.io.write import find_target
from ltr_metrics.report import spreadsheet_safe

FORM_OF = {
    ".txt": "text",
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
}
FORMS_OF_DATA = ("json", "csv", "html")  # which have quotes of their own for what is no plain text
GATE_FAILED = 1


def chosen_format(form: str | None, out: Path | None, forms: Iterable[str]) -> str:
    """Return what was asked for, or what the name of the file says."""
    chosen = _chosen_format(form, out, forms)
    if is_spreadsheet_safe() and chosen != "csv":
        raise LtrValueError(f"--spreadsheet-safe is for --format csv. The format is {chosen}.")
    return chosen


def _chosen_format(form: str | None, out: Path | None, forms: Iterable[str]) -> str:
    if form is not None:
        if form not in forms:
            raise LtrValueError(f"--format {form} is not written here; there are {', '.join(forms)}.")
        return form
    if out is None:
        return "text"
    named = FORM_OF.get(out.suffix.lower())
    if named is None or named not in forms:
        known = ", ".join(suffix for suffix, one in FORM_OF.items() if one in forms)
        raise LtrValueError(f"--output {out} must end in one of {known}, or say what it is to be: --format.")
    return named


def require_targets(inputs: Iterable[Path], out: Path | None, *saved: Path) -> None:
    """Refuse outputs that cannot be written, and outputs that are inputs, before the work is done."""
    targets = [*([] if out is None else [out]), *saved]
    replaced = [find_target(path) for path in targets]
    twice = next((path for at, path in enumerate(replaced) if path in replaced[:at]), None)
    if twice is not None:
        raise LtrValueError(f"{twice} is to be written twice; name different files.")
    written = {str(path): path.stat() for path in targets if path.exists()}
    if out is None and (status := require_standard_output()) is not None:
        written["standard output"] = status
    _refuse_inputs(inputs, written)


def _refuse_inputs(inputs: Iterable[Path], written: Mapping[str, os.stat_result]) -> None:
    """Refuse an output that is an input under any of its names: through links, too."""
    read = {_identity(status): path for path in inputs if (status := _status_of_input(path)) is not None}
    for name, status in written.items():
        source = read.get(_identity(status))
        if source is not None:
            raise LtrValueError(
                f"The output {name} must not be a file that the command reads: it is the input {source}. Name another file for the result."
            )


def _status_of_input(path: Path) -> os.stat_result | None:
    """Return what identifies a file that is read; None for pipes and devices."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else path.stat()
    except OSError:  # it is absent, which its reader reports, or a program has replaced standard input
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _identity(status: os.stat_result) -> tuple[int, int]:
    """Return what all names of one file have in common."""
    return status.st_dev, status.st_ino


def tell(message: str) -> None:
    """Write to standard error, where no name controls a terminal. That nobody can read it changes no exit status."""
    with suppress(OSError):
        click.echo(printable(message), err=True)


def write(text: str, out: Path | None, form: str) -> None:
    """Write a result to a file, whole, or to the terminal; names in text control no terminal, and data stay as they are."""
    if form not in FORMS_OF_DATA:
        text = printable(text)
    elif is_spreadsheet_safe():
        text = spreadsheet_safe(text)
    if out is not None:
        write_file(out, lambda path: write_whole(path, text))
        return
    try:
        click.echo(text, nl=False, color=True)  # or click would take colours out of data that is piped
    except BrokenPipeError:
        pass  # the reader, such as head, has what it wanted; the status still says what the gate said
    except OSError as error:
        raise lost_output(error) from error


def write_file(out: Path, writer: Callable[[Path], None]) -> None:
    """Write a file, and say so."""
    writer(out)
    tell(f"Wrote {out}.")


def status_of(verdict: GateResult | None) -> int:
    """Show what the gate says, and return the exit status."""
    if verdict is None:
        return 0
    tell(str(verdict))
    return 0 if verdict.passed else GATE_FAILED
