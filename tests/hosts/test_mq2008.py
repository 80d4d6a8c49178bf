"""The figures of README and docs that come from real data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from command import in_process

import ltr_metrics as ltr
from ltr_metrics.io import LetorData, read_letor

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\.\d{4}) \| (\.\d{4}) \| (\.\d\d) \|.*\| ((?:`\"\w+\"`(?:, )?)+) \|$", re.MULTILINE)
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:err counts grades")]


@pytest.fixture(scope="module")
def files(data: Path) -> list[Path]:
    return [data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)]


@pytest.fixture(scope="module")
def mq2008(files: list[Path]) -> LetorData:
    return read_letor(files)


def test_a_row_of_the_first_table_is_what_its_command_prints(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert rows == ROW.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    printed = {name: tuple(map(float, numbers)) for *numbers, names in rows for name in re.findall(r"\w+", names)}
    assert len(printed) == 6
    command = ["evaluate", *files, "--scores", "bm25=25", "--metrics", "ndcg@10", "--format", "json", "--skill"]
    for name, (mean, chance, skill) in printed.items():
        (ours,) = json.loads(in_process(capsys, *command, "--convention", name).out)["means"]
        assert (ours["mean"], ours["chance"]) == pytest.approx((mean, chance), abs=5e-5)
        assert ours["skill"] == pytest.approx(skill, abs=5e-3)


def test_queries_without_a_relevant_document(mq2008: LetorData) -> None:
    X, y, qid = mq2008
    zero, one = (ltr.evaluate(y, X[:, 24], qid=qid, metrics="ndcg@10", no_relevant=i)["ndcg@10"] for i in (0, 1))
    assert one - zero == pytest.approx(220 / 784)
    assert ltr.evaluate(y, X[:, 24], qid=qid, metrics="mrr").n_undefined["mrr"] == 220


@pytest.mark.slow
def test_folds_that_cut_queries(mq2008: LetorData) -> None:
    """The values of BM25 are those of fragments, and LambdaRank has seen documents of the queries that it ranks."""
    X, y, qid = mq2008
    _, query = np.unique(qid, return_inverse=True)

    def ndcg(rows: Any, scores: Any, **options: Any) -> Any:
        return ltr.evaluate(y[rows], scores[rows], qid=qid[rows], metrics="ndcg@10", **options)

    def cross_validated(fold: Any) -> Any:
        scores = np.empty(len(y))
        for k in range(5):
            rows = np.flatnonzero(fold != k)
            rows = rows[np.argsort(query[rows], kind="stable")]
            ranker = lgb.LGBMRanker(n_jobs=1, verbose=-1, random_state=0)
            ranker.fit(X[rows], y[rows], group=ltr.qid_to_group(qid[rows]))
            scores[fold == k] = ranker.predict(X[fold == k])
        return ndcg(slice(None), scores)

    generators = [np.random.default_rng(seed) for seed in range(5)]
    whole = [(rng.permutation(784) % 5)[query] for rng in generators]
    cut = [rng.permutation(len(y)) % 5 for rng in generators]
    rankers = {"whole": [*map(cross_validated, whole)], "cut": [*map(cross_validated, cut)]}
    leak = ltr.compare(rankers, baseline="whole")["ndcg@10"]
    fragments = [
        np.mean([ndcg(fold == k, X[:, 24], no_relevant=no_relevant)["ndcg@10"] for fold in cut for k in range(5)])
        for no_relevant in ("skip", 0)
    ]
    bm25 = [ndcg(slice(None), X[:, 24], no_relevant=no_relevant)["ndcg@10"] for no_relevant in ("skip", 0)]
    lambdarank = [leak.baseline_mean, leak.mean, leak.difference, leak.ci_low, leak.ci_high]
    page = (ROOT / "docs" / "hosts" / "sklearn.md").read_text(encoding="utf-8")
    section = page.partition("### Folds that cut queries\n")[2].partition("\n###")[0]
    printed = [float(figure) for figure in re.findall(r"(?<!\d)\.\d{3}\b", section)]
    readme = re.search(r"goes from (\.\d+) to\s(\.\d+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert readme
    assert [*map(float, readme.groups())] == printed[:2]
    assert printed[:4] == pytest.approx([bm25[0], fragments[0], bm25[1], fragments[1]], abs=5e-4)
    assert printed[4:] == pytest.approx(lambdarank, abs=2e-3)  # LightGBM's trees differ a little by version
