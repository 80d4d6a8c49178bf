"""The page: nothing from outside becomes markup, and it says what the results say."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import in_process
from made_report import EVIL, METRICS, MODELS, SCRIPT, made_report, small_report

import ltr_metrics as ltr
from ltr_metrics.analysis.comparison import shown_row
from ltr_metrics.report import Report, as_html, numbers, summarize
from ltr_metrics.report.query_table import query_table
from ltr_metrics.report.verdict import reading_of, short_check
from ltr_metrics.report.views import near_values

pytestmark = pytest.mark.integration

VOID = {"meta", "link", "br", "img", "input"}
SECTIONS = (
    *("verdict", "leaderboard", "differences", "cutoffs", "segments", "changes", "rankings", "learning", "queries"),
    *("settings", "audit"),
)
MINUS = "\N{MINUS SIGN}"


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
        self.rows = [[" ".join(cell.split()) for cell in row] for row in self.rows]

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
                self.rows[-1][-1] += data

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
    assert page.title == "Ranking report: xgboost is better than bm25 in ndcg_exp@10"


def test_sections_without_data_are_left_out() -> None:
    page = Page(as_html(small_report()))
    assert {name for name in page.all("id") if name in SECTIONS} == {"leaderboard", "queries", "settings"}
    assert page.title == "Ranking report: mrr of only is 0.7500"
    assert ["only", "0.7500"] in page.rows


def signed(value: float, digits: int = 4) -> str:
    return f"{value:+.{digits}f}".replace("-", MINUS)


def relative_change(comparison: ltr.Comparison, row: Any) -> str:
    """Return the difference as a share of the baseline's mean, with its interval."""
    assert comparison.relative[row.metric][row.model].value == row.difference / row.baseline_mean
    change = comparison.relative[row.metric][row.model]
    value, low, high = (numbers.percent(one, "+") for one in (change.value, change.ci_low, change.ci_high))
    return f"{value} [{low}, {high}]"


def interval(row: Any, digits: int = 4) -> str:
    """Return an interval, with further digits for an end that would look like 0."""
    return f"[{numbers.signed(row.ci_low, digits)}, {numbers.signed(row.ci_high, digits)}]"


def test_drawings_are_to_scale(report: Report, page: Page) -> None:
    """Equal lengths are worth the same in all intervals of the table of differences."""
    comparison = report.comparison
    assert comparison is not None
    paths = {css: [a["d"] for _, a in page.elements if a.get("class") == css] for css in ("bar", "dot", "zero")}
    x = {
        css: [list(map(float, re.findall(r"[MH]([\d.]+)", path))) for path in of_class]
        for css, of_class in paths.items()
    }
    n = len(comparison.rows)
    drawn = np.column_stack([x["bar"][:n], x["dot"][:n]]) - x["zero"][0][0]
    values = np.array(
        [(row.ci_low, row.ci_high, row.difference) for row in (shown_row(comparison, row) for row in comparison.rows)]
    )
    np.testing.assert_allclose(drawn * np.ptp(values) / np.ptp(drawn), values, atol=0.002)


def test_the_strip_has_every_query_from_the_largest_gain_to_the_largest_loss(report: Report, page: Page) -> None:
    comparison = report.comparison
    assert comparison is not None
    paths = [a["d"] for _, a in page.elements if a.get("class") in ("gain", "loss")][:2]  # the first metric and model
    heights = [float(y) for path in paths for y in re.findall(r"V([\d.]+)H", path)]
    difference = comparison.differences(METRICS[0], comparison.models[0])
    expected = np.sort(difference[~np.isnan(difference) & (difference != 0)])[::-1]
    drawn = 50 - np.array(heights)
    np.testing.assert_allclose(drawn * np.abs(expected).max() / np.abs(drawn).max(), expected, atol=0.002)


