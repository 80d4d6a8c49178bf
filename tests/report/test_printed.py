"""Results as text and as HTML: one description gives both, names are text and never markup, and no
result forgets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from command import in_process

import ltr_metrics as ltr
from ltr_metrics.counterfactual import Propensities
from ltr_metrics.counterfactual import evaluate as evaluate_clicks
from ltr_metrics.evaluation.tables import (
    STYLE,
    Table,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    filled,
    text_width,
)
from ltr_metrics.logs.learning import curve_of_values
from ltr_metrics.online.interleaving.outcome import Outcome

SCRIPT = '<script>alert("1")</script> & </td>\x1b]0;owned\x07\u202e'  # markup, and what controls a terminal


def labels() -> dict[str, Any]:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    scores = {"base": np.round(X[:, 0], 1), SCRIPT: X[:, 0] + X[:, 1]}
    return {"y": y, "qid": qid, "scores": scores, "by": np.where(qid % 2, SCRIPT, "other")}


def evaluated(**options: Any) -> ltr.Evaluation:
    made = labels()
    return ltr.evaluate(made["y"], made["scores"]["base"], qid=made["qid"], metrics=["map", "ndcg@10"], **options)


def compared() -> ltr.Comparison:
    made = labels()
    options: dict[str, Any] = {"metrics": ["map", "ndcg@10"], "n_resamples": 200, "by": {SCRIPT: made["by"]}}
    options["query_weight"] = np.arange(1.0, 41)
    return ltr.compare(made["scores"], made["y"], qid=made["qid"], **options)


def opened() -> Any:
    made = labels()
    docid = np.arange(len(made["y"])).astype("<U70")
    docid[0] = SCRIPT
    options: dict[str, Any] = {"metrics": "map", "n_resamples": 200, "docid": docid}
    return ltr.compare(made["scores"], made["y"], qid=made["qid"], **options).query(made["qid"][0])


def gated() -> ltr.GateResult:
    return ltr.gate(compared(), ["map > -1", "share(ndcg@10 < -0.1) < 0"], each_segment=True)


def churned() -> Any:
    made = labels()
    return ltr.churn(*made["scores"].values(), qid=made["qid"], k=3)


def audited() -> Any:
    made = labels()
    docid = np.arange(len(made["y"])).astype("<U40")
    docid[1] = docid[0] = SCRIPT
    judged = (np.arange(len(made["y"])) % 3 > 0) | (made["y"] > 0)
    return ltr.audit(made["y"], made["scores"], qid=made["qid"], metrics=["map"], docid=docid, judged=judged)


def explained() -> ltr.Explanation:
    made = labels()
    options: dict[str, Any] = {"metric": "ndcg@10", "a": "lightgbm", "b": "sklearn"}
    return ltr.explain_difference(made["y"], made["scores"]["base"], qid=made["qid"], **options)


def identified() -> ltr.Identification:
    made = labels()
    return ltr.identify_convention(made["y"], made["scores"]["base"], qid=made["qid"], metric="ndcg@10", value="0.5")


def rounds() -> np.ndarray:
    return np.random.default_rng(0).random((5, 30)) + np.array([0.0, 0.1, 0.3, 0.0, -0.2])[:, np.newaxis]


RESULTS: dict[str, Callable[[], Any]] = {
    "Evaluation": lambda: evaluated(by=labels()["by"]),
    "Comparison": compared,
    "Change": lambda: compared().changes("map"),
    "Leaderboard": lambda: compared().leaderboard,
    "Intervals": lambda: ltr.intervals(evaluated(query_weight=np.arange(1.0, 41))),
    "OpenedQuery": opened,
    "GateResult": gated,
    "Check": lambda: gated().checks[0],
    "Explanation": explained,
    "Identification": identified,
    "TieAudit": lambda: ltr.tie_audit(labels()["y"], labels()["scores"]["base"], qid=labels()["qid"], metrics=["map"]),
    "Audit": audited,
    "DataAudit": lambda: audited().data,
    "Churn": churned,
    "LearningCurve": lambda: curve_of_values(rounds(), None, metric="map", data=SCRIPT, confidence=0.9),
    "Outcome": lambda: Outcome([SCRIPT, "other"], "team_draft", np.array([[1.0, 0, 2, 1], [0, 1, 0, 1]])),
    "Propensities": lambda: Propensities([1, 0.5], standard_error=[0, 0.1], method=SCRIPT),
    "ClickEvaluation": lambda: evaluate_clicks(
        [1, 0] * 200, [1, 2] * 200, group=[2] * 200, propensity=[1, 0.5] * 200, by=[SCRIPT, "other"] * 100
    ),
}
EACH = pytest.mark.parametrize("name", RESULTS)


def shown_in(html: str) -> ElementTree.Element:
    """Parse HTML, which is XML as well, so that whatever is not closed or escaped is an error."""
    return ElementTree.fromstring(html)


@EACH
def test_html_is_well_formed_and_has_no_markup_from_data(name: str) -> None:
    html = RESULTS[name]()._repr_html_()
    page = shown_in(html)
    assert not {"\x1b", "\u202e"} & {*html, *str(RESULTS[name]())}
    tags = {element.tag for element in page.iter()}
    assert tags <= {"div", "style", "bdi", "wbr", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert "<script" not in html
    for table in page.iter("table"):
        assert len({len(row) for row in table.iter("tr")}) == 1
    assert [element.text for element in page.iter("style")] == [STYLE.removeprefix("<style>").removesuffix("</style>")]


@EACH
def test_html_says_what_is_printed(name: str) -> None:
    """The words of both, in their order; of a gate in the order of the table's columns."""
    result = RESULTS[name]()
    words = " ".join(
        " ".join(shown_in(result._repr_html_().replace(STYLE, "").replace("<wbr/>", "")).itertext()).split()
    )
    printed = " ".join(str(result).split())
    if name not in ("GateResult", "Check"):
        assert words == printed
    for check in getattr(result, "checks", []):
        assert " ".join(f"{check.rule} {check.reason}".split()) in words
        assert " ".join(str(check).split()) in printed


