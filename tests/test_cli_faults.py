"""What the command cannot do: it says so with status 2 and one message, and leaves every file as it
was; also when it is killed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from command import FAST, as_process, in_process, made_rows, write_files
from systems import needs_posix

import ltr_metrics as ltr
from ltr_metrics.cli import cli

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_files(path, made_rows())
    return path


A, B = ["--scores", "a=Column_0"], ["--scores", "b=Column_1"]
CSV, TXT = ["data.csv", *A], ["data.txt", "--scores", "a=1"]
AB = ["data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100"]
TREC = ["--qrels", "qrels", "--run", "a=a.run"]
SAVED = ["--result", "saved=saved.parquet"]

BAD = {
    # what is evaluated
    "nothing to score": (["evaluate", "data.txt"], "at least one model, column of scores or run"),
    "nothing at all": (["evaluate"], "Name the DATA"),
    "no such file": (["evaluate", "absent.txt", *A], "does not exist"),
    "no such model": (["evaluate", "data.txt", "--model", "a=absent.txt"], "no model file absent.txt"),
    "no model": (["evaluate", "data.txt", "--model", "a=data.csv"], "not a LightGBM or XGBoost model file"),
    "no such feature": (["evaluate", "data.txt", "--scores", "a=9"], "by number, 1 to 6, or an existing file of scores"),
    "a digit that is none": (["evaluate", "data.txt", "--scores", "a=²"], "by number, 1 to 6, or an existing file .* Got '²'"),
    "no such column": (["evaluate", "data.csv", "--scores", "a=flaat"], "no column 'flaat'. Did you mean 'flat'"),
    "no such scores": (["evaluate", "data.csv", "--scores", "a=s.npy"], "no column 's.npy'.* There is no file s.npy either"),
    "short scores": (["evaluate", "data.csv", "--scores", "a=short.npy"], r"one score per row .* It has 3\d\d scores for 3\d\d rows"),
    "form": (["evaluate", "data.csv", "--scores", "flat="], "form NAME=VALUE or VALUE. Got 'flat='"),
    "no name": (["evaluate", "data.csv", "--scores", "=flat"], "form NAME=VALUE or VALUE. Got '=flat'"),
    "a name twice": (["evaluate", *CSV, "--scores", "a=flat"], "--scores uses the name 'a' twice"),
    "a name for both": (["evaluate", *TXT, "--model", "a=model.txt"], "'a' is used by --scores and by --model, but names must differ"),
    "text scores": (["evaluate", *CSV, "--scores", "b=words"], "b: y_score must be numbers"),
    "other features": (["evaluate", "data.txt", "--n-features", "7", "--model", "a=model.txt"],
        "has 6 features, the data have 7"),
    # data
    "cut off, compressed": (["evaluate", "part.txt.gz", "--scores", "a=1"], "part.txt.gz is damaged or cut off"),
    "cut off, Parquet": (["evaluate", "part.parquet", *A], "part.parquet cannot be read as parquet"),
    "empty LETOR": (["evaluate", "empty.txt", "--scores", "a=1"], "empty.txt has no document"),
    "empty CSV": (["evaluate", "empty.csv", "--scores", "a=s"], "empty.csv cannot be read as csv.*The file is empty"),
    "no rows": (["evaluate", "no_rows.csv", "--scores", "a=s"], "no_rows.csv has no row"),
    "NaN": (["evaluate", "nan.csv", "--scores", "a=s"], r"a: y_score must not be NaN: got nan at row 1 \(query 1\)"),
    "a bad line": (["evaluate", "bad.txt", "--scores", "a=1"],
        "bad.txt:2:9: a feature must have the form number:value. Got '1:x'"),
    "documents twice, LETOR": (["evaluate", "again.txt", "--scores", "a=1"],
        r"'A' stands at row 0 \(query 1\) and again at row 2 \(query 1\)"),
    "documents twice, table": (["evaluate", *CSV, "--docid", "twice"],
        r"'d\d' stands at row \d+ \(query \w+\) and again at row \d+"),
    "mixed files": (["evaluate", "data.txt", "data.csv", *A], "tables or LETOR files, not both"),
    "no such label": (["evaluate", *CSV, "--label", "labell"], "no column 'labell'. Did you mean 'label'"),
    "no such qid": (["evaluate", *CSV, "--qid", "id"], "no column 'id'"),
    "no such weight": (["evaluate", *CSV, "--weight", "trafic"], "no column 'trafic'. Did you mean 'traffic'"),
    "no such segment": (["evaluate", *CSV, "--segment", "devic"], "no column 'devic'. Did you mean 'device'"),
    "no such docid": (["evaluate", *CSV, "--docid", "dok"], "no column 'dok'"),
    "no such cluster": (["compare", *AB, "--cluster", "usr"], "no column 'usr'. Did you mean 'user'"),
    "counts or column": (["evaluate", "counted.csv", *A, "--segment", "n_documents"], "Rename the column"),
    "columns of LETOR": (["evaluate", *TXT, "--docid", "id"], "LETOR files have none"),
    "segments of LETOR": (["evaluate", *TXT, "--segment", "device"], "LETOR files have none .except --segment n_documents and --segment n_relevant"),
    "options of LETOR": (["evaluate", *CSV, "--zero-based"], "are for LETOR files"),
    "segments that change": (["evaluate", *CSV, "--segment", "doc"], r"by\['doc'\] must be one label a query"),
    # metrics and options
    "no such metric": (["evaluate", *CSV, "--metrics", "ndgc"], "Did you mean 'ndcg'"),
    "no metric": (["evaluate", *CSV, "--metrics", ""], "form name, name@10"),
    "no such tie policy": (["evaluate", *CSV, "--ties", "random"], "ties must be one of"),
    "no such convention": (["evaluate", *CSV, "--convention", "lightgmb"], "Did you mean 'lightgbm'"),
    "gain table": (["evaluate", *TXT, "--metrics", "ndcg(gain=[0,x])"], "one finite number a grade"),
    "in convention": (["evaluate", *TXT, "--metrics", "mrr", "--convention", "lightgbm"], "not a metric of lightgbm"),
    "no such option": (["evaluate", *CSV, "--metric", "map"], "No such option"),
    "no such command": (["evaluat"], "No such command"),
    # comparison
    "one model": (["compare", *CSV], "needs two models or more"),
    "no such baseline": (["compare", *AB, "--baseline", "A"], "The baseline 'A' is not one of the models. Did you mean 'a'"),
    "no such test": (["compare", *AB, "--test", "z"], "'z' is not one of"),
    "no confidence": (["compare", *AB, "--confidence", "95"], "confidence must be a number between 0 and 1"),
    "few resamples": (["compare", *AB, "--n-resamples", "3"], "n_resamples must be a whole number"),
    "test without weights": (["compare", *AB, "--test", "wilcoxon", "--weight", "traffic"], "(?i)wilcoxon"),
    "no such rule": (["compare", *AB, "--gate", "map"], "cannot be read"),
    "rule of no metric": (["compare", *AB, "--gate", "mapp > 0"], "'mapp' was not evaluated.*Did you mean 'map'"),
    "rule of another metric": (["compare", *AB, "--gate", "mrr > 0"], "'mrr' was not evaluated"),
    "rule of no model": (["compare", *AB, "--gate", "c: map > 0"], "the model 'c', which is not compared"),
    "rule of the baseline": (["report", *AB, "--gate", "a: map > 0"], "the model 'a', which is not compared"),
    "no segments": (["compare", *AB, "--gate", "map > 0", "--gate-each-segment"], "needs segments"),
    "no rule": (["compare", *AB, "--gate-each-segment"], "needs a rule"),
    "a gate for one": (["report", *CSV, "--gate", "map > 0"], "needs two models or more"),
    "clusters of LETOR": (["compare", *TXT, "--scores", "b=2", "--cluster", "user"], "LETOR files have none"),
    # saved results
    "no such result": (["compare", "--result", "a=absent.parquet", *SAVED], "no saved result absent.parquet"),
    "no result": (["compare", "--result", "a=data.parquet", *SAVED], "but not a saved result"),
    "result cut off": (["compare", "--result", "a=part.parquet", *SAVED], "cannot be read as a saved result.*cut off"),
    "other options": (["compare", "--result", "a=worst.parquet", *SAVED], "ties='mean', the other models with ties='worst'"),
    "other queries": (["compare", "--result", "a=fewer.parquet", *SAVED], "different queries from the other models"),
    "queries of a third kind": (["compare", *SAVED, "--queries", "all"], "Invalid value for '--queries'"),
    "result of other data": (["compare", "data.txt", "--scores", "a=1", "--zero-based", "--result", "r=fewer.parquet"], "different queries"),
    "lacks the metric": (["compare", *TXT, *SAVED, "--metrics", "mrr"], "lacks mrr; it has"),
    "data without a part": (["compare", "data.txt", *SAVED, "--result", "b=saved.parquet"], "so DATA are not used"),
    "option without a part": (["compare", *SAVED, "--result", "b=saved.parquet", "--weight", "w"], "--weight applies to DATA"),
    "ties without a part": (["compare", *SAVED, "--result", "b=saved.parquet", "--ties", "best"], "ties is not used"),
    "segments not kept": (["compare", *SAVED, "--result", "b=saved.parquet", "--segment", "device"], "no segments 'device'.* It has n_documents, n_relevant"),
    # TREC
    "qrels alone": (["evaluate", "--qrels", "qrels"], "--qrels FILE and --run NAME=FILE"),
    "run alone": (["evaluate", "--run", "a=a.run"], "--qrels FILE and --run NAME=FILE"),
    "both kinds": (["evaluate", *CSV, "--run", "x=a.run"], "without DATA, --model and --scores"),
    "segments of TREC": (["evaluate", *TREC, "--segment", "device"], "TREC files have none"),
    "n_documents of TREC": (["evaluate", *TREC, "--segment", "n_documents"], "Use --segment n_relevant"),
    "topics of none": (["evaluate", *CSV, "--topics", "qrels"], "--topics needs TREC files"),
    "an unknown query": (["evaluate", "--qrels", "qrels", "--run", "a=has.run"], "topics without judgments: 11, 12"),
    "no such run": (["evaluate", "--qrels", "qrels", "--run", "a=absent.run"], "absent.run"),
    "qrels as run": (["evaluate", "--qrels", "qrels", "--run", "a=qrels"], "qrels:1: a line must have 6 fields"),
    # explain
    "explain without ids": (["explain", "data.csv", "--scores", "x=flat", "--metric", "ndcg", "--from", "lightgbm", "--to", "trec_eval"], "x: .*needs docid"),
    "explain no metric of": (["explain", *CSV, "--metric", "err", "--from", "lightgbm", "--to", "gdeval"], "not a metric of"),
    "explain what": (["explain", *CSV, "--metric", "ndcg", "--from", "lightgbm"], "Missing option '--to'"),
    "explain value and from": (["explain", *CSV, "--metric", "ndcg", "--from", "lightgbm", "--value", "0.4"], "does not go with --from"),
    "explain value and ties": (["explain", *CSV, "--metric", "ndcg", "--ties", "worst", "--value", "0.4"], "does not go with --ties"),
    "explain value of text": (["explain", *CSV, "--metric", "ndcg", "--value", "high"], "value must be a finite number"),
    # sorted
    "sorted TREC": (["evaluate", *TREC, "--sorted"], "TREC files are read whole"),
    "sorted nothing": (["evaluate", "data.txt", "--sorted"], "at least one model or column"),
    "sorted counts": (["evaluate", *TXT, "--sorted", "--segment", "n_documents"], "from columns alone"),
    # output
    "save whose": (["evaluate", *AB[:5], "--save", "x.parquet"], "--save must have the form NAME=FILE, where NAME is one of a, b"),
    "save twice": (["evaluate", *CSV, "--save", "x.parquet", "--save", "a=y.parquet"], "--save is given twice for 'a'"),
    "save in one": (["evaluate", *AB[:5], "--save", "a=x.parquet", "--save", "b=./x.parquet"], "would be written twice"),
    "save nowhere": (["evaluate", *CSV, "--save", "absent/x.parquet"], "no folder absent to write x.parquet into"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_run_exits_with_2_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(folder)
    arguments, message = BAD[case]
    out, before = tmp_path / "out.json", sorted(folder.iterdir())
    out.write_text("before")
    done = in_process(capsys, *arguments, "--output", out)
    assert (done.status, done.out) == (2, ""), done.err
    assert re.search(message, " ".join(done.err.split())), done.err
    assert "Traceback" not in done.err
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]
    assert sorted(folder.iterdir()) == before


OUT = {
    "no folder": (["--output", "absent/x.txt"], "no folder absent to write x.txt into"),
    "a folder": (["--output", "."], "is a directory"),
    "no known name": (
        ["--output", "report"],
        "must end in one of .txt, .json, .csv, .md, .tex. Or choose the format with --format",
    ),
    "no name of evaluate": (["--output", "x.html"], "must end in"),
    "a device": (["--output", "/dev/null", "--format", "json"], "is not a regular file"),
    "no such format": (["--format", "xml"], "'xml' is not one of"),
}


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=needs_posix("/dev/null")) if c == "a device" else c for c in OUT]
)
def test_where_nothing_can_be_written_is_said_before_the_work(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(folder)
    arguments, message = OUT[case]
    monkeypatch.setattr(sys.modules["ltr_metrics.cli.evaluate"], "read_source", None)  # would be called to read
    done = in_process(capsys, "evaluate", *CSV, *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())


def test_html_is_for_a_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    done = in_process(capsys, "report", folder / "data.csv", *A, "--format", "html")
    assert (done.status, done.out) == (2, "")
    assert "--output report.html" in done.err


def test_nothing_is_saved_when_rendering_fails(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_report: Any) -> str:
        raise OSError("a library is missing")

    monkeypatch.setitem(sys.modules["ltr_metrics.cli.evaluate"].RENDERERS, "text", fails)
    done = in_process(
        capsys, "evaluate", folder / "data.csv", *A, "--save", tmp_path / "x.parquet", "--output", tmp_path / "x.txt"
    )
    assert done.status == 2
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_ours_is_no_failed_gate(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(sys.modules["ltr_metrics.cli.compare"], "compare_models", fails)
    done = in_process(capsys, "compare", folder / "data.csv", *A, *B)
    assert done.status == 2
    assert "ZeroDivisionError" in done.err


@needs_posix("links that everybody may make")
def test_a_link_stays_a_link(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "x.json").symlink_to(tmp_path / "real" / "x.json")
    assert in_process(capsys, "evaluate", folder / "data.csv", *A, "--output", tmp_path / "x.json").status == 0
    assert (tmp_path / "x.json").is_symlink()
    assert json.loads((tmp_path / "real" / "x.json").read_text())["models"]["a"]


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [None, *cli.commands])
def test_help_fits_a_terminal_and_teaches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str | None
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = in_process(capsys, *([] if command is None else [command]), "--help")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    if command is None:
        listed = done.out.partition("Commands:\n")[2].splitlines()
        commands = ["evaluate", "compare", "report", "curve", "explain", "audit", "metrics"]
        assert [line.split()[0] for line in listed] == commands
        assert all(line.endswith(".") and not line.endswith("..") for line in listed)
        return
    assert "Examples:" in done.out
    assert done.out.count(f"ltr-metrics {command}") >= 3
    sections = [line for line in done.out.splitlines() if line.endswith(":") and line[0] != " "]
    assert sections[:2] == ["Models and scores:", "Data:"] or command == "metrics"
    assert sections[-1] == "Output:"
    assert re.search(r"-h, --help", done.out.partition("Output:")[2])


@pytest.mark.parametrize("command", cli.commands)
def test_the_help_of_each_option_is_full_sentences(command: str) -> None:
    context = click.Context(cli.commands[command])
    for option in cli.commands[command].get_params(context):
        if isinstance(option, click.Option):
            text = re.sub(r"  \[default: .*\]$", "", option.help or "")
            assert re.fullmatch(r"[A-Z].*\.", text), option.opts


@pytest.mark.parametrize("command", [name for name in cli.commands if name != "metrics"])
def test_the_examples_of_the_help_are_read(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """They name files that do not exist, so each fails at that point and no earlier."""
    help_text = in_process(capsys, command, "--help").out
    examples = help_text.partition("Examples:")[2].partition("Models and scores:")[0]
    lines = examples.replace("\\\n", " ").strip().splitlines()
    assert len(lines) >= 2
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "ltr-metrics"
        done = in_process(capsys, *arguments)
        assert done.status == 2
        assert "does not exist" in done.err


@pytest.mark.parametrize(
    ("command", "old"),
    [
        ("evaluate", ["--out", "x.json"]),
        ("evaluate", ["--by", "device"]),
        ("compare", ["--random-state", "1"]),
        ("compare", ["--resamples", "100"]),
        ("compare", ["--interval", "t"]),
        ("report", ["--shown", "5"]),
        ("explain", ["--a", "lightgbm"]),
    ],
)
def test_earlier_names_of_options_are_refused(capsys: pytest.CaptureFixture[str], command: str, old: list[str]) -> None:
    done = in_process(capsys, command, *old)
    assert (done.status, done.out) == (2, "")
    assert re.search(rf"No such option:? '?{old[0]}\b", done.err)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_process(capsys, "--version").out == f"ltr-metrics, version {ltr.__version__}\n"


# -- as a process ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_status_is_the_process_s(folder: Path) -> None:
    command = ["compare", folder / "data.csv", *A, *B, *FAST]
    done = as_process(*command, "--gate", "map > -1")
    assert (done.returncode, done.stderr[:4]) == (0, "PASS")
    assert done.stdout.startswith("metric ")
    done = as_process(*command, "--gate", "map > 1")
    assert (done.returncode, done.stderr[:4]) == (1, "FAIL")
    assert as_process("compare").returncode == 2


DYING = """
import builtins, os, signal, sys
plain = open
class Dying:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
builtins.open = lambda path, mode="r", **more: (Dying if mode == "xb" else lambda file: file)(plain(path, mode, **more))
from ltr_metrics.cli import main
main(sys.argv[1:])
"""


@pytest.mark.slow
@needs_posix("SIGKILL")
@pytest.mark.parametrize("option", ["--output", "--save"])
@pytest.mark.parametrize("existed", [True, False])
def test_killed_in_the_middle_of_writing_it_leaves_no_half_written_file(
    folder: Path, tmp_path: Path, option: str, existed: bool
) -> None:
    target = tmp_path / "x.json"
    if existed:
        target.write_text("before")
    command = [sys.executable, "-c", DYING, "evaluate", str(folder / "data.csv"), *A, option, str(target)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert target.exists() is existed
    if existed:
        assert target.read_text() == "before"
    (beside,) = set(tmp_path.iterdir()) - {target}  # what nobody was left to remove: hidden, and under another name
    assert beside.name.startswith(".x.json.")
    assert as_process("evaluate", folder / "data.csv", *A, option, target).returncode == 0


def unread_bytes(pipe: int) -> int:
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@needs_posix("named pipes")
def test_interrupted_it_exits_with_2_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    pipe, out = tmp_path / "data.txt", tmp_path / "x.json"
    os.mkfifo(pipe)
    out.write_text("before")
    command = [sys.executable, "-m", "ltr_metrics", "evaluate", str(pipe), "--scores", "a=1", "--output", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("wb") as writer:  # opens once the command reads
            writer.write((folder / "data.txt").read_bytes()[:1000])
            writer.flush()
            while unread_bytes(writer.fileno()):  # so that it waits for more, and is not about to import a module
                os.sched_yield()
            process.send_signal(signal.SIGINT)
        shown, said = process.communicate()
    assert (process.returncode, shown) == (2, ""), said
    assert "stopped" in said
    assert "Traceback" not in said
    assert out.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [pipe, out]


@pytest.mark.slow
@needs_posix("error of its own for a pipe that nobody reads")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["evaluate", "data.csv", *A, "--format", "csv"], 0),
        (["compare", "data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100", "--gate", "map > 1"], 1),
        (["evaluate", "--help"], 0),
    ],
)
def test_a_reader_that_has_gone_is_no_fault(folder: Path, arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "ltr_metrics", *arguments]
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, cwd=folder)
    finally:
        os.close(writer)
    assert done.returncode == status
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@needs_posix("error of its own for a pipe that nobody reads")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["compare", "data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100", "--gate", "map > 1"], 1),
        (["evaluate", "data.csv", "--scores", "a=absent"], 2),
        (["evaluate", "data.csv", "--no-such-option"], 2),
    ],
)
def test_the_status_is_the_same_if_nobody_reads_the_messages(folder: Path, arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "ltr_metrics", *arguments]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=writer, check=False, cwd=folder)
    finally:
        os.close(writer)
    assert done.returncode == status


def everything_on(terminal: int) -> str:
    """Return all that a terminal was sent; one read returns a part of it."""
    seen = b""
    with suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as file:  # Linux ends a terminal with an error
        while part := file.read(1 << 16):
            seen += part
    return seen.decode()


@pytest.mark.slow
@needs_posix("pseudo-terminals")
def test_a_bar_is_shown_on_a_terminal_alone(folder: Path) -> None:
    import pty

    command = ["compare", "data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100", "--segment", "device"]
    shown, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stderr:
        done = subprocess.run(
            [sys.executable, "-m", "ltr_metrics", *command],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            check=False,
            cwd=folder,
        )
    seen = everything_on(shown)
    assert done.returncode == 0, seen
    for label in ("Reading", "Evaluating", "Comparing", "Comparing in segments"):
        assert re.search(rf"{label}  \[#+\]  100%", seen), seen
    plain = as_process(*command, cwd=folder)
    assert plain.stderr == ""
    assert plain.stdout == done.stdout
