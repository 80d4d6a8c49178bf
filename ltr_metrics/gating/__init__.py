"""A gate for releases that knows noise: rules that a comparison passes or fails."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics.comparison import Comparison, Difference
from ltr_metrics.conventions import CONVENTIONS, resolve
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.gating.rules import Limit, Rule, read_rules
from ltr_metrics.inputs import FloatArray
from ltr_metrics.plain import none_if_nan

SAME = 1e-12  # differences from the margin that are nothing but rounding

__all__ = ["Check", "GateResult", "fewest_queries", "gate", "read_rules"]


@dataclass(frozen=True)
class Check:
    """One rule, applied to one model, over all queries or in one segment.

    Attributes
    ----------
    rule, model : str
    segment : str or None
        None over all queries.
    value : float
        What was compared with the limit: an end of the interval, or a share; NaN if there is none.
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

    def __str__(self) -> str:
        where = "" if self.segment is None else f", {self.segment}"
        return f"{'PASS' if self.passed else 'FAIL'}  {self.model}{where}: {self.rule}: {self.reason}"


@dataclass(frozen=True)
class GateResult:
    """What a gate says; it is true if the gate is passed.

    Attributes
    ----------
    checks : tuple of Check
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None."""
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    def __str__(self) -> str:
        """Return a line a check."""
        return "\n".join(map(str, self.checks))


def gate(comparison: Comparison, rules: str | Iterable[str], *, each_segment: bool = False) -> GateResult:
    """Hold a comparison against rules, as a release has to pass them.

    ``"ndcg@10 > -0.005"`` passes only if the *whole interval* of the difference to the baseline lies above -0.005: the model is not
    worse by as much, even if the queries were others (non-inferiority). With little data the interval is wide, and the gate stays
    shut. ``<`` wants the whole interval below, for a metric of which less is better, such as the mean of a price.

    ``"share(ndcg@10 < -0.1) < 0.05"`` passes if the share of queries whose difference is below -0.1 is below 0.05 (``5%`` may be
    written, too); in a weighted comparison it is their share of the weight. It is the share of these very queries, without an
    interval. Queries that the metric leaves out do not count.

    Parameters
    ----------
    comparison : Comparison
        Of `ltr_metrics.compare`; its ``confidence`` is that of the (two-sided) intervals.
    rules : str or several of them
        Signs: ``>``, ``>=``, ``<``, ``<=``. Each rule is for all models, or with ``"new: "`` before it for the model ``new``. All
        have to pass, so there is no correction for their number.
    each_segment : bool, default False
        Whether each rule must pass in each segment of ``comparison.by`` as well.

    Returns
    -------
    GateResult
        ``passed``, and ``checks`` with value, limit and reason. What cannot be told fails, such as an interval over very few
        queries, or very few that differ at all: all of n go one way by mere chance once in 2 ** (n - 1) times, so that 95% take six
        (clusters, where there are some; with weights, as many as the weighted ones are worth).

    Raises
    ------
    LtrValueError, LtrKeyError, LtrTypeError
        If a rule cannot be read, its metric was not evaluated, there is no such model, or there are no segments.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.gating import gate
    >>> X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> result = gate(comparison, ["ndcg@10 > -0.05", "share(map < -0.9) < 5%"])
    >>> result.passed
    True
    >>> gate(comparison, "map > 0.5").checks[0].passed
    False
    """
    read = read_rules(rules, comparison.models)
    metric_of = {rule: _metric(rule, comparison) for rule in read}
    parts: list[tuple[str | None, Comparison]] = [(None, comparison)]
    if each_segment:
        parts += _segments(comparison)
    return GateResult(
        tuple(
            _check(rule, metric_of[rule], model, segment, part)
            for segment, part in parts
            for rule in read
            for model in ([rule.model] if rule.model is not None else comparison.models)
        )
    )


def fewest_queries(confidence: float) -> int:
    """Return how many queries an interval needs: with fewer, all go one way by mere chance more often than it may be wrong."""
    return 1 + math.ceil(-math.log2(1 - confidence) - 1e-9)


