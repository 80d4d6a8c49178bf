"""The report: the dict first, then its renderings."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr
from ltr_metrics.io.models import predict
from ltr_metrics.report import as_json, as_per_query_csv, as_text, summarize

pytestmark = pytest.mark.integration

METRICS = ["ndcg@10", "mrr", "map(rel=2)", "p@5"]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=6, random_state=0)
    return {"X": X, "y": y, "qid": qid, "scores": {"good": X[:, 0], "flat": np.zeros(len(y))}}


def test_the_dict_says_what_evaluate_says(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    report = summarize(queries, rows["scores"], METRICS, source="here", ties="worst")
    assert json.loads(as_json(report)) == report.summary
    for name, score in rows["scores"].items():
        expected = ltr.evaluate(rows["y"], score, qid=rows["qid"], metrics=METRICS, ties="worst")
        for metric, line in report.summary["models"][name].items():
            values = expected.per_query[metric]
            assert line["mean"] == expected[metric]
            assert line["n_undefined"] == expected.n_undefined[metric] == 40 - line["n_queries"]
            assert line["quantiles"]["0.25"] == np.nanquantile(values, 0.25)
    described = report.summary["data"]
    assert described["rows"] == len(rows["y"])
    assert sum(described["grades"].values()) == len(rows["y"])
    assert described["queries_without_relevant"] == expected.n_undefined["mrr"]
    assert report.summary["options"] == {
        "ties": "worst",
        "no_relevant": "skip",
        "convention": "default",
        "weighted": False,
        "no_relevant_of": {},
    }


def test_a_metric_that_no_query_defines() -> None:
    report = summarize(ltr.Queries([0, 0], group=[2]), {"a": [1, 2]}, ["mrr"])
    assert report.summary["models"]["a"]["mrr"]["mean"] is None
    assert json.loads(as_json(report))["models"]["a"]["mrr"]["quantiles"]["0.5"] is None
    assert ["mrr", "a", *["-"] * 6, "0", "1"] in [line.split() for line in as_text(report).splitlines()]


def test_text_has_a_line_for_each_metric_and_model(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"], sample_weight=np.ones(len(rows["y"])))
    origins = {"good": "column 1", "flat": "flat.txt"}
    text = as_text(summarize(queries, rows["scores"], METRICS, source="here", origins=origins))
    heading, table, _ = text.split("\n\n")
    shown = dict(line.split(maxsplit=1) for line in heading.splitlines())
    assert shown["Data"] == "here"
    assert shown["Models"] == "good: column 1; flat: flat.txt"
    assert shown["Queries"] == "40, 5 without a grade above 0"
    assert shown["Options"] == "ties=mean, no_relevant=skip, convention=default, means weighted by query"
    lines = table.splitlines()
    assert lines[0].split()[:6] == ["metric", "model", "weighted", "mean", "q5", "q25"]
    assert [line.split()[:2] for line in lines[2:6:2]] == [["ndcg_exp@10", "good"], ["mrr", "good"]]
    assert [line.split()[0] for line in lines[3:7:2]] == ["flat", "flat"]
    assert len(lines) == 2 * len(METRICS) + 2
    assert {len(line) for line in lines} == {len(lines[0])}  # columns are aligned


def test_csv_has_a_line_for_each_model_and_query(rows: dict[str, Any]) -> None:
    queries = ltr.Queries(rows["y"], qid=rows["qid"])
    text = as_per_query_csv(summarize(queries, rows["scores"], METRICS))
    read = list(csv.DictReader(io.StringIO(text)))
    assert list(read[0]) == ["model", "qid", "documents", "relevant", *map(str, map(ltr.metric, METRICS))]
    assert len(read) == 80
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="ndcg@10").per_query["ndcg@10"]
    got = [float(line["ndcg_exp@10"] or "nan") for line in read[:40]]
    np.testing.assert_array_equal(got, expected)  # to the last digit


def test_a_model_of_pandas_categories_is_refused(tmp_path: Path, rows: dict[str, Any]) -> None:
    X, y, qid = rows["X"], rows["y"], rows["qid"]
    frame = pd.DataFrame(X).add_prefix("Column_").assign(Column_5=pd.Categorical((X[:, 5] > 0).astype(int)))
    train = lgb.Dataset(frame, y, group=ltr.qid_to_group(qid))
    lgb.train({"objective": "lambdarank", "verbose": -1}, train, 2).save_model(tmp_path / "categories.txt")
    with pytest.raises(ltr.LtrValueError, match=r"trained on pandas categories.*pass the scores as a column"):
        predict(tmp_path / "categories.txt", frame)