def test_each_model_has_its_verdict(report: Report, page: Page) -> None:
    comparison = report.comparison
    assert comparison is not None
    for model in comparison.models:
        row = shown_row(comparison, comparison[METRICS[0], model])
        assert row.skill is not None
        assert row.skill_difference is not None
        cells = next(cells for cells in page.rows if cells[0] == f"{model} /runs/{model}.txt")
        change, skill = (
            f"{signed(row.difference)} {interval(row)}",
            f"{row.skill:.3f} {signed(row.skill_difference, 3)}",
        )
        relative = relative_change(comparison, row)
        assert cells[2:] == [change, relative, skill]
        assert all(metric in cells[1] for metric in METRICS)


def test_tables_say_what_the_results_say(report: Report, page: Page) -> None:
    comparison, board, text = report.comparison, report.leaderboard, " ".join(page.text.split())
    assert comparison is not None
    assert board is not None
    for model, result in report.evaluations.items():
        cells = [f"{mean:.4f}" for mean in result.values()]
        row = next(row for row in page.rows if row[0].split()[0] == model and len(row) == 4 and "0." in row[1])
        assert [re.sub("^(best|behind) ", "", cell)[:6] for cell in row[1:]] == cells
        for cell, standing in zip(row[1:], [board[metric, model] for metric in METRICS], strict=True):
            assert cell.endswith(f"{standing.rank_low}–{standing.rank_high}".removeprefix(f"{standing.rank_high}–"))
    for row in (shown_row(comparison, row) for row in comparison.rows):
        change = f"{signed(row.difference)} {interval(row)} {relative_change(comparison, row)}"
        counts = f"{row.wins} · {row.ties} · {row.losses}"
        assert [row.model, change, counts, f"{row.mde:.4f}"] in [[r[0], r[2], *r[5:]] for r in page.rows if len(r) == 7]
    for _, label, part in comparison.segments():
        for row in (shown_row(part, row) for row in part.rows):
            css = reading_of(row, part).replace("untested", "unclear")
            cell = f"{css} {signed(row.difference, 3)} {interval(row, 3)}"
            assert any(r[0] == label and any(one.endswith(cell) for one in r) for r in page.rows)
    for row in report.changes:
        key = [row[name] for name in ("metric", "model", "has_gained")]
        same = [one for one in report.changes if [one[name] for name in ("metric", "model", "has_gained")] == key]
        line = f"{row['qid']} {'▲' if row['has_gained'] else '▼'} {signed(row['difference'])} "
        line += f"{row['baseline']:.4f} → {row['value']:.4f} {row['documents']} documents, {row['relevant']} relevant"
        assert line in text or same.index(row) >= 5
    for model, churn in report.churn.items():
        assert [model, f"{churn.mean['overlap']:.4f}", f"{churn.mean['rbo']:.4f}"] in [row[:3] for row in page.rows]
    ((model, (curve,)),) = report.learning.items()
    assert [model, "12", str(curve.n_rounds)] in [row[:3] for row in page.rows]
    assert "map on valid" in text  # columns that are the same in all rows


