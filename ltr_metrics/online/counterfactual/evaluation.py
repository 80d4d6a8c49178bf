"""`counterfactual.evaluate`: metrics of a model from the clicks on another's lists, and how far to trust them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray, as_numbers, named_columns, require_option
from ltr_metrics._rows.json_values import to_json
from ltr_metrics._rows.words import EstimatorOfClicks, TiesOfClicks
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import DataOptions, Queries, fingerprint_of, queries_from, with_data_options
from ltr_metrics.evaluation.means import effective_sample_size
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.tables import Record, Table, TableOrText
from ltr_metrics.metrics.requests import Metrics, resolve
from ltr_metrics.online.counterfactual.click_metric import ClickMetric, additive, inverse, is_clicked
from ltr_metrics.online.counterfactual.propensities import Propensities

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

ESTIMATORS: tuple[EstimatorOfClicks, ...] = get_args(EstimatorOfClicks)
FEW_CLICKS = 100  # an effective sample size below this gives a warning
LARGE_SHARE = 0.1  # of an estimate that one query, or one cluster, contributes


@dataclass(frozen=True)
class ClickDiagnostics(Record):
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
        Weight of each query. For "snips", it is multiplied by the sum of the weights of the query's
        clicks.
    n_relevant : ndarray of int
        Number of clicked documents of each query.
    fingerprint : Fingerprint
        A summary of clicks, weights and estimator.
    estimator : {"ips", "snips", "dr"}
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

    NO_SKILL_SCALE: ClassVar[str] = (
        "An estimate from clicks has no chance level, because the clicks do not say what is relevant. "
        "Only evaluations of judged documents have a skill."
    )

    estimator: EstimatorOfClicks = "ips"
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
        return super().to_dict() | {name: to_json(getattr(self, name)) for name in names}

    def printed(self) -> list[TableOrText]:
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
        segments = super().printed()[1:]
        return [Table.of(columns, rows), *segments, note, *d.warnings]


def diagnose(
    weight: FloatArray, shares_of_rows: tuple[float, float], sums: Any, query_weight: Any, cluster: IntArray | None
) -> ClickDiagnostics:
    """Return the diagnostics of clicks with these weights, and of queries with these values, and give the warnings.

    The two shares are ``share_clipped`` and ``share_unseen``.
    """
    effective, shares = effective_sample_size(weight), {}
    for name, values in sums.items():
        parts = values if query_weight is None else values * query_weight
        parts = np.abs(parts if cluster is None else np.bincount(cluster, weights=parts))
        shares[name] = float(parts.max() / parts.sum()) if parts.any() else 0.0
    unit = "query" if cluster is None else "cluster"
    few = (
        f"The effective sample size is {effective:.3g} clicks, of {len(weight):,}. Below {FEW_CLICKS}, the estimate "
        "and its standard error are unreliable. Log more impressions, or clip the weights (clip=)."
    )
    warnings = [few] if effective < FEW_CLICKS else []
    warnings += [
        f"One {unit} contributes {100 * share:.3g} % of the estimate of {name}. Its standard error is unreliable. "
        "Log more impressions, or clip the weights (clip=)."
        for name, share in shares.items()
        if share > LARGE_SHARE
    ]
    for message in warnings:
        warn(message)
    return ClickDiagnostics(len(weight), effective, float(weight.max()), *shares_of_rows, shares, tuple(warnings))


@with_data_options
def evaluate(
    clicks: Any,
    scores: Any,
    *,
    propensity: Any,
    position: Any = None,
    metrics: Metrics = "dcg@10",
    estimator: EstimatorOfClicks = "ips",
    clip: float | None = None,
    baseline: Any = None,
    ties: TiesOfClicks = "mean",
    n_threads: int | None = None,
    **data: Unpack[DataOptions],
) -> ClickEvaluation:
    r"""Estimate the metrics of a model from clicks on lists that another model displayed.

    Users mostly examine the first documents, and can click only on what they examine. An
    uncorrected metric of clicks therefore favours the model that resembles the live one. Inverse
    propensity scoring weights each click by 1 / propensity. With the true propensities of the
    users, the estimate of DCG, CG, precision or a sum is unbiased under the conditions in the
    Notes.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        One row per displayed document: 1 if it was clicked and 0 if not, or a higher number for
        more, such as 2 for a purchase.
    scores : array-like of shape (n_rows,), or Positions
        Scores of the model to evaluate; higher is better.
    propensity : Propensities, or array-like of shape (n_rows,)
        The propensity of each position, relative to one of them, so that it may be above 1. Or the
        probability of each row to be examined, from 0 to 1. A row of propensity 0 cannot be
        clicked.
    position : array-like of int of shape (n_rows,), optional
        The position at which the document was displayed, from 1, together with a table of
        propensities. 0 is a document that was not displayed. No other position may repeat within
        an impression.
    metrics : str, Metric, or several of them, default "dcg@10"
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). Only DCG, CG, precision and
        ``sum_of`` can be estimated.
    estimator : {"ips", "snips", "dr"}, default "ips"
        Inverse propensity scoring, the same divided by the sum of the weights of all clicks, or
        the doubly robust estimate.
    clip : float, optional
        Largest weight of a click, at least 1. Clipping lowers the variance, and biases "ips"
        downwards. By default weights are not clipped.
    baseline : array-like of shape (n_rows,), optional
        For "dr": the predicted probability of a click on the document where the propensity is 1,
        such as at the first position.
    ties : {"mean", "stable", "docid"}, default "mean"
        Treatment of tied scores, as for `ltr_metrics.evaluate`.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``. Here
        ``sum_of(revenue)`` adds up the revenue of clicked documents.
    n_threads : int, optional
        Maximum number of threads, as for `ltr_metrics.evaluate`.
    **data
        ``qid`` or ``group``, which name the impressions (not search queries, which users may
        repeat), and the other options of
        `ltr_metrics.Queries`. ``cluster`` has labels of queries that are not independent, such as
        users or query texts, and standard errors and intervals are then over clusters. A document
        that is not ``retrieved`` was displayed, and the model to evaluate does not return it.

    Returns
    -------
    ClickEvaluation
        The estimates per query, their means with standard errors, and diagnostics.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a metric is not a sum over documents, such as NDCG, MRR, MAP and ERR. Also if there is no
        propensity, if a clicked document has the propensity 0, if a position repeats within an
        impression, if no document is clicked, and as for `ltr_metrics.evaluate`.

    Warns
    -----
    LtrWarning
        If the effective sample size is below 100 clicks, or if one query or cluster contributes
        more than a tenth of an estimate.

    See Also
    --------
    estimate_propensities : Estimate the propensities.
    ClickMetric : The same metric for training.

    Notes
    -----
    "ips" is unbiased if clicks follow the position-based model with these propensities, and if
    every relevant document was displayed. Only ratios of propensities are known from clicks, those
    to the first position for example. The estimate is then that of a metric whose labels are click
    probabilities at that position, and ``clip`` and ``baseline`` are relative to it as well. If all
    propensities are multiplied by one number, "ips" is divided by it, and the order of models stays.

    "snips" estimates the metric per relevant document: its divisor estimates the number of relevant
    documents. The divisor is the same for all models of a log, so the order of models is that of
    "ips". Without ``clip``, one factor of all propensities does not change it. A ratio of two sums
    over queries is a weighted mean: the value of a query is its "ips" divided by the sum of the
    weights of its clicks, and this sum, times ``query_weight``, is the query's weight. A query
    without a click has no value.

    "dr" equals "ips" for a displayed document whose weight is not clipped. It adds the baseline for
    documents that were not displayed, and corrects the bias of clipping.

    References
    ----------
    Joachims, Swaminathan & Schnabel, WSDM 2017; Swaminathan & Joachims, The self-normalized
    estimator for counterfactual learning, NeurIPS 2015; Oosterhuis, TOIS 2023 (doubly robust).

    Examples
    --------
    >>> import numpy as np
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.counterfactual import Propensities, evaluate
    >>> X, y, qid = ltr.make_ranking(n_queries=2000, documents=10, random_state=0)
    >>> rng, live, new = np.random.default_rng(0), X[:, 1], X[:, 0]
    >>> position = np.empty(len(y), dtype=int)  # the live model displayed all documents
    >>> position[np.lexsort((-live, qid))] = np.concatenate([np.arange(n) + 1 for n in ltr.qid_to_group(qid)])
    >>> users = Propensities(1 / np.arange(1, position.max() + 1))
    >>> clicks = rng.random(len(y)) < users.of_rows(position) * y / 4
    >>> log = {"qid": qid, "position": position, "propensity": users}
    >>> results = {name: evaluate(clicks, s, **log) for name, s in {"live": live, "new": new}.items()}
    >>> naive = [ltr.evaluate(clicks, s, qid=qid, metrics="dcg@10")["dcg@10"] for s in (live, new)]
    >>> naive[0] > naive[1], results["live"]["dcg@10"] < results["new"]["dcg@10"]
    (True, True)
    """
    require_option("estimator", estimator, ESTIMATORS)
    request = resolve(metrics, ties=require_option("ties", ties, get_args(TiesOfClicks)))
    is_table = isinstance(propensity, Propensities)
    if is_table != (position is not None):
        raise LtrTypeError(
            "propensity must be Propensities([1, 0.5, ...]) together with position=, one per row, or a probability for "
            f"each row without it. Got a {type(propensity).__name__} and {'no ' * (position is None)}position."
        )
    by_row = propensity.of_rows(position) if is_table else propensity
    given = {"propensity": by_row, "position": position, "baseline": baseline}
    named = {name: values for name, values in given.items() if values is not None}
    options: dict[str, Any] = {"estimator": "dr" if estimator == "dr" else "ips", "clip": clip}
    options |= {"baseline": None if baseline is None else "baseline", "relative": is_table}
    corrected = [ClickMetric(metric=additive(one), **options) for one in request.metrics]
    columns = data.pop("columns", None)
    others = {} if columns is None else named_columns(columns, "columns")
    for name in named.keys() & others.keys():
        raise LtrValueError(f"columns must not have the name {name!r}, which is an option. Rename the column.")
    numbers = as_numbers(clicks, "clicks")
    if not (numbers >= 0).all():
        row = int((~(numbers >= 0)).argmax())
        raise LtrValueError(
            f"clicks must be numbers of at least 0, one per row: got {numbers[row]:g} at row {row}. Clicks come first, "
            "then scores: did you swap them?"
        )
    queries = queries_from(clicks, {**data, "columns": named | others}, "evaluate", PARAMETERS)
    clicked = is_clicked(queries)
    if not clicked.any():
        raise LtrValueError("clicks has no click, so there is nothing to estimate. Log more impressions.")
    if is_table:
        _refuse_repeated_positions(queries)
    scored = queries.evaluate_request(scores, replace(request, metrics=tuple(corrected)), n_threads)
    sums = {str(one.metric): scored.per_query[str(one)] for one in corrected}
    raw = inverse(as_numbers(by_row, "propensity").astype(np.float64))  # also where the model does not return the row
    weight = np.where(clicked, raw if clip is None else np.minimum(raw, clip), 0.0)
    shares = float((raw > weight)[clicked].mean()), float((raw == 0).mean())
    diagnostics = diagnose(weight[clicked], shares, sums, scored.weight, scored.cluster)
    values, query_weight, policy = sums, scored.weight, request.policy
    if estimator == "snips":  # a ratio of two sums over queries is a mean, whose weights are the terms of the divisor
        divisor = np.asarray(queries.sum_by_query(weight), dtype=np.float64)
        values = {name: x / np.where(divisor > 0, divisor, np.nan) for name, x in sums.items()}
        query_weight = divisor if scored.weight is None else divisor * scored.weight
        policy = replace(policy, unit="clicks")
    same = ("qid", "n_documents", "n_relevant", "cluster_labels", "segments")
    marked = Queries(weight + ESTIMATORS.index(estimator), qid=queries.query_of_rows())  # `compare` refuses others
    return ClickEvaluation.of(  # type: ignore[return-value]
        values,
        request.asked,
        **{name: getattr(scored, name) for name in same},
        weight=query_weight,
        policy=policy,
        fingerprint=fingerprint_of(marked),
        estimator=estimator,
        clip=clip,
        diagnostics=diagnostics,
    )


PARAMETERS = list(inspect.signature(evaluate).parameters)


def _refuse_repeated_positions(queries: Queries) -> None:
    """Raise an error if a query displays two documents at one position, as several impressions do."""
    query, position = queries.query_of_rows(), queries.column("position")
    rows = np.lexsort((position, query))
    rows = rows[position[rows] > 0]
    repeats = rows[1:][(np.diff(query[rows]) == 0) & (np.diff(position[rows]) == 0)]
    if repeats.size:
        raise LtrValueError(
            f"A query of clicks is one impression, so each of its positions occurs once: position "
            f"{position[repeats[0]]:g} occurs again at {queries.where(int(repeats[0]))}, {len(repeats):,} such rows in "
            "all. Pass impression ids as qid. Search queries or users may be the labels of cluster."
        )
