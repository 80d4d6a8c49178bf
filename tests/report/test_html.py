"""The page: nothing from outside becomes markup, and it says what the results say."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from made_report import EVIL, METRICS, MODELS, SCRIPT, made_report, small_report

import ltr_metrics as ltr
from ltr_metrics.report import Report, as_html, as_text, summarize
from ltr_metrics.report.query_table import query_table

pytestmark = pytest.mark.integration

VOID = {"meta", "link", "br", "img", "input"}
SECTIONS = (
    *("verdict", "leaderboard", "figures", "means", "segments", "changes", "rankings", "audit", "learning"),
    *("queries", "how"),
)


class Page(HTMLParser):
    """Elements, and the text of each as a browser would show it; scripts and styles apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.rows: list[list[str]] = []
        self.title = self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif self.open[-1:] == ["title"]:
            self.title += data
        elif "style" not in self.open:
            self.text += data
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] = (self.rows[-1][-1] + data).strip()

    def all(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


@pytest.fixture(scope="module")
def report() -> Report:
    return made_report()


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(as_html(report))


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes longest."""
    monkeypatch.setattr("ltr_metrics.report.figures.figures_of", lambda report: [])


@pytest.fixture(scope="module")
def evil() -> str:
    """A page in which all names from outside would like to be markup; the browser opens one with figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ltr_metrics.report.figures.figures_of", lambda report: [])
        return as_html(
            made_report(models=EVIL, qid=EVIL, labels=EVIL, source=" ".join(EVIL), weighted=True, metrics=["map"])
        )


def test_each_section_is_there_and_in_the_contents(page: Page) -> None:
    assert [name for name in page.all("id") if name in SECTIONS] == list(SECTIONS)
    assert [link for link in page.all("href") if link[1:] in SECTIONS] == [f"#{name}" for name in SECTIONS]
    assert page.title == "Ranking report: lightgbm, xgboost against bm25"


def test_sections_without_data_are_left_out() -> None:
    page = Page(as_html(small_report()))
    assert {name for name in page.all("id") if name in SECTIONS} == {"means", "queries", "how"}
    assert page.title == "Ranking report: only"
    assert ["mrr", "only", "0.7500"] in [row[:3] for row in page.rows]


def test_drawings_are_to_scale(report: Report, page: Page) -> None:
    """A pixel is worth the same in all marks of a metric: those of its intervals, and those of its quantiles."""
    assert report.comparison is not None
    n = len(report.comparison.rows)
    circles = [float(a["cx"]) for tag, a in page.elements if tag == "circle" and "r" in a]
    zeros = [float(a["x1"]) for tag, a in page.elements if tag == "line" and a.get("class") == "zero"]
    for i in range(0, n, 2):
        pixels = np.array([zeros[i], circles[i], circles[i + 1]])
        values = np.array([0, *(row.difference for row in report.comparison.rows[i : i + 2])])
        np.testing.assert_allclose(np.diff(pixels) * np.ptp(values) / np.ptp(pixels), np.diff(values), atol=1e-3)
    lines = [a for tag, a in page.elements if tag == "line" and a.get("y1") == "8"][n : n + len(report.means())]
    points = [float(a["cx"]) for tag, a in page.elements if a.get("r") == "3"]
    for row, line, point in zip(report.means(), lines, points, strict=True):
        low, high = float(line["x1"]), float(line["x2"])
        place = low + (row["mean"] - row["q5"]) / (row["q95"] - row["q5"]) * (high - low)
        assert point == pytest.approx(place, abs=0.2)


def test_tables_say_what_the_results_say(report: Report, page: Page) -> None:
    text = " ".join(page.text.split())
    for row in report.means():
        names = ("mean", "chance", "ideal", "skill", "q5", "q25", "q50", "q75", "q95")
        cells = [f"{row[name]:.4f}" for name in names]
        assert [row["metric"], row["model"], *cells, str(row["n_queries"]), str(row["n_undefined"])] in page.rows
    assert report.comparison is not None
    for row in report.comparison.rows:
        numbers = [f"{row.baseline_mean:.4f}", f"{row.mean:.4f}", f"{row.difference:+.4f}"]
        assert [row.metric, row.model, *numbers, f"[{row.ci_low:+.4f}, {row.ci_high:+.4f}]"] in [
            cells[:2] + cells[3:7] for cells in page.rows
        ]
    for _, _, part in report.comparison.segments():
        for of_part in part.rows:
            assert f"{of_part.mean:.4f}" in text
            assert f"{of_part.difference:+.4f} [{of_part.ci_low:+.4f}, {of_part.ci_high:+.4f}]" in text
    assert {row["metric"] for row in report.changes} == set(METRICS)
    for row in report.changes:
        numbers = [f"{row['baseline']:.4f}", f"{row['value']:.4f}", f"{row['difference']:+.4f}"]
        assert [row["qid"], str(row["documents"]), str(row["relevant"]), *numbers] in page.rows
    for model, churn in report.churn.items():
        assert [model, f"{churn.mean['overlap']:.4f}", f"{churn.mean['rbo']:.4f}"] in [row[:3] for row in page.rows]
        moves = report.rank_changes[model].moves
        counts = [str(n) for n in (moves.documents, moves.up, moves.stayed, moves.down)]
        assert [model, *counts] in [row[:5] for row in page.rows]
    ((model, (curve,)),) = report.learning.items()
    assert [model, "valid", "map", "12", str(curve.n_rounds)] in [row[:5] for row in page.rows]
    assert next(row for row in page.rows if row[:1] == ["10"])[1] == f"{report.evaluations['bm25']['ndcg_exp@10']:.4f}"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0.1, 0.01), (0.1, 0.05), (0.2, 0.0)], "lightgbm is better than bm25 in all 3 metrics."),
        ([(0.1, 0.06), (-0.1, 0.3), (0, 1)], "lightgbm shows no clear difference from bm25 in any of the 3 metrics."),
        (
            [(0.1, 0.01), (-0.1, 0.01), (0.2, 0.9)],
            "lightgbm against bm25, of 3 metrics: better in 1, worse in 1, no clear difference in 1.",
        ),
    ],
)
def test_the_verdict_counts_the_adjusted_p_values(rows: list[Any], sentence: str) -> None:
    report = made_report(n_queries=30, models=("bm25", "lightgbm"))
    assert report.comparison is not None
    changed = [
        replace(row, difference=difference, p_adjusted=p)
        for row, (difference, p) in zip(report.comparison.rows, rows, strict=True)
    ]
    report.comparison.__dict__["rows"] = tuple(changed)
    assert sentence in as_text(report).splitlines()


