"""The HTML report: nothing from outside becomes markup, and what stands in it is what the summary says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_report import EVIL, METRICS, MODELS, SCRIPT, made_report, small_report

import ltr_metrics as ltr
from ltr_metrics.analysis.old_table import p_shown, shown, signed
from ltr_metrics.io import write_whole
from ltr_metrics.report import Report, as_text, html, summarize
from ltr_metrics.report.html import MAX_SEGMENTS, as_html
from ltr_metrics.report.query_table import query_table

pytestmark = pytest.mark.integration

VOID = {"meta", "link", "br", "img", "input"}
SECTIONS = ("verdict", "figures", "means", "segments", "changes", "moves", "audit", "learning", "queries", "how")


class Page(HTMLParser):
    """Elements, and the text of each as a browser would show it; scripts and styles apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.rows: list[list[str]] = []
        self.title = ""
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif self.open[-1:] == ["title"] and "svg" not in self.open:
            self.title += data
        elif "style" not in self.open:
            self.texts.append(data)
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]

    def row(self, *start: str) -> list[str]:
        found = [
            row
            for cells in self.rows
            if (row := [" ".join(cell.split()) for cell in cells])[: len(start)] == list(start)
        ]
        assert len(found) == 1, found
        return found[0]


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
def evil() -> tuple[str, Page]:
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # a figure for each of so many models takes long; the browser opens such figures
        patch.setattr("ltr_metrics.report.figures.figures_of", lambda report: [])
        return _evil()


def _evil() -> tuple[str, Page]:
    report = made_report(models=EVIL, qid=EVIL, labels=EVIL, source=" ".join(EVIL), weighted=True, metrics=["map"])
    text = as_html(report)
    return text, Page(text)


def test_every_part_is_there(page: Page) -> None:
    assert [name for name in page.ids() if name in SECTIONS] == list(SECTIONS)
    assert page.title == "Ranking report: lightgbm, xgboost against bm25"
    links = [a["href"] for tag, a in page.elements if tag == "a" and "href" in a]
    assert [f"#{name}" for name in SECTIONS] == [link for link in links if link and link[1:] in SECTIONS]


def test_parts_that_do_not_apply_are_left_out() -> None:
    page = Page(as_html(small_report()))
    assert {name for name in page.ids() if name in SECTIONS} == {"means", "queries", "how"}
    assert {a["href"] for tag, a in page.elements if tag == "a"} == {"#means", "#queries", "#how"}
    assert page.row("only")[1] == "0.7500"


def test_the_table_says_what_the_comparison_says(report: Report, page: Page) -> None:
    lines = [
        row for cells in page.rows if len(row := [" ".join(cell.split()) for cell in cells]) == 12 and row[0] in MODELS
    ]
    assert len(lines) == len(report.summary["comparison"]["rows"]) == len(METRICS) * 2
    for line, row in zip(lines, report.summary["comparison"]["rows"], strict=True):
        name, mean, base, difference, interval, reading, p, adjusted, effect, counts, mde, n_queries = line
        assert [name, mean, base] == [row["model"], shown(row["mean"]), shown(row["baseline_mean"])]
        assert difference == signed(row["difference"])
        assert interval == f"[{signed(row['ci_low'])}, {signed(row['ci_high'])}]"
        assert [p, adjusted] == [p_shown(row["p_value"]), p_shown(row["p_adjusted"])]
        assert [effect, mde] == [signed(row["effect_size"], 2), shown(row["mde"])]
        assert counts == f"{row['wins']} / {row['ties']} / {row['losses']}"
        assert n_queries == f"{row['n_queries']} of {row['n_queries'] + row['n_undefined']}"
        expected = "○ unclear" if row["p_adjusted"] > 0.05 else "▲ higher" if row["difference"] > 0 else "▼ lower"
        assert reading == expected


