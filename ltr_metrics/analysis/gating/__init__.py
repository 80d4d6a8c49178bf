"""A gate for releases that knows noise: rules that a comparison passes or fails."""

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

__all__ = ["Check", "GateResult", "fewest_queries", "gate", "read_rules"]


@dataclass(frozen=True)
class Check(Printed):
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

    def printed_parts(self) -> list[Table]:
        return [_table_of((self,))]

    def __str__(self) -> str:
        """Return a line."""
        where = "" if self.segment is None else f", {self.segment}"
        return one_line(f"{'PASS' if self.passed else 'FAIL'}  {self.model}{where}: {self.rule}: {self.reason}")


@dataclass(frozen=True)
class GateResult(Printed):
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
    """Hold a comparison against rules, as a release has to pass them.

    ``"ndcg@10 > -0.005"`` passes only if the *whole interval* of the difference to the baseline lies
    above -0.005: the model is not worse by as much, even if the queries were others (non-inferiority).
    The interval is the one that the comparison shows. With little data it is wide, and the gate stays
    shut. ``<`` wants the whole interval below, for a metric of which less is better, such as the mean
    of a price.

    ``"share(ndcg@10 < -0.1) < 0.05"`` passes if the share of queries whose difference is below -0.1 is below 0.05 (``5%`` may be
    written, too); in a weighted comparison it is their share of the weight. It is the share of these very queries, without an
    interval. Queries that the metric leaves out do not count.

    What none of these queries shows is not covered: of n queries, a loss that happens to fewer than
    3 in n is likely not seen. `docs/comparison.md` has measured rates of false passes.

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
    >>> from ltr_metrics.analysis.gating import gate
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
    return [(segment_title(name, label), part) for name, label, part in found]


def _metric(rule: Rule, comparison: Comparison) -> str:
    """Return the canonical name of a rule's metric."""
    try:
        return name_in(comparison.evaluations[comparison.baseline], rule.metric)
    except LtrKeyError as error:
        raise LtrKeyError(
            f"The rule {rule.text!r} cannot be answered: {error} Name it among the metrics, too."
        ) from None


# -- one check ------------------------------------------------------------------------------------------------------------


def _check(rule: Rule, metric: str, model: str, segment: str | None, part: Comparison) -> Check:
    row, difference = part[metric, model], part.differences(metric, model)
    value, reason = math.nan, _too_few(row, part)
    if not reason and rule.share_of is None:
        value, reason = _difference(rule.limit, row, part)
    elif not reason and rule.share_of is not None:
        value, reason = _share(rule.limit, rule.share_of, difference, part.weight)
    return Check(rule.text, model, segment, value, rule.limit.number, bool(rule.limit.holds(value)), reason)


def _too_few(row: Difference, part: Comparison) -> str:
    """Return why these queries, or clusters, are too few to tell anything, or nothing."""
    if not math.isnan(row.ci_low) and not _is_few(row.n_effective, part):
        return ""
    return f"there is nothing to rely on over {row.sample_size}: {_it_takes(part)}"


def _is_few(n_effective: float, part: Comparison) -> bool:
    return n_effective <= fewest_queries(part.settings.confidence) - 1e-9  # Kish's number of equal weights is rounded


def _it_takes(part: Comparison) -> str:
    units = "" if part.cluster is None else " clusters"
    return f"at {_level(part)} it takes {fewest_queries(part.settings.confidence)}{units}."


def _level(part: Comparison) -> str:
    return f"{100 * part.settings.confidence:g}%"


def _difference(limit: Limit, row: Difference, part: Comparison) -> tuple[float, str]:
    """Return the end of the interval that is nearer to failing, or NaN if too few queries differ.

    The interval is that of the comparison. Alone it says little where few queries differ from the
    margin: if five of a hundred queries gain and the others stay as they are, the interval is above
    0, although five of five gain by mere chance once in 32 times.
    """
    beside = difference_of(part.differences(row.metric, row.model), limit.number)
    sample = part.sample(beside[:, np.newaxis], part.weight)
    worth = _worth(sample.share[sample.counts & (sample.value != 0)])
    if _is_few(worth, part):
        differ = f"those with a difference other than {limit.number:g} are worth {worth:.3g}"
        return math.nan, f"of {row.sample_size}{',' * (',' in row.sample_size)} {differ}: {_it_takes(part)}"
    end, value = ("lower", row.ci_low) if limit.sign.startswith(">") else ("upper", row.ci_high)
    found = (
        f"the difference is {row.difference:+.6f}, its {_level(part)} interval from {row.ci_low:+.6f} to "
        f"{row.ci_high:+.6f} ({INTERVALS[part.settings.interval]}) over {row.sample_size}"
    )
    return value, f"{found}; all of it is {limit}." if limit.holds(value) else f"{found}; its {end} end is not {limit}."


def _worth(weight: FloatArray) -> float:
    """Return how many units of equal weight are as good (Kish)."""
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) else 0.0


def _share(limit: Limit, of: Limit, difference: FloatArray, weight: FloatArray | None) -> tuple[float, str]:
    """Return the share of the queries whose difference is beyond a number, or their share of the weight."""
    both = ~np.isnan(difference)
    counted = both.astype(np.float64) if weight is None else np.where(both, weight, 0.0)
    at_the_number = difference_of(difference, of.number) == 0
    beyond = both & of.holds(np.where(at_the_number, of.number, difference))
    value = float(counted[beyond].sum() / counted.sum())
    whose = "" if weight is None else " by weight"
    is_kept = "" if limit.holds(value) else "not "
    return value, (
        f"{int(beyond.sum()):,} of {_queries(int(both.sum()))}, {100 * value:.4g}%{whose}, have a difference {of}; that is {is_kept}"
        f"{limit.word} {100 * limit.number:g}%."
    )


def _queries(number: int) -> str:
    return f"{number:,} {'query' if number == 1 else 'queries'}"
