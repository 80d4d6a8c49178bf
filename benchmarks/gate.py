"""How often the gate passes a model that is no better, and one that is better: `python -m benchmarks.gate`.

Each draw is a sample of n queries from a family of differences whose true mean is known. The draws
go through `ltr_metrics.compare` and `ltr_metrics.gate` themselves, with the rule "metric > 0", so
that the rates are those of the library. An earlier rule is measured beside it in brackets: BCa
alone from 30 queries on, and the wider interval below 30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from tabulate import tabulate

import ltr_metrics as ltr
from benchmarks.shapes import data_folder, mq2008
from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray
from ltr_metrics._engine.words import Interval, Test
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Policy

METRIC = "ndcg_exp@10"
SIZES = (10, 20, 30, 40, 60, 100, 300)
DIFFERENCE = 0.01  # true difference, for the power
FEW = 30  # queries below which the earlier rule looked at Student's t
TOGETHER = 250  # draws that are the models of one comparison
NOISE = (0.02, 0.1)  # added to BM25, which lies between 0 and 1 in each query
POOL = 100  # pairs of noisy copies of BM25, with 784 queries each
SIGNS = np.array([-1.0, 1.0])

Draw = Callable[[np.random.Generator, int, int], FloatArray]


@dataclass(frozen=True)
class Family:
    """Differences whose true mean is 0.

    Attributes
    ----------
    name : str
    draw : callable
        From a random generator, a number of units and a number of draws to differences, (units x draws).
    changed : float, default 1.0
        Share of the queries that differ at all.
    weight, cluster : callable, optional
        From a random generator and a number of units to the weight, and to the cluster, of each query.
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


def families(folder: Path | None) -> Iterator[Family]:
    """Return all families; those of MQ2008 only with the folder that has it."""
    if folder is not None:
        for noise in NOISE:
            pool = noisy_copies(folder, noise)
            name = f"MQ2008: BM25, noise {noise:g} on both"
            yield Family(name, _from(pool), float((pool != 0).mean()))
    yield Family("60 % zeros, else ±Beta(.5, 3)", beta_tails, 0.4)
    yield Family("normal, sd .1", normal)
    yield Family("rare large losses (lognormal)", skewed_losses)
    yield Family("normal, weights lognormal(0, 1)", normal, weight=lambda rng, n: rng.lognormal(size=n))
    yield Family("normal, clusters of 1 to 5", clustered, cluster=clusters)


def noisy_copies(folder: Path, noise: float) -> FloatArray:
    """Return NDCG@10 of one noisy copy of BM25 minus that of another, of all queries of many pairs."""
    data, rng = mq2008(folder), np.random.default_rng(0)
    queries = ltr.Queries(data.y, group=data.sizes)

    def values() -> FloatArray:
        return queries.evaluate(data.scores + rng.normal(0, noise, data.n_rows), METRIC).per_query[METRIC]

    pool = np.concatenate([values() - values() for _ in range(POOL)])
    return np.asarray(pool[~np.isnan(pool)])