def _segments(comparison: Comparison) -> list[tuple[str | None, Comparison]]:
    found = comparison.segments()
    if not found:
        raise LtrValueError("each_segment needs segments, and the comparison has none: compare with by=.")
    return [(str(label) if name is None else f"{name}={label}", part) for name, label, part in found]


def _metric(rule: Rule, comparison: Comparison) -> str:
    """Return the canonical name of a rule's metric."""
    result = comparison.evaluations[comparison.baseline]
    evaluated, convention = result.per_query, result.policy.convention
    if rule.metric in evaluated:
        return evaluated.canonical(rule.metric)
    try:  # beside saved results there are complete names alone, not those that were asked for
        name = str(resolve(rule.metric, convention=convention if convention in CONVENTIONS else None).metrics[0])
    except LtrValueError as error:
        raise LtrValueError(f"The rule {rule.text!r} names no metric that there is: {error}") from None
    if name in evaluated:
        return name
    raise LtrKeyError(
        f"The rule {rule.text!r} is about {rule.metric}, which was not evaluated.{did_you_mean(rule.metric, evaluated)} Evaluated: "
        f"{', '.join(evaluated)}. Name it among the metrics, too."
    )


# -- one check ------------------------------------------------------------------------------------------------------------


def _check(rule: Rule, metric: str, model: str, segment: str | None, part: Comparison) -> Check:
    if rule.share_of is None:
        n_beside = int(np.count_nonzero(np.abs(part.differences(metric, model) - rule.limit.number) > SAME))
        value, reason = _difference(rule.limit, part[metric, model], part.settings.confidence, n_beside)
    else:
        value, reason = _share(rule.limit, rule.share_of, part.differences(metric, model), part.weight)
    return Check(rule.text, model, segment, value, rule.limit.number, bool(rule.limit.holds(value)), reason)


def _difference(limit: Limit, row: Difference, confidence: float, n_beside: int) -> tuple[float, str]:
    """Return the end of the interval that is nearer to failing; NaN where there are too few queries for one.

    The bootstrap relies on those whose difference is not the margin itself, ``n_beside``: where three of a hundred queries differ, and
    all three gain, its interval is above 0, which they do by chance once in eight times.
    """
    end, value = ("lower", row.ci_low) if limit.sign.startswith(">") else ("upper", row.ci_high)
    over, level, needed = f"over {_queries(row.n_queries)}", f"{100 * confidence:g}%", fewest_queries(confidence)
    if math.isnan(value) or not row.n_effective > needed - 1e-9:  # Kish's number of equal weights is rounded
        alike = "" if row.n_effective == row.n_queries else f", which tell as much as {row.n_effective:.3g}"
        return math.nan, f"there is no interval to rely on {over}{alike}: at {level} it takes {needed}."
    if n_beside < needed:
        return (
            math.nan,
            f"{n_beside} of {_queries(row.n_queries)} have a difference other than {limit.number:g}: at {level} it takes {needed}.",
        )
    found = f"the difference is {row.difference:+.6f}, its {level} interval from {row.ci_low:+.6f} to {row.ci_high:+.6f} {over}"
    return value, f"{found}; all of it is {limit}." if limit.holds(value) else f"{found}; its {end} end is not {limit}."


def _share(limit: Limit, of: Limit, difference: FloatArray, weight: FloatArray | None) -> tuple[float, str]:
    """Return the share of the queries whose difference is beyond a number, or their share of the weight."""
    both = ~np.isnan(difference)
    counted = both.astype(np.float64) if weight is None else np.where(both, weight, 0.0)
    total = float(counted.sum())
    if total == 0:
        what = "weight above 0 and a " * bool(both.any()) + "value for both models"
        return math.nan, f"there is no share, for no query has a {what}."
    beyond = both & of.holds(difference)
    value = float(counted[beyond].sum() / total)
    whose = "" if weight is None else " by weight"
    is_kept = "" if limit.holds(value) else "not "
    return value, (
        f"{int(beyond.sum()):,} of {_queries(int(both.sum()))}, {value:.4%}{whose}, have a difference {of}; that is {is_kept}"
        f"{limit.word} {limit.number:.4%}."
    )


def _queries(number: int) -> str:
    return f"{number:,} {'query' if number == 1 else 'queries'}"
