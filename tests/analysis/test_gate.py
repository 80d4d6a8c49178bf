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
from ltr_metrics.analysis.gate import gate, read_rules
from ltr_metrics.evaluation.limits import fewest_units, limits_of_mean
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
        assert (check.value, check.bound) == (row.difference, row.ci_low if ">" in rule else row.ci_high)


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


def test_the_share_is_that_of_a_slow_count_with_the_exact_interval() -> None:
    rng = np.random.default_rng(2)
    differences = rng.choice([-0.3, -0.05, 0.0, 0.2, np.nan], size=50)
    lost = sum(one < -0.1 for one in differences)
    counted = sum(not np.isnan(one) for one in differences)
    assert 0 < lost < counted < 50
    low, high = map(float, stats.binomtest(lost, counted).proportion_ci(0.95))  # Clopper and Pearson's
    comparison = compared({"new": differences})
    for sign, bound in (("<", high), (">", low)):
        for limit, passes in ((bound + 1e-9, sign == "<"), (bound - 1e-9, sign == ">")):
            (check,) = gate(comparison, f"share(ndcg@10 < -0.1) {sign} {limit!r}").checks
            assert (check.kind, check.value, check.passed) == ("share", lost / counted, passes)
            assert check.bound == pytest.approx(bound, rel=1e-9)
    other = gate(comparison, "share(ndcg@10 >= -0.1) < 1").checks[0]
    assert other.bound == pytest.approx(1 - low, rel=1e-9)


def test_a_share_counts_what_is_at_the_number_as_at_the_number() -> None:
    """.9 - .7 and .3 - .1 are not the same float64."""
    base = np.repeat([0.9, 0.7, 0.5, 0.8, 0.3], 20)
    same = {name: result({NDCG: values}) for name, values in (("base", base), ("new", base - 0.2))}
    checks = gate(ltr.compare(same), ["share(ndcg@10 < -0.2) < 5%", "share(ndcg@10 <= -0.2) < 5%"]).checks
    assert [(check.value, check.verdict) for check in checks] == [(0, "passed"), (1, "violated")]


@pytest.mark.parametrize(
    ("n_lost", "n", "rule", "verdict", "reason"),
    [
        (0, 72, "< 5%", "passed", "all of it is below 5%."),
        (0, 71, "< 5%", "too few", "too few queries: 72 without such a difference are needed."),
        (
            1,
            50,
            "< 5%",
            "too few",
            "is 2% (1 of 50 queries), its 95% interval from 0.05062% to 10.65%; too few queries: 72 without",
        ),
        (8, 50, "< 5%", "violated", "none of it is below 5%."),
        (2, 100, "< 5%", "unclear", "its upper end is not below 5%. Unclear: 204 queries with this share pass."),
        (5, 100, "< 5%", "unclear", "the share itself is not below 5%, so more queries alone do not help."),
        (9, 10, "> 50%", "passed", "all of it is above 50%."),
        (5, 5, ">= 50%", "too few", "too few queries: 6 with such a difference are needed."),
        (1, 20, ">= 50%", "violated", "none of it is at or above 50%."),
        (0, 50, "< 0%", "violated", "none of it is below 0%."),
        (0, 50, "<= 0%", "unclear", "no number of queries can show that this limit holds; choose another limit."),
        (50, 50, ">= 100%", "unclear", "no number of queries can show that this limit holds; choose another limit."),
        (50, 50, "> 100%", "violated", "none of it is above 100%."),
        (50, 50, "<= 100%", "passed", "all of it is at or below 100%."),
        (0, 2, "< 100%", "passed", "all of it is below 100%."),
        (0, 2, ">= 0%", "passed", "all of it is at or above 0%."),
    ],
)
def test_the_verdict_on_a_share_and_what_it_needs(n_lost: int, n: int, rule: str, verdict: str, reason: str) -> None:
    differences = np.where(np.arange(n) < n_lost, -0.3, 0.01)
    (check,) = gate(compared({"new": differences}), f"share(ndcg@10 < -0.1) {rule}").checks
    assert (check.verdict, check.passed, check.value) == (verdict, verdict == "passed", n_lost / n)
    assert reason in check.reason


