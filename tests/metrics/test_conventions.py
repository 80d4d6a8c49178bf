"""Conventions as values: each field that the table of definitions lists, and fields that cannot be."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics.base import spell
from ltr_metrics.metrics.conventions import ALIASES, convention_of
from ltr_metrics.metrics.requests import resolve


def test_what_takes_the_place_of_an_undefined_value_may_depend_on_the_metric() -> None:
    rows = {"y_true": [0, 0], "y_score": [2, 1], "group": [2]}
    metrics = ["ndcg", "recall@5", "map", "mrr", "p@5"]
    result = ltr.evaluate(**rows, metrics=metrics, convention="catboost")
    assert list(result.mean.values()) == [1, 1, 0, 0, 0]
    assert result.to_dict()["no_relevant_of"] == {"ndcg_lin": 1.0, "recall(rel=>0.5)@5": 1.0}
    explicit = ltr.evaluate(**rows, metrics=metrics, convention="catboost", no_relevant=0.5)
    assert list(explicit.mean.values()) == [0.5, 0.5, 0.5, 0.5, 0]
    assert ltr.evaluate(**rows, metrics=[ltr.NDCG()], convention="catboost").mean == {"ndcg_exp": 1.0}


@pytest.mark.parametrize("metric", ["sum_of(m)@1", "mean_of(m)@1", "judged@1", "arp"])
def test_a_convention_that_drops_queries_drops_them_from_each_metric(metric: str) -> None:
    rows = {"y_true": [0, 0, 1, 0], "y_score": [2, 1, 2, 1], "group": [2, 2], "columns": {"m": [1.0, 1, 5, 5]}}
    drops = ltr.CONVENTIONS["vespa"].with_settings("drops", arp={})
    result = ltr.evaluate(**rows, metrics=["mrr", metric], convention=drops)
    assert result.n_undefined == dict.fromkeys(result, 1)
    assert result.mean == ltr.evaluate(**rows, metrics=["mrr", metric], convention=drops, no_relevant="drop").mean


def test_a_number_of_a_convention_is_not_for_metrics_where_lower_is_better() -> None:
    rows: dict[str, Any] = {"y_true": [0, 0], "y_score": [2, 1], "group": [2], "metrics": ["arp"]}
    ones = ltr.CONVENTIONS["lightgbm"].with_settings("ones", arp={})  # where a 1 would be the best value
    assert ltr.evaluate(**rows, convention=ones).n_undefined == {"arp": 1}
    named = ltr.CONVENTIONS["lightgbm"].with_settings("named", arp={"no_relevant": 3})
    assert ltr.evaluate(**rows, convention=named).mean == {"arp": 3.0}


def test_requests_of_other_metrics_keep_what_is_special_of_each() -> None:
    request = resolve(["ndcg@10", "recall@5"], convention="catboost")
    other = dataclasses.replace(request, metrics=tuple(ltr.metric(name) for name in ("ndcg_lin@3", "map", "recall@9")))
    assert other.policy.no_relevant_of == {"ndcg_lin@3": 1.0, "recall@9": 1.0}
    with pytest.raises(ltr.LtrValueError, match="catboost ignores the weights of queries in the mean of recall@9"):
        other.refuse_weights(other.metrics[2])
    request = resolve("ndcg@10", convention="xgboost")
    other = dataclasses.replace(request, metrics=(ltr.NDCG(k=3), ltr.MAP(k=3)))
    assert other.policy.weighs_undefined_as_one == ("ndcg_exp@3",)
    assert resolve("ndcg@10", convention="xgboost", no_relevant=1).policy.weighs_undefined_as_one == ()


def test_map_is_uncut_in_letors_script() -> None:
    with pytest.raises(ltr.LtrValueError, match="'map@5' is not a metric of letor, whose map has no cutoff"):
        ltr.evaluate([1, 0], [2, 1], group=[2], metrics="map@5", convention="letor")


def test_a_convention_of_ones_own() -> None:
    mslr = dataclasses.replace(ltr.CONVENTIONS["letor"], name="mslr", rel=2)
    result = ltr.evaluate([1, 2, 0], [3, 2, 1], group=[3], metrics=["map", "p@2", "ndcg@3"], convention=mslr)
    assert list(result.mean) == [
        "map(rel=2,denominator=relevant)",
        "precision(rel=2)@2",
        "ndcg_exp(discount=jarvelin,short=zero)@3",
    ]
    assert result["map"] == 0.5
    cut = dataclasses.replace(mslr, metrics={"map": {"denominator": "cutoff"}})  # needs a cutoff, which the name gives
    assert ltr.evaluate([1, 2, 0], [3, 2, 1], group=[3], metrics="map@2", convention=cut)["map@2"] == 0.25


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ties", "random", "ties must be one of"),
        ("metrics", {"recall": {"no_relevant": float("nan")}}, "no_relevant must be"),
        ("cutoff", 0, "must be a whole number of at least 1"),
        ("metrics", {"map": {"denominator": "k"}}, "denominator of map must be one of"),
        ("metrics", {"ndgc": {}}, "has no metric 'ndgc'. Did you mean 'ndcg'"),
        ("metrics", {"map": {"denominater": "hits"}}, "map has no parameter 'denominater'. Did you mean"),
    ],
)
def test_fields_that_cannot_be_are_refused_at_once(field: str, value: object, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        dataclasses.replace(ltr.CONVENTIONS["letor"], name="mine", **{field: value})


def test_true_is_no_value_for_an_undefined_one_also_after_1() -> None:
    assert ltr.evaluate([0, 0], [1, 2], group=[2], metrics=["mrr"], no_relevant=1)["mrr"] == 1
    with pytest.raises(ltr.LtrValueError, match="no_relevant must be"):
        ltr.evaluate([0, 0], [1, 2], group=[2], metrics=["mrr"], no_relevant=True)


def test_every_parameter_has_values_that_identify_convention_tries() -> None:
    by_data = {"rel", "column"}  # grades of the data are tried, and a column is the user's
    fields = [(cls, field) for cls in ltr.metrics.METRICS for field in dataclasses.fields(cls)]
    assert {field.name for _, field in fields if not field.metadata.get("tried")} == by_data
    for cls, field in fields:
        assert len(field.metadata.get("tried", (0, 1))) > 1, (cls, field.name)


def test_an_alias_is_the_convention_of_its_system() -> None:
    rows = {"y_true": [0, 1], "y_score": [1, 1], "group": [2], "docid": ["a", "b"]}
    for alias, name in ALIASES.items():
        assert convention_of(alias) is ltr.CONVENTIONS[name]
    result = ltr.evaluate(**rows, metrics="map", convention="ir_measures")
    assert (result["map"], result.policy.convention) == (1, "trec_eval")
    with pytest.raises(ltr.LtrValueError, match="Did you mean 'ir_measures'"):
        ltr.evaluate(**rows, metrics="map", convention="ir_measure")


@pytest.mark.parametrize("name", ltr.CONVENTIONS["tf_ranking"].metrics)
def test_weights_are_refused_where_the_weight_of_a_query_depends_on_its_labels(name: str) -> None:
    rows = {"y_true": [1, 0, 0, 0], "y_score": [2, 1, 2, 1], "group": [2, 2], "query_weight": [3, 1]}
    with pytest.raises(ltr.LtrValueError, match="tf_ranking ignores the weights of queries"):
        ltr.evaluate(**rows, metrics=name, convention="tf_ranking")


def choices_of(convention: ltr.Convention) -> list[str]:
    """Return the ties and undefined values of a convention, and its metrics with what differs from their defaults.

    The default convention has the defaults themselves. They are no part of canonical names, so they can never change.
    """
    never_weighted = set(convention.no_weighted_mean) == set(convention.metrics) != set()
    of_all = [
        f"{name} {spell(value)}" for name in ("cutoff", "rel") if (value := getattr(convention, name)) is not None
    ]
    of_all += ["no weighted mean"] * never_weighted
    defaults = {
        info.name: {key: value for key, value in info.parameters.items() if value not in (None, ...)}
        for info in ltr.available_metrics()
    }
    metrics = []
    for name, settings in sorted((defaults if convention.name == "default" else convention.metrics).items()):
        differences = [f"{key}={spell(value)}" for key, value in settings.items() if key != "k"]
        differences += ["no cutoff"] * ("k" in settings)
        differences += ["an undefined query adds an unweighted 1"] * (name in convention.weighs_undefined_as_one)
        differences += ["no weighted mean"] * (name in convention.no_weighted_mean and not never_weighted)
        metrics.append(f"{name} ({', '.join(differences)})" if differences else name)
    aliases = ", ".join(alias for alias, name in ALIASES.items() if name == convention.name)
    named = f"; also called {aliases}" if aliases else ""
    return [
        spell(convention.ties),
        spell(convention.no_relevant),
        ", ".join(of_all) + ": " * bool(of_all) + ", ".join(metrics) + named,
    ]


def table() -> str:
    """The choices of all conventions as a table in Markdown."""
    heading = ("convention", "ties", "no_relevant", "metrics, with what differs from the first row")
    rows = [(f"`{name}`", *choices_of(one)) for name, one in ltr.CONVENTIONS.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heading, ("---",) * 4, *rows))


def test_the_table_in_the_documentation_is_that_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "conventions.md"
    text = page.read_text(encoding="utf-8")
    begin, end = re.search(r"<!-- conventions:.*-->\n", text).end(), text.index("<!-- end of conventions -->")
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(text[:begin] + table() + text[end:], encoding="utf-8")
        return
    assert text[begin:end] == table(), "run this test with UPDATE_DOCS=1"


@pytest.mark.parametrize(("metric", "convention"), [("err@10", "gdeval"), ("pfound@10", "catboost")])
def test_no_warning_of_a_choice_that_the_convention_made(
    metric: str, convention: str, recwarn: pytest.WarningsRecorder
) -> None:
    data: dict[str, Any] = {"qid": [1, 1], "docid": ["a", "b"], "metrics": metric}
    own = ltr.evaluate([1, 0], [2, 1], **data, convention=convention)
    assert not recwarn.list
    with pytest.warns(ltr.LtrWarning, match="to max_grade=4|as probabilities"):
        assert ltr.evaluate([1, 0], [2, 1], **data)[metric] == own[metric]
