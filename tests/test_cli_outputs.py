"""Where the command writes: never over its inputs, with the permissions that a file has; and what
its status says when it cannot write.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import as_process, in_process, made_rows, write_files
from systems import needs_posix

from ltr_metrics.io import write as writing

pytestmark = pytest.mark.integration

A, B = ["--scores", "a=Column_0"], ["--scores", "b=Column_1"]
AB = ["data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100"]
JSON = ["--format", "json"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_files(path, made_rows())
    (path / "sized.txt").write_text(re.sub(r" qid:\S+", "", (path / "data.txt").read_text()))
    sizes = np.unique(made_rows()["qid"], return_counts=True)[1]
    (path / "sized.txt.query").write_text("".join(f"{size}\n" for size in sizes))
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "data"
    shutil.copytree(made, path)
    monkeypatch.chdir(path)
    return path


# -- outputs that are inputs -----------------------------------------------------------------------

READ = {
    "the data": ("data.csv", ["evaluate", "data.csv", *A, *JSON, "--output"]),
    "the data, saved": ("data.csv", ["evaluate", "data.csv", *A, "--save"]),
    "a later part of the data": ("b.csv", ["evaluate", "data.csv", "b.csv", *A, *JSON, "--output"]),
    "one of two saved": ("data.csv", ["evaluate", *AB[:5], "--save", "a=new.parquet", "--save", "b={}"]),
    "sorted": ("data.csv", ["evaluate", "data.csv", *A, "--sorted", *JSON, "--output"]),
    "sorted, saved": ("data.parquet", ["evaluate", "data.parquet", *A, "--sorted", "--save"]),
    "Dask": ("data.csv", ["evaluate", "data.csv", *A, "--engine", "dask", *JSON, "--output"]),
    "Dask, saved": ("data.parquet", ["evaluate", "data.parquet", *A, "--engine", "dask", "--save"]),
    "Spark": ("data.parquet", ["evaluate", "data.parquet", *A, "--engine", "spark", "--save"]),
    "LETOR": ("data.txt", ["evaluate", "data.txt", "--scores", "a=1", "--output"]),
    "query sizes": ("sized.txt.query", ["evaluate", "sized.txt", "--scores", "a=1", *JSON, "--output"]),
    "a model": ("model.txt", ["evaluate", "data.txt", "--model", "model.txt", "--output"]),
    "a model, saved": ("model.txt", ["evaluate", "data.txt", "--model", "m=model.txt", "--save"]),
    "scores": ("scores.txt", ["evaluate", "data.csv", "--scores", "a=scores.txt", "--output"]),
    "scores, saved": ("scores.npy", ["evaluate", "data.csv", "--scores", "scores.npy", "--save"]),
    "a result": ("saved.parquet", ["compare", *AB, "--result", "old=saved.parquet", *JSON, "--output"]),
    "results alone": ("worst.parquet", ["compare", "--result", "saved.parquet", "--result", "worst.parquet", *JSON, "--output"]),
    "qrels": ("qrels", ["evaluate", "--qrels", "qrels", "--run", "a=a.run", *JSON, "--output"]),
    "a run": ("b.run", ["compare", "--qrels", "qrels", "--run", "a.run", "--run", "b.run", *JSON, "--output"]),
    "a report": ("data.csv", ["report", *AB, "--format", "html", "--output"]),
    "an explanation": ("data.csv", ["explain", "data.csv", *A, "--metric", "ndcg", "--from", "lightgbm", "--to", "letor", *JSON, "--output"]),
}  # fmt: skip


def _hard_link(source: Path) -> str:
    os.link(source, "hard")
    return "hard"


def _link(source: Path) -> str:
    Path("link").symlink_to(source)
    return "link"


def _link_to_folder(source: Path) -> str:
    Path("folder").symlink_to(source.resolve().parent)
    return f"folder/{source.name}"


def _input_is_link(source: Path) -> str:
    real = source.rename(source.with_name(f"real.{source.name}"))
    source.symlink_to(real)
    return str(real)


NEEDS_LINKS = needs_posix("links that everybody may make")
NAMES = {
    "the same name": str,
    "another way": lambda source: f"../data/{source}",
    "a link": _link,
    "a link to its folder": _link_to_folder,
    "a hard link": _hard_link,
    "the input is a link": _input_is_link,
}


def _refused(capsys: pytest.CaptureFixture[str], arguments: list[str], source: Path, target: str) -> None:
    before, files = source.read_bytes(), sorted(Path().iterdir())
    is_placed = any("{}" in one for one in arguments)
    done = in_process(capsys, *([one.format(target) for one in arguments] if is_placed else [*arguments, target]))
    assert (done.status, done.out) == (2, "")
    assert f"{target} must not be a file that the command reads: it is the input {source}. Name another" in done.err
    assert source.read_bytes() == before
    assert sorted(Path().iterdir()) == files


@pytest.mark.parametrize("case", READ)
@pytest.mark.usefixtures("folder")
def test_no_input_is_replaced_by_a_result(capsys: pytest.CaptureFixture[str], case: str) -> None:
    shutil.copy("data.csv", "b.csv")
    source, arguments = READ[case]
    _refused(capsys, arguments, Path(source), source)


@pytest.mark.parametrize("name", [pytest.param(n, marks=NEEDS_LINKS) if "link" in n else n for n in NAMES])
@pytest.mark.usefixtures("folder")
def test_an_input_is_known_by_each_of_its_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    source = Path("data.csv")
    _refused(capsys, READ["the data"][1], source, NAMES[name](source))


@pytest.mark.usefixtures("folder")
def test_a_result_is_not_appended_to_an_input() -> None:
    before = Path("data.csv").read_bytes()
    with Path("data.csv").open("ab") as appended:
        command = [sys.executable, "-m", "ltr_metrics", "evaluate", "data.csv", *A]
        done = subprocess.run(command, stdout=appended, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert (
        "The output standard output must not be a file that the command reads: it is the input data.csv" in done.stderr
    )
    assert Path("data.csv").read_bytes() == before


@pytest.mark.usefixtures("folder")
def test_the_file_behind_standard_input_is_not_replaced() -> None:
    before = Path("data.csv").read_bytes()
    with Path("data.csv").open() as data:
        done = as_process("evaluate", "-", *A, *JSON, "--output", "data.csv", stdin=data)
    assert done.returncode == 2
    assert "The output data.csv must not be a file that the command reads: it is the input -" in done.stderr
    assert Path("data.csv").read_bytes() == before


@pytest.mark.usefixtures("folder")
def test_files_that_are_no_inputs_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """A column may have the name of a file, and an older result of the same name is what --output is for."""
    Path("Column_0").write_text("before")
    arguments = [
        "evaluate",
        "data.csv",
        "--scores",
        "Column_0",
        *JSON,
        "--output",
        "Column_0",
        "--save",
        "saved.parquet",
    ]
    assert in_process(capsys, *arguments).status == 0
    assert Path("Column_0").read_text().startswith("{")
    sized = ["evaluate", "sized.txt", "--scores", "a=1", "--output"]
    assert in_process(capsys, *sized, "sizes.txt").status == 0


@pytest.mark.usefixtures("folder")
def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "data.csv", *A, *JSON]
    expected = in_process(capsys, *command)
    assert in_process(capsys, *command, "--output", "-") == expected
    assert expected.out.startswith("{")
    refused = in_process(capsys, "report", *AB, "--format", "html", "--output", "-")
    assert (refused.status, refused.out) == (2, "")
    assert "HTML must be written to a file" in refused.err
    assert not Path("-").exists()


# -- what is replaced ------------------------------------------------------------------------------


@needs_posix("permissions of a group")
@pytest.mark.parametrize("option", ["--output", "--save"])
@pytest.mark.usefixtures("folder")
def test_a_replaced_file_keeps_its_permissions(capsys: pytest.CaptureFixture[str], option: str) -> None:
    for mode in (0o600, 0o664, 0o640):
        target = Path("result.json")
        target.write_text("before")
        target.chmod(mode)
        assert in_process(capsys, "evaluate", "data.csv", *A, option, target).status == 0
        assert target.read_bytes() != b"before"
        assert target.stat().st_mode & 0o777 == mode


@NEEDS_LINKS
@pytest.mark.usefixtures("folder")
def test_a_loop_of_links_is_no_target(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one").symlink_to("two")
    Path("two").symlink_to("one")
    monkeypatch.setattr(sys.modules["ltr_metrics.cli.evaluate"], "read_source", None)  # would be called to read
    for option in (["--output", "one", *JSON], ["--save", "two"]):
        done = in_process(capsys, "evaluate", "data.csv", *A, *option)
        assert (done.status, done.out) == (2, "")
        assert f"error: {option[1]} is a link that leads back to itself. Remove the link" in done.err
        assert "Traceback" not in done.err


@pytest.mark.usefixtures("folder")
def test_a_read_only_file_is_not_replaced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.json").write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or Path(path).name != "x.json")
    done = in_process(capsys, "evaluate", "data.csv", *A, "--output", "x.json")
    assert (done.status, Path("x.json").read_text()) == (2, "before")
    assert "x.json exists and is read-only. Name another file, or make it writable." in done.err


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from ltr_metrics.cli import main
main(sys.argv[1:])
"""