@pytest.mark.parametrize("documents", [True, False])
@pytest.mark.usefixtures("no_figures")
def test_queries_are_opened_unless_their_documents_must_not_be_shared(*, documents: bool) -> None:
    report = made_report(n_queries=40, documents=documents)
    page, comparison = Page(as_html(report)), report.comparison
    assert comparison is not None
    row = next(row for row in report.changes if row["model"] == "xgboost")
    assert row["qid"] in page.text
    lists = [cells for cells in page.rows if len(cells) == 5 and cells[2].startswith("document-")]
    assert bool(lists) == ("moves" in page.all("class")) == documents
    assert ("document-" in as_html(report)) == documents
    if documents:
        opened = comparison.query(row["qid"])
        for name, other, towards in (("bm25", "xgboost", "to"), ("xgboost", "bm25", "from")):
            for one in opened.rankings[name]:
                rank, score = f"{one.rank}{'=' * one.is_tied}", f"{one.score:.4g}".replace("-", MINUS)
                there = one.ranks[other]
                grade = "–" if one.grade is None else f"{one.grade:g}"
                cells = next(cells for cells in lists if cells[:4] == [rank, grade, one.document, score])
                assert cells[4].endswith("" if there == one.rank else f" {towards} {there}")
                assert cells[4].startswith(("in ", "out ")) == (there is None or there > 10)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0.1, 0.01, 0.09), (0.1, 0.05, 0.09), (0.2, 0.0, 0.1)], "better in ndcg_exp@10, map and mrr"),
        ([(0.1, 0.06, 0.05), (-0.1, 0.01, 0.2), (0, 1, 1)], "no clear difference in ndcg_exp@10, map and mrr"),
        (
            [(0.1, 0.01, 0.05), (-0.1, 0.01, 0.05), (0.2, 0.9, 0.1)],
            "better in ndcg_exp@10; worse in map; no clear difference in mrr",
        ),
    ],
)
@pytest.mark.usefixtures("no_figures")
def test_the_verdict_needs_the_adjusted_p_value_and_the_interval(rows: list[Any], sentence: str) -> None:
    report = made_report(n_queries=30, models=("bm25", "lightgbm"))
    assert report.comparison is not None
    changed = [
        replace(row, difference=difference, p_adjusted=p, ci_low=difference - half, ci_high=difference + half)
        for row, (difference, p, half) in zip(report.comparison.rows, rows, strict=True)
    ]
    report.comparison.__dict__["rows"] = tuple(changed)
    report.comparison.__dict__.pop("_row_of", None)
    page = Page(as_html(report))
    assert next(cells[1] for cells in page.rows if cells[0] == "lightgbm /runs/lightgbm.txt") == sentence


@pytest.mark.parametrize(
    ("rule", "higher_is_better", "words"),
    [
        ("m > -0.5", True, "✓ m loses at most 0.3 (allowed: 0.5)"),
        ("m > -0.01", True, "✕ failed: m may lose up to 0.3 (allowed: 0.01): unclear"),
        ("m > 0", True, "✕ failed: m may lose up to 0.3 (needed: more than 0): unclear"),
        ("m > -150%", True, "✓ m loses at most 100% (allowed: 150%)"),
        ("m < 0.5", True, "✓ m changes by +0.3 at most (limit 0.5)"),
        ("m < 0.01", True, "✕ failed: m may change by +0.3 (limit 0.01): unclear"),
        ("m < 0.5", False, "✓ m loses at most 0.3 (allowed: 0.5)"),
        ("m < 0.01", False, "✕ failed: m may lose up to 0.3 (allowed: 0.01): unclear"),
        ("better: m > 0", True, "✓ m gains at least 0.3"),
        ("better: m > 1", True, "✕ failed: m may gain only 0.3 (needed: more than 1)"),
        ("mean(m) > 0.1", True, "✓ m is at least 0.15 (limit 0.1)"),
        ("mean(m) > 0.4", True, "✕ failed: m is perhaps only 0.15 (limit 0.4)"),
        ("share(m < -0.2) < 5%", True, "✕ failed: 25% of the queries lose more than 0.2, perhaps up to 35% (limit 5%)"),
    ],
)
@pytest.mark.usefixtures("no_figures")
def test_a_check_says_what_may_be_lost(rule: str, higher_is_better: bool, words: str) -> None:
    """The end of the interval is the largest loss that is possible, or the smallest gain that is sure."""
    base, draws = np.full(100, 0.3), np.tile([-0.3, 0.3, -0.1, 0.1], 25)
    models = {"base": base, "new": base + draws, "better": base + 0.4 + draws}
    lower = [] if higher_is_better else ["m"]
    results = {
        name: ltr.Evaluation.from_per_query({"qid": np.arange(100), "m": of}, lower_is_better=lower)
        for name, of in models.items()
    }
    comparison = ltr.compare(results, n_resamples=100)
    rules = [rule] if rule.startswith("better") else [f"new: {rule}"]
    (check,) = ltr.gate(comparison, rules).checks
    mark = "✓" if check.passed else "✕ failed:"
    said = f"{mark} {short_check(check, comparison)}"
    assert re.sub(r"\d[\d.]*", "#", said) == re.sub(r"\d[\d.]*", "#", words)
    bound = abs(check.bound)
    expected = numbers.percent(bound) if check.kind in ("relative", "share") else numbers.number(bound)
    assert expected.lstrip("+") in said


