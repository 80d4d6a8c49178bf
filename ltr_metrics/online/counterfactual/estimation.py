"""`estimate_propensities`: how often users examine a position, from logged clicks."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import as_flags, refuse_different_indexes, require_option
from ltr_metrics._rows.ids import label_codes
from ltr_metrics._rows.words import MethodOfPropensities
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.online.counterfactual.harvesting import Cells, estimate_by_harvesting
from ltr_metrics.online.counterfactual.propensities import Propensities, as_positions

FEW_CLUSTERS = 40  # with fewer, standard errors are too small by 10 % or more


def estimate_propensities(
    clicks: Any,
    position: Any,
    *,
    qid: Any,
    method: MethodOfPropensities,
    document: Any = None,
    experiment: Any = None,
    cluster: Any = None,
) -> Propensities:
    r"""Estimate from logged clicks how often users examine each position.

    Both methods assume the position-based model. A click is the examination of a position, with a
    probability that depends only on the position, and the attraction of the document:

    .. math:: P(\text{click}) = propensity_{position} \; attraction_{document}

    "randomized" is for impressions whose order was drawn at random. The click rates at the
    positions then have the ratios of the propensities. "harvesting" compares the click rates of the
    same document of the same query at different positions, where several rankers displayed it
    (Agarwal et al., WSDM 2019).

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        1 for a displayed document that was clicked, 0 for one that was not.
    position : array-like of int of shape (n_rows,)
        The position at which the document was displayed, from 1.
    qid : array-like of shape (n_rows,)
        One id per row, in any order, of any hashable type: the query. A document of one query is
        the same document in all impressions.
    method : {"randomized", "harvesting"}
        The method. "randomized" makes the fewest assumptions.
    document : array-like of shape (n_rows,), optional
        Document ids, for "harvesting".
    experiment : array-like of shape (n_rows,), optional
        For "randomized": a label of the positions among which a row was randomized, such as
        ``"1-3"`` where positions 1 and 3 were swapped at random. Leave out rows that were not
        randomized. By default all positions were shuffled.
    cluster : array-like of shape (n_rows,), optional
        Labels of independent units for the standard errors, such as users. Default: ``qid``.

    Returns
    -------
    Propensities
        Relative to the lowest position, with standard errors.

    Raises
    ------
    LtrValueError, LtrTypeError
        If positions are never compared, which the message names, or have no clicks. Also for
        missing or wrong columns.

    Warns
    -----
    LtrWarning
        If there are fewer than 40 clusters, since the standard errors are then too small.

    See Also
    --------
    Propensities : The result, and other ways to make one.
    ltr_metrics.counterfactual.evaluate : What the propensities are for.

    References
    ----------
    Joachims, Swaminathan & Schnabel, WSDM 2017 (swaps); Agarwal et al., WSDM 2019 (harvesting).
    Mantel & Haenszel, 1959, and Greenland & Robins, 1985, combine ratios over documents.

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.counterfactual import estimate_propensities
    >>> rng = np.random.default_rng(1)
    >>> impression, position = np.divmod(np.arange(60_000), 3)  # 20,000 shuffled lists of three
    >>> clicks = rng.random(60_000) < 0.4 * np.array([1, 0.5, 0.25])[position]
    >>> print(estimate_propensities(clicks, position + 1, qid=impression, method="randomized"))
    Propensities (randomized), relative to position 1:
    position  propensity  standard error
           1      1.0000          0.0000
           2      0.5012          0.0083
           3      0.2505          0.0057
    """
    require_option("method", method, get_args(MethodOfPropensities))
    if (method == "randomized") == (document is not None):
        needs = "does not use document" if document is not None else "needs document, one id per row"
        raise LtrTypeError(
            f'method="{method}" {needs}. "harvesting" compares the clicks on the same document at different positions, '
            'and "randomized" those on whatever was displayed there.'
        )
    if experiment is not None and method != "randomized":
        raise LtrTypeError(f'method="{method}" does not use experiment, which belongs to method="randomized".')
    refuse_different_indexes(
        clicks=clicks, position=position, qid=qid, document=document, experiment=experiment, cluster=cluster
    )
    cells = _cells(clicks, position, qid, document, experiment, cluster)
    log_propensity, covariance = estimate_by_harvesting(cells)
    propensity = np.exp(np.append(0.0, log_propensity))
    errors = propensity * np.sqrt(np.append(0.0, np.diag(covariance)))
    return Propensities(propensity, cells.positions, errors, method)


def _cells(clicks: Any, position: Any, qid: Any, document: Any, experiment: Any, cluster: Any) -> Cells:
    """Return the checked rows, counted; only those that compare positions."""
    positions = as_positions(position, "position")
    n_rows = len(positions)
    clicked = as_flags(clicks, "clicks", n_rows).astype(np.float64)
    query = _codes(qid, "qid", n_rows)
    stratum = np.zeros(n_rows, dtype=np.intp) if experiment is None else _codes(experiment, "experiment", n_rows)
    if document is not None:
        own = _codes(document, "document", n_rows)
        stratum = np.unique(query * (own.max() + 1) + own, return_inverse=True)[1]
    unit = query if cluster is None else _codes(cluster, "cluster", n_rows)
    if len(np.unique(positions)) < 2:
        raise LtrValueError(f"There must be two positions to compare. All {n_rows} rows are at one.")
    cells = Cells.of_rows(clicked, positions, stratum, unit).informative()
    n_clusters = len(np.unique(cells.cluster))
    remedy = "Pass smaller independent units as cluster=, such as users, sessions or impressions."
    if n_clusters < 2:
        raise LtrValueError(
            f"All rows that compare positions are in one cluster, so no standard error can be computed. {remedy}"
        )
    if n_clusters < FEW_CLUSTERS:
        warn(
            f"The rows that compare positions are in {n_clusters} clusters. With fewer than {FEW_CLUSTERS}, the "
            f"standard errors are too small. {remedy}"
        )
    return cells


def _codes(values: Any, name: str, n_rows: int) -> Any:
    codes = label_codes(values, name)[1]
    if len(codes) != n_rows:
        raise LtrValueError(f"{name} must have one entry per row, like clicks. Got {len(codes)} for {n_rows} rows.")
    return codes
