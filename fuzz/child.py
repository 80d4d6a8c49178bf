"""A process that tries what may kill or hang a process."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable

PATIENCE = 60.0  # seconds that a file of some kB may take before it counts as a hang
MEMORY = 8 << 30  # bytes of address space; a damaged length must not take all of the machine


class Child:
    """A Python process that answers questions, started again after it has ended.

    Parameters
    ----------
    *command : str
        Arguments of the Python interpreter, for a program that calls `serve`.
    patience : float
        Seconds to wait for an answer.
    """

    def __init__(self, *command: str, patience: float = PATIENCE) -> None:
        self.command = command
        self.patience = patience
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: str) -> str:
        """Return the answer to a question, or how the process ended: a hang, a signal or an exit status."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], self.patience)[0]:
            self.close()
            return f"no answer in {self.patience:g} seconds"
        line = process.stdout.readline()
        if line:
            answer: str = json.loads(line)
            return answer
        status = process.wait()
        self.close()
        reason = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"the process ended with {reason}"

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *self.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def serve(answer: Callable[[str], str]) -> None:
    """Answer the questions of a `Child` until it ends."""
    _limit_memory()
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the hosts print to standard output
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
