"""Fuzz everything: ``python -m fuzz --seed 1 --seconds 600``.

Each part gets its share of the time and prints a report. The exit status is 1 if a fault is found.
To repeat one case of a part, name its number: ``python -m fuzz --part reader --seed 1 --case 17``.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from fuzz.report import Report, numbers_for

PARTS = {  # name: module
    "reader": "fuzz.readers",
    "model": "fuzz.models",
    "relation": "fuzz.relations",
    "host": "fuzz.hosts",
    "null": "fuzz.null",
    "property": "fuzz.properties",
}


@click.command(help=__doc__)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--seconds", default=600.0, show_default=True, help="Time for all parts; a case that has begun is finished."
)
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Repeatable.  [default: all]")
@click.option("--case", type=int, help="Run the case with this number alone.")
@click.option("--folder", type=click.Path(path_type=Path), help="Folder for files, which are kept.")
@click.option("--output", type=click.Path(path_type=Path), help="File for the report as well.")
def main(
    seed: int, seconds: float, parts: tuple[str, ...], case: int | None, folder: Path | None, output: Path | None
) -> None:
    texts, is_faulty = [], False
    named = parts or tuple(PARTS)
    with tempfile.TemporaryDirectory() as temporary:
        for part in named:
            run: Callable[[int, Iterable[int], Path], Report] = importlib.import_module(PARTS[part]).run
            numbers = numbers_for(seconds / len(named)) if case is None else iter([case])
            own = (folder or Path(temporary)) / part
            own.mkdir(parents=True, exist_ok=True)
            report = run(seed, numbers, own)
            is_faulty |= bool(report.faults)
            texts.append(f"{report}\n")
            click.echo(texts[-1])
    if output is not None:
        output.write_text("\n".join(texts))
    sys.exit(is_faulty)


if __name__ == "__main__":
    main(prog_name="python -m fuzz")
