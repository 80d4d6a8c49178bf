"""Where the command writes: never over its inputs, a whole file or none, and what its status says if it cannot write."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from command import as_process, in_process
from systems import needs_posix

pytestmark = pytest.mark.integration

A, B, JSON = ["--scores", "a=Column_0"], ["--scores", "b=Column_1"], ["--format", "json"]
AB = ["data.csv", *A, *B, "--metrics", "map", "--n-resamples", "100"]


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}


# -- outputs that are inputs -------------------------------------------------------------------------------------------

READ = [
    ("data.csv", ["evaluate", "data.csv", *A, *JSON, "-o"]),
    ("data.parquet", ["evaluate", "data.parquet", *A, "--save"]),
    ("counted.csv", ["evaluate", "data.csv", "counted.csv", *A, *JSON, "-o"]),
    ("data.parquet", ["evaluate", "data.parquet", *AB[1:5], "--save", "a=new.parquet", "--save", "b={}"]),
    ("data.parquet", ["evaluate", "data.parquet", *A, "--sorted", "--save"]),
    ("sized.txt.query", ["evaluate", "sized.txt", "--scores", "a=1", *JSON, "-o"]),
    ("model.txt", ["evaluate", "data.txt", "--model", "model.txt", "-o"]),
    ("scores.txt", ["evaluate", "data.csv", "--scores", "a=scores.txt", "-o"]),
    ("own.py", ["evaluate", "data.csv", *A, "--metrics-module", "own.py", "-m", "x", *JSON, "-o"]),
    ("worst.parquet", ["compare", "--result", "saved.parquet", "--result", "worst.parquet", *JSON, "-o"]),
    ("qrels", ["evaluate", "--qrels", "qrels", "--run", "a=a.run", *JSON, "-o"]),
    ("b.run", ["compare", "--qrels", "qrels", "--run", "a.run", "--run", "b.run", *JSON, "-o"]),
    ("data.csv", ["report", *AB, "--format", "html", "-o"]),
    ("data.csv", ["explain", "data.csv", *A, "-m", "ndcg", "--from", "lightgbm", "--to", "letor", *JSON, "-o"]),
    ("data.csv", ["audit", "data.csv", *A, *JSON, "-o"]),
]


def _link(source: Path) -> str:
    Path("link").symlink_to(source)
    return "link"


def _hard_link(source: Path) -> str:
    os.link(source, "hard")
    return "hard"


def _link_to_folder(source: Path) -> str:
    Path("folder").symlink_to(source.resolve().parent)
    return f"folder/{source.name}"


def _input_is_link(source: Path) -> str:
    real = source.rename(source.with_name(f"real.{source.name}"))
    source.symlink_to(real)
    return str(real)


OTHER_NAMES = (_link, _hard_link, _link_to_folder, _input_is_link)
READ_UNDER_A_NAME = [
    *(pytest.param(*case, str) for case in READ),
    pytest.param(*READ[0], lambda source: f"../data/{source}"),
    *(pytest.param(*READ[0], name, marks=needs_posix("links")) for name in OTHER_NAMES),
]


@pytest.mark.parametrize(("source", "arguments", "name"), READ_UNDER_A_NAME)
def test_an_input_is_not_replaced_under_any_of_its_names(
    capsys: pytest.CaptureFixture[str], folder: Path, source: str, arguments: list[str], name: Callable[[Path], str]
) -> None:
    shutil.copy("model.txt", "model.svg")
    for name_of_input in ("sized.txt", "sized.txt.query", "own.py"):
        Path(name_of_input).write_text("")
    target = name(Path(source))
    before = contents(folder)
    is_placed = any("{}" in one for one in arguments)
    done = in_process(capsys, *([one.format(target) for one in arguments] if is_placed else [*arguments, target]))
    assert (done.status, done.out) == (2, "")
    assert f"{Path(target)} is the input {source}, which is not replaced. Name another file." in done.err
    assert contents(folder) == before


@needs_posix("permissions and links")
@pytest.mark.usefixtures("folder")
def test_files_that_are_not_inputs_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """A column may have the name of a file; permissions stay, and a link stays a link."""
    Path("Column_0").write_text("before")
    Path("Column_0").chmod(0o640)
    Path("link").symlink_to("Column_0")
    line = ["evaluate", "data.csv", "--scores", "Column_0", *JSON, "-o", "link", "--save", "saved.parquet"]
    assert in_process(capsys, *line).status == 0
    assert Path("Column_0").read_text().startswith("{")
    assert (Path("Column_0").stat().st_mode & 0o777, Path("link").is_symlink()) == (0o640, True)


@pytest.mark.usefixtures("folder")
def test_a_hyphen_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "data.csv", *A, *JSON]
    assert in_process(capsys, *command, "-o", "-") == in_process(capsys, *command)
    assert in_process(capsys, "report", *AB, "--format", "html", "-o", "-").status == 2
    assert not Path("-").exists()


# -- files that are whole or untouched -----------------------------------------------------------------------------------


@needs_posix("/dev/null")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [["-o"], [*JSON, "-o"], ["--save"]])
def test_a_device_is_written_to_and_stays(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert in_process(capsys, "evaluate", "data.csv", *A, *options, "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


def test_read_only_files_are_not_replaced(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("read-only.json", "read-only.parquet"):
        Path(name).write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or Path(path).stem != "read-only")
    monkeypatch.setattr(sys.modules["ltr_metrics.cli.evaluate"], "read_source", None)  # would be called to read
    before = contents(folder)
    for option, name in (("-o", "read-only.json"), ("--save", "read-only.parquet")):
        done = in_process(capsys, "evaluate", "data.csv", *A, *JSON, option, name)
        assert done.status == 2
        assert re.search(f"{name} .* is read-only", done.err)
    assert contents(folder) == before


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from ltr_metrics.cli import main
main(sys.argv[1:])
"""