def test_quantiles_segments_and_queries_that_change_stand_in_the_page(report: Report, page: Page) -> None:
    text = " ".join(" ".join(page.texts).split())
    summary = report.summary
    for of_metric in summary["models"].values():
        for line in of_metric.values():
            assert all(shown(value) in text for value in (line["mean"], *line["quantiles"].values()))
    for part in summary["comparison"]["segments"]:
        for row in part["rows"]:
            assert f"{signed(row['difference'])} [{signed(row['ci_low'])}, {signed(row['ci_high'])}]" in text
    for change in summary["changes"]:
        for line in change["improved"] + change["worsened"]:
            cells = [str(line["qid"]), str(line["documents"]), str(line["relevant"])]
            cells += [shown(line["baseline"]), shown(line["value"]), signed(line["difference"])]
            assert cells in page.rows


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0.1, 0.01), (0.1, 0.05), (0.2, 0.0)], "lightgbm is higher than bm25 in all 3 metrics."),
        ([(-0.1, 0.01), (-0.1, 0.05), (-0.2, 0.0)], "lightgbm is lower than bm25 in all 3 metrics."),
        (
            [(0.1, 0.06), (-0.1, 0.3), (0.0, 1.0)],
            "lightgbm shows no clear difference from bm25 in any of the 3 metrics.",
        ),
        (
            [(0.1, 0.01), (-0.1, 0.01), (0.2, 0.9)],
            "lightgbm against bm25, of 3 metrics: higher in 1, lower in 1, no clear difference in 1.",
        ),
        (
            [(0.1, 0.01), (0.1, 0.01), (0.2, None)],
            "lightgbm against bm25, of 3 metrics: higher in 2, not testable in 1.",
        ),
    ],
)
@pytest.mark.usefixtures("no_figures")
def test_the_verdict_counts_what_the_adjusted_p_values_say(rows: list[Any], sentence: str) -> None:
    report = made_report(n_queries=30, models=("bm25", "lightgbm"))
    comparison = report.summary["comparison"]
    changed = [
        row | {"difference": difference, "p_adjusted": p}
        for row, (difference, p) in zip(comparison["rows"], rows, strict=True)
    ]
    summary = report.summary | {"comparison": comparison | {"rows": changed}}
    text = " ".join(" ".join(Page(as_html(replace(report, summary=summary))).texts).split())
    assert sentence.replace(" ", "") in text.replace(" ", "")


def test_what_was_tested_stands_below(page: Page) -> None:
    text = " ".join("".join(page.texts).split())
    assert (
        "Test: paired randomization test, two-sided, over 120 queries, p-values adjusted by Holm over the models of each metric. "
        "The reading is “unclear” if the adjusted p is above 0.05. Intervals: 95%, the wider of BCa bootstrap and Student's t, not adjusted."
        in text
    )


@pytest.mark.usefixtures("no_figures")
def test_weights_stand_beside_no_weights() -> None:
    report = made_report(n_queries=40, weighted=True)
    page, row = Page(as_html(report)), report.summary["comparison"]["rows"][0]
    at = next(i for i, cells in enumerate(page.rows) if len(cells) == 12 and cells[0] == row["model"])
    weighted, plain = page.rows[at], page.rows[at + 1]
    assert plain[0] == "without weights"
    assert [weighted[3], plain[3]] == [signed(row["difference"]), signed(row["plain"]["difference"])]
    assert weighted[3] != plain[3]
    assert "The effective sample size is" in "".join(page.texts)


@pytest.mark.usefixtures("no_figures")
def test_what_the_gate_says_stands_in_the_verdict_and_in_text() -> None:
    X, y, qid = ltr.make_ranking(60, random_state=0)
    scores = {"live": X[:, 0], SCRIPT: X[:, 0] + X[:, 1]}
    rules = ["map > -0.9", "map > 0.9"]
    made = summarize(ltr.Queries(y, qid=qid), scores, "map", baseline="live", rules=rules)
    assert made.gate is not None
    assert made.summary["gate"] == ltr.gate(made.comparison, rules).to_dict()  # type: ignore[arg-type]
    html, text = as_html(made), " ".join(as_text(made).split())
    shown = " ".join("".join(Page(html).texts).split())
    assert "Gate: failed" in html
    assert html.count("✓ pass") == html.count("✗ fail") == 1
    assert SCRIPT not in html
    for check in made.gate.checks:
        assert check.reason in shown
        assert f"{check.rule} {'PASS' if check.passed else 'FAIL'} {SCRIPT}" in text
    with pytest.raises(ltr.LtrValueError, match="name the baseline"):
        summarize(ltr.Queries(y, qid=qid), scores, "map", rules=rules)


