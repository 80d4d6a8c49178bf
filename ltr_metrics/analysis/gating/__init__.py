"""Gates: rules that a comparison passes or fails, with its uncertainty taken into account."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.plain import none_if_nan, segment_title
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics.analysis.comparison import Comparison, Difference
from ltr_metrics.analysis.comparison.names import name_in
from ltr_metrics.analysis.comparison.table import INTERVALS
from ltr_metrics.analysis.gating.rules import Limit, Rule, read_rules
from ltr_metrics.errors import LtrKeyError, LtrValueError, one_line

__all__ = ["Check", "GateResult", "gate", "min_queries", "read_rules"]


@dataclass(frozen=True)
class Check(Printed):
    """One rule, applied to one model, over all queries or in one segment.

    Attributes
    ----------
    rule, model : str
    segment : str or None
        None over all queries.
    value : float
        The value that was compared with the limit: an end of the interval, or a share; NaN without
        one.
    limit : float
    passed : bool
    reason : str
    """

    rule: str
    model: str
    segment: str | None
    value: float
    limit: float
    passed: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None."""
        return vars(self) | {"value": none_if_nan(self.value)}

    def printed_parts(self) -> list[Table]:
        return [_table_of((self,))]

    def __str__(self) -> str:
        """Return the verdict, the model, the rule and the reason, on one line."""
        where = "" if self.segment is None else f", {self.segment}"
        return one_line(f"{'PASS' if self.passed else 'FAIL'}  {self.model}{where}: {self.rule}: {self.reason}")


@dataclass(frozen=True)
class GateResult(Printed):
    """The checks of a gate; true if all of them passed.

    Attributes
    ----------
    checks : tuple of Check
        One per rule, model and segment, with ``rule``, ``model``, ``segment``, ``value``,
        ``limit``, ``passed`` and ``reason``.

    See Also
    --------
    gate : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 1], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics="map")
    >>> result = ltr.gate(comparison, ["map > 0", "map > 0.5"])
    >>> result.passed, bool(result), [check.passed for check in result.checks]
    (False, False, [True, False])
    >>> result.to_dict()["checks"][1]["limit"]
    0.5
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            ``passed``, and the fields of each check.
        """
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    def __str__(self) -> str:
        """Return a line a check."""
        return "\n".join(map(str, self.checks))

    def printed_parts(self) -> list[Table]:
        return [_table_of(self.checks)]


def _table_of(checks: Sequence[Check]) -> Table:
    """Return the checks as a table, which notebooks show; a line of text has the same parts."""
    by_segment = any(check.segment is not None for check in checks)
    rows = [
        ("PASS" if check.passed else "FAIL", check.model, *[check.segment or ""] * by_segment, check.rule, check.reason)
        for check in checks
    ]
    return Table(("", "model", *["segment"] * by_segment, "rule", "reason"), rows, align="l")


def gate(comparison: Comparison, rules: str | Iterable[str], *, each_segment: bool = False) -> GateResult:
    """Check a comparison against rules that a release must pass.

    ``"ndcg@10 > -0.005"`` passes only if the *whole interval* of the difference to the baseline
    lies above -0.005. Then the model is not worse by that margin on other queries either
    (non-inferiority). The interval is that of the comparison. With little data it is wide, and the
    rule fails. ``<`` requires the whole interval below the number, for a metric where less is
    better, such as the mean of a price.

    ``"share(ndcg@10 < -0.1) < 0.05"`` passes if fewer than 5% of the queries have a difference
    below -0.1. You may also write ``5%``. In a weighted comparison it is their share of the weight.
    It is the share among these queries, without an interval. Queries that the metric leaves out do
    not count.

    A gate does not cover losses that none of these queries has. With n queries, a loss in fewer
    than 3 in n of all queries is likely to be missed. The documentation of comparisons has measured
    rates of false passes.

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
        no segments.

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
    parts: list[tuple[str | None, Comparison]] = [(None, comparison)]
    if each_segment:
        parts += _segments(comparison)
    return GateResult(
        tuple(
            _check(rule, metrics[rule], model, segment, part)
            for segment, part in parts
            for rule in parsed
            for model in ([rule.model] if rule.model is not None else comparison.models)
        )
    )


def min_queries(confidence: float) -> int:
    """Return the smallest number of queries, or clusters, for an interval at this confidence level.

    With fewer, all of them differ in the same direction by chance with a probability above
    1 - confidence.
    """
    return 1 + math.ceil(-math.log2(1 - confidence) - 1e-9)


def _segments(comparison: Comparison) -> list[tuple[str | None, Comparison]]:
    segments = comparison.segments()
    if not segments:
        raise LtrValueError("each_segment needs segments, and the comparison has none: compare with by=.")
    return [(segment_title(name, label), part) for name, label, part in segments]


def _metric(rule: Rule, comparison: Comparison) -> str:
    """Return the canonical name of a rule's metric."""
    try:
        return name_in(comparison.evaluations[comparison.baseline], rule.metric)
    except LtrKeyError as error:
        raise LtrKeyError(f"The rule {rule.text!r} cannot be checked: {error} Add it to the metrics.") from None


