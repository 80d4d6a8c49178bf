"""`counterfactual.evaluate`: metrics of a model from the clicks on another model's lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, IntArray, as_numbers, named_columns, require_option
from ltr_metrics._engine.words import EstimatorOfClicks, TiesOfClicks
from ltr_metrics.counterfactual.click_metric import ClickMetric, additive, inverse, is_clicked, require_clip
from ltr_metrics.counterfactual.diagnostics import diagnose
from ltr_metrics.counterfactual.propensities import Propensities
from ltr_metrics.counterfactual.result import ClickDiagnostics, ClickEvaluation, ratio_values
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Metrics, Request, resolve

ESTIMATORS: tuple[EstimatorOfClicks, ...] = get_args(EstimatorOfClicks)
TIES: tuple[TiesOfClicks, ...] = get_args(TiesOfClicks)
OWN_COLUMNS = ("position", "propensity", "baseline", "examination")


def evaluate(
    clicks: Any,
    scores: Any,
    *,
    qid: Any = None,
    group: Any = None,
    position: Any = None,
    propensity: Any = None,
    metrics: Metrics = "dcg@10",
    estimator: EstimatorOfClicks = "ips",
    clip: float | None = None,
    baseline: Any = None,
    examination: Any = None,
    cluster: Any = None,
    ties: TiesOfClicks = "mean",
    query_weight: Any = None,
    sample_weight: Any = None,
    docid: Any = None,
    retrieved: Any = None,
    columns: Any = None,
    by: Any = None,
    n_threads: int | None = None,
) -> ClickEvaluation:
    r"""Estimate the metrics of a model from clicks on lists that another model displayed.

    Users click more on documents that they see. So an uncorrected metric of clicks favours the
    model that resembles the one that was live. Inverse propensity scoring weights a click by 1 /
    propensity. With the propensities of the users, the estimate of DCG, CG, precision or a sum is
    unbiased.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        One row per displayed document: 1 if it was clicked and 0 if not, or a higher number for
        more, such as 2 for a purchase.
    scores : array-like of shape (n_rows,), or Positions
        Scores of the model to evaluate; higher is better.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type: the impression. Exactly one of ``qid``
        and ``group`` is required.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    position : array-like of int of shape (n_rows,), optional
        The position at which the document was displayed, from 1, together with a table of
        propensities. 0 is a document that was not displayed.
    propensity : Propensities, or array-like of shape (n_rows,)
        The propensity of each position, or the probability of each row to be examined. A row of
        propensity 0 cannot be clicked.
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
        For "dr": the predicted probability that a user who examines the document clicks on it.
    examination : array-like of shape (n_rows,), optional
        For "dr": the probability of examination in this impression, if ``propensity`` is its mean
        over a random logging policy. Default: ``propensity``.
    cluster : array-like, optional
        One label a query or a row, such as a user or a query text. Queries of one cluster are not
        independent, so standard errors and intervals are over clusters.
    ties : {"mean", "stable", "docid"}, default "mean"
        Treatment of tied scores, as for `ltr_metrics.evaluate`.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.
    docid : array-like of shape (n_rows,), optional
        Document ids, for ``ties="docid"``.
    retrieved : array-like of bool of shape (n_rows,), optional
        False for a document that is judged but has no rank. Here it was displayed, and the model
        to evaluate does not return it.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``. Here
        ``sum_of(revenue)`` adds up the revenue of clicked documents.
    by : array-like, or mapping of str to array-like, optional
        Segments, as for `ltr_metrics.evaluate`. Not with "snips".
    n_threads : int, optional
        Maximum number of threads.

    Returns
    -------
    ClickEvaluation
        The estimates per query, their means with standard errors, and diagnostics.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a metric is not a sum over documents, such as NDCG, MRR, MAP and ERR. Also if there is no
        propensity, if a clicked document has the propensity 0, if no document is clicked, and as
        for `ltr_metrics.evaluate`.

    Warns
    -----
    LtrWarning
        If the effective sample size is below 100 clicks, or if one query or cluster contributes
        more than a tenth of an estimate.

    See Also
    --------
    estimate_propensities : Estimate the propensities.
    ClickMetric : The same metric for training.
    evaluate_slates : Evaluate a ranker from the logs of interleaving.

    Notes
    -----
    "ips" is unbiased if clicks follow the position-based model with these propensities, and if
    every relevant document was displayed. Propensities are relative to the first position, so the
    estimate is that of a metric whose labels are click probabilities at the first position.

    "snips" estimates the metric per relevant document: its divisor estimates the number of relevant
    documents. The divisor is the same for all models of a log, so the order of models is that of
    "ips". It is unaffected by propensities that are all wrong by one factor.

    "dr" equals "ips" for a displayed document, if its weight is not clipped and ``examination`` is
    not given. It adds the baseline for documents that were not displayed, and corrects the bias of
    clipping.

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
    require_option("ties", ties, TIES)
    require_clip(clip)
    _require_clicks(clicks)
    own = _own_columns(position, propensity, baseline, examination, estimator)
    queries = Queries(
        clicks,
        qid=qid,
        group=group,
        query_weight=query_weight,
        sample_weight=sample_weight,
        docid=docid,
        retrieved=retrieved,
        columns=own | _other_columns(columns),
        by=by,
        cluster=cluster,
    )
    rows = _ClickedRows.of(queries, position, propensity, clip)
    request = resolve(metrics, ties=ties)
    options: dict[str, Any] = {"clip": clip, "estimator": "dr" if estimator == "dr" else "ips"}
    options |= {name: name for name in ("baseline", "examination") if name in own}
    if isinstance(propensity, Propensities):
        options |= {"position": "position", "propensities": propensity}
    corrected = [ClickMetric(metric=additive(one), **options) for one in request.metrics]
    scored = queries.evaluate_request(scores, replace(request, metrics=tuple(corrected)), n_threads)
    sums = {str(one.metric): scored.per_query[str(one)] for one in corrected}
    return _result(rows, scored, sums, request, estimator)