@pytest.mark.usefixtures("no_figures")
def test_clusters_and_seeds_are_told(report: Report) -> None:
    further = {"n_clusters": 12, "seeds": {"lightgbm": {"map": [0.51, 0.53, 0.52], "mrr": [0.6, 0.7, 0.8]}}}
    summary = report.summary | {"comparison": report.summary["comparison"] | further}
    text = " ".join("".join(Page(as_html(replace(report, summary=summary))).texts).split())
    assert "over 120 queries in 12 clusters (whole clusters are swapped and resampled), p-values adjusted" in text
    assert (
        "lightgbm is the mean of 3 seeds, whose means range from 0.5100 to 0.5300 in map, from 0.6000 to 0.8000 in mrr."
        in text
    )


def test_what_a_user_gives_is_text(evil: tuple[str, Page]) -> None:
    text, page = evil
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert "img" not in {tag for tag, _ in page.elements}
    shown_text = "".join(page.texts)
    for given in EVIL:
        assert given in shown_text
        assert given in page.title
    assert "49" not in page.title
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert text.count(SCRIPT) == 0


def test_the_data_block_holds_the_ids_and_cannot_end(evil: tuple[str, Page]) -> None:
    text, page = evil
    block = re.search(r'<script type="application/json" id="query-data">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    assert not set("<>&\u2028\u2029") & set(block[1])
    data = json.loads(page.scripts[0])
    assert data == json.loads(block[1])
    assert data["columns"][0]["labels"][: len(EVIL)] == list(EVIL)


def test_the_page_asks_for_nothing(evil: tuple[str, Page], page: Page) -> None:
    for one in (evil[1], page):
        links = [
            a[name] or "" for _, a in one.elements for name in ("src", "href", "xlink:href", "action") if name in a
        ]
        assert all(link.startswith("#") or link == "data:," for link in links)
        names = set(one.ids())
        assert {link[1:] for link in links if link.startswith("#")} <= names
        policy = next(a["content"] for tag, a in one.elements if a.get("http-equiv") == "Content-Security-Policy") or ""
        digest = base64.b64encode(hashlib.sha256(one.scripts[1].encode()).digest()).decode()
        assert policy.startswith("default-src 'none';")
        assert f"script-src 'sha256-{digest}';" in policy
    text = evil[0]
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []


def test_ids_are_unique_and_references_find_them(page: Page, report: Report) -> None:
    assert [name for name, count in Counter(page.ids()).items() if count > 1] == []
    text = as_html(report)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(page.ids())
    labelled = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    assert labelled <= set(page.ids())


def test_headers_have_a_scope_and_tables_a_caption(page: Page) -> None:
    tags = Counter(tag for tag, _ in page.elements)
    assert tags["caption"] == tags["table"]
    assert all(a.get("scope") for tag, a in page.elements if tag == "th")
    assert ("html", {"lang": "en"}) in page.elements
    assert tags["h1"] == 1


@pytest.mark.usefixtures("no_figures")
def test_many_segments_are_cut_and_said_to_be() -> None:
    report, few = small_report(), 20
    parts = [
        {"model": "only", "name": "kind", "segment": f"s{i}", "n_queries": 1 if i < few else 2, "mean": {"mrr": 0.5}}
        for i in range(MAX_SEGMENTS + few)
    ]
    page = Page(as_html(replace(report, summary=report.summary | {"segments": parts})))
    found = [cells[0].split()[0] for cells in page.rows if len(cells) == 1]
    assert set(found) >= {f"s{i}" for i in range(few, MAX_SEGMENTS + few)}
    assert not {f"s{i}" for i in range(few)} & set(found)
    assert "Only the 100 largest of 120 segments are shown" in "".join(page.texts)


def test_a_path_that_is_not_utf8_can_be_written(tmp_path: Path) -> None:
    report = small_report()
    summary = report.summary | {"data": report.summary["data"] | {"source": "caf\udce9.txt"}}
    write_whole(tmp_path / "report.html", as_html(replace(report, summary=summary)))
    assert r"caf\udce9.txt" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_jinja2_missing_gives_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    report = small_report()
    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ltr.MissingExtraError, match=r"jinja2 is needed.*ltr_metrics\[report\]"):
        as_html(report)


