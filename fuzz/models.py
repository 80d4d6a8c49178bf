"""Fuzz the reading of model files: ``python -m fuzz.models --seed 0 --seconds 60``.

Valid model files are damaged in many ways, and each is loaded and used in another process.
A damaged file may be refused with an `LtrValueError` that names it, or be another valid model.
Anything else is a fault: a process that is killed, that hangs, or that raises another exception.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.mutations import MUTATIONS
from fuzz.originals import write_originals

PATIENCE = 60.0  # seconds that a file of some kB may take before it counts as a hang


@dataclass
class Report:
    """What happened to the damaged files of each format."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, kind: str, outcome: str, origin: str) -> None:
        word = outcome.partition(":")[0]
        self.outcomes.setdefault(kind, Counter())[word] += 1
        if word not in {"loaded", "refused"}:
            self.faults.append(f"{origin}: {outcome}")

    def __str__(self) -> str:
        words = sorted({word for counts in self.outcomes.values() for word in counts})
        lines = ["".join(f"{cell:>18}" for cell in ("format", "files", *words))]
        for kind, counts in self.outcomes.items():
            lines.append("".join(f"{cell:>18}" for cell in (kind, counts.total(), *(counts[word] for word in words))))
        return "\n".join([*lines, *self.faults, f"{len(self.faults)} faults"])


class Scorer:
    """A process that loads the files whose paths it gets, started again when it has ended."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._process: subprocess.Popen[str] | None = None

    def score(self, path: Path) -> str:
        """Return the process's answer for a file, "hang", or the signal or status that it ended with."""
        if self._process is None:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "fuzz.scorer"]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], self.patience)[0]:
            self.close()
            return "hang"
        answer = process.stdout.readline().strip()
        if answer:
            return answer
        status = process.wait()
        self.close()
        return signal.Signals(-status).name if status < 0 else f"exit {status}"

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def fuzz(folder: Path, seed: int, numbers: dict[str, int], seconds: float = float("inf")) -> Report:
    """Damage files of each format, so many times each unless time is over, and return what happened.

    Parameters
    ----------
    folder : Path
        Where the original files and the damaged ones are written. Those at fault are kept.
    seed : int
    numbers : dict of str to int
        How many damaged files of each format: "txt", "json" and "ubj".
    seconds : float
        Start no further file after this time.
    """
    originals = {
        kind: [(path.name, path.read_bytes()) for path in paths] for kind, paths in write_originals(folder).items()
    }
    report, scorer, end = Report(), Scorer(), time.monotonic() + seconds
    for i in range(max(numbers.values())):
        for kind in (kind for kind, number in numbers.items() if i < number):
            if time.monotonic() > end:
                break
            draw = random.Random(f"{seed} {kind} {i}")  # so that each case can be made again by itself
            name, content = draw.choice(originals[kind])
            mutation = draw.choice(MUTATIONS[kind])
            path = folder / f"{seed}-{i}.{kind}"
            path.write_bytes(mutation(draw, content))
            n_faults = len(report.faults)
            report.add(kind, scorer.score(path), f"{path.name} ({name}, {mutation.__name__})")
            if len(report.faults) == n_faults:
                path.unlink()
    scorer.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description="Damage model files, load each, and report what goes wrong.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="start no further file after this time (60)")
    parser.add_argument("--files", type=int, default=1_000_000, help="at most so many files of each format")
    parser.add_argument("--keep", type=Path, help="folder for the files at fault")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report = fuzz(folder, options.seed, dict.fromkeys(MUTATIONS, options.files), options.seconds)
    print(report)
    sys.exit(bool(report.faults))


if __name__ == "__main__":
    main()
