"""`evaluate_slates`: evaluate any ranker from the logs of interleaving, whose lists were drawn at random."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import FloatArray, require_option
from ltr_metrics._rows.ids import id_text, is_missing, positions_by_text
from ltr_metrics._rows.words import EstimatorOfSlates
from ltr_metrics.errors import LtrValueError, naming, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.metrics import SumOf
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Metrics, resolve
from ltr_metrics.online.counterfactual.click_metric import additive
from ltr_metrics.online.counterfactual.evaluation import ClickEvaluation, diagnose
from ltr_metrics.online.interleaving.impressions import Impression, in_text, located
from ltr_metrics.online.interleaving.methods import methods_of_log

UNSEEN_SHARE = 0.01  # of the slots: with more that cannot be displayed, the estimate is too low


def evaluate_slates(
    log: Iterable[Impression] | str | os.PathLike[str],
    ranker_scores: Mapping[Any, Mapping[Any, float]],
    *,
    metrics: Metrics = "cg",
    estimator: EstimatorOfSlates = "interaction",
    normalize: bool = False,
    method_options: Mapping[str, Any] | None = None,
    cluster: Any = None,
) -> ClickEvaluation:
    r"""Estimate the clicks that a ranker would get, from the logs of interleaving other rankers.

    Interleaving draws each list at random, with a known probability. So its log is that of a random
    policy, and any third ranker can be evaluated: by weighting the impressions whose list agrees
    with the ranker's own. With the ranker's documents :math:`t`, the displayed ones :math:`d`, and
    the click :math:`c_x` at slot :math:`x`, a slot counts

    .. math:: c_x \frac{[d_{1..x} = t_{1..x}]}{P(d_{1..x})}, \quad c_x \frac{[d = t]}{P(d)}

    for "interaction" and "standard". The first assumes that a click depends only on the slot, its
    document and the documents above, which lowers the variance. With the second, a click may depend
    on the whole list.

    Parameters
    ----------
    log : iterable of Impression, or path
        Impressions with method and query, or a file for
        `ltr_metrics.interleaving.read_impressions`.
    ranker_scores : mapping
        For each query, the score of each document in the rankings of its impressions. Higher is
        better, and scores of a query must differ.
    metrics : str, Metric, or several of them, default "cg"
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). Only CG, DCG and precision of
        clicks can be estimated. CG is the number of clicks per impression.
    estimator : {"standard", "interaction"}, default "interaction"
        What a click may depend on.
    normalize : bool, default False
        Divide each slot by its mean weight. That lowers the variance, for a small bias. The means
        are those of the whole log, so the result has neither subsets nor segments.
    method_options : mapping, optional
        Further options of the method that mixed the lists, such as ``{"tau": 1}``.
    cluster : array-like of shape (n_impressions,), optional
        One label an impression, such as a user. Impressions of one cluster are not independent.

    Returns
    -------
    ClickEvaluation
        One query per impression, numbered from 0. ``diagnostics.share_unseen`` is the share of the
        ranker's slots whose document the method could not display.

    Raises
    ------
    LtrValueError, LtrTypeError
        If an impression has no method or query, if its list is impossible, or if a score is missing
        or tied. Also if no list agrees with the ranker.

    Warns
    -----
    LtrWarning
        If the method could not display more than 1 % of the ranker's slots, so that the estimate
        is too low. Also as for `evaluate`.

    See Also
    --------
    evaluate : Evaluate clicks on the lists of one model, with propensities.
    ltr_metrics.interleaving.Method : Its probabilities are exact.

    References
    ----------
    McInerney et al., Counterfactual evaluation of slate recommendations with sequential reward
    interactions, KDD 2020 ("interaction").

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.counterfactual import evaluate_slates
    >>> from ltr_metrics.interleaving import ClickModel, Impression, TeamDraft
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "c", "a"]}
    >>> method, rng = TeamDraft(list(rankings.values()), length=2), np.random.default_rng(0)
    >>> users, grade, log = ClickModel([0.1, 0.5]), {"a": 0, "b": 1, "c": 0}, []
    >>> for _ in range(2000):
    ...     shown = method.mix(rng)
    ...     clicks = users.clicks_on([grade[document] for document in shown.documents], rng)
    ...     log.append(Impression(rankings, shown, clicks, query="q", method="team_draft", length=2))
    >>> result = evaluate_slates(log, {"q": {"b": 3, "a": 2, "c": 1}})  # expected: .5 + .1 clicks
    >>> round(result["cg"], 3), round(result.standard_error["cg"], 3), result.diagnostics.share_unseen
    (0.608, 0.023, 0.0)
    """
    require_option("estimator", estimator, get_args(EstimatorOfSlates))
    request = resolve(metrics)
    clicks, weight, probability = _read(log, ranker_scores, estimator, dict(method_options or {}))
    gained, displayed = clicks * weight, np.isfinite(probability).astype(np.float64)
    values = {}
    for one in request.metrics:
        by_slot = gained * _utility_of_slots(one, clicks.shape[1])
        values[str(one)] = (_normalized(by_slot, weight, displayed) if normalize else by_slot).sum(axis=1)
    if not gained.any():
        raise LtrValueError(
            "No click can be used, because no list with a click agrees with the ranking to evaluate "
            "(with estimator='interaction', down to the click). Log more impressions."
        )
    queries = Queries(clicks.max(axis=1), qid=np.arange(len(clicks)), cluster=cluster)
    share_unseen = float((probability == 0).sum() / displayed.sum())
    diagnostics = diagnose(weight[gained > 0], (0.0, share_unseen), values, None, queries.cluster)
    if share_unseen > UNSEEN_SHARE:
        warn(f"The method could not display {100 * share_unseen:.3g} % of the ranker's slots. They count as 0.")
    return ClickEvaluation.of(  # type: ignore[return-value]
        values,
        request.asked,
        qid=queries.qid,
        n_documents=displayed.sum(axis=1).astype(np.intp),
        n_relevant=clicks.sum(axis=1).astype(np.intp),
        weight=None,
        cluster=queries.cluster,
        policy=replace(request.policy, unit="all impressions of a log") if normalize else request.policy,
        estimator=estimator,
        diagnostics=diagnostics,
    )


def _read(
    log: Any, scores: Mapping[Any, Any], estimator: str, options: dict[str, Any]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return clicks, weights, and the probability that a slot agrees (NaN if not displayed), by impression and slot."""
    mixed_by = methods_of_log(options)
    by_query = _by_text(scores, "ranker_scores")
    by_query = {query: _by_text(of_query, f"ranker_scores of query {query!r}") for query, of_query in by_query.items()}
    rows: list[tuple[list[int], list[float], list[bool]]] = []
    for location, impression in located(log):
        with naming(location):
            rows.append((impression.clicks, *_target_slots(impression, by_query, estimator, mixed_by)))
    if not rows:
        raise LtrValueError("The log has no impressions.")
    shape = len(rows), max(len(agrees) for *_, agrees in rows)
    clicks, probability, agrees = np.zeros(shape), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    for i, (clicked, probabilities, does_agree) in enumerate(rows):
        n = len(does_agree)
        clicks[i, clicked], probability[i, :n], agrees[i, :n] = 1, probabilities, does_agree
    return clicks, np.divide(1.0, probability, out=np.zeros(shape), where=agrees & (probability > 0)), probability


