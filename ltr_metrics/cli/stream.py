"""``evaluate --sorted``: files that do not fit into memory, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ltr_metrics.cli.inputs import Named
from ltr_metrics.cli.progress import count
from ltr_metrics.cli.sources import BY_COUNTS
from ltr_metrics.errors import LtrValueError, one_line
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.streaming import evaluate_sorted
from ltr_metrics.report import Report, as_per_query_csv


def evaluate_batches(
    given: dict[str, Any], items: Named, metrics: list[str] | None, policy: dict[str, Any]
) -> dict[str, Evaluation]:
    """Evaluate sorted LETOR files or tables without reading them as a whole."""
    if items.runs or given["qrels"] or given["topics"]:
        raise LtrValueError("--sorted is for LETOR files and tables; TREC files are read whole.")
    if not given["data"]:
        raise LtrValueError("Name the DATA: LETOR files or tables, sorted by query.")
    if not (items.models or items.scores):
        raise LtrValueError("Name at least one model or column of scores: --model or --scores.")
    if set(given["by"]) & set(BY_COUNTS):
        raise LtrValueError(f"--sorted takes segments from columns alone, not --by {' or '.join(BY_COUNTS)}.")
    with count("rows") as progress:
        return evaluate_sorted(
            given.pop("data"),
            scores=items.scores,
            models=items.models,
            metrics=metrics,
            progress=progress,
            **{name: given.pop(name) for name in ("qid", "label", "docid", "weight", "by", "n_features", "zero_based")},
            **policy,
        )


def _as_text(results: dict[str, Evaluation]) -> str:
    return "\n\n".join(f"{one_line(name)}\n{result}" for name, result in results.items()) + "\n"


def _as_json(results: dict[str, Evaluation]) -> str:
    plain = {
        name: {
            "n_queries": result.n_queries,
            **result.means_to_dict(),
            "segments": result.segments_to_dicts(),
        }
        for name, result in results.items()
    }
    return json.dumps({"models": plain}, indent=2, allow_nan=False) + "\n"


def _as_csv(results: dict[str, Evaluation]) -> str:
    return as_per_query_csv(Report({}, results))


RENDERERS: dict[str, Callable[[dict[str, Evaluation]], str]] = {"text": _as_text, "json": _as_json, "csv": _as_csv}