@pytest.mark.usefixtures("no_figures")
def test_the_gate_stands_in_the_verdict() -> None:
    X, y, qid = ltr.make_ranking(60, random_state=0)
    scores = {"live": X[:, 0], SCRIPT: X[:, 0] + X[:, 1]}
    rules = ["map > -0.9", "map > 0.9"]
    report = summarize(ltr.Queries(y, qid=qid), scores, "map", baseline="live", rules=rules)
    assert report.gate is not None
    assert report.to_dict()["gate"] == ltr.gate(report.comparison, rules).to_dict()  # type: ignore[arg-type]
    html = as_html(report)
    page = Page(html)
    assert f"{SCRIPT} fails the gate against live" in " ".join(page.text.split())
    assert page.title.startswith(f"Ranking report: {SCRIPT} fails the gate")
    assert "✕ FAIL" in page.text
    passed, failed = report.gate.checks
    assert f"✓ map gains at least {passed.bound:.4f}" in page.text or passed.bound < 0
    assert f"✕ failed: map may gain only {failed.bound:.4f} (needed: more than 0.9000)" in page.text or failed.bound < 0
    assert SCRIPT not in html
    for check in report.gate.checks:
        words = f"{'PASS' if check.passed else 'FAIL'} {SCRIPT}: {check.rule}: {check.reason}"
        assert words in " ".join(page.text.split())


@pytest.mark.usefixtures("no_figures")
def test_a_rule_of_the_gate_is_shown_for_whom_and_where_it_is() -> None:
    """A rule for some models names them, and a margin beyond the axis has an arrow and no line."""
    rules = ["map > -0.9", "xgboost: map > 0", "lightgbm: map < 500%"]
    html = as_html(made_report(n_queries=30, rules=rules))
    text = " ".join(Page(html).text.split())
    assert f"{rules[0]} and {rules[1]} and {rules[2]} " in text
    assert f"gate ◂ {MINUS}0.9, 0, 500% ▸" in text
    inside = [float(x) for x in re.findall(r'd="M([\d.]+) 0V20" class="gate"', html)]
    assert len(inside) == 1
    assert 0 < inside[0] < 100
    assert "Holm, 2 tests" in text
    assert "0.2 of 4 would be marked by chance" in text


@pytest.mark.usefixtures("no_figures")
def test_a_check_with_too_few_queries_says_so() -> None:
    X, y, qid = ltr.make_ranking(20, random_state=0)
    scores = {"live": X[:, 0], "copy": X[:, 0]}
    report = summarize(ltr.Queries(y, qid=qid), scores, "map", baseline="live", rules=["map > 0"])
    assert report.gate is not None
    (check,) = report.gate.checks
    text = " ".join(Page(as_html(report)).text.split())
    assert check.verdict == "too few"
    assert "failed: map may gain only 0.0000 (needed: more than 0.0000): too few ○ detectable" in text


