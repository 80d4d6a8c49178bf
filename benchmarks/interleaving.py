"""Interleaving against a published experiment on MQ2008: `python -m benchmarks.interleaving`.

Five features of LETOR are the rankers. On each fold's test part of MQ2008 there are
10,000 impressions of 10 documents, 25 times. The error is the share of the ten pairs on which the
interleaving disagrees with NDCG@10 (linear gain) of the same documents. A user may stop behind each
document, clicked or not. Of two rankers the one that wins more impressions is better, and a pair
that is tied on one side counts one half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np
from tabulate import tabulate

import ltr_metrics as ltr
from benchmarks.shapes import mq2008_parts
from ltr_metrics._rows.words import InterleavingMethod
from ltr_metrics.interleaving import ClickModel, Outcome, simulate
from ltr_metrics.io import read_letor

FEATURES = (15, 25, 40, 41, 42)  # numbers of LETOR's features
METRIC = "ndcg_lin@10"
PUBLISHED: dict[tuple[str, InterleavingMethod], tuple[float, float, float]] = {
    # the error in the article; in a simulation of the same, with its standard error
    ("perfect", "team_draft"): (0.008, 0.012, 0.003),
    ("perfect", "ppm"): (0.022, 0.027, 0.005),
    ("navigational", "team_draft"): (0.051, 0.050, 0.006),
    ("navigational", "ppm"): (0.028, 0.028, 0.004),
    ("informational", "team_draft"): (0.059, 0.054, 0.006),
    ("informational", "ppm"): (0.040, 0.038, 0.005),
}


class Cell(NamedTuple):
    """The mean error of a method under a kind of user over all runs, by wins and by summed credit."""

    error: float
    standard_error: float
    by_credit: float

    def agrees(self, article: float, simulation: float, standard_error: float) -> bool:
        """Say whether both published figures are within two standard errors of the difference."""
        limit = 2 * np.hypot(self.standard_error, standard_error)
        return max(abs(self.error - article), abs(self.error - simulation)) <= float(limit)


Fold = tuple[ltr.Queries, dict[str, Any]]


def folds() -> list[Fold]:
    """Read the five test parts of MQ2008."""
    parts = map(read_letor, mq2008_parts())
    return [(ltr.Queries(y, qid=qid), {f"feature {j}": X[:, j - 1] for j in FEATURES}) for X, y, qid in parts]


def outcomes(
    data: list[Fold], user: str, method: InterleavingMethod, n_runs: int, impressions: int
) -> Iterator[Outcome]:
    """Simulate each fold as often."""
    clicks = getattr(ClickModel, user)(grades=3)
    options: Any = {"method": method, "clicks": clicks, "impressions": impressions, "length": 10}
    for i, (queries, scores) in enumerate(data):
        for run in range(n_runs):
            yield simulate(queries, scores, random_state=len(data) * run + i, **options)


def cell(found: Iterable[Outcome]) -> Cell:
    both = [(outcome.error(METRIC), outcome.error(METRIC, by="credit")) for outcome in found]
    errors, by_credit = np.array(both).T
    return Cell(float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), float(by_credit.mean()))


@click.command(help="Reproduce a published experiment on MQ2008.")
@click.option("--runs", default=25, show_default=True, type=click.IntRange(min=2), help="Of each fold.")
@click.option("--impressions", default=10_000, show_default=True, type=click.IntRange(min=1), help="Of each run.")
def main(runs: int, impressions: int) -> None:
    data = folds()
    rows = []
    for (user, method), (article, simulation, standard_error) in PUBLISHED.items():
        ours = cell(outcomes(data, user, method, runs, impressions))
        errors = f"{ours.error:.3f} +- {ours.standard_error:.3f}", f"{simulation:.3f} +- {standard_error:.3f}"
        agrees = "yes" if ours.agrees(article, simulation, standard_error) else "NO"
        rows.append([user, method, *errors, f"{article:.3f}", agrees, f"{ours.by_credit:.3f}"])
    header = ("user", "method", "error", "reference", "article", "within 2 SE", "by summed credit")
    click.echo(f"MQ2008, five folds, {runs} runs of {impressions:,} impressions: pairs on which {METRIC} disagrees\n")
    click.echo(tabulate(rows, header, disable_numparse=True))


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.interleaving")
