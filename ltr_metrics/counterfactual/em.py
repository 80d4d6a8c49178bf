"""Propensities and attraction by maximum likelihood, with expectation-maximisation.

In the position-based model, the click probability of document s at position k is
mu = propensity(k) x attraction(s). Whether an unclicked document was examined is not observed, so
expectation-maximisation weighs the cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.counterfactual.cells import Cells
from ltr_metrics.counterfactual.harvesting import Estimate, covariance_of
from ltr_metrics.errors import LtrValueError

CONVERGED = 1e-8  # change of a propensity relative to the first, in one step and as a share of its value
SMALLEST = 1e-300  # in place of 0, where a logarithm or a quotient needs a positive number
AT_LIMIT = 1 - 1e-6  # a larger attraction is on its upper limit, and no free parameter


class _Parameters(NamedTuple):
    propensity: FloatArray
    attraction: FloatArray


def estimate_by_em(cells: Cells, max_iterations: int) -> Estimate:
    """Return the estimate of clicked strata that were displayed at two positions or more."""
    impressions, clicks = cells.by_stratum(cells.impressions), cells.by_stratum(cells.clicks)
    rate = clicks.sum(axis=0) / impressions.sum(axis=0)
    start = _Parameters(0.9 * rate / rate.max(), np.full(len(clicks), 0.5))
    fitted = _fit(impressions, clicks, start, max_iterations)
    log_propensity = np.log(fitted.propensity / fitted.propensity[0])
    return Estimate(log_propensity[1:], _covariance(cells, impressions, fitted))


def _fit(impressions: FloatArray, clicks: FloatArray, start: _Parameters, max_iterations: int) -> _Parameters:
    """Iterate with extrapolation (SQUAREM): two steps, then a leap in their direction if it is better."""
    current, change = start, np.inf
    for _ in range(max_iterations // 2):
        first = _step(impressions, clicks, current)
        second = _step(impressions, clicks, first)
        change = _largest_change(first, second)
        if change < CONVERGED:
            return second
        leap = _extrapolate(current, first, second)
        is_better = _log_likelihood(impressions, clicks, leap) >= _log_likelihood(impressions, clicks, second)
        current = leap if is_better else second
    raise LtrValueError(
        f"Expectation-maximisation did not converge: after {max_iterations:,} iterations a step still changed a "
        f"propensity, relative to the first, by {change:.1e} of its value. Raise max_iterations, or use "
        'method="harvesting".'
    )


def _largest_change(before: _Parameters, after: _Parameters) -> float:
    """Return the largest change of a propensity relative to the first, as a share of its value."""
    change = np.log(after.propensity / before.propensity)
    return float(np.abs(change - change[0]).max())


def _step(impressions: FloatArray, clicks: FloatArray, now: _Parameters) -> _Parameters:
    """Return the parameters after one step, which never lowers the likelihood."""
    unclicked, n = impressions - clicks, impressions.sum(axis=1)
    click = np.outer(now.attraction, now.propensity)
    share = unclicked / np.maximum(1 - click, SMALLEST)
    examined = clicks + share * (now.propensity - click)
    attractive = clicks + share * (now.attraction[:, None] - click)
    return _Parameters(examined.sum(axis=0) / impressions.sum(axis=0), attractive.sum(axis=1) / n)


def _extrapolate(start: _Parameters, first: _Parameters, second: _Parameters) -> _Parameters:
    """Return a leap of Varadhan and Roland's scheme S3 (2008), within the limits of probabilities."""
    step = np.concatenate(first) - np.concatenate(start)
    bend = np.concatenate(second) - np.concatenate(first) - step
    length = max(1.0, float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), SMALLEST))
    leap = np.clip(np.concatenate(start) + 2 * length * step + length**2 * bend, SMALLEST, 1.0)
    n = len(start.propensity)
    return _Parameters(leap[:n], leap[n:])


def _log_likelihood(impressions: FloatArray, clicks: FloatArray, parameters: _Parameters) -> float:
    click = np.outer(parameters.attraction, parameters.propensity)
    terms = clicks * np.log(np.maximum(click, SMALLEST)) + (impressions - clicks) * np.log(
        np.maximum(1 - click, SMALLEST)
    )
    return float(terms.sum())


def _covariance(cells: Cells, impressions: FloatArray, fitted: _Parameters) -> FloatArray:
    """Return the covariance of the logarithms, robust to clicks that depend on each other within clusters.

    It is H^-1 (sum of u u') H^-1. H is the expected information about the propensities, and u the
    score of a cluster, both after the attractions are eliminated.
    """
    click = np.minimum(np.outer(fitted.attraction, fitted.propensity), AT_LIMIT)
    information = impressions * click / (1 - click)
    total = information.sum(axis=1, keepdims=True)
    is_free = fitted.attraction[:, None] < AT_LIMIT
    share = np.where(is_free, information / total, 0.0)
    hessian = np.diag(information.sum(axis=0)) - share.T @ information
    of_cell = click[cells.stratum, cells.position]
    score = (cells.clicks - cells.impressions * of_cell) / (1 - of_cell)
    by_cluster = np.empty((len(cells.positions), cells.n_clusters))
    for k in range(len(cells.positions)):
        own = (cells.position == k) - share[cells.stratum, k]
        by_cluster[k] = np.bincount(cells.cluster, weights=score * own, minlength=cells.n_clusters)
    return covariance_of(np.linalg.solve(hessian[1:, 1:], by_cluster[1:]))