def test_the_documented_figures_of_rare_losses() -> None:
    """A gain of .01 in 97 % of the queries and a loss of .32 in 3 %: how often a sample has no loss, and what passes."""

    def passes(n: int, n_lost: int, rule: str) -> bool:
        return gate(compared({"new": np.where(np.arange(n) < n_lost, -0.32, 0.01)}), rule).passed

    text = " ".join((Path(__file__).parents[2] / "docs" / "comparison.md").read_text(encoding="utf-8").split())
    rates = {"ndcg@10 > 0": [], "share(ndcg@10 < -0.1) < 3%": []}
    for rule, of_rule in rates.items():
        for n in (10, 30, 100):
            lost = [k for k in range(n // 5) if passes(n, k, rule)]
            of_rule.append(f"{100 * stats.binom.pmf(lost, n, 0.03).sum():.0f}")
    assert rates["ndcg@10 > 0"] == ["0", "0", "0"]  # differences that are all equal have the bound
    assert rates["share(ndcg@10 < -0.1) < 3%"] == ["0", "0", "0"]
    misses = [f"{100 * stats.binom.pmf(0, n, 0.03):.0f}" for n in (10, 30, 100)]
    assert misses == ["74", "40", "5"]
    assert "in 74, 40 and 5 % of all samples of 10, 30 and 100 queries" in text
    assert stats.binom.cdf(0, 72, 0.05) < 0.025 < stats.binom.cdf(0, 71, 0.05)
    assert "72 queries without such a difference" in text


def test_a_share_counts_each_query_or_each_cluster_once() -> None:
    """Whatever their weights: with traffic weights, a few heavy queries would decide, and more queries not help."""
    rng = np.random.default_rng(0)
    lost = (rng.random(200) < 0.05).astype(float)
    weight = rng.lognormal(size=200)
    rule, differences = "share(ndcg@10 < -0.1) < 20%", {"new": -0.3 * lost}
    (check,) = gate(compared(differences, weight=weight), rule).checks
    assert check.value == lost.mean()
    assert check.bound == pytest.approx(stats.binomtest(int(lost.sum()), 200).proportion_ci().high, rel=1e-9)
    assert f"({int(lost.sum())} of 200 queries, each counted once), its 95% interval" in check.reason
    cluster = np.repeat(np.arange(50), 4)
    (check,) = gate(compared({"new": -0.3 * np.repeat(lost[:50], 4)}, weight=weight, cluster=cluster), rule).checks
    assert check.bound == pytest.approx(stats.binomtest(int(lost[:50].sum()), 50).proportion_ci().high, rel=1e-9)
    assert "of 200 queries in 50 clusters, each cluster counted once)" in check.reason
    uneven = np.arange(200) // 10 + (np.arange(200) > 150)  # clusters of 10 and of 9, of which parts are lost
    (check,) = gate(compared(differences, weight=weight, cluster=uneven), rule).checks
    assert check.value == np.mean([lost[uneven == one].mean() for one in np.unique(uneven)])


def test_queries_of_weight_0_are_not_counted() -> None:
    weight = np.repeat([1.0, 0.0], [80, 120])
    comparison = compared({"new": np.where(weight > 0, np.tile([0.2, -0.05], 100), -0.5)}, weight=weight)
    row = comparison["ndcg@10"]
    assert (row.n_queries, row.n_undefined, row.wins, row.losses) == (80, 0, 40, 40)
    (check,) = gate(comparison, "share(ndcg@10 < -0.1) < 5%").checks
    assert (check.value, check.verdict) == (0, "passed")
    assert "(0 of 80 queries, each counted once)" in check.reason
    single = compared({"new": [0.1, 0.2]}, weight=[1, 0])
    assert "the sample is too small, 1 query:" in gate(single, "ndcg@10 > 0").checks[0].reason


def test_clusters_are_counted_and_not_their_queries() -> None:
    cluster = np.repeat(np.arange(100), 10)
    assert not gate(compared({"new": np.where(cluster < 3, 0.3, 0.0)}, cluster=cluster), "ndcg@10 > 0").passed
    assert gate(compared({"new": np.where(cluster < 12, 0.3, 0.0)}, cluster=cluster), "ndcg@10 > 0").passed
    weight = np.repeat([1.0, 0.0], 100)
    of_no_weight = np.where((np.arange(200) < 3) | (weight == 0), 0.3, 0.0)
    assert not gate(compared({"new": of_no_weight}, weight=weight), "ndcg@10 > 0").passed


# --- several candidates, repeated looks, yardsticks ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def five() -> ltr.Comparison:
    """Five candidates that share a part of their differences, a yardstick, and segments."""
    rng = np.random.default_rng(5)
    common = rng.normal(0.01, 0.1, 120)
    models = {name: common + rng.normal(0, 0.1, 120) for name in "abcde"} | {"bm25": rng.normal(-0.3, 0.1, 120)}
    return compared(models, by=["phone", "desk"] * 60, yardsticks=["bm25"], n_resamples=2000)


@pytest.mark.parametrize("rule", ["ndcg@10 > -0.02", "ndcg@10 > -3%", "mean(ndcg@10) > 0.45", "ndcg@10 < 0.1"])
def test_the_intervals_of_candidates_hold_together(five: ltr.Comparison, rule: str) -> None:
    """The level is that of the largest |t|, which lies between one interval's and Bonferroni's."""
    one, all_five = (gate(five, rule, family=family) for family in ("one", "candidates"))
    bonferroni = ltr.compare(five.evaluations, confidence=0.99, n_resamples=2000, correction="none")
    strict = gate(bonferroni, [f"{name}: {rule}" for name in "abcde"], family="one")
    for alone, together, widest in zip(one.checks, all_five.checks, strict.checks, strict=True):
        assert (alone.model, alone.value) == (together.model, together.value) == (widest.model, widest.value)
        sign = -1 if ">" in rule else 1
        assert sign * alone.bound < sign * together.bound < sign * widest.bound
        assert "its 95% interval for 5 candidates from" in together.reason
    assert [check.model for check in all_five.checks] == list("abcde")


def test_one_candidate_and_one_look_leave_the_gate_as_it_is(five: ltr.Comparison) -> None:
    named = gate(five, "b: ndcg@10 > -0.02")
    assert named.checks[0].bound == five["ndcg@10", "b"].ci_low
    assert named.checks == gate(five, "b: ndcg@10 > -0.02", family="one").checks
    assert named.notes == []


def test_shares_and_looks_are_corrected_by_bonferroni(five: ltr.Comparison) -> None:
    rule = "share(ndcg@10 < -0.1) < 40%"
    lost, n = int((five.differences("ndcg@10", "a") < -0.1).sum()), 120
    for tail, options in (
        (0.025, {"family": "one"}),
        (0.025 / 5, {}),
        (0.025 / 5 / 30, {"looks": 30}),
        (0.025 / 7, {"family": "one", "looks": 7}),
    ):
        expected = stats.beta.isf(tail, lost + 1, n - lost)
        assert gate(five, rule, **options).checks[0].bound == pytest.approx(expected, rel=1e-9)
    values = np.random.default_rng(0).normal(size=60)
    of_looks = gate(compared({"new": values}), "ndcg@10 > 0", looks=30)
    (check,) = of_looks.checks
    values = values + 0.5 - 0.5
    assert check.bound == pytest.approx(limits_of_mean(values, np.ones(60), 1 - 0.05 / 30).low, rel=1e-9)
    assert "its 95% interval for 30 looks from" in check.reason
    assert of_looks.notes == ["Looks 30: each has 1 / 30 of the error probability."]


def test_rules_named_one_by_one_are_one_family(five: ltr.Comparison) -> None:
    """Other limits, metrics or kinds of rule do not make the candidates fewer, of which any may be picked."""
    together = gate(five, "ndcg@10 > -0.02")
    bounds = [check.bound for check in together.checks]
    limits = [f"{name}: ndcg@10 > {-0.02 + i * 1e-9!r}" for i, name in enumerate("abcde")]
    assert [check.bound for check in gate(five, limits).checks] == bounds
    metrics = gate(five, [f"{name}: {(NDCG, MAP)[i % 2]} > -0.02" for i, name in enumerate("abcde")])
    assert [check.bound for check in metrics.checks] == pytest.approx(bounds, abs=1e-3)  # the values are the same
    assert "for 5 candidates" in metrics.checks[0].reason
    kinds = gate(five, ["a: ndcg@10 > -0.02", "b: share(ndcg@10 < -0.1) < 50%"])
    (of_a, of_b) = kinds.checks
    assert five["ndcg@10", "a"].ci_low > of_a.bound > bounds[0]
    lost = int((five.differences("ndcg@10", "b") < -0.1).sum())
    assert of_b.bound == pytest.approx(stats.beta.isf(0.0125, lost + 1, 120 - lost), rel=1e-9)


def test_a_rule_that_is_written_twice_counts_once(five: ltr.Comparison) -> None:
    rules = ["ndcg@10 > -0.02", "ndcg_exp@10 > -0.02", "NDCG@10 > -2e-2", "a: ndcg@10 > -0.02", "ndcg@10 > -0.03"]
    checks = gate(five, rules).by_model["a"].checks
    assert [check.rule for check in checks] == ["ndcg@10 > -0.02", "ndcg@10 > -0.03"]
    assert len(gate(five, ["a: ndcg@10 > -0.02", "ndcg@10 > -0.02"]).checks) == 5


def test_rules_of_other_quantities_are_no_stricter_than_bonferronis_correction_for_the_candidates() -> None:
    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(5)]
    values = {model: {name: rng.normal(size=80) for name in names} for model in ("base", "a", "b")}
    models = {model: ltr.Evaluation.from_per_query({"qid": np.arange(80), **of}) for model, of in values.items()}
    rules = ["a: v0 > 0", *(f"b: {name} > 0" for name in names[1:])]  # which are independent
    bounds = {check.model: check.bound for check in gate(ltr.compare(models, n_resamples=100), rules).checks[:2]}
    for_two = ltr.compare(models, n_resamples=100, confidence=0.975)
    assert bounds == pytest.approx({"a": for_two["v0", "a"].ci_low, "b": for_two["v1", "b"].ci_low})


def test_more_candidates_need_more_queries() -> None:
    six = compared({name: np.linspace(0.1, 0.2, 6) for name in "ab"})
    assert gate(six, "ndcg@10 > 0", family="one").passed
    (first, _) = gate(six, "ndcg@10 > 0").checks
    assert first.reason.endswith("6 queries: a 95% interval for 2 candidates needs at least 7 queries.")


def test_the_text_says_which_family(five: ltr.Comparison) -> None:
    each, one = gate(five, "ndcg@10 > 0"), gate(five, "ndcg@10 > 0", family="one", looks=3)
    assert str(each).splitlines()[-1].startswith("5 candidates: the intervals are wide enough that you may pick")
    assert [line.partition(":")[0] for line in str(one).splitlines()[-2:]] == ["Family one", "Looks 3"]
    assert one.to_dict()["family"] == "one"
    assert one.to_dict()["looks"] == 3


def test_a_model_has_its_verdict_and_its_numbers(five: ltr.Comparison) -> None:
    result = gate(five, ["ndcg@10 > -0.02", "mean(ndcg@10) > 0.9", "share(ndcg@10 < -0.1) < 1%"], each_segment=True)
    assert list(result.by_model) == list("abcde")
    of_a = result.by_model["a"]
    assert of_a.checks == tuple(check for check in result.checks if check.model == "a")
    assert [check.kind for check in of_a.checks] == ["difference", "mean", "share"] * 3
    assert (of_a.verdict, of_a.passed) == ("violated", False)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["by_model"]["a"]["checks"] == [one for one in plain["checks"] if one["model"] == "a"]
    first = plain["by_model"]["a"]["checks"][0]
    assert (first["value"], first["bound"], first["limit"]) == (of_a.checks[0].value, of_a.checks[0].bound, -0.02)
    assert {"verdict", "passed", "kind"} <= set(first)


def test_each_segment_has_the_family_of_all_queries(five: ltr.Comparison) -> None:
    checks = gate(five, "share(ndcg@10 < -0.1) < 40%", each_segment=True).by_model["a"].checks
    (check,) = (one for one in checks if one.segment == "device=desk")
    lost = int((five.by["device"]["desk"].differences("ndcg@10", "a") < -0.1).sum())
    assert check.bound == pytest.approx(stats.beta.isf(0.005, lost + 1, 60 - lost), rel=1e-9)


def test_a_yardstick_has_no_rule(five: ltr.Comparison) -> None:
    assert {check.model for check in gate(five, "ndcg@10 > -1").checks} == set("abcde")
    without = ltr.compare({name: one for name, one in five.evaluations.items() if name != "bm25"}, n_resamples=2000)
    assert gate(five, "ndcg@10 > 0").checks == gate(without, "ndcg@10 > 0").checks
    with pytest.raises(ltr.LtrValueError, match="is for 'bm25', but a yardstick has no rule. If it is a candidate"):
        gate(five, "bm25: ndcg@10 > 0")
    alone = compared({"bm25": np.full(20, 0.1)}, yardsticks="bm25")
    with pytest.raises(ltr.LtrValueError, match="All models beside the baseline are yardsticks.* out of yardsticks"):
        gate(alone, "ndcg@10 > 0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"looks": looks}, "looks must be a whole number of at least 1, the number of times")
            for looks in (0, 2.5, True)
        ),
        ({"family": "candidate"}, "family must be one of 'candidates', 'one'; got 'candidate'. Did you mean"),
        ({"family": None}, "family must be one of 'candidates', 'one'; got None"),
    ],
)
def test_what_is_no_number_of_looks_and_no_family_is_refused(noisy: ltr.Comparison, options: Any, message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        gate(noisy, "ndcg@10 > 0", **options)


def test_lower_is_better_has_families_and_shares_as_well() -> None:
    rng = np.random.default_rng(0)
    models = {
        name: ltr.Evaluation.from_per_query({"qid": np.arange(100), "rank": values}, lower_is_better=["rank"])
        for name, values in zip(("base", "a", "b"), rng.normal([[5], [4], [4]], 1, (3, 100)), strict=True)
    }
    comparison = ltr.compare(models, n_resamples=1000)
    result = gate(comparison, ["rank < 0", "rank < -5%", "mean(rank) < 4.5", "share(rank > 3) < 20%"])
    assert result.passed
    for check in result.checks[:2]:
        assert check.value < check.bound < 0
        assert check.bound > comparison["rank", check.model].ci_high
    with pytest.raises(ltr.LtrValueError, match="A worse model would pass the rule 'share"):
        gate(comparison, "share(rank < -1) < 5%")


# --- how many queries ------------------------------------------------------------------------------------------------


def test_an_unclear_rule_says_how_many_queries_it_needs() -> None:
    rng = np.random.default_rng(1)
    comparison = compared({"new": rng.normal(0.01, 0.1, 200)})
    row = comparison["ndcg@10"]
    assert row.ci_low < 0 < row.difference
    (check,) = gate(comparison, "ndcg@10 > 0").checks
    n = comparison.queries_needed(row.difference)["ndcg@10"]["new"]
    assert check.verdict == "unclear"
    told = int(check.reason.partition("true difference, ")[2].partition(" queries")[0].replace(",", ""))
    assert f"Unclear: if this is the true difference, {told:,} queries pass with a probability of 80%." in check.reason
    assert told == pytest.approx(n, rel=0.1)  # by the interval that decided, and not by Student's
    (check,) = gate(comparison, "ndcg@10 > 0.004").checks
    assert check.reason.endswith("the difference itself is not above 0.004, so more queries alone do not help.")


@pytest.mark.parametrize("rule", ["ndcg@10 >= 0", "mean(ndcg@10) >= 0.5", "share(ndcg@10 < 0) <= 50%"])
def test_a_rule_whose_limit_is_the_value_itself_says_so(rule: str) -> None:
    (check,) = gate(compared({"new": np.tile([0.25, -0.25], 50)}), rule).checks
    noun = {"n": "difference", "m": "mean", "s": "share"}[rule[0]]
    assert (check.verdict, check.value) == ("unclear", check.limit)
    assert check.reason.endswith(f"the {noun} itself is too close to the limit, so more queries alone do not help.")


def test_a_difference_by_rounding_needs_no_octillions_of_queries() -> None:
    (check,) = gate(compared({"new": np.tile([0.05, -0.05], 50)}), "ndcg@10 > 0").checks
    assert 0 < check.value < 1e-15
    assert "too close to the limit" in check.reason


# --- one interval, one count -----------------------------------------------------------------------------------------


def test_more_queries_are_needed_than_have_failed() -> None:
    """The skewed interval is wider than Student's, by which fewer queries than these would pass."""
    rng = np.random.default_rng(13)
    for _ in range(20):
        values = 0.02 + np.exp(0.5) / 20 - rng.lognormal(size=120) / 20
        (check,) = gate(compared({"new": values}), "ndcg@10 > 0").checks
        if "true difference, " in check.reason:
            assert int(check.reason.partition("true difference, ")[2].split()[0].replace(",", "")) > 120


@pytest.mark.parametrize(
    ("values", "rule", "verdict", "reason"),
    [
        ([1.0] * 30, "mean(hit@1) > 0.99", "too few", "too few queries: 368 are needed, even if each has 1."),
        ([1.0] * 30, "mean(hit@1) > 0.85", "passed", "all of it is above 0.85."),
        ([1.0] * 30, "mean(hit@1) > 0.9", "too few", "too few queries: 36 are needed, even if each has 1."),
        ([1.0] * 29 + [0.0], "mean(hit@1) > 0.95", "too few", "72 are needed, even if each has 1."),
        ([1.0] * 90 + [0.0] * 5, "mean(hit@1) > 0.9", "unclear", "its lower end is not above 0.9. Unclear: "),
        ([1.0] * 90 + [0.0] * 10, "mean(hit@1) > 0.9", "unclear", "the mean itself is not above 0.9, so more queries"),
        ([0.0] * 30, "mean(hit@1) < 0.01", "too few", "too few queries: 368 are needed, even if each has 0."),
        ([1.0] * 30, "mean(hit@1) >= 1", "too few", "too few of 30 queries have a value other than 1"),
        ([0.8] * 20, "mean(ndcg@10) > 0.7", "unclear", "its lower end is not above 0.7. Unclear: 28 queries with this"),
        ([0.8] * 28, "mean(ndcg@10) > 0.7", "passed", "all of it is above 0.7."),
    ],
)
def test_no_interval_has_width_0_where_the_metric_could_take_another_value(
    values: list[float], rule: str, verdict: str, reason: str
) -> None:
    name = "hit@1" if "hit" in rule else NDCG
    models = {"base": result({name: np.zeros(len(values))}), "new": result({name: values})}
    (check,) = gate(ltr.compare(models), rule).checks
    assert (check.verdict, check.value) == (verdict, pytest.approx(np.mean(values)))
    assert reason in check.reason


def test_the_number_of_queries_with_this_mean_passes() -> None:
    values = np.repeat([1.0, 0.0], [90, 5])
    base = {n: result({"hit@1": np.zeros(n)}) for n in (95, 380, 209, 190)}
    (check,) = gate(ltr.compare({"base": base[95], "new": result({"hit@1": values})}), "mean(hit@1) > 0.9").checks
    n = int(check.reason.partition("Unclear: ")[2].split()[0])
    assert 95 < n < 380
    for factor, passes in ((2, n <= 190), (4, True)):
        many = result({"hit@1": np.tile(values, factor)})
        assert gate(ltr.compare({"base": base[95 * factor], "new": many}), "mean(hit@1) > 0.9").passed == passes


def test_a_model_without_a_difference_passes_a_margin() -> None:
    for metric in (NDCG, "hit@1", "latency"):
        values = np.random.default_rng(0).integers(0, 2, 30).astype(float)
        same = {"base": result({metric: values}), "new": result({metric: values})}
        comparison = ltr.compare(same)
        assert (comparison[metric].ci_low, comparison[metric].ci_high) == (0, 0)
        assert gate(comparison, [f"{metric} > -0.005", f"{metric} > -1%"]).passed


def test_differences_that_are_equal_in_units_that_nobody_knows_are_unclear() -> None:
    base = np.random.default_rng(0).random(30)
    comparison = ltr.compare({"base": result({"latency": base}), "new": result({"latency": base + 0.5})})
    (check,) = gate(comparison, "latency > 0").checks
    assert (check.verdict, check.value) == ("unclear", pytest.approx(0.5))
    assert np.isnan(check.bound)
    assert check.reason == "all values are equal, and the range of the metric is not known."
    assert comparison.to_dict()["rows"][0]["ci_low"] is None
    assert "latency of new has no interval: all values are equal" in " ".join(str(comparison).split())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gate_uses_the_interval_that_the_comparison_shows(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    weight, by = rng.random(31) + 0.5 if weighted else None, ["phone"] * 21 + ["desk"] * 10
    comparison = compared({"new": rng.normal(size=31)}, by=by, weight=weight)
    rules = ["ndcg@10 > -9", "ndcg@10 < 9"]
    for part, checks in (
        (comparison, gate(comparison, rules).checks),
        (comparison.by["device"]["desk"], gate(comparison, rules, each_segment=True).checks[2:4]),
    ):
        row = part["ndcg@10", "new"]
        assert [check.bound for check in checks] == [row.ci_low, row.ci_high]
        for check in checks:
            shown = f"its 95% interval from {row.ci_low:+.6f} to {row.ci_high:+.6f}"
            assert f"{shown} over {row.sample_size}; all of it is" in check.reason


@pytest.mark.parametrize("rule", ["ndcg@10 > -1", "ndcg@10 < 1", "share(ndcg@10 < 0) < 1", "share(ndcg@10 < 9) >= 0"])
def test_nan_never_passes(rule: str) -> None:
    (check,) = gate(compared({"new": [np.nan, np.nan, np.nan]}), rule).checks
    assert not check.passed
    assert np.isnan([check.value, check.bound]).all()
    assert check.verdict == "too few"
    assert (check.to_dict()["value"], check.to_dict()["bound"]) == (None, None)
    assert "the sample is too small, 0 queries" in check.reason
    weightless = compared({"new": [0.1] * 8 + [np.nan]}, weight=[0] * 8 + [1])
    assert not gate(weightless, rule).checks[0].passed


@pytest.mark.parametrize(("confidence", "needed"), [(0.75, 3), (0.95, 6), (0.99, 8)])
def test_too_few_queries_for_an_interval_fail_and_say_so(confidence: float, needed: int) -> None:
    """The values of n queries are all above their true median with probability 2 ** -n, and so are they all below."""
    assert fewest_units(confidence) == needed == next(n for n in range(1, 99) if 2 * 0.5**n <= 1 - confidence + 1e-12)
    few, enough = (compared({"new": np.full(n, 0.1)}, confidence=confidence) for n in (needed - 1, needed))
    (check,) = gate(few, "ndcg@10 > -0.5").checks
    assert not check.passed
    assert f"too small, {needed - 1} queries: a {100 * confidence:g}% interval needs at least {needed}" in check.reason
    assert gate(enough, "ndcg@10 > -0.5").passed


def test_each_segment_has_to_pass() -> None:
    by = ["desk"] * 40 + ["phone"] * 20 + ["tv"]
    differences = [0.1, 0.2] * 20 + [-0.01, -0.02] * 10 + [0.3]
    split = compared({"new": differences}, by=by)
    assert gate(split, "ndcg@10 > 0").passed
    each = gate(split, "ndcg@10 > 0", each_segment=True)
    assert not each.passed
    assert [check.segment for check in each.checks] == [None, "device=desk", "device=phone", "device=tv"]
    assert each.checks[2].value == pytest.approx(-0.015)
    assert [check.verdict for check in each.checks] == ["passed", "passed", "violated", "too few"]
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
    return base, new, ltr.compare(models, **options)


def test_a_margin_in_percent_is_of_the_baselines_uncertain_mean() -> None:
    base, new, comparison = varied()
    both = ~np.isnan(base + new)
    change = comparison.relative["ndcg@10"]["new"]
    assert change.value == pytest.approx((new - base)[both].mean() / base[both].mean(), rel=1e-9)
    for percent in (-3, -0.5, 0, 1, 2.5):
        (above, below) = (gate(comparison, f"ndcg@10 {sign} {percent}%").checks[0] for sign in "><")
        assert (above.value, above.bound, below.bound) == (change.value, change.ci_low, change.ci_high)
        assert (above.passed, below.passed) == (change.ci_low > percent / 100, change.ci_high < percent / 100)
        assert (above.kind, above.limit) == ("relative", percent / 100)
    assert "% of the baseline's mean" in above.reason


def test_values_bounds_and_limits_mean_one_thing_in_every_outcome() -> None:
    few = {"base": result({NDCG: [0.25] * 4}), "new": result({NDCG: [0.375] * 4})}
    (check,) = gate(ltr.compare(few), "ndcg@10 > 10%").checks
    assert (check.kind, check.value, check.limit, check.verdict) == ("relative", 0.5, 0.1, "too few")
    zeros = np.zeros(20)
    zeros[:4] = 0.5
    few = {"base": result({NDCG: zeros}), "new": result({NDCG: zeros + 0.1})}
    (check,) = gate(ltr.compare(few), "ndcg@10 > 10%").checks
    assert (check.value, check.verdict) == (pytest.approx(1), "unclear")
    assert check.reason == "the baseline has a value other than 0 in 4 queries, and a share of its mean needs 6."
    plain = check.to_dict()
    assert (plain["bound"], plain["limit"]) == (None, 0.1)


def test_a_floor_is_for_the_whole_interval_of_the_mean() -> None:
    base, new, comparison = varied()
    values = new[~np.isnan(base + new)]
    low, high = limits_of_mean(values, np.ones(len(values)), 0.95)[:2]
    for limit, passes in ((low - 1e-6, True), (low + 1e-6, False), (values.mean(), False)):
        (check,) = gate(comparison, f"mean(ndcg@10) > {limit:.9f}").checks
        assert check.passed is passes
        assert (check.kind, check.value) == ("mean", pytest.approx(values.mean(), rel=1e-12))
        assert check.bound == pytest.approx(low, rel=1e-9)
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
        ("share(mrr < \u22120.1) < 5e\u22122", (None, "mrr", "<", 0.05, ("<", -0.1))),  # the minus of a report
        ("new: mean( ndcg@10 ) >= 0.6", ("new", "ndcg@10", ">=", 0.6, None)),
    ],
)
def test_what_rules_mean(rule: str, read: tuple[Any, ...]) -> None:
    (result,) = read_rules(rule, ["a", "a: b", "new", "x>y("])
    of = result.share_of
    shown = (result.model, result.metric, result.limit.sign, result.limit.number, of and (of.sign, of.number))
    assert shown == read
    kinds = {"share": ("share(", ""), "mean": ("mean(", ""), "relative": ("", "-1%"), "difference": ("", "")}
    assert result.kind == next(kind for kind, (part, end) in kinds.items() if part in rule and rule.endswith(end))
    assert result.text == rule.partition(f"{result.model}")[2].lstrip(" :").rstrip() if result.model else rule.strip()


