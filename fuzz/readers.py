"""Damaged files for every reader.

A file of each format is changed at random, read and evaluated. A reader must read it, or refuse it
with an error of the package or of the operating system. Everything else is a fault: another error,
the end of the process, or a hang.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random

from fuzz.child import Child, serve
from fuzz.formats import ALLOWED, FORMATS
from fuzz.mutations import OF_FILES, damage
from fuzz.report import Report

READ, REFUSED = "read", "refused"


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Try the damaged files with these numbers, one of each format; number 0 is the file without damage."""
    report = Report("reader", seed)
    with closing(Child("-m", "fuzz.readers", str(seed), str(folder))) as child:
        for number in numbers:
            for name in FORMATS:
                outcome = child.ask(f"{number} {name}")
                if outcome == READ or (outcome == REFUSED and number):
                    report.add(name, outcome)
                else:
                    report.add_fault(name, number, outcome)
    return report


def try_one(name: str, seed: int, number: int, folder: Path) -> str:
    """Return "read", "refused" or the fault of one damaged file of a format."""
    wanted = FORMATS[name]
    folder.mkdir(exist_ok=True)
    path, whole = folder / wanted.file, folder / "whole"
    if not whole.exists():
        wanted.write(path)
        whole.write_bytes(path.read_bytes())
    if number:
        path.write_bytes(damage(Random(f"{seed} {name} {number}"), whole.read_bytes(), OF_FILES))
    try:
        wanted.read(path)
    except ALLOWED:
        return REFUSED
    except Exception:
        return traceback.format_exc(limit=-3)
    return READ


def main() -> None:
    """Answer questions about cases; the arguments are the seed and a folder for files."""
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])

    def answer(question: str) -> str:
        number, _, name = question.partition(" ")
        return try_one(name, seed, int(number), folder / f"reader-{list(FORMATS).index(name)}")

    serve(answer)


if __name__ == "__main__":
    main()
