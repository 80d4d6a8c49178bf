"""The gate: rules are read or refused; a difference that only looks good does not pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics.analysis.gate import gate, min_queries, read_rules
from ltr_metrics.analysis.settings import INTERVALS
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Policy

NDCG, MAP = "ndcg_exp@10", "map(rel=>0.5)@10"


def result(values: dict[str, Any], *, weight: Any = None, segments: Any = None) -> Evaluation:
    """An evaluation with these very values, one per query."""
    n = len(next(iter(values.values())))
    return Evaluation.of(
        {metric: np.asarray(of_query, dtype=float) for metric, of_query in values.items()},
        {"ndcg@10": NDCG},
        qid=np.arange(n),
        n_documents=np.full(n, 10),
        n_relevant=np.full(n, 2),
        weight=None if weight is None else np.asarray(weight, dtype=float),
        policy=Policy("mean", "skip", "default"),
        segments=segments or {},
    )


def compared(differences: dict[str, Any], *, weight: Any = None, by: Any = None, **options: Any) -> ltr.Comparison:
    """A comparison in which each model differs from the baseline by these numbers, in two metrics."""
    n = len(next(iter(differences.values())))
    base = np.full(n, 0.5)
    segments = {} if by is None else {"device": (sorted(set(by)), np.array([sorted(set(by)).index(one) for one in by]))}
    models = {"base": result({NDCG: base, MAP: base}, weight=weight, segments=segments)}
    for name, difference in differences.items():
        values = base + np.asarray(difference, dtype=float)
        models[name] = result({NDCG: values, MAP: values}, weight=weight)
    return ltr.compare(models, **{"n_resamples": 500, "correction": "none", **options})


@pytest.fixture(scope="module")
def noisy() -> ltr.Comparison:
    rng = np.random.default_rng(3)
    return compared({"new": rng.normal(0.01, 0.1, 80), "other": rng.normal(-0.2, 0.1, 80)})


def test_the_whole_interval_counts_and_not_the_difference(noisy: ltr.Comparison) -> None:
    row = noisy["ndcg@10", "new"]
    assert row.ci_low < 0 < row.difference
    just_below, just_above = (np.nextafter(row.ci_low, towards) for towards in (-1, 1))
    verdicts = {
        f"new: ndcg@10 > {float(just_below)!r}": True,
        f"new: ndcg@10 > {row.ci_low!r}": False,
        f"new: ndcg@10 >= {row.ci_low!r}": True,
        f"new: ndcg@10 >= {float(just_above)!r}": False,
        f"new: ndcg@10 < {float(np.nextafter(row.ci_high, 1))!r}": True,
        f"new: ndcg@10 < {row.ci_high!r}": False,
        f"new: ndcg@10 <= {row.ci_high!r}": True,
        "new: ndcg@10 > 0": False,  # although the difference is above it
    }
    for rule, passes in verdicts.items():
        (check,) = gate(noisy, rule).checks
        assert check.passed is passes, rule
        assert check.value == (row.ci_low if ">" in rule else row.ci_high)


def test_a_few_queries_that_differ_among_many_that_do_not_show_nothing() -> None:
    """The bootstrap's interval lies above 0 as soon as three of 70 queries gain, and none loses."""
    few, enough = np.zeros(70), np.zeros(70)
    few[:5], enough[:9] = 0.5, 0.5
    assert compared({"new": few})["ndcg@10", "new"].ci_low > 0
    (check,) = gate(compared({"new": few}), "ndcg@10 > 0").checks
    assert not check.passed
    assert "too few of 70 queries have a difference other than 0, an effective number of 5" in check.reason
    assert gate(compared({"new": few}), "ndcg@10 > -0.01").passed  # of which all 70 differ
    assert gate(compared({"new": enough}), "ndcg@10 > 0").passed


def test_every_model_has_to_pass_unless_one_is_named(noisy: ltr.Comparison) -> None:
    both = gate(noisy, "ndcg@10 > -0.05")
    assert json.loads(json.dumps(both.to_dict(), allow_nan=False))["passed"] is False
    assert [(check.model, check.passed) for check in both.checks] == [("new", True), ("other", False)]
    assert not both.passed
    assert not both  # a result that is always true would open every gate that is asked `if gate(...)`
    alone = gate(noisy, "new: ndcg@10 > -0.05")
    assert [check.model for check in alone.checks] == ["new"]
    assert alone.passed
    assert alone
    rules = gate(noisy, ["new: ndcg_exp@10 > -0.05", "new: ndcg@10 > 0.05"])  # the complete name, and as asked
    assert [check.passed for check in rules.checks] == [True, False]
    assert not rules


