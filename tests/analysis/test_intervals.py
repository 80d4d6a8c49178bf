"""Uncertainty of one evaluation: standard errors and intervals, with weights and clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr

VALUES = np.array([0.2, 0.9, 0.4, 0.4, 1.0, 0.0, 0.7, 0.3])
WEIGHT = np.array([1, 2, 0.5, 3, 1, 1, 4, 2])
CLUSTER = ["a", "a", "b", "b", "b", "c", "d", "d"]


def result_with(values: Any, **options: Any) -> ltr.Evaluation:
    """Return an evaluation with these values of MRR."""
    values = np.asarray(values, dtype=np.float64)
    ones = np.ones(len(values))
    options = options if "qid" in options else {"group": ones} | options
    return ltr.evaluate(ones, ones, metrics="mrr", **options).with_values({"mrr": values})


def ranked(**options: Any) -> ltr.Evaluation:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    return ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@10", "map"], **options)


# -- against statsmodels 0.15.0: WLS on a constant, cov_type="HC1", or "cluster" with groups; use_t=True ---------------


@pytest.mark.parametrize(
    ("options", "mean", "error"),
    [
        ({}, 0.4874999999999999, 0.12311072252245128),
        ({"cluster": CLUSTER}, 0.4874999999999999, 0.08753719447564372),
        ({"query_weight": WEIGHT}, 0.5379310344827585, 0.10332703387228241),
        ({"query_weight": WEIGHT, "cluster": CLUSTER}, 0.5379310344827585, 0.05451796579231982),
    ],
)
def test_means_and_standard_errors_are_those_of_statsmodels(options: Any, mean: float, error: float) -> None:
    result = result_with(VALUES, **options)
    one = ltr.intervals(result)["mrr"]
    assert result["mrr"] == one.mean == pytest.approx(mean, rel=1e-14)
    assert [result.standard_error["mrr"], one.standard_error] == pytest.approx([error, error], rel=1e-14)


# -- clusters ---------------------------------------------------------------------------------------------------------


def test_clusters_can_be_labels_of_rows_of_queries_and_by_id() -> None:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    result = ranked()
    labels = [f"user {number // 4}" for number in range(40)]
    by_id = dict(zip(result.qid.tolist(), labels, strict=True))
    expected = ltr.intervals(result, cluster=labels).to_dict()
    for other in (by_id, {str(key): label for key, label in by_id.items()}, pd.Series(by_id)):
        assert ltr.intervals(result, cluster=other).to_dict() == expected
    for at_evaluation in (labels, [by_id[query] for query in qid.tolist()]):
        evaluated = ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@10", "map"], cluster=at_evaluation)
        assert ltr.intervals(evaluated).to_dict() == expected
        assert evaluated.standard_error["map"] == pytest.approx(expected["rows"][1]["standard_error"], rel=1e-12)


def test_clusters_go_with_their_queries(tmp_path: Path) -> None:
    cluster = [number // 4 for number in range(40)]
    result = ranked(cluster=cluster, by=["de", "fr"] * 20)
    part = result.subset(result.qid[::2])
    assert part.cluster is not None
    assert part.cluster.tolist() == cluster[::2]
    assert result.by["de"].cluster.tolist() == cluster[::2]
    assert result.to_dict()["cluster"] == cluster
    with pytest.raises(ltr.LtrValueError, match="A metric named 'cluster' cannot be saved"):
        result_with(VALUES).with_values({"cluster": VALUES}).save(tmp_path / "saved.parquet")
    result.save(tmp_path / "saved.parquet")
    loaded = ltr.load_result(tmp_path / "saved.parquet")
    assert loaded.standard_error == result.standard_error
    assert ltr.intervals(loaded).to_dict() == ltr.intervals(result).to_dict()


def test_compare_uses_the_clusters_and_weights_of_results_and_queries() -> None:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    cluster = np.arange(40) // 4
    scores = {"a": X[:, 0], "b": X[:, 1]}
    options: dict[str, Any] = {"metrics": ["map"], "n_resamples": 500}
    weights = {"query_weight": np.arange(1.0, 41)}
    weighted = ltr.compare(scores, y, qid=qid, **weights, **options)
    assert ltr.compare(scores, ltr.Queries(y, qid=qid, **weights), **options).to_dict() == weighted.to_dict()
    expected = ltr.compare(scores, y, qid=qid, cluster=cluster, **options).to_dict()
    queries = ltr.Queries(y, qid=qid, cluster=cluster)
    results = {name: queries.evaluate(one, "map") for name, one in scores.items()}
    assert ltr.compare(scores, queries, **options).to_dict() == expected
    assert ltr.compare(results, **options).to_dict() == expected
    without = ltr.evaluate(y, scores["b"], qid=qid, metrics="map")
    assert ltr.compare(results | {"b": without}, **options).to_dict() == expected
    for size in (2, 5, 8):  # finer, others, and coarser
        different = ltr.evaluate(y, scores["b"], qid=qid, metrics="map", cluster=np.arange(40) // size)
        with pytest.raises(ltr.LtrValueError, match="The results have different clusters"):
            ltr.compare(results | {"b": different}, **options)
    assert ltr.compare(results | {"b": different}, cluster=cluster, **options).to_dict() == expected


# -- intervals --------------------------------------------------------------------------------------------------------


def test_the_digits_depend_on_the_queries_alone() -> None:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    order = np.random.default_rng(1).permutation(len(y))
    cluster = (qid * 7) % 11
    options: dict[str, Any] = {"metrics": ["ndcg@10", "map"]}
    one = ltr.evaluate(y, X[:, 0], qid=qid, cluster=cluster, **options)
    other = ltr.evaluate(y[order], X[order, 0], qid=qid[order], cluster=cluster[order], **options)
    both, alone = ltr.intervals(one), ltr.intervals(other, "map")
    assert (both["map"].ci_low, both["map"].ci_high) == (alone["map"].ci_low, alone["map"].ci_high)
    assert both["map"].standard_error == alone["map"].standard_error
    assert list(both) == ["ndcg_exp@10", "map"]
    assert both["ndcg@10"].metric == "ndcg_exp@10"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ltr.intervals(ranked(), "mpa"), "Did you mean 'map'"),
        (lambda: ltr.intervals(ranked(), cluster=[1, 2]), "cluster must have one label per query"),
        (lambda: ltr.intervals(ranked(), cluster={1: "a"}), "cluster has no entry for query"),
        (lambda: ltr.intervals(result_with([0.5])), "There is one query only, and an interval needs two or more"),
        (lambda: ltr.intervals(result_with([0.5, np.inf, 1])), "mrr is infinite for query 1"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        call()


# -- coverage ---------------------------------------------------------------------------------------------------------


def test_undefined_queries_are_left_out_and_counted() -> None:
    values = [0.5, np.nan, 1.0, 0.25]
    one = ltr.intervals(result_with(values))["mrr"]
    assert (one.n_queries, one.n_undefined) == (3, 1)
    assert one.mean == pytest.approx(np.nanmean(values))
    single = ltr.intervals(result_with([0.5, np.nan]))["mrr"]
    assert single.mean == 0.5
    assert np.isnan([single.ci_low, single.ci_high, single.standard_error]).all()
    assert single.to_dict()["ci_low"] is None


def test_queries_of_weight_0_are_not_counted() -> None:
    result = result_with(VALUES, query_weight=[0, 0, *WEIGHT[2:]])
    assert ltr.intervals(result)["mrr"].n_queries == 6


def test_a_mean_without_an_interval_says_why() -> None:
    equal = ltr.Evaluation.from_per_query({"qid": np.arange(20), "latency": np.full(20, 3.0)})
    table = ltr.intervals(equal)
    assert np.isnan([table["latency"].ci_low, table["latency"].ci_high]).all()
    assert "latency has none: all values are equal, and the range of the metric is not known." in " ".join(
        str(table).split()
    )