@dataclass(frozen=True, eq=False)
class _ClickedRows:
    """The weights of the clicks, also on documents that the model to evaluate does not return."""

    queries: Queries
    clip: float | None
    is_clicked: BoolArray
    raw: FloatArray  # weight of each row before clipping; 0 if it cannot be seen

    @classmethod
    def of(cls, queries: Queries, position: Any, propensity: Any, clip: float | None) -> _ClickedRows:
        clicked = is_clicked(queries)
        if not clicked.any():
            raise LtrValueError("clicks has no click, so there is nothing to estimate. Log more impressions.")
        if isinstance(propensity, Propensities):
            by_row = propensity.of_rows(as_numbers(position, "position", queries.n_rows))
        else:
            by_row = as_numbers(propensity, "propensity", queries.n_rows).astype(np.float64)
        return cls(queries, clip, clicked, inverse(by_row))

    @property
    def weight(self) -> FloatArray:
        """Weight of each row, 0 without a click."""
        limit = np.inf if self.clip is None else self.clip
        return np.where(self.is_clicked, np.minimum(self.raw, limit), 0.0)

    def by_query(self) -> FloatArray:
        """Sum of the weights of each query's clicks."""
        return np.asarray(self.queries.sum_by_query(self.weight), dtype=np.float64)

    def fingerprint(self, estimator: EstimatorOfClicks) -> Fingerprint:
        """Return a fingerprint of clicks, weights and estimator: `compare` refuses results of others."""
        marked = self.weight + ESTIMATORS.index(estimator)
        return Fingerprint.of(Queries(marked, qid=self.queries.query_of_rows()))


def _result(
    rows: _ClickedRows,
    scored: Evaluation,
    sums: dict[str, FloatArray],
    request: Request,
    estimator: EstimatorOfClicks,
) -> ClickEvaluation:
    divisor = rows.by_query() if estimator == "snips" else None
    diagnostics = _diagnostics(rows, sums, scored.weight, scored.cluster)
    for message in diagnostics.warnings:
        warn(message)
    same = ("qid", "n_documents", "n_relevant", "weight", "cluster", "segments")
    values = sums if divisor is None else ratio_values(sums, divisor, scored.weight)
    return ClickEvaluation.of(  # type: ignore[return-value]
        values,
        request.asked,
        **{name: getattr(scored, name) for name in same},
        policy=request.policy,
        fingerprint=rows.fingerprint(estimator),
        estimator=estimator,
        clip=rows.clip,
        diagnostics=diagnostics,
        sums={} if divisor is None else sums,
        click_weight=divisor,
    )


def _diagnostics(
    rows: _ClickedRows, sums: dict[str, FloatArray], query_weight: FloatArray | None, cluster: IntArray | None
) -> ClickDiagnostics:
    weight, raw = rows.weight[rows.is_clicked], rows.raw[rows.is_clicked]
    share_clipped = 0.0 if rows.clip is None else float((raw > rows.clip).mean())
    return diagnose(weight, share_clipped, float((rows.raw == 0).mean()), sums, query_weight, cluster)


def _require_clicks(clicks: Any) -> None:
    """Refuse numbers that are no clicks in the words of this function, before they become labels."""
    numbers = as_numbers(clicks, "clicks")
    is_bad = ~(numbers >= 0)
    if is_bad.any():
        row = int(is_bad.argmax())
        raise LtrValueError(
            f"clicks must be numbers of at least 0, one a row: got {numbers[row]:g} at row {row}, "
            f"{int(is_bad.sum())} such rows in all. Clicks come first, then scores: did you swap them?"
        )


def _own_columns(position: Any, propensity: Any, baseline: Any, examination: Any, estimator: str) -> dict[str, Any]:
    """Return the columns of the correction, which `ClickMetric` reads."""
    if propensity is None:
        raise LtrTypeError(
            "propensity is needed: a probability for each row, or Propensities with position=. Estimate them with "
            "estimate_propensities. Nothing is assumed about how often users examine a position."
        )
    is_table = isinstance(propensity, Propensities)
    if is_table != (position is not None):
        problem = "needs position=, one a row" if is_table else "excludes position="
        kind = "A table of propensities" if is_table else "A propensity for each row"
        raise LtrTypeError(f"{kind} {problem}. A table is Propensities([1, 0.5, ...]).")
    for name, values in (("baseline", baseline), ("examination", examination)):
        if values is not None and estimator != "dr":
            raise LtrTypeError(f'{name} is an option of estimator="dr" alone.')
    if estimator == "dr" and baseline is None:
        raise LtrTypeError('estimator="dr" needs baseline=, the predicted click probability of each examined document.')
    named = {"position": position, "baseline": baseline, "examination": examination}
    named["propensity"] = None if is_table else propensity
    return {name: values for name, values in named.items() if values is not None}


def _other_columns(columns: Any) -> dict[str, Any]:
    named = {} if columns is None else named_columns(columns, "columns")
    for name in OWN_COLUMNS:
        if name in named:
            raise LtrValueError(f"columns must not have the name {name!r}: pass {name}= instead, or rename the column.")
    return named
