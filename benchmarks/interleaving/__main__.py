"""The command: `python -m benchmarks.interleaving`."""

from __future__ import annotations

import click
from tabulate import tabulate

from benchmarks.figures import Missing
from benchmarks.interleaving.published import METHODS, METRIC, USERS, cell, folds, outcomes
from benchmarks.interleaving.speed import speeds
from benchmarks.shapes import data_folder


@click.command(help="Reproduce a published experiment on MQ2008, and measure microseconds an impression.")
@click.option("--runs", default=25, show_default=True, type=click.IntRange(min=2), help="Of each fold.")
@click.option("--impressions", default=10_000, show_default=True, type=click.IntRange(min=1), help="Of each run.")
@click.option("--published/--no-published", default=True, help="Whether to reproduce the experiment.")
@click.option("--speed/--no-speed", default=True, help="Whether to measure speed.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1), help="Of ours, for speed.")
def main(runs: int, impressions: int, published: bool, speed: bool, threads: int) -> None:
    if published:
        _published(runs, impressions)
    if speed:
        _speed(threads)


def _published(runs: int, impressions: int) -> None:
    folder = data_folder()
    if not (folder / "mq2008").is_dir():
        raise click.UsageError(f"There is no mq2008 in {folder}: LTR_METRICS_DATA names the folder that has it.")
    data = folds(folder)
    cells = [
        cell(user, method, list(outcomes(data, user, method, runs, impressions)))
        for user in USERS
        for method in METHODS
    ]
    rows = [
        (
            one.user,
            METHODS[one.method],
            f"{one.error:.3f} +- {one.standard_error:.3f}",
            f"{one.published.simulation:.3f} +- {one.published.standard_error:.3f}",
            f"{one.published.article:.3f}",
            "yes" if one.agrees else "NO",
            f"{one.by_credit:.3f}",
        )
        for one in cells
    ]
    header = ("user", "method", "error", "reference", "article", "within 2 SE", "by summed credit")
    click.echo(
        f"MQ2008, five folds, {runs} runs of {impressions:,} impressions each: pairs on which {METRIC} disagrees\n"
    )
    click.echo(tabulate(rows, header, disable_numparse=True))


def _speed(threads: int) -> None:
    found = speeds(threads)
    rows = [
        (
            METHODS[one.method],
            one.rankers,
            f"{one.documents:,}",
            f"{1e6 * one.ours:.2f} us",
            "" if one.theirs is None else f"{1e6 * one.theirs:.0f} us",
            "" if one.theirs is None else f"{one.theirs / one.ours:.0f}x",
        )
        for one in found
        if not isinstance(one, Missing)
    ]
    click.echo(f"\nAn impression of 10 documents, mixed, clicked and credited; {threads} thread{'s' * (threads > 1)}\n")
    click.echo(tabulate(rows, ("method", "rankers", "documents", "ours", "interleaving", "ratio")))
    for one in found:
        if isinstance(one, Missing):
            click.echo(f"\nMissing: {one.what}: {one.why}.")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.interleaving")