NOT_A_RULE = "cannot be read: .* is not a metric followed by one of the signs > >= < <= and a number. A rule has"
IN_PERCENT = "cannot be read: this number is in units of the metric, not in percent; write 0.01 for"
TWO = r"cannot be read: mean\(...\) and share\(...\) hold a metric, .* write two rules"
UNKNOWN = r"cannot be checked: .* was not evaluated.* Evaluated: ndcg_exp@10, map\(rel=>0.5\)@10. Add it"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        *((rule, NOT_A_RULE) for rule in ("ndcg@10 > nan", "> 0", "ndcg@10 > 1e999")),
        *((rule, NOT_A_RULE) for rule in ("-0.005 < ndcg@10", "share(ndcg@10) < 0.1", "share(ndcg@10 < -0.1)) < 1%")),
        ("ndcg@10", "a number. A shell takes an unquoted > for a file, so quote the rule there. A rule has"),
        ("mean(ndcg@10) > 60%", IN_PERCENT),
        ("share(ndcg@10 < -10%) < 5%", IN_PERCENT),
        *(
            (rule, TWO)
            for rule in ("share(mean(ndcg@10) < 0.3) < 5%", "mean(share(ndcg@10 < 0)) > 0.6", "mean(mean(map)) > 0")
        ),
        ("share(ndcg@10 < -0.1) < 5", "cannot be read: a share is between 0 and 1, or 0% and 100%"),
        ("share(ndcg@10 < 0) < 101%", "cannot be read: a share is between 0 and 1, or 0% and 100%"),
        *((rule, UNKNOWN) for rule in ("ndcg@5 > 0", "ndcg@10 => 0", "ndcg@10 >> 0", "mean() > 0.6", "map(rel=2 > 0")),
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
