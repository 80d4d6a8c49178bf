"""The command lines of the guide's page on the origins of data, run on small files of these forms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Done

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "your_data.md"
LINES = [
    block.replace("\\\n", " ").replace("--n-features N", "--n-features 6")
    for block in re.findall(
        r"^```sh\n(ltr-metrics .*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
]


@pytest.fixture
def origins(folder: Path) -> None:
    """Files with the names and the forms of the page: MS MARCO, BEIR, TREC, LETOR, MSLR, Yahoo, Kaggle, Quepid, a log."""
    Path("qrels").rename("qrels.txt")
    for name in ("qrels", "Fold1"):
        Path(name).mkdir()
    qrels = [line.split() for line in Path("qrels.txt").read_text().splitlines()]
    header = "query-id\tcorpus-id\tscore\n"
    Path("qrels/test.tsv").write_text(header + "".join(f"{topic}\t{doc}\t{grade}\n" for topic, _, doc, grade in qrels))
    Path("qrels.dev.small.tsv").write_text("".join(f"{topic}\t0\t{doc}\t{grade}\n" for topic, _, doc, grade in qrels))
    ranks = [f"{topic}\tD{doc}\t{rank}\n" for topic in range(1, 11) for rank, doc in enumerate((3, 1, 7, 0), 1)]
    Path("run.dev.small.tsv").write_text("".join(ranks))
    for name in ("bm25.trec", "bm25.txt", "new.txt"):
        Path(name).write_text(Path("b.run" if name == "new.txt" else "a.run").read_text())
    for name in ("Fold1/test.txt", "set1.test.txt"):
        Path(name).write_text(Path("data.txt").read_text())
    lines = Path("data.txt").read_text().splitlines()
    Path("S5.txt").write_text("".join(f"{line} 25:{i % 7}\n" for i, line in enumerate(lines)))
    table = pd.read_parquet("data.parquet")
    rows = table[["qid", "label"]].copy()
    rows["rank"] = rows.groupby("qid").cumcount() + 1
    rows.assign(label=np.minimum(rows["label"], 1)).to_csv("answers.csv", index=False)
    names = {"qid": "Query Text", "label": "Rating", "rank": "Doc Position"}
    rows.rename(columns=names).to_csv("case.csv", index=False)
    log = {"request": rows["qid"], "bought": rows["label"] > 0, "shown_at": rows["rank"]}
    pd.DataFrame(log | {"new": table["Column_0"], "user": table["user"]}).to_parquet("log.parquet")


@pytest.mark.usefixtures("origins")
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_command_line_of_the_page_runs(run: Callable[[str], Done], line: str) -> None:
    done = run(f"{line.partition(' ')[2]} --format json")
    assert done.status == 0, done.err
    values = json.loads(done.out)
    for row in values.get("means") or values["rows"]:
        assert row["n_queries"] > 0
        assert np.isfinite(row["mean"])


def test_the_page_has_command_lines() -> None:
    assert len(LINES) >= 5
