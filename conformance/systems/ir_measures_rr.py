"""RR@k of ir_measures, which the script of MS MARCO computes.

Of documents with equal scores, that script has the ascending ids first, and trec_eval the
descending ones. Here each document gets an id with which the one order is the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from conformance.queries import Query
from conformance.system import System, Values, at_cutoffs
from conformance.systems import ir_measures


def system() -> System:
    """Return ir_measures with RR@k alone, and ids in reverse."""
    original = ir_measures.system()

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        return original.values([dataclasses.replace(query, docids=_reversed(query)) for query in queries], names)

    return dataclasses.replace(original, metrics=at_cutoffs({"RR": "mrr"}), values=values)


def _reversed(query: Query) -> list[str]:
    """Return ids whose ascending order is the descending order of the query's own."""
    reverse = {docid: number for number, docid in enumerate(sorted(query.docids, reverse=True))}
    return [f"d{reverse[docid]:03}" for docid in query.docids]