def test_the_share_is_that_of_a_slow_count() -> None:
    rng = np.random.default_rng(2)
    differences = rng.choice([-0.3, -0.05, 0.0, 0.2, np.nan], size=50)
    weight = rng.integers(0, 5, size=50)
    plain, weighted = compared({"new": differences}), compared({"new": differences}, weight=weight)
    lost = sum(one < -0.1 for one in differences)
    counted = sum(not np.isnan(one) for one in differences)
    assert 0 < lost < counted < 50
    for limit, passes in {float(lost / counted) + 1e-9: True, float(lost / counted): False}.items():
        (check,) = gate(plain, f"share(ndcg@10 < -0.1) < {limit!r}").checks
        assert (check.value, check.passed) == (lost / counted, passes)
    heavy = sum(w for w, one in zip(weight, differences, strict=True) if one < -0.1)
    total = sum(w for w, one in zip(weight, differences, strict=True) if not np.isnan(one))
    (check,) = gate(weighted, "share(ndcg@10 < -0.1) < 1").checks
    assert check.value == pytest.approx(heavy / total, rel=1e-12)


def test_a_share_counts_what_is_at_the_number_as_at_the_number() -> None:
    """.9 - .7 and .3 - .1 are not the same float64."""
    base = np.repeat([0.9, 0.7, 0.5, 0.8, 0.3], 10)
    same = {name: result({NDCG: values}) for name, values in (("base", base), ("new", base - 0.2))}
    checks = gate(ltr.compare(same), ["share(ndcg@10 < -0.2) < 5%", "share(ndcg@10 <= -0.2) < 5%"]).checks
    assert [(check.value, check.passed) for check in checks] == [(0, True), (1, False)]