def test_the_columns_are_the_values_of_the_queries(report: Report) -> None:
    found = query_table(report)
    assert found["n_rows"] == 120
    assert found["metrics"] == METRICS
    assert [column["name"] for column in found["columns"][:4]] == ["qid", "documents", "relevant", "size"]
    assert report.comparison is not None
    for metric in METRICS:
        columns = [column for column in found["columns"] if column["metric"] == metric]
        assert [column["name"] for column in columns] == [*MODELS, "lightgbm − bm25", "xgboost − bm25"]
        expected = [report.evaluations[model].per_query[metric] for model in MODELS]
        expected += [report.comparison.differences(metric, model) for model in MODELS[1:]]
        for column, values in zip(columns, expected, strict=True):
            np.testing.assert_allclose(np.array(column["values"], dtype=float), values, rtol=1e-5)
            assert [value is None for value in column["values"]] == np.isnan(values).tolist()
            assert np.isnan(values).any()


@pytest.mark.parametrize(
    ("qid", "labels", "numeric"),
    [
        ([10, 9], ["10", "9"], True),
        ([1.5, -2.0], ["1.5", "-2.0"], True),
        ([2**60 + 1, 2**60], ["1152921504606846977", "1152921504606846976"], False),
        (["b", "a"], ["b", "a"], False),
    ],
)
def test_ids_are_text_and_sort_as_numbers_where_that_is_exact(qid: list[Any], labels: list[str], numeric: bool) -> None:
    report = summarize(ltr.Queries([1, 1], qid=qid), {"a": [1, 2]}, ["mrr"])
    column = query_table(report)["columns"][0]
    assert column["labels"] == labels
    assert column["numeric"] is numeric


def test_models_with_queries_of_their_own_stand_in_one_table() -> None:
    queries = {
        "a": ltr.Queries([1, 0, 1], qid=["x", "x", "y"], by={"kind": ["k", "k", "l"]}),
        "b": ltr.Queries([1, 1, 0], qid=["z", "y", "y"], by={"kind": ["m", "l", "l"]}),
    }
    columns = query_table(summarize(queries, {"a": [2, 1, 1], "b": [1, 1, 2]}, ["mrr"]))["columns"]
    by_name = {column["name"]: column for column in columns}
    assert by_name["qid"]["labels"] == ["x", "y", "z"]
    assert by_name["documents of a"]["values"] == [2, 1, None]
    assert by_name["documents of b"]["values"] == [None, 2, 1]
    assert by_name["relevant"]["values"] == [1, 1, 1]
    assert [by_name["kind"]["labels"][code] for code in by_name["kind"]["code"]] == ["k", "l", "m"]
    assert by_name["a"]["values"] == [1, 1, None]
    assert by_name["b"]["values"] == [None, 0.5, 1]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_is_told_from_its_ground() -> None:
    """WCAG 2.2, criterion 1.4.3: a contrast of at least 4.5."""
    style = (Path(html.__file__).parent / "page" / "style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root)) for root in roots[:2]]
    assert schemes[0] != schemes[1]
    for scheme in schemes:
        for ground in ("paper", "raised"):
            for ink in ("ink", "muted", "accent", "higher", "lower", "plain"):
                light, dark = sorted((luminance(scheme[ground]), luminance(scheme[ink])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)
