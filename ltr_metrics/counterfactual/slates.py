"""`evaluate_slates`: evaluate any ranker from the logs of interleaving, whose lists were drawn at random."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import EstimatorOfSlates
from ltr_metrics.counterfactual.click_metric import additive
from ltr_metrics.counterfactual.diagnostics import diagnose
from ltr_metrics.counterfactual.result import ClickEvaluation
from ltr_metrics.counterfactual.slate_probabilities import SlateProbabilities, require_sequential
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.interleaving.impressions import Impression, locate, read_located
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.metrics import DCG, SumOf
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Metrics, resolve

ESTIMATORS: tuple[EstimatorOfSlates, ...] = get_args(EstimatorOfSlates)
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

    .. math:: c_x \frac{[d_x = t_x]}{P(d_x)}, \quad
        c_x \frac{[d_{1..x} = t_{1..x}]}{P(d_{1..x})}, \quad
        c_x \frac{[d = t]}{P(d)}

    for "independent", "interaction" and "standard". The first assumes that a click depends on the
    document and the slot alone, the second that it depends also on the documents above, and the
    third assumes nothing. Each assumption lowers the variance.

    Parameters
    ----------
    log : iterable of Impression, or path
        Impressions with rankings, method and query, or a file for
        `ltr_metrics.interleaving.read_impressions`.
    ranker_scores : mapping
        For each query, the score of each document in the rankings of its impressions. Higher is
        better, and scores of a query must differ.
    metrics : str, Metric, or several of them, default "cg"
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). Only CG, DCG and precision of
        clicks can be estimated. CG is the number of clicks per impression.
    estimator : {"standard", "independent", "interaction"}, default "interaction"
        What a click may depend on.
    normalize : bool, default False
        Divide each slot by its mean weight. That lowers the variance, for a small bias.
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
        If an impression has no rankings, method or query, if its list is impossible, or if a score
        is missing or tied. Also if "independent" has too many lists to add up, or if no list agrees
        with the ranker.

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
    Li, Kim & Zitouni, Toward predicting the outcome of an A/B experiment for search relevance, WSDM
    2015 ("independent"); McInerney et al., Counterfactual evaluation of slate recommendations with
    sequential reward interactions, KDD 2020 ("interaction").

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
    require_option("estimator", estimator, ESTIMATORS)
    if not isinstance(normalize, bool):
        raise LtrTypeError(f"normalize must be True or False. Got {normalize!r}.")
    request = resolve(metrics)
    slates = _Slates.read(log, ranker_scores, estimator, dict(method_options or {}))
    utility = {str(one): _utility_of_slots(additive(one), slates.clicks.shape[1]) for one in request.metrics}
    values = {name: _values(slates, slots, normalize) for name, slots in utility.items()}
    queries = Queries(slates.clicks.max(axis=1), qid=np.arange(len(slates.clicks)), cluster=cluster)
    weight = slates.weight[slates.clicks * slates.weight > 0]
    if not len(weight):
        raise LtrValueError(
            "No click is in a list that agrees with the ranker's own, so there is nothing to estimate. Use "
            'estimator="independent", or log more impressions.'
        )
    diagnostics = diagnose(weight, 0.0, slates.share_unseen, values, None, queries.cluster)
    unseen = f"The method could not display {100 * slates.share_unseen:.3g} % of the ranker's slots. They count as 0."
    for message in [*diagnostics.warnings, *[unseen] * (slates.share_unseen > UNSEEN_SHARE)]:
        warn(message)
    return ClickEvaluation.of(  # type: ignore[return-value]
        values,
        request.asked,
        qid=queries.qid,
        n_documents=slates.displayed.sum(axis=1).astype(np.intp),
        n_relevant=slates.clicks.sum(axis=1).astype(np.intp),
        weight=None,
        cluster=queries.cluster,
        policy=request.policy,
        estimator=estimator,
        diagnostics=diagnostics,
        sums={},
    )


class _Slates(NamedTuple):
    """Clicks, weights and whether a slot was displayed, (impressions, slots)."""

    clicks: FloatArray
    weight: FloatArray
    displayed: FloatArray
    share_unseen: float

    @classmethod
    def read(cls, log: Any, ranker_scores: Any, estimator: str, options: dict[str, Any]) -> _Slates:
        reader = _Reader(ranker_scores, estimator, options)
        rows = [reader.row(location, impression) for location, impression in _located(log)]
        if not rows:
            raise LtrValueError("The log has no impressions.")
        shape = len(rows), max(len(weights) for _, weights, _ in rows)
        clicks, weight, displayed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for i, (clicked, weights, _) in enumerate(rows):
            clicks[i, clicked], weight[i, : len(weights)], displayed[i, : len(weights)] = 1, weights, 1
        return cls(clicks, weight, displayed, float(sum(unseen for *_, unseen in rows) / displayed.sum()))


class _Reader:
    """Turns impressions into the weights of their slots, with one set of probabilities for equal rankings."""

    def __init__(self, ranker_scores: Any, estimator: str, options: dict[str, Any]) -> None:
        if not isinstance(ranker_scores, Mapping):
            raise LtrTypeError(
                f'ranker_scores must map queries to scores, {{"q": {{"doc": 1.5}}}}. Got {ranker_scores!r}.'
            )
        self._scores, self._estimator, self._options = ranker_scores, estimator, options
        self._known: dict[Any, SlateProbabilities] = {}

    def row(self, location: str, impression: Impression) -> tuple[list[int], list[float], int]:
        """Return the clicks, the weight of each slot, and the number of slots that cannot agree."""
        if impression.rankings is None or impression.method is None:
            raise LtrValueError(f"{location}: the rankings and the method are needed for the probability of a list.")
        documents = impression.shown.documents
        slates = self._probabilities(impression, len(documents))
        if not slates.of_list(documents) > 0:
            raise LtrValueError(
                f"{location}: {impression.method} cannot display this list. Log the list that was mixed, with its "
                "rankings, length and method_options."
            )
        target = self._target(location, impression, len(documents))
        weights, n_unseen = [], 0
        for slot in range(len(documents)):
            probability = self._probability(slates, target, slot)
            n_unseen += probability == 0
            agrees = self._part(documents, slot) == self._part(target, slot)
            weights.append(1 / probability if agrees and probability > 0 else 0.0)
        return impression.clicks, weights, n_unseen

    def _part(self, documents: list[Hashable], slot: int) -> list[Hashable]:
        parts = {"standard": documents, "interaction": documents[: slot + 1], "independent": documents[slot : slot + 1]}
        return parts[self._estimator]

    def _probability(self, slates: SlateProbabilities, target: list[Hashable], slot: int) -> float:
        if self._estimator == "independent":
            return slates.of_slot(slot, target[slot], len(target))
        return slates.of_list(target) if self._estimator == "standard" else slates.of_prefix(target[: slot + 1])

    def _probabilities(self, impression: Impression, n_shown: int) -> SlateProbabilities:
        rankings = list((impression.rankings or {}).values())
        length = impression.length or n_shown
        key = (impression.method, length, *map(tuple, rankings))
        if key not in self._known:
            method = method_named(impression.method)
            require_sequential(method, self._estimator)
            self._known[key] = SlateProbabilities(method, rankings, length, self._options)
        return self._known[key]

    def _target(self, location: str, impression: Impression, n_shown: int) -> list[Hashable]:
        """Return the list that the ranker would display of the same documents."""
        if impression.query not in self._scores:
            raise LtrValueError(f"{location}: ranker_scores has no query {impression.query!r}.")
        scores = self._scores[impression.query]
        documents = list(dict.fromkeys(d for ranking in (impression.rankings or {}).values() for d in ranking))
        for document in documents:
            if document not in scores or not np.isfinite(scores[document]):
                raise LtrValueError(
                    f"{location}: ranker_scores needs a finite score for each document of the rankings, but "
                    f"{document!r} of query {impression.query!r} has {scores.get(document)!r}."
                )
        if len({scores[document] for document in documents}) < len(documents):
            raise LtrValueError(f"{location}: scores of query {impression.query!r} are tied. Break the ties.")
        return sorted(documents, key=lambda document: -scores[document])[:n_shown]


def _located(log: Any) -> Iterator[tuple[str, Impression]]:
    return read_located(Path(log), None) if isinstance(log, (str, os.PathLike)) else locate(log)


def _utility_of_slots(one: Metric, n_slots: int) -> FloatArray:
    """Return what a click at each slot adds to the metric."""
    if isinstance(one, SumOf):
        raise LtrValueError(f"{one} cannot be estimated from impressions, which have no columns. Use cg or dcg.")
    k = n_slots if one.cutoff is None else one.cutoff
    utility = (np.arange(n_slots) < k).astype(np.float64)
    two = Queries([0, 1], group=[2])
    if isinstance(one, DCG):
        return np.asarray(utility * one.discounts(two, n_slots) * one.gains(two)[1])
    return utility / k if one.NAME == "precision" else utility


def _values(slates: _Slates, utility: FloatArray, normalize: bool) -> FloatArray:
    """Return one value per impression, whose mean is the estimate and whose standard error is right."""
    gained = slates.clicks * slates.weight * utility
    if not normalize:
        return np.asarray(gained.sum(axis=1))
    mean_weight, share = slates.weight.mean(axis=0), slates.displayed.mean(axis=0)
    has_weight = mean_weight > 0
    scale = np.divide(share, mean_weight, out=np.zeros_like(share), where=has_weight)
    estimate = gained.mean(axis=0) * scale
    correction = estimate * (slates.displayed / share - slates.weight * scale / share)
    return np.asarray((gained * scale + correction * has_weight).sum(axis=1))