def _check(rule: Rule, metric: str, model: str, segment: str | None, part: Comparison) -> Check:
    row = part[metric, model]
    if math.isnan(row.ci_low) or _is_too_small(row.n_effective, part):
        value, reason = math.nan, f"the sample is too small, {row.sample_size}: {_requirement(part)}"
    elif rule.share_of is None:
        value, reason = _check_interval(rule.limit, row, part)
    else:
        value, reason = _check_share(rule.limit, rule.share_of, part.differences(metric, model), part.weight)
    return Check(rule.text, model, segment, value, rule.limit.number, bool(rule.limit.holds(value)), reason)


def _is_too_small(n_effective: float, part: Comparison) -> bool:
    return n_effective <= min_queries(part.settings.confidence) - 1e-9  # the effective number is rounded


def _requirement(part: Comparison) -> str:
    units = "queries" if part.cluster is None else "clusters"
    return f"a {_level(part)} interval needs at least {min_queries(part.settings.confidence)} {units}."


def _level(part: Comparison) -> str:
    return f"{100 * part.settings.confidence:g}%"


def _check_interval(limit: Limit, row: Difference, part: Comparison) -> tuple[float, str]:
    """Return the end of the interval that is nearer to failing, or NaN if too few queries differ.

    The interval is that of the comparison. It says little by itself if few queries differ from the
    margin. For example, if five of a hundred queries gain and the others stay as they are, the
    interval is above 0, although all five of five gain by chance once in 32 times.
    """
    from_limit = difference_of(part.differences(row.metric, row.model), limit.number)
    sample = part.sample(from_limit[:, np.newaxis], part.weight)
    n_effective = _effective_number(sample.relative_weight[sample.is_counted & (sample.value != 0)])
    if _is_too_small(n_effective, part):
        return math.nan, (
            f"too few of {row.sample_size} have a difference other than {limit.number:g}, an effective number of "
            f"{n_effective:.3g}: {_requirement(part)}"
        )
    end, value = ("lower", row.ci_low) if limit.sign.startswith(">") else ("upper", row.ci_high)
    verdict = f"all of it is {limit}" if limit.holds(value) else f"its {end} end is not {limit}"
    return value, (
        f"the difference is {row.difference:+.6f}, its {_level(part)} interval from {row.ci_low:+.6f} to "
        f"{row.ci_high:+.6f} ({INTERVALS[part.settings.interval]}) over {row.sample_size}; {verdict}."
    )


def _effective_number(weight: FloatArray) -> float:
    """Return the effective number of units of equal weight (Kish)."""
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) else 0.0


def _check_share(limit: Limit, bound: Limit, difference: FloatArray, weight: FloatArray | None) -> tuple[float, str]:
    """Return the share, or weighted share, of the queries whose difference is beyond a bound."""
    is_defined = ~np.isnan(difference)
    weights = is_defined.astype(np.float64) if weight is None else np.where(is_defined, weight, 0.0)
    is_equal = difference_of(difference, bound.number) == 0
    is_beyond = is_defined & bound.holds(np.where(is_equal, bound.number, difference))
    share = float(weights[is_beyond].sum() / weights.sum())
    n_queries = int(is_defined.sum())
    queries = f"{n_queries:,} {'query' if n_queries == 1 else 'queries'}"
    by_weight = "" if weight is None else " by weight"
    is_kept = "" if limit.holds(share) else "not "
    return share, (
        f"{int(is_beyond.sum()):,} of {queries}, {100 * share:.4g}%{by_weight}, have a difference {bound}; that is "
        f"{is_kept}{limit.word} {100 * limit.number:g}%."
    )
