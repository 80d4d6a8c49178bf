"""A report with something in every part, and names that would like to be markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ltr_metrics as ltr
from ltr_metrics.logs.training_log import Round
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.report import Report, summarize

SCRIPT = "<script>alert(1)</script>"
EVIL = (
    SCRIPT,
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "{{7*7}}{% raw %}",
    "&amp;&lt;",
    "'; alert(1); '",
    "line\nbreak\u2028and\u2029\ttab",
    "\u202eright to left\u202c שלום",
    "long" * 100,
    "<!--<script>",
    "$x_1$ \\alpha",
)
METRICS = ["ndcg_exp@10", "map", "mrr"]
MODELS = ("bm25", "lightgbm", "xgboost")


def made_report(
    n_queries: int = 120,
    models: Sequence[str] = MODELS,
    qid: Sequence[str] = (),
    labels: Sequence[str] = ("few", "many"),
    source: str = "made",
    metrics: Sequence[str] = METRICS,
    weighted: bool = False,
    documents: bool = True,
    rules: Sequence[str] = (),
) -> Report:
    """Return a report on synthetic queries; the first model is the baseline, ``qid`` are ids of the first queries."""
    rng = np.random.default_rng(0)
    X, y, query = ltr.make_ranking(n_queries=n_queries, documents=8, n_features=3, random_state=0)
    number = np.unique(query, return_inverse=True)[1]
    ids = np.array([*qid, *(f"q{i}" for i in range(len(qid), n_queries))], dtype=object)
    queries = ltr.Queries(
        y,
        qid=ids[number],
        docid=np.char.add("document-", np.arange(len(y)).astype(str)),
        judged=(y > 0) | (rng.random(len(y)) < 0.9),
        by={"size": np.array(labels, dtype=object)[np.arange(n_queries) % len(labels)]},
        query_weight=1 + np.arange(n_queries) % 3 if weighted else None,
    )
    scores = {name: X[:, 0] + i * X[:, 1] + rng.normal(0, 0.3, len(y)) for i, name in enumerate(models)}
    scores[models[0]] = scores[models[0]].round()  # ties
    return summarize(
        queries,
        scores,
        metrics,
        baseline=models[0],
        rules=rules,
        comparing={"n_resamples": 200},
        complete=True,
        documents=documents,
        learning={models[-1]: [_log(queries, scores[models[-1]]).learning_curve("valid", "map")]},
        source=source,
        origins={name: f"/runs/{name}.txt" for name in models},
    )


def small_report() -> Report:
    """Return a report on one model, to which most parts do not apply; the second of its three queries has no value."""
    queries = ltr.Queries([1, 0, 0, 0, 0, 2], group=[2, 2, 2])
    return summarize(queries, {"only": [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]}, ["mrr"])


def _log(queries: ltr.Queries, scores: Any) -> ltr.PerQueryLog:
    """Return the log of a training that comes nearer and nearer to some scores."""
    log, request = ltr.PerQueryLog(), resolve(["map"])
    noise = np.random.default_rng(1).normal(size=len(scores))
    for number, share in enumerate(np.linspace(0, 1, 12)):
        result = queries.evaluate_request(share * scores + (1 - share) * noise, request)
        log.record(DATA, result, request, Round(number), name="valid")
    return log


class _Data:
    """Stands for a host's data set, which a log refers to weakly."""


DATA = _Data()
