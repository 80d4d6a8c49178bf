"""Names parse to metrics, and back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from table import TABLE

import ltr_metrics as ltr
from ltr_metrics.metrics import METRICS

NAMES = {
    "ndcg@10": "ndcg_exp@10",
    "ndcg": "ndcg_exp",
    "ndcg(gain=linear)@10": "ndcg_lin@10",
    "ndcg(ideal=shown)@10": "ndcg_exp(ideal=shown)@10",
    "ndcg(ideal=cutoff)": "ndcg_exp",
    "p@5": "precision@5",
    "ap(rel=2)@10": "map(rel=2)@10",
    "rr": "mrr",
    "map(rel=>.50)@10": "map(rel=>0.5)@10",
    "recall(rel=binary)@5": "recall(rel=binary)@5",
    "success@1": "hit@1",
    "err(max_grade=query)@5": "err(max_grade=query)@5",
    "pfound(p_rel=[0,0.5,1],p_break=0.1)": "pfound(p_break=0.1,p_rel=[0,0.5,1])",
    "mean_of(margin)@10": "mean_of(margin)@10",
    "mean_of(column=margin.2-x)": "mean_of(margin.2-x)",
    "auc": "pair_accuracy",
    "auc(tied=0.0,average=micro)": "pair_accuracy(tied=0,average=micro)",
    "tau": "kendall",
    "rho": "spearman",
    "map(rel=2,denominator=relevant)@10": "map(rel=2,denominator=relevant)@10",
    "map(denominator=relevant,rel=2)@10": "map(rel=2,denominator=relevant)@10",
    "map(rel=2.0)": "map(rel=2)",
    "map(rel=1234567)": "map(rel=1234567)",
    "map(rel=1e-07)": "map(rel=1e-07)",
    "ndcg(gain=[0,1,1048575,16777215.5])": "ndcg(gain=[0,1,1048575,16777215.5])",
}


@pytest.mark.parametrize("name", NAMES)
def test_canonical_names(name: str) -> None:
    metric = ltr.metric(name)
    assert str(metric) == NAMES[name]
    assert ltr.metric(str(metric)) == metric


def test_every_metric_reads_its_own_name_back_and_has_a_slug_of_its_own() -> None:
    metrics = {str(metric): metric for entry in TABLE for metric in entry.metrics()}
    for name, metric in metrics.items():
        assert ltr.metric(name) == metric
        assert hash(ltr.metric(name)) == hash(metric)
        assert eval(repr(metric), vars(ltr)) == metric
        assert not re.search(r"[\s:]", name)  # XGBoost's parser breaks on both
        assert re.fullmatch(r"[\w.-]+", metric.slug)
    assert len({metric.slug for metric in metrics.values()}) == len(metrics)


def test_names_keep_every_digit() -> None:
    label_gain = tuple(2**i - 1 for i in range(31))  # LightGBM's own
    for metric in (ltr.NDCG(gain=label_gain), ltr.MAP(rel=0.1 + 0.2), ltr.MAP(rel=16777217), ltr.ERR(max_grade=7)):
        assert ltr.metric(str(metric)) == metric
    assert ltr.MAP(rel=np.float64(2), k=np.int64(3)) == ltr.MAP(rel=2, k=3)
    assert str(ltr.MAP(rel=np.float64(2), k=np.int64(3))) == "map(rel=2)@3"
    assert ltr.MAP(rel=np.float32(0.7)) != ltr.MAP(rel=0.7)


def test_a_metric_is_an_immutable_value() -> None:
    metric = ltr.NDCG(k=10, gain="linear")
    assert ltr.metric("ndcg_lin@10") == metric
    assert ltr.metric(metric) is metric
    assert metric != ltr.NDCG(k=10)
    with pytest.raises(AttributeError):
        metric.k = 5  # type: ignore[misc]


def jarvelin(ranks: np.ndarray) -> np.ndarray:
    return 1 / ranks


def test_slugs_keep_signs_apart() -> None:
    pairs = (
        ("map(rel=1e16)", "map(rel=1e-16)"),
        ("dcg(gain=[-1,0])", "dcg(gain=[1,0])"),
        ("map(rel=>1)", "map(rel=1)"),
    )
    for one, other in pairs:
        assert ltr.metric(one).slug != ltr.metric(other).slug
    assert str(ltr.metric("map(rel=>-0)")) == "map(rel=>0)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ltr.NDCG(k=0), "k of ndcg"),
        (lambda: ltr.NDCG(gain=lambda y: y), "must have a name"),
        (lambda: ltr.NDCG(ideal="slots"), r"needs a cutoff. Write ndcg_exp\(ideal=slots\)@10"),
        (lambda: ltr.metric("dcg(ideal=all)"), "dcg has no parameter 'ideal'"),
        (lambda: ltr.MAP(rel=0), "rel of map must be a number above 0"),
        (lambda: ltr.MAP(denominator="cutoff"), "needs a cutoff"),
        (lambda: ltr.ERR(max_grade=-1), "max_grade of err"),
        (lambda: ltr.MAP(rel="high"), "rel of map must be a number above 0, '>0.5'.*Got 'high'"),
        (lambda: ltr.RBP(p=1), "p of rbp must be a finite number between 0 and 1"),
        (lambda: ltr.RBP(graded="max", rel=2), "rel has no effect"),
        (lambda: ltr.RBP(max_grade=2), "max_grade of rbp is for graded=max"),
        (lambda: ltr.RBP(graded="max", max_grade="query"), "max_grade of rbp must be a finite number above 0"),
        (lambda: ltr.PairAccuracy(tied=2), "tied of pair_accuracy must be a finite number from 0 to 1. Got 2"),
        (lambda: ltr.metric("pair_accuracy(ties=0)"), "no parameter 'ties'.* Did you mean 'tied'"),
        (lambda: ltr.PFound(max_grade="query"), "max_grade of pfound is for p_rel=exp"),
        (lambda: ltr.PFound(p_break=1), "p_break of pfound"),
        (lambda: ltr.PFound(p_rel=[0, 2]), "must hold probabilities"),
        (lambda: ltr.MeanOf(column="a b"), "name a column in letters"),
        (lambda: ltr.metric("mean_of@10"), r"must give the column: write mean_of\(column\)@10"),
        (lambda: ltr.metric("rprec@10"), "rprec has no cutoff"),
        (lambda: ltr.metric("map(rel)"), "parameter rel in 'map\\(rel\\)' has no value"),
        (lambda: ltr.metric("map(rel=1_0)"), "rel of map"),
        (lambda: ltr.NDCG(gain=[1, [2, 3]]), "one finite number per grade"),
        (lambda: ltr.DCG(discount=jarvelin), "must be one of 'log2', 'jarvelin', 'position'; got <function jarvelin"),
        (lambda: ltr.metric("ndcg@5-"), "suffix '-' is no_relevant=0 here"),
        (lambda: ltr.metric(ltr.NDCG), "not as its class"),
        (lambda: ltr.metric("map(rel=2,rel=3)"), "given twice"),
        (lambda: ltr.metric(10), "by name or as a metric object"),
        (lambda: ltr.metric("NDGC@10"), r"no metric 'NDGC' \(in 'NDGC@10'\)\. Did you mean 'ndcg'\? Known"),
        (lambda: ltr.metric(""), "Is there a comma too many"),
        (lambda: ltr.metric("MAP(5)"), "A cutoff follows the name: write map@5"),
        (lambda: ltr.metric(np.zeros(2000)), r"Got array\(.{1,50}\)\.$"),  # not all of its numbers
        (lambda: ltr.metric("revenue@3"), r"If it is a column, write sum_of\(revenue\)@3 or mean_of\(revenue\)@3"),
        (lambda: ltr.metric("ndcg@10,map"), r"Pass them as a list: \['ndcg@10', 'map'\]"),
    ],
)
def test_what_is_no_metric_is_refused(make: object, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "hint"),
    {
        "ndcg@5,10": "Pass them as a list: ['ndcg@5', 'ndcg@10'].",
        "map@5, 10,mrr": "Pass them as a list: ['map@5', 'map@10', 'mrr'].",
        "ndcg_at_10": "Write ndcg@10.",
        "NDCG_exp_at_10": "Write NDCG_exp@10.",
        "p_at_5": "Write p@5.",
        "precision_at_10": "Write precision@10.",
        "ndcg at 10": "Write ndcg@10.",
        "ndcg 10": "Write ndcg@10.",
        "ndcg-10": "Write ndcg@10.",
        "ndcg@ 10": "Write ndcg@10.",
        "ndcg @10": "Write ndcg@10.",
        " ndcg@10\n": "Write ndcg@10.",
        "map(rel=2) @ 10": "Write map(rel=2)@10.",
        "ndcg@k": "A cutoff is a whole number of at least 1",
        "ndcg@10.0": "A cutoff is a whole number of at least 1",
        "ndcg@-1": "A cutoff is a whole number of at least 1",
        "accuracy@10": "is 'hit@10' here",
        "accuracy_at_10": "is 'hit@10' here",
        "pre@5": "'pre@5' of XGBoost is 'precision@5' here",
        "ndcg@10-": "XGBoost's suffix '-' is no_relevant=0 here",
        "rmse": "'rmse' measures the scores themselves and not their order",
    }.items(),
)
def test_other_spellings_are_answered_with_the_name(name: str, hint: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=re.escape(hint)) as caught:
        ltr.metric(name)
    assert "sum_of(" not in str(caught.value)


def test_slugs_are_answered_with_the_name() -> None:
    for entry in TABLE:
        for metric in entry.metrics():
            if metric.slug != str(metric):
                with pytest.raises(ltr.LtrValueError) as caught:
                    ltr.metric(metric.slug)
                written = re.search(r" Write (\S+)\.(?= |$)", str(caught.value))
                assert written, str(caught.value)
                assert ltr.metric(written[1]) == metric


def test_available_metrics() -> None:
    infos = {info.name: info for info in ltr.available_metrics()}
    assert set(infos) == {cls.NAME for cls in METRICS}
    assert infos["hit"].aliases == ("success", "hit_rate")
    assert infos["kendall"].parameters == {}
    assert infos["mean_of"].parameters == {"k": None, "column": ...}
    for info in infos.values():
        assert info.summary.endswith(".") or ";" in info.summary
        for name in (info.name, *info.aliases):
            inside = "(margin)" if info.name in ("mean_of", "sum_of") else ""
            assert isinstance(ltr.metric(name + inside), ltr.Metric)


@pytest.mark.parametrize(
    "name",
    [
        f"ndcg(gain={'[' * 5000}1{']' * 5000})",
        "ndcg(gain=[[1,2]])",
        f"map@{'9' * 5000}",
    ],
    ids=lambda name: f"{name[:14]}... of {len(name)}",
)
def test_names_that_are_nested_or_long_are_refused(name: str) -> None:
    with pytest.raises(ltr.LtrValueError):
        ltr.metric(name)


def names_in_the_definitions() -> dict[frozenset[str], str]:
    """Return the names of each metric, without cutoffs, and its section in docs/definitions.md."""
    page = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
    sections = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"): text
        for heading, text in re.findall(r"^### (.*)\n((?:(?!#{2,3} ).*\n)*)", page, flags=re.MULTILINE)
    }
    rows = re.findall(r"^\| \[(`.*`)\]\(#(.*?)\)(.*?) \|", page, flags=re.MULTILINE)
    return {frozenset(re.findall(r"`(\w+)", name + others)): sections[anchor] for name, anchor, others in rows}


def test_the_definitions_have_a_section_for_each_metric_with_all_of_its_names_and_parameters() -> None:
    sections = names_in_the_definitions()
    infos = {frozenset({info.name, *info.aliases}): info for info in ltr.available_metrics()}
    assert sections.keys() == infos.keys()
    for names, info in infos.items():
        optional = {name for name, default in info.parameters.items() if default is not ...}
        assert {name for name in optional - {"k"} if f"`{name}`" not in sections[names]} == set(), info.name


def test_the_column_of_a_metric_may_be_positional() -> None:
    assert ltr.SumOf("revenue", k=10) == ltr.metric("sum_of(revenue)@10") == ltr.SumOf(column="revenue", k=10)
    assert ltr.MeanOf("revenue") == ltr.metric("mean_of(revenue)")
