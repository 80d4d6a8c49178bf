"""Where results go: the terminal, or files that are written whole, after all else has succeeded."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ltr_metrics.cli.options import is_spreadsheet_safe
from ltr_metrics.errors import LtrValueError
from ltr_metrics.gating import GateResult
from ltr_metrics.io import write_whole
from ltr_metrics.printable import printable
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
        raise LtrValueError(f"--out {out} must end in one of {known}, or say what it is to be: --format.")
    return named


def require_targets(*paths: Path | None) -> None:
    """Refuse files that cannot be written before the work is done, not after it."""
    targets = [path for path in paths if path is not None]
    resolved = [path.resolve() for path in targets]  # what a link leads to is written
    for path, real in zip(targets, resolved, strict=True):
        if not real.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
        if path.exists() and not path.is_file():
            raise LtrValueError(f"{path} is no regular file, so it cannot be replaced by one.")
        if not os.access(real.parent, os.W_OK):
            raise PermissionError(f"The folder {path.parent} cannot be written to.")
    twice = next((path for at, path in enumerate(resolved) if path in resolved[:at]), None)
    if twice is not None:
        raise LtrValueError(f"{twice} is to be written twice; name different files.")


def tell(message: str) -> None:
    """Write to standard error, where no name controls a terminal; that its reader has gone changes no exit status."""
    try:
        click.echo(printable(message), err=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


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
    except BrokenPipeError:  # the reader, such as head, has what it wanted; the status still says what the gate said
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(out: Path, writer: Callable[[Path], None]) -> None:
    """Write a file, the one that a link leads to, and say so."""
    writer(out.resolve())
    tell(f"Wrote {out}.")


def status_of(verdict: GateResult | None) -> int:
    """Show what the gate says, and return the exit status."""
    if verdict is None:
        return 0
    tell(str(verdict))
    return 0 if verdict.passed else GATE_FAILED