def test_a_share_shows_nothing_about_other_queries() -> None:
    """The figures of docs/comparison.md: how often a share of 5 % is below 5 % in a sample."""

    def passes(n: int, n_lost: int, rule: str = "share(ndcg@10 < -0.1) < 5%") -> bool:
        return gate(compared({"new": np.where(np.arange(n) < n_lost, -0.32, 0.01)}), rule).passed

    sizes, rates = (10, 20, 50, 100, 300), []
    for n in sizes:
        n_lost = max(k for k in range(n // 10) if passes(n, k))
        rates.append(f"{100 * stats.binom.cdf(n_lost, n, 0.05):.0f}")
    text = " ".join((Path(__file__).parents[2] / "docs" / "comparison.md").read_text(encoding="utf-8").split())
    assert f"in {', '.join(rates[:-1])} and {rates[-1]} % of all samples of {', '.join(map(str, sizes[:-1]))}" in text
    assert stats.binom.cdf(0, 72, 0.05) < 0.025 < stats.binom.cdf(0, 71, 0.05)
    assert "at least 72 queries" in text
    assert f"{0.97**10:.0%} and {0.97**30:.0%}".replace("%", " %") == "74 % and 40 %"
    assert "74 % of all samples of 10 queries and 40 % of those of 30 have no such loss" in text
    assert passes(10, 0, "ndcg@10 > 0")
    assert passes(30, 0, "ndcg@10 > 0")


def test_clusters_are_counted_and_not_their_queries() -> None:
    cluster = np.repeat(np.arange(100), 10)
    assert not gate(compared({"new": np.where(cluster < 3, 0.3, 0.0)}, cluster=cluster), "ndcg@10 > 0").passed
    assert gate(compared({"new": np.where(cluster < 12, 0.3, 0.0)}, cluster=cluster), "ndcg@10 > 0").passed
    weight = np.repeat([1.0, 0.0], 100)
    of_no_weight = np.where((np.arange(200) < 3) | (weight == 0), 0.3, 0.0)
    assert not gate(compared({"new": of_no_weight}, weight=weight), "ndcg@10 > 0").passed


# --- one interval, one count -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gate_uses_the_interval_that_the_comparison_shows(weighted: bool, interval: str) -> None:
    rng = np.random.default_rng(0)
    weight, by = rng.random(31) + 0.5 if weighted else None, ["phone"] * 21 + ["desk"] * 10
    comparison = compared({"new": rng.normal(size=31)}, by=by, interval=interval, weight=weight)
    rules = ["ndcg@10 > -9", "ndcg@10 < 9"]
    for part, checks in (
        (comparison, gate(comparison, rules).checks),
        (comparison.by["device"]["desk"], gate(comparison, rules, each_segment=True).checks[2:4]),
    ):
        row = part["ndcg@10", "new"]
        assert [check.value for check in checks] == [row.ci_low, row.ci_high]
        for check in checks:
            shown = f"its 95% interval from {row.ci_low:+.6f} to {row.ci_high:+.6f} ({INTERVALS[interval]})"
            assert f"{shown} over {row.sample_size}; all of it is" in check.reason


@pytest.mark.parametrize(
    "rule", ["ndcg@10 > -1", "ndcg@10 < 1", "share(ndcg@10 < -0.1) < 1", "share(ndcg@10 < 9) >= 0"]
)
def test_nan_never_passes(rule: str) -> None:
    (check,) = gate(compared({"new": [np.nan, np.nan, np.nan]}), rule).checks
    assert not check.passed
    assert np.isnan(check.value)
    assert check.to_dict()["value"] is None
    assert "the sample is too small, 0 queries" in check.reason
    weightless = compared({"new": [0.1] * 8 + [np.nan]}, weight=[0] * 8 + [1])
    assert not gate(weightless, rule).checks[0].passed


@pytest.mark.parametrize(("confidence", "needed"), [(0.75, 3), (0.95, 6), (0.99, 8)])
def test_too_few_queries_for_an_interval_fail_and_say_so(confidence: float, needed: int) -> None:
    """The values of n queries are all above their true median with probability 2 ** -n, and so are they all below."""
    assert min_queries(confidence) == needed == next(n for n in range(1, 99) if 2 * 0.5**n <= 1 - confidence + 1e-12)
    few, enough = (compared({"new": np.full(n, 0.1)}, confidence=confidence) for n in (needed - 1, needed))
    (check,) = gate(few, "ndcg@10 > -0.5").checks
    assert not check.passed
    assert f"too small, {needed - 1} queries: a {100 * confidence:g}% interval needs at least {needed}" in check.reason
    assert gate(enough, "ndcg@10 > -0.5").passed


def test_each_segment_has_to_pass() -> None:
    by = ["desk"] * 40 + ["phone"] * 20 + ["tv"]
    differences = [0.1] * 40 + [-0.01] * 20 + [0.3]
    split = compared({"new": differences}, by=by)
    assert gate(split, "ndcg@10 > 0").passed
    each = gate(split, "ndcg@10 > 0", each_segment=True)
    assert not each.passed
    assert [(check.segment, check.passed) for check in each.checks] == [
        (None, True),
        ("device=desk", True),
        ("device=phone", False),
        ("device=tv", False),
    ]
    assert each.checks[2].value == pytest.approx(-0.01)
    assert "too small, 1 query:" in each.checks[3].reason
    with pytest.raises(ltr.LtrValueError, match="compare with by="):
        gate(compared({"new": differences}), "ndcg@10 > 0", each_segment=True)


def varied(weight: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray, ltr.Comparison]:
    """A baseline and a model whose values vary from query to query, a few of them undefined."""
    rng = np.random.default_rng(8)
    base = rng.beta(4, 3, 120)
    new = np.clip(base + rng.normal(0.01, 0.03, 120), 0, 1)
    base[3] = new[5] = np.nan
    models = {"base": result({NDCG: base}, weight=weight), "new": result({NDCG: new}, weight=weight)}
    return base, new, ltr.compare(models, interval="t", **options)


def test_a_margin_in_percent_is_of_the_baselines_uncertain_mean() -> None:
    base, new, comparison = varied()
    both = ~np.isnan(base + new)
    for percent in (-3, -0.5, 0, 1, 2.5):
        relative = new[both] - base[both] * (1 + percent / 100)
        low, high = stats.t.interval(0.95, both.sum() - 1, relative.mean(), stats.sem(relative))
        (above, below) = (gate(comparison, f"ndcg@10 {sign} {percent}%").checks[0] for sign in "><")
        assert above.passed == (low > 0)
        assert below.passed == (high < 0)
        assert above.value == pytest.approx(percent / 100 + low / base[both].mean(), rel=1e-9)
        assert below.value == pytest.approx(percent / 100 + high / base[both].mean(), rel=1e-9)
        assert above.limit == percent / 100
    assert "% of the baseline's mean" in above.reason


def test_a_floor_is_for_the_whole_interval_of_the_mean() -> None:
    base, new, comparison = varied()
    values = new[~np.isnan(base + new)]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    for limit, passes in ((low - 1e-6, True), (low + 1e-6, False), (values.mean(), False)):
        (check,) = gate(comparison, f"mean(ndcg@10) > {limit:.9f}").checks
        assert check.passed is passes
        assert check.value == pytest.approx(low, rel=1e-9)
    (check,) = gate(comparison, f"mean(ndcg@10) < {high + 1e-6:.9f}").checks
    assert check.passed
    assert check.reason.startswith(f"the mean is {values.mean():.6f}, its 95% interval from {low:.6f} to {high:.6f}")


def test_what_has_too_little_data_for_a_percentage_or_a_floor() -> None:
    nothing = {"base": result({NDCG: np.zeros(20)}), "new": result({NDCG: np.full(20, 0.1)})}
    (check,) = gate(ltr.compare(nothing), "ndcg@10 > -1%").checks
    assert not check.passed
    assert "the baseline's mean is 0" in check.reason
    same = {"base": result({NDCG: np.full(20, 0.4)}), "new": result({NDCG: np.full(20, 0.4)})}
    (check,) = gate(ltr.compare(same), "mean(ndcg@10) >= 0.4").checks
    assert not check.passed
    assert "too few of 20 queries have a value other than 0.4" in check.reason
    (check,) = gate(ltr.compare(same), "mean(ndcg@10) > 0.3").checks
    assert check.passed


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        ("map(rel=>0.5)@10 > -0.01", (None, "map(rel=>0.5)@10", ">", -0.01, None)),
        ("map(rel=>=1)>=.5", (None, "map(rel=>=1)", ">=", 0.5, None)),
        ("  new :ndcg(gain=[0,1,3])@5<=+1e-3 ", ("new", "ndcg(gain=[0,1,3])@5", "<=", 0.001, None)),
        ("share( map(rel=>0.5)@10 <-.1 )<5 %", (None, "map(rel=>0.5)@10", "<", 0.05, ("<", -0.1))),
        ("a: b: share(mrr > 0) >= 12.5%", ("a: b", "mrr", ">=", 0.125, (">", 0.0))),
        ("x>y(: mrr > 0", ("x>y(", "mrr", ">", 0.0, None)),
        ("mean_of(a:b)@3 < 2", (None, "mean_of(a:b)@3", "<", 2.0, None)),
        ("ndcg@10 > -1%", (None, "ndcg@10", ">", -0.01, None)),
        ("new: mean( ndcg@10 ) >= 0.6", ("new", "ndcg@10", ">=", 0.6, None)),
    ],
)
def test_what_rules_mean(rule: str, read: tuple[Any, ...]) -> None:
    (result,) = read_rules(rule, ["a", "a: b", "new", "x>y("])
    of = result.share_of
    shown = (result.model, result.metric, result.limit.sign, result.limit.number, of and (of.sign, of.number))
    assert shown == read
    assert result.of_mean == ("mean(" in rule)
    assert result.limit.is_relative == (rule.endswith("1%"))
    assert result.text == rule.partition(f"{result.model}")[2].lstrip(" :").rstrip() if result.model else rule.strip()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        *(
            (
                rule,
                "cannot be read: .* is not a metric followed by one of the signs > >= < <= and a number. A rule has the form",
            )
            for rule in (
                *("", "ndcg@10", "ndcg@10 > nan", "> 0", "ndcg@10 > 1e999", "-0.005 < ndcg@10", "share(ndcg@10) < 0.1"),
                "share(ndcg@10 < -0.1)) < 1%",
            )
        ),
        *(
            (rule, "cannot be read: this number is in units of the metric, not in percent; write 0.01 for")
            for rule in ("mean(ndcg@10) > 60%", "share(ndcg@10 < -10%) < 5%")
        ),
        *(
            (rule, "cannot be read: a share is between 0 and 1, or 0% and 100%")
            for rule in ("share(ndcg@10 < -0.1) < 5", "share(ndcg@10 < 0) < 101%")
        ),
        *(
            (rule, r"cannot be checked: .* was not evaluated.* Evaluated: ndcg_exp@10, map\(rel=>0.5\)@10. Add it")
            for rule in ("ndcg@5 > 0", "ndcg@10 => 0", "ndcg@10 >> 0", "mean() > 0.6", "map(rel=2 > 0", "map) > 0")
        ),
        ("ndgc@10 > 0", "Did you mean 'ndcg_exp@10'"),
        ("neww: ndcg@10 > 0", "cannot be checked: there is no model 'neww'.* models are new, other"),
        ("base: ndcg@10 > 0", "models are new, other"),
        (3, "A rule must be text. Got 3"),
        ([], "needs at least one rule"),
    ],
)
def test_what_cannot_be_read_is_refused(noisy: ltr.Comparison, rule: Any, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message) as caught:
        gate(noisy, rule)
    if isinstance(rule, str):
        assert f"The rule {rule!r} cannot be" in str(caught.value)


def test_a_gate_of_an_evaluation_is_refused() -> None:
    result = ltr.evaluate([1, 0], [1, 2], group=[2], metrics="map")
    with pytest.raises(ltr.LtrTypeError, match="needs a comparison, the result of compare. Got Evaluation"):
        ltr.gate(result, "map > 0")  # type: ignore[arg-type]


@given(st.text(alphabet="share()<>=@10.5-%:[] newmap,", max_size=30))
@examples(300)
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        (rule,) = read_rules(text, ["new", "newer"])
    except ltr.LtrError:
        return
    assert rule.text in text
    assert rule.metric in rule.text
    assert np.isfinite(rule.limit.number)
    assert read_rules(f"newer: {rule.text}", ["new", "newer"])[0].limit == rule.limit
