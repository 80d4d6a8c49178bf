"""How often the gate passes a model that is no better, and one that is better: `python -m benchmarks.gate`.

Each draw is a sample of n queries from a family of differences whose true mean is known. The draws
go through `ltr_metrics.compare` and `ltr_metrics.gate` themselves, with the rule "metric > 0", so
that the rates are those of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import click
import numpy as np

import ltr_metrics as ltr
from benchmarks.intervals import Draw, clusters, echo_table
from benchmarks.shapes import Data, FloatArray, IntArray, mq2008
from ltr_metrics._rows.checks import BoolArray
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Policy

METRIC = "ndcg_exp@10"
RULE = f"{METRIC} > 0"
SIZES = (10, 20, 30, 40, 60, 100, 300)
DIFFERENCE = 0.01  # true difference, for the power
TOGETHER = 250  # draws that are the models of one comparison
NOISE = (0.02, 0.1)  # added to BM25, which lies between 0 and 1 in each query
POOL = 100  # pairs of noisy copies of BM25, with 784 queries each
SIGNS = np.array([-1.0, 1.0])


class Family(NamedTuple):
    """Differences whose true mean is 0, as (queries x draws).

    ``changed`` is the share of the queries that differ at all. From a number of queries or clusters,
    ``weight`` draws the weight of each query, and ``cluster`` returns its cluster.
    """

    name: str
    draw: Draw
    changed: float = 1.0
    weight: Callable[[np.random.Generator, int], FloatArray] | None = None
    cluster: Callable[[int], IntArray] | None = None


class Rates(NamedTuple):
    """Shares of the draws that pass: where there is no difference, and where there is one of `DIFFERENCE`."""

    false_passes: float
    power: float


def families(data: Data | None) -> Iterator[Family]:
    """Return all families; those of MQ2008 only if its data are given."""
    if data is not None:
        for noise in NOISE:
            pool = noisy_copies(data, noise)
            yield Family(f"MQ2008: BM25, noise {noise:g} on both", partial(from_pool, pool), float((pool != 0).mean()))
    yield Family("60 % zeros, else ±Beta(.5, 3)", beta_tails, 0.4)
    yield Family("normal, sd .1", normal)
    yield Family("rare large losses (lognormal)", skewed_losses)
    yield Family("gains of .01, and losses of .32 in 3 %", rare_losses)
    yield Family("normal, weights lognormal(0, 1)", normal, weight=lambda rng, n: rng.lognormal(size=n))
    yield Family("normal, clusters of 1 to 5", clustered, cluster=clusters)


def noisy_copies(data: Data, noise: float) -> FloatArray:
    """Return NDCG@10 of one noisy copy of BM25 minus that of another, of all queries of many pairs."""
    rng = np.random.default_rng(0)
    queries = ltr.Queries(data.y, group=data.sizes)

    def values() -> FloatArray:
        return queries.evaluate(data.scores + rng.normal(0, noise, data.n_rows), METRIC).per_query[METRIC]

    pool = np.concatenate([values() - values() for _ in range(POOL)])
    return np.asarray(pool[~np.isnan(pool)])


def from_pool(pool: FloatArray, rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return np.asarray(rng.choice(pool, (n, n_draws)) * rng.choice(SIGNS, (n, n_draws)))  # either copy may be first


def beta_tails(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return differences of two similar models: many zeros, and small changes more often than large ones."""
    size = (n, n_draws)
    return np.where(rng.random(size) < 0.6, 0.0, rng.beta(0.5, 3, size) * rng.choice(SIGNS, size))


def normal(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return rng.normal(0, 0.1, (n, n_draws))


def skewed_losses(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return many small gains and few large losses."""
    return np.asarray(0.1 * (np.exp(0.5) - rng.lognormal(size=(n, n_draws))))


def rare_losses(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return gains of .01 in 97 % of the queries and losses in the others, so that the mean is 0."""
    return np.where(rng.random((n, n_draws)) < 0.03, -0.01 * 0.97 / 0.03, 0.01)


def clustered(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return differences that share half of their variance within a cluster."""
    common = rng.normal(size=(n, n_draws))[clusters(n)]
    return np.asarray(0.1 * (common + rng.normal(size=common.shape)) / np.sqrt(2))


def passes(differences: FloatArray, **options: Any) -> BoolArray:
    """Return which columns of differences, (queries x draws), pass the gate against a model that is 0 everywhere.

    Each column is a gate of its own, although many are the models of one comparison.
    """
    return np.array([check.passed for check in ltr.gate(compared(differences, **options), RULE, family="one").checks])


def compared(differences: FloatArray, *, weight: FloatArray | None = None, **options: Any) -> ltr.Comparison:
    """Compare columns of differences, (queries x models), with a model that is 0 everywhere."""
    n = len(differences)

    def evaluation(values: FloatArray) -> Evaluation:
        fields: dict[str, Any] = {"qid": np.arange(n), "n_documents": np.full(n, 10), "n_relevant": np.ones(n, int)}
        return Evaluation.of({METRIC: values}, {}, weight=weight, policy=Policy("mean", "skip", "default"), **fields)

    models = {"base": evaluation(np.zeros(n))}
    models |= {str(draw): evaluation(column) for draw, column in enumerate(np.ascontiguousarray(differences.T))}
    defaults: Any = {"test": "t", "correction": "none"}
    return ltr.compare(models, baseline="base", **defaults | options)


def drawn(family: Family, n: int, n_draws: int) -> Iterator[dict[str, Any]]:
    """Yield the draws of a family as arguments of `passes`, at most `TOGETHER` at a time."""
    for chunk in range(-(-n_draws // TOGETHER)):
        rng = np.random.default_rng([n, chunk])
        yield {
            "differences": family.draw(rng, n, min(TOGETHER, n_draws - chunk * TOGETHER)),
            "weight": family.weight and family.weight(rng, n),
            "cluster": family.cluster and family.cluster(n),
        }


def rates(family: Family, n: int, n_draws: int) -> Rates:
    """Return the rates of the gate."""

    def share(true: float) -> float:
        passed = []
        for draws in drawn(family, n, n_draws):
            values = draws["differences"]
            moved = values + np.where(values != 0, true / family.changed, 0.0)
            passed.append(passes(**draws | {"differences": moved}))
        return float(np.concatenate(passed).mean())

    return Rates(share(0.0), share(DIFFERENCE))


@click.command(help="Measure how often the gate passes, with and without a true difference.")
@click.option("--draws", default=4_000, show_default=True, type=click.IntRange(min=1), help="Of each family and size.")
def main(draws: int) -> None:
    tables: dict[str, list[list[str]]] = {"no true difference": [], f"a true difference of {DIFFERENCE:g}": []}
    for family in families(mq2008()):
        of_sizes = [rates(family, n, draws) for n in SIZES]
        for which, rows in enumerate(tables.values()):
            rows.append([family.name, *(f"{100 * found[which]:.1f}" for found in of_sizes)])
        click.echo(f"{family.name}: done", err=True)
    for at, rows in tables.items():
        echo_table(f"Passes at {at}, in %", SIZES, rows)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.gate")