@pytest.mark.usefixtures("no_figures")
def test_the_facts_name_the_command_and_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, qid = ltr.make_ranking(30, random_state=0)
    table = {"qid": qid, "label": y, "a": X[:, 0], "b": X[:, 1]}
    data, out = tmp_path / "data.csv", tmp_path / "report.html"
    pd.DataFrame(table | {"doc": [f"secret-{i}" for i in range(len(y))]}).to_csv(data, index=False)
    arguments = ["report", data, "--scores", "a", "--scores", "b", "--docid", "doc", "--n-resamples", "100", "-o", out]
    for more in ([], ["--no-documents"]):
        assert in_process(capsys, *arguments, *more).status == 0
        html = out.read_text(encoding="utf-8")
        page = Page(html)
        assert ("secret-" in html) == (not more)
        digest = hashlib.sha256(data.read_bytes()).hexdigest()
        assert f"{data} sha256 {digest[:8]}" in " ".join(page.text.split())
        assert digest in page.text
        assert f"ltr-metrics report {data} --scores a" in page.text
        assert in_process(capsys, *arguments, "--output", out.with_suffix(".json"), *more).status == 0
        opened = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))["documents"]
        assert [one["document"].startswith("secret-") for of in opened[:1] for one in of["rankings"]["a"]] == [
            True
        ] * 10 * (not more)


@pytest.mark.usefixtures("no_figures")
def test_chosen_columns_stand_in_opened_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, qid = ltr.make_ranking(12, random_state=0)
    titles = np.array([f"shoe & {i}" if i % 7 else "" for i in range(len(y))])
    table = {
        "qid": qid,
        "label": y,
        "a": X[:, 0],
        "b": X[:, 1],
        "sku": np.arange(len(y)),
        "price": np.arange(len(y)) / 2,
    }
    data, out = tmp_path / "data.csv", tmp_path / "report.html"
    pd.DataFrame(table | {"title": titles, "query": [f"words of {one}" for one in qid]}).to_csv(data, index=False)
    arguments = ["report", data, "--scores", "a", "--scores", "b", "--docid", "sku", "--n-resamples", "100"]
    arguments += ["--metrics", "map", "--columns", "title,query,price"]
    assert in_process(capsys, *arguments, "-o", out).status == 0
    page = Page(out.read_text(encoding="utf-8"))
    assert ["title", "price"] in [row[3:5] for row in page.rows if row[2:3] == ["document"]]
    documents = [row for row in page.rows if len(row) == 7 and row[2].isdecimal()]
    assert len(documents) > 50
    assert all(row[3:5] == [titles[int(row[2])], f"{int(row[2]) / 2:.4g}"] for row in documents)
    assert in_process(capsys, *arguments, "-o", tmp_path / "report.json").status == 0
    opened = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["documents"]
    assert all(f"query: words of {one['qid']}; " in page.text for one in opened)
    assert [one["columns"] for one in opened] == [{"query": f"words of {one['qid']}"} for one in opened]
    for more, message in ((["--no-documents"], "Choose one"), (["--columns", "absent"], "no column 'absent'")):
        failed = in_process(capsys, *arguments, *more, "-o", out)
        assert failed.status != 0
        assert message in failed.err


@pytest.mark.usefixtures("no_figures")
def test_the_leaderboard_marks_the_best_and_what_is_behind() -> None:
    X, y, qid = ltr.make_ranking(60, random_state=0)
    scores = {"good": X[:, 0], "same": X[:, 0], "bad": X[:, 2]}
    report = summarize(ltr.Queries(y, qid=qid), scores, "map", baseline="good", complete=True, k=5)
    rows = {row[0].split()[0]: row[1] for row in Page(as_html(report)).rows if len(row) == 2}
    means = {name: f"{result['map']:.4f}" for name, result in report.evaluations.items()}
    assert rows["good"] == f"best {means['good']} 1–2"
    assert rows["same"] == f"best {means['same']} 1–2"  # equal models share the rank
    assert rows["bad"] == f"behind {means['bad']} 3"
    assert rows["random"] == f"{report.first.chance['map']:.4f}"


