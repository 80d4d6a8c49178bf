"""The command, run in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from ltr_metrics.cli import main


class Done(NamedTuple):
    status: int
    out: str
    err: str


def in_process(capsys: pytest.CaptureFixture[str], *arguments: object) -> Done:
    """Run the command here: status, standard output, standard error."""
    with pytest.raises(SystemExit) as left:
        main([str(one) for one in arguments])
    assert isinstance(left.value.code, int)
    return Done(left.value.code, *capsys.readouterr())


def as_process(*arguments: object, code: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does, or Python code that calls it."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "ltr_metrics"]), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