@needs_posix("limit of the size of files")
@pytest.mark.slow
@pytest.mark.parametrize(("option", "name"), [("-o", "x.json"), ("--save", "x.parquet")])
def test_a_file_that_is_too_large_leaves_the_former_one(folder: Path, option: str, name: str) -> None:
    Path(name).write_text("before")
    before = contents(folder)
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}  # which writes files
    done = as_process("evaluate", "data.csv", *A, option, name, code=FULL, env=own)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"ltr-metrics: error: .*File too large.*\n", done.stderr)
    assert contents(folder) == before


def test_nothing_is_saved_if_rendering_fails(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_report: object) -> str:
        raise OSError("a library is missing")

    monkeypatch.setattr(sys.modules["ltr_metrics.cli.evaluate"], "printed_means", fails)
    before = contents(folder)
    assert in_process(capsys, "evaluate", "data.csv", *A, "--save", "x.parquet", "-o", "x.txt").status == 2
    assert contents(folder) == before


@needs_posix("named pipes")
def test_an_interrupted_command_writes_nothing(folder: Path, tmp_path: Path) -> None:
    import fcntl
    import termios

    pipe, out = tmp_path / "pipe.txt", tmp_path / "x.json"
    os.mkfifo(pipe)
    out.write_text("before")
    command = [sys.executable, "-m", "ltr_metrics", "evaluate", str(pipe), "--scores", "a=1", "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("wb") as writer:  # opens once the command reads
            writer.write((folder / "data.txt").read_bytes()[:1000])
            writer.flush()
            while any(fcntl.ioctl(writer.fileno(), termios.FIONREAD, bytes(4))):  # so that it waits for more
                os.sched_yield()
            process.send_signal(signal.SIGINT)
        shown, said = process.communicate()
    assert (process.returncode, shown, said.strip()) == (2, "", "ltr-metrics: stopped.")
    assert out.read_text() == "before"


@needs_posix("signals")
@pytest.mark.parametrize(  # while it writes the result, and a decompressed copy
    ("name", "place"), [("SIGTERM", "Path.write_bytes"), ("SIGHUP", "shutil.copyfileobj")]
)
def test_a_signal_leaves_no_temporary_file(folder: Path, tmp_path: Path, name: str, place: str) -> None:
    (folder / "data.parquet.gz").write_bytes(gzip.compress((folder / "data.parquet").read_bytes()))
    before, out = contents(folder), tmp_path / "out"
    out.mkdir()
    code = f"""
import os, shutil, signal
from pathlib import Path
from ltr_metrics.cli import main
real = {place}
def half(*arguments):
    real(*arguments)
    os.kill(os.getpid(), signal.{name})
{place} = half
main()"""
    command = ["evaluate", "data.parquet.gz", *A, "-m", "mrr", "-o", out / "x.csv"]
    done = as_process(*command, code=code, cwd=folder, env=os.environ | {"TMPDIR": str(out)})
    assert (done.returncode, done.stderr.strip(), list(out.rglob("*"))) == (2, "ltr-metrics: stopped.", [])
    assert contents(folder) == before


# -- standard streams --------------------------------------------------------------------------------------------------

GATE = ["compare", *AB, "--gate"]
STREAMS = [  # arguments, standard output, standard error, status
    (["evaluate", "data.csv", *A], "gone", "open", 0),
    ([*GATE, "map > 1"], "gone", "open", 1),
    (["evaluate", "--help"], "gone", "open", 0),
    (["evaluate", "data.csv", *A], "full", "open", 2),
    ([*GATE, "map > -1"], "closed", "open", 2),
    ([*GATE, "map > 1"], "open", "full", 1),
    ([*GATE, "map > 1"], "open", "gone", 1),
    ([*GATE, "map > -1"], "open", "closed", 0),
    ([*GATE, "map > 1", "-o", "x.json"], "full", "full", 1),
    (["evaluate", "data.csv", "--no-such-option"], "open", "gone", 2),
]


@needs_posix("pipes that nobody reads")
@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(("arguments", "output", "messages", "status"), STREAMS)
@pytest.mark.usefixtures("folder")
def test_the_status_with_streams_that_are_gone_full_or_closed(
    arguments: list[str], output: str, messages: str, status: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    redirection = {"full": "/dev/full", "closed": "&-"}
    redirections = [f"{i}>{redirection[one]}" for i, one in ((1, output), (2, messages)) if one in redirection]
    command = ["sh", "-c", f'exec "$@" {" ".join(redirections)}', "sh", sys.executable, "-m", "ltr_metrics", *arguments]
    pipe = subprocess.PIPE
    try:
        done = subprocess.run(
            command,
            stdout=writer if output == "gone" else pipe,
            stderr=writer if messages == "gone" else pipe,
            text=True,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
    finally:
        os.close(writer)
    assert done.returncode == status, done.stderr
    if messages == "open":
        assert not re.search("Traceback|Exception|Error", done.stderr)
        assert ("Name a file for it with --output." in done.stderr) is (output in redirection)


@needs_posix("pseudo-terminals")
@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_bar_is_shown_on_a_terminal_only() -> None:
    import fcntl
    import pty
    import struct
    import termios

    command = ["evaluate", "data.csv", "--model", "model.txt", "--metrics", "map"]
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(terminal, "w") as stderr:
        line = [sys.executable, "-m", "ltr_metrics", *command]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
    seen = b""
    with suppress(OSError), os.fdopen(shown, "rb", buffering=0) as file:  # Linux ends a terminal with an error
        while part := file.read(1 << 16):
            seen += part
    assert done.returncode == 0, seen
    assert b"Scoring with models" in seen
    plain = as_process(*command)
    assert (plain.stderr, plain.stdout) == ("", done.stdout)
