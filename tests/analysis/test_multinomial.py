"""The draws of the bootstrap: exact probabilities, and a slow version that draws indices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from ltr_metrics.analysis.inference import resampling
from ltr_metrics.analysis.inference.limits import resampled_means
from ltr_metrics.analysis.inference.resampling import random_bits, resampled_sums


def counts_of_draws(n_units: int, n_resamples: int, seed: int = 0) -> np.ndarray:
    """Return how often each unit is drawn, (resamples x units): the sums of columns that are 1 in one unit each."""
    return resampled_sums(np.eye(n_units), n_resamples, random_bits(seed)).T


def assert_same_law(observed: Iterable[float], expected: Iterable[float]) -> None:
    """Compare frequencies by a chi-square test, with the rare outcomes as one."""
    observed, expected = np.array([*observed], dtype=float), np.array([*expected])
    is_rare = expected < 5
    if is_rare.any():
        observed = np.append(observed[~is_rare], observed[is_rare].sum())
        expected = np.append(expected[~is_rare], expected[is_rare].sum())
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 0.001


@pytest.mark.parametrize("n_units", [2, 3, 5])
@pytest.mark.parametrize("margin", [0.2, 3.0, 6.0])  # with 0.2, many resamples are drawn again
def test_all_counts_have_the_multinomial_probability(
    n_units: int, margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resampling, "MARGIN", margin)
    monkeypatch.setattr(resampling, "BLOCK", 2)
    outcomes = [c for c in itertools.product(range(n_units + 1), repeat=n_units) if sum(c) == n_units]
    drawn = counts_of_draws(n_units, 20_000)
    assert (drawn.sum(axis=1) == n_units).all()
    number = {outcome: i for i, outcome in enumerate(outcomes)}
    observed = np.bincount([number[tuple(row)] for row in drawn.astype(int).tolist()], minlength=len(outcomes))
    law = stats.multinomial(n_units, np.full(n_units, 1 / n_units))
    assert_same_law(observed, 20_000 * law.pmf(outcomes))


@pytest.mark.parametrize("n_units", [2, 3, 30, 100, 1023, 1500])
@pytest.mark.parametrize("weighted", [False, True])
def test_resampled_means_are_those_of_drawn_indices(n_units: int, weighted: bool) -> None:
    rng = np.random.default_rng(n_units)
    values = np.round(rng.gamma(0.5, size=n_units), 2)
    weights = rng.lognormal(size=n_units) if weighted else np.ones(n_units)
    means = resampled_means(values[np.newaxis], weights[np.newaxis], 10_000, seed=1)[0]
    drawn = rng.integers(n_units, size=(10_000, n_units))
    reference = (values * weights)[drawn].sum(axis=1) / weights[drawn].sum(axis=1)
    assert stats.ks_2samp(np.round(means, 9), np.round(reference, 9)).pvalue > 0.001
    assert means.mean() == pytest.approx(reference.mean(), abs=4 * reference.std() * (2 / 10_000) ** 0.5)
    assert means.std() == pytest.approx(reference.std(), rel=0.06)