def test_a_table_in_each_form() -> None:
    table = Table(("name", "n"), [("a<b", "1"), ("b|_c", "1,000")], "lr", "title", "one\n  two")
    assert as_text(table) == "title\nname      n\na<b       1\nb|_c  1,000\none\n  two"
    page = shown_in(f"<div>{as_html(table)}{as_html('three')}</div>")
    cells = ["".join(cell.itertext()) for cell in page.iter() if cell.tag in ("th", "td")]
    assert cells == ["name", "n", "a<b", "1", "b|_c", "1,000"]
    assert [paragraph.text for paragraph in page.iter("p")] == ["one", "two", "three"]
    markdown = as_markdown(table)
    assert markdown.startswith("## title\n\n| name")
    assert r"a&lt;b" in markdown
    assert r"b\|\_c" in markdown
    latex = as_latex(table).splitlines()
    assert latex[:3] == ["% title", "% one", "%   two"]
    assert latex[3].startswith(r"\begin{tabular}{lr}")
    odd = Table(("name",), [("a\nb\r\\immediate\\write18{id}",)], "l", "title\nb\\immediate")
    assert not [line for line in re.split(r"[\r\n]", as_latex(odd)) if line[0] != "%" and r"\immediate" in line]


@pytest.mark.parametrize(
    ("width", "left_out"), [(80, ["effect", "p", "queries", "baseline", "mde", "+/=/-"]), (120, ["effect"]), (200, [])]
)
def test_tables_fit_the_terminal_and_wide_shows_all(
    width: int, left_out: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    table = {"qid": qid, "label": y, "live": X[:, 0], "candidate": X[:, 0] + X[:, 1]}
    pd.DataFrame(table).to_csv(tmp_path / "data.csv", index=False)
    arguments = ["compare", tmp_path / "data.csv", "--scores", "live", "--scores", "candidate", "-m", "ndcg@10,map"]
    arguments += ["--n-resamples", "100", "--gate", "map > -0.9"]
    plain = in_process(capsys, *arguments)  # as into a pipe
    monkeypatch.setattr("ltr_metrics.cli.output.is_terminal", lambda _: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    fitting, wide = in_process(capsys, *arguments), in_process(capsys, *arguments, "--wide")
    assert wide.out == plain.out
    assert max(map(len, [*fitting.out.splitlines(), *fitting.err.splitlines()])) <= width
    assert " ".join(fitting.err.split()) == " ".join(plain.err.split())
    header = fitting.out.splitlines()[0].split()
    assert [name for name in plain.out.splitlines()[0].split() if name not in header] == sorted(
        left_out, key=plain.out.splitlines()[0].split().index
    )
    note = f"--wide also shows {', '.join(left_out)}."
    assert (note in fitting.out) == bool(left_out)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    coloured = in_process(capsys, *arguments)
    assert "\x1b[32m\x1b[1mPASS\x1b[0m  candidate" in coloured.err
    assert "\x1b" not in fitting.out + fitting.err + plain.err


def test_wide_characters_count_twice_in_a_terminal() -> None:
    names = ["模型" * 3, "🚀", "n\u0303", "排序" * 15, "plain"]
    table = Table(["model", "mean"], [[name, "0.1234"] for name in names], "lr", foot="每个查询的" * 20)
    for width in (None, 40):
        lines = as_text(table, width).splitlines()
        rows = lines[1 : 1 + len(names)]
        assert len({text_width(row) for row in rows}) == 1
        assert width is None or max(map(text_width, lines)) <= width
        assert "".join(lines).count("每个查询的") == 20
    lines = filled("FAIL  模型: " + "字" * 30, 20, "  ").splitlines()
    assert "".join(map(str.strip, lines)) == "FAIL  模型: " + "字" * 30
    assert 18 <= min(map(text_width, lines[:-1])) <= max(map(text_width, lines)) <= 20


@pytest.mark.parametrize("width", [80, 66])
def test_long_names_fit_the_terminal_and_are_told_apart(width: int) -> None:
    models = [
        "lambdarank_with_all_features_01",
        "lambdarank_with_all_features_02",
        "lambdarank_with_ffeatures_01",
        "bm25",
    ]
    rows = [["ndcg_exp@10", name, "0.1234", "[+0.0001, +0.0002]", "0.0500", "more"] for name in models]
    table = Table(["metric", "model", "mean", "interval", "adjusted", "effect"], rows, "llr")
    assert all(f" {name} " in as_text(table) for name in models)
    lines = as_text(table, width).splitlines()
    assert max(map(len, lines)) <= width
    shown = [line.split()[1] for line in lines[1:5]]
    assert len(set(shown)) == len(models)
    assert lines[5:] == [
        "--wide also shows effect.",
        *(f"{short}: {name}" for short, name in zip(shown, models, strict=True) if short != name),
    ]
