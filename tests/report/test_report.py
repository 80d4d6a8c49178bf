"""The report: its plain values, and CSV."""

from __future__ import annotations

import csv
import io
import itertools
import json
from typing import Any

import numpy as np
import pytest
from made_report import METRICS, MODELS, made_report

import ltr_metrics as ltr
from ltr_metrics.report import Report, as_json, as_per_query_csv, summarize

pytestmark = pytest.mark.integration

ROWS = ["ndcg@10", "mrr", "map(rel=2)", "p@5"]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=6, random_state=0)
    return {"X": X, "y": y, "qid": qid, "scores": {"good": X[:, 0], "flat": np.zeros(len(y))}}


@pytest.fixture(scope="module")
def report() -> Report:
    return made_report()


def test_the_values_are_those_of_evaluate(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    report = summarize(queries, rows["scores"], ROWS, source="here", ties="worst", intervals_of_means={})
    found = report.to_dict()
    assert json.loads(as_json(report)) == found
    for name, score in rows["scores"].items():
        expected = queries.evaluate(score, ROWS, ties="worst")
        intervals = ltr.intervals(expected)
        for line in (line for line in found["means"] if line["model"] == name):
            metric = line["metric"]
            assert line["mean"] == expected[metric]
            assert line["n_undefined"] == expected.n_undefined[metric] == 40 - line["n_queries"]
            assert line["q25"] == np.nanquantile(expected.per_query[metric], 0.25)
            assert (line["ci_low"], line["ci_high"]) == (intervals[metric].ci_low, intervals[metric].ci_high)
    assert (found["data"]["n_rows"], sum(found["data"]["grades"].values())) == (len(rows["y"]), len(rows["y"]))
    assert found["data"]["n_no_relevant"] == expected.n_undefined["mrr"]
    assert (found["options"]["ties"], found["options"]["convention"]) == ("worst", "default")


def test_the_sections_are_the_results_of_the_functions_alone(report: Report) -> None:
    found, comparison = report.to_dict(), report.comparison
    assert comparison is not None
    assert json.loads(as_json(report)) == found
    assert found["comparison"] == comparison.to_dict()
    kept = {str(row["qid"]): comparison.query(row["qid"]).to_dict() for row in report.changes[:5]}
    assert kept == {str(one["qid"]): one for one in found["documents"] if str(one["qid"]) in kept}
    assert found["documents"][0]["rankings"]["bm25"][0].keys() >= {"rank", "document", "grade", "score", "ranks"}
    assert made_report(n_queries=20, documents=False).to_dict()["documents"] == []
    for row in found["relative"]:
        assert (
            row["value"]
            == comparison[row["metric"], row["model"]].difference
            / comparison[row["metric"], row["model"]].baseline_mean
        )
    for metric, model in itertools.product(METRICS, MODELS[1:]):
        of_model = [row for row in found["changes"] if (row["metric"], row["model"]) == (metric, model)]
        change = comparison.changes(metric, model)
        for has_gained, queries in ((True, change.improved), (False, change.worsened)):
            assert [row["qid"] for row in of_model if row["has_gained"] == has_gained] == queries[:5].tolist()
        for row in of_model:
            i = comparison.qid.tolist().index(row["qid"])
            assert row["value"] == comparison.evaluations[model].per_query[metric][i]
            assert row["difference"] == pytest.approx(row["value"] - row["baseline"], abs=1e-15)
    assert [row["model"] for row in found["rankings"]] == list(MODELS[1:])
    for row in found["rankings"]:
        assert row["overlap"] == report.churn[row["model"]].mean["overlap"]
    curve, differences = report.curves
    assert (curve.metric, curve.k.tolist(), list(curve.curves)) == ("ndcg_exp", list(range(1, 11)), list(MODELS))
    assert (differences.baseline, list(differences.curves)) == (MODELS[0], list(MODELS[1:]))
    assert differences.curves["xgboost"].mean[-1] == comparison["ndcg_exp@10", "xgboost"].difference
    assert curve.chance is not None
    assert curve.chance[-1] == report.first.chance["ndcg_exp@10"]
    for model in MODELS:
        assert curve.curves[model].mean[-1] == report.evaluations[model]["ndcg_exp@10"]
    assert found["audit"]["models"]["bm25"]["n_tied_queries"] > 0


def test_clusters_of_rows(rows: dict[str, Any]) -> None:
    queries, options = ltr.Queries(rows["y"], qid=rows["qid"]), {"cluster": rows["qid"] // 4, "n_resamples": 200}
    found = summarize(queries, rows["scores"], "mrr", baseline="good", comparing=options).comparison
    expected = ltr.compare(rows["scores"], rows["y"], qid=rows["qid"], metrics="mrr", baseline="good", **options)
    assert getattr(found, "rows", None) == expected.rows


def test_a_deep_metric_has_a_curve_of_twenty_cutoffs(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    report = summarize(queries, rows["scores"], ["ndcg@5", "ndcg@1000", "mrr@1"], complete=True, no_relevant=1)
    (curve,) = report.curves
    assert (curve.metric, int(curve.k[0]), int(curve.k[-1])) == ("ndcg_exp", 1, 1000)
    assert 15 <= len(curve.k) <= 20
    assert curve.n_queries == (40, 40)  # none is undefined, as requested


@pytest.mark.parametrize("convention", ["lightgbm", "xgboost", "catboost", "vespa"])
def test_each_cutoff_of_a_curve_has_the_mean_of_its_convention(rows: dict[str, Any], convention: Any) -> None:
    grades = np.where(rows["qid"] % 3, np.minimum(rows["y"], 1), 0)
    queries = ltr.Queries(grades, qid=rows["qid"], query_weight=np.linspace(0.1, 2, 40))
    report = summarize(queries, rows["scores"], "ndcg@4", complete=True, convention=convention)
    means = queries.evaluate(rows["scores"]["good"], [f"ndcg@{k}" for k in range(1, 5)], convention=convention).mean
    assert report.curves[0].curves["good"].mean.tolist() == list(means.values())


def test_csv_has_a_line_for_each_model_and_query(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    read = list(csv.DictReader(io.StringIO(as_per_query_csv(summarize(queries, rows["scores"], ROWS)))))
    assert list(read[0]) == ["model", "qid", "documents", "relevant", *map(str, map(ltr.metric, ROWS))]
    assert len(read) == 80
    expected = queries.evaluate(rows["X"][:, 0], "ndcg@10").per_query["ndcg@10"]
    found = [float(line["ndcg_exp@10"] or "nan") for line in read[:40]]
    np.testing.assert_array_equal(found, expected)  # to the last digit
    weighted = as_per_query_csv(made_report(n_queries=30, weighted=True))
    assert next(csv.reader(io.StringIO(weighted)))[:4] == ["model", "weight", "size", "qid"]