@pytest.mark.usefixtures("no_figures")
def test_the_gate_stands_in_the_verdict_and_in_text() -> None:
    X, y, qid = ltr.make_ranking(60, random_state=0)
    scores = {"live": X[:, 0], SCRIPT: X[:, 0] + X[:, 1]}
    rules = ["map > -0.9", "map > 0.9"]
    report = summarize(ltr.Queries(y, qid=qid), scores, "map", baseline="live", rules=rules)
    assert report.gate is not None
    assert report.to_dict()["gate"] == ltr.gate(report.comparison, rules).to_dict()  # type: ignore[arg-type]
    html, text = as_html(report), " ".join(as_text(report).split())
    page = Page(html)
    assert "Gate: failed" in page.text
    assert SCRIPT not in html
    for check in report.gate.checks:
        words = f"{'PASS' if check.passed else 'FAIL'} {SCRIPT}: {check.rule}: {check.reason}"
        assert words in " ".join(page.text.split())
        assert words in text


def test_names_from_outside_are_text(evil: str) -> None:
    page = Page(evil)
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert "img" not in {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert evil.count(SCRIPT) == 0
    for name in EVIL:
        assert page.text.count(name) >= 2
        assert name in page.title
    assert "49" not in page.title


def test_the_data_block_holds_the_values_and_cannot_end() -> None:
    report = made_report(n_queries=20, models=EVIL[:2], qid=EVIL, metrics=["map"])
    text = as_html(report)
    block = re.search(r'<script type="application/json" id="query-data">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    assert not set("<>&\u2028\u2029") & set(block[1])
    data = json.loads(block[1])
    assert data == json.loads(Page(text).scripts[0]) == query_table(report)
    assert data["columns"][0]["values"][: len(EVIL)] == list(EVIL)


def test_the_page_asks_for_nothing(evil: str, report: Report) -> None:
    for text in (evil, as_html(report)):
        page = Page(text)
        links = [link for name in ("src", "href", "xlink:href", "action") for link in page.all(name)]
        names = page.all("id")
        assert {link for link in links if link != "data:,"} <= {f"#{name}" for name in names}
        assert set(re.findall(r"url\(([^)]*)\)", text)) <= {f"#{name}" for name in names}
        assert [name for name, count in Counter(names).items() if count > 1] == []
        assert set(page.all("aria-labelledby")) <= set(names)
        assert "@import" not in text
        digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
        assert "default-src 'none'" in page.all("content")[0]
        assert f"script-src 'sha256-{digest}';" in page.all("content")[0]


# -- the table of all queries -----------------------------------------------------------------------------------------


def test_the_columns_are_the_values_of_the_queries(report: Report) -> None:
    found = query_table(report)
    assert (found["n_rows"], found["metrics"]) == (120, METRICS)
    assert [column["name"] for column in found["columns"][:4]] == ["qid", "documents", "relevant", "size"]
    assert report.comparison is not None
    for metric in METRICS:
        columns = [column for column in found["columns"] if column["metric"] == metric]
        assert [column["name"] for column in columns] == [*MODELS, "lightgbm − bm25", "xgboost − bm25"]
        expected = [report.evaluations[model].per_query[metric] for model in MODELS]
        expected += [report.comparison.differences(metric, model) for model in MODELS[1:]]
        for column, values in zip(columns, expected, strict=True):
            np.testing.assert_allclose(np.array(column["values"], dtype=float), values, atol=5.1e-7)
            assert [value is None for value in column["values"]] == np.isnan(values).tolist()
            assert np.isnan(values).any()


def test_models_with_queries_of_their_own_stand_in_one_table() -> None:
    queries = {
        "a": ltr.Queries([1, 0, 1], qid=["x", "x", "y"], by={"kind": ["k", "k", "l"]}),
        "b": ltr.Queries([1, 1, 0], qid=["z", "y", "y"], by={"kind": ["m", "l", "l"]}),
    }
    columns = query_table(summarize(queries, {"a": [2, 1, 1], "b": [1, 1, 2]}, ["mrr"]))["columns"]
    values = {column["name"]: column["values"] for column in columns}
    assert values["qid"] == ["x", "y", "z"]
    assert values["documents of a"] == [2, 1, None]
    assert values["documents of b"] == [None, 2, 1]
    assert values["relevant"] == [1, 1, 1]
    assert values["kind"] == ["k", "l", "m"]
    assert values["a"] == [1, 1, None]
    assert values["b"] == [None, 0.5, 1]
