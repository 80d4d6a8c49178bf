"""Names parse to metrics, and back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from table import TABLE

import ltr_metrics as ltr

NAMES = {
    "ndcg@10": "ndcg_exp@10",
    "ndcg": "ndcg_exp",
    "ndcg_lin@10": "ndcg_lin@10",
    "ndcg(gain=linear)@10": "ndcg_lin@10",
    "ndcg(gain=[0,1,3,7,15])@10": "ndcg(gain=[0,1,3,7,15])@10",
    "ndcg_exp(discount=jarvelin)@5": "ndcg_exp(discount=jarvelin)@5",
    "dcg_lin@3": "dcg_lin@3",
    "p@5": "precision@5",
    "ap(rel=2)@10": "map(rel=2)@10",
    "rr": "mrr",
    "err(max_grade=2)@10": "err(max_grade=2)@10",
    "map(rel=0.1)": "map(rel=0.1)",
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


@pytest.mark.parametrize("metric", [m for entry in TABLE for m in entry.metrics()], ids=str)
def test_every_metric_reads_its_own_name_back(metric: ltr.Metric) -> None:
    assert ltr.metric(str(metric)) == metric
    assert hash(ltr.metric(str(metric))) == hash(metric)
    assert eval(repr(metric), vars(ltr)) == metric
    assert not re.search(r"[\s:]", str(metric))  # XGBoost's parser breaks on both
    assert re.fullmatch(r"[\w.-]+", metric.slug)


def test_names_keep_every_digit() -> None:
    label_gain = tuple(2**i - 1 for i in range(31))  # LightGBM's own
    for metric in (ltr.NDCG(gain=label_gain), ltr.MAP(rel=0.1 + 0.2), ltr.MAP(rel=16777217), ltr.ERR(max_grade=7)):
        assert ltr.metric(str(metric)) == metric
    assert ltr.MAP(rel=np.float64(2), k=np.int64(3)) == ltr.MAP(rel=2, k=3)
    assert str(ltr.MAP(rel=np.float64(2), k=np.int64(3))) == "map(rel=2)@3"
    assert ltr.MAP(rel=np.float32(0.7)) != ltr.MAP(rel=0.7)


def test_slugs_are_different_where_names_are() -> None:
    metrics = {str(m): m for entry in TABLE for m in entry.metrics()}
    assert len({m.slug for m in metrics.values()}) == len(metrics)


def test_a_metric_is_an_immutable_value() -> None:
    metric = ltr.NDCG(k=10, gain="linear")
    assert ltr.metric("ndcg_lin@10") == metric
    assert ltr.metric(metric) is metric
    assert metric != ltr.NDCG(k=10)
    with pytest.raises(AttributeError):
        metric.k = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ltr.NDCG(k=0), "k of ndcg"),
        (lambda: ltr.NDCG(k=1.5), "k of ndcg"),
        (lambda: ltr.NDCG(k=True), "k of ndcg"),
        (lambda: ltr.NDCG(gain="exponential"), "gain of ndcg must be one of 'exp', 'linear'"),
        (lambda: ltr.NDCG(gain=3), "gain of ndcg"),
        (lambda: ltr.NDCG(gain=lambda y: y), "must have a name"),
        (lambda: ltr.NDCG(discount="none"), "discount of ndcg"),
        (lambda: ltr.MAP(rel=0), "rel of map must be a number above 0"),
        (lambda: ltr.MAP(denominator="k"), "denominator of map"),
        (lambda: ltr.MAP(denominator="cutoff"), "needs a cutoff"),
        (lambda: ltr.ERR(max_grade=-1), "max_grade of err"),
        (lambda: ltr.ERR(p="raw"), "p of err"),
        (lambda: ltr.metric("map(rel=2,rel=3)"), "given twice"),
        (lambda: ltr.metric(10), "by name or as a metric object"),
        (lambda: ltr.metric("NDCG@10"), "Did you mean 'ndcg'"),
        (lambda: ltr.metric("ndcg@ 10"), "has the form"),
    ],
)
def test_what_is_no_metric_is_refused(make: object, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        make()  # type: ignore[operator]
