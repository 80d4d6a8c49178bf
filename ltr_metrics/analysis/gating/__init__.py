"""Gates: rules that a comparison passes or fails, with its uncertainty taken into account."""

from __future__ import annotations

from collections.abc import Iterable

from ltr_metrics._engine.plain import segment_title
from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.comparison.names import name_in
from ltr_metrics.analysis.gating.checks import check_rule, min_queries
from ltr_metrics.analysis.gating.result import Check, GateResult
from ltr_metrics.analysis.gating.rules import Rule, read_rules
from ltr_metrics.errors import LtrKeyError, LtrValueError

__all__ = ["Check", "GateResult", "gate", "min_queries", "read_rules"]


def gate(comparison: Comparison, rules: str | Iterable[str], *, each_segment: bool = False) -> GateResult:
    """Check a comparison against rules that a release must pass.

    ``"ndcg@10 > -0.005"`` passes only if the *whole interval* of the difference to the baseline
    lies above -0.005. Then the model is not worse by that margin on other queries either
    (non-inferiority). The interval is that of the comparison. With little data it is wide, and the
    rule fails. ``<`` requires the whole interval below the number, for a metric where less is
    better, such as the mean of a price.

    For a metric of which lower is better (``higher_is_better=False``), a rule must set an upper
    limit: ``"first_purchase < 0.1"``, ``"first_purchase < 2%"``, ``"mean(first_purchase) < 3"`` or
    ``"share(first_purchase > 1) < 5%"``. A rule that a worse model would pass is an error.

    ``"ndcg@10 > -1%"`` has the margin in units of the baseline's mean, which is uncertain as well.
    ``"mean(ndcg@10) > 0.6"`` passes only if the whole interval of the model's own mean, over the
    compared queries, lies above 0.6.

    ``"share(ndcg@10 < -0.1) < 0.05"`` passes if fewer than 5% of the queries have a difference
    below -0.1. You may also write ``5%``. In a weighted comparison it is their share of the weight.
    It is the share among these queries, without an interval. Queries that the metric leaves out do
    not count.

    A gate does not cover losses that none of these queries has. With n queries, a loss in fewer
    than 3 in n of all queries is likely to be missed. `docs/comparison.md` has measured rates of
    false passes.

    Parameters
    ----------
    comparison : Comparison
        The result of `ltr_metrics.compare`. Its intervals are two-sided, at its ``confidence``.
    rules : str or several of them
        Signs: ``>``, ``>=``, ``<``, ``<=``. Each rule applies to all models, or with ``"new: "``
        before it to the model ``new``. All rules must pass, so there is no correction for their
        number.
    each_segment : bool, default False
        Whether each rule must pass in each segment of ``comparison.by`` as well.

    Returns
    -------
    GateResult
        ``passed``, and ``checks`` with value, limit and reason. A check fails if there is too
        little data: very few queries, or very few that differ at all. All of n queries differ in
        the same direction by chance once in 2 ** (n - 1) times, so a confidence of 95% needs six.
        With clusters, clusters are counted; with weights, the effective number of units.

    Raises
    ------
    LtrValueError, LtrKeyError, LtrTypeError
        If a rule cannot be read, its metric was not evaluated, there is no such model, or there are
        no segments. Also if lower is better for the metric, and a worse model would pass the rule.

    See Also
    --------
    compare : Compare models with a baseline.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
    >>> scores = {"base": X[:, 0], "new": X[:, 0] + X[:, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> result = ltr.gate(comparison, ["ndcg@10 > -0.05", "share(map < -0.9) < 5%"])
    >>> result.passed
    True
    >>> ltr.gate(comparison, "map > 0.5").checks[0].passed
    False
    """
    parsed = read_rules(rules, comparison.models)
    metrics = {rule: _metric(rule, comparison) for rule in parsed}
    for rule, metric in metrics.items():
        if not comparison.higher_is_better(metric):
            _require_upper_limit(rule)
    parts: list[tuple[str | None, Comparison]] = [(None, comparison)]
    if each_segment:
        parts += _segments(comparison)
    return GateResult(
        tuple(
            check_rule(rule, metrics[rule], model, segment, part)
            for segment, part in parts
            for rule in parsed
            for model in ([rule.model] if rule.model is not None else comparison.models)
        )
    )


def _segments(comparison: Comparison) -> list[tuple[str | None, Comparison]]:
    segments = comparison.segments()
    if not segments:
        raise LtrValueError("each_segment needs segments, and the comparison has none: compare with by=.")
    return [(segment_title(name, label), part) for name, label, part in segments]


def _require_upper_limit(rule: Rule) -> None:
    """Refuse a rule that rewards high values of a metric of which lower is better."""
    if rule.asks_for_more:
        raise LtrValueError(
            f"A worse model would pass the rule {rule.text!r}: for {rule.metric} lower is better. Set an upper limit, "
            f"such as '{rule.metric} < 0.1', '{rule.metric} < 2%', 'mean({rule.metric}) < 3' or "
            f"'share({rule.metric} > 1) < 5%'."
        )


def _metric(rule: Rule, comparison: Comparison) -> str:
    """Return the canonical name of a rule's metric."""
    try:
        return name_in(comparison.evaluations[comparison.baseline], rule.metric)
    except LtrKeyError as error:
        raise LtrKeyError(f"The rule {rule.text!r} cannot be checked: {error} Add it to the metrics.") from None
