"""Exponential nDCG and ERR of ir_measures, which gdeval computes and prints with five decimals."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence

from conformance.queries import Query
from conformance.system import DIGITS_OF_5_DECIMALS, Difference, MissingSystemError, System, Values, at_cutoffs
from conformance.systems import ir_measures

NAMES = {"nDCG(dcg='exp-log2')": "ndcg", "ERR": "err"}


def system() -> System:
    """Return ir_measures with these two metrics alone."""
    if shutil.which("perl") is None:
        raise MissingSystemError("It needs Perl, which is not installed.")

    return dataclasses.replace(
        ir_measures.system(),
        convention="gdeval",
        metrics=at_cutoffs(NAMES, (1, 10, 20)),
        values=values,
        tolerance=DIGITS_OF_5_DECIMALS,
        differences=(
            Difference(
                frozenset(NAMES),
                "A query without a relevant document counts 0; gdeval itself leaves it out.",
                lambda query: not query.relevant,
                0.0,
            ),
        ),
    )


def values(queries: list[Query], names: Sequence[str]) -> Values:
    """Return the values; gdeval wants numbers as query ids."""
    numbered = [dataclasses.replace(query, qid=str(number)) for number, query in enumerate(queries, 1)]
    return ir_measures.values(numbered, names)
