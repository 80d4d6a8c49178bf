"""Per-query output of three reference programs on MQ2008, ranked by one feature (25 BM25, 40
LMIR.JM), ties in file order.

The programs are trec_eval 10, the evaluation script of LETOR 4.0, and the TREC web track's gdeval
1.3. They print 4 or 5 digits.
"""

from __future__ import annotations

import csv
import lzma
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.filterwarnings("ignore:err counts grades")

Printed = dict[str, dict[str, float]]  # measure -> query (or the row of means) -> value
FEATURES = {"f25": 5, "f40": 6}  # column in scores.tsv.xz


@pytest.fixture(scope="module", params=FEATURES)
def feature(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(reference_values: Path) -> Path:
    return reference_values / "mq2008"


@pytest.fixture(scope="module")
def scored(folder: Path, feature: str) -> tuple[ltr.Queries, np.ndarray]:
    """Labels and the feature as scores, rows in file order."""
    with lzma.open(folder / "scores.tsv.xz", "rt") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    queries = ltr.Queries([int(row[4]) for row in rows], qid=[row[2] for row in rows])
    return queries, np.array([float(row[FEATURES[feature]]) for row in rows])


def compare(
    scored: tuple[ltr.Queries, np.ndarray],
    names: dict[str, str],
    printed: Printed,
    mean: str,
    digits: int,
    **options: Any,
) -> None:
    """Compare each measure under our name for it, in each query and in the row of means; NaN is a
    query that is left out.
    """
    queries, score = scored
    assert names.keys() == printed.keys()
    result = queries.evaluate(score, list(names.values()), **options)
    for measure, ours in names.items():
        values = {**dict(zip(queries.qid, result.per_query[ours], strict=True)), mean: result[ours]}
        values = {query: value for query, value in values.items() if not np.isnan(value)}
        assert values.keys() == printed[measure].keys()
        expected = [printed[measure][query] for query in values]
        np.testing.assert_allclose(
            list(values.values()), expected, rtol=0, atol=0.5 * 10**-digits + 1e-9, err_msg=measure
        )


def columns(lines: Iterable[list[str]]) -> Printed:
    """Tables with a heading and a row per query; a line without entries ends a table."""
    printed: Printed = {}
    heading: list[str] = []
    for query, *values in lines:
        if not values:
            heading = []
        elif not heading:
            heading = values
        else:
            for measure, value in zip(heading, values, strict=True):
                printed.setdefault(measure, {})[query] = float(value)
    return printed


TREC_EVAL = {
    r"(map|ndcg)": r"\1",
    r"Rprec": "rprec",
    r"recip_rank": "mrr",
    r"P_(\d+)": r"precision@\1",
    r"success_(\d+)": r"hit@\1",
    r"recall_(\d+)": r"recall@\1",
    r"(map|ndcg)_cut_(\d+)": r"\1@\2",
}


def name_of_trec_eval(measure: str, level: int) -> str:
    [name] = [re.sub(pattern, ours, measure) for pattern, ours in TREC_EVAL.items() if re.fullmatch(pattern, measure)]
    metric, at, k = name.partition("@")
    graded = metric == "ndcg"  # knows no level
    return name if level == 1 or graded else f"{metric}(rel={level}){at}{k}"


@pytest.mark.parametrize("level", [1, 2])
def test_trec_eval(scored: tuple[ltr.Queries, np.ndarray], folder: Path, feature: str, level: int) -> None:
    printed: Printed = {}
    with lzma.open(folder / f"{feature}.trec_eval{'' if level == 1 else '_l2'}.txt.xz", "rt") as file:
        for measure, query, value in map(str.split, file):
            printed.setdefault(measure, {})[query] = float(value)
    assert printed.pop("num_q") == {"all": 784}
    names = {measure: name_of_trec_eval(measure, level) for measure in printed}
    compare(scored, names, printed, "all", 4, convention="trec_eval", ties="stable")


def letor(folder: Path, feature: str) -> Printed:
    with lzma.open(folder / f"{feature}.letor4_eval.txt.xz", "rt") as file:
        return columns(line.rstrip("\n").split("\t") for line in file)


def test_the_script_of_letor(scored: tuple[ltr.Queries, np.ndarray], folder: Path, feature: str) -> None:
    printed = letor(folder, feature)
    del printed["MeanNDCG"]  # see below
    names = {measure: measure.lower() for measure in printed}
    compare(scored, names, printed, "Average", 4, convention="letor")


def test_mean_ndcg_of_letor(scored: tuple[ltr.Queries, np.ndarray], folder: Path, feature: str) -> None:
    """The mean of a query's NDCG@1 to NDCG@n."""
    queries, score = scored
    names = [f"ndcg@{k}" for k in range(1, queries.sizes.max() + 1)]
    result = queries.evaluate(score, names, convention="letor")
    table = np.column_stack([result.per_query[name] for name in names])
    ours = [row[:n].mean() for row, n in zip(table, queries.sizes, strict=True)]
    printed = letor(folder, feature)["MeanNDCG"]
    expected = [printed[query] for query in [*queries.qid, "Average"]]
    np.testing.assert_allclose([*ours, np.mean(ours)], expected, rtol=0, atol=5e-5 + 1e-9)


@pytest.mark.parametrize("k", [5, 10, 20])
def test_gdeval(scored: tuple[ltr.Queries, np.ndarray], folder: Path, feature: str, k: int) -> None:
    with (folder / f"{feature}.gdeval_k{k}.csv").open() as file:
        printed = columns(row[1:] for row in csv.reader(file))
    assert len(printed[f"ndcg@{k}"]) == 564 + 1
    compare(scored, {measure: measure for measure in printed}, printed, "amean", 5, convention="gdeval", ties="stable")
