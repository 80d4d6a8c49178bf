"""trec_eval, by pytrec_eval (the package pytrec-eval-terrier), which PyTerrier calls."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from conformance.queries import CUTOFFS, Query
from conformance.system import System, Values, at_cutoffs, every_draw

WHOLE = {"map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "Rprec": "rprec", "set_F": "f1", "bpref": "bpref"}
CUT = {"map_cut": "map", "ndcg_cut": "ndcg", "P": "precision", "recall": "recall", "success": "hit"}
MEASURES = {*WHOLE, *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in CUT)}


def system() -> System:
    """Return pytrec_eval and its convention."""
    import pytrec_eval

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        qrels = {query.qid: query.grade_of for query in queries}
        run = {query.qid: query.score_of for query in queries}
        results = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
        return {name: [results[query.qid][name.replace("@", "_")] for query in queries] for name in names}

    return System(
        name="pytrec_eval",
        version=version("pytrec-eval-terrier"),
        convention="pytrec_eval",
        metrics=WHOLE | at_cutoffs(CUT),
        values=values,
        draws=every_draw(graded=[False, True], ties=[False, True], unretrieved=[False, True]),
    )
