"""How often the interval of one model's mean covers the true mean: `python -m benchmarks.intervals`.

Each draw is a sample of queries from a family of values whose true mean is known. The intervals are
computed as `ltr_metrics.intervals` computes them, on many draws at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import click
import numpy as np
from tabulate import tabulate

import ltr_metrics as ltr
from benchmarks.shapes import Data, FloatArray, IntArray, mq2008
from ltr_metrics.analysis.inference import Sample, intervals
from ltr_metrics.evaluation.ranges import A_SHARE, Possible

SIZES = (10, 30, 100, 300)
CLICKS = 0.1  # share of the queries that have any value, in the family of rare clicks
FIRST = 0.3  # probability that the first document is relevant

Draw = Callable[[np.random.Generator, int, int], FloatArray]  # from a number of queries and a number of draws


class Family(NamedTuple):
    """Values of queries whose true mean is known.

    If it is weighted, queries have lognormal weights. If it has clusters, a sample of n has n clusters.
    """

    name: str
    mean: float
    draw: Draw
    is_weighted: bool = False
    has_clusters: bool = False
    possible: Possible = Possible(0.0, 1.0)


def families(data: Data | None) -> Iterator[Family]:
    """Return all families; that of MQ2008 only if its data are given."""
    if data is not None:
        values = ltr.Queries(data.y, group=data.sizes).evaluate(data.scores, "ndcg@10").per_query["ndcg@10"]
        pool = values[~np.isnan(values)]
        yield Family("MQ2008: NDCG@10 of BM25", float(pool.mean()), lambda rng, n, m: rng.choice(pool, (n, m)))
    yield Family("Beta(2, 1)", 2 / 3, beta)
    yield Family("MRR: 1 / rank, geometric ranks", -np.log(FIRST) * FIRST / (1 - FIRST), reciprocal_ranks)
    yield Family("P@1: 1 in 30 %, else 0", FIRST, ones_and_zeros, possible=A_SHARE)
    yield Family("rare clicks: 90 % zeros, else Beta(1, 3)", CLICKS / 4, rare_clicks)
    yield Family("Beta(2, 1), weights lognormal(0, 1)", 2 / 3, beta, is_weighted=True)
    yield Family("Beta, users of 1 to 5 queries", 0.5, users, has_clusters=True)


def beta(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return rng.beta(2, 1, (n, n_draws))


def reciprocal_ranks(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return np.asarray(1 / rng.geometric(FIRST, (n, n_draws)))


def rare_clicks(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    size = (n, n_draws)
    return np.where(rng.random(size) < CLICKS, rng.beta(1, 3, size), 0.0)


def ones_and_zeros(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return (rng.random((n, n_draws)) < FIRST).astype(np.float64)


def users(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return values of n users: half of a value is the user's, and half the query's."""
    cluster = clusters(n)
    return np.asarray((rng.random((n, n_draws))[cluster] + rng.random((len(cluster), n_draws))) / 2)


def clusters(n: int) -> IntArray:
    """Return the cluster of each query: n clusters of 1, 2, 3, 4, 5, 1, 2, ... queries."""
    return np.repeat(np.arange(n), 1 + np.arange(n) % 5)


def coverage(family: Family, n: int, n_draws: int, seed: int = 0) -> float:
    """Return the share of the draws whose 95 % interval covers the true mean."""
    rng = np.random.default_rng([seed, n])
    values = family.draw(rng, n, n_draws)
    weight = rng.lognormal(size=n) if family.is_weighted else None
    sample = Sample.of(values, weight, clusters(n) if family.has_clusters else None)
    limits = intervals(sample, possible=[family.possible] * n_draws)
    return float(np.mean([one.low <= family.mean <= one.high for one in limits]))


def echo_table(title: str, sizes: Sequence[int | str], rows: list[list[str]]) -> None:
    """Print one row per family and one column per sample size, in Markdown."""
    click.echo(tabulate(rows, (title, *map(str, sizes)), "pipe", colalign=["left"] + ["right"] * len(sizes)) + "\n")


@click.command(help="Measure how often 95 % intervals of a mean cover the true mean.")
@click.option("--draws", default=4_000, show_default=True, type=click.IntRange(min=1), help="Of each family and size.")
def main(draws: int) -> None:
    rows = [[family.name, *(f"{100 * coverage(family, n, draws):.1f}" for n in SIZES)] for family in families(mq2008())]
    echo_table("intervals that cover the mean, in %", SIZES, rows)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.intervals")
