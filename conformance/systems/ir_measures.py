"""ir_measures. It asks trec_eval, and for RR@k the script of MS MARCO, which orders ties by ascending ids."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from conformance.queries import Query
from conformance.system import System, Values, at_cutoffs, every_draw

WHOLE = {"nDCG": "ndcg", "AP": "map", "RR": "mrr", "Rprec": "rprec", "Bpref": "bpref"}
CUT = {"nDCG": "ndcg", "AP": "map", "P": "precision", "R": "recall", "Success": "hit"}


def system() -> System:
    """Return ir_measures and its convention."""
    return System(
        name="ir_measures",
        version=version("ir-measures"),
        convention="ir_measures",
        metrics=WHOLE | at_cutoffs(CUT),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False, True]),
    )


def values(queries: list[Query], names: Sequence[str]) -> Values:
    """Return the values of ir_measures, NaN for queries without one."""
    import ir_measures

    measures = {ir_measures.parse_measure(name): name for name in names}
    qrels = {query.qid: query.grade_of for query in queries}
    run = {query.qid: query.score_of for query in queries}
    of_query: dict[str, dict[str, float]] = {name: {} for name in names}
    for value in ir_measures.iter_calc(list(measures), qrels, run):
        of_query[measures[value.measure]][value.query_id] = value.value
    return {name: [of_query[name].get(query.qid, np.nan) for query in queries] for name in names}
