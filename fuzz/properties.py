"""The property tests of the suite, with newly drawn examples: more of them, and others in each case."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

from fuzz.report import Report

TESTS = Path(__file__).parent.parent / "tests"
TIMES = 20  # as many examples as `make test` draws
NO_TESTS = 5  # the exit status of pytest where none is selected
LONGEST_REPORT = 3_000  # characters of a fault


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Run the property tests of one file for each number."""
    files = sorted(path for path in TESTS.glob("test_*.py") if "hypothesis" in path.read_text())
    Random(seed).shuffle(files)
    report = Report("property tests", seed)
    for number in numbers:
        file, round_ = files[number % len(files)], number // len(files)
        status, output = _run_file(file, seed + round_)
        if status in (0, NO_TESTS):
            report.add(file.name, "passed")
        else:
            report.add_fault(file.name, number, f"with --hypothesis-seed={seed + round_}: {output[-LONGEST_REPORT:]}")
    return report


def _run_file(file: Path, seed: int) -> tuple[int, str]:
    environment = os.environ | {"LTR_METRICS_EXAMPLES": str(TIMES)}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", f"--hypothesis-seed={seed}", str(file)]
    done = subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
