"""Progress of long work on standard error, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

T = TypeVar("T")


def progress(label: str, items: Iterable[Any]) -> Iterable[Any]:
    """Iterate over items with a progress bar."""
    listed = list(items)
    if not listed or not sys.stderr.isatty():
        yield from listed
        return
    with click.progressbar(listed, label=label, file=sys.stderr) as bar:
        yield from bar


def run_step(label: str, work: Callable[[], T]) -> T:
    """Run work that has no countable parts, and show its label."""
    (result,) = [work() for _ in progress(label, [None])]
    return result


@contextmanager
def show_count(what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows a running count."""
    is_shown = sys.stderr.isatty()

    def show(count: int) -> None:
        if is_shown:
            click.echo(f"\r{count:,} {what}", nl=False, err=True)

    try:
        yield show
    finally:
        if is_shown:
            click.echo(err=True)