def _from(pool: FloatArray) -> Draw:
    def draw(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
        return np.asarray(rng.choice(pool, (n, n_draws)) * rng.choice(SIGNS, (n, n_draws)))  # either copy may be first

    return draw


def beta_tails(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return differences of two similar models: many zeros, and small changes more often than large ones."""
    size = (n, n_draws)
    return np.where(rng.random(size) < 0.6, 0.0, rng.beta(0.5, 3, size) * rng.choice(SIGNS, size))


def normal(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    return rng.normal(0, 0.1, (n, n_draws))


def skewed_losses(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return many small gains and few large losses."""
    return np.asarray(0.1 * (np.exp(0.5) - rng.lognormal(size=(n, n_draws))))


def clusters(n: int) -> IntArray:
    """Return the cluster of each query: n clusters of 1, 2, 3, 4, 5, 1, 2, ... queries."""
    return np.repeat(np.arange(n), 1 + np.arange(n) % 5)


def clustered(rng: np.random.Generator, n: int, n_draws: int) -> FloatArray:
    """Return differences that half of the variance is common to within a cluster."""
    of_cluster = clusters(n)
    common = rng.normal(size=(n, n_draws))[of_cluster]
    return np.asarray(0.1 * (common + rng.normal(size=common.shape)) / np.sqrt(2))


def comparison_with_zero(
    differences: FloatArray,
    *,
    test: Test = "t",
    interval: Interval = "wider",
    weight: FloatArray | None = None,
    cluster: IntArray | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> ltr.Comparison:
    """Return the comparison of columns of differences, (queries x draws), with a model that is 0 everywhere."""
    n = len(differences)

    def evaluation(values: FloatArray) -> Evaluation:
        fields: dict[str, Any] = {"qid": np.arange(n), "n_documents": np.full(n, 10), "n_relevant": np.ones(n, int)}
        return Evaluation.of({METRIC: values}, {}, weight=weight, policy=Policy("mean", "skip", "default"), **fields)

    models = {"base": evaluation(np.zeros(n))}
    models |= {str(draw): evaluation(column) for draw, column in enumerate(np.ascontiguousarray(differences.T))}
    return ltr.compare(
        models,
        baseline="base",
        test=test,
        correction="none",
        interval=interval,
        n_resamples=n_resamples,
        cluster=cluster,
        random_state=seed,
    )


def passes(differences: FloatArray, **options: Any) -> BoolArray:
    """Return which columns of differences, (queries x draws), pass the library's gate at a margin of 0."""
    comparison = comparison_with_zero(differences, **options)
    return np.array([check.passed for check in ltr.gate(comparison, f"{METRIC} > 0").checks])


def drawn(family: Family, n: int, n_draws: int) -> Iterator[dict[str, Any]]:
    """Yield the draws of a family as arguments of `passes`, at most `TOGETHER` at a time."""
    for chunk in range(-(-n_draws // TOGETHER)):
        rng = np.random.default_rng([n, chunk])
        yield {
            "differences": family.draw(rng, n, min(TOGETHER, n_draws - chunk * TOGETHER)),
            "weight": None if family.weight is None else family.weight(rng, n),
            "cluster": None if family.cluster is None else family.cluster(n),
            "seed": chunk,
        }


def rates(family: Family, n: int, n_draws: int) -> dict[str, Rates]:
    """Return the rates of the gate, and of the earlier rule where all queries weigh the same."""
    methods = {"now": "wider"}
    if family.weight is None and family.cluster is None:
        methods["before"] = "wider" if n < FEW else "bca"
    found: dict[tuple[str, float], list[BoolArray]] = {}
    for draws in drawn(family, n, n_draws):
        for true in (0.0, DIFFERENCE):
            moved = draws["differences"] + np.where(draws["differences"] != 0, true / family.changed, 0.0)
            for method in dict.fromkeys(methods.values()):
                passed = passes(**draws | {"differences": moved, "interval": method})
                found.setdefault((method, true), []).append(passed)
    share = {key: float(np.concatenate(passed).mean()) for key, passed in found.items()}
    return {when: Rates(share[method, 0.0], share[method, DIFFERENCE]) for when, method in methods.items()}


@click.command(help="Measure how often the gate passes, with and without a true difference.")
@click.option("--draws", default=4_000, show_default=True, type=click.IntRange(min=1), help="Of each family and size.")
def main(draws: int) -> None:
    folder = data_folder()
    has_data = (folder / "mq2008").is_dir()
    if not has_data:
        click.echo(f"Without MQ2008: there is no mq2008 in {folder}. LTR_METRICS_DATA names the folder that has it.\n")
    false_passes, power = [], []
    for family in families(folder if has_data else None):
        of_size = [rates(family, n, draws) for n in SIZES]
        false_passes.append([family.name, *(_both(one, 0) for one in of_size)])
        power.append([family.name, *(_both(one, 1) for one in of_size)])
        click.echo(f"{family.name}: done", err=True)
    for title, rows in (
        ("Passes at no true difference, in %: now (earlier rule)", false_passes),
        (f"Passes at a true difference of {DIFFERENCE:g}, in %: now (earlier rule)", power),
    ):
        header = (title, *map(str, SIZES))
        click.echo(tabulate(rows, header, "pipe", colalign=["left"] + ["right"] * len(SIZES)) + "\n")


def _both(found: dict[str, Rates], which: int) -> str:
    return f"{100 * found['now'][which]:.1f}" + (f" ({100 * found['before'][which]:.1f})" if "before" in found else "")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.gate")
