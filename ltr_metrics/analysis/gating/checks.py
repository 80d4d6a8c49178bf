"""How a rule is checked: intervals of a difference or a mean, and shares of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics.analysis.comparison import Comparison, Difference
from ltr_metrics.analysis.comparison.table import INTERVALS
from ltr_metrics.analysis.gating.result import Check
from ltr_metrics.analysis.gating.rules import Limit, Rule
from ltr_metrics.analysis.inference import Sample, intervals


def min_queries(confidence: float) -> int:
    """Return the smallest number of queries, or clusters, for an interval at this confidence level.

    With fewer, all of them differ in the same direction by chance with a probability above
    1 - confidence.
    """
    return 1 + math.ceil(-math.log2(1 - confidence) - 1e-9)


def check_rule(rule: Rule, metric: str, model: str, segment: str | None, part: Comparison) -> Check:
    """Check a rule for one model, over all queries or in one segment."""
    row = part[metric, model]
    if math.isnan(row.ci_low) or _is_too_small(row.n_effective, part):
        value, reason = math.nan, f"the sample is too small, {row.sample_size}: {_requirement(part)}"
    elif rule.share_of is not None:
        value, reason = _check_share(rule.limit, rule.share_of, part.differences(metric, model), part.weight)
    elif rule.of_mean:
        value, reason = _check_mean(rule.limit, row, part)
    elif rule.limit.is_relative:
        value, reason = _check_relative(rule.limit, row, part)
    else:
        value, reason = _check_difference(rule.limit, row, part)
    return Check(rule.text, model, segment, value, rule.limit.number, bool(rule.limit.holds(value)), reason)


def _is_too_small(n_effective: float, part: Comparison) -> bool:
    return n_effective <= min_queries(part.settings.confidence) - 1e-9  # the effective number is rounded


def _requirement(part: Comparison) -> str:
    units = "queries" if part.cluster is None else "clusters"
    return f"a {_level(part)} interval needs at least {min_queries(part.settings.confidence)} {units}."


def _level(part: Comparison) -> str:
    return f"{100 * part.settings.confidence:g}%"


def _check_difference(limit: Limit, row: Difference, part: Comparison) -> tuple[float, str]:
    """Return the end of the comparison's interval that is nearer to failing, or NaN if too few queries differ."""
    sample = _sample_from(part, difference_of(part.differences(row.metric, row.model), limit.number))
    too_few = _too_few(sample, f"a difference other than {limit.number:g}", row, part)
    if too_few:
        return math.nan, too_few
    texts = [f"{number:+.6f}" for number in (row.difference, row.ci_low, row.ci_high)]
    return _verdict(limit, "the difference", texts, (row.ci_low, row.ci_high), row, part)


def _check_relative(limit: Limit, row: Difference, part: Comparison) -> tuple[float, str]:
    """Return the nearer end of an interval of the difference in units of the baseline's mean.

    With L the limit, the rule d > L b for the mean difference d and the baseline's mean b is the rule
    that the mean of (model - baseline - L baseline) is above 0. The interval is that of this mean,
    so the uncertainty of b counts as well.
    """
    if not row.baseline_mean > 0:
        return math.nan, f"the baseline's mean is {row.baseline_mean:g}, and a share of it needs one above 0."
    baseline = part.evaluations[part.baseline].per_query[row.metric]
    sample = _sample_from(part, difference_of(part.differences(row.metric, row.model), limit.number * baseline))
    too_few = _too_few(sample, f"a difference other than {100 * limit.number:g}%", row, part)
    if too_few:
        return math.nan, too_few
    low, high = (limit.number + end / row.baseline_mean for end in _interval(sample, part))
    texts = [f"{100 * number:+.4f}%" for number in (row.difference / row.baseline_mean, low, high)]
    return _verdict(limit, "the difference", texts, (low, high), row, part)


def _check_mean(limit: Limit, row: Difference, part: Comparison) -> tuple[float, str]:
    """Return the nearer end of an interval of the model's own mean."""
    is_compared = ~np.isnan(part.differences(row.metric, row.model))
    values = np.where(is_compared, part.evaluations[row.model].per_query[row.metric], np.nan)
    too_few = _too_few(
        _sample_from(part, difference_of(values, limit.number)), f"a value other than {limit.number:g}", row, part
    )
    if too_few:
        return math.nan, too_few
    low, high = _interval(_sample_from(part, values), part)
    texts = [f"{number:.6f}" for number in (row.mean, low, high)]
    return _verdict(limit, "the mean", texts, (low, high), row, part)


def _sample_from(part: Comparison, values: FloatArray) -> Sample:
    return part.sample(values[:, np.newaxis], part.weight)


def _interval(sample: Sample, part: Comparison) -> tuple[float, float]:
    """Return the interval of a mean, by the settings of the comparison."""
    settings = part.settings
    low, high = intervals(sample, settings.interval, settings.confidence, settings.n_resamples, settings.seed)
    return float(low[0]), float(high[0])


def _too_few(from_limit: Sample, what: str, row: Difference, part: Comparison) -> str:
    """Return why too few queries are away from the limit; empty if they are enough.

    An interval says little by itself then. For example, if five of a hundred queries gain and the
    others stay as they are, the interval of the difference is above 0, although all five of five
    gain by chance once in 32 times.
    """
    n_effective = float(from_limit.n_effective_of(from_limit.value != 0)[0])
    if not _is_too_small(n_effective, part):
        return ""
    return f"too few of {row.sample_size} have {what}, an effective number of {n_effective:.3g}: {_requirement(part)}"


def _verdict(
    limit: Limit, what: str, texts: Sequence[str], ends: tuple[float, float], row: Difference, part: Comparison
) -> tuple[float, str]:
    """Return the end of an interval that is nearer to failing, and the reason in words."""
    end, value = ("lower", ends[0]) if limit.sign.startswith(">") else ("upper", ends[1])
    verdict = f"all of it is {limit}" if limit.holds(value) else f"its {end} end is not {limit}"
    return value, (
        f"{what} is {texts[0]}, its {_level(part)} interval from {texts[1]} to {texts[2]} "
        f"({INTERVALS[part.settings.interval]}) over {row.sample_size}; {verdict}."
    )


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
