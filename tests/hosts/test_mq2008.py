"""The figures of README and docs that come from real data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import in_process

import ltr_metrics as ltr
from benchmarks import folds
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
    files: list[Path], mq2008: LetorData, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    printed = {name: tuple(map(float, numbers)) for *numbers, names in rows for name in re.findall(r"\w+", names)}
    assert len(printed) == 6
    options = {"qid": mq2008.qid, "docid": mq2008.docid, "metrics": "ndcg@10", "skill": True}
    for name, (mean, chance, skill) in printed.items():
        ours = ltr.evaluate(mq2008.y, mq2008["25"], convention=name, **options)
        assert (ours["ndcg@10"], ours.chance["ndcg@10"]) == pytest.approx((mean, chance), abs=5e-5)
        assert ours.skill["ndcg@10"] == pytest.approx(skill, abs=5e-3)
    command = ["evaluate", *files, "--scores", "bm25=25", "--metrics", "ndcg@10", "--format", "json", "--skill"]
    (row,) = json.loads(in_process(capsys, *command, "--convention", name).out)["means"]
    assert (row["mean"], row["chance"], row["skill"]) == (
        ours["ndcg@10"],
        ours.chance["ndcg@10"],
        ours.skill["ndcg@10"],
    )


def test_queries_without_a_relevant_document(mq2008: LetorData) -> None:
    X, y, qid = mq2008
    zero, one = (ltr.evaluate(y, X[:, 24], qid=qid, metrics="ndcg@10", no_relevant=i)["ndcg@10"] for i in (0, 1))
    assert one - zero == pytest.approx(220 / 784)
    assert ltr.evaluate(y, X[:, 24], qid=qid, metrics="mrr").n_undefined["mrr"] == 220


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_folds_that_cut_queries() -> None:
    """The page and the README have what its command measures."""
    measured = [float(figure) for figure in re.findall(r"0\.\d+", CliRunner().invoke(folds.main).stdout)]
    page = (ROOT / "docs" / "hosts" / "sklearn.md").read_text(encoding="utf-8")
    section = page.partition("### Folds that cut queries\n")[2].partition("\n###")[0]
    printed = [float(figure) for figure in re.findall(r"(?<!\d)\.\d{3}\b", section)]
    readme = re.search(r"goes from (\.\d+) to\s(\.\d+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert readme
    assert [*map(float, readme.groups())] == printed[:2]
    assert printed[:4] == measured[:4]
    assert printed[4:] == pytest.approx(measured[4:], abs=2e-3)  # LightGBM's trees differ a little by version