@pytest.mark.parametrize(
    ("intervals", "limits", "low"),
    [
        ([(-0.01, 0.02), (-0.4, -0.3)], [], -0.01),  # one bad model is beyond the axis
        ([(-0.01, 0.02), (-0.08, -0.02)], [], -0.08),  # near enough
        ([(-0.01, 0.02), (-0.4, -0.3)], [-0.05], -0.05),  # a margin near the others
        ([(-0.01, 0.02), (-0.1, -0.06)], [-0.05], -0.1),  # near the margin
        ([(-0.01, 0.02)], [-0.5], -0.01),  # a margin far away
        ([(-0.4, -0.3), (-0.5, -0.2)], [-0.01], -0.5),  # the only ones
    ],
)
def test_an_axis_fits_what_is_near(intervals: list[tuple[float, float]], limits: list[float], low: float) -> None:
    loss = ltr.compare({"a": [1, 0, 0, 1], "b": [0, 1, 0, 1]}, [1, 0, 0, 1], group=[2, 2], metrics="mrr").rows[0]
    rows = [replace(loss, difference=(a + b) / 2, ci_low=a, ci_high=b) for a, b in intervals]
    assert min(near_values(rows, limits)) == low
    lower = [replace(row, ci_low=-row.ci_high, ci_high=-row.ci_low, higher_is_better=False) for row in rows]
    turned = [replace(row, difference=-row.difference) for row in lower]
    assert max(near_values(turned, [-limit for limit in limits])) == -low


@pytest.mark.usefixtures("no_figures")
def test_segments_with_an_order_stand_in_it() -> None:
    X, y, qid = ltr.make_ranking(40, random_state=0)
    number = np.unique(qid, return_inverse=True)[1]
    parts = np.array([3, 1, 0, 0, 2, 2, 0, 2, 2, 3])[number % 10]  # neither by size nor by first appearance
    age = pd.Categorical(
        np.array(["young", "middle", "old", "z"])[parts], ["young", "middle", "old", "z"], ordered=True
    )
    by = {"age": age, "length": np.array(["2-9", "10-12", "13", "14+"])[parts], "name": np.array(list("cbad"))[parts]}
    queries = ltr.Queries(y, qid=qid, by=by)
    report = summarize(
        queries, {"old one": X[:, 0], "new": X[:, 1]}, "map", baseline="old one", comparing={"n_resamples": 100}
    )
    page = Page(as_html(report))
    shown = [row[0] for row in page.rows if len(row) in (1, 4) and row[0] in (*"abcd", *by, *by["length"], *age)]
    in_order = ["young", "middle", "old", "z"], ["2-9", "10-12", "13", "14+"], list("acdb")
    assert shown == [text for name, of in zip(by, in_order, strict=True) for text in (name, *of)]


@pytest.mark.usefixtures("no_figures")
def test_losses_stand_first_and_the_page_uses_its_own_words(report: Report) -> None:
    html = as_html(report)
    assert html.index("Largest losses") < html.index("Largest gains")
    settings = html[html.index('id="settings"') :].partition("</section>")[0]
    assert "adjusted by Holm" in settings
    assert not {"mde", "holm", "+/=/-"} & set(re.split("[ :]", settings))
    assert "Chance" not in html[html.index('id="leaderboard"') :].partition("</section>")[0]  # the verdict says it


def test_a_number_never_looks_like_0_unless_it_is() -> None:
    assert [numbers.signed(one, 2) for one in (0.126, -0.0004, 0.0, float("nan"))] == [
        "+0.13",
        f"{MINUS}0.0004",
        "+0.00",
        "–",
    ]
    assert [numbers.percent(one, "+") for one in (0.0834, -0.00004, 0.0)] == ["+8.3%", f"{MINUS}0.004%", "+0.0%"]
    assert numbers.percent(float("nan")) == "–"


