"""Propensities and attraction by maximum likelihood, with expectation-maximisation.

In the position-based model, the click probability of document s at position k is
propensity(k) x attraction(s). Whether an unclicked document was examined is not observed, so
expectation-maximisation weighs the cases.
"""

from __future__ import annotations

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.online.counterfactual.harvesting import Cells, Estimate, covariance_of

CONVERGED = 1e-8  # change of a propensity relative to the first, in one step and as a share of its value
SMALLEST = 1e-300  # in place of 0, where a logarithm or a quotient needs a positive number
AT_LIMIT = 1 - 1e-6  # a larger attraction is on its upper limit, and no free parameter


def estimate_by_em(cells: Cells, max_iterations: int) -> Estimate:
    """Return the estimate of clicked strata that were displayed at two positions or more.

    It extrapolates (SQUAREM, Varadhan and Roland's scheme S3, 2008): two steps, then a leap in their
    direction if the likelihood is higher there.
    """
    impressions, clicks = cells.totals
    rate = clicks.sum(axis=0) / impressions.sum(axis=0)
    n_positions = len(rate)
    current = np.concatenate([0.9 * rate / rate.max(), np.full(len(clicks), 0.5)])  # propensities, attractions
    for _ in range(max_iterations // 2):
        first = _step(impressions, clicks, current)
        second = _step(impressions, clicks, first)
        log_change = np.log(second[:n_positions] / first[:n_positions])
        change = float(np.abs(log_change - log_change[0]).max())
        if change < CONVERGED:
            break
        step, bend = first - current, second - first - (first - current)
        length = max(1.0, float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), SMALLEST))
        leap = np.clip(current + 2 * length * step + length**2 * bend, SMALLEST, 1.0)
        is_better = _log_likelihood(impressions, clicks, leap) >= _log_likelihood(impressions, clicks, second)
        current = leap if is_better else second
    else:
        raise LtrValueError(
            f"Expectation-maximisation did not converge: after {max_iterations:,} iterations a step still changed a "
            f"propensity, relative to the first, by {change:.1e} of its value. Raise max_iterations, or use "
            'method="harvesting".'
        )
    propensity, attraction = second[:n_positions], second[n_positions:]
    return np.log(propensity / propensity[0])[1:], _covariance(cells, propensity, attraction)


def _step(impressions: FloatArray, clicks: FloatArray, parameters: FloatArray) -> FloatArray:
    """Return the parameters after one step, which never lowers the likelihood."""
    propensity, attraction = np.split(parameters, [clicks.shape[1]])
    click = np.outer(attraction, propensity)
    share = (impressions - clicks) / np.maximum(1 - click, SMALLEST)
    examined = (clicks + share * (propensity - click)).sum(axis=0) / impressions.sum(axis=0)
    attractive = (clicks + share * (attraction[:, None] - click)).sum(axis=1) / impressions.sum(axis=1)
    return np.concatenate([examined, attractive])


def _log_likelihood(impressions: FloatArray, clicks: FloatArray, parameters: FloatArray) -> float:
    propensity, attraction = np.split(parameters, [clicks.shape[1]])
    click = np.outer(attraction, propensity)
    log_click, log_no_click = (np.log(np.maximum(p, SMALLEST)) for p in (click, 1 - click))
    return float((clicks * log_click + (impressions - clicks) * log_no_click).sum())


def _covariance(cells: Cells, propensity: FloatArray, attraction: FloatArray) -> FloatArray:
    """Return the covariance of the logarithms, robust to clicks that depend on each other within clusters.

    It is H^-1 (sum of u u') H^-1. H is the expected information about the propensities, and u the
    score of a cluster, both after the attractions are eliminated.
    """
    click = np.minimum(np.outer(attraction, propensity), AT_LIMIT)
    information = cells.totals[0] * click / (1 - click)
    is_free = attraction[:, None] < AT_LIMIT
    share = np.where(is_free, information / information.sum(axis=1, keepdims=True), 0.0)
    hessian = np.diag(information.sum(axis=0)) - share.T @ information
    of_cell = click[cells.stratum, cells.position]
    score = (cells.clicks - cells.impressions * of_cell) / (1 - of_cell)
    positions = range(len(propensity))
    of_position = [score * ((cells.position == k) - share[cells.stratum, k]) for k in positions]
    by_cluster = np.array([cells.by_cluster(values) for values in of_position])
    return covariance_of(np.linalg.solve(hessian[1:, 1:], by_cluster[1:]))
