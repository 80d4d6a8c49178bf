"""ranx: Qrels, Run and evaluate. Its sort is not stable, so ties are left out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from conformance.queries import Query
from conformance.system import Difference, System, Values, at_cutoffs, every_draw

SAME = {
    "dcg": "dcg",
    "dcg_burges": "dcg_exp",
    "ndcg": "ndcg",
    "ndcg_burges": "ndcg_exp",
    "map": "map",
    "mrr": "mrr",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "hit_rate": "hit",
}


def system() -> System:
    """Return ranx and its convention."""
    import ranx

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        qrels = ranx.Qrels({query.qid: query.grade_of for query in queries})
        run = ranx.Run({query.qid: query.score_of for query in queries})
        ranx.evaluate(qrels, run, list(names))
        return {name: [run.scores[name][query.qid] for query in queries] for name in names}

    return System(
        name="ranx",
        version=version("ranx"),
        convention="ranx",
        metrics=SAME
        | at_cutoffs(SAME)
        | {"r-precision": "rprec", "bpref": "bpref", "rbp.50": "rbp(p=0.5)", "rbp.95": "rbp(p=0.95)"},
        values=values,
        differences=(
            Difference(
                frozenset({"bpref"}),
                "Bpref of a query whose documents are all relevant is 0 there.",
                lambda query: len(query.relevant) == len(query.docids),
                0.0,
            ),
        ),
        draws=every_draw(graded=[False, True], ties=[False], unretrieved=[False, True]),
    )
