"""A bar on standard error while long work goes on; nothing where nobody sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

T = TypeVar("T")


def progress(label: str, items: Iterable[Any]) -> Iterable[Any]:
    """Go through items and show how far it is, if standard error is a terminal."""
    listed = list(items)
    if not listed or not sys.stderr.isatty():
        yield from listed
        return
    with click.progressbar(listed, label=label, file=sys.stderr) as bar:
        yield from bar


def step(label: str, work: Callable[[], T]) -> T:
    """Do work of which there is nothing to count, and show what it is."""
    (done,) = [work() for _ in progress(label, [None])]
    return done


@contextmanager
def count(what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows how many there are by now, if standard error is a terminal."""
    shown = sys.stderr.isatty()

    def show(done: int) -> None:
        if shown:
            click.echo(f"\r{done:,} {what}", nl=False, err=True)

    try:
        yield show
    finally:
        if shown:
            click.echo(err=True)