@needs_posix("limit of the size of files")
@pytest.mark.parametrize("option", ["--output", "--save"])
@pytest.mark.usefixtures("folder")
def test_a_file_that_is_too_large_is_named(option: str) -> None:
    Path("x.json").write_text("before")
    files = sorted(Path().iterdir())
    command = [sys.executable, "-c", FULL, "evaluate", "data.csv", *A, option, "x.json"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}  # which writes files
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ltr-metrics: error: [Errno 27] File too large: 'x.json'\n"
    assert Path("x.json").read_text() == "before"
    assert sorted(Path().iterdir()) == files


@pytest.mark.parametrize("option", ["--output", "--save"])
@pytest.mark.usefixtures("folder")
def test_a_full_disk_is_an_error_that_names_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    def is_full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", is_full)
    files = sorted(Path().iterdir())
    done = in_process(capsys, "evaluate", "data.csv", *A, option, "x.json")
    assert (done.status, done.out) == (2, "")
    assert done.err == "ltr-metrics: error: [Errno 28] No space left on device: 'x.json'\n"
    assert sorted(Path().iterdir()) == files


# -- standard streams ------------------------------------------------------------------------------

GATE = {"passes": "map > -1", "fails": "map > 1", "error": "mapp > 1"}
STREAMS = {"open": "/dev/null", "full": "/dev/full", "closed": "&-"}
FAILED_BEFORE = {
    ("open", "full", "passes"),
    ("open", "full", "error"),
    ("open", "closed", "passes"),
    ("closed", "open", "passes"),
    ("closed", "open", "fails"),
}


