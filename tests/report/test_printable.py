"""What comes from outside cannot control a terminal, leave a comment, or become a formula of a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Done, as_process, in_process

import ltr_metrics as ltr
from ltr_metrics.errors import naming, one_line, printable, warn
from ltr_metrics.report import spreadsheet_safe
from ltr_metrics.report.csv import in_csv

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
TITLE, COLOUR, TURNED = "\x1b]0;owned\x07", "\x9b31m", "\u202egnp.exe\u2066"
EVIL = f"new{TITLE}{COLOUR}{TURNED}\x7f\u2028\r\nPASS  {COLOUR}"
SEGMENTS = ["=1+1\x1b[2J", "@x\nPASS\x9c"]
COMMANDS = {
    "evaluate": [],
    "compare": ["--n-resamples", "200", "--gate", "map > -0.9", "--gate-each-segment"],
}
Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(in_process, capsys)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose ids and segments would control a terminal."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("evil") / "data.parquet"
    qid = np.repeat([f"q{i}{TITLE}{TURNED}\r" for i in range(12)], 8)
    columns = {"label": rng.integers(0, 3, 96), "s": rng.random(96), "t": rng.random(96)}
    pd.DataFrame({"qid": qid, "by": np.repeat(SEGMENTS * 6, 8)} | columns).to_parquet(path)
    return path


def test_what_is_spelled_out_and_what_stays() -> None:
    assert (
        printable("a\x1b\x9b\x7f\u202e\u2069\u2028\udc9b\tb\r\nc")
        == r"a\x1b\x9b\x7f\u202e\u2069\u2028\udc9b\tb\r" + "\nc"
    )
    assert one_line("two\nlines") == r"two\nlines"
    plain = "naïve 日本語 שלום \N{ZERO WIDTH JOINER}👍🏽 \\x1b"
    assert printable(plain) == one_line(plain) == plain
    for code in range(0x2100):
        assert bool(CONTROL.search(chr(code))) == (printable(chr(code)) != chr(code)), hex(code)


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_a_command_prints_controls_a_terminal(run: Run, table: Path, command: str, form: str) -> None:
    arguments = [command, table, "--scores", f"{EVIL}=s", "--scores", "b=t", "--segment", "by", "--metrics", "map"]
    done = run(*arguments, *COMMANDS[command], "--format", form)
    assert done.status == 0, done.err
    for text in (done.out, done.err):
        assert CONTROL.findall(text) == []
    assert "x1b" in done.out


def test_errors_and_warnings_are_spelled_out() -> None:
    for kind in (ltr.LtrValueError, ltr.LtrTypeError, ltr.LtrKeyError):
        assert str(kind(f"model {TITLE}{COLOUR}: no\nwhy")) == "model \\x1b]0;owned\\x07\\x9b31m: no\nwhy"
        with pytest.raises(kind, match=r"^\\x1b: \\x9b$"), naming("\x1b"):
            raise kind("\x9b")
    with pytest.raises(ltr.LtrValueError) as refused:
        ltr.evaluate([1, 0], [np.nan, 1], qid=[f"q{TITLE}"] * 2, metrics="mrr")
    assert CONTROL.findall(str(refused.value)) == []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(f"query {TITLE}")
    assert str(caught[0].message) == "query \\x1b]0;owned\\x07"


# -- data keep what they are -----------------------------------------------------------------------


def test_csv_and_json_hold_names_as_they_are(run: Run, table: Path) -> None:
    arguments = ["evaluate", table, "--scores", f"{EVIL}=s", "--segment", "by", "--metrics", "map", "--format"]
    qid = pd.read_parquet(table)["qid"].unique().tolist()
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "csv").out, newline="")))
    assert [row["qid"] for row in rows] == qid
    assert {row["model"] for row in rows} == {EVIL}
    assert [row["by"] for row in rows] == SEGMENTS * 6
    text = run(*arguments, "json").out
    assert CONTROL.findall(text) == []
    assert [row["model"] for row in json.loads(text)["means"]] == [EVIL]


def test_csv_on_a_terminal_is_as_harmless_as_text(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["evaluate", table, "--scores", f"{EVIL}=s", "--metrics", "map", "--format", "csv"]
    assert CONTROL.search(run(*arguments).out)
    monkeypatch.setattr("ltr_metrics.cli.output.is_terminal", bool)
    assert not CONTROL.search(run(*arguments).out)


@pytest.mark.integration
@pytest.mark.parametrize(("form", "segment"), [("csv", "日1"), ("json", "\\u65e51"), ("text", "\\u65e51")])
def test_a_name_that_the_encoding_of_a_stream_lacks(tmp_path: Path, form: str, segment: str) -> None:
    (tmp_path / "a.csv").write_text("qid,label,s,by\n1,1,2,日1\n1,0,1,日1\n", encoding="utf-8")
    command = f"evaluate a.csv --scores s --metrics map --segment by --format {form}".split()
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = as_process(*command, cwd=tmp_path, env=environment, encoding="utf-8")
    assert (done.returncode, done.stderr, segment in done.stdout) == (0, "", True)


FORMULAS = {
    **{text: f"'{text}" for text in ("=1+1", "+1+1", "-1+1", "@A1", "-2+cmd|' /C'!A0", "-inf", "-", "＝1+1", "＋1")},
    **{f"{mark}=1": f"'{mark}'=1" for mark in "\t\r\n"},  # a cell of its own where lines are split at such a mark
    **{f"a{mark}@A1": f"a{mark}'@A1" for mark in ";\t\r\n"},
}
HARMLESS = ["a=1", "-0.5", "+3", "-.5e-07", "1e5", "", "text", "a,b", "'=1", "5-3", "a;b", "a; =1"]


def test_formulas_are_quoted_for_spreadsheets_and_nothing_else() -> None:
    safe = FORMULAS | {text: text for text in HARMLESS}
    made = in_csv(pd.DataFrame({"x": list(safe), "n": -0.5}), header=False)
    read = csv.reader(io.StringIO(spreadsheet_safe(made), newline=""))
    assert list(read) == [[text, "-0.5"] for text in safe.values()]
