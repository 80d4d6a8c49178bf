"""The command: `python -m benchmarks`."""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.machine import machine, versions
from benchmarks.measures import FULL, MEASURES, QUICK, Effort
from benchmarks.peers import DifferentNumbersError
from benchmarks.results import Row, as_json, as_tables, publish


@click.command(help="Measure ltr_metrics and its peers side by side: tables and results.json.")
@click.option("--quick", is_flag=True, help="Fewer rows and repeats: about two minutes, and only indicative.")
@click.option("--only", multiple=True, type=click.Choice(list(MEASURES), case_sensitive=False), help="Repeatable.")
@click.option("--out", type=click.Path(path_type=Path), default="bench_output", show_default=True, help="A folder.")
@click.option("--json-to-readme", is_flag=True, help="Only write benchmarks/results.json into README.md and docs/.")
def main(quick: bool, only: Sequence[str], out: Path, json_to_readme: bool) -> None:
    if json_to_readme:
        publish()
        return
    results = run(QUICK if quick else FULL, [name for name in MEASURES if not only or name in only])
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(as_json(results), encoding="utf-8")
    click.echo(as_tables(results))


def run(effort: Effort, names: Sequence[str]) -> dict[str, Any]:
    """Measure, and return everything that is written down."""
    start = time.perf_counter()
    rows: list[Row] = []
    missing: dict[tuple[str, str], None] = {}  # without repetition
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="err counts grades")  # of data whose grades end below 4
        for name in names:
            click.echo(f"{time.perf_counter() - start:5.0f} s  {name}", err=True)
            for measure in MEASURES[name]:
                try:
                    rows.extend(measure(effort))
                except (ImportError, FileNotFoundError, DifferentNumbersError) as error:
                    missing[name, str(error)] = None
    return {
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "effort": effort.name,
        "machine": machine(),
        "versions": versions(),
        "missing": list(missing),
        "rows": [row._asdict() for row in rows],
    }


if __name__ == "__main__":
    main()
