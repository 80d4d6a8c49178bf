"""How often the interval of one model's mean covers the true mean: `python -m benchmarks.intervals`.

Each draw is a sample of queries from a family of values whose true mean is known. The intervals are
computed as `ltr_metrics.intervals` computes them, on many draws at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

import ltr_metrics as ltr
from benchmarks.shapes import data_folder, mq2008
from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.words import Interval
from ltr_metrics.analysis.inference import Sample, intervals
from ltr_metrics.analysis.settings import INTERVALS

SIZES = (10, 30, 100, 300)
N_RESAMPLES = 2_000
CLICKS = 0.1  # share of the queries that have any value, in the family of rare clicks
FIRST = 0.3  # probability that the first document is relevant

Draw = Callable[[np.random.Generator, int, int], FloatArray]


@dataclass(frozen=True)
class Family:
    """Values of queries whose true mean is known.

    Attributes
    ----------
    name : str
    mean : float
        The true mean.
    draw : callable
        From a random generator, a number of queries and a number of draws to values, (queries x draws).
    is_weighted, has_clusters : bool
        Whether queries have lognormal weights, and whether a sample of n is one of n clusters.
    """

    name: str
    mean: float
    draw: Draw
    is_weighted: bool = False
    has_clusters: bool = False


def families(folder: Path | None) -> Iterator[Family]:
    """Return all families; that of MQ2008 only with the folder that has it."""
    if folder is not None:
        pool = ndcg_of_bm25(folder)
        yield Family("MQ2008: NDCG@10 of BM25", float(pool.mean()), lambda rng, n, m: rng.choice(pool, (n, m)))
    yield Family("Beta(2, 1)", 2 / 3, beta)
    yield Family("MRR: 1 / rank, geometric ranks", -np.log(FIRST) * FIRST / (1 - FIRST), reciprocal_ranks)
    yield Family("P@1: 1 in 30 %, else 0", FIRST, lambda rng, n, m: (rng.random((n, m)) < FIRST).astype(np.float64))
    yield Family("rare clicks: 90 % zeros, else Beta(1, 3)", CLICKS / 4, rare_clicks)
    yield Family("Beta(2, 1), weights lognormal(0, 1)", 2 / 3, beta, is_weighted=True)
    yield Family("Beta, users of 1 to 5 queries", 0.5, users, has_clusters=True)


def ndcg_of_bm25(folder: Path) -> FloatArray:
    data = mq2008(folder)
    values = ltr.Queries(data.y, group=data.sizes).evaluate(data.scores, "ndcg@10").per_query["ndcg@10"]
    return np.asarray(values[~np.isnan(values)])


def beta(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return rng.beta(2, 1, (n, n_draws))


def reciprocal_ranks(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return np.asarray(1 / rng.geometric(FIRST, (n, n_draws)))


def rare_clicks(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    size = (n, n_draws)
    return np.where(rng.random(size) < CLICKS, rng.beta(1, 3, size), 0.0)


def users(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return values of n users: half of a value is the user's, and half the query's."""
    cluster = cluster_numbers(n)
    return np.asarray((rng.random((n, n_draws))[cluster] + rng.random((len(cluster), n_draws))) / 2)


def cluster_numbers(n: int) -> IntArray:
    """Return the cluster of each query: n clusters of 1, 2, 3, 4, 5, 1, 2, ... queries."""
    return np.repeat(np.arange(n), 1 + np.arange(n) % 5)


def coverage(family: Family, n: int, n_draws: int, method: Interval, seed: int = 0) -> float:
    """Return the share of the draws whose 95 % interval covers the true mean."""
    rng = np.random.default_rng([seed, n])
    values = family.draw(rng, n, n_draws)
    weight = rng.lognormal(size=n) if family.is_weighted else None
    sample = Sample.of(values, weight, cluster_numbers(n) if family.has_clusters else None)
    low, high = intervals(sample, method, n_resamples=N_RESAMPLES, seed=seed)
    return float(((low <= family.mean) & (family.mean <= high)).mean())


@click.command(help="Measure how often 95 % intervals of a mean cover the true mean.")
@click.option("--draws", default=4_000, show_default=True, type=click.IntRange(min=1), help="Of each family and size.")
def main(draws: int) -> None:
    folder = data_folder()
    has_data = (folder / "mq2008").is_dir()
    if not has_data:
        click.echo(f"Without MQ2008: there is no mq2008 in {folder}. LTR_METRICS_DATA names the folder that has it.\n")
    for method in INTERVALS:
        rows = [
            [family.name, *(f"{100 * coverage(family, n, draws, method):.1f}" for n in SIZES)]
            for family in families(folder if has_data else None)
        ]
        header = (f"{method}: intervals that cover the mean, in %", *map(str, SIZES))
        click.echo(tabulate(rows, header, "pipe", colalign=["left"] + ["right"] * len(SIZES)) + "\n")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.intervals")
