"""Quepid's scorers, under node: `QUEPID` is the folder of a checkout of o19s/quepid.

Quepid shows two decimals; here the scorers' numbers are compared before that. The cutoff stands in
each scorer's line that ends in ``// @Rank``, and is changed there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from conformance.queries import Query
from conformance.system import (
    Difference,
    MissingSystemError,
    System,
    Values,
    at_cutoffs,
    every_draw,
    run_program,
    split,
)

PROGRAM = Path(__file__).parent.parent / "programs" / "quepid.js"
READ_AT = "f80322f3"
HIGHEST = 3  # of Quepid's ERR@10
NAMES = {
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg(ideal=cutoff)",
    "dcg": "dcg",
    "cg": "cg",
    "ap": "map",
    "p": "precision",
    "rr": "mrr",
    "err": "err",
}


def system() -> System:
    """Return Quepid's scorers and their convention."""
    folder = Path(os.environ.get("QUEPID", ""))
    if not (folder / "db" / "scorers").is_dir():
        raise MissingSystemError(f"Set QUEPID to a checkout of github.com/o19s/quepid, such as of commit {READ_AT}.")
    if shutil.which("node") is None:
        raise MissingSystemError("It needs node, which is not installed.")

    def code(name: str) -> str:
        metric, k = split(name)
        text = (folder / "db" / "scorers" / f"{metric}@10.js").read_text(encoding="utf-8")
        changed, n = re.subn(r"= 10\b(?=.*// @Rank)", f"= {k}", text)
        if n != 1:
            raise ValueError(f"Quepid's scorer {metric}@10.js has {n} lines with // @Rank, and must have one.")
        return changed

    def rated(query: Query) -> dict[str, list[dict[str, int]]]:
        grade_of = query.grade_of
        return {
            "docs": [{"rating": grade_of[docid]} for docid in query.ranking],
            "bestDocs": [{"rating": grade} for grade in sorted(grade_of.values(), reverse=True)],
        }

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        request = {
            "logic": (folder / "lib" / "scorer_logic.js").read_text(encoding="utf-8"),
            "scorers": {name: code(name) for name in names},
            "queries": [rated(query) | {"max": HIGHEST} for query in queries],
        }
        scores = json.loads(run_program(["node", PROGRAM], json.dumps(request)))
        return {name: [np.nan if score is None else score for score in scores[name]] for name in names}

    return System(
        name="Quepid",
        version=READ_AT,
        convention="quepid",
        metrics=at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False, True]),
        highest_grade=HIGHEST,
        differences=(
            Difference(
                frozenset({"ap"}),
                "Average precision of a query without a relevant document is 0/0 there.",
                lambda query: not query.relevant,
                np.nan,
            ),
        ),
    )
