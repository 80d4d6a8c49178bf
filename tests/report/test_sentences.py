"""Sentences of gates say what the numbers are: sign, bound, counts and verdict, read back from their words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr
from ltr_metrics.analysis.gate import Check
from ltr_metrics.report.verdict import short_check

RANGE = -1, 1  # of a difference in ndcg@10
MINUS = "\N{MINUS SIGN}"
N_COMPARISONS = 30
NUMBER = rf"([+{MINUS}-]?[\d.,]+(?:e-?\d+)?%?)"
SIGNS = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}


def number(text: str) -> float:
    text = text.replace(MINUS, "-").replace(",", "")
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def satisfies(value: float, sign: str, limit: float) -> bool:
    return {">": value > limit, ">=": value >= limit, "<": value < limit, "<=": value <= limit}[sign]


def drawn(rng: np.random.Generator) -> tuple[ltr.Comparison, dict[str, np.ndarray]]:
    """Return a comparison in ndcg@10, and in a latency, where lower is better, and the values of both models."""
    n = int(rng.choice([4, 8, 20, 60, 200]))
    base = {"ndcg@10": rng.beta(2, 2, n), "latency": rng.gamma(2, 1, n)}
    effect = rng.choice([-0.3, -0.05, 0.0, 0.0, 0.05, 0.3])
    noise = rng.choice([0.0, 0.02, 0.2], p=[0.1, 0.6, 0.3])
    change = effect + noise * rng.normal(size=n)
    change[rng.random(n) < rng.choice([0.0, 0.5, 0.95])] = 0
    new = {"ndcg@10": np.clip(base["ndcg@10"] + change, 0, 1), "latency": np.maximum(base["latency"] + change, 0)}
    new["ndcg@10"][rng.random(n) < rng.choice([0.0, 0.1])] = np.nan
    frames = {"live": pd.DataFrame({"qid": range(n)} | base), "new": pd.DataFrame({"qid": range(n)} | new)}
    models = {
        name: ltr.Evaluation.from_per_query(frame, convention="trec_eval", lower_is_better=["latency"])
        for name, frame in frames.items()
    }
    values = {metric: np.array([base[metric], new[metric]]) for metric in base}
    return ltr.compare(models, test="t", baseline="live"), values


def rule_of(rng: np.random.Generator, metric: str) -> dict[str, Any]:
    """Return a rule that a better model is more likely to pass, or for ndcg@10 any."""
    kind = str(rng.choice(["difference", "relative", "mean", "share"]))
    sign, limit, beyond = str(rng.choice([*SIGNS])), float(np.round(rng.choice([-0.1, -0.01, 0.0, 0.01, 0.1]), 3)), ""
    if metric == "latency":
        sign = "<" if sign in "<>" else "<="
    if kind == "mean":
        limit = float(np.round(rng.uniform(0, 1.5), 2))
    if kind == "share":
        limit, at = float(np.round(rng.uniform(0, 0.6), 2)), float(rng.choice([-0.3, -0.1, 0.0, 0.1]))
        inner = str(rng.choice([*SIGNS]))
        if metric == "latency" and (inner[0] == ">") == (sign[0] == ">"):
            inner = {">": "<", "<": ">", ">=": "<=", "<=": ">="}[inner]
        beyond, text = f"{inner} {at:g}", f"share({metric} {inner} {at:g}) {sign} {100 * limit:g}%"
    else:
        written = f"{100 * limit:g}%" if kind == "relative" else f"{limit:g}"
        text = f"{f'mean({metric})' if kind == 'mean' else metric} {sign} {written}"
    return {"text": text, "kind": kind, "sign": sign, "limit": limit, "beyond": beyond, "metric": metric}


def quantity(rule: dict[str, Any], values: np.ndarray) -> tuple[float, int, int]:
    """Return what a rule limits, the number of queries, and the number beyond the bound of a share."""
    live, new = values[:, ~np.isnan(values).any(axis=0)]
    if rule["kind"] == "share":
        sign, at = rule["beyond"].split()
        n = sum(satisfies(0.0 if abs(d - float(at)) < 1e-12 else d - float(at), sign, 0.0) for d in new - live)
        return n / len(live), len(live), n
    of_kind = {"difference": (new - live).mean(), "relative": new.mean() / live.mean() - 1, "mean": new.mean()}
    return float(of_kind[rule["kind"]]), len(live), 0


def check_sentence(check: Check, rule: dict[str, Any], values: np.ndarray) -> None:
    value, n, n_beyond = quantity(rule, values)
    reason, limit = check.reason, rule["limit"]
    assert check.kind == rule["kind"]
    assert check.limit == pytest.approx(limit)
    assert check.value == pytest.approx(value, abs=1e-9)
    if np.isnan(check.bound):
        assert check.verdict in ("too few", "unclear")
        return
    head = re.match(rf"the (?:\w+|share with a difference [\w ]+ {NUMBER}) is {NUMBER}", reason)
    assert head, reason
    assert number(head[2]) == pytest.approx(value, rel=1e-3, abs=1e-6)
    ends = re.search(rf"interval from {NUMBER} to {NUMBER}[ ;]", reason)
    assert ends, reason
    low, high = number(ends[1]), number(ends[2])
    is_floor = rule["sign"].startswith(">")
    within = check.bound if rule["kind"] == "relative" or rule["metric"] == "latency" else np.clip(check.bound, *RANGE)
    if rule["kind"] != "mean":
        assert (low if is_floor else high) == pytest.approx(within, rel=2e-3, abs=1e-5)
    if rule["kind"] == "share":
        assert f"({n_beyond:,} of {n:,} quer" in reason
    else:
        assert f"over {n:,} quer" in reason
    words = f"{SIGNS[rule['sign']]} {100 * limit if rule['kind'] in ('relative', 'share') else limit:g}"
    holds = satisfies(check.bound, rule["sign"], limit)
    assert check.passed == (holds and "too few" not in reason), (check, reason)
    if check.passed:
        assert f"all of it is {words}" in reason
    elif check.verdict == "violated":
        assert f"none of it is {words}" in reason
        best = high if is_floor else low
        assert not satisfies(best, rule["sign"], limit) or abs(best - limit) < 2e-4
    elif check.verdict == "unclear":
        assert f" end is not {words}" in reason
        assert f"its {'lower' if is_floor else 'upper'} end is not" in reason


def check_short(check: Check, rule: dict[str, Any], comparison: ltr.Comparison) -> str:
    said = short_check(check, comparison)
    if np.isnan(check.bound):
        return said
    sign = -1 if rule["metric"] == "latency" else 1
    percent = rule["kind"] in ("relative", "share")
    tolerance = 6e-4 if percent else 6e-5
    kinds = (
        (rf"loses at most {NUMBER} \(", -1, True),
        (rf"may lose up to {NUMBER} \(", -1, False),
        (rf"gains at least {NUMBER}", 1, True),
        (rf"may gain only {NUMBER}", 1, False),
    )
    found = [(m, s, p) for pattern, s, p in kinds if (m := re.search(pattern, said))]
    if rule["kind"] in ("mean", "share"):
        m = re.search(rf"(at least|perhaps only|at most|perhaps up to) {NUMBER} \(limit {NUMBER}\)", said)
        assert m, said
        assert number(m[2]) == pytest.approx(check.bound, abs=tolerance)
        assert number(m[3]) == pytest.approx(rule["limit"], abs=1e-9)
        sure, unsure = ("at least", "perhaps only") if rule["sign"].startswith(">") else ("at most", "perhaps up to")
        assert m[1] == (sure if check.passed else unsure), said
    elif found:
        [(m, s, is_sure)] = found
        assert is_sure == check.passed, said
        assert s * number(m[1]) == pytest.approx(sign * check.bound, abs=tolerance), (said, check.bound)
        assert rule["sign"].startswith(">") == (sign > 0), said
        bound = re.search(rf"\((allowed|needed): (?:more than |at least )?{NUMBER}\)", said)
        if bound:
            assert number(bound[2]) == pytest.approx(abs(rule["limit"]), abs=tolerance)
            assert (bound[1] == "allowed") == (sign * rule["limit"] < 0), said
    else:
        m = re.search(rf"(may change|changes) by {NUMBER}( at least| at most)? \(limit {NUMBER}\)", said)
        assert m, said
        assert number(m[2]) == pytest.approx(check.bound, abs=tolerance), said
        assert (m[1] == "changes") == check.passed == bool(m[3])
    return said


def test_sentences_of_gates_say_what_the_numbers_are() -> None:
    rng, said = np.random.default_rng(0), []
    for _ in range(N_COMPARISONS):
        comparison, values = drawn(rng)
        rules = [rule_of(rng, metric) for metric in ("ndcg@10", "latency") for _ in range(5)]
        rules = list({rule["text"]: rule for rule in rules}.values())
        checks = ltr.gate(comparison, [rule["text"] for rule in rules]).checks
        for check, rule in zip(checks, rules, strict=True):
            check_sentence(check, rule, values[rule["metric"]])
            said.append((check.verdict, rule["kind"], check_short(check, rule, comparison), str(check)))
    assert {verdict for verdict, *_ in said} == {"passed", "violated", "too few", "unclear"}
