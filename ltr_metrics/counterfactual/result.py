"""The result of `counterfactual.evaluate`: an evaluation, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics._engine.plain import plain
from ltr_metrics._engine.results import Part, Plain, Table
from ltr_metrics._engine.words import EstimatorOfClicks, EstimatorOfSlates
from ltr_metrics.errors import warn
from ltr_metrics.evaluation.means import effective_number
from ltr_metrics.evaluation.result import Evaluation

FEW_CLICKS = 100  # an effective sample size below this gives a warning
LARGE_SHARE = 0.1  # of an estimate that one query, or one cluster, contributes


@dataclass(frozen=True)
class ClickDiagnostics(Plain):
    r"""How many clicks carry an estimate.

    Attributes
    ----------
    n_clicks : int
        Number of clicked documents.
    effective_sample_size : float
        Number of clicks of equal weight that would be as informative (Kish):
        :math:`(\sum w)^2 / \sum w^2` over the clicks.
    largest_weight : float
        Largest weight of a click, after clipping.
    share_clipped : float
        Share of the clicks whose weight was reduced to ``clip``.
    share_unseen : float
        Share of the documents whose propensity is 0. Without a baseline they count as irrelevant.
    largest_share : dict of str to float
        For each metric, the largest share of the estimate that one query, or one cluster,
        contributes.
    warnings : tuple of str
        Why not to trust the estimate; empty if there is no reason.

    See Also
    --------
    evaluate : Its result has these as ``result.diagnostics``.

    Examples
    --------
    >>> from ltr_metrics.counterfactual import ClickDiagnostics
    >>> few = ClickDiagnostics(3, 1.8, 10.0, 0.0, 0.0, {"dcg_exp": 0.7}, ("Few clicks.",))
    >>> few.effective_sample_size, few.to_dict()["warnings"]
    (1.8, ['Few clicks.'])
    """

    n_clicks: int
    effective_sample_size: float
    largest_weight: float
    share_clipped: float
    share_unseen: float
    largest_share: Mapping[str, float]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ClickEvaluation(Evaluation):
    """Metrics of a model that are estimated from logged clicks, with diagnostics.

    It is an `ltr_metrics.Evaluation`, which `ltr_metrics.compare`, `ltr_metrics.gate` and reports
    accept like any other. `ltr_metrics.compare` raises an error if the other result has other
    weights, such as that of uncorrected clicks.

    Attributes
    ----------
    mean, per_query, n_undefined : dict
        The estimates by metric, as in `ltr_metrics.Evaluation`.
    qid, n_documents, policy, segments, cluster, lower_is_better : object
        The queries and options, as in `ltr_metrics.Evaluation`.
    weight : ndarray of float64 or None
        Weight of each query; for "snips", times the sum of the weights of its clicks.
    n_relevant : ndarray of int
        Number of clicked documents of each query.
    fingerprint : Fingerprint
        A summary of clicks, weights and estimator.
    estimator : {"ips", "snips", "dr", "standard", "interaction"}
        How clicks were corrected.
    clip : float or None
        Largest weight.
    diagnostics : ClickDiagnostics
        How many clicks carry the estimate.

    See Also
    --------
    ltr_metrics.counterfactual.evaluate : Make one.
    ltr_metrics.Evaluation : What it inherits.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.counterfactual import Propensities, evaluate
    >>> clicks = [1, 0, 0, 0, 0, 1, 0, 0] * 100  # 400 lists of two documents, half of them with a click
    >>> result = evaluate(
    ...     clicks, [1, 2] * 400, group=[2] * 400, position=[1, 2] * 400,
    ...     propensity=Propensities([1, 0.5]), metrics="dcg@2",
    ... )
    >>> result.estimator, result.clip, result.weight
    ('ips', None, None)
    >>> print(result)
    metric     estimate (ips)  standard error  queries
    dcg_exp@2        0.657732        0.040883      400
    <BLANKLINE>
    200 clicks, effective sample size 180, largest weight 2, 0 % of the clicks clipped, 0 % of the
    documents unseen.
    >>> result.diagnostics.largest_weight, result.to_dict()["estimator"]
    (2.0, 'ips')
    >>> part = result.subset([0, 2])
    >>> round(part["dcg@2"], 4), round(result.standard_error["dcg@2"], 4)
    (1.3155, 0.0409)
    """

    COMPARABLE: ClassVar[str] = "from the same clicks, with the same propensities, estimator and clip"

    estimator: EstimatorOfClicks | EstimatorOfSlates = "ips"
    clip: float | None = None
    diagnostics: ClickDiagnostics = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return lists, numbers and strings, ready for JSON; NaN is None.

        Returns
        -------
        dict
            As for any evaluation, with the estimator and the diagnostics.
        """
        names = ("estimator", "clip", "diagnostics", "standard_error")
        return super().to_dict() | {name: plain(getattr(self, name)) for name in names}

    def printed_parts(self) -> list[Part]:
        """Return the table of estimates, the diagnostics and the warnings."""
        clip = "" if self.clip is None else f", clip {self.clip:g}"
        estimate = f"estimate ({self.estimator}{clip})"
        columns = {"metric": "{name}", estimate: "{mean:.6f}", "standard error": "{error:.6f}", "queries": "{n:,}"}
        n = {name: self.n_queries - undefined for name, undefined in self.n_undefined.items()}
        rows = [
            {"name": name, "mean": mean, "error": self.standard_error[name], "n": n[name]}
            for name, mean in self.mean.items()
        ]
        d = self.diagnostics
        note = (
            f"{d.n_clicks:,} clicks, effective sample size {d.effective_sample_size:,.0f}, largest weight "
            f"{d.largest_weight:.4g}, {100 * d.share_clipped:.3g} % of the clicks clipped, "
            f"{100 * d.share_unseen:.3g} % of the documents unseen."
        )
        segments = super().printed_parts()[1:]
        return [Table.of(columns, rows), *segments, note, *d.warnings]


def diagnose(
    weight: FloatArray, shares_of_rows: tuple[float, float], sums: Any, query_weight: Any, cluster: IntArray | None
) -> ClickDiagnostics:
    """Return the diagnostics of clicks with these weights, and of queries with these values, and give the warnings.

    The two shares are ``share_clipped`` and ``share_unseen``.
    """
    effective, shares = effective_number(weight), {}
    for name, values in sums.items():
        parts = values if query_weight is None else values * query_weight
        parts = np.abs(parts if cluster is None else np.bincount(cluster, weights=parts))
        shares[name] = float(parts.max() / parts.sum()) if parts.any() else 0.0
    unit = "query" if cluster is None else "cluster"
    few = (
        f"The effective sample size is {effective:.3g} clicks, of {len(weight):,}. Below {FEW_CLICKS}, the estimate "
        "and its standard error are unreliable. Log more impressions, or clip the weights (clip=)."
    )
    warnings = [few] * (effective < FEW_CLICKS)
    warnings += [
        f"One {unit} contributes {100 * share:.3g} % of the estimate of {name}. Its standard error is unreliable. "
        "Log more impressions, or clip the weights (clip=)."
        for name, share in shares.items()
        if share > LARGE_SHARE
    ]
    for message in warnings:
        warn(message)
    return ClickDiagnostics(len(weight), effective, float(weight.max()), *shares_of_rows, shares, tuple(warnings))
