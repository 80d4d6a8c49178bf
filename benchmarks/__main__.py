"""The command: `python -m benchmarks`."""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.effort import FULL, QUICK, Effort
from benchmarks.figures import Missing, Row
from benchmarks.machine import machine, versions
from benchmarks.measures import MEASURES
from benchmarks.publish import as_json, publish
from benchmarks.table import as_text


@click.command(help="Measure ltr_metrics and its peers side by side: a table, results.json and results.png.")
@click.option("--quick", is_flag=True, help="Fewer rows and repeats: under a minute, and indicative.")
@click.option(
    "--only", multiple=True, type=click.Choice(list(MEASURES), case_sensitive=False), help="One measure. Repeatable."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("bench_output"),
    show_default=True,
    help="Folder for results.json and results.png.",
)
@click.option(
    "--json-to-readme",
    is_flag=True,
    help="Measure nothing: write benchmarks/results.json into README.md and docs/benchmarks.md.",
)
def main(quick: bool, only: Sequence[str], out: Path, json_to_readme: bool) -> None:
    if json_to_readme:
        publish()
        return
    results = run(QUICK if quick else FULL, [name for name in MEASURES if not only or name in only])
    out.mkdir(parents=True, exist_ok=True)
    _draw(results, out / "results.png")
    (out / "results.json").write_text(as_json(results), encoding="utf-8")
    click.echo(as_text(results))


def run(effort: Effort, names: Sequence[str]) -> dict[str, Any]:
    """Measure, and return everything as plain values."""
    start = time.perf_counter()
    rows: list[Row] = []
    missing: list[Missing] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="err counts grades")  # of data whose grades end below 4
        for name in names:
            click.echo(f"{time.perf_counter() - start:5.0f} s  {name}", err=True)
            for found in MEASURES[name](effort):
                if isinstance(found, Row):
                    rows.append(found)
                elif found not in missing:
                    missing.append(found)
    return {
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "effort": effort.name,
        "seconds": round(time.perf_counter() - start, 1),
        "machine": machine(),
        "versions": versions(),
        "missing": [list(item) for item in missing],
        "rows": [row.to_dict() for row in rows],
    }


def _draw(results: dict[str, Any], path: Path) -> None:
    try:
        from benchmarks.picture import draw
    except ModuleNotFoundError as error:
        results["missing"].append(["the picture", f"not installed ({error.name}): pip install matplotlib"])
        return
    draw(results, path)


if __name__ == "__main__":
    main()
