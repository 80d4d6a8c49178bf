"""Worked values from papers, articles and peers' tests; each says where it is from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.filterwarnings("ignore:err counts grades")


def of_ranked(labels: list[float], *metrics: str | ltr.Metric) -> list[float]:
    """Metrics of documents that are given in ranked order."""
    result = ltr.evaluate(labels, -np.arange(len(labels)), group=[len(labels)], metrics=metrics)
    return [result[m] for m in metrics]


def test_q_measure_of_ntcireval() -> None:
    """NTCIREVAL's sample.rel and sample.res with gains 1:2:3, as its README and pyNTCIREVAL's tests print them (4 digits)."""
    labels = [0, 3, 0, 2, 3, 3, 2, 2, 1, 1, 1, 1]  # the third is not judged; those after the fourth are not retrieved
    retrieved = np.arange(len(labels)) < 4
    names = ["map", "q", "map@2", "q@2"]
    result = ltr.evaluate(labels, -np.arange(len(labels)), group=[len(labels)], metrics=names, retrieved=retrieved)
    assert [round(result[name], 4) for name in names] == [0.1, 0.0967, 0.25, 0.25]


def test_arp_of_tf_ranking() -> None:
    """The examples in the documentation of tfr.keras.metrics.ARPMetric, and in its tests (metrics_test.py).

    TF-Ranking weights a query by its sum of grades.
    """
    assert ltr.evaluate([0, 1, 1], [3, 1, 2], group=[3], metrics=["arp"])["arp"] == 2.5
    ragged = ltr.evaluate([0, 1, 1, 2, 0], [2, 1, 2, 5, 4], group=[2, 3], metrics=["arp"], query_weight=[1, 3])
    assert ragged["arp"] == pytest.approx(1.75, rel=1e-15)
    tested = ltr.evaluate([0, 0, 1, 0, 1, 2], [1, 3, 2, 1, 2, 3], group=[3, 3], metrics=["arp"], query_weight=[1, 3])
    assert tested["arp"] == pytest.approx((1 * 2 + 2 * 1 + 1 * 2) / 4, rel=1e-15)


# -- reference/metrics_published.json: every entry is checked, or named here with the reason why it is not -----------------


def jarvelin_dcg(entry: dict[str, Any]) -> None:
    for k, expected in enumerate(entry["per_rank"], start=1):
        got = of_ranked(entry["gains"], ltr.DCG(k=k, gain="linear", discount="jarvelin"))
        assert got == [pytest.approx(expected, abs=entry["tol"])]


def jarvelin_ndcg(entry: dict[str, Any]) -> None:
    gains, ideal = (
        [3, 2, 3, 0, 0, 1, 2, 2, 3, 0],
        [3, 3, 3, 2, 2, 2, 1, 1, 1, 1],
    )  # the ideal is given, not the list's own
    for k, expected in enumerate(entry["per_rank"], start=1):
        dcg = ltr.DCG(k=k, gain="linear", discount="jarvelin")
        assert of_ranked(gains, dcg)[0] / of_ranked(ideal, dcg)[0] == pytest.approx(expected, abs=entry["tol"])


def article_000_dcg(entry: dict[str, Any]) -> None:
    got = of_ranked(entry["labels"], "dcg_exp", "ndcg_exp")
    assert got == [pytest.approx(entry["dcg"], rel=1e-14), pytest.approx(entry["ndcg"], rel=1e-14)]
    assert of_ranked(sorted(entry["labels"], reverse=True), "dcg_exp") == [pytest.approx(entry["idcg"], rel=1e-14)]


def article_004(entry: dict[str, Any]) -> None:
    for labels, ndcg1, ndcg2 in entry["rows"]:
        got = of_ranked(labels, "ndcg_lin(discount=jarvelin)", "ndcg_exp")
        assert got == [pytest.approx(ndcg1, abs=5e-7), pytest.approx(ndcg2, abs=5e-7)]


def article_003(entry: dict[str, Any]) -> None:
    got = of_ranked(entry["labels"], "dcg_lin(discount=jarvelin)", "ndcg_lin(discount=jarvelin)")
    assert got == [pytest.approx(entry["dcg"], rel=1e-14), pytest.approx(entry["ndcg"], rel=1e-14)]


def gdeval(entry: dict[str, Any]) -> None:
    names = {"nDCG@20": "ndcg@20", "nDCG@2": "ndcg@2", "ERR@20": "err@20", "ERR@2": "err@2"}
    rows = []
    for query, judged in entry["qrels"].items():
        for doc in judged | entry["run"][query]:
            score = entry["run"][query].get(doc)
            rows.append((query, judged.get(doc, 0), float("nan") if score is None else score, score is not None))
    qid, y, score, retrieved = zip(*rows, strict=True)
    result = ltr.evaluate(y, score, qid=qid, metrics=list(names.values()), retrieved=retrieved)
    for theirs, ours in names.items():
        expected = entry["expected"][theirs]
        np.testing.assert_allclose(result.per_query[ours], [expected[q] for q in result.qid], atol=5.1e-6)
        assert result[ours] == pytest.approx(expected["mean"], abs=5.1e-6)


def xgboost(entry: dict[str, Any]) -> None:
    for case in entry["cases"]:
        if "pred" not in case:  # an empty or all-zero group
            assert (
                ltr.evaluate([0, 0], [1, 2], group=[2], metrics="ndcg", convention="xgboost")["ndcg"] == case["value"]
            )
            assert ltr.evaluate([0], [1], group=[1], metrics="map", no_relevant=0)["map"] == case["minus_variant"]
            continue
        name = {"pre@4": "precision@4", "ndcg exp": "ndcg_exp", "ndcg linear": "ndcg_lin"}.get(
            case["metric"], case["metric"]
        )
        group = np.diff(case.get("groups", [0, len(case["pred"])]))
        got = ltr.evaluate(case["label"], case["pred"], group=group, metrics=name, convention="xgboost")[name]
        assert got == pytest.approx(case["value"], abs=entry["tol"])


def rankeval(entry: dict[str, Any]) -> None:
    expected = entry["expected"]  # three digits, cut off
    # "NDCG flat" is made with exponential gains: flat gains would give .7187
    first = ltr.evaluate(entry["y"], entry["pred"], group=[5], metrics=["ndcg_exp", "mrr", "mrr(rel=2)"])
    second = ltr.evaluate(entry["y2"], entry["pred2"], group=[5], metrics=["map", "map(denominator=relevant)@3", "mrr"])
    assert of_ranked(sorted(entry["y"], reverse=True), "dcg_lin")[0] == pytest.approx(
        expected["DCG flat q1 ideal"], abs=1e-3
    )
    assert first["ndcg_exp"] == pytest.approx(expected["NDCG flat q1"], abs=1e-3)
    assert first["mrr"] == expected["MRR q1"]
    assert first["mrr(rel=2)"] == expected["MRR(threshold 2) q1"]
    assert second["map"] == expected["MAP q2"]
    assert second["map(denominator=relevant)@3"] == expected["MAP@3 q2"]
    assert second["mrr"] == expected["MRR q2"]


def kaggle(entry: dict[str, Any]) -> None:
    """Its predictions may repeat an item; a repeated one counts once, so it is an irrelevant document here."""
    for name, actual, predicted, k, expected in entry["cases"]:
        lists = [(actual, predicted)] if name == "apk" else list(zip(actual, predicted, strict=True))
        values = []
        for relevant, shown in lists:
            y = [int(item in relevant and item not in shown[:i]) for i, item in enumerate(shown)]
            missed = len(relevant) - sum(y)
            retrieved = [True] * len(y) + [False] * missed
            score = [*range(len(y), 0, -1), *[0] * missed]
            result = ltr.evaluate(y + [1] * missed, score, group=[len(score)], metrics=f"map@{k}", retrieved=retrieved)
            values.append(result[f"map@{k}"])
        assert np.mean(values) == pytest.approx(expected, rel=1e-12)


def moffat_zobel(entry: dict[str, Any]) -> None:
    labels = [int(rank in entry["rel_positions"]) for rank in range(1, entry["depth"] + 1)]
    for p, expected in entry["exact"].items():
        assert of_ranked(labels, f"rbp(p={p})") == [pytest.approx(expected, abs=5e-7)]


def scipy_examples(entry: dict[str, Any]) -> None:
    checked = 0
    for name, grades, scores, expected in entry["cases"]:
        metric = {"kendall tau-b": "tau", "spearman": "rho"}.get(name)  # the other coefficients are not offered
        if metric is not None:
            result = ltr.evaluate(grades, scores, group=[len(grades)], metrics=metric)
            assert result[metric] == pytest.approx(expected, rel=1e-14)
            checked += 1
    assert checked == 2


def yandex(entry: dict[str, Any]) -> None:
    for labels, expected in entry["cases"]:
        assert of_ranked(labels, "pfound(p_rel=yandex)") == [pytest.approx(expected, rel=1e-13)]


def chapelle(entry: dict[str, Any]) -> None:
    for labels, expected in entry["cases"]:
        assert of_ranked(labels, "err") == [pytest.approx(expected, rel=1e-14)]


def article_000_binary(entry: dict[str, Any]) -> None:
    labels = entry["labels"]
    assert of_ranked(labels, "map", "mrr") == [entry["ap"], entry["rr"]]
    assert of_ranked(labels, *(f"p@{k}" for k in range(1, 5))) == [pytest.approx(p) for p in entry["p_at"]]


def article_001(entry: dict[str, Any]) -> None:
    for labels, k, expected in entry["cases"]:
        assert of_ranked(labels, ltr.MAP(k=k, denominator="cutoff")) == [pytest.approx(expected, rel=1e-14)]


CHECKS: dict[tuple[str, str], Callable[[dict[str, Any]], None] | str] = {
    ("Jarvelin & Kekalainen 2002 (quoted in several public files; recomputed)", "DCG_JK b=2"): jarvelin_dcg,
    ("same", "IDCG_JK b=2"): jarvelin_dcg,
    ("same, recomputed", "NDCG_JK b=2"): jarvelin_ndcg,
    ("articles/000_1400d240f78ebb5b.txt", "DCG exp log2(i+1)"): article_000_dcg,
    ("articles/004_9cde44aa0676cfd9.txt", "NDCG1 (J-K b=2, linear gain), NDCG2 (exp gain, log2(i+1))"): article_004,
    ("articles/003_5a8e1576ecd0c5dd.txt code", "J-K b=2"): article_003,
    ("terrierteam/ir_measures tests/test_gdeval.py (gdeval.pl, gmax=4)", ""): gdeval,
    (
        "terrierteam/ir_measures tests/test_cwl_eval.py (cwl-eval run on cwl.qrels/cwl.run)",
        "",
    ): "it comes without its input",
    (
        "Moffat & Zobel 2008 ranking, values as in AmenRa/ranx tests/unit/ranx/metrics/rank_biased_precision_test.py",
        "RBP",
    ): moffat_zobel,
    ("dmlc/xgboost tests/cpp/metric/test_rank_metric.h", ""): xgboost,
    ("hpclab/rankeval rankeval/test/metrics/test_metrics.py", ""): rankeval,
    ("Kaggle/ml_metrics apk, mapk tests (copies in public files)", ""): kaggle,
    ("scipy documentation examples, recomputed with scipy 1.17.1", ""): scipy_examples,
    ("computed from Chapelle 2009 formula, gmax=4", "ERR"): chapelle,
    (
        "computed from Yandex formula, pBreak=0.15, pRel map {0:0,1:.07,2:.14,3:.41,4:.61}",
        "PFound",
    ): yandex,
    ("articles/000_1400d240f78ebb5b.txt", "AP/RR"): article_000_binary,
    ("articles/001_2363e6da36ec0dd2.txt (AP@K divided by K)", ""): article_001,
}


def test_published_values(reference_values: Path) -> None:
    entries = json.loads((reference_values / "metrics_published.json").read_text())
    for entry in entries:
        check = CHECKS[entry["src"], entry.get("metric", "")]
        if callable(check):
            check(entry)
    assert sum(callable(CHECKS[e["src"], e.get("metric", "")]) for e in entries) == 16
