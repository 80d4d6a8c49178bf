"""The shell sessions of the guide: each command prints what its page shows.

A page's sessions run in one folder, from top to bottom. A block that begins with the name of a file
in a comment, such as ``# gate.sh``, is written to that file first.
``UPDATE_DOCS=1`` writes the present output into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from systems import as_pages_show

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed"),
]

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#!.*\n)?# ([\w-]+\.(?:py|sh|yml))\b")
END = "\x1e"  # after the output of each command
PAGES = [
    page
    for page in (DOCS / "getting_started.md", *sorted((DOCS / "guide").glob("*.md")))
    if "```console\n" in page.read_text(encoding="utf-8")
]


class Step(NamedTuple):
    command: str
    output: str


def steps_of(session: str) -> list[Step]:
    """Split a session into its commands, which follow ``$ ``, and their outputs."""
    steps: list[Step] = []
    lines = iter(session.splitlines(keepends=True))
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\\n"):
                command += next(lines)
            steps.append(Step(command.rstrip("\n"), ""))
        else:
            assert steps, f"a session begins with a command, and not with {line!r}"
            steps[-1] = Step(steps[-1].command, steps[-1].output + line)
    return steps


def run(steps: list[Step], folder: Path, path: str) -> list[Step]:
    """Run the commands of a session in one shell, and return them with their real outputs."""
    script = "".join(f"{step.command}\n_status=$?; printf '{END}'; (exit $_status)\n" for step in steps)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    outputs = done.stdout.split(END)
    assert len(outputs) == len(steps) + 1, done.stdout
    # Lines of a page have no white space at their ends.
    return [
        Step(step.command, re.sub(r"[ \t]+$", "", output, flags=re.MULTILINE))
        for step, output in zip(steps, outputs, strict=False)
    ]


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH on which ``python`` and ``ltr-metrics`` are those of this interpreter."""
    folder = tmp_path_factory.mktemp("bin")
    for name, options in (("python", ""), ("ltr-metrics", "-m ltr_metrics ")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options}"$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_sessions_of_a_page_print_what_it_shows(page: Path, tmp_path: Path, path: str) -> None:
    text = page.read_text(encoding="utf-8")
    for language, block in BLOCK.findall(text):
        file = FILE.match(block)
        if file:
            (tmp_path / file[1]).write_text(block, encoding="utf-8")
        if language != "console":
            continue
        promised = steps_of(block)
        assert promised, "a session without a command"
        real = run(promised, tmp_path, path)
        if os.environ.get("UPDATE_DOCS"):
            text = text.replace(block, "".join(f"$ {step.command}\n{step.output}" for step in real))
            page.write_text(text, encoding="utf-8")
        else:
            for done, shown in zip(real, promised, strict=True):
                assert as_pages_show(done.output) == as_pages_show(shown.output), done.command
