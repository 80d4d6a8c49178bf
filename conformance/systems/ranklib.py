"""RankLib's scorers, under Java: `RANKLIB` is the folder of a checkout of codelibs/ranklib.

Its reciprocal rank is a float32, the other values are float64. Its MAP ignores the cutoff.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from conformance.queries import Query
from conformance.system import (
    DIGITS_OF_FLOAT32,
    MissingSystemError,
    System,
    Values,
    at_cutoffs,
    every_draw,
    run_program,
)

PROGRAM = Path(__file__).parent.parent / "programs" / "RankLibScores.java"
READ_AT = "e43f605f"
NAMES = {"NDCG": "ndcg", "DCG": "dcg", "P": "precision", "RR": "mrr", "ERR": "err"}


def system() -> System:
    """Return RankLib and its convention."""
    sources = Path(os.environ.get("RANKLIB", "")) / "src" / "main" / "java"
    if not sources.is_dir():
        raise MissingSystemError(f"Set RANKLIB to a checkout of github.com/codelibs/ranklib, such as of {READ_AT}.")
    if shutil.which("javac") is None:
        raise MissingSystemError("It needs a JDK, and javac is not installed.")

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        command = ["java", "-cp", _compiled(sources), PROGRAM.stem, *names]
        lines = run_program(command, "".join(map(_line, queries))).splitlines()
        rows = [list(map(float, line.split())) for line in lines]
        return dict(zip(names, rows, strict=True))

    return System(
        name="RankLib",
        version=READ_AT,
        convention="ranklib",
        metrics={"MAP": "map"} | at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False]),
        tolerance_of={"RR": DIGITS_OF_FLOAT32},
    )


def _line(query: Query) -> str:
    documents = [
        f"{grade}:{score!r}" for grade, score in zip(query.grades.tolist(), query.scores.tolist(), strict=True)
    ]
    return " ".join([query.qid, *documents]) + "\n"


@cache
def _compiled(sources: Path) -> str:
    """Compile the program, with the classes of RankLib that it uses, and return their folder."""
    folder = tempfile.mkdtemp(prefix="ranklib")
    run_program(["javac", "-nowarn", "-encoding", "UTF-8", "-d", folder, "-sourcepath", sources, PROGRAM])
    return folder
