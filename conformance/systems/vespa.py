"""Vespa: VespaEvaluator of pyvespa. An object with our hits takes the place of a server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from conformance.queries import CUTOFFS, Query
from conformance.system import System, Values, at_cutoffs, every_draw

NAMES = {"accuracy": "hit", "precision": "precision", "recall": "recall", "mrr": "mrr", "ndcg": "ndcg", "map": "map"}
CUTOFF_OPTIONS = ("accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "ndcg_at_k", "map_at_k")


class Response:
    """The hits of one query, in the form of a response of Vespa."""

    status_code = 200

    def __init__(self, query: Query) -> None:
        score_of = query.score_of
        self.hits = [{"id": f"id:ns:doc::{docid}", "relevance": score_of[docid]} for docid in query.ranking]

    def get_json(self) -> dict[str, Any]:
        """Return no times."""
        return {}


class Application:
    """What VespaEvaluator asks for hits."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = {query.qid: query for query in queries}

    def query_many(self, bodies: Sequence[dict[str, Any]], max_concurrent: int = 10) -> list[Response]:
        """Return the hits of the queries that the bodies name."""
        return [Response(self._queries[body["qid"]]) for body in bodies]


def system() -> System:
    """Return pyvespa and its convention."""
    from vespa.evaluation import VespaEvaluator

    logging.getLogger("vespa.evaluation._base").setLevel(logging.WARNING)

    def of_query(query: Query) -> dict[str, float]:
        evaluator = VespaEvaluator(
            queries={query.qid: query.qid},
            relevant_docs={query.qid: set(query.relevant)},
            vespa_query_fn=lambda text, top_k: {"qid": text, "hits": top_k},
            app=Application([query]),
            **{option: list(CUTOFFS) for option in CUTOFF_OPTIONS},
        )
        return evaluator.run() if evaluator.queries_ids else {}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        results = [of_query(query) for query in queries]
        return {name: [result.get(name, np.nan) for result in results] for name in names}

    return System(
        name="pyvespa",
        version=version("pyvespa"),
        convention="vespa",
        metrics=at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False], ties=[False, True], unretrieved=[False, True]),
    )