ANSWERS: dict[str, tuple[dict[str, Any], str]] = {  # a is the best, c and d are equal
    "one passes": ({"models": "ca", "rules": ["map > 0"]}, "a passes the gate against c"),
    "one fails": ({"models": "ca", "rules": ["map < 0"]}, "a fails the gate"),
    "some": ({"models": "cab", "rules": ["map > -0.01"]}, "1 of 2 candidates pass the gate"),
    "family": (
        {"models": "cab", "rules": ["map > -0.01"], "family": "one"},
        "The gate fails as a whole: 1 of 2 candidates pass",
    ),
    "rule for one": ({"models": "cab", "rules": ["a: map > 0"]}, "a passes the gate against c"),
    "no data": ({"models": "ca", "metrics": ["map(rel=9)"]}, "a cannot be tested against c in map"),
    "better": ({"models": "ca"}, "a is better than c in map"),
    "worse": ({"models": "ac"}, "c is worse than a in map"),
    "unclear": ({"models": "cd"}, "d shows no clear difference from c in map"),
    "both": ({"models": "dac"}, "a is better than d in map"),
    "none": ({"models": "acd"}, "None of 2 candidates is better than a in map"),
    "yardstick": ({"models": "cab", "comparing": {"yardsticks": ["b"]}}, "a is better than c in map"),
    "best": ({"models": "cab", "baseline": None}, "a has the best map, 0."),
    "lowest": ({"models": "cab", "baseline": None, "metrics": ["arp"]}, "a has the best arp, "),
    "lower": ({"models": "ca", "metrics": ["arp"]}, "a is better than c in arp"),
}


@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.usefixtures("no_figures")
def test_the_title_is_the_answer(case: str) -> None:
    X, y, qid = ltr.make_ranking(200, random_state=0)
    scores = {"a": X[:, 0] + 0.2 * X[:, 1], "b": X[:, 2], "c": X[:, 0] * 0.5 + X[:, 2]}
    scores["d"] = scores["c"]
    options, answer = ANSWERS[case]
    models, metrics = options["models"], options.get("metrics", ["map"])
    rest = {"baseline": models[0], "comparing": {}} | {
        k: v for k, v in options.items() if k not in ("models", "metrics")
    }
    rest["comparing"] = {"n_resamples": 200} | rest["comparing"]
    report = summarize(ltr.Queries(y, qid=qid), {name: scores[name] for name in models}, metrics, complete=True, **rest)
    page = Page(as_html(report))
    assert page.title.startswith(f"Ranking report: {answer}")
    assert answer in " ".join(page.text.split())
    badges = [css for css in page.all("class") if css.startswith("badge")]
    assert bool(badges) == ("rules" in options)


def test_names_from_outside_are_text(evil: str) -> None:
    page = Page(evil)
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert "img" not in {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert evil.count(SCRIPT) == 0
    for name in EVIL:
        assert page.text.count(name) >= 2
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


def test_of_more_queries_than_a_page_can_hold_it_has_those_that_change_most(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = query_table(report)
    assert report.comparison is not None
    monkeypatch.setattr("ltr_metrics.report.query_table.MOST_CELLS", 200)  # 7 rows of 5 columns a metric, and 3
    part = query_table(report)
    changes = np.abs([report.comparison.differences(METRICS[0], model) for model in MODELS[1:]])
    most = np.sort(np.argsort(-np.nan_to_num(changes).max(axis=0), kind="stable")[: part["n_rows"]])
    assert (part["n_rows"], part["n_queries"]) == (200 // (5 * len(METRICS) + 3), 120)
    for column, of_whole in zip(part["columns"], whole["columns"], strict=True):
        assert column == of_whole | {"values": [of_whole["values"][row] for row in most]}
    text = Page(as_html(report)).text
    assert f"The table has {part['n_rows']} of 120 queries, those that change most in {METRICS[0]}." in text
    alone = replace(report, comparison=None)
    assert query_table(alone)["columns"][0]["values"] == whole["columns"][0]["values"][: 200 // (3 * len(METRICS) + 3)]


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
