"""False passes of several candidates, of repeated looks and of shares: `python -m benchmarks.gate_families`.

All candidates are as good as the baseline, and all shares are at their limit, so every pass is
false. Candidates and looks are drawn at random, and go through `ltr_metrics.compare` and
`ltr_metrics.gate` themselves. The shares are exact, by the binomial distribution.
"""

from __future__ import annotations

from typing import get_args

import click
import numpy as np
from scipy import stats

import ltr_metrics as ltr
from benchmarks.gate import METRIC, RULE, compared
from benchmarks.intervals import echo_table
from benchmarks.shapes import FloatArray
from ltr_metrics._rows.words import FamilyOfGate
from ltr_metrics.evaluation.limits import bounds
from ltr_metrics.evaluation.ranges import A_SHARE

CANDIDATES = (1, 5, 10)
QUERIES = 200
LOOKS, A_LOOK = (1, 5, 10, 30), 100  # and queries that each of them adds
SHARES = (0.01, 0.05, 0.1)
SIZES = (10, 20, 50, 72, 100, 300, 1000)


def equal_models(rng: np.random.Generator, n: int, n_models: int) -> FloatArray:
    """Return differences of models whose noise, and that of the common baseline, have the same variance."""
    return np.asarray(0.1 * (rng.normal(size=(n, n_models)) - rng.normal(size=(n, 1))))


def candidates(n_models: int, n_draws: int) -> list[list[str]]:
    """Return how often any candidate passes, and all do, under each family."""
    families = get_args(FamilyOfGate)
    n_any, n_all = dict.fromkeys(families, 0), dict.fromkeys(families, 0)
    for draw in range(n_draws):
        comparison = compared(equal_models(np.random.default_rng([n_models, draw]), QUERIES, n_models))
        for family in families:
            passed = [check.passed for check in ltr.gate(comparison, RULE, family=family).checks]
            n_any[family] += any(passed)
            n_all[family] += all(passed)
    return [
        [f"{n_models} candidates, family {family}", *(f"{100 * n[family] / n_draws:.1f}" for n in (n_any, n_all))]
        for family in families
    ]


def looks(n_looks: int, n_draws: int) -> list[str]:
    """Return how often any of so many looks at growing data passes: with looks=1, and with their number."""
    n_passes = [0, 0]
    for draw in range(n_draws):
        values = 0.1 * np.random.default_rng([n_looks, draw]).normal(size=(n_looks * A_LOOK, 1))
        parts = [compared(values[: (look + 1) * A_LOOK]) for look in range(n_looks)]
        for i, declared in enumerate((1, n_looks)):
            n_passes[i] += any(ltr.gate(part, RULE, looks=declared).passed for part in parts)
    return [f"{n_looks} looks", *(f"{100 * n / n_draws:.1f}" for n in n_passes)]


def shares(limit: float) -> list[str]:
    """Return how often a share at its limit passes: before, without a bound, in brackets."""
    cells = []
    for n in SIZES:
        lost = np.arange(n + 1)
        probability = stats.binom.pmf(lost, n, limit)
        now = probability[[upper(np.repeat([1.0, 0.0], [k, n - k])) < limit for k in lost.tolist()]].sum()
        cells.append(f"{100 * now:.1f} ({100 * probability[lost / n < limit].sum():.0f})")
    return [f"share < {limit:.0%}", *cells]


def upper(share: FloatArray) -> float:
    """Return the upper bound of the share of some units, each of which counts once."""
    return bounds(share, np.ones(len(share)), A_SHARE, 0.025)[1]


def clustered_shares(n_draws: int) -> list[str]:
    """Return how often a share of 5 % at its limit passes, with clusters of 1 to 5 queries that are lost whole."""
    cells = []
    for n in (100, 300, 1000):
        draws = (np.random.default_rng([n, draw]).random(n) < 0.05 for draw in range(n_draws))
        cells.append(f"{100 * np.mean([upper(lost.astype(float)) < 0.05 for lost in draws]):.1f}")
    return ["clusters of 1 to 5, lost whole", *cells]


def power_at(n_now: int, true: float, n_draws: int) -> list[str]:
    """Return the number of queries that a sample asks for, and how often that many find the difference."""
    n_asked = compared(0.1 * np.random.default_rng(n_now).normal(size=(n_now, 1))).queries_needed(true)[METRIC]["0"]
    exact = compared(np.resize([0.1, -0.1], (n_now, 1))).queries_needed(true)[METRIC]["0"]
    if n_asked is None or exact is None:
        raise ValueError(f"{n_now} queries say nothing")
    p = stats.ttest_1samp(np.random.default_rng(1).normal(true, 0.1, size=(n_draws, exact)), 0, axis=1).pvalue
    return [
        f"{n_now} queries, true difference {true:g}",
        f"{n_asked:,}",
        f"{exact:,}",
        f"{100 * (p < 0.05).mean():.1f}",
    ]


@click.command(help="Measure false passes of several candidates, of repeated looks and of shares.")
@click.option("--draws", default=2_000, show_default=True, type=click.IntRange(min=1))
def main(draws: int) -> None:
    rows = [row for n in CANDIDATES for row in candidates(n, draws)]
    echo_table(f"{QUERIES} queries, passes in %:", ("any passes", "all pass"), rows)
    rows = [looks(n, draws) for n in LOOKS]
    echo_table("100 queries per look, any passes in %:", ("looks=1", "looks=their number"), rows)
    echo_table("at the limit, passes in %: now (before)", SIZES, [shares(limit) for limit in SHARES])
    echo_table("at the limit, passes in %", (100, 300, 1000), [clustered_shares(draws)])
    rows = [power_at(n, true, 10 * draws) for n in (50, 300) for true in (0.005, 0.01, 0.05, 0.1)]
    echo_table("queries_needed, standard deviation .1", ("asked for by a sample", "if it is known", "its power"), rows)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.gate_families")