def _by_text(by_id: Mapping[Any, Any], owner: str) -> dict[str, Any]:
    """Return the entries by the texts of their ids; refuse two ids with one text."""
    return dict(zip(positions_by_text(list(by_id), owner), by_id.values(), strict=True))


def _target_slots(
    impression: Impression, scores: Mapping[Any, Any], estimator: str, mixed_by: Any
) -> tuple[list[float], list[bool]]:
    """Return, by slot, the probability of what must agree with the ranker's list, and whether it does.

    All methods but Optimized fill the slots one after the other. So the first slots of a list have
    the distribution of a shorter list.
    """
    method = impression.method
    rankings, shown = in_text(impression)
    documents, n = shown.documents, len(shown.documents)
    if method is None:
        raise LtrValueError("The method is needed for the probability of a list.")
    if method == "optimized" and estimator != "standard":
        raise LtrValueError(
            "The method optimized chooses whole lists, so the probabilities of their parts are not those of shorter "
            f'lists. Got estimator={estimator!r}: use "standard".'
        )
    whole = mixed_by(method, rankings, impression.length or n)
    if not whole.probability(documents) > 0:
        raise LtrValueError(
            f"{method} cannot display this list. Log the list that was mixed, with its rankings, length and "
            "method_options."
        )
    target = _target(impression.query, rankings, n, scores)
    if estimator == "standard":
        return [whole.probability(target)] * n, [documents == target] * n
    ends = range(1, n + 1)
    probabilities = [mixed_by(method, rankings, end).probability(target[:end]) for end in ends]
    return probabilities, [documents[:end] == target[:end] for end in ends]


def _target(query: Any, rankings: Iterable[Iterable[str]], n: int, scores: Mapping[str, Any]) -> list[str]:
    """Return the list that the ranker would display of the same documents."""
    of_query = {} if is_missing(query) else scores.get(id_text(query), {})
    documents = list(dict.fromkeys(chain.from_iterable(rankings)))
    known = {document: of_query.get(document, np.nan) for document in documents}
    if not np.isfinite(list(known.values())).all() or len(set(known.values())) < len(known):
        raise LtrValueError(
            f"ranker_scores needs a finite score for each document of the rankings of query {query!r}, "
            f"without ties. Got {known}."
        )
    return sorted(documents, key=lambda document: -known[document])[:n]


def _utility_of_slots(one: Metric, n_slots: int) -> FloatArray:
    """Return what a click at each slot adds to the metric: its value of lists with only this click."""
    if isinstance(additive(one), SumOf):
        raise LtrValueError(f"{one} cannot be estimated from impressions, which have no columns. Use cg or dcg.")
    lists = Queries(np.eye(n_slots).ravel(), group=[n_slots] * n_slots)
    (utility,) = lists.evaluate(np.tile(-np.arange(n_slots), n_slots), [one]).per_query.values()
    return utility


def _normalized(gained: FloatArray, weight: FloatArray, displayed: FloatArray) -> FloatArray:
    """Divide by the mean weight of each slot, and correct each impression so that the standard error is right."""
    mean_weight, share = weight.mean(axis=0), displayed.mean(axis=0)
    scale = np.divide(share, mean_weight, out=np.zeros_like(share), where=mean_weight > 0)
    estimate = gained.mean(axis=0) * scale
    correction = estimate * (displayed / share - weight * scale / share)
    return np.asarray(gained * scale + correction * (mean_weight > 0))