def in_shell(arguments: list[str], redirections: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "ltr_metrics", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _statuses() -> Iterator[Any]:
    """Yield the table of docs/comparison.md."""
    for output in STREAMS:
        for messages in STREAMS:
            for gate, status in {"passes": 0, "fails": 1, "error": 2}.items():
                for has_file in (False, True):
                    is_lost = output != "open" and not has_file
                    marks = [] if (output, messages, gate) in FAILED_BEFORE and not has_file else [pytest.mark.slow]
                    case = (output, messages, gate, has_file, 2 if is_lost else status)
                    name = f"stdout {output}, stderr {messages}, {gate}" + ", --output" * has_file
                    yield pytest.param(*case, marks=marks, id=name)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(("output", "messages", "gate", "has_file", "status"), [*_statuses()])
@pytest.mark.usefixtures("folder")
def test_the_status_with_streams_that_are_closed_or_full(
    output: str, messages: str, gate: str, has_file: bool, status: int
) -> None:
    arguments = ["compare", *AB, "--gate", GATE[gate], *(["--output", "x.json"] if has_file else [])]
    done = in_shell(arguments, f">{STREAMS[output]} 2>{STREAMS[messages]}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert Path("x.json").exists() is (has_file and status < 2)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("stream", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
@pytest.mark.usefixtures("folder")
def test_a_result_that_is_lost_is_an_error_with_a_remedy(stream: str, reason: str) -> None:
    done = in_shell(["evaluate", "data.csv", *A], stream)
    message = (
        f"standard output cannot be written to, so the result is lost: {reason}. Name a file for it with --output."
    )
    assert (done.returncode, done.stderr) == (2, f"ltr-metrics: error: {message}\n")
    assert in_shell(["evaluate", "--help"], stream).returncode == 2


@pytest.mark.slow
@needs_posix("limit of the size of files")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.usefixtures("folder")
def test_a_disk_that_becomes_full_is_an_error(monkeypatch: pytest.MonkeyPatch, unbuffered: str) -> None:
    """Without a buffer, Python's print writes the half for which there is space, and reports no error."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [sys.executable, "-c", FULL, "evaluate", "data.csv", *A]
    with Path("result.txt").open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "so the result is lost: File too large. Name a file for it with --output.\n" in done.stderr


NUMBERS = """
import os
from ltr_metrics.cli.standard_streams import prepare_streams
prepare_streams()
null = os.stat(os.devnull)
assert all(os.path.samestat(os.fstat(number), null) for number in range(3))
assert os.open(os.devnull, os.O_RDONLY) > 2
"""


def test_no_file_is_opened_in_the_place_of_a_closed_stream() -> None:
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", NUMBERS]
    assert subprocess.run(command, check=False).returncode == 0


@contextmanager
def _raised(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def raises(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["ltr_metrics.cli.evaluate"], "read_source", raises)
        yield


@pytest.mark.usefixtures("folder")
def test_what_ends_the_command_from_within_is_no_success(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with _raised(SystemExit(0), monkeypatch):
        done = in_process(capsys, "evaluate", "data.csv", *A)
    assert (done.status, done.err) == (2, "ltr-metrics: error: a library ended the command with 0.\n")
    with _raised(BrokenPipeError(errno.EPIPE, "Broken pipe"), monkeypatch):
        done = in_process(capsys, "evaluate", "data.csv", *A)
    assert (done.status, "a process or connection ended too early: [Errno 32]" in done.err) == (2, True)


def test_a_command_that_cannot_start_does_not_say_that_a_gate_failed(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise RuntimeError('a broken installation')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = as_process("--version", env=os.environ | {"PYTHONPATH": path})
    assert (done.returncode, done.stdout) == (2, "")
    assert "ltr-metrics: cannot start." in done.stderr
    assert "RuntimeError: a broken installation" in done.stderr
